"""Bias-IR as an evaluate module; what all modules share is in test_module_cases.py."""

from __future__ import annotations

import doctest
from pathlib import Path

import evaluate
import pytest
from scipy.stats import binom

import hf_fairness
from hf_fairness.measure.encoder.grep_biasir import read_grep_biasir

CARD = Path(__file__).resolve().parents[2] / "metrics/bias_ir/README.md"
FAST = {"n_bootstrap": 50}


@pytest.fixture
def module(tmp_path):
    return evaluate.load(hf_fairness.metric_path("bias_ir"), cache_dir=str(tmp_path))


def test_batches_give_what_one_call_gives(module, shared):
    rows = read_grep_biasir(shared / "data/grep_biasir")
    scores = [float(len(row["text"]) % 7) for row in rows]
    at_once = module.compute(predictions=scores, references=rows, **FAST)
    assert at_once["n_tied"] > 0
    for start in range(0, len(rows), 100):
        module.add_batch(predictions=scores[start : start + 100], references=rows[start : start + 100])
    assert module.compute(**FAST) == at_once


def test_real_model_from_a_folder(module, shared, minilm_path):
    file = shared / "data/grep_biasir/queries-documents_Cognitive Capabilities.csv"
    result = module.compute(documents=str(file), model=minilm_path, **FAST)
    assert result["male_ratio"] == pytest.approx(11 / 12)
    low, high = result["male_ratio_ci95"]
    assert low > 0.5
    # 11 of 12, the seen outcome counted half: .025 lies beyond either end.
    assert binom.sf(11, 12, low) + binom.pmf(11, 12, low) / 2 == pytest.approx(0.025, abs=1e-9)
    assert binom.cdf(10, 12, high) + binom.pmf(11, 12, high) / 2 == pytest.approx(0.025, abs=1e-9)
    assert result["p_value"] == pytest.approx(26 / 4096, abs=0.003)  # 0, 1, 11 or 12 of 12 tosses
    assert result["neutral"]["mean_rank"]["female"] > result["neutral"]["mean_rank"]["male"]


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({}, ValueError, "needs documents"),
        ({"predictions": [1.0]}, ValueError, "needs references"),
        ({"references": [{}]}, ValueError, "needs predictions"),
        ({"predictions": [1.0], "references": [{}], "documents": [{}]}, ValueError, "takes no documents"),
        ({"documents": [{"query_id": "1", "group": "a"}]}, ValueError, "Give one of model, scores and ranking"),
        ({"documents": [{"query_id": "1", "group": "a"}], "model": len, "title": 1}, ValueError, "at least two groups"),
    ],
)
def test_inputs_are_validated(module, inputs, error, message):
    with pytest.raises(error, match=message):
        module.compute(**inputs)


def test_unknown_options_are_refused(module):
    rows = [{"query_id": "1", "group": group, "query": "q", "text": group} for group in "ab"]
    with pytest.raises(TypeError, match="'title'"):
        module.compute(documents=rows, model={"a": [1.0], "b": [1.0], "q": [1.0]}, title=True)


def test_examples_of_the_card_run():
    failed, attempted = doctest.testfile(str(CARD), module_relative=False, encoding="utf-8")
    assert (failed, attempted > 3) == (0, True)
