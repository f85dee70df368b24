"""MuST-SHE's rates: invariances and comparisons; the numbers on paper are in tests/metrics/cases/must_she.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.scores.must_she import compare_must_she, must_she


@st.composite
def counts(draw):
    """Counts of one row that do not contradict each other."""
    terms = draw(st.integers(1, 5))
    found = draw(st.integers(0, terms))
    correct = draw(st.integers(0, found))
    return [terms, found, correct, draw(st.integers(found - correct, found))]


@settings(max_examples=60)
@given(st.lists(st.tuples(counts(), st.sampled_from("FM")), min_size=1, max_size=20))
def test_groups_add_up_to_the_whole(rows):
    table, labels = [row for row, _ in rows], [label for _, label in rows]
    result = must_she(table, groupings={"genders": labels}, n_bootstrap=0)
    parts = result["genders"].values()
    for key in ("accuracy", "accuracy_wrong", "delta_accuracy", "term_coverage"):
        whole = sum(part[key] * part["n_terms"] for part in parts) / result["n_terms"]
        assert result[key] == pytest.approx(whole)
    assert result["delta_accuracy"] == pytest.approx(result["accuracy"] - result["accuracy_wrong"])
    if len(parts) == 2:
        first, second = (part["accuracy"] for part in parts)
        assert result["accuracy_gap"] == pytest.approx(abs(first - second))
    # A term may be there in both forms, so that both accuracies can add up to more than the coverage.
    assert max(result["accuracy"], result["accuracy_wrong"]) <= result["term_coverage"] <= 1


def test_interval_covers_and_clusters_widen():
    rng = np.random.default_rng(0)
    right = rng.random((200, 1)) < 0.6
    table = np.hstack([np.ones((200, 1)), np.ones((200, 1)), right, ~right])
    low, high = must_she(table)["accuracy_ci95"]
    assert low < 0.6 < high
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.24 / 200), rel=0.15)
    doubled = np.repeat(table, 2, axis=0)
    wide = must_she(doubled, clusters=[row // 2 for row in range(400)])["accuracy_ci95"]
    naive = must_she(doubled)["accuracy_ci95"]
    assert wide[1] - wide[0] > 1.2 * (naive[1] - naive[0])


def test_comparison_by_hand():
    """Four rows that only a has right, none that only b has: p = 2 / 16."""
    a, b = [[1, 1, 1, 0]] * 6, [[1, 1, 0, 1]] * 4 + [[1, 1, 1, 0]] * 2
    found = compare_must_she(a, b)
    assert found["accuracy"]["difference"] == pytest.approx(4 / 6)
    assert found["delta_accuracy"]["difference"] == pytest.approx(8 / 6)
    assert found["accuracy"]["p_value"] == pytest.approx(1 / 8)
    assert found["term_coverage"]["p_value"] == 1.0
    with pytest.raises(ValueError, match="numbers of terms differ"):
        compare_must_she(a, [[2, 1, 1, 0]] * 6)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1, 1, 1]], "columns terms, found, correct, wrong"),
        ([[1, 1, 0.5, 0]], "whole numbers"),
        ([[1, 2, 1, 1]], "contradict"),
        ([[3, 2, 1, 0]], "contradict"),
        ([[0, 0, 0, 0]], "No row has a gender-marked term"),
    ],
)
def test_counts_are_checked(table, message):
    with pytest.raises(ValueError, match=message):
        must_she(table)


def test_labels_are_checked():
    with pytest.raises(ValueError, match="genders needs one label per row"):
        must_she([[1, 1, 1, 0]], groupings={"genders": []})
