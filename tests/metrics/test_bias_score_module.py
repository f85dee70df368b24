"""The bias score as an evaluate module; what all modules share is in test_metric_modules.py."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import evaluate
import pytest

import hf_fairness
from hf_fairness.measure.encoder.bias_direction import bias_direction

FOLDER = Path(__file__).resolve().parents[2] / "metrics/bias_score"
VECTORS = {"he": [-1.0, 0.0], "she": [1.0, 0.0], "nurse": [3.0, 4.0], "boxer": [-3.0, 4.0]}


@pytest.fixture(scope="module")
def module():
    return evaluate.load(hf_fairness.metric_path("bias_score"))


def test_keys_per_text_and_words_on_request(module):
    texts = ["nurse", "boxer", "", "she"]
    result = module.compute(texts=texts, model=VECTORS)
    assert result["female"] == pytest.approx([0.6, 0.0, 0.0, 0.0])
    assert result["male"] == pytest.approx([0.0, -0.6, 0.0, 0.0])
    assert result["absolute"] == pytest.approx([0.6, 0.6, 0.0, 0.0])
    for key in ("female", "male", "absolute"):
        low, high = result[f"{key}_mean_ci95"]
        assert low <= result[f"{key}_mean"] <= high
    assert result["n"] == 4
    assert result["meta"]["groups"] == ["male", "female"]
    assert "words" not in result
    table = module.compute(texts=texts, model=VECTORS, words=True)["words"]
    assert [[row["word"] for row in text["rows"]] for text in table] == [["nurse"], ["boxer"], [], ["she"]]
    assert json.loads(json.dumps(result)) == result


def test_a_model_with_a_direction(module, minilm):
    pairs = [
        (f"{he} {what}.", f"{she} {what}.")
        for he, she in (("He", "She"), ("My son", "My daughter"))
        for what in ("sings", "left early", "is at home", "waited")
    ]
    direction = bias_direction(minilm, pairs)
    result = module.compute(texts=["He likes the pink dress."], model=minilm, direction=direction, form="raw")
    assert result["meta"]["direction_kind"] == "text pairs"
    assert (result["meta"]["importance"], result["meta"]["form"]) == ("mean", "raw")
    assert result["male"][0] < 0.0


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({}, ValueError, "needs texts=..., model=..."),
        ({"texts": ["a"]}, ValueError, "needs model"),
        ({"predictions": ["a"]}, ValueError, "takes no predictions"),
        ({"texts": [], "model": VECTORS}, ValueError, "texts is empty"),
        ({"texts": ["a"], "model": 3}, TypeError, "no encoder: got int"),
        ({"texts": ["a"], "model": VECTORS, "word": True}, TypeError, "word"),
    ],
)
def test_inputs_are_validated(module, inputs, error, message):
    with pytest.raises(error, match=message):
        module.compute(**inputs)


def test_page_rows(tmp_path):
    vectors = tmp_path / "v.txt"
    vectors.write_text("he -1 0\nshe 1 0\nnurse 3 4\n")
    rows, line = runpy.run_path(str(FOLDER / "app.py"))["measure"](str(vectors), "nurse\n \nhe", "raw")
    assert rows == [["nurse", "0.0000", "0.6000", "0.6000"], ["he", "0.0000", "0.0000", "0.0000"]]
    assert "2 texts in raw form, importance mean" in line
