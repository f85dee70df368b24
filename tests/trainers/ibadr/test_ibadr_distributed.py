"""IBADR on two processes: one torchrun launch on gloo, beside the same on the one process of the tests."""

from __future__ import annotations

import json

import numpy as np
import pytest

from support import ibadr_two_processes
from support.launch import launch

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("two")


@pytest.fixture(scope="module")
def found(folder, tmp_path_factory):
    """What happened, by number of processes."""
    launch("support.ibadr_two_processes", folder, processes=2, timeout=400, IBADR_WHOLE="1")
    alone = tmp_path_factory.mktemp("one")
    ibadr_two_processes.main(alone)
    places = {1: alone, 2: folder}
    return {number: json.loads((place / "found.json").read_text()) for number, place in places.items()}


def test_the_same_samples_on_one_and_two_processes(found):
    one, two = found[1], found[2]
    assert (one["processes"], two["processes"]) == (1, 2)
    for key in ("reasons", "labels"):
        assert two[key] == [one[key][0]] * 2, key
    for each in two["confidence"]:
        np.testing.assert_allclose(each, one["confidence"][0], atol=1e-6)


def test_a_run_on_two_processes(found, folder, case):
    """All arms trained, and the generator that it left draws the same on one process."""
    from hf_fairness.trainers.ibadr.generator import open_generator
    from hf_fairness.trainers.ibadr.sampling import sample

    two = found[2]
    assert two["steps"]["control"] == two["steps"]["ibadr"]
    assert {"poe", "dct", "z_filter"} <= set(two["steps"])
    assert (folder / "run" / "samples-1-z_filter").is_dir()  # rounds of its own, on both
    assert two["drawn"] == 60
    config = case.config("unused", sampling_batch_size=64)
    trained = folder / "run" / "generator-1"
    model, layout = open_generator(None, n_labels=3, n_texts=2, config=config, trained=trained)
    texts = [list(row) for row in sample(model, layout, 40, config=config, key="x").texts]
    assert two["trained"] == [texts, texts]
    assert sum(bool(row[0]) for row in texts) > 10
