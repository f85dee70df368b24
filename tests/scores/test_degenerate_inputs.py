"""Degenerate inputs crossed with every score: a defined value or a clear error, never a silent NaN."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from hf_fairness.measure import probe
from hf_fairness.scores.bias_score import cosines, direction_of
from hf_fairness.scores.cced import cced
from hf_fairness.scores.seat import seat_test
from hf_fairness.scores.structure import similarity_structure, sts
from hf_fairness.utils import FairnessWarning

GOOD = np.random.default_rng(0).normal(size=(12, 4))
OTHER = np.random.default_rng(1).normal(size=(12, 4))

INPUTS = {
    "empty": np.empty((0, 4)),
    "one row": GOOD[:1],
    "nan": np.where(np.eye(12, 4, dtype=bool), np.nan, GOOD),
    "infinite": np.where(np.eye(12, 4, dtype=bool), np.inf, GOOD),
    "zero vectors": np.zeros((12, 4)),
    "one zero vector": np.vstack([np.zeros((1, 4)), GOOD[1:]]),
    "all rows equal": np.ones((12, 4)),
    "same as the other": OTHER,
    "too few rows": GOOD[:7],
    "other width": GOOD[:, :3],
    "no width": np.empty((12, 0)),
    "one dimension": GOOD[:, 0],
    "strings": np.array([["a", "b"]] * 12),
    "huge": GOOD * 1e150,
    "tiny": GOOD * 1e-150,
    "integers": np.arange(48).reshape(12, 4),
    "bfloat16": torch.tensor(GOOD, dtype=torch.bfloat16),
    "rows of bfloat16": list(torch.tensor(GOOD, dtype=torch.bfloat16)),
    "None": [[None, *row[1:]] for row in GOOD.tolist()],
    "masked": np.ma.masked_array(GOOD, mask=np.eye(12, 4, dtype=bool)),
    "NA": [[pd.NA, *row[1:]] for row in GOOD.tolist()],
    "a row of None": [None, *GOOD[1:].tolist()],
}
SHIFTED = OTHER[::-1] + 1


def _first_column(value):
    """Of an input with columns; others as they are."""
    if isinstance(value, list):
        return [None if row is None else row[0] for row in value]
    return value[:, 0] if value.ndim == 2 and math.prod(value.shape) else value


FAST = {"n_bootstrap": 50}
SCORES = {
    "seat": lambda value: seat_test(value, OTHER, GOOD, SHIFTED, n_samples=200, **FAST),
    "seat attributes": lambda value: seat_test(GOOD, OTHER, value, SHIFTED, n_samples=200, **FAST),
    "cced": lambda value: cced({"a": value, "b": OTHER, "neutral": GOOD[::-1]}, **FAST),
    "cced neutral": lambda value: cced({"a": GOOD, "b": OTHER, "neutral": value}, **FAST),
    "direction": lambda value: [array.tolist() for array in direction_of(value)],
    "bias": lambda value: [0.0, *cosines(value, GOOD[0]).tolist()],
    "structure": lambda value: similarity_structure(value, OTHER, GOOD, OTHER, **FAST),
    "probe": lambda value: probe(embeddings={"a": value, "b": OTHER}, folds=3, **FAST),
    "sts": lambda value: sts(value, OTHER, np.arange(12), **FAST),
    "sts gold": lambda value: sts(GOOD, OTHER, _first_column(value), **FAST),
}
#: Where a value is defined; everywhere else an error is due.
SCALES = {"huge", "tiny", "integers", "bfloat16", "rows of bfloat16"}
DEFINED = {
    "seat": SCALES | {"one row", "all rows equal", "same as the other", "too few rows"},
    "cced": SCALES | {"zero vectors", "one zero vector", "all rows equal", "same as the other"},
    "direction": SCALES
    | {"one row", "one zero vector", "all rows equal", "same as the other", "too few rows", "other width"},
    "bias": SCALES
    | {"empty", "one row", "zero vectors", "one zero vector", "all rows equal", "same as the other", "too few rows"},
    "structure": SCALES | {"all rows equal"},
    "probe": SCALES | {"zero vectors", "one zero vector", "all rows equal", "same as the other"},
    "sts": SCALES | {"all rows equal"},
    "sts gold": SCALES | {"one dimension", "one zero vector", "same as the other", "other width"},
}
DEFINED["seat attributes"] = DEFINED["seat"]
DEFINED["cced neutral"] = DEFINED["cced"]


def _numbers(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from _numbers(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, (int, float)):
        yield value
    else:
        assert value is None or isinstance(value, str), type(value)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("kind", INPUTS)
def test_defined_value_or_clear_error(score, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)
        if kind in DEFINED[score]:
            numbers = list(_numbers(SCORES[score](INPUTS[kind])))
            assert numbers
            assert all(math.isfinite(number) for number in numbers)
        else:
            with pytest.raises(ValueError, match=r"\w+ .*\w+"):
                SCORES[score](INPUTS[kind])
