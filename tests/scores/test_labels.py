"""Labels that are read at once are those that a look at each of them gives, and so are the errors."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.scores import labels
from hf_fairness.scores.labels import as_labels, group_index

EDGES = st.sampled_from([0, 1, -1, 2**31, 2**63 - 1, 2**63, -(2**63), 2**64 - 1])
WORDS = st.sampled_from(["a", "b", "a ", "", "nan", "ä\0"])
OTHERS = st.one_of(
    st.none(), st.just(float("nan")), st.sampled_from([0.0, 1.0, 0.5]), st.just((1,)), st.just(np.str_("b"))
)
COLUMNS = st.one_of(
    *(
        st.lists(each, max_size=6)
        for each in (st.booleans(), EDGES, WORDS, st.one_of(st.booleans(), EDGES, WORDS, OTHERS))
    )
)
DTYPES = st.sampled_from([bool, np.int8, np.uint8, np.int64, np.uint64, np.float32, "U4", object])


def outcome(function, *arguments):
    """What a call gives, its types too, or its error."""
    try:
        found = function(*arguments)
    except ValueError as error:
        return str(error)
    parts = found if isinstance(found, tuple) else (found,)
    lists = [part.tolist() if isinstance(part, np.ndarray) else part for part in parts]
    return [(getattr(part, "dtype", None), each, [*map(type, each)]) for part, each in zip(parts, lists, strict=True)]


def with_a_look_at_each(function, *arguments):
    with mock.patch.object(labels, "_at_once", return_value=None):
        return outcome(function, *arguments)


@settings(max_examples=40)
@given(COLUMNS, st.none() | st.integers(0, 6))
def test_lists_are_read_as_one_by_one(column, n):
    for values in (column, tuple(column)):
        read = lambda: as_labels(values, "labels", n=n)  # noqa: B023, E731
        assert outcome(read) == with_a_look_at_each(read)
    assert outcome(group_index, column, len(column)) == with_a_look_at_each(group_index, column, len(column))


@settings(max_examples=40)
@given(st.lists(st.integers(0, 3), max_size=6), DTYPES, st.booleans())
def test_arrays_are_read_as_one_by_one(column, dtype, masked):
    values = np.array(column, dtype=dtype)
    masked_array = np.ma.masked_array(values, mask=np.full(len(values), masked))
    for each in (values, values[::-1], values[:, None], masked_array):
        assert outcome(as_labels, each, "labels") == with_a_look_at_each(as_labels, each, "labels")


@pytest.mark.parametrize("edge", [2**63 - 1, 2**63, 2**64 - 1])
def test_whole_numbers_past_int64_stay_exact(edge):
    values = np.array([0, edge], dtype=np.uint64)
    assert as_labels(values, "labels").tolist() == [0, edge]
    assert as_labels(values, "labels").dtype == (np.int64 if edge < 2**63 else object)
    assert as_labels(np.array([-(2**63)]), "labels").tolist() == [-(2**63)]


def test_tensors_and_what_is_read_are_not_tied_to_what_was_given():
    values = np.array([0, 1, 1])
    read = as_labels(values, "labels")
    read[0] = 7
    assert values.tolist() == [0, 1, 1]
    assert as_labels(torch.tensor([True, False]), "labels").tolist() == [1, 0]
    assert group_index(np.array([10, 9, 10]), 3)[0] == ["10", "9"]
