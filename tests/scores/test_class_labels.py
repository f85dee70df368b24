"""What every method reads labels with."""

from __future__ import annotations

import math

import numpy as np
import pandas
import pytest

from hf_fairness.scores.class_labels import class_names, class_numbers, places, read_labels

HUGE = 10**18


@pytest.mark.parametrize("missing", [None, math.nan, np.float32("nan"), pandas.NA, pandas.NaT, "", "  ", -1, -1.0])
def test_a_missing_label_is_refused_with_its_rows(missing):
    with pytest.raises(ValueError, match=r"label: 2 of 4 rows have no label, the first in row 1, 3"):
        read_labels([0, missing, 1, missing], "label")
    with pytest.raises(ValueError, match=r"the first in row 17"):
        read_labels([0, missing], "label", rows=[4, 17])


@pytest.mark.parametrize("value", [0.97, math.inf, np.float64(0.5)])
def test_a_fraction_is_no_label(value):
    with pytest.raises(ValueError, match=r"1 of 2 rows have a number that is not whole, the first in row 1"):
        read_labels([0, value], "label")


@pytest.mark.parametrize("value", [[0], {}, b"a", 1j])
def test_other_values_are_no_labels(value):
    with pytest.raises(ValueError, match="neither a whole number nor a name"):
        read_labels(["a", value], "label")


def test_whole_numbers_are_one_label_however_they_are_written():
    assert read_labels(np.array([1.0, 0.0]), "label") == [1, 0]
    assert read_labels([True, 1.0, 1, np.int8(1), "1"], "label") == [1, 1, 1, 1, "1"]
    assert read_labels([float(2**60), 2**70], "label") == [2**60, 2**70]


def test_a_class_label_gives_names():
    assert read_labels([1, 0, "no"], "label", names=["no", "yes"]) == ["yes", "no", "no"]
    with pytest.raises(ValueError, match="1 of 2 rows have no label, the first in row 1"):
        read_labels([1, -1], "label", names=["no", "yes"])
    with pytest.raises(ValueError, match="without a name"):
        read_labels([2], "label", names=["no", "yes"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, HUGE], "go up to 1000000000000000000; expected classes numbers below 100,000.*class_encode_column"),
        ([0, -1], r"1 of 2 rows have no label, the first in row 1 \(-1\)"),
        (["yes", 0], "must be class numbers; got the name 'yes'.*class_encode_column"),
        ([0.97], "not whole"),
    ],
)
def test_class_numbers_are_those_of_a_model(values, message):
    with pytest.raises(ValueError, match=message):
        class_numbers(values, "label")


def test_class_numbers_of_a_model_of_two():
    assert class_numbers([1.0, False], n_classes=2).tolist() == [1, 0]
    with pytest.raises(ValueError, match="go up to 2; expected classes 0 to 1"):
        class_numbers([2], n_classes=2)


def test_sparse_labels_are_as_many_classes_as_there_are():
    names = class_names([HUGE, 0, 0])
    assert names == ["0", str(HUGE)]
    assert places([HUGE, 0], names, "label").tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"row 0 has the label 1, and the classes are 0, 1000"):
        places([1], names, "label")  # not the second class: a number is the name of its own class only


def test_names_are_found_in_any_case_and_by_number():
    assert places(["YES", "no", 0], ["no", "yes"], "label").tolist() == [1, 0, 0]
    assert places(["us", "US", "Us", "uS"], ["US", "us"], "label").tolist() == [1, 0, 0, 0]
    with pytest.raises(ValueError, match="not in the map: row 1 has the label 'None'"):
        places(["no", "None"], ["no", "yes"], "label")
