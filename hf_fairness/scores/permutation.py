"""Permutation tests of two sides: units move between them, and a unit is one value or a cluster of values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.scores.statistics import (
    CHUNK_CELLS,
    N_SAMPLES,
    Floats,
    as_values,
    cluster_index,
    cluster_sums,
    generator,
)

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
