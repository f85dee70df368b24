"""The small things that every layer shares."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hf_fairness.utils import as_flag


@pytest.mark.parametrize("value", [True, 1, 1.0, np.bool_(True), np.int8(1), "True", " yes ", "1", "TRUE", "t", "1.0"])
def test_flag_is_true(value):
    assert as_flag(value, "has_terms") is True


@pytest.mark.parametrize("value", [False, 0, 0.0, np.bool_(False), np.int8(0), "False", "no", "0", "FALSE", "f", "0.0"])
def test_flag_is_false(value):
    assert as_flag(value, "has_terms") is False


@pytest.mark.parametrize("value", [None, float("nan"), pd.NA, "", "maybe", 2, -1, "2", [], [1], {}, np.array([0, 1])])
def test_what_is_no_flag_is_refused(value):
    with pytest.raises(ValueError, match=r"rows\[3\]\['has_terms'\] must be true or false"):
        as_flag(value, "rows[3]['has_terms']")
