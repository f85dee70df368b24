"""The pool of samples: original rows, then what each round added, every row with where it came from.

Rounds are files of their own, each written whole or not at all; the pool is all of them, in order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, concatenate_datasets
from numpy.typing import ArrayLike, NDArray

from hf_fairness.runs import atomic_write_bytes

#: Columns beside texts and label. ``iteration``: 0 for original rows, else the round that added the row;
#: ``indicator``: the one that was asked for, 0 for original rows and where samples carry none; ``confidence``: what the
#: filter saw, 1 for original rows, which it did not see; ``source_id``: ``original:<row>`` or ``round-<k>:<number>``.
PROVENANCE = ("iteration", "indicator", "confidence", "source_id")
#: The same of rounds, and of what was left out of them.
ACCEPTED, REJECTED = "accepted.parquet", "rejected.parquet"


def original_rows(dataset: Dataset, columns: Sequence[str], label_column: str = "label") -> Dataset:
    """The pool before the first round.

    Args:
        dataset: training rows.
        columns: text columns.
        label_column: numbers of labels.

    Returns:
        Texts, labels and the columns ``PROVENANCE``.

    Raises:
        ValueError: a column of the data has the name of one of those.
    """
    taken = sorted({*columns, label_column} & set(PROVENANCE))
    if taken:
        raise ValueError(f"Column {taken[0]!r} is one that the pool adds: rename it in the data.")
    n = len(dataset)
    return pool_rows(
        [list(dataset[name]) for name in columns],
        list(dataset[label_column]),
        columns=columns,
        label_column=label_column,
        iteration=0,
        indicators=[0] * n,
        confidences=[1.0] * n,
        source_ids=[f"original:{row}" for row in range(n)],
    )


def pool_rows(
    texts: Sequence[Sequence[str]],
    labels: ArrayLike,
    *,
    columns: Sequence[str],
    label_column: str,
    iteration: int,
    indicators: ArrayLike,
    confidences: ArrayLike,
    source_ids: Sequence[str],
) -> Dataset:
    """Rows of the pool, with types that do not depend on what they hold.

    Args:
        texts: one list per text column.
        labels: from 0, shape (n,).
        columns: names of the text columns.
        label_column: name of the column of labels.
        iteration: round that the rows are of.
        indicators: shape (n,).
        confidences: shape (n,).
        source_ids: one per row.
    """
    from datasets import Features, Value

    kinds = {**dict.fromkeys(columns, "string"), label_column: "int64"}
    kinds |= {"iteration": "int32", "indicator": "int32", "confidence": "float32", "source_id": "string"}
    values: dict[str, Any] = dict(zip(columns, map(list, texts), strict=True))
    values |= {
        label_column: np.asarray(labels, dtype=np.int64),
        "iteration": np.full(len(source_ids), iteration, dtype=np.int32),
        "indicator": np.asarray(indicators, dtype=np.int32),
        "confidence": np.asarray(confidences, dtype=np.float32),
        "source_id": list(source_ids),
    }
    return Dataset.from_dict(values, features=Features({name: Value(kind) for name, kind in kinds.items()}))


def write_rows(rows: Dataset, file: str | os.PathLike[str]) -> Path:
    """Write rows as one parquet file, whole or not at all."""
    import io

    buffer = io.BytesIO()
    rows.to_parquet(buffer)
    return atomic_write_bytes(file, buffer.getvalue())


def read_rows(file: str | os.PathLike[str]) -> Dataset:
    """Rows of a file that :func:`write_rows` wrote; nothing is cached elsewhere."""
    import pyarrow.parquet

    return Dataset(pyarrow.parquet.read_table(file))


def read_pool(original: Dataset, files: Iterable[str | os.PathLike[str]]) -> Dataset:
    """The pool after some rounds.

    Args:
        original: what :func:`original_rows` made.
        files: of the rounds, in order.
    """
    return concatenate_datasets([original, *(read_rows(file) for file in files)])


def write_pool(pool: Dataset, label_names: Sequence[str], file: Path, *, label_column: str = "label") -> dict[str, Any]:
    """Write the pool as a data set whose labels have their names.

    Args:
        pool: original and added rows.
        label_names: in the order of their numbers.
        file: where to; its folder is made.
        label_column: numbers of labels.

    Returns:
        ``n``, ``n_original``, ``n_added``; ``labels`` and ``labels_added``: rows of each label by name.
    """
    from datasets import ClassLabel

    file.parent.mkdir(parents=True, exist_ok=True)
    write_rows(pool.cast_column(label_column, ClassLabel(names=list(label_names))), file)
    labels, added = np.asarray(pool[label_column]), np.asarray(pool["iteration"]) > 0
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
    values = np.asarray(degrees, dtype=np.float64)
    if len(values) < n_groups:
        raise ValueError(
            f"{len(values)} rows do not make {n_groups} groups by bias degree: take fewer indicators, or more rows."
        )
    groups = np.empty(len(values), dtype=np.int64)
    groups[np.argsort(values, kind="stable")] = np.arange(len(values)) * n_groups // len(values) + 1
    return groups


class Seen:
    """Which texts there are already, in whatever case and spacing.

    Args:
        texts: one list per text column, of the pool.
        labels: of the pool.
    """

    def __init__(self, texts: Sequence[Sequence[str]], labels: Iterable[int]) -> None:
        self._labels: dict[tuple[str, ...], tuple[bool, int]] = {}
        for row, label in zip(zip(*texts, strict=True), labels, strict=True):
            self._labels.setdefault(_plain(row), (True, int(label)))

    def add(self, texts: Sequence[str], label: int) -> str:
        """Take a sample in, unless its texts are there already.

        Args:
            texts: of the sample.
            label: of the sample.

        Returns:
            ``""``: new; ``in_pool`` or ``repeated``: the texts are in the pool, or in an earlier sample;
            ``in_pool_other_label``, ``repeated_other_label``: with another label.
        """
        key = _plain(texts)
        if key not in self._labels:
            self._labels[key] = (False, int(label))
            return ""
        of_pool, known = self._labels[key]
        return ("in_pool" if of_pool else "repeated") + ("" if known == label else "_other_label")


def _plain(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(" ".join(text.casefold().split()) for text in texts)
