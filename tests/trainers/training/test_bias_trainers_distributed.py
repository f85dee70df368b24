"""Trainers against a known bias on two processes: one torchrun launch on gloo, beside the one process of the tests."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from support import bias_two_processes
from support.launch import launch

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What happened, by number of processes."""
    folders = {processes: tmp_path_factory.mktemp(f"processes{processes}") for processes in (1, 2)}
    launch("support.bias_two_processes", folders[2], processes=2)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    bias_two_processes.main(folders[1])
    torch.set_num_threads(threads)
    return {processes: json.loads((folder / "found.json").read_text()) for processes, folder in folders.items()}


@pytest.mark.parametrize("name", ["poe", "reweight", "conf_reg"])
def test_two_processes_train_as_one(runs, name):
    one, two = runs[1][name], runs[2][name]
    assert (one["processes"], two["processes"]) == (1, 2)
    assert len(one["losses"]) == 8
    np.testing.assert_allclose(two["losses"], one["losses"], rtol=1e-4)
    assert one["losses"][-1] < one["losses"][0]
    assert two["eval"] == pytest.approx(one["eval"], rel=1e-3)


def test_the_column_is_made_once_for_all_processes(runs):
    np.testing.assert_allclose(runs[2]["column"], runs[1]["column"], rtol=1e-5, atol=1e-6)
    assert runs[1]["files"] == runs[2]["files"] == 1
