"""The study of GFST: its recorded numbers meet their bars, and hide nothing; a small one runs here."""

from __future__ import annotations

import copy

import pytest

from benchmarks import gfst_quality as study
from benchmarks.gfst_cell import cell, last_change
from benchmarks.study import read_results


@pytest.fixture(scope="module")
def recorded():
    return read_results(study.FILE)


def test_the_study_meets_its_bars(recorded):
    assert study.misses(recorded) == []


def test_the_study_is_whole(recorded):
    assert set(recorded["settings"]) == set(study.CONFIG["settings"])
    assert len(recorded["settings"]) >= 3
    assert len(study.CONFIG["seeds"]) >= 5
    for setting in recorded["settings"].values():
        assert setting["seeds"] == study.CONFIG["seeds"]
        assert set(setting["arms"]) == set(study.ARMS)
        for arm in setting["arms"].values():
            for key in study.MEASURES:
                assert len(arm[key]["by_seed"]) == len(study.CONFIG["seeds"])
                assert arm[key]["ci95"][0] <= arm[key]["mean"] <= arm[key]["ci95"][1]


def test_the_arms_differ_in_their_data_only(recorded):
    """As many steps for each arm beside the baseline, and as many pairs for RandST as for GFST."""
    for setting in recorded["settings"].values():
        steps = [setting["arms"][arm]["steps"]["by_seed"] for arm in study.ARMS[1:]]
        assert all(each == steps[0] for each in steps)
        pairs = [setting["arms"][arm]["n_pairs"]["by_seed"] for arm in study.ARMS[2:]]
        assert all(each == pairs[0] for each in pairs)


def test_the_harm_is_there_first(recorded):
    for setting in recorded["settings"].values():
        assert setting["arms"][study.BASELINE]["delta_r"]["ci95"][0] > 0.1


def test_absent_forms_stay_unlearned_in_every_arm(recorded):
    for setting in recorded["settings"].values():
        for arm in setting["arms"].values():
            assert max(arm["absent_forms"]["by_seed"]) < 0.1
            assert arm["absent_accuracy"]["mean"] < arm["recall_female"]["mean"]


def test_what_got_worse_is_recorded(recorded):
    assert recorded["got_worse"] == study.got_worse(recorded)


def test_a_missed_bar_is_named(recorded):
    worse = copy.deepcopy(recorded)
    name = next(iter(worse["settings"]))
    worse["settings"][name]["gfst_against"][study.RANDST]["delta_r"]["difference"] = 0.01
    assert study.misses(worse) == [f"{name}: delta_r is +0.0100 against RandST, expected below 0"]
    for setting in worse["settings"].values():
        setting["gfst_against"][study.CONTROL]["delta_r"]["ci95"][1] = 0.01
    assert "in no setting" in study.misses(worse)[-1]


def test_what_got_worse_is_named(recorded):
    worse = copy.deepcopy(recorded)
    name = next(iter(worse["settings"]))
    gap = {"difference": -0.1, "ci95": [-0.2, -0.05]}
    worse["settings"][name]["gfst_against"][study.CONTROL]["bleu"] = gap
    expected = f"{name}: bleu -0.100 [-0.200, -0.050] against control"
    assert expected in study.got_worse(worse)
    assert expected not in study.got_worse(recorded)


def test_last_change():
    assert last_change([5.0, 1.0, 1.0, 1.0]) == 0
    assert last_change([5.0, 4.0, 3.0, 2.0]) == pytest.approx(0.5)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The small cell of --quick: women are a third, and four in ten of them are translated as men."""
    return cell(study.QUICK, "quick", 100, str(tmp_path_factory.mktemp("gfst")))


@pytest.mark.whole
def test_a_small_cell_runs_and_points_the_same_way(small):
    arms = small["arms"]
    assert list(arms) == list(study.ARMS)
    assert len({arms[arm]["steps"] for arm in study.ARMS[1:]}) == 1
    assert len({arms[arm]["n_pairs"] for arm in study.ARMS[2:]}) == 1
    assert small["pairs"]["kept_per_gender"] * 2 == small["pairs"]["pairs_added"]
    assert arms[study.BASELINE]["delta_r"] > 0.1
    assert arms[study.GFST]["delta_r"] < arms[study.RANDST]["delta_r"]
    assert arms[study.GFST]["delta_r"] < arms[study.BASELINE]["delta_r"]
    assert arms[study.GFST]["absent_forms"] == 0
