"""One and two processes give the same losses: one torchrun launch on gloo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

SCRIPT = str(Path(__file__).parent / "two_processes.py")


def launch(processes: int, words: list[str], folder: Path) -> None:
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    start = [sys.executable]
    if processes > 1:
        start += ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
    done = subprocess.run(
        [*start, SCRIPT, *words], env=environment, cwd=folder, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture(scope="module")
def runs(tmp_path_factory, tiny_bert, triples):
    """What was logged, by number of processes and mode."""
    folder = tmp_path_factory.mktemp("runs")
    triples.save_to_disk(str(folder / "data"))
    found = {}
    for processes, batch in ((1, 16), (2, 8)):
        outputs = {mode: str(folder / f"{mode}{processes}") for mode in ("full", "lora")}
        words = [word for mode, output in outputs.items() for word in (output, str(batch), mode)]
        launch(processes, [tiny_bert, str(folder / "data"), *words], folder)
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
