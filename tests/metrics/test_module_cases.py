"""Every metric with a small input worked out on paper, with degenerate inputs, and on its page.

The inputs of a metric are data, in `cases/<id>.py`: ``VALID`` (keyword arguments of ``compute``), ``EXPECTED`` (keys of
its result), ``DEGENERATE`` (one entry for each of ``KINDS``), ``PAGE`` (inputs of its page) and ``PAGE_LINE``.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import evaluate
import pytest

import hf_fairness

FOLDER = Path(__file__).resolve().parents[2] / "metrics"
CASES = Path(__file__).parent / "cases"
METRICS = sorted(path.name for path in FOLDER.iterdir() if (path / f"{path.name}.py").is_file())
KINDS = ("empty", "one group", "constant predictor", "all unknown", "nan", "length mismatch", "multiclass")


@cache
def _case(name):
    spec = importlib.util.spec_from_file_location(f"cases_{name}", CASES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compute(name, inputs):
    return evaluate.load(hf_fairness.metric_path(name)).compute(**inputs)


def _look_up(result, path):
    """The value under a key, or under keys joined by " > "."""
    for key in path.split(" > "):
        result = result[key]
    return result


def _numbers(value):
    """Every number within a result."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for part in value for number in _numbers(part)]
    return [value] if isinstance(value, float | int) else []


def _check(result, expected):
    for path, value in expected.items():
        found = _look_up(result, path)
        assert found == (pytest.approx(value, abs=1e-9) if isinstance(value, float) else value), path


@pytest.mark.parametrize("name", METRICS)
def test_result_is_plain_complete_and_right(name, tmp_path):
    case = _case(name)
    result = _compute(name, case.VALID)
    assert case.EXPECTED
    _check(result, case.EXPECTED)
    # Plain Python that JSON and `evaluate.save` can write, and no NaN or infinity in it.
    assert json.loads(json.dumps(result, allow_nan=False)) == json.loads(json.dumps(result))
    evaluate.save(tmp_path, **result)
    for key in ("n", "convention", "ideal", "direction", "seed", "versions"):
        assert key in result["meta"], key
    intervals = [key for key in result if key.endswith("_ci95")]
    assert intervals
    for key in intervals:
        assert key.removesuffix("_ci95") in result, key
        if result[key] is not None:
            low, high = result[key]
            assert low <= high, key


@pytest.mark.parametrize("name", METRICS)
def test_same_seed_gives_the_same_result(name):
    case = _case(name)
    assert _compute(name, case.VALID) == _compute(name, case.VALID)


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METRICS)
def test_degenerate_input_has_a_value_or_a_clear_error(name, kind):
    case = _case(name)
    entry = case.DEGENERATE[kind]
    if isinstance(entry, str):
        assert len(entry.split()) >= 4, f"say why {kind!r} does not apply to {name}"
        return
    changes, expected = entry
    inputs = {key: value for key, value in (case.VALID | changes).items() if value is not None}
    if isinstance(expected, str):
        with pytest.raises((ValueError, TypeError), match=expected) as caught:
            _compute(name, inputs)
        assert len(str(caught.value).split()) >= 5, "an error names what came and what was wanted"
        return
    result = _compute(name, inputs)
    _check(result, expected)
    assert all(math.isfinite(number) for number in _numbers(result))


def test_every_kind_of_degenerate_input_is_answered():
    for name in METRICS:
        assert set(_case(name).DEGENERATE) == set(KINDS), name
        met = [kind for kind, entry in _case(name).DEGENERATE.items() if not isinstance(entry, str)]
        assert len(met) >= 3, f"{name} answers {met} only"


def test_pages_build_and_measure(minilm_path):
    """One process for all pages. A page that needs a model gets MiniLM where its inputs say `MINILM`."""
    pytest.importorskip("gradio")
    inputs = {
        str(FOLDER / name): [minilm_path if value == "MINILM" else value for value in _case(name).PAGE]
        for name in METRICS
    }
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("run_pages.py"))],
        input=json.dumps(inputs),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    for name in METRICS:
        kind, headers, rows, line = found[name]
        assert kind == "Blocks"
        assert rows
        assert {len(row) for row in rows} == {len(headers)}, name
        assert all(isinstance(cell, str) for row in rows for cell in row), name
        assert _case(name).PAGE_LINE in line, (name, line)
