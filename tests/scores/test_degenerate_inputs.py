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


def test_a_probe_is_not_tested_on_copies_of_what_it_has_seen():
    once = {name: np.random.default_rng(seed).normal(size=(60, 40)) for seed, name in enumerate("ab")}
    copies = {name: np.tile(vectors, (4, 1)) for name, vectors in once.items()}
    found = probe(embeddings=copies)
    assert found["accuracy"] < 0.6
    assert found["accuracy_ci95"][0] < 0.5 < found["accuracy_ci95"][1]
    assert found == probe(embeddings=copies, clusters=[*range(60)] * 4)


def test_a_probe_of_fewer_different_texts_than_folds_says_so():
    few = {name: np.tile(np.random.default_rng(seed).normal(size=(3, 4)), (4, 1)) for seed, name in enumerate("ab")}
    with pytest.warns(FairnessWarning, match="Only 3 of the 12 texts differ, too few for 5 folds"):
        found = probe(embeddings=few)
    assert found == probe(embeddings=few, clusters=range(12))
    with pytest.raises(ValueError, match="3 different texts"):
        probe(embeddings={name: vectors[:3] for name, vectors in few.items()})


def test_cced_of_one_text_has_an_interval_that_begins_at_0():
    arrays = {"a": [[1.0, 0], [1.0, 0], [2.0, 0]], "b": [[1.0, 0]] * 3, "neutral": [[0.0, 0]] * 3}
    found = cced({name: np.array(array) for name, array in arrays.items()})
    assert found["cced_ci95"][0] == found["cced_relative_ci95"][0] == 0.0
    assert found["cced_signed_ci95"][0] < 0.0 < found["cced"] < found["cced_ci95"][1]


def test_rank_correlations_without_resamples_have_no_interval():
    pairs = (GOOD, OTHER, np.arange(12))
    drawn, plain = (sts(*pairs, reference=(OTHER, GOOD[::-1]), n_bootstrap=n) for n in (20, 0))
    assert plain["sts_spearman"] == drawn["sts_spearman"]
    assert plain["sts_spearman_change"] == drawn["sts_spearman_change"]
    assert plain["sts_spearman_ci95"] is plain["sts_spearman_change_ci95"] is None
    assert similarity_structure(GOOD, OTHER, OTHER, GOOD[::-1], n_bootstrap=0)["similarity_structure_ci95"] is None


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
