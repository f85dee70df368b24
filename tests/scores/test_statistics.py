"""Intervals and permutations: checked on paper, against plain loops, and for their error rates."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

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


def test_bootstrap_interval_matches_theory_and_covers():
    rng = np.random.default_rng(0)
    values = rng.normal(size=400)
    low, high = st.bootstrap_ci(values)
    half = 1.96 * values.std(ddof=1) / 20
    assert (low, high) == (
        pytest.approx(values.mean() - half, abs=0.01),
        pytest.approx(values.mean() + half, abs=0.01),
    )
    covered = np.mean(
        [
            low <= 0.0 <= high
            for low, high in (st.bootstrap_ci(rng.normal(size=60), n_bootstrap=400, seed=i) for i in range(300))
        ]
    )
    assert 0.90 <= covered <= 0.98, covered


def test_clustered_bootstrap_is_wider_and_counts_rows():
    rng = np.random.default_rng(0)
    words = np.repeat(np.arange(10), 20)
    values = rng.normal(size=10)[words] + 0.1 * rng.normal(size=200)
    plain, clustered = st.bootstrap_ci(values), st.bootstrap_ci(values, clusters=words)
    assert clustered[1] - clustered[0] > 2 * (plain[1] - plain[0])
    means = st.bootstrap_means([1.0, 1.0, 1.0, 5.0], clusters=["a", "a", "a", "b"], n_bootstrap=500)
    assert set(means.round(6)) == {1.0, 2.0, 5.0}  # aa; ab is the mean of four rows; bb


def test_paired_columns_are_resampled_together():
    noise = np.random.default_rng(0).normal(size=200) * 100
    low, high = st.bootstrap_ci(np.stack([noise + 1, noise], axis=1), statistic=lambda m: m[:, 0] - m[:, 1])
    assert low == pytest.approx(1.0)
    assert high == pytest.approx(1.0)
    result = st.paired_difference(noise + 1, noise)
    assert result["difference"] == pytest.approx(1.0)
    assert result["difference_ci95"] == pytest.approx([1.0, 1.0])


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
        (lambda: st.bootstrap_ci([]), "at least 1"),
        (lambda: st.bootstrap_ci([1.0, 2.0], clusters=["a"]), "one label per row"),
        (lambda: st.percentile_interval([1.0], confidence=1.0), "between 0 and 1"),
        (lambda: st.paired_difference([1.0], [1.0, 2.0]), "same rows"),
        (lambda: st.as_values(["a"], "scores"), "scores must be numbers"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
