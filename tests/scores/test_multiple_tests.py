"""Holm and Benjamini-Hochberg: on paper, as properties, and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import false_discovery_control

from hf_fairness.scores.multiple_tests import benjamini_hochberg, holm

P_VALUES = some.lists(some.floats(0.0, 1.0), min_size=1, max_size=12)


def test_on_paper():
    p_values = [0.01, 0.04, 0.03, 0.005]
    # Sorted .005 .01 .03 .04, times 4 3 2 1: .02 .03 .06 .04, and never below an earlier one.
    assert holm(p_values) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # Times 4/1 4/2 4/3 4/4: .02 .02 .04 .04, and never above a later one.
    assert benjamini_hochberg(p_values) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    # .8 / 1 is below 2 * .45: the larger p pulls the smaller one's adjustment down.
    assert benjamini_hochberg([0.45, 0.8]) == pytest.approx([0.8, 0.8])
    assert holm([0.45, 0.8]) == pytest.approx([0.9, 0.9])
    assert holm([0.7, 0.8, 0.9]) == [1.0] * 3


def test_one_test_and_none():
    assert holm([0.2]) == benjamini_hochberg([0.2]) == [0.2]
    assert holm([]) == benjamini_hochberg([]) == []


@settings(max_examples=200)
@given(P_VALUES)
def test_raw_up_to_benjamini_hochberg_up_to_holm_up_to_bonferroni(p_values):
    raw, fdr, family = np.array(p_values), np.array(benjamini_hochberg(p_values)), np.array(holm(p_values))
    slack = 1e-12
    assert (raw <= fdr + slack).all()
    assert (fdr <= family + slack).all()
    assert (family <= np.minimum(1.0, len(raw) * raw) + slack).all()
    assert (family <= 1.0).all()


@settings(max_examples=200)
@given(P_VALUES, some.randoms(use_true_random=False))
def test_order_is_kept_and_does_not_matter(p_values, random):
    order = list(range(len(p_values)))
    random.shuffle(order)
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(p_values)
        assert adjust([p_values[place] for place in order]) == pytest.approx([adjusted[place] for place in order])
        by_size = [adjusted[place] for place in np.argsort(p_values, kind="stable")]
        assert by_size == sorted(by_size)


@settings(max_examples=200)
@given(P_VALUES)
def test_benjamini_hochberg_is_scipys(p_values):
    assert benjamini_hochberg(p_values) == pytest.approx(false_discovery_control(p_values).tolist())


def test_holm_keeps_the_chance_of_one_false_rejection():
    p_values = np.random.default_rng(0).random((2000, 8))
    assert (p_values.min(axis=1) <= 0.05).mean() > 0.25
    false = np.mean([min(holm(row)) <= 0.05 for row in p_values])
    assert 0.03 <= false <= 0.065, false


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@pytest.mark.parametrize(
    ("p_values", "message"), [([0.5, float("nan")], "NaN"), ([1.2], "between 0 and 1"), ([[0.5]], "1 dimension")]
)
def test_bad_input_is_named(adjust, p_values, message):
    with pytest.raises(ValueError, match=message):
        adjust(p_values)
