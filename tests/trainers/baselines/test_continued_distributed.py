"""Continued training on two processes: one torchrun launch on gloo."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from hf_fairness.trainers.baselines import baseline
from support.ccd_case import make_given
from support.launch import launch
from support.tiny_bert import save_tiny_bert

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def runs(tmp_path_factory, tiny_mlm, triples):
    """What was told of CDA on one and on two processes, for a contrastive model without dropout and one with a head."""
    folder = tmp_path_factory.mktemp("runs")
    words = sorted({word for column in triples[:].values() for text in column for word in text.split()})
    without = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    plain = save_tiny_bert(folder / "plain", words, **without)
    triples.save_to_disk(str(folder / "data"))
    launch(
        "support.continued_two_processes",
        folder / "two",
        folder / "data",
        8,
        plain,
        tiny_mlm,
        processes=2,
        folder=folder,
    )
    one = []
    for number, model in enumerate((plain, tiny_mlm)):
        made = make_given(model, triples, folder / "out", num_train_epochs=2)
        one.append(baseline("cda").fit(made, folder / "one" / str(number)))
    return folder, one, json.loads((folder / "two" / "told.json").read_text())


def losses(told) -> list[float]:
    return [entry["loss"] for entry in told["history"] if "loss" in entry]


def test_texts_of_all_processes_are_negatives_so_that_two_train_what_one_does(runs):
    folder, (one, _), (two, _) = runs
    assert (one["processes"], two["processes"], one["objective"]) == (1, 2, "contrastive")
    assert len(losses(one)) == len(losses(two)) == one["steps"] == 24
    np.testing.assert_allclose(losses(two), losses(one), rtol=1e-4)
    vectors = [
        SentenceTransformer(str(folder / name / "0" / "model"), device="cpu").encode(["the nurse said so"])
        for name in ("one", "two")
    ]
    np.testing.assert_allclose(*vectors, atol=1e-4)


def test_masked_words_are_learned_on_two_processes(runs):
    _, (_, one), (_, two) = runs
    assert (two["processes"], two["objective"], two["steps"]) == (2, "mlm", one["steps"])
    assert sum(losses(two)[-6:]) < 0.95 * sum(losses(two)[:6])
    assert two["loss"] == pytest.approx(one["loss"], rel=0.1)  # other places are drawn, of the same texts
