"""One and two processes give the same losses: one torchrun launch on gloo."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from support.launch import launch

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def runs(tmp_path_factory, tiny_bert, triples):
    """What was logged, by number of processes and mode."""
    folder = tmp_path_factory.mktemp("runs")
    triples.save_to_disk(str(folder / "data"))
    found = {}
    for processes, batch in ((1, 16), (2, 8)):
        outputs = {mode: str(folder / f"{mode}{processes}") for mode in ("full", "lora")}
        words = [word for mode, output in outputs.items() for word in (output, str(batch), mode)]
        launch("support.ccd_two_processes", tiny_bert, folder / "data", *words, processes=processes, folder=folder)
        for mode, output in outputs.items():
            found[processes, mode] = {**json.loads(Path(output, "found.json").read_text()), "output": output}
    return found


def column(run, key):
    return [entry[key] for entry in run["history"] if key in entry]


@pytest.mark.parametrize("mode", ["full", "lora"])
def test_two_processes_give_the_losses_of_one(runs, mode):
    one, two = runs[1, mode], runs[2, mode]
    assert (one["processes"], two["processes"]) == (1, 2)
    assert two["rho"] == one["rho"]
    for key, steps in (("loss", 20), ("eval_loss", 2)):
        assert len(column(one, key)) == len(column(two, key)) == steps
        np.testing.assert_allclose(column(two, key), column(one, key), rtol=1e-5)
    for key in ("loss_bias", "loss_rep", "eval_loss_bias", "eval_loss_rep"):  # logged with four digits
        np.testing.assert_allclose(column(two, key), column(one, key), atol=1.1e-4)
    for found in (one, two):
        parts = np.add(column(found, "eval_loss_bias"), column(found, "eval_loss_rep"))
        assert np.allclose(parts, column(found, "eval_loss"), rtol=1e-5)
    losses = column(one, "eval_loss")
    assert losses[-1] < 0.98 * losses[0]  # they do not agree by standing still
    assert two["final"] == pytest.approx(min(column(two, "eval_loss")), rel=1e-4)


@pytest.mark.parametrize("mode", ["full", "lora"])
def test_two_processes_save_the_model_of_one(runs, mode):
    texts = ["the nurse said that she was tired"]
    one, two = (
        SentenceTransformer(runs[processes, mode]["output"], device="cpu").encode(texts) for processes in (1, 2)
    )
    np.testing.assert_allclose(one, two, atol=1e-4)
