"""Every metric with a small input worked out on paper, with degenerate inputs, and on its page.

The inputs of a metric are data, in `cases/<id>.py`: ``VALID`` (keyword arguments of ``compute``), ``EXPECTED`` (keys of
its result), ``DEGENERATE`` (one entry for each of ``KINDS``), ``PAGE`` (inputs of its page) and ``PAGE_LINE``.
"""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys

import evaluate
import numpy as np
import pandas as pd
import pytest
import torch

from support.launch import environment
from support.metric_case import FOLDER, METRICS, case_of, compute

KINDS = ("empty", "one group", "constant predictor", "all unknown", "nan", "length mismatch", "multiclass")


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
    case = case_of(name)
    result = compute(name, case.VALID)
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
    case = case_of(name)
    assert compute(name, case.VALID) == compute(name, case.VALID)


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METRICS)
def test_degenerate_input_has_a_value_or_a_clear_error(name, kind):
    case = case_of(name)
    entry = case.DEGENERATE[kind]
    if isinstance(entry, str):
        assert len(entry.split()) >= 4, f"say why {kind!r} does not apply to {name}"
        return
    changes, expected = entry
    inputs = {key: value for key, value in (case.VALID | changes).items() if value is not None}
    if isinstance(expected, str):
        with pytest.raises((ValueError, TypeError), match=expected) as caught:
            compute(name, inputs)
        assert len(str(caught.value).split()) >= 5, "an error names what came and what was wanted"
        return
    result = compute(name, inputs)
    _check(result, expected)
    assert all(math.isfinite(number) for number in _numbers(result))


#: What files and tables write for a value that is not there.
MISSING = {"None": None, "NA": pd.NA, "NaN": float("nan"), "float32 NaN": np.float32("nan"), "NaT": pd.NaT}
#: Fields that a row may lack, and a text that names no group.
OPTIONAL = {"category": "bias_ir", "group": "bias_ir", "profession": "winomt", "stereotype": "winomt"}


