"""Challenge accuracy as an evaluate module; what all modules share is in test_module_cases.py."""

from __future__ import annotations

import doctest
from pathlib import Path

import evaluate
import pytest

import hf_fairness
from hf_fairness.measure.classifier.challenge_sets import read_challenge_set

CARD = Path(__file__).resolve().parents[2] / "metrics/challenge_accuracy/README.md"
FAST = {"n_bootstrap": 50}
FILES = {
    "hans": "hans/hans_sample.tsv",
    "fever_symmetric": "fever_symmetric/symmetric_v0.2/fever_symmetric_test.jsonl",
}


@pytest.fixture
def module(tmp_path):
    return evaluate.load(hf_fairness.metric_path("challenge_accuracy"), cache_dir=str(tmp_path))


@pytest.mark.parametrize(
    ("name", "answers"), [("hans", ["entailment", "neutral"]), ("fever_symmetric", ["0", "2", "1"])]
)
def test_batches_give_what_one_call_gives(module, shared, name, answers):
    rows = read_challenge_set(name, shared / "data" / FILES[name])[::7]
    predictions = [answers[len(row["premise"]) % len(answers)] for row in rows]
    options = {"dataset": name, "label_names": ["supports", "refutes", "not enough info"], **FAST}
    at_once = module.compute(predictions=predictions, references=rows, **options)
    for start in range(0, len(rows), 50):
        module.add_batch(predictions=predictions[start : start + 50], references=rows[start : start + 50])
    assert module.compute(**options) == at_once
    assert 0.0 < at_once["accuracy"] < 1.0


def test_a_published_file_and_a_model(module, shared):
    def first_words(evidence, claims):
        pairs = zip(evidence, claims, strict=True)
        return ["SUPPORTS" if claim.split()[-2] in text.split() else "REFUTES" for text, claim in pairs]

    file = str(shared / "data" / FILES["fever_symmetric"])
    result = module.compute(model=first_words, references=file, dataset="fever_symmetric", **FAST)
    assert result["n"] == 712
    assert result["accuracy"] > result["constant_accuracy"] == 0.5
    assert result["pair_accuracy"] + result["pair_same_rate"] < 1.0
    turned = module.compute(
        model=first_words, references=file, dataset="fever_symmetric", hypothesis_first=True, **FAST
    )
    assert turned["predicted"] != result["predicted"]


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({}, ValueError, "needs references=..., dataset=..."),
        ({"references": ["supports"]}, ValueError, "needs dataset"),
        ({"references": ["supports"], "dataset": "fever_symmetric"}, ValueError, "got neither"),
        (
            {"references": ["supports"], "dataset": "fever_symmetric", "predictions": ["supports"], "seeds": 1},
            TypeError,
            "no option 'seeds'",
        ),
    ],
)
def test_inputs_are_validated(module, inputs, error, message):
    with pytest.raises(error, match=message):
        module.compute(**inputs)


def test_examples_of_the_card_run():
    failed, attempted = doctest.testfile(str(CARD), module_relative=False, encoding="utf-8")
    assert (failed, attempted > 3) == (0, True)
