"""StereoSet as an evaluate module; what all modules share is in test_module_cases.py."""

from __future__ import annotations

import csv
import json

import evaluate
import pytest

import hf_fairness
from hf_fairness.measure.language_model.stereoset import read_stereoset, stereoset
from support.tiny_bert import tiny_bert

ROWS = [{"target": name, "bias_type": "profession"} for name in ("chef", "chef", "poet")]
SCORES = [[3.0, 2.0, 1.0], [2.0, 3.0, 1.0], [1.5, 1.0, 2.0]]


@pytest.fixture(scope="module")
def module():
    return evaluate.load(hf_fairness.metric_path("stereoset"))


def test_the_published_scores_of_gpt2(module, shared):
    folder = shared / "gold/stereoset"
    lines = (folder / "gpt2_intrasentence_scores.tsv").read_text().splitlines()
    table = list(csv.DictReader(lines, delimiter="\t"))
    rows = [{"target": row["target"], "bias_type": row["domain"]} for row in table]
    scores = [[float(row[f"gpt2:{label}"]) for label in ("stereo", "anti", "unrel")] for row in table]
    result = module.compute(rows=rows, scores=scores)
    gold = json.loads((folder / "gpt2_expected.json").read_text())["gpt2"]
    for domain, expected in gold.items():
        part = result["domains"].get(domain, result)
        found = [100.0 * part[key] for key in ("lm_score", "stereotype_score", "icat")]
        assert found == pytest.approx([expected[key] for key in ("LM Score", "SS Score", "ICAT Score")], abs=1e-6)
        assert part["n"] == expected["Count"]
    module.add_batch(predictions=scores, references=rows)
    assert module.compute() == result


def test_batches_give_the_same_as_one_call(module):
    expected = module.compute(rows=ROWS, scores=SCORES, seed=3)
    assert module.compute(references=ROWS, predictions=SCORES, seed=3) == expected
    for three, row in zip(SCORES, ROWS, strict=True):
        module.add(prediction=three, reference=row)
    assert module.compute(seed=3) == expected


def test_a_live_model_on_the_published_items(module, shared):
    rows = read_stereoset(shared / "data/stereoset/intrasentence_dev_part.json")[:12]
    words = sorted({word for row in rows for part in row["sentences"] for word in part["sentence"].lower().split()})
    model, tokenizer = tiny_bert(words, "BertForMaskedLM")
    result = module.compute(rows=rows, model=model, tokenizer=tokenizer, items=True)
    assert result == stereoset(rows, model=model, tokenizer=tokenizer, items=True)
    assert result["n"] == len(result["items"]) == 12
    assert {item["preferred"] for item in result["items"]} > {"stereotype"}


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({}, ValueError, "needs rows"),
        ({"rows": ROWS}, TypeError, "one of the two"),
        ({"rows": ROWS, "references": ROWS, "scores": SCORES}, ValueError, "takes no references"),
        ({"rows": ROWS, "predictions": SCORES, "scores": SCORES}, ValueError, "takes no predictions"),
    ],
)
def test_inputs_are_validated(module, inputs, error, message):
    with pytest.raises(error, match=message):
        module.compute(**inputs)
