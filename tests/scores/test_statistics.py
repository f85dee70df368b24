"""Intervals and permutations: checked on paper, against plain loops, and for their error rates."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from hf_fairness.scores import permutation as pt
from hf_fairness.scores import statistics as st


def test_exact_permutation_on_paper():
    # Sums of two out of {4, 3, 2, 1}: 7 6 5 5 4 3. Observed 7 is reached once in six.
    result = pt.permutation_test([4.0, 3.0], [2.0, 1.0])
    assert result == pt.PermutationResult(1 / 6, 2.0, "exact", 6)
    # Observed 5 (4 + 1): 7, 6, 5, 5 are as large: ties count.
    assert pt.permutation_test([4.0, 1.0], [3.0, 2.0]).p_value == 4 / 6


def test_all_equal_values_are_all_ties():
    assert pt.permutation_test([0.1] * 5, [0.1] * 5).p_value == 1.0
    assert pt.permutation_test([0.1] * 20, [0.1] * 20, n_samples=1000).p_value == 1.0


@pytest.mark.parametrize(("n", "m"), [(3, 3), (4, 2), (5, 4)])
def test_exact_equals_a_plain_loop(n, m):
    rng = np.random.default_rng(n * 10 + m)
    x, y = rng.normal(size=n).round(1), rng.normal(size=m).round(1)
    pool = np.concatenate([x, y])
    observed = x.mean() - y.mean()
    hits = 0
    for chosen in itertools.combinations(range(n + m), n):
        rest = [i for i in range(n + m) if i not in chosen]
        hits += pool[list(chosen)].mean() - pool[rest].mean() >= observed - 1e-12
    assert pt.permutation_test(x, y).p_value == pytest.approx(hits / math.comb(n + m, n), abs=1e-15)


def test_monte_carlo_counts_the_observed_partition():
    result = pt.permutation_test(np.arange(20) + 100.0, np.arange(20), n_samples=999)
    assert (result.method, result.n_partitions, result.p_value) == ("monte_carlo", 999, 1 / 1000)


def test_monte_carlo_draws_without_replacement_and_by_seed():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=30), rng.normal(size=30)
    runs = [pt.permutation_test(x, y, n_samples=500, seed=seed).p_value for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]
    # With replacement, the statistic of these two sides could exceed its largest value under any partition.
    assert pt.permutation_test([1.0] * 15, [0.0] * 15, n_samples=2000).p_value == 1 / 2001


def test_clusters_move_as_a_whole():
    # Two words a side, three sentences each: C(4, 2) = 6 partitions whatever the number of sentences.
    x, y = [5.0, 5, 5, 4, 4, 4], [1.0, 1, 1, 0, 0, 0]
    words = ["a", "a", "a", "b", "b", "b"]
    result = pt.permutation_test(x, y, x_clusters=words, y_clusters=words)
    assert (result.method, result.n_partitions, result.p_value) == ("exact", 6, 1 / 6)
    assert pt.permutation_test(x, y).p_value == pytest.approx(1 / math.comb(12, 6))


def test_uneven_clusters_keep_means_over_values():
    # Word a holds 1 value, word b 3. Moving words changes the sizes of the sides; the means stay means of
    # values.
    x, y = [6.0, 2.0, 2.0, 2.0], [1.0, 1.0]
    result = pt.permutation_test(x, y, x_clusters=["a", "b", "b", "b"], y_clusters=["c", "d"])
    assert result.statistic == pytest.approx(3.0 - 1.0)
    # ab 2.0; ac 3.5-1.75; ad same; bc (7/4)-(7/2); bd same; cd -2: only ab reaches 2.
    assert result.p_value == pytest.approx(1 / 6)


def test_interval_of_a_mean_matches_theory_and_covers():
    rng = np.random.default_rng(0)
    values = rng.normal(size=400)
    half = stats.t.ppf(0.975, 399) * values.std(ddof=1) / 20
    assert st.mean_interval(values) == pytest.approx([values.mean() - half, values.mean() + half])
    draws = rng.normal(size=(4000, 6))  # Student's interval is exact; 3 standard errors of a share of 4000 are .0103
    covered = np.mean([low <= 0.0 <= high for low, high in map(st.mean_interval, draws)])
    assert covered == pytest.approx(0.95, abs=0.0103)


def test_clusters_widen_the_interval_of_a_mean_and_rows_are_counted():
    rng = np.random.default_rng(0)
    words = np.repeat(np.arange(10), 20)
    values = rng.normal(size=10)[words] + 0.1 * rng.normal(size=200)
    plain, clustered = st.mean_interval(values), st.mean_interval(values, clusters=words)
    assert clustered[1] - clustered[0] > 2 * (plain[1] - plain[0])
    means = values.reshape(10, 20).mean(axis=1)  # clusters of one size: the interval of their means
    assert clustered == pytest.approx(st.mean_interval(means))
    drawn = st.bootstrap_means([1.0, 1.0, 1.0, 5.0], clusters=["a", "a", "a", "b"], n_bootstrap=500)
    assert set(drawn.round(6)) == {1.0, 2.0, 5.0}  # aa; ab is the mean of four rows; bb


@pytest.mark.parametrize("sizes", [[8, 8, 8], [22, 1, 1], [3, 5, 9, 14], [1] * 40, [10**9, 1, 1]])
def test_degrees_of_freedom_are_those_of_the_quadratic_form(sizes):
    """Deviations of units with unit variance from the weighted mean, weighted: (trace V)^2 / trace V^2."""
    weights = np.array(sizes) / np.sum(sizes)
    residuals = weights[:, None] * (np.eye(len(sizes)) - weights)
    covariance = residuals @ residuals.T
    expected = np.trace(covariance) ** 2 / np.sum(covariance**2)
    assert 1.0 <= st.freedom_of(sizes) <= len(sizes) - 1.0
    if max(sizes) < 10**9:  # beyond, rounding has the last word
        assert st.freedom_of(sizes) == pytest.approx(expected)


def test_paired_columns_are_resampled_together():
    noise = np.random.default_rng(0).normal(size=200) * 100
    means = st.bootstrap_means(np.stack([noise + 1, noise], axis=1))
    assert st.percentile_interval(means[:, 0] - means[:, 1]) == pytest.approx([1.0, 1.0])


def test_same_seed_and_keys_give_the_same_stream():
    draw = [st.generator(0, *keys).random() for keys in (("a",), ("a",), ("b",), ())]
    assert draw[0] == draw[1]
    assert len({draw[0], draw[2], draw[3]}) == 3


def test_chunks_do_not_change_results(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=6), rng.normal(size=6)
    whole = pt.permutation_test(x, y)
    monkeypatch.setattr(pt, "CHUNK_CELLS", 50)
    assert pt.permutation_test(x, y) == whole


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pt.permutation_test([], [1.0]), "x holds 0 row"),
        (lambda: pt.permutation_test([1.0], [float("nan")]), "y holds 1 value.*NaN"),
        (lambda: pt.permutation_test([1.0], [1.0], x_clusters=["a"]), "both sides or for none"),
        (lambda: pt.permutation_test([1.0], [1.0], n_samples=0), "n_samples"),
        (lambda: pt.permutation_test([[1.0]], [1.0]), "1 dimension"),
        (lambda: st.mean_interval([]), "at least 1"),
        (lambda: st.mean_interval([1.0, 2.0], clusters=["a"]), "one label per row"),
        (lambda: st.bootstrap_means([1.0, 2.0], clusters=["a"]), "one label per row"),
        (lambda: st.percentile_interval([1.0], confidence=1.0), "between 0 and 1"),
        (lambda: st.as_values(["a"], "scores"), "scores must be numbers"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
