"""A seeded split of a refined corpus into train, validation and test."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.refine.counterfactuals import SOURCE
from hf_fairness.rows import Columns, check_dataset, column_names, labels
from hf_fairness.scores.statistics import cluster_index, generator
from hf_fairness.utils import FairnessWarning


def split(
    dataset: Any,
    *,
    validation: float = 0,
    test: float = 0,
    together: Columns | None = None,
    seed: int = 0,
) -> Any:
    """Shuffle a corpus and split it; a counterfactual stays with its source.

    Rows that share a value in any of the columns ``together`` go to the same split as a whole, so that no text
    is trained on whose counterfactual is tested on. Groups of rows are taken in random order, each by the first
    of validation and test that it fits into. So no split gets more rows than asked for, and it gets exactly as
    many unless the groups do not add up to that; then a warning says what it got.

    Args:
        dataset: the corpus; one ``datasets.Dataset``.
        validation: rows of the validation split: a number, or a share of the rows below 1, rounded; 0 leaves
            the split out.
        test: rows of the test split, likewise. The paper takes 10,000 each of 570,000 pairs.
        together: column or columns whose equal values hold rows together, for example ``"premise"``; name
            ``source_row`` too where both matter. None means ``source_row``, which :func:`compensate` adds, where
            it is there. An empty list splits row by row, as the paper does.
        seed: of the order.

    Returns:
        A ``DatasetDict`` of ``train`` and those of ``validation`` and ``test`` that were asked for, each
        shuffled.

    Raises:
        TypeError: no Dataset, or sizes that are no numbers.
        ValueError: sizes that leave no row for training, groups of rows too large for a split, or a missing column.

    Source: Dolci et al. 2023, section 4.2.1; there without ``together``.

    Example:
        >>> from datasets import Dataset
        >>> from hf_fairness.refine import split
        >>> parts = split(Dataset.from_dict({"text": list("abcdefghij")}), validation=2, test=0.1)
        >>> {name: len(part) for name, part in parts.items()}
        {'train': 7, 'validation': 2, 'test': 1}
    """
    from datasets import DatasetDict

    check_dataset(dataset, "split")
    n = len(dataset)
    sizes = {"validation": _size(validation, n, "validation"), "test": _size(test, n, "test")}
    sizes = {name: size for name, size in sizes.items() if size}
    if sum(sizes.values()) >= n:
        asked = " and ".join(f"{size} for {name}" for name, size in sizes.items())
        raise ValueError(f"split: {asked} of {n} rows leave none for training. Ask for fewer.")
    groups = _groups(dataset, together)
    rng = generator(seed)
    places, order = _fill(groups, list(sizes.values()), rng), rng.permutation(n)
    parts = {name: order[places[order] == place] for place, name in enumerate(["train", *sizes])}
    short = {name: size for name, size in sizes.items() if len(parts[name]) < size}
    if short:
        got = ", ".join(f"{len(parts[name])} rows for {name} in place of {size}" for name, size in short.items())
        message = f"split: rows that belong together do not add up to the sizes: {got}."
        if not all(len(parts[name]) for name in short):
            raise ValueError(f"{message} Ask for more rows, or hold fewer together.")
        warnings.warn(message, FairnessWarning, stacklevel=2)
    return DatasetDict({name: dataset.select(rows) for name, rows in parts.items()})


def _size(size: float, n: int, name: str) -> int:
    if isinstance(size, bool) or not isinstance(size, (int, float, np.integer, np.floating)):
        raise TypeError(f"split: {name} must be a number of rows or a share of them, got {size!r}.")
    whole = isinstance(size, (int, np.integer))
    if not (size >= 0 and (whole or size < 1)):
        raise ValueError(f"split: {name} must be a whole number of rows, or a share in [0, 1) of them; got {size!r}.")
    return int(size) if whole else round(float(size) * n)


def _groups(dataset: Any, together: Columns | None) -> NDArray[np.intp]:
    """Number of the group of each row: rows that share a value in any of the columns, directly or by others."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(dataset)
    if together is None:
        together = [SOURCE] if SOURCE in dataset.column_names else []
        if not together and "counterfactual" in dataset.column_names:
            warnings.warn(
                "split: the data set holds counterfactuals and nothing says of which rows; they may land in "
                "another split than their sources. Name a column that both share with together=, or pass "
                "together=[] if that is meant.",
                FairnessWarning,
                stacklevel=3,
            )
    if not isinstance(together, str) and isinstance(together, Sequence) and not together:
        return np.arange(n)
    names = column_names(dataset, together, "split", "together")
    values = [cluster_index(labels(dataset, name, "split"), n) for name in names]
    if len(values) == 1:
        return values[0]
    starts = n + np.concatenate([[0], np.cumsum([column.max() + 1 for column in values])])
    ends = np.concatenate([column + start for column, start in zip(values, starts[:-1], strict=True)])
    edges = coo_array((np.ones(len(ends)), (np.tile(np.arange(n), len(values)), ends)), shape=(starts[-1],) * 2)
    found: NDArray[np.intp] = connected_components(edges, directed=False)[1][:n].astype(np.intp)
    return found


def _fill(groups: NDArray[np.intp], sizes: list[int], rng: np.random.Generator) -> NDArray[np.intp]:
    """Split of each row: 0, or 1 + the place of the first size that its whole group still fits into.

    Groups come in an order in which all are alike; by the order of rows, large ones would come first.
    """
    counts = np.bincount(groups)
    left, chosen = list(sizes), np.zeros(len(counts), dtype=np.intp)
    for group in rng.permutation(len(counts)).tolist():
        place = next((i for i, room in enumerate(left) if counts[group] <= room), None)
        if place is not None:
            left[place] -= int(counts[group])
            chosen[group] = place + 1
        if not any(left):
            break
    return chosen[groups]
