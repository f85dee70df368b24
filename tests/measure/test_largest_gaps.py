"""The texts with the largest gap between groups: those that a person is shown, only when they ask."""

from __future__ import annotations

import numpy as np
import pytest

from hf_fairness.measure.audit import largest_gaps

TEXTS = ["far", "near", "same", "far on one side"]
#: Distances to the neutral text, at the origin, by group.
DISTANCES = {"male": [3.0, 1.0, 2.0, 0.5], "female": [1.0, 1.5, 2.0, 4.5], "nonbinary": [2.0, 1.2, 2.0, 1.0]}


def vectors(distances: dict[str, list[float]]) -> dict[str, np.ndarray]:
    n = len(next(iter(distances.values())))
    made = {name: np.array([[value, 0.0] for value in values]) for name, values in distances.items()}
    return {"neutral": np.zeros((n, 2)), **made}


def test_largest_first_over_all_groups():
    found = largest_gaps(TEXTS, vectors(DISTANCES), 3)
    assert [text for text, _ in found] == ["far on one side", "far", "near"]
    assert [gap for _, gap in found] == pytest.approx([4.0, 2.0, 0.5])
    assert largest_gaps(TEXTS, vectors(DISTANCES), 9)[-1] == ("same", 0.0)
    assert len(largest_gaps(TEXTS, vectors(DISTANCES), 9)) == 4


def test_a_gap_is_one_of_distances_not_of_vectors():
    """Versions on opposite sides, equally far, have no gap."""
    sides = {"neutral": np.zeros((1, 2)), "male": np.array([[1.0, 0.0]]), "female": np.array([[-1.0, 0.0]])}
    assert largest_gaps(["text"], sides, 1) == [("text", 0.0)]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_text_that_comes_twice_stands_once_with_its_largest_gap(order):
    twice = {name: [[1.0, 3.0][k] if name == "male" else 1.0 for k in order] for name in ("male", "female")}
    assert largest_gaps(["same text"] * 2, vectors(twice), 5) == [("same text", 2.0)]


def test_none_asked_none_shown():
    assert largest_gaps(TEXTS, vectors(DISTANCES), 0) == []


def test_a_negative_number_of_texts_is_an_error():
    """As the end of a slice it would show nearly all of them."""
    with pytest.raises(ValueError, match="n is -1, expected 0 or more"):
        largest_gaps(TEXTS, vectors(DISTANCES), -1)
