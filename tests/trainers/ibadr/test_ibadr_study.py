"""The studies of IBADR: their recorded numbers meet their bars, and hide nothing that got worse."""

from __future__ import annotations

import copy

import pytest

from benchmarks import ibadr_quality, ibadr_sick
from benchmarks.study import read_record, read_results
from hf_fairness.trainers.ibadr import command as demo


@pytest.fixture(scope="module")
def planted():
    return read_results(ibadr_quality.FILE)


@pytest.fixture(scope="module")
def sick(shared):
    return read_results(ibadr_sick.FILE)


def test_the_planted_study_meets_its_bars(planted):
    assert ibadr_quality.misses(planted) == []
    assert planted["time"]["three_arms_seconds"] is not None


def test_the_planted_study_is_whole(planted):
    seeds = ibadr_quality.CONFIG["seeds"]
    asked = read_record(ibadr_quality.FILE)["config"].get("arms", list(planted["steps"]))
    assert set(ibadr_quality.JUDGED) <= set(asked)
    assert not set(seeds) & set(ibadr_quality.CONFIG["pilot_seeds"])
    for name in ibadr_quality.SETS:
        assert set(planted["accuracy"][name]) == set(asked)
        for value in planted["accuracy"][name].values():
            assert len(value["by_seed"]) == len(seeds) >= 3
            assert value["ci95"][0] <= value["mean"] <= value["ci95"][1]
    assert planted["steps"]["control"] == planted["steps"]["ibadr"]


def test_the_planted_harm_is_there_first(planted):
    base = {name: planted["accuracy"][name]["base"]["mean"] for name in ibadr_quality.SETS}
    assert base["reversed"] < 0.5 < 0.8 < base["validation"]
    assert base["reversed"] < base["validation"] - 0.3
    assert base["reversed"] < base["removed"] < base["validation"]


def test_the_biased_filter_leaves_out_what_the_method_is_after(planted):
    for each in planted["rounds"]["biased_filter"]:
        assert each["anti_artefact_after"]["mean"] < each["anti_artefact_before"]["mean"]
    kept = [planted["rounds"][variant][0]["anti_artefact_after"]["mean"] for variant in ("ibadr", "biased_filter")]
    assert kept[0] > 2 * kept[1]


def test_all_comparisons_of_a_set_are_one_family():
    """With three seeds: Student's p of each, the smallest times their number, and no adjusted one below its own."""
    values = {arm: [0.5 + 0.01 * k * place for k in range(3)] for place, arm in enumerate(ibadr_quality.ARMS)}
    values["ibadr"] = [0.9, 0.91, 0.9]
    found = ibadr_quality.compared(values)
    assert len(found) == len(ibadr_quality.COMPARED) == len(set(ibadr_quality.COMPARED))
    own, adjusted = ([gap[key] for gap in found.values()] for key in ("p_value_student", "p_value_holm"))
    assert min(adjusted) == pytest.approx(min(1.0, min(own) * len(own)))
    assert all(a >= b for a, b in zip(adjusted, own, strict=True))
    gap = found["ibadr - base"]
    assert gap["ci95"][0] > 0
    assert gap["p_value_student"] < 0.05  # the interval and the test are the same statement
    one = ibadr_quality.compared({arm: each[:1] for arm, each in values.items()})
    assert "p_value_holm" not in one["ibadr - base"]


@pytest.mark.parametrize(("differences", "p_value"), [([0.1, 0.1, 0.1], 0.0), ([0.0, 0.0, 0.0], 1.0), ([0.3], 1.0)])
def test_differences_without_spread(differences, p_value):
    assert ibadr_quality.student_p_value(differences) == pytest.approx(p_value, abs=1e-12)


def test_student_s_test_is_that_of_scipy():
    from scipy.stats import ttest_1samp

    found = ibadr_quality.student_p_value([0.1, 0.3, 0.15])
    assert found == pytest.approx(ttest_1samp([0.1, 0.3, 0.15], 0.0).pvalue)


