"""Group metrics: on paper, against fairlearn and scikit-learn, and for the coverage of their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as some

from hf_fairness.scores.auc import area_under_curve
from hf_fairness.scores.groups import demographic_parity, equal_opportunity, equalized_odds
from hf_fairness.utils import FairnessWarning

SEEDS = some.integers(0, 2**31)
QUIET = pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
BOTH = {"predictions": [1, 1, 1, 0, 1, 0, 0, 0], "references": [1, 1, 0, 0, 1, 1, 0, 0], "groups": list("aaaabbbb")}


def _random(seed, k, n=120):
    """Labels that depend on the group; every group has rows with either true label."""
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.repeat(np.arange(k), 2), rng.integers(0, k, n - 2 * k)])
    references = np.concatenate([np.tile([0, 1], k), rng.integers(0, 2, n - 2 * k)])
    predictions = (rng.random(n) < 0.3 + 0.2 * references + 0.4 * rng.random(k)[groups]).astype(int)
    return predictions, references, np.array([f"group {group}" for group in groups])


@pytest.mark.whole
@settings(max_examples=60)
@given(SEEDS, some.integers(2, 5))
def test_fairlearn_agrees(seed, k):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    predictions, references, groups = _random(seed, k)
    peer = {"y_true": references, "y_pred": predictions, "sensitive_features": groups}
    parity = demographic_parity(predictions, groups, n_bootstrap=0)
    chance = equal_opportunity(predictions, references, groups, n_bootstrap=0)
    odds = equalized_odds(predictions, references, groups, n_bootstrap=0)
    gap = parity["demographic_parity_difference"]
    assert gap == pytest.approx(fairlearn.demographic_parity_difference(**peer))
    true_gap = chance["equal_opportunity_1_difference"]
    assert true_gap == pytest.approx(fairlearn.equal_opportunity_difference(**peer))
    worst, mean = odds["equalized_odds_difference"], 1 - odds["equalized_odds"]
    assert worst == pytest.approx(fairlearn.equalized_odds_difference(**peer))
    assert mean == pytest.approx(fairlearn.equalized_odds_difference(**peer, agg="mean"))
    false_gap = fairlearn.MetricFrame(
        metrics=fairlearn.false_positive_rate, y_true=references, y_pred=predictions, sensitive_features=groups
    ).difference()
    assert chance["equal_opportunity_0_difference"] == pytest.approx(false_gap)
    # The published forms.
    assert parity["demographic_parity"] == pytest.approx(1 - gap)
    halves = chance["equal_opportunity_0"], chance["equal_opportunity_1"]
    assert odds["equalized_odds"] == pytest.approx(np.mean(halves))


@settings(max_examples=40)
@given(SEEDS, some.integers(2, 5))
def test_rates_and_sums_of_distances_are_those_of_a_plain_loop(seed, k):
    predictions, references, groups = _random(seed, k)
    result = equalized_odds(predictions, references, groups, n_bootstrap=0)
    sums = {}
    for label, rate in ((0, "false_positive_rate"), (1, "true_positive_rate")):
        overall, distances = predictions[references == label].mean(), []
        for name, row in result["rates"].items():
            mine = predictions[(references == label) & (groups == name)]
            assert row[rate] == pytest.approx(mine.mean())
            assert row[("n_negative", "n_positive")[label]] == len(mine)
            distances.append(abs(mine.mean() - overall))
        sums[label] = sum(distances)
    assert (result["fped"], result["fned"]) == (pytest.approx(sums[0]), pytest.approx(sums[1]))
    assert result["accuracy"] == pytest.approx((predictions == references).mean())
    assert demographic_parity(predictions, groups, references=references, n_bootstrap=0)["fped"] == result["fped"]
    if k == 2:  # the overall rate lies between two groups
        gaps = equal_opportunity(predictions, references, groups, n_bootstrap=0)
        assert result["fped"] == pytest.approx(gaps["equal_opportunity_0_difference"])


@QUIET
@settings(max_examples=25)
@given(SEEDS, some.integers(2, 4))
def test_order_of_rows_and_names_of_labels_change_nothing(seed, k):
    predictions, references, groups = _random(seed, k, 60)
    plain = equalized_odds(predictions, references, groups, n_bootstrap=50)
    order = np.random.default_rng(seed).permutation(60)
    assert equalized_odds(predictions[order], references[order], groups[order], n_bootstrap=50) == plain
    words = np.array(["fine", "toxic"])
    named = equalized_odds(
        words[predictions].tolist(), words[references].tolist(), groups.tolist(), positive_label="toxic", n_bootstrap=50
    )
    assert named.pop("meta")["positive_label"] == "toxic"
    assert plain.pop("meta")["positive_label"] == 1
    assert named == plain


def test_one_label_against_all_others():
    stars, groups = [5, 5, 1, 3, 5, 1, 1, 3], list("aaaabbbb")
    result = demographic_parity(stars, groups, positive_label=5)
    assert result["positive_rate"] == {"a": 0.5, "b": 0.25}
    assert demographic_parity([True, False], ["a", "b"])["positive_rate"] == {"a": 1.0, "b": 0.0}
    assert demographic_parity([1.0, 0.0], [0, 1])["positive_rate"] == {"0": 1.0, "1": 0.0}


def test_rates_without_rows_are_undefined_and_not_zero():
    fairlearn = pytest.importorskip("fairlearn.metrics")
    inputs = BOTH | {"references": [1, 1, 0, 0, 0, 0, 0, 0]}  # group b has no positive reference
    with pytest.warns(FairnessWarning, match="equal_opportunity_1 is None: no rows with a positive reference.*b"):
        result = equal_opportunity(**inputs)
    keys = ("equal_opportunity_1", "equal_opportunity_1_difference", "minimal_detectable_gap_1")
    assert [result[key] for key in keys] == [None] * 3
    assert result["equal_opportunity_1_ci95"] is result["rates"]["b"]["true_positive_rate"] is None
    assert result["equal_opportunity_0_difference"] == 0.25
    assert result["equal_opportunity_0_ci95"][0] >= 0.0
    peer = {"y_true": inputs["references"], "y_pred": inputs["predictions"], "sensitive_features": inputs["groups"]}
    assert fairlearn.equal_opportunity_difference(**peer) == 1.0  # a rate of no rows taken as 0
    with pytest.raises(ValueError, match=r"No rows with a positive reference in group\(s\) b.*equal_opportunity"):
        equalized_odds(**inputs)
    with pytest.warns(FairnessWarning, match="fned is None"):
        assert demographic_parity(**inputs)["fned"] is None
    with pytest.raises(ValueError, match=r"no positive references in group\(s\) b, no negative ones in a"):
        equal_opportunity([1, 0], [1, 0], ["a", "b"])


def test_constant_classifier_is_fair_and_useless():
    with pytest.warns(FairnessWarning, match="constant classifier"):
        result = demographic_parity([0] * 8, BOTH["groups"], references=BOTH["references"])
    assert (result["demographic_parity"], result["overall_positive_rate"], result["accuracy"]) == (1.0, 0.0, 0.5)
    assert result["minimal_detectable_gap"] > 0.3  # 4 rows a group show nothing, whatever the interval says


def test_no_intervals_on_request():
    result = equalized_odds(**BOTH, n_bootstrap=0)
    assert result["equalized_odds"] == 0.5
    assert result["equalized_odds_ci95"] is result["fped_ci95"] is result["accuracy_ci95"] is None
    assert result["rates"]["a"]["positive_rate_ci95"] is None


@pytest.mark.whole
@pytest.mark.parametrize(("true", "least"), [((0.4, 0.4), 0.92), ((0.3, 0.5), 0.92), ((0.4, 0.4, 0.4, 0.4), 0.92)])
def test_intervals_of_rows_cover(true, least):
    rng, gap, runs = np.random.default_rng(2), max(true) - min(true), 250
    groups = np.repeat([f"g{place}" for place in range(len(true))], 150)
    covered, rate_covered, gaps = 0, 0, []
    for seed in range(runs):
        predictions = (rng.random(len(groups)) < np.repeat(true, 150)).astype(int)
        result = demographic_parity(predictions, groups, n_bootstrap=400, seed=seed)
        low, high = result["demographic_parity_difference_ci95"]
        covered += low - 1e-12 <= gap <= high + 1e-12
        assert result["demographic_parity_ci95"] == pytest.approx([1 - high, 1 - low])
        low, high = result["rates"]["g0"]["positive_rate_ci95"]
        rate_covered += low <= true[0] <= high
        gaps.append(result["demographic_parity_difference"])
    assert covered / runs >= least, covered / runs
    assert 0.90 <= rate_covered / runs <= 0.98, rate_covered / runs
    if gap == 0.0:
        assert np.mean(gaps) > 0.03  # the gap itself is too large on average


@pytest.mark.whole
def test_clusters_widen_intervals_until_they_cover():
    rng, runs = np.random.default_rng(6), 200
    templates, groups = np.repeat(np.arange(30), 10), np.tile(list("ab"), 150)
    covered = {"rows": 0, "templates": 0}
    for seed in range(runs):
        # What a group gets depends on the template, the same for all ten of its sentences; no true gap on average.
        tilt = np.where(groups == "a", 1, -1) * rng.normal(0, 0.3, 30)[templates]
        predictions = (rng.random(300) < 0.5 + tilt).astype(int)
        for name, clusters in (("rows", None), ("templates", templates)):
            result = demographic_parity(predictions, groups, clusters=clusters, n_bootstrap=300, seed=seed)
            covered[name] += result["demographic_parity_difference_ci95"][0] == 0.0
    assert covered["rows"] / runs < 0.80, covered
    assert covered["templates"] / runs >= 0.91, covered
    assert result["meta"]["n_clusters"] == 30
    plain = demographic_parity(predictions, groups)["minimal_detectable_gap"]
    assert result["minimal_detectable_gap"] > 1.3 * plain


@pytest.mark.parametrize("seed", range(5))
def test_the_mean_of_gaps_that_chance_explains_reaches_the_ideal(seed):
    predictions = np.random.default_rng(seed).integers(0, 2, 400)
    references, groups = np.tile([0, 0, 1, 1], 100), np.tile(["a", "b"], 200)
    chance = equal_opportunity(predictions, references, groups)
    if chance["equal_opportunity_0_ci95"][1] == chance["equal_opportunity_1_ci95"][1] == 1.0:
        assert equalized_odds(predictions, references, groups)["equalized_odds_ci95"][1] == 1.0


def test_gaps_of_the_same_clusters_are_no_two_findings():
    """Every row stands there twice, with both references: the mean of the two gaps is known as well as one of them."""
    predictions, groups = np.tile(np.random.default_rng(0).integers(0, 2, 200), 2), np.tile(["a", "b"], 200)
    references, clusters = np.repeat([0, 1], 200), np.tile(np.arange(200) // 5, 2)
    one = equal_opportunity(predictions, references, groups, clusters=clusters)["equal_opportunity_1_ci95"]
    both = equalized_odds(predictions, references, groups, clusters=clusters)["equalized_odds_ci95"]
    assert both == pytest.approx(one)


def test_clusters_of_one_row_are_no_clusters():
    predictions, references, groups = _random(0, 3, 300)
    plain = equalized_odds(predictions, references, groups, n_bootstrap=20_000)
    single = equalized_odds(predictions, references, groups, clusters=range(300), n_bootstrap=20_000)
    assert single["meta"].pop("n_clusters") == 300
    for key, value in plain.items():
        if key.endswith("_ci95"):  # other draws of the same distribution
            assert single[key] == pytest.approx(value, abs=0.01), key
        elif key != "rates":
            assert single[key] == value, key


@settings(max_examples=80)
@given(SEEDS, some.integers(1, 4))
def test_auc_is_scikit_learns(seed, digits):
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    truth, scores = rng.integers(0, 2, 40).astype(bool), rng.random(40).round(digits)  # with ties
    assume(0 < truth.sum() < 40)
    result = area_under_curve(scores, truth)
    assert result["auc"] == pytest.approx(sklearn.roc_auc_score(truth, scores))
    assert area_under_curve(-scores, truth)["auc"] == pytest.approx(1 - result["auc"])


@pytest.mark.whole
def test_auc_intervals_cover_and_know_clusters():
    rng, runs, covered = np.random.default_rng(0), 400, {"rows": 0, "single": 0, "all": 0}
    for _ in range(runs):
        truth = np.repeat([True, False], 60)
        scores = rng.normal(size=120) + truth  # P(positive above negative) = Phi(1 / sqrt(2))
        low, high = area_under_curve(scores, truth)["auc_ci95"]
        covered["rows"] += low <= 0.76025 <= high
        # Six copies of each row: as clusters they are one again.
        many, labels = np.repeat(scores, 6), np.repeat(np.arange(120), 6)
        for name, clusters in (("single", None), ("all", labels)):
            low, high = area_under_curve(many, np.repeat(truth, 6), clusters=clusters)["auc_ci95"]
            covered[name] += low <= 0.76025 <= high
    assert 0.92 <= covered["rows"] / runs <= 0.98, covered
    assert covered["single"] / runs < 0.7, covered
    assert 0.92 <= covered["all"] / runs <= 0.98, covered


def test_auc_at_its_ends():
    assert area_under_curve([0.1, 0.2], [True, True]) == {"auc": None, "auc_ci95": None}
    assert area_under_curve([0.1, 0.2], [False, True]) == {"auc": 1.0, "auc_ci95": [pytest.approx(0.0, abs=1e-6), 1.0]}
    low, high = area_under_curve([0.1, 0.3, 0.2, 0.4], [False, False, True, True])["auc_ci95"]
    assert 0.0 < low < 0.75 < high < 1.0


@QUIET
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": ["a", None, *"aabbbb"]}, "groups holds 1 row.*first in row 1"),
        ({"groups": ["a", float("nan"), *"aabbbb"]}, "groups holds 1 row.*first in row 1"),
        ({"predictions": [0.7, 1, 1, 0, 1, 0, 0, 0]}, "labels, not probabilities; got 0.7"),
        ({"predictions": [[1], [0]]}, r"one label per row; got shape \(2, 1\)"),
        ({"predictions": list("xxxxyyyy")}, "must be 0 and 1; got .'x', 'y'"),
        ({"predictions": list("xxxxyyyy"), "positive_label": 1}, "positive_label=1 is not of the kind"),
        ({"positive_label": "1"}, "positive_label='1' is not of the kind"),
        ({"probabilities": [0.5] * 7 + [1.5]}, "probabilities must lie between 0 and 1; got 0.5 to 1.5"),
        ({"probabilities": [0.5]}, "probabilities needs one entry per row"),
        ({"clusters": ["a"]}, "clusters needs one label per row"),
        ({"n_bootstrap": -1}, "n_bootstrap must be 0 or more"),
    ],
)
def test_bad_input_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        equalized_odds(**(BOTH | changes))