def _cells(value, path=()):
    """The path of one cell of each list, and of each field of its row."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _cells(part, (*path, key))
    elif isinstance(value, list) and value:
        row = min(1, len(value) - 1)
        yield (*path, row)
        yield from _cells(value[row], (*path, row))
    elif len(path) > 1 and isinstance(path[-2], int):
        yield path


def _put(value, path, new):
    """A copy with something else in one cell."""
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = _put(value[path[0]], path[1:], new)
    return changed


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("name", METRICS)
def test_a_missing_value_in_any_input_is_named_or_optional(name, missing):
    valid = case_of(name).VALID
    cells = list(dict.fromkeys(_cells(valid)))
    assert cells
    for path in cells:
        inputs = _put(valid, path, MISSING[missing])
        if OPTIONAL.get(path[-1]) == name:
            assert all(math.isfinite(number) for number in _numbers(compute(name, inputs))), path
            continue
        with pytest.raises((ValueError, TypeError), match=r"\[1\]|[Rr]ow|holds|must|needs|has no|NaN") as caught:
            compute(name, inputs)
        assert len(str(caught.value).split()) >= 5, (path, str(caught.value))
        assert "ambiguous" not in str(caught.value), path


@pytest.mark.parametrize("name", METRICS)
def test_a_seed_of_none_is_refused(name):
    with pytest.raises(ValueError, match=r"seed must be a whole number.*got None"):
        compute(name, case_of(name).VALID | {"seed": None})


#: Modules whose rows have a label of their own, and where it stands.
LABELLED = {
    **dict.fromkeys(("demographic_parity", "equal_opportunity", "equalized_odds"), ("groups",)),
    "bias_ir": ("references", "group"),
    "crows_pairs": ("rows", "bias_type"),
    "stereoset": ("rows", "bias_type"),
}


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
@pytest.mark.parametrize("labels", [("b", "b\0"), (2**63, 2**63 + 1), ("", " "), ("1", "1.0")])
@pytest.mark.parametrize("name", LABELLED)
def test_labels_that_differ_stay_apart(name, labels):
    """Two labels of the input are renamed: every number stays."""
    if name == "bias_ir" and "" in labels:
        return  # there, no group
    valid = case_of(name).VALID
    place, *field = LABELLED[name]
    old = list(dict.fromkeys(row[field[0]] if field else row for row in valid[place]))[:2]
    new = dict(zip(old, labels, strict=True))
    rows = [
        row | {field[0]: new.get(row[field[0]], row[field[0]])} if field else new.get(row, row) for row in valid[place]
    ]
    before, after = (_numbers(compute(name, inputs)) for inputs in (valid, valid | {place: rows}))
    assert sorted(before) == pytest.approx(sorted(after))


#: Inputs of rows that numpy would read as numbers, exact in half precision or not needed exactly.
NUMBERS = {
    "bias_ir": "predictions",
    "crows_pairs": "scores",
    "stereoset": "scores",
    "equalized_odds": "probabilities",
    "demographic_parity": "predictions",
}


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("name", NUMBERS)
def test_tensors_in_half_precision_are_read_as_their_numbers(name, as_list):
    valid, key = case_of(name).VALID, NUMBERS[name]
    tensor = torch.tensor(valid[key], dtype=torch.bfloat16)
    given = list(tensor) if as_list else tensor
    expected = compute(name, valid | {key: tensor.float().tolist()})
    assert _numbers(compute(name, valid | {key: given})) == _numbers(expected)


#: Modules that take clusters, and how many rows their inputs have.
CLUSTERED = {"demographic_parity": 8, "equal_opportunity": 8, "equalized_odds": 8, "cced": 2}


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
@pytest.mark.parametrize("name", CLUSTERED)
def test_clusters_of_any_kind(name):
    valid, n = case_of(name).VALID, CLUSTERED[name]
    labels = [row // 2 if n > 2 else row for row in range(n)]
    expected = compute(name, valid | {"clusters": labels})
    for given in (torch.tensor(labels), list(torch.tensor(labels)), np.array(labels), pd.Series(labels)):
        assert compute(name, valid | {"clusters": given}) == expected
    for missing in MISSING.values():
        with pytest.raises(ValueError, match=r"clusters holds 1 row.s. without a label, the first in row 1"):
            compute(name, valid | {"clusters": [labels[0], missing, *labels[2:]]})
    one = compute(name, valid | {"clusters": [7] * n})
    intervals = [key for key in one if key.endswith("_ci95")]
    assert intervals
    assert [key for key in intervals if one[key] is not None] == []
    assert all(math.isfinite(number) for number in _numbers(one))


def test_every_kind_of_degenerate_input_is_answered():
    for name in METRICS:
        assert set(case_of(name).DEGENERATE) == set(KINDS), name
        met = [kind for kind, entry in case_of(name).DEGENERATE.items() if not isinstance(entry, str)]
        assert len(met) >= 3, f"{name} answers {met} only"


@pytest.mark.whole
def test_pages_build_and_measure(minilm_path):
    """One process for all pages. A page that needs a model gets MiniLM where its inputs say `MINILM`."""
    pytest.importorskip("gradio")
    inputs = {
        str(FOLDER / name): [minilm_path if value == "MINILM" else value for value in case_of(name).PAGE]
        for name in METRICS
    }
    done = subprocess.run(
        [sys.executable, "-m", "support.run_pages"],
        input=json.dumps(inputs),
        capture_output=True,
        text=True,
        check=False,
        env=environment(GRADIO_ANALYTICS_ENABLED="False"),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    for name in METRICS:
        kind, headers, rows, line = found[name]
        assert kind == "Blocks"
        assert rows
        assert {len(row) for row in rows} == {len(headers)}, name
        assert all(isinstance(cell, str) for row in rows for cell in row), name
        assert case_of(name).PAGE_LINE in line, (name, line)
