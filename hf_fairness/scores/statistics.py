"""Every interval and every permutation of hf-fairness: vectorised, seeded, in float64.

Two ideas carry the module. A bootstrap is a matrix of weights: how often each row (or each cluster of rows)
was drawn; all that follows is a matrix product. A permutation test moves *units* between two sides: a unit is
one value, or a cluster given by its sum and its count.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: Bootstrap draws unless told otherwise: 50 of them lie beyond each end of a 95 % interval.
N_BOOTSTRAP = 2000
#: Permutation draws unless told otherwise (May et al. 2019).
N_SAMPLES = 100_000
#: Cells of the largest temporary array (4 million float64 are 32 MB).
CHUNK_CELLS = 4_000_000
#: Cells of a block of random keys: 2 MB of uint64.
CACHE_CELLS = 1 << 18


class PermutationResult(NamedTuple):
    """What a permutation test returns.

    ``p_value`` is one-sided, ties counted; ``statistic`` is mean(x) - mean(y); ``method`` is "exact" or
    "monte_carlo"; ``n_partitions`` is the number of partitions that were looked at.
    """

    p_value: float
    statistic: float
    method: str
    n_partitions: int


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


def _partitions(n: int, size: int, n_samples: int, rng: np.random.Generator) -> tuple[bool, Iterator[NDArray[np.intp]]]:
    """Chunks of index sets of ``size`` out of ``n``: all of them when there are few, else random ones."""
    total, step = math.comb(n, size), max(1, CHUNK_CELLS // max(n, 1))
    if total <= n_samples:

        def every() -> Iterator[NDArray[np.intp]]:
            sets = itertools.combinations(range(n), size)
            while block := list(itertools.islice(sets, step)):
                yield np.array(block, dtype=np.intp)

        return True, every()

    # The item's number stands in the low bits of its random key: after the partition it can be read from there,
    # which is twice as fast as an indirect one. Blocks that fit the processor's cache are faster than large ones.
    step = max(1, CACHE_CELLS // max(n, 1))
    low = np.uint64((1 << max(n - 1, 1).bit_length()) - 1)
    items = np.arange(n, dtype=np.uint64)

    def some() -> Iterator[NDArray[np.intp]]:
        for start in range(0, n_samples, step):
            shape = (min(step, n_samples - start), n)
            keys = rng.integers(0, 2**64, shape, dtype=np.uint64)
            keys &= ~low
            keys |= items
            keys.partition(size - 1, axis=1)
            yield (keys[:, :size] & low).astype(np.intp)

    return False, some()


def permutation_test(
    x: ArrayLike,
    y: ArrayLike,
    *,
    x_clusters: Sequence[Hashable] | NDArray[Any] | None = None,
    y_clusters: Sequence[Hashable] | NDArray[Any] | None = None,
    n_samples: int = N_SAMPLES,
    seed: int = 0,
) -> PermutationResult:
    """One-sided test that mean(x) - mean(y) is no larger than under exchange of units between x and y.

    Every partition of the units into sets as large as the observed ones is looked at when there are at most
    ``n_samples`` of them ("exact": p = share with a statistic >= the observed one). Otherwise ``n_samples``
    random partitions without replacement ("monte_carlo"): p = (1 + hits) / (1 + n_samples). Ties count as
    hits; two sums that differ by rounding only are ties.

    Args:
        x: values of one side, shape (n_x,).
        y: values of the other side, shape (n_y,).
        x_clusters: a label per value of x; a cluster then moves as a whole, and the means stay means over
            values.
        y_clusters: the same for y; needed when ``x_clusters`` is given. A label on both sides is two
            clusters.
        n_samples: most partitions to look at.
        seed: of the random partitions.

    Returns:
        A ``PermutationResult``.

    Raises:
        ValueError: an empty side, NaN, clusters for one side only, or n_samples below 1.

    Source:
        Caliskan et al. 2017 and May et al. 2019 for equal sides; the +1 after Phipson and Smyth 2010.

    Example:
        >>> permutation_test([3.0, 4.0], [1.0, 2.0]).p_value  # 1 of the C(4, 2) = 6 partitions
        0.16666666666666666
    """
    left, right = as_values(x, "x"), as_values(y, "y")
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1; got {n_samples}.")
    if (x_clusters is None) != (y_clusters is None):
        raise ValueError("Give clusters for both sides or for none; got them for one side only.")
    both = np.concatenate([left, right])
    slack = 1e-12 * max(float(np.abs(both).max()), np.finfo(float).tiny)
    # A common shift moves no difference of means, and keeps rounding small.
    centre = both.mean()
    left, right = left - centre, right - centre
    sizes_x, sizes_y = np.ones(len(left)), np.ones(len(right))
    if x_clusters is not None and y_clusters is not None:
        index_x, index_y = cluster_index(x_clusters, len(left)), cluster_index(y_clusters, len(right))
        left, right, sizes_x, sizes_y = (
            cluster_sums(left, index_x),
            cluster_sums(right, index_y),
            cluster_sums(sizes_x, index_x),
            cluster_sums(sizes_y, index_y),
        )
    sums, sizes = np.concatenate([left, right]), np.concatenate([sizes_x, sizes_y])
    total, rows = sums.sum(), sizes.sum()

    def statistic(inside: Floats, n_inside: Floats) -> Floats:
        return np.asarray(inside / n_inside - (total - inside) / (rows - n_inside), dtype=np.float64)

    observed = statistic(np.array([left.sum()]), np.array([sizes_x.sum()]))[0]
    exact, chunks = _partitions(len(sums), len(left), n_samples, generator(seed))
    hits = looked_at = 0
    for chosen in chunks:
        hits += int((statistic(sums[chosen].sum(axis=1), sizes[chosen].sum(axis=1)) >= observed - slack).sum())
        looked_at += len(chosen)
    p_value = hits / looked_at if exact else (1 + hits) / (1 + looked_at)
    return PermutationResult(float(p_value), float(observed), "exact" if exact else "monte_carlo", looked_at)
