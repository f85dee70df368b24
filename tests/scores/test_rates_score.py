"""Resampled sums, rates and the intervals made of them: on paper, against plain resampling, and for their coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from hf_fairness.scores import rates
from hf_fairness.scores.statistics import bootstrap_means


def test_distinct_rows_on_paper():
    rows, counts = rates.distinct_rows(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 2.0]]))
    found = dict(zip(map(tuple, rows.tolist()), counts.tolist(), strict=True))
    assert found == {(1.0, 0.0): 2.0, (0.0, 2.0): 1.0, (1.0, 2.0): 1.0}


def test_rows_that_all_differ_are_drawn_as_ever():
    values = np.random.default_rng(0).normal(size=(50, 2))
    sums = rates.resampled_sums(values, n_bootstrap=100, seed=3)
    assert sums / 50 == pytest.approx(bootstrap_means(values, n_bootstrap=100, seed=3))


def test_counted_rows_have_the_moments_of_the_bootstrap():
    rng = np.random.default_rng(1)
    table = rng.integers(0, 2, (400, 3)).astype(float)
    sums = rates.resampled_sums(table, n_bootstrap=20_000)
    assert sums.mean(axis=0) == pytest.approx(table.sum(axis=0), abs=0.5)
    # Variance of a sum of n draws from the data: n times the covariance of the data.
    assert np.cov(sums.T) == pytest.approx(400 * np.cov(table.T, ddof=0), abs=4.0)


def test_repeats_stand_for_rows():
    rows, counts = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [5, 0, 7]
    expanded = np.repeat(rows, counts, axis=0)
    plain = rates.resampled_sums(expanded, n_bootstrap=50)
    assert (plain == rates.resampled_sums([rows[0], rows[2]], repeats=[5, 7], n_bootstrap=50)).all()
    counted = rates.resampled_sums(rows, repeats=counts, n_bootstrap=50)
    assert (counted[:, 1] == 12).all()  # the second row, the only one without, is never drawn


def test_clusters_are_drawn_whole():
    sums = rates.resampled_sums([[1.0], [1.0], [1.0], [5.0]], clusters=["a", "a", "a", "b"], n_bootstrap=200)
    assert set(sums[:, 0]) == {6.0, 8.0, 10.0}


def test_equal_clusters_are_counted_together():
    # 100 clusters of two kinds: the sum is 2 + ... per cluster, so binomial.
    values = np.tile([0.0, 0.0, 1.0, 1.0], 50)[:, None]
    labels = np.repeat(np.arange(100), 2)
    sums = rates.resampled_sums(values, clusters=labels, n_bootstrap=10_000)
    assert set(sums[:, 0] % 2) == {0.0}
    assert sums.std() == pytest.approx(2 * np.sqrt(100 * 0.25), rel=0.03)


@settings(max_examples=30)
@given(some.integers(0, 2**31))
def test_order_of_rows_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, (60, 2)).astype(float)
    draws = [rates.resampled_sums(rows, n_bootstrap=20, seed=7) for rows in (table, rng.permutation(table))]
    assert (draws[0] == draws[1]).all()


def test_no_draws_give_no_interval():
    assert rates.resampled_sums([[1.0, 2.0]], n_bootstrap=0).shape == (0, 2)
    assert rates.resampled_sums(np.eye(3), n_bootstrap=0).shape == (0, 3)
    assert rates.interval([]) is None


def test_undefined_is_said():
    assert np.isnan(rates.ratio([1.0, 0.0], 0.0)).all()
    assert rates.ratio(np.ones((2, 3)), [[2.0], [4.0]]).tolist() == [[0.5] * 3, [0.25] * 3]
    nan = float("nan")
    assert rates.interval([nan, 0.5]) == [0.5, 0.5]
    assert rates.interval([nan, nan, 0.5]) is None
    assert rates.one_minus("parity", None, None) == {"parity": None, "parity_ci95": None}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rates.resampled_sums([]), "columns must have 2 dimension"),
        (lambda: rates.resampled_sums(np.empty((0, 2))), "columns holds 0 row"),
        (lambda: rates.resampled_sums([[float("nan")]]), "NaN"),
        (lambda: rates.resampled_sums([[1.0]], n_bootstrap=-1), "n_bootstrap must be 0 or more; got -1"),
        (lambda: rates.resampled_sums([[1.0], [2.0]], clusters=["a"]), "one label per row"),
        (lambda: rates.resampled_sums([[1.0]], repeats=[1.5]), "counts must be whole numbers"),
        (lambda: rates.resampled_sums([[1.0]], repeats=[1, 2]), "repeats needs one count per row: got 2 for 1"),
        (lambda: rates.resampled_sums([[1.0]], repeats=[0]), "not all 0"),
        (lambda: rates.resampled_sums([[1.0]], repeats=[1], clusters=["a"]), "not both"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
