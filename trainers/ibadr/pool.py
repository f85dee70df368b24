"""The pool of samples: original rows, then what each round added, every row with where it came from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
from datasets import Dataset, Features, Value, concatenate_datasets
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from hf_fairness.trainers.experiment import Fitted

#: Column of the labels, which are numbers.
LABEL = "label"
#: Columns beside texts and label, with their types. ``iteration``: 0 for original rows, else the round that added it;
#: ``indicator``: the one that was asked for, 0 for original rows and where samples carry none; ``confidence``: what the
#: filter saw, 1 for original rows, which it did not see, -1 for others that it did not see; ``source_id``:
#: ``original:<row>``, ``round-<k>:<number>``, or the name of what else added the row and a number.
PROVENANCE = {"iteration": "int32", "indicator": "int32", "confidence": "float32", "source_id": "string"}
#: The rows that a stage adds; what a round left out, with a column that says why.
ACCEPTED, REJECTED, REASON = "accepted.parquet", "rejected.parquet", "reason"


@dataclass(frozen=True)
class Pool:
    """Rows to train on: the original ones, and what was added to them.

    Attributes:
        rows: in the form of :func:`pool_rows`.
        key: what they depend on.
    """

    rows: Dataset
    key: tuple[Any, ...]

    @property
    def added(self) -> Dataset:
        """What was added."""
        return self.rows.select(np.flatnonzero(np.asarray(self.rows["iteration"][:]) > 0))

    def plus(self, rows: Dataset, *key: Any) -> Pool:
        """The pool with further rows at its end, and what these depend on."""
        return Pool(concatenate_datasets([self.rows, rows]), (*self.key, *key))

    def grown(self, stage: Fitted) -> Pool:
        """The pool with what a stage has added."""
        return self.plus(read_rows(stage.model / ACCEPTED), stage.key)


def pool_rows(table: pd.DataFrame, columns: Sequence[str]) -> Dataset:
    """Rows of the pool, with types that do not depend on what they hold.

    Args:
        table: with the text columns, ``label`` and the columns ``PROVENANCE``; others are left out.
        columns: names of the text columns.
    """
    kinds = {**dict.fromkeys(columns, "string"), LABEL: "int64", **PROVENANCE}
    features = Features({name: Value(kind) for name, kind in kinds.items()})
    return Dataset.from_pandas(table[list(kinds)], features=features, preserve_index=False)


def as_pool(
    rows: Dataset, columns: Sequence[str], origin: str, *, iteration: int = 1, confidence: float = -1.0
) -> Dataset:
    """Rows that no round added, in the form of a pool.

    Args:
        rows: texts and numbers of labels.
        columns: names of the text columns.
        origin: what ``source_id`` says before the number of a row.
        iteration: 0 for original rows.
        confidence: 1 for original rows.

    Raises:
        ValueError: a text column has the name of one that is added to them.
    """
    taken = sorted({*columns} & {LABEL, *PROVENANCE, REASON})
    if taken:
        raise ValueError(f"Column {taken[0]!r} is one that the pool adds: rename it in the data.")
    table = rows.select_columns([*columns, LABEL]).to_pandas()
    ids = [f"{origin}:{row}" for row in range(len(rows))]
    made = table.assign(iteration=iteration, indicator=0, confidence=confidence, source_id=ids)
    return pool_rows(made, columns)


def read_rows(file: str | os.PathLike[str]) -> Dataset:
    """Rows of a round; nothing is cached elsewhere."""
    return Dataset(pyarrow.parquet.read_table(file))


def pool_counts(pool: Dataset, label_names: Sequence[str]) -> dict[str, Any]:
    """Sizes of the pool.

    Args:
        pool: original and added rows.
        label_names: in the order of their numbers.

    Returns:
        ``n``, ``n_original``, ``n_added``; ``labels`` and ``labels_added``: rows of each label by name.
    """
    labels, added = np.asarray(pool[LABEL][:]), np.asarray(pool["iteration"][:]) > 0
    sizes = {"n": len(pool), "n_original": int((~added).sum()), "n_added": int(added.sum())}
    counts = {"labels": label_counts(labels, label_names), "labels_added": label_counts(labels[added], label_names)}
    return {**sizes, **counts}


def label_counts(labels: ArrayLike, names: Sequence[str]) -> dict[str, int]:
    """Rows of each label, by name."""
    counts = np.bincount(np.asarray(labels, dtype=np.int64), minlength=len(names)).tolist()
    return dict(zip(names, counts, strict=True))


def bias_groups(degrees: ArrayLike, n_groups: int) -> NDArray[np.int64]:
    """Group of each row by its bias degree.

    Args:
        degrees: shape (n,).
        n_groups: of equal size, but for one row.

    Returns:
        Shape (n,), from 1 for the least biased rows to ``n_groups``; ties go by place.

    Raises:
        ValueError: fewer rows than groups.

    Source:
        Wang et al. 2023, step 1 of section 2.2.

    Example:
        >>> bias_groups([0.9, 0.1, 0.5, 0.7], 2).tolist()
        [2, 1, 1, 2]
    """
    ranks = rankdata(degrees, method="ordinal").astype(np.int64) - 1
    if len(ranks) < n_groups:
        raise ValueError(
            f"{len(ranks)} rows do not make {n_groups} groups by bias degree: take fewer indicators, or more rows."
        )
    return ranks * n_groups // len(ranks) + 1


def known_before(pool: Iterable[tuple[Sequence[str], int]], samples: Iterable[tuple[Sequence[str], int]]) -> list[str]:
    """Which samples have texts that were there before, in whatever case and spacing.

    Args:
        pool: texts and label of each row.
        samples: the same of samples, in order.

    Returns:
        For each sample ``""``: new; ``in_pool`` or ``repeated``: the texts are in the pool, or in an earlier sample;
        ``in_pool_other_label``, ``repeated_other_label``: with another label.
    """
    known: dict[tuple[str, ...], tuple[str, int]] = {}
    for row, label in pool:
        known.setdefault(_plain(row), ("in_pool", label))
    found = []
    for row, label in samples:
        where, first = known.get(_plain(row), ("", label))
        found.append(where if label == first else f"{where}_other_label")
        known.setdefault(_plain(row), ("repeated", label))
    return found


def _plain(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(" ".join(text.casefold().split()) for text in texts)
