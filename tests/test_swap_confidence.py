"""The risks behind the confidence of a swap: the fit finds planted ones, and those of the package are calibrated."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import swap_confidence, swap_exam
from benchmarks.calibration import area_for_wrong, calibration_error
from benchmarks.exams.texts import judged
from hf_fairness.augment.confidence import RISKS, probability


def test_the_fit_finds_planted_risks():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (20_000, 3)).astype(float)
    doubts = rng.choice([0.0, 0.1], 20_000)
    planted = np.array([0.02, 0.2, 0.0])
    wrong = (rng.random(20_000) > np.exp(-(counts @ planted + doubts))).astype(float)
    assert swap_confidence.fit(counts, doubts, wrong) == pytest.approx(planted, abs=0.01)


def test_without_rows_the_prior_is_left():
    assert swap_confidence.fit(np.zeros((1, 2)), np.zeros(1), np.zeros(1)) == pytest.approx([0.1, 0.1], abs=1e-3)


@given(st.lists(st.sampled_from(sorted(RISKS)), max_size=8), st.sampled_from(sorted(RISKS)), st.floats(0, 1))
def test_more_risks_and_less_certainty_never_give_more(names, more, certainty):
    some = probability(Counter(names), certainty)
    assert 0 <= probability(Counter([*names, more]), certainty) <= some <= certainty
    assert probability(Counter(names), certainty / 2) <= some


def test_confidence_means_something_on_the_judged_sets(shared):
    asked = [*judged("swap_judged"), *swap_exam.questions("open")]
    said = swap_exam.confidences(asked)
    confidence, right = np.array(said["confidence"]), np.array(said["right"], dtype=float)
    assert calibration_error(confidence, right) <= 0.05
    assert area_for_wrong(confidence, right) >= 0.8
    assert np.median(confidence) > 0.97
