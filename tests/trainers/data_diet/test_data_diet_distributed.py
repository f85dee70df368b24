"""Pruned runs on two processes: one torchrun launch on gloo, beside the same on the one process of the tests."""

from __future__ import annotations

import json

import numpy as np
import pytest

from support import data_diet_two_processes
from support.diet_world import BAD, GOOD
from support.launch import launch
from support.tiny_bert import save_tiny_bert

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What happened, by number of processes."""
    folders = {processes: tmp_path_factory.mktemp(f"processes{processes}") for processes in (1, 2)}
    for folder in folders.values():
        save_tiny_bert(folder / "encoder", ["she", "he", "queen", "king", "it", "was", "and", *GOOD, *BAD])
    launch("support.data_diet_two_processes", folders[2], processes=2)
    data_diet_two_processes.main(folders[1])
    found = {processes: json.loads((folder / "found.json").read_text()) for processes, folder in folders.items()}
    assert found[2]["whole"]["processes"] == 2
    return found


@pytest.mark.parametrize("processes", [1, 2])
def test_resume_is_exact(runs, processes):
    whole, resumed = runs[processes]["whole"], runs[processes]["resumed"]
    assert whole["processes"] == processes
    assert whole["steps"] == resumed["steps"] == 6
    for key in ("kept", "ge", "weights"):
        assert len(whole[key]) == processes
        assert all(part == whole[key][0] for part in [*whole[key], *resumed[key]]), key


def test_processes_share_the_kept_rows(runs):
    """Epochs of 120 rows, 60 on each process; after the first only kept rows, about equally often."""
    whole = runs[2]["whole"]
    first, second = whole["seen"]
    assert len(first) == len(second) == 3 * 60
    kept = set(whole["kept"][0])
    assert set(first[:60]) | set(second[:60]) == set(range(120))
    for epoch in (slice(60, 120), slice(120, 180)):
        counts = np.bincount([*first[epoch], *second[epoch]], minlength=120)
        assert set(np.flatnonzero(counts)) == kept
        assert np.ptp(counts[sorted(kept)]) <= 1


@pytest.mark.parametrize("run", ["restart", "diet"])
def test_two_processes_score_and_keep_as_one(runs, run):
    one, two = runs[1][run], runs[2][run]
    assert two["kept"] == 2 * one["kept"]
    assert two["ge"][0] == two["ge"][1]
    np.testing.assert_allclose(two["ge"][0], one["ge"][0], rtol=1e-3, atol=1e-5)
    if run == "diet":
        assert one["files"] == two["files"] == 1


@pytest.mark.parametrize(("run", "steps"), [("restart", 15), ("diet", 6)])
def test_two_processes_train_as_one(runs, run, steps):
    one, two = runs[1][run], runs[2][run]
    assert len(one["losses"]) == steps
    np.testing.assert_allclose(two["losses"], one["losses"], rtol=1e-5)
    if run == "restart":
        assert {*two["seen"][0], *two["seen"][1]} == set(one["seen"][0])


def test_a_fast_search_encodes_together_and_finds_the_same(runs):
    """The second search takes the vectors from the cache of features."""
    one, two = runs[1]["search"], runs[2]["search"]
    n = len(one["features"])
    assert one["encoded"] == [n]
    assert sorted(two["encoded"]) == [n // 2, n - n // 2]
    assert np.ptp(one["features"], axis=0).max() > 0.1
    np.testing.assert_allclose(two["features"], one["features"], atol=1e-5)
    for first, second in (one["ge"], two["ge"]):
        assert first == second
    np.testing.assert_allclose(two["ge"][0], one["ge"][0], rtol=1e-3, atol=1e-5)
