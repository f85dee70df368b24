"""The study of data diets: its recorded numbers meet their bars, and hide nothing that got worse."""

from __future__ import annotations

import copy

import pytest

from benchmarks import data_diet_full
from benchmarks import data_diet_quality as study
from benchmarks.readme import diet_full_text
from benchmarks.study import read_results


@pytest.fixture(scope="module")
def recorded(shared):
    return read_results(study.FILE)


def test_the_study_meets_its_bars(recorded):
    assert study.misses(recorded) == []


def test_the_study_is_whole(recorded):
    data = recorded["data"]
    assert data["train"]["n"] == 13525
    assert data["train"]["counterfactuals"] == data["validation"]["counterfactuals"] == "given"
    assert data["test"]["counterfactuals"] == "swapped"
    assert data["groups"]["n"] == 76497
    assert {"vanilla", "cda", "cds", "blindness", "balancing"} <= set(recorded["table"])
    assert {len(points) for points in recorded["curves"].values()} == {11}
    assert set(recorded["curves"]) == {"ge", "el2n", "grand", "forgetting", "random"}
    assert {len(points) for points in recorded["trade_off"].values()} == {18}
    for line in recorded["table"].values():
        for part in ("validation", "test", "groups"):
            for value in line["measures"][part].values():
                assert len(value["by_seed"]) == 10
                assert value["ci95"][0] <= value["mean"] <= value["ci95"][1]


def test_the_harm_is_there_first(recorded):
    vanilla = recorded["table"]["vanilla"]["measures"]["test"]
    assert vanilla["counterfactual_parity"]["ci95"][1] < 0.9


def test_what_got_worse_is_recorded(recorded):
    diet = recorded["diet"]["healthy_random"]["against"]["cda"]
    assert {"flip_rate", "auc", "mean_abs_probability_change"} <= set(diet["test"])
    assert "demographic_parity" in diet["groups"]
    assert isinstance(recorded["got_worse"], list)


def test_a_missed_bar_is_named(recorded):
    worse = copy.deepcopy(recorded)
    worse["diet"]["order"]["test"]["differences"][0] = {"difference": -0.01, "ci95": [-0.02, 0.0]}
    assert study.misses(worse) == ["test: healthy_random - random is -0.0100 [-0.02, 0.0], expected above 0"]
    worse["diet"] = {"entry": None}
    assert "within the limit" in study.misses(worse)[0]


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
def test_the_study_of_whole_models_in_small(shared, minilm_path, tmp_path):
    """Every arm is fine-tuned and compared."""
    found = data_diet_full.study(tmp_path, quick=True)
    assert {"vanilla", "cda", "cds", "blindness", "healthy_random", "random"} <= set(found["table"])
    assert found["table"]["cda"]["n_rows"] > found["data"]["train"]["n"] == 10
    sizes = [found["table"][name]["n_rows"] for name in ("healthy_random", "random")]
    assert sizes[0] == sizes[1] < 10
    assert set(found["ranking_against_random"]) == set(data_diet_full.KEYS)
    gap = {"difference": 0.1, "ci95": [-0.1, 0.3]}
    said = diet_full_text({**found, "ranking_against_random": {"flip_rate": gap}})
    assert "| healthy random | 0.5 | 0.3 |" in said
    assert said.endswith("over seeds: flip rate +0.100 [−0.100, +0.300], not clear of 0.")
