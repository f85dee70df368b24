"""Every interval of hf-fairness: vectorised, seeded, in float64.

A bootstrap is a matrix of weights: how often each row (or each cluster of rows) was drawn; all that follows is
a matrix product.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: Bootstrap draws unless told otherwise: 50 of them lie beyond each end of a 95 % interval.
N_BOOTSTRAP = 2000
#: Permutation draws unless told otherwise (May et al. 2019).
N_SAMPLES = 100_000
#: Cells of the largest temporary array (4 million float64 are 32 MB).
CHUNK_CELLS = 4_000_000


def as_values(values: ArrayLike, name: str, *, minimum: int = 1, ndim: int = 1) -> Floats:
    """A finite float64 array of the wanted number of dimensions, or an error that names the input.

    Args:
        values: anything numpy reads as numbers.
        name: how messages call it.
        minimum: least number of rows.
        ndim: number of dimensions.

    Returns:
        The array, float64.

    Raises:
        ValueError: wrong number of dimensions, too few rows, NaN or infinity.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be numbers of {ndim} dimension(s); got {type(values).__name__}: {error}"
        ) from error
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s); got shape {array.shape}.")
    if array.shape[0] < minimum:
        raise ValueError(f"{name} holds {array.shape[0]} row(s); at least {minimum} are needed.")
    finite = np.isfinite(array)
    if not finite.all():
        bad = int(np.argwhere(~finite)[0][0])
        raise ValueError(
            f"{name} holds {int((~finite).sum())} value(s) that are NaN or infinite, the first in row {bad}. "
            "Find out where they come from; dropping them would change what is measured."
        )
    return array


def generator(seed: int, *keys: object) -> np.random.Generator:
    """A generator for ``seed``; with ``keys``, a stream of its own for that seed and these keys.

    The same seed and keys give the same draws wherever they are asked for, so that two statistics over the
    same words resample these words together.

    Args:
        seed: any integer.
        *keys: anything whose ``repr`` identifies it.

    Returns:
        A numpy Generator; the global one is never used.
    """
    digest = hashlib.blake2b(repr((int(seed), keys)).encode(), digest_size=16).digest() if keys else b""
    return np.random.default_rng(int.from_bytes(digest, "big") if keys else abs(int(seed)))


def cluster_index(clusters: Sequence[Hashable] | NDArray[Any], n: int, name: str = "clusters") -> NDArray[np.intp]:
    """Number clusters 0, 1, ... in order of first appearance.

    Args:
        clusters: a label per row, length n.
        n: number of rows.
        name: how the message calls them.

    Returns:
        Cluster number of each row, shape (n,).

    Raises:
        ValueError: not one label per row.
    """
    if len(clusters) != n:
        raise ValueError(f"{name} needs one label per row: got {len(clusters)} labels for {n} rows.")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in clusters], dtype=np.intp)


def cluster_sums(values: Floats, index: NDArray[np.intp]) -> Floats:
    """Sum the rows of each cluster: (n,) or (n, k) values to (clusters,) or (clusters, k)."""
    total = np.zeros((int(index.max()) + 1, *values.shape[1:]))
    np.add.at(total, index, values)
    return total


