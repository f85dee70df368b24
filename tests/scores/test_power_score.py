"""Minimal detectable gaps: they are found as often as promised, and clusters make them larger."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from hf_fairness.scores.power import design_effects, minimal_detectable_change, minimal_detectable_gap


@pytest.mark.parametrize(("n_first", "n_second", "rate"), [(150, 150, 0.5), (400, 150, 0.2), (300, 300, 0.05)])
def test_gap_is_found_with_the_promised_power(n_first, n_second, rate):
    gap = minimal_detectable_gap(n_first, n_second, rate=rate)
    # The two rates lie around the overall rate on the scale on which their errors are equal.
    middle = 2 * np.arcsin(np.sqrt(rate))
    widths = np.linspace(0, 1.5, 20_001)
    pairs = np.stack([np.sin((middle + sign * widths / 2) / 2) ** 2 for sign in (-1, 1)])
    low, high = pairs[:, np.argmin(np.abs(pairs[1] - pairs[0] - gap))]
    rng, runs = np.random.default_rng(0), 20_000
    first, second = rng.binomial(n_first, low, runs) / n_first, rng.binomial(n_second, high, runs) / n_second
    pooled = (first * n_first + second * n_second) / (n_first + n_second)
    error = np.sqrt(pooled * (1 - pooled) * (1 / n_first + 1 / n_second))
    found = (np.abs(first - second) > 1.96 * error).mean()
    assert 0.75 <= found <= 0.85, found


def test_change_is_found_with_the_promised_power():
    n, std = 60, 2.0
    change = minimal_detectable_change(n, std)
    draws = np.random.default_rng(0).normal(change, std, size=(20_000, n))
    found = (np.abs(draws.mean(axis=1)) > 1.96 * std / np.sqrt(n)).mean()
    assert 0.78 <= found <= 0.82, found


@settings(max_examples=100)
@given(some.integers(20, 5000), some.integers(20, 5000), some.floats(0.0, 1.0))
def test_gap_is_symmetric_and_falls_with_rows(n_first, n_second, rate):
    gap = minimal_detectable_gap(n_first, n_second, rate=rate)
    assert 0.0 < gap <= 1.0
    assert minimal_detectable_gap(n_second, n_first, rate=rate) == pytest.approx(gap)
    assert minimal_detectable_gap(n_first, n_second, rate=1.0 - rate) == pytest.approx(gap)
    assert minimal_detectable_gap(4 * n_first, 4 * n_second, rate=rate) < gap
    assert minimal_detectable_gap(n_first, n_second, rate=rate, alpha=0.01) > gap
    assert minimal_detectable_gap(n_first, n_second, rate=rate, power=0.9) > gap
    fourfold = minimal_detectable_gap(4 * n_first, 4 * n_second, rate=rate, design_effect=4.0)
    assert fourfold == pytest.approx(gap)


def test_too_few_rows_detect_nothing():
    assert minimal_detectable_gap(1, 1) is None
    assert minimal_detectable_gap(3, 1000, design_effect=5.0) is None


def test_design_effect_is_that_of_the_cluster_bootstrap():
    # 40 clusters of 5 rows share their value of each column: the variance of every mean grows fivefold.
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=(40, 3)), 5, axis=0)
    parts = values - values.mean(axis=0)
    sums = parts.reshape(40, 5, 3).sum(axis=1)
    effects = design_effects(parts.T @ parts, sums.T @ sums)
    assert effects[~np.eye(3, dtype=bool)] == pytest.approx(5.0)
    assert np.diag(effects) == pytest.approx(1.0)
    # Columns that move together within a cluster differ less than those of independent rows: never below 1.
    assert design_effects([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.9], [0.9, 1.0]]).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert design_effects(np.zeros((2, 2)), np.zeros((2, 2))).tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: minimal_detectable_gap(0, 5), "Both groups need rows; got 0 and 5"),
        (lambda: minimal_detectable_gap(5, 5, rate=1.5), "rate must lie"),
        (lambda: minimal_detectable_gap(5, 5, alpha=0.0), "alpha must lie"),
        (lambda: minimal_detectable_gap(5, 5, power=1.0), "power must lie"),
        (lambda: minimal_detectable_gap(5, 5, design_effect=0.0), "design_effect must be"),
        (lambda: minimal_detectable_change(0, 1.0), "n must be at least 1"),
        (lambda: minimal_detectable_change(5, float("nan")), "std a number"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
