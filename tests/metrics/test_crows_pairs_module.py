"""CrowS-Pairs as an evaluate module; what all modules share is in test_module_cases.py."""

from __future__ import annotations

import evaluate
import pytest

import hf_fairness
from hf_fairness.measure.language_model.crows_pairs import crows_pairs, read_crows_pairs
from support.tiny_bert import tiny_bert
from support.tiny_gpt2 import save_tiny_gpt2

ROWS = [{"stereo_antistereo": way, "bias_type": kind} for way in ("stereo", "antistereo") for kind in ("age", "gender")]
SCORES = [[-3.0, -1.0], [-2.5, -3.5], [-1.0, -2.0], [-4.0, -4.0]]


@pytest.fixture(scope="module")
def module():
    return evaluate.load(hf_fairness.metric_path("crows_pairs"))


def test_batches_give_the_same_as_one_call(module):
    expected = module.compute(rows=ROWS, scores=SCORES, seed=3)
    assert module.compute(references=ROWS, predictions=SCORES, seed=3) == expected
    for start in (0, 2):
        module.add_batch(predictions=SCORES[start : start + 2], references=ROWS[start : start + 2])
    assert module.compute(seed=3) == expected
    for pair, row in zip(SCORES, ROWS, strict=True):
        module.add(prediction=pair, reference=row)
    assert module.compute(seed=3) == expected


def test_live_models_on_the_published_pairs(module, shared, tmp_path):
    columns = read_crows_pairs(shared / "data/crows_pairs/crows_pairs_anonymized.csv")
    places = [i for i, kind in enumerate(columns["bias_type"]) if kind == "gender"][:20]
    rows = {name: [values[i] for i in places] for name, values in columns.items()}
    words = sorted(
        {word for name in ("sent_more", "sent_less") for text in rows[name] for word in text.lower().split()}
    )
    model, tokenizer = tiny_bert(words, "BertForMaskedLM")
    masked = module.compute(rows=rows, model=model, tokenizer=tokenizer, items=True)
    assert masked == crows_pairs(rows, model=model, tokenizer=tokenizer, items=True)
    assert masked["n"] == len(masked["items"]) == masked["bias_types"]["gender"]["n"] == 20
    assert "masked one at a time" in masked["meta"]["scoring"]
    gpt2 = save_tiny_gpt2(str(tmp_path / "gpt2"))
    causal = module.compute(rows=[{**ROWS[0], "sent_more": "she ran", "sent_less": "he ran far"}], model=gpt2)
    assert "log-likelihood of the whole sentence" in causal["meta"]["scoring"]
    assert causal["meta"]["model"] == "gpt2"


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({}, ValueError, "needs rows"),
        ({"rows": ROWS}, TypeError, "one of the two"),
        ({"rows": ROWS, "references": ROWS, "scores": SCORES}, ValueError, "takes no references"),
        ({"rows": ROWS, "predictions": SCORES, "scores": SCORES}, ValueError, "takes no predictions"),
        ({"rows": ROWS, "scores": SCORES, "decimal": 2}, TypeError, "decimal: options of a model"),
    ],
)
def test_inputs_are_validated(module, inputs, error, message):
    with pytest.raises(error, match=message):
        module.compute(**inputs)
