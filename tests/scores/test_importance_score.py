"""GE, EL2N, forgetting, stereotype: against the authors' numbers, on paper, and what holds of any logits."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hf_fairness.scores.importance import el2n, forgetting, ge, stereotype

TOLERANCE = 1e-4  # of the reference numbers
numbers = st.floats(-50, 50, width=32)


@pytest.fixture(scope="module")
def gold(shared):
    return json.loads((shared / "gold/data_diet/importance_scores_case.json").read_text())


def test_reference_numbers(gold):
    logits, flipped, labels = gold["logits_epoch"]["1"], gold["logits_swap_epoch1"], gold["labels"]
    expected = gold["expected"]
    changed = np.any(np.array(gold["input_ids"]) != np.array(gold["input_ids_swap"]), axis=1)
    assert 0 < changed.sum() < len(changed)
    for given_changed in (None, changed):
        np.testing.assert_allclose(ge(logits, flipped, given_changed), expected["GE"], atol=TOLERANCE)
        assert stereotype(logits, flipped, labels, given_changed).tolist() == expected["stereotype"]
    np.testing.assert_allclose(el2n(logits, labels), expected["EL2N"], atol=TOLERANCE)
    epochs = [np.array(gold["logits_epoch"][str(epoch)]).argmax(axis=1) == labels for epoch in range(1, 6)]
    np.testing.assert_allclose(forgetting(epochs), expected["forget"], atol=TOLERANCE)


def test_on_paper():
    assert ge([[1.0, 1.0]], [[4.0, 5.0]]).tolist() == [5.0]
    assert el2n([[0.0, np.log(3.0)]], [1]) == pytest.approx([np.sqrt(2) / 4])  # probabilities 1/4 and 3/4
    assert forgetting([[1], [0], [1], [0], [0]]).tolist() == [2.0]
    assert forgetting([[0], [0], [0]]).tolist() == [0.0]  # never learned
    assert stereotype([[0.0, 1.0], [0.0, 1.0]], [[0.0, 2.0]] * 2, [1, 0]).tolist() == [1, -1]


def test_scores_are_averaged_over_runs():
    first, second, labels = np.array([[0.0, 2.0], [1.0, 0.0]]), np.array([[3.0, 0.0], [0.0, 1.0]]), [0, 1]
    both = np.stack([first, second])
    np.testing.assert_allclose(el2n(both, labels), (el2n(first, labels) + el2n(second, labels)) / 2)
    other = np.zeros((2, 2))
    np.testing.assert_allclose(
        ge(both, np.stack([other, other]), [True, False]),
        (ge(first, other, [True, False]) + ge(second, other, [True, False])) / 2,
    )
    assert forgetting([[[1, 1], [0, 1]], [[1, 0], [1, 1]]]).tolist() == [0.5, 0.0]


def test_logits_of_unchanged_examples_are_not_read():
    logits = [[1.0, 0.0], [np.nan, 0.0]]
    assert ge(logits, [[1.0, 2.0], [np.nan, np.nan]], [True, False]).tolist() == [2.0, 0.0]
    assert ge(logits, np.full((2, 2), np.nan), [False, False]).tolist() == [0.0, 0.0]


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(2, 4)), elements=numbers), st.data())
def test_what_holds_of_any_logits(logits, data):
    n, classes = logits.shape
    others = data.draw(hnp.arrays(np.float64, (n, classes), elements=numbers))
    labels = data.draw(hnp.arrays(np.int64, n, elements=st.integers(0, classes - 1)))
    order = np.array(data.draw(st.permutations(range(n))))
    distance, error = ge(logits, others), el2n(logits, labels)
    np.testing.assert_allclose(distance, ge(others, logits))  # "the same as the score for its counterfactual"
    np.testing.assert_allclose(distance[order], ge(logits[order], others[order]))
    np.testing.assert_allclose(error[order], el2n(logits[order], labels[order]))
    assert (distance >= 0).all()
    assert (ge(logits, logits) == 0).all()
    assert (error >= 0).all()
    assert (error <= np.sqrt(2) + 1e-12).all()
    np.testing.assert_allclose(error, el2n(logits + 7.0, labels), atol=1e-9)  # softmax sees differences only
    sides = stereotype(logits, others, labels)
    assert (sides == -stereotype(others, logits, labels)).all()
    assert (sides == np.sign(error - el2n(others, labels))).all()


@given(hnp.arrays(np.bool_, st.tuples(st.integers(2, 9), st.integers(1, 5))))
def test_forgetting_counts_each_fall(correct):
    expected = [sum(a and not b for a, b in itertools.pairwise(column)) for column in correct.T.tolist()]
    found = forgetting(correct)
    assert found.tolist() == expected
    assert (found <= len(correct) // 2).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ge([[1.0, 2.0]], [[1.0, 2.0], [0.0, 1.0]]), r"one shape; got \(1, 2\) and \(2, 2\)"),
        (lambda: ge([[1.0]], [[2.0]]), "regression head"),
        (lambda: ge([[1.0, np.nan]], [[1.0, 2.0]]), "logits holds 1 value.s. that are NaN"),
        (lambda: ge([[1.0, 2.0]], [[1.0, np.inf]]), "counterfactual_logits holds 1 value"),
        (lambda: ge([[1.0, 2.0]], [[1.0, 2.0]], [True, False]), "changed needs one entry per row: got 2 for 1"),
        (lambda: ge(np.zeros((0, 2)), np.zeros((0, 2))), "two or more classes"),
        (lambda: el2n([[1.0], [2.0]], [0, 0]), "regression head"),
        (lambda: el2n([[1.0, 2.0]], [2]), "class numbers from 0 to 1"),
        (lambda: el2n([[1.0, 2.0]], [-1]), "class numbers from 0 to 1"),
        (lambda: el2n([[1.0, 2.0]], ["yes"]), "class numbers from 0 to 1"),
        (lambda: el2n([[1.0, 2.0]], [0, 1]), "labels needs one entry per row: got 2 for 1"),
        (lambda: el2n([[1.0, 2.0]], [None]), "row.s. without a label|class numbers"),
        (lambda: el2n([[np.nan, 2.0]], [0]), "NaN"),
        (lambda: forgetting([[True, False]]), "at least two epochs"),
        (lambda: forgetting([1, 0]), r"shape \(epochs, n\)"),
        (lambda: forgetting([[0.5], [1.0]]), "True or False"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
