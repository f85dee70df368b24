"""Cosines and distances of embeddings, with the checks that every embedding score needs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.statistics import Floats, as_values


def embeddings(values: ArrayLike, name: str, *, minimum: int = 1) -> Floats:
    """Embeddings as finite float64 of shape (n, d), or an error that names them.

    Args:
        values: shape (n, d).
        name: how messages call them.
        minimum: least number of rows.

    Returns:
        The array.

    Raises:
        ValueError: not two-dimensional, too few rows, no columns, NaN or infinity.
    """
    array = as_values(values, name, minimum=minimum, ndim=2)
    if array.shape[1] == 0:
        raise ValueError(f"{name} has vectors of length 0; got shape {array.shape}.")
    return array


def unit(values: ArrayLike, name: str, *, minimum: int = 1) -> Floats:
    """Embeddings scaled to length 1.

    Args:
        values: shape (n, d).
        name: how messages call them.
        minimum: least number of rows.

    Returns:
        Shape (n, d), float64.

    Raises:
        ValueError: as ``embeddings``; also a vector of zeros, which has no cosine.
    """
    array = embeddings(values, name, minimum=minimum)
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    zero = np.flatnonzero(lengths[:, 0] == 0.0)
    if len(zero):
        raise ValueError(
            f"{name} holds {len(zero)} vector(s) of zeros, the first in row {int(zero[0])}: a cosine is not "
            "defined there. Look at the text of that row: the encoder found nothing in it."
        )
    return np.asarray(array / lengths, dtype=np.float64)


def same_width(arrays: Mapping[str, Floats]) -> None:
    """Raise ValueError unless all arrays, given by name, have vectors of one length."""
    widths = {name: array.shape[1] for name, array in arrays.items()}
    if len(set(widths.values())) > 1:
        raise ValueError(f"All embeddings must come from one encoder; got vectors of lengths {widths}.")


def pair_cosines(left: ArrayLike, right: ArrayLike, *, left_name: str = "left", right_name: str = "right") -> Floats:
    """Cosine of each pair of rows.

    Args:
        left: shape (n, d).
        right: shape (n, d); row i is compared with row i.
        left_name: how messages call ``left``.
        right_name: how messages call ``right``.

    Returns:
        Shape (n,), in [-1, 1].

    Raises:
        ValueError: shapes differ, a vector of zeros, NaN, no rows.
    """
    first, second = unit(left, left_name), unit(right, right_name)
    if first.shape != second.shape:
        raise ValueError(
            f"{left_name} and {right_name} must be pairs of the same shape; got {first.shape} and {second.shape}."
        )
    return np.asarray(np.einsum("ij,ij->i", first, second), dtype=np.float64)
