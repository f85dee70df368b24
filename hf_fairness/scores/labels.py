"""Checks of the columns that group metrics read: labels, groups, probabilities."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.scores.statistics import Floats, as_values

Bools = NDArray[np.bool_]
#: A column of labels: whole numbers, booleans or strings.
Labels = Sequence[Hashable] | NDArray[Any]


def as_labels(values: Labels, name: str, *, n: int | None = None) -> NDArray[Any]:
    """Class labels as an array: whole numbers, booleans or strings.

    Args:
        values: one label per row.
        name: how messages call them.
        n: wanted number of rows; None: any but 0.

    Returns:
        Array of shape (n,); whole numbers are int64.

    Raises:
        ValueError: no rows, another number of rows, NaN or None, numbers that are not whole (probabilities).
    """
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        array = np.asarray(values, dtype=object)  # or numpy has written NaN and None as text
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"{name} must hold one label per row; got shape {array.shape}.")
    if n is not None and len(array) != n:
        raise ValueError(f"{name} needs one entry per row: got {len(array)} for {n} rows.")
    if array.dtype.kind in "bui":
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        numbers = as_values(array, name)
        if (numbers != np.round(numbers)).any():
            wrong = float(numbers[numbers != np.round(numbers)][0])
            raise ValueError(f"{name} must be labels, not probabilities; got {wrong}. Compare them with a threshold.")
        return numbers.astype(np.int64)
    missing = [row for row, value in enumerate(array.tolist()) if value is None or value != value]
    if missing:
        raise ValueError(
            f"{name} holds {len(missing)} row(s) without a label, the first in row {missing[0]}. Leave these rows out "
            "of all inputs, and say how many they were."
        )
    return array.astype(str)


def positives(labels: NDArray[Any], name: str, positive_label: Any = None) -> Bools:
    """Which labels are the positive one.

    Args:
        labels: as ``as_labels`` returns them.
        name: how messages call them.
        positive_label: the label that counts as positive, all others as negative; None: 1, and labels must be 0
            and 1.

    Returns:
        Booleans, shape (n,).

    Raises:
        ValueError: other labels than 0 and 1 without ``positive_label``, or a ``positive_label`` of another kind
            than the labels.
    """
    if positive_label is None:
        if labels.dtype.kind != "i" or not np.isin(labels, (0, 1)).all():
            found = sorted(set(labels[:10_000].tolist()))[:5]
            raise ValueError(
                f"{name} must be 0 and 1; got {found}. For other labels, or more than two, give positive_label=...: "
                "that one is compared with all others."
            )
        return np.asarray(labels == 1)
    if isinstance(positive_label, str) != (labels.dtype.kind != "i"):
        raise ValueError(f"positive_label={positive_label!r} is not of the kind of {name}: {labels[:3].tolist()}.")
    return np.asarray(labels == positive_label)


def group_index(groups: Labels, n: int, name: str = "groups") -> tuple[list[str], NDArray[np.intp]]:
    """Names of the groups, sorted, and the group number of each row.

    Args:
        groups: a group per row.
        n: number of rows.
        name: how messages call them.

    Returns:
        Names, and numbers of shape (n,).

    Raises:
        ValueError: not one group per row, a row without a group, fewer than two groups.
    """
    labels = [str(label) for label in as_labels(groups, name, n=n).tolist()]
    names = sorted(set(labels))
    if len(names) < 2:
        raise ValueError(f"{name} must hold at least two groups to compare; got {names[0]!r} alone.")
    place = {group: number for number, group in enumerate(names)}
    return names, np.array([place[label] for label in labels], dtype=np.intp)


def as_probabilities(values: ArrayLike, name: str, n: int) -> Floats:
    """Probabilities of the positive label, shape (n,), within [0, 1].

    Raises:
        ValueError: another shape, NaN, or values outside [0, 1] (logits).
    """
    array = as_values(values, name)
    if len(array) != n:
        raise ValueError(f"{name} needs one entry per row: got {len(array)} for {n} rows.")
    if ((array < 0.0) | (array > 1.0)).any():
        raise ValueError(
            f"{name} must lie between 0 and 1; got {array.min():.3g} to {array.max():.3g}. Give no logits."
        )
    return array
