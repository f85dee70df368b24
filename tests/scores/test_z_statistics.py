"""z-statistics against scipy and a direct formula; Wilson's interval against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hf_fairness.scores.statistics import share_entry, share_interval
from hf_fairness.scores.z_statistics import z_statistics, z_threshold

COUNTS = st.lists(st.lists(st.integers(0, 500), min_size=3, max_size=3), min_size=1, max_size=5)


@settings(max_examples=50)
@given(COUNTS, st.sampled_from([[1 / 3] * 3, [0.5, 0.3, 0.2], [0.9, 0.05, 0.05]]))
def test_values_are_those_of_the_formula_and_of_chi_squared(counts, expected):
    found = z_statistics(counts, expected)
    for row, values in zip(counts, found, strict=True):
        n = sum(row)
        for count, share, z in zip(row, expected, values, strict=True):
            if not n:
                assert math.isnan(z)
                continue
            assert z == pytest.approx((count / n - share) / math.sqrt(share * (1 - share) / n), abs=1e-9)
            chi = stats.chisquare([count, n - count], [n * share, n * (1 - share)]).statistic
            assert z * z == pytest.approx(chi, abs=1e-6)
    np.testing.assert_allclose(z_statistics(counts[::-1], expected), found[::-1])


def test_limits():
    assert z_statistics([[5, 5]], [0.5, 0.5]).tolist() == [[0.0, 0.0]]
    assert np.isnan(z_statistics([[5, 5]], [1.0, 0.0])).all()
    table = z_statistics([[4, 4], [4, 4]], [[0.5, 0.5], [0.25, 0.75]])
    assert table[0].tolist() == [0, 0]
    assert table[1, 0] > 0 > table[1, 1]
    with pytest.raises(ValueError, match="0 or more"):
        z_statistics([[-1, 2]], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        z_statistics([[1, 2]], [1.5, 0.5])


def test_threshold_is_that_of_bonferroni():
    for level, n in ((0.05, 1), (0.01, 28_000)):
        assert n * stats.norm.sf(z_threshold(level, n)) == pytest.approx(level)
    for level, n in ((0.0, 1), (0.6, 1), (0.01, 0)):
        with pytest.raises(ValueError, match="Wanted a level"):
            z_threshold(level, n)


@settings(max_examples=50)
@given(st.integers(1, 3000), st.floats(0, 1))
def test_share_interval_is_wilsons(n, share):
    hits = round(n * share)
    low, high = share_interval(hits, n)
    other = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((other.low, other.high), abs=1e-9)
    assert low <= hits / n <= high
    assert high > low


def test_share_entry():
    assert share_entry("x", 0, 0) == {"x": None, "x_ci95": None}
    assert share_entry("x", 1, 2)["x"] == 0.5
    for hits, n in ((3, 2), (-1, 2), (0, 0)):
        with pytest.raises(ValueError, match="hits among n rows"):
            share_interval(hits, n)
