"""A translator on two processes: one torchrun launch on gloo, beside the same on the one process of the tests."""

from __future__ import annotations

import json

import numpy as np
import pytest

from support import gfst_two_processes
from support.launch import launch

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What happened, by number of processes."""
    folders = {processes: tmp_path_factory.mktemp(f"processes{processes}") for processes in (1, 2)}
    launch("support.gfst_two_processes", folders[2], processes=2)
    gfst_two_processes.main(folders[1])
    found = {processes: json.loads((folder / "found.json").read_text()) for processes, folder in folders.items()}
    assert found[2]["processes"] == 2
    return found


@pytest.mark.parametrize("processes", [1, 2])
def test_resume_in_the_middle_of_an_epoch_is_exact(runs, processes):
    whole, resumed = runs[processes]["whole"], runs[processes]["resumed"]
    assert whole["weights"] == resumed["weights"]
    assert len(whole["weights"]) == processes
    assert all(part == whole["weights"][0] for part in whole["weights"])
    assert whole["history"] == resumed["history"]


def test_two_processes_train_as_one(runs):
    one, two = runs[1]["whole"]["history"], runs[2]["whole"]["history"]
    losses = [[step["loss"] for step in history["train"]] for history in (one, two)]
    assert len(losses[0]) == 8
    assert losses[0][-1] < losses[0][0]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    assert one["averaged"]["steps"] == two["averaged"]["steps"] == [6, 8]
    assert two["averaged"]["loss"] == pytest.approx(one["averaged"]["loss"], rel=1e-2)
