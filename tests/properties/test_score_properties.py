"""What must hold for any input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays

from hf_fairness.scores.cced import cced
from hf_fairness.scores.permutation import permutation_test
from hf_fairness.scores.seat import associations, effect_size, seat_test
from hf_fairness.scores.statistics import mean_interval
from hf_fairness.scores.structure import spearman_draws

VALUES = some.floats(-100, 100, allow_nan=False, width=32)
SEEDS = some.integers(0, 2**31)


def _vectors(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def _quick(x, y, a, b):
    return seat_test(x, y, a, b, n_samples=300, n_bootstrap=20)


@settings(max_examples=30)
@given(SEEDS, some.floats(1e-3, 1e3))
def test_seat_ignores_order_scale_and_rotation(seed, scale):
    x, y, a, b = _vectors(seed, 4, 5, 6)
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(_vectors(seed + 1, 6, 6))[0]
    plain = _quick(x, y, a, b)
    other = _quick(*(scale * rng.permutation(part) @ turn for part in (x, y, a, b)))
    for key in ("effect_size", "numerator", "p_value"):
        assert other[key] == pytest.approx(plain[key], abs=1e-9)


@settings(max_examples=30)
@given(SEEDS)
def test_seat_changes_sign_with_its_sets(seed):
    x, y, a, b = _vectors(seed, 4, 5, 6)
    d = _quick(x, y, a, b)["effect_size"]
    assert _quick(y, x, a, b)["effect_size"] == pytest.approx(-d)
    assert _quick(x, y, b, a)["effect_size"] == pytest.approx(-d)
    assert abs(d) <= 2.0


@settings(max_examples=20)
@given(SEEDS)
def test_exact_p_is_near_sampled_p(seed):
    x, y = _vectors(seed, 2, 7)
    exact = permutation_test(x + 0.5, y)
    sampled = permutation_test(x + 0.5, y, n_samples=3000, seed=seed)
    assert (exact.method, sampled.method) == ("exact", "monte_carlo")
    assert abs(exact.p_value - sampled.p_value) < 5 * np.sqrt(exact.p_value / 3000) + 1e-3


@settings(max_examples=50)
@given(arrays(np.float64, 4, elements=VALUES), arrays(np.float64, 4, elements=VALUES))
def test_permutation_ignores_a_shift_and_never_gives_zero(x, y):
    plain = permutation_test(x, y)
    assert 1 / 70 <= plain.p_value <= 1.0
    coarse, moved = permutation_test(x.round(), y.round()), permutation_test(x.round() + 7, y.round() + 7)
    assert coarse.p_value == moved.p_value
    forward, backward = permutation_test(x.round(), y.round()), permutation_test(y.round(), x.round())
    assert forward.p_value + backward.p_value >= 1.0  # ties are in both


@settings(max_examples=50)
@given(arrays(np.float64, (6, 2), elements=VALUES))
def test_single_value_clusters_are_no_clusters(values):
    x, y = values.T
    labels = list(range(6))
    assert permutation_test(x, y, x_clusters=labels, y_clusters=labels).p_value == permutation_test(x, y).p_value
    assert mean_interval(x, clusters=labels) == pytest.approx(mean_interval(x))


@settings(max_examples=40)
@given(SEEDS, some.integers(2, 4), some.floats(1e-3, 1e3))
def test_cced_bounds_order_and_scale(seed, groups, scale):
    names = ["neutral", *"abcd"[:groups]]
    data = dict(zip(names, _vectors(seed, groups + 1, 6, 3), strict=True))
    order, turn = np.random.default_rng(seed).permutation(6), np.linalg.qr(_vectors(seed + 1, 3, 3))[0]
    plain = cced(data, n_bootstrap=20)
    moved = cced({name: scale * (part[order] @ turn + 5.0) for name, part in data.items()}, n_bootstrap=20)
    assert 0.0 <= abs(plain["cced_signed"]) <= plain["cced"] + 1e-12
    assert plain["cced_relative"] <= 2.0
    assert moved["cced"] == pytest.approx(scale * plain["cced"])
    assert moved["cced_relative"] == pytest.approx(plain["cced_relative"])
    shuffled = cced({name: data[name] for name in reversed(names)}, n_bootstrap=20)
    assert shuffled["cced"] == pytest.approx(plain["cced"])


@settings(max_examples=40)
@given(SEEDS)
def test_equal_distances_give_no_cced(seed):
    centre, step = _vectors(seed, 2, 5, 3)
    result = cced({"a": centre + step, "b": centre - step, "neutral": centre}, n_bootstrap=20)
    assert result["cced"] == pytest.approx(0.0, abs=1e-12)


@settings(max_examples=40)
@given(SEEDS)
def test_rank_correlation_sees_order_only(seed):
    x, y = _vectors(seed, 2, 12)
    value, draws = spearman_draws(x, y, n_bootstrap=20)
    assert spearman_draws(np.exp(x), y**3, n_bootstrap=20)[0] == pytest.approx(value)
    assert spearman_draws(-x, y, n_bootstrap=20)[0] == pytest.approx(-value)
    assert (np.abs(draws) <= 1.0).all()


@settings(max_examples=30)
@given(SEEDS)
def test_associations_are_bounded_and_linear_in_the_sets(seed):
    texts, a, b = _vectors(seed, 3, 6, 4)
    s = associations(texts, a, b)
    assert (np.abs(s) <= 2.0).all()
    assert associations(texts, b, a) == pytest.approx(-s)
    assert effect_size(s[:3], s[3:]) == pytest.approx(effect_size(7 * s[:3] + 1, 7 * s[3:] + 1))
