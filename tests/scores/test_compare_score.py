"""Paired comparison of two models: on paper, against plain loops, and for its error rates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import binomtest

from hf_fairness.scores import compare
from hf_fairness.scores.compare import paired_comparison
from hf_fairness.scores.rates import ratio

QUICK = {"n_bootstrap": 50}


def _rate(sums):
    return ratio(sums[:, 0], sums[:, 1])


def _f1(sums):
    """F1 from true positives, predicted positives, positives."""
    return ratio(2 * sums[:, 0], sums[:, 1] + sums[:, 2])


def _plain_p(a, b, statistic):
    """Share of all swaps whose difference is at least as large, by a loop."""
    a, b = np.asarray(a), np.asarray(b)
    observed = abs(statistic(a.sum(0)[None])[0] - statistic(b.sum(0)[None])[0])
    hits = 0
    for swap in itertools.product([False, True], repeat=len(a)):
        swapped = np.array(swap)[:, None]
        left, right = np.where(swapped, b, a).sum(0), np.where(swapped, a, b).sum(0)
        gap = abs(statistic(left[None])[0] - statistic(right[None])[0])
        hits += np.isnan(gap) or gap >= observed - 1e-12
    return hits / 2 ** len(a)


def test_right_and_wrong_answers_are_mcnemars_exact_test():
    # 40 items both models get right, 8 only the first, 2 only the second: 2 P(Binomial(10, 1/2) >= 8) = 112 / 1024.
    a, b = [1.0] * 48 + [0.0] * 2, [1.0] * 40 + [0.0] * 8 + [1.0] * 2
    result = paired_comparison(a, b)
    assert (result["a"], result["b"]) == (0.96, 0.84)
    assert result["difference"] == pytest.approx(0.12)
    assert (result["method"], result["n"], result["n_units"]) == ("exact", 50, 50)
    assert result["p_value"] == pytest.approx(112 / 1024)
    low, high = result["difference_ci95"]
    assert low < 0.12 < high


@settings(max_examples=30)
@given(some.integers(0, 60), some.integers(0, 60))
def test_exact_for_many_items_of_few_kinds(first, second):
    a, b = [1.0] * first + [0.0] * second + [1.0], [0.0] * first + [1.0] * second + [1.0]
    result = paired_comparison(a, b, **QUICK)
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert result["method"] == "exact"
    assert result["p_value"] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_exact_equals_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 8)).round(1)
    pairs = [np.stack([side, np.ones(8)], axis=1) for side in (a, b)]
    assert paired_comparison(a, b, **QUICK)["p_value"] == pytest.approx(_plain_p(*pairs, _rate))
    # A statistic that is no mean: F1 of two models on the same items, some of them alike.
    gold = np.array([1, 1, 1, 1, 0, 0, 1, 0])
    tables = [np.stack([guess * gold, guess, gold], axis=1) for guess in rng.integers(0, 2, (2, 8))]
    tables[0][0], tables[1][0] = (1, 1, 1), (1, 1, 1)
    found = paired_comparison(*tables, statistic=_f1, **QUICK)
    assert found["method"] == "exact"
    assert found["p_value"] == pytest.approx(_plain_p(*tables, _f1))


def test_undefined_swaps_are_no_evidence():
    # Swapping the second item alone leaves one side without rows of the subset: undefined, so counted as a hit.
    a, b = np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 1.0]])
    result = paired_comparison(a, b, statistic=_rate, **QUICK)
    assert result["difference"] == 1.0
    assert result["p_value"] == pytest.approx(_plain_p(a, b, _rate)) == 1.0


def test_clusters_are_swapped_whole():
    a, labels = np.ones(12), np.repeat(list("wxyz"), 3)
    result = paired_comparison(a, a - np.repeat([1.0, 2.0, 3.0, 4.0], 3), clusters=labels, **QUICK)
    assert (result["p_value"], result["n_units"], result["n"]) == (pytest.approx(2 / 16), 4, 12)
    single = [paired_comparison(a, np.arange(12.0), clusters=units, **QUICK) for units in (None, range(12))]
    assert single[0]["p_value"] == single[1]["p_value"]


def test_sampled_p_is_near_the_exact_one_and_counts_the_data():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.5, 1, 12), rng.normal(size=12)
    exact, sampled = paired_comparison(a, b, **QUICK), paired_comparison(a, b, n_samples=4000, **QUICK)
    assert (exact["method"], sampled["method"]) == ("exact", "monte_carlo")
    assert sampled["p_value"] == pytest.approx(exact["p_value"], abs=0.03)
    certain = paired_comparison(100 + rng.normal(size=50), rng.normal(size=50), n_samples=999, **QUICK)
    assert certain["p_value"] == 1 / 1000
    # 200 items of two kinds, too many combinations for n_samples: drawn by kind.
    a, b = np.repeat([1.0, 0.0], [120, 80]), np.repeat([0.0, 1.0], [120, 80])
    by_kind = paired_comparison(a, b, n_samples=5000, **QUICK)
    assert by_kind["method"] == "monte_carlo"
    assert by_kind["p_value"] == pytest.approx(binomtest(120, 200).pvalue, abs=0.005)


def test_chunks_do_not_change_the_exact_result(monkeypatch):
    a, b = np.random.default_rng(1).normal(size=(2, 9))
    whole = paired_comparison(a, b, **QUICK)
    monkeypatch.setattr(compare, "CHUNK_CELLS", 50)
    assert paired_comparison(a, b, **QUICK)["p_value"] == pytest.approx(whole["p_value"])


@settings(max_examples=40)
@given(some.integers(0, 2**31))
def test_changing_sides_changes_the_sign_only(seed):
    a, b = np.random.default_rng(seed).integers(0, 2, (2, 25)).astype(float)
    one, other = paired_comparison(a, b, **QUICK), paired_comparison(b, a, **QUICK)
    assert other["difference"] == -one["difference"]
    assert other["p_value"] == pytest.approx(one["p_value"])
    assert 0.0 < one["p_value"] <= 1.0
    assert paired_comparison(a, a, **QUICK)["p_value"] == 1.0


def test_true_nulls_are_rejected_as_often_as_promised_and_intervals_cover():
    rng, rejected, covered, runs = np.random.default_rng(3), 0, 0, 400
    for seed in range(runs):
        shared = rng.random(80)
        a, b = (rng.random((2, 80)) < shared).astype(float)
        result = paired_comparison(a, b, n_samples=2000, n_bootstrap=400, seed=seed)
        rejected += result["p_value"] <= 0.05
        low, high = result["difference_ci95"]
        covered += low <= 0.0 <= high
    assert 0.01 <= rejected / runs <= 0.07, rejected / runs
    assert 0.92 <= covered / runs <= 0.98, covered / runs


def test_items_of_a_cluster_are_not_independent():
    rng, items, whole, runs = np.random.default_rng(4), 0, 0, 150
    labels = np.repeat(np.arange(12), 8)
    for seed in range(runs):
        a = np.repeat(rng.normal(size=12), 8) + 0.3 * rng.normal(size=96)
        options = {"n_samples": 500, "n_bootstrap": 0, "seed": seed}
        items += paired_comparison(a, np.zeros(96), **options)["p_value"] <= 0.05
        whole += paired_comparison(a, np.zeros(96), clusters=labels, **options)["p_value"] <= 0.05
    assert items / runs > 0.3
    assert 0.01 <= whole / runs <= 0.10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired_comparison([], []), "a holds 0 row"),
        (lambda: paired_comparison([1.0], [1.0, 2.0]), "same items"),
        (lambda: paired_comparison([1.0, float("nan")], [1.0, 2.0]), "a holds 1 value.*NaN"),
        (lambda: paired_comparison([[1.0, 2.0]], [[1.0, 2.0]]), "statistic="),
        (lambda: paired_comparison([[1.0, 0.0]], [[1.0, 1.0]], statistic=_rate), "undefined on the data"),
        (lambda: paired_comparison([1.0], [1.0], n_samples=0), "n_samples must be at least 1"),
        (lambda: paired_comparison([1.0, 2.0], [1.0, 2.0], clusters=["a"]), "one label per row"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
