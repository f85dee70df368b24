"""MuST-SHE through `evaluate.load(...).compute(...)`."""

from __future__ import annotations

import evaluate
import pytest

import hf_fairness

ROWS = [
    {"category": "1F", "gender": "F", "gender_terms": "amica amico;stata stato"},
    {"category": "2M", "gender": "M", "gender_terms": "un una"},
]
TEXTS = ["È stata un amico.", "È un ragazzo."]


@pytest.fixture(scope="module")
def must_she():
    return evaluate.load(hf_fairness.metric_path("must_she"))


def test_batches_give_the_same(must_she):
    at_once = must_she.compute(predictions=TEXTS, references=ROWS)
    for text, row in zip(TEXTS, ROWS, strict=True):
        must_she.add(prediction=text, reference=row)
    assert must_she.compute() == at_once
    assert at_once["accuracy"] == 2 / 3


def test_an_intervention_shows(must_she):
    """A system that takes the masculine for everybody, and one that takes the right form: the gap closes."""
    rows = [
        {"category": f"2{gender}", "gender_terms": pair} for gender, pair in (("F", "sola solo"), ("M", "solo sola"))
    ]
    rows = rows * 30
    masculine = must_she.compute(predictions=["Era solo."] * 60, references=rows)
    assert (masculine["genders"]["M"]["accuracy"], masculine["genders"]["F"]["accuracy"]) == (1.0, 0.0)
    assert masculine["accuracy_gap"] == 1.0
    right = must_she.compute(
        predictions=["Era sola.", "Era solo."] * 30, references=rows, compare_to=["Era solo."] * 60
    )
    assert (right["accuracy"], right["accuracy_gap"]) == (1.0, 0.0)
    assert right["comparison"]["accuracy"]["difference"] == 0.5
    assert right["comparison"]["accuracy"]["p_value"] < 1e-4


@pytest.mark.parametrize("missing", ["predictions", "references"])
def test_missing_inputs_are_named(must_she, missing):
    given = {"predictions": TEXTS, "references": ROWS}
    with pytest.raises(ValueError, match=f"needs {missing}="):
        must_she.compute(**{key: value for key, value in given.items() if key != missing})