def bootstrap_weights(n: int, n_bootstrap: int, rng: np.random.Generator) -> Iterator[Floats]:
    """How often each of ``n`` units was drawn in each of ``n_bootstrap`` resamples, in chunks of rows.

    Args:
        n: number of units.
        n_bootstrap: number of resamples.
        rng: where the draws come from.

    Yields:
        Weights of shape (chunk, n); each row sums to n.
    """
    step = max(1, CHUNK_CELLS // max(n, 1))
    for start in range(0, n_bootstrap, step):
        rows = min(step, n_bootstrap - start)
        drawn = rng.integers(0, n, size=(rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def bootstrap_means(
    values: ArrayLike,
    *,
    clusters: Sequence[Hashable] | NDArray[Any] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> Floats:
    """Column means of resampled rows; columns are resampled together, which is what makes it paired.

    Args:
        values: shape (n,) or (n, k).
        clusters: a label per row; whole clusters are then drawn instead of rows, and the mean is still over
            rows.
        n_bootstrap: number of resamples.
        seed: of the draws.

    Returns:
        Shape (n_bootstrap,) or (n_bootstrap, k).

    Raises:
        ValueError: no rows, NaN, or not one cluster label per row.
    """
    array = np.asarray(values, dtype=np.float64)
    array = as_values(array, "values", ndim=2 if array.ndim == 2 else 1)
    matrix = array.reshape(len(array), -1)
    counts = np.ones(len(array))
    if clusters is not None:
        index = cluster_index(clusters, len(array))
        matrix, counts = cluster_sums(matrix, index), cluster_sums(counts, index)
    parts = [
        (weights @ matrix) / (weights @ counts)[:, None]
        for weights in bootstrap_weights(len(matrix), n_bootstrap, generator(seed))
    ]
    means = np.concatenate(parts)
    return means[:, 0] if array.ndim == 1 else means


def percentile_interval(samples: ArrayLike, *, confidence: float = 0.95) -> list[float]:
    """The central interval of bootstrap samples, as ``[low, high]``.

    Args:
        samples: values of the statistic under resampling, shape (n_bootstrap,).
        confidence: share of the samples inside, between 0 and 1.

    Returns:
        Two Python floats.

    Raises:
        ValueError: ``confidence`` outside (0, 1), no samples, NaN.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1; got {confidence}.")
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(as_values(samples, "samples"), [tail, 1.0 - tail])
    return [float(low), float(high)]


def bootstrap_ci(
    values: ArrayLike,
    *,
    statistic: Callable[[Floats], Floats] | None = None,
    clusters: Sequence[Hashable] | NDArray[Any] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[float]:
    """Percentile interval of a mean, or of a function of column means (a ratio, a difference, a worst case).

    Args:
        values: shape (n,) or (n, k); columns are resampled together (paired).
        statistic: maps column means, shape (n_bootstrap, k), to the statistic, shape (n_bootstrap,); None
            means the mean itself.
        clusters: a label per row: resample whole clusters.
        n_bootstrap: number of resamples.
        confidence: share of resamples inside.
        seed: of the draws.

    Returns:
        ``[low, high]``.

    Raises:
        ValueError: as in ``bootstrap_means`` and ``percentile_interval``.

    Example:
        >>> bootstrap_ci([1.0, 1.0, 1.0])
        [1.0, 1.0]
    """
    means = bootstrap_means(values, clusters=clusters, n_bootstrap=n_bootstrap, seed=seed)
    return percentile_interval(means if statistic is None else statistic(means), confidence=confidence)


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    *,
    clusters: Sequence[Hashable] | NDArray[Any] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Any]:
    """Mean of ``a - b`` over the same rows, with its interval: before and after, or two models.

    Args:
        a: values of one condition, shape (n,).
        b: values of the other, same rows in the same order.
        clusters: a label per row: resample whole clusters.
        n_bootstrap: number of resamples.
        confidence: share of resamples inside.
        seed: of the draws.

    Returns:
        ``difference``, ``difference_ci95`` (named so whatever the confidence), ``n``.

    Raises:
        ValueError: different lengths, NaN, no rows.
    """
    first, second = as_values(a, "a"), as_values(b, "b")
    if first.shape != second.shape:
        raise ValueError(f"a and b must hold the same rows; got {len(first)} and {len(second)}.")
    gap = first - second
    interval = bootstrap_ci(gap, clusters=clusters, n_bootstrap=n_bootstrap, confidence=confidence, seed=seed)
    return {"difference": float(gap.mean()), "difference_ci95": interval, "n": len(gap)}


def share_interval(hits: int, n: int) -> list[float]:
    """95 % interval of a share by Wilson's score, which is no point where none or all of the rows are hits.

    Args:
        hits: rows that have the property.
        n: rows, at least one.

    Returns:
        ``[low, high]``.

    Raises:
        ValueError: no rows, more hits than rows.

    Source:
        Wilson 1927, *Probable Inference, the Law of Succession, and Statistical Inference*.

    Example:
        >>> [round(end, 3) for end in share_interval(0, 100)]
        [0.0, 0.037]
    """
    if not 0 <= hits <= n or n < 1:
        raise ValueError(f"Wanted 0 to n hits among n rows, at least one row; got {hits} of {n}.")
    from scipy.stats import binomtest  # takes half a second to import

    return [float(end) for end in binomtest(hits, n).proportion_ci(method="wilson")]


def share_entry(key: str, hits: int, n: int) -> dict[str, Any]:
    """A share and its interval as entries of a result; None where there are no rows."""
    if not n:
        return {key: None, f"{key}_ci95": None}
    return {key: hits / n, f"{key}_ci95": share_interval(hits, n)}
