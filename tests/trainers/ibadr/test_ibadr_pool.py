"""The pool: groups by bias degree, where rows are from, what is new."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset, concatenate_datasets
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.trainers.ibadr.pool import (
    PROVENANCE,
    as_pool,
    bias_groups,
    known_before,
    pool_counts,
    pool_rows,
    read_rows,
)


@given(st.lists(st.floats(0, 1, width=32), min_size=3, max_size=50), st.integers(2, 5))
def test_groups_are_equal_and_ordered(degrees, n_groups):
    if len(degrees) < n_groups:
        with pytest.raises(ValueError, match=f"{len(degrees)} rows do not make {n_groups} groups"):
            bias_groups(degrees, n_groups)
        return
    groups = bias_groups(degrees, n_groups)
    sizes = np.bincount(groups, minlength=n_groups + 1)[1:]
    assert np.ptp(sizes) <= 1
    order = np.argsort(degrees, kind="stable")
    assert (np.diff(groups[order]) >= 0).all()
    assert (groups.min(), groups.max()) == (1, n_groups)


def added(n, iteration):
    table = pd.DataFrame({"premise": [f"p{k}" for k in range(n)], "hypothesis": [f"h{k}" for k in range(n)]})
    table["source_id"] = [f"round-{iteration}:{k}" for k in range(n)]
    return pool_rows(
        table.assign(label=[k % 3 for k in range(n)], iteration=iteration, indicator=1, confidence=0.5),
        ("premise", "hypothesis"),
    )


def test_rounds_are_files_and_the_pool_is_all_of_them(case, tmp_path):
    original = as_pool(case.world.train, ("premise", "hypothesis"), "original", iteration=0, confidence=1.0)
    files = {k: tmp_path / f"{k}.parquet" for k in (1, 2, 3)}
    for k, n in ((1, 2), (2, 0), (3, 4)):
        added(n, k).to_parquet(files[k])
    pool = concatenate_datasets([original, *map(read_rows, files.values())])
    assert len(pool) == len(original) + 6
    assert set(PROVENANCE) <= set(pool.column_names)
    assert pool[0]["source_id"] == "original:0"
    assert pool[-1] == added(4, 3)[3]
    assert pool["iteration"][:].count(1) == 2
    assert len(set(pool["source_id"][:])) == len(pool)
    assert read_rows(files[2]).features == original.features  # types hold without any row too
    counts = pool_counts(pool, ["yes", "maybe", "no"])
    assert (counts["n"], counts["n_original"], counts["n_added"]) == (len(pool), len(original), 6)
    assert counts["labels_added"] == {"yes": 3, "maybe": 2, "no": 1}


def test_columns_that_the_pool_adds_must_be_free():
    for name in ("confidence", "reason"):
        rows = Dataset.from_dict({name: ["a"], "label": [0]})
        with pytest.raises(ValueError, match=f"'{name}' is one that the pool adds"):
            as_pool(rows, (name,), "original")


def test_what_is_new():
    samples = {
        ("a  B", "D", 0): "in_pool",
        ("a b", "d", 1): "in_pool_other_label",
        ("a b", "e", 1): "",
        ("A b", "e", 1): "repeated",
        ("a b", "E", 0): "repeated_other_label",
    }
    given = [(texts, label) for *texts, label in samples]
    assert known_before([(("A b", "d"), 0), (("c", "e"), 1)], given) == list(samples.values())
