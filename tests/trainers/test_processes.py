"""What scores or generates, and FSDP, on two processes: one torchrun launch, beside the one process of the tests."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from support import shared_two_processes
from support.launch import launch

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What one process found, and what each of two did."""
    alone, both = (tmp_path_factory.mktemp(name) for name in ("one", "two"))
    launch("support.shared_two_processes", both, processes=2)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    shared_two_processes.main(alone)
    torch.set_num_threads(threads)
    return [json.loads(path.read_text()) for path in (alone / "found-0.json", *sorted(both.glob("found-*.json")))]


def test_rows_are_shared_within_the_block_alone(runs):
    assert [found["processes"] for found in runs] == [1, 2, 2]
    assert [found["alone"] for found in runs] == [1, 1, 1]


@pytest.mark.parametrize("what", ["vectors", "one", "bias", "words", "masked", "audit"])
def test_scores_are_those_of_one_process_in_input_order(runs, what):
    one, *both = (
        np.concatenate(
            [np.ravel(part) for part in (found[what].values() if isinstance(found[what], dict) else found[what])]
        )
        for found in runs
    )
    assert np.ptp(one) > 0
    for found in both:
        np.testing.assert_allclose(found, one, rtol=1e-4, atol=1e-6)


def test_translations_are_those_of_one_process(runs):
    one, *both = runs
    assert len(set(one["translations"])) > 5
    assert one["translations"][-2] == ""
    for found in both:
        assert found["translations"] == found["again"] == one["translations"]
        assert found["half"] == one["half"]


def test_fsdp_trains_what_ddp_trains_and_saves_whole_weights(runs):
    """Losses, and weights as they were gathered and saved; to go on from a split checkpoint is refused."""
    for found in runs[1:]:
        assert (found["ddp"]["split"], found["fsdp"]["split"]) == (0, 41)
        np.testing.assert_allclose(found["fsdp"]["losses"], found["ddp"]["losses"], rtol=1e-5)
        np.testing.assert_allclose(found["fsdp"]["weights"], found["ddp"]["weights"], rtol=1e-3, atol=1e-4)
        assert "cannot go on from a checkpoint" in found["fsdp"]["refused"]
