"""Checks of the columns that group metrics read: labels, groups, probabilities."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.scores.statistics import Floats, as_values, plain, read_keys

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
        Array of shape (n,): int64 where all are whole numbers, else objects: texts as they are, other labels as
        texts, whole numbers that int64 cannot hold as Python's.

    Raises:
        ValueError: no rows, another number of rows, NaN or None, numbers that are not whole (probabilities).
    """
    column = _column(values)
    if column is None or not len(column):
        raise ValueError(f"{name} must hold one label per row; got shape {np.asarray(values).shape}.")
    if n is not None and len(column) != n:
        raise ValueError(f"{name} needs one entry per row: got {len(column)} for {n} rows.")
    array = _at_once(column)
    if array is not None:
        return array
    labels = read_keys(column, len(column), name)
    if any(isinstance(label, tuple) for label in labels):
        raise ValueError(f"{name} must hold one label per row; got shape {np.asarray(values).shape}.")
    numbers = [label for label in labels if isinstance(label, int | float)]
    wrong = next((label for label in numbers if isinstance(label, float) and not label.is_integer()), None)
    if wrong is not None:
        raise ValueError(f"{name} must be labels, not probabilities; got {wrong}. Compare them with a threshold.")
    if len(numbers) < len(labels):
        return _objects([label if isinstance(label, str) else str(label) for label in labels])
    integers = [int(label) for label in numbers]
    return np.array(integers, dtype=np.int64) if max(map(abs, integers)) < 2**63 else _objects(integers)


def _column(values: Any) -> Any:
    """The labels as something with a length; None where there is no row."""
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "biu":
        return values
    column = plain(values)
    if isinstance(column, list | tuple | range):
        return column
    return list(column) if hasattr(column, "__iter__") and not isinstance(column, str | bytes) else None


def _at_once(column: Any) -> NDArray[Any] | None:
    """Labels that need no look at each: all texts, or all whole numbers that int64 can hold; None for any others."""
    numbers = isinstance(column, np.ndarray)
    kinds = {int} if numbers else set(map(type, column))
    if kinds == {str}:
        return _objects(column)
    if kinds <= {int, bool}:
        low, high = (column.min(), column.max()) if numbers else (min(column), max(column))
        if int(low) > -(2**63) and int(high) < 2**63:
            return np.array(column, dtype=np.int64)
    return None


def _objects(labels: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


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
            found = sorted(set(labels[:10_000].tolist()), key=str)[:5]
            raise ValueError(
                f"{name} must be 0 and 1; got {found}. For other labels, or more than two, give positive_label=...: "
                "that one is compared with all others."
            )
        return np.asarray(labels == 1)
    if isinstance(positive_label, str) != isinstance(labels[0], str):
        raise ValueError(f"positive_label={positive_label!r} is not of the kind of {name}: {labels[:3].tolist()}.")
    return np.asarray(labels == positive_label, dtype=bool)


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
    labels = as_labels(groups, name, n=n).tolist()
    spelled = {str(label): label for label in set(labels)}
    names = sorted(spelled)
    if len(names) < 2:
        raise ValueError(f"{name} must hold at least two groups to compare; got {names[0]!r} alone.")
    place = {spelled[group]: number for number, group in enumerate(names)}
    return names, np.fromiter(map(place.__getitem__, labels), dtype=np.intp, count=n)


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
