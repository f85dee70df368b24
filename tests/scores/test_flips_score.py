"""Paired metrics of predictions: on paper, as properties, and for the coverage of their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from hf_fairness.scores.flips import counterfactual_flip
from hf_fairness.utils import FairnessWarning

SEEDS = some.integers(0, 2**31)
PAIR = {"original": [1, 1, 0, 0], "counterfactual": [1, 0, 0, 1]}


def test_flips_that_cancel_leave_the_parity_at_one():
    result = counterfactual_flip(PAIR)
    assert (result["flip_rate"], result["n_flipped"]) == (0.5, 2)
    assert (result["counterfactual_parity"], result["counterfactual_parity_difference"]) == (1.0, 0.0)
    assert result["counterfactual_parity_difference_ci95"][0] == 0.0
    assert result["mean_abs_probability_change"] is result["mean_abs_probability_change_ci95"] is None
    assert result["changed_share"] is None


def test_a_positive_label_that_nobody_gets_is_said():
    versions = {"original": ["toxic", "fine"] * 4, "counterfactual": ["fine", "fine"] * 4}
    with pytest.warns(FairnessWarning, match=r"No prediction .* positive_label='Toxic'; they are fine, toxic"):
        assert counterfactual_flip(versions, positive_label="Toxic")["counterfactual_parity"] == 1.0
    assert counterfactual_flip(versions, positive_label="toxic")["counterfactual_parity"] == 0.5


def test_three_versions_on_paper():
    versions = {"a": [1, 1, 0, 0], "b": [1, 0, 0, 0], "c": [1, 1, 1, 0]}
    chances = {"c": [0.9, 0.8, 0.7, 0.1], "a": [0.9, 0.7, 0.2, 0.1], "b": [0.8, 0.3, 0.2, 0.4]}
    result = counterfactual_flip(versions, probabilities=chances, references=[1, 1, 0, 0])
    assert result["positive_rate"] == {"a": 0.5, "b": 0.25, "c": 0.75}
    low, high = result["rates"]["b"]["positive_rate_ci95"]
    assert low < result["rates"]["b"]["positive_rate"] == 0.25 < high
    assert result["flip_rate"] == 0.5
    assert result["mean_abs_probability_change"] == pytest.approx((0.1 + 0.5 + 0.5 + 0.3) / 4)
    assert result["counterfactual_parity_difference"] == 0.5
    # Reference 1: 1, 1/2, 1; reference 0: 0, 0, 1/2.
    assert result["counterfactual_equal_opportunity_1_difference"] == 0.5
    assert result["counterfactual_equal_opportunity_0_difference"] == 0.5
    assert result["counterfactual_equalized_odds"] == 0.5


@settings(max_examples=30)
@given(SEEDS)
def test_rows_that_did_not_change_are_as_good_as_absent(seed):
    rng = np.random.default_rng(seed)
    original, other, references = rng.integers(0, 2, (3, 40))
    changed = rng.random(40) < 0.6
    changed[:2], references[:2] = True, [0, 1]
    inputs = {"probabilities": {"o": rng.random(40), "c": rng.random(40)}, "references": references}
    whole = counterfactual_flip({"o": original, "c": other}, **inputs, changed=changed, n_bootstrap=20)
    kept = counterfactual_flip(
        {"o": original[changed], "c": other[changed]},
        probabilities={name: column[changed] for name, column in inputs["probabilities"].items()},
        references=references[changed],
        n_bootstrap=20,
    )
    assert (whole.pop("n_rows"), whole.pop("changed_share")) == (40, pytest.approx(changed.mean()))
    assert (kept.pop("n_rows"), kept.pop("changed_share")) == (changed.sum(), None)
    assert whole == kept


@settings(max_examples=40)
@given(SEEDS)
def test_bounds_and_exchange_of_versions(seed):
    rng = np.random.default_rng(seed)
    original, other, references = rng.integers(0, 2, (3, 30))
    references[:2] = [0, 1]
    result = counterfactual_flip({"o": original, "c": other}, references=references, n_bootstrap=20)
    swapped = counterfactual_flip({"c": other, "o": original}, references=references, n_bootstrap=20)
    for key, value in result.items():
        if isinstance(value, float):
            assert swapped[key] == pytest.approx(value), key
    assert result["counterfactual_parity_difference"] <= result["flip_rate"] + 1e-12
    halves = [result[f"counterfactual_equal_opportunity_{label}"] for label in (0, 1)]
    assert result["counterfactual_equalized_odds"] == pytest.approx(np.mean(halves))
    worst = max(result[f"counterfactual_equal_opportunity_{label}_difference"] for label in (0, 1))
    assert result["counterfactual_equalized_odds_difference"] == pytest.approx(worst)


def test_any_change_of_the_label_is_a_flip():
    versions = {"o": ["sad", "sad", "glad", "calm"], "c": ["sad", "calm", "glad", "glad"]}
    result = counterfactual_flip(versions, positive_label="glad")
    assert result["flip_rate"] == 0.5
    assert result["positive_rate"] == {"o": 0.25, "c": 0.5}


@pytest.mark.whole
def test_intervals_cover_with_pairs_and_with_clusters():
    rng, runs = np.random.default_rng(1), 200
    covered = dict.fromkeys(("flip_rate", "mean_abs_probability_change", "null", "parity", "rows", "templates"), 0)
    for seed in range(runs):
        original, flips, chances = rng.random(150) < 0.5, rng.random(150) < 0.2, rng.random((2, 150))
        labels = {"o": original.astype(int), "c": (original ^ flips).astype(int)}
        options = {"n_bootstrap": 300, "seed": seed}
        result = counterfactual_flip(labels, probabilities=dict(zip("oc", chances, strict=True)), **options)
        for key, true in (("flip_rate", 0.2), ("mean_abs_probability_change", 1 / 3)):
            low, high = result[f"{key}_ci95"]
            covered[key] += low <= true <= high
        covered["null"] += result["counterfactual_parity_difference_ci95"][0] == 0.0
        labels["c"] = (original & ~(flips & (rng.random(150) < 0.5))).astype(int)  # positives alone flip: .05 apart
        low, high = counterfactual_flip(labels, **options)["counterfactual_parity_difference_ci95"]
        covered["parity"] += low <= 0.05 <= high
        # Whole templates flip: 15 of them, ten texts each.
        labels["c"] = (original ^ np.repeat(rng.random(15) < 0.2, 10)).astype(int)
        for name, units in (("rows", None), ("templates", np.repeat(np.arange(15), 10))):
            low, high = counterfactual_flip(labels, clusters=units, **options)["flip_rate_ci95"]
            covered[name] += low <= 0.2 <= high
    assert all(covered[key] / runs >= 0.90 for key in ("flip_rate", "mean_abs_probability_change", "null")), covered
    assert covered["parity"] / runs >= 0.90, covered
    assert covered["rows"] / runs < 0.65 < 0.85 <= covered["templates"] / runs, covered


def test_pairs_make_intervals_narrow():
    """Two versions of one text agree mostly: the gap between them is surer than that of two sets of texts."""
    rng = np.random.default_rng(0)
    original = rng.integers(0, 2, 400)
    other = np.where(rng.random(400) < 0.02, 1 - original, original)
    versions = {"o": original, "c": other}
    high = counterfactual_flip(versions)["counterfactual_parity_difference_ci95"][1]
    shuffled = counterfactual_flip(versions | {"c": rng.permutation(other)})["counterfactual_parity_difference_ci95"][1]
    assert high < shuffled / 2


def test_counted_probability_changes_have_the_interval_of_drawn_ones():
    rng = np.random.default_rng(0)
    chances = {"o": np.zeros(6000), "c": rng.beta(1, 8, 6000)}
    versions = {"o": np.zeros(6000, int), "c": np.arange(6000) % 2}
    result = counterfactual_flip(versions, probabilities=chances)
    half = 1.96 * chances["c"].std() / np.sqrt(6000)
    mean = chances["c"].mean()
    assert result["mean_abs_probability_change"] == pytest.approx(mean)
    assert result["mean_abs_probability_change_ci95"] == pytest.approx([mean - half, mean + half], abs=2e-4)


def test_detectable_gap_knows_flips_and_clusters():
    original = np.tile([0, 1], 100)
    still = counterfactual_flip({"o": original, "c": original})
    assert still["minimal_detectable_gap"] > 0.01  # no flip seen is not certainty
    assert still["counterfactual_parity"] == 1.0
    other = np.where(np.arange(200) < 40, 1 - original, original)
    rows = counterfactual_flip({"o": original, "c": other})["minimal_detectable_gap"]
    assert rows == pytest.approx(2.8016 * np.sqrt(41 / 202 / 200), rel=1e-3)
    ones = np.repeat(np.arange(20) < 2, 10)
    templates = {"o": ones.astype(int), "c": np.zeros(200, int)}
    plain, whole = (
        counterfactual_flip(templates, clusters=units)["minimal_detectable_gap"]
        for units in (None, np.repeat(np.arange(20), 10))
    )
    assert whole == pytest.approx(np.sqrt(10) * plain)


def test_what_looks_wrong_is_said():
    same = {"original": [0.9, 0.8, 0.2, 0.1], "counterfactual": [0.9, 0.3, 0.2, 0.6]}
    with pytest.warns(FairnessWarning, match="2 of 4 rows have exactly the same probability"):
        counterfactual_flip(PAIR, probabilities=same)
    counterfactual_flip(PAIR, probabilities=same, changed=[True] * 4)  # said to be changed: no warning
    with pytest.warns(FairnessWarning, match="no changed row has a negative reference"):
        result = counterfactual_flip(PAIR, references=[1, 1, 1, 1])
    assert result["counterfactual_equal_opportunity_0"] is result["counterfactual_equalized_odds"] is None
    assert result["counterfactual_equal_opportunity_1"] == 1.0


@pytest.mark.filterwarnings("ignore::hf_fairness.utils.FairnessWarning")
@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"predictions": [1, 0]}, "must map two or more versions.*got list"),
        ({"predictions": {"o": [1, 0]}}, "two or more versions.*got .'o'"),
        ({"probabilities": {"original": [0.1] * 4}}, "probabilities must map two or more versions"),
        ({"probabilities": {"original": [0.1] * 4, "x": [0.2] * 4}}, "the versions of predictions.*got.*'x'"),
        ({"probabilities": {"original": [0.1] * 4, "counterfactual": [0.2] * 3}}, "got 3 for 4 rows"),
        ({"probabilities": {"original": [0.1] * 4, "counterfactual": [3.0] * 4}}, "between 0 and 1"),
        ({"references": [1, 0]}, "references needs one entry per row: got 2 for 4"),
        ({"changed": [True]}, "changed needs one entry per row"),
        ({"changed": [2] * 4}, "changed must be 0 and 1"),
        ({"clusters": ["t"]}, "clusters needs one label per row"),
    ],
)
def test_bad_input_is_named(inputs, message):
    with pytest.raises(ValueError, match=message):
        counterfactual_flip(**({"predictions": PAIR} | inputs))