def test_a_missed_bar_of_the_planted_study_is_named(planted):
    worse = copy.deepcopy(planted)
    worse["comparisons"]["reversed"]["ibadr - control"]["difference"] = 0.1
    worse["comparisons"]["reversed"]["ibadr - biased_filter"]["ci95"] = [-0.1, 0.2]
    worse["time"]["three_arms_seconds"] = 600.0
    assert ibadr_quality.misses(worse) == [
        "the three arms took 10.0 minutes, expected at most 8",
        "reversed: ibadr - control is +0.100, expected at least +0.20",
        "reversed: ibadr - biased_filter has the interval [-0.1, 0.2], expected above 0",
    ]


def test_the_demo_is_a_run_of_the_planted_study():
    settings, seed = ibadr_quality.CONFIG["settings"], 100
    shared = {name: float(value) for name, value in demo.DEMO.items() if name in settings}
    assert shared == {name: float(settings[name]) for name in shared}
    assert set(settings) - set(shared) == {"shallow_num_train_epochs", "check_agreement", "probe"}
    given, (world, challenge) = demo.demo_data(seed), ibadr_quality.worlds(seed)
    assert given["train"][:] == world.train[:]
    assert {name: rows[:] for name, rows in given["challenge"].items()} == {k: v[:] for k, v in challenge.items()}


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore:Every one of the:hf_fairness.utils.FairnessWarning")  # the harm: the marker decides
def test_a_small_run_points_the_same_way(tmp_path):
    """One seed, a smaller world, two rounds: the harm is there, and samples of low bias degree reduce it."""
    found = ibadr_quality.run_cell("usual", 100, str(tmp_path), quick=True)
    accuracy = found["accuracy"]["reversed"]
    assert accuracy["base"] < min(0.4, found["accuracy"]["validation"]["base"] - 0.3)
    assert accuracy["ibadr"] > accuracy["base"] + 0.1
    assert accuracy["ibadr"] > accuracy["control"]
    for each in found["rounds"]["ibadr"]:
        assert each["anti_artefact"]["before"] > 2 * (1 - ibadr_quality.QUICK["artefact_strength"])
        assert each["sentences_of_the_world"] > 0.8
        assert each["true_labels"] > 0.6


def test_the_sick_study_is_whole(sick):
    assert ibadr_sick.misses(sick) == []
    assert sick["time"]["fresh"]
    for name in ibadr_sick.FILTERS:
        found = sick[name]
        assert sum(found["data"][part]["n"] for part in ("train", "validation", "test")) == 4934
        assert found["results"]["hans"]["base"]["n"] == 6000
        assert set(found["partial_input"]) == {"original", "pool"}
    one, other = (sick[name] for name in ibadr_sick.FILTERS)
    assert one["results"]["test"]["base"] == other["results"]["test"]["base"]
    assert one["rounds"][0]["agreement"]["before"] == other["rounds"][0]["agreement"]["before"]


def test_the_sick_study_is_honest_about_samples(sick):
    for name in ibadr_sick.FILTERS:
        for each in sick[name]["rounds"]:
            found = each["quality"]
            for share in ("readable", "duplicate", "accepted"):
                low, high = found[share]["share_ci95"]
                assert 0 <= low <= found[share]["share"] <= high <= 1
            assert {"before", "after"} <= set(found["agreement"])
            assert found["distinct"]["original"]["n"] == found["distinct"]["after"]["n"]
            assert each["judge"]["expected_agreement"] is not None
        pairs = [gap for each in sick[name]["comparisons"].values() for gap in each.values()]
        assert len(sick[name]["got_worse"]) == sum(gap["difference"] < 0 for gap in pairs)


def test_the_sick_results_hold_no_text(sick, shared):
    sentences = {text for rows in ibadr_sick.sick() for name in ("premise", "hypothesis") for text in rows[name]}
    assert not sentences & set(_texts(sick))
    assert not any("examples" in each for name in ibadr_sick.FILTERS for each in sick[name]["rounds"])


def _texts(value):
    """All strings in a result."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
