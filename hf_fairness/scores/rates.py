"""Rates and what is made of them: every one is a function of column sums, so is its interval.

Give each row its columns (positive, true positive, one of a group, ...); a rate is a ratio of column sums, a gap a
difference of rates, an F1 a function of three sums. The same function maps the sums of the data to the value and
the sums of resampled data to the draws behind its interval.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.scores.statistics import (
    N_BOOTSTRAP,
    Floats,
    as_values,
    bootstrap_weights,
    cluster_index,
    cluster_sums,
    generator,
    percentile_interval,
)


def distinct_rows(matrix: Floats) -> tuple[Floats, Floats]:
    """The different rows of a matrix, and how often each of them stands in it.

    Args:
        matrix: shape (n, k).

    Returns:
        Rows, shape (cells, k), in an order that depends on the values only, and their counts, shape (cells,).
    """
    code = np.zeros(len(matrix), dtype=np.intp)
    for column in matrix.T:
        values, place = np.unique(column, return_inverse=True)
        code = np.unique(code * len(values) + place, return_inverse=True)[1]
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    return matrix[first], counts.astype(np.float64)


def _draws(n_bootstrap: int) -> int:
    """The number of resamples, or an error."""
    if n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be 0 or more; got {n_bootstrap}.")
    return n_bootstrap


def resampled_counts(counts: ArrayLike, *, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0) -> Floats:
    """How often each kind of row is drawn when as many rows as there are get resampled: multinomial.

    Args:
        counts: how many rows of each kind there are, shape (k,).
        n_bootstrap: number of resamples; 0 gives an empty array.
        seed: of the draws.

    Returns:
        Shape (n_bootstrap, k); each row sums to the number of rows.

    Raises:
        ValueError: no rows, numbers that are no counts, negative ``n_bootstrap``.

    Example:
        >>> resampled_counts([2, 0, 1], n_bootstrap=4).sum(axis=1).tolist()
        [3.0, 3.0, 3.0, 3.0]
    """
    kinds = as_values(counts, "counts")
    total = float(kinds.sum())
    if (kinds < 0).any() or (kinds != np.round(kinds)).any() or total == 0.0:
        raise ValueError(f"counts must be whole numbers of 0 or more, not all 0; got {kinds[:5].tolist()}.")
    draws = generator(seed).multinomial(int(total), kinds / total, size=_draws(n_bootstrap))
    return np.asarray(draws, dtype=np.float64)


def resampled_sums(
    columns: ArrayLike,
    *,
    repeats: ArrayLike | None = None,
    clusters: Sequence[Hashable] | NDArray[Any] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> Floats:
    """Column sums of resampled rows, or of resampled clusters of rows.

    Rows (clusters: sums over a cluster) that are equal are drawn together: how often n draws fall on each kind of
    row is multinomial, which is exactly the bootstrap of rows, at a cost that does not depend on n.

    Args:
        columns: shape (n, k).
        repeats: how many rows of the data each row stands for, shape (n,), whole numbers; None: one each. Not with
            ``clusters``.
        clusters: a label per row; whole clusters are then drawn instead of rows.
        n_bootstrap: number of resamples; 0 gives an empty array.
        seed: of the draws.

    Returns:
        Shape (n_bootstrap, k).

    Raises:
        ValueError: no rows, NaN, not one cluster label per row, both ``repeats`` and ``clusters``, repeats that are
            no counts, negative ``n_bootstrap``.

    Example:
        >>> sums = resampled_sums([[1.0, 1.0], [0.0, 1.0]], n_bootstrap=100)
        >>> sums.shape, set(sums[:, 0].tolist()), set(sums[:, 1].tolist())
        ((100, 2), {0.0, 1.0, 2.0}, {2.0})
    """
    matrix = as_values(columns, "columns", ndim=2)
    if repeats is not None:
        if clusters is not None:
            raise ValueError("Give repeats or clusters, not both: a cluster is made of single rows.")
        counts = as_values(repeats, "repeats")
        if len(counts) != len(matrix):
            raise ValueError(f"repeats needs one count per row: got {len(counts)} for {len(matrix)} rows.")
        return np.asarray(resampled_counts(counts, n_bootstrap=n_bootstrap, seed=seed) @ matrix)
    if clusters is not None:
        matrix = cluster_sums(matrix, cluster_index(clusters, len(matrix)))
    rows, counts = distinct_rows(matrix)
    if 4 * len(rows) <= len(matrix):
        return np.asarray(resampled_counts(counts, n_bootstrap=n_bootstrap, seed=seed) @ rows)
    # Few rows are equal: draw them one by one.
    parts = [weights @ matrix for weights in bootstrap_weights(len(matrix), _draws(n_bootstrap), generator(seed))]
    return np.concatenate([np.empty((0, matrix.shape[1])), *parts])


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """Elementwise ratio, NaN where the denominator is 0: a rate of no rows is undefined, and says so.

    Args:
        numerator: any shape.
        denominator: a shape that broadcasts with it.

    Returns:
        float64 array of the common shape.

    Example:
        >>> ratio([1.0, 0.0], [2.0, 0.0]).tolist()
        [0.5, nan]
    """
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    result = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=result, where=bottom != 0.0)
    return result


def interval(draws: ArrayLike, *, confidence: float = 0.95) -> list[float] | None:
    """Percentile interval of the draws in which the statistic is defined.

    Args:
        draws: values of the statistic under resampling, shape (n_bootstrap,), NaN where it is undefined.
        confidence: share of the defined draws inside.

    Returns:
        ``[low, high]``, or None when there are no draws or the statistic is undefined in more than half of them:
        the data are too few for an interval.

    Example:
        >>> interval([0.5, 0.5, float("nan")]), interval([])
        ([0.5, 0.5], None)
    """
    values = np.asarray(draws, dtype=np.float64)
    defined = values[~np.isnan(values)]
    if not len(defined) or 2 * len(defined) < len(values):
        return None
    return percentile_interval(defined, confidence=confidence)


def one_minus(key: str, gap: float | None, gap_ci95: list[float] | None) -> dict[str, Any]:
    """The form "1 - gap, higher is fairer" of a gap, with its interval, as entries of a result.

    Example:
        >>> one_minus("parity", 0.25, [0.125, 0.5])
        {'parity': 0.75, 'parity_ci95': [0.5, 0.875]}
    """
    return {
        key: None if gap is None else 1.0 - gap,
        f"{key}_ci95": None if gap_ci95 is None else [1.0 - gap_ci95[1], 1.0 - gap_ci95[0]],
    }
