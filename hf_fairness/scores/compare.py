"""Two models on the same items: how much better one is, and whether chance would do it as well."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.scores.intervals import FEW_CLUSTERS, warn_of_few
from hf_fairness.scores.rates import distinct_rows, ratio
from hf_fairness.scores.statistics import (
    CHUNK_CELLS,
    N_BOOTSTRAP,
    Floats,
    as_values,
    cluster_index,
    cluster_sums,
    generator,
    mean_interval,
)

#: From column sums, shape (m, k), to a value each, shape (m,).
Statistic = Callable[[Floats], Floats]
#: Swaps looked at unless told otherwise.
N_SWAPS = 10_000

CONVENTION = (
    "difference = statistic of a - statistic of b on the same items; 95 % interval: Student's, from leaving out each "
    "item (or whole cluster) for both models together, None where the models agree on all of them; p two-sided, the "
    "models' outputs swapped item by item (cluster by cluster), ties counted, exact when the different outcomes are "
    "few, else Monte Carlo with +1 in numerator and denominator"
)


def _all_swaps(counts: NDArray[np.intp]) -> Iterator[tuple[Floats, Floats]]:
    """How many units of each kind are swapped, every combination of it, with its probability; in chunks."""
    from scipy.special import gammaln

    sizes = tuple(int(count) + 1 for count in counts)
    total, step = math.prod(sizes), max(1, CHUNK_CELLS // max(len(sizes), 1))
    for start in range(0, total, step):
        chosen = np.stack(np.unravel_index(np.arange(start, min(total, start + step)), sizes), axis=1)
        ways = gammaln(counts + 1) - gammaln(chosen + 1) - gammaln(counts - chosen + 1)
        yield chosen.astype(np.float64), np.exp((ways - counts * math.log(2.0)).sum(axis=1))


def _random_swaps(counts: NDArray[np.intp], n_samples: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """How many units of each kind are swapped when each is by the toss of a coin; in chunks."""
    rng = generator(seed)
    step, several = max(1, CHUNK_CELLS // len(counts)), counts > 1
    for start in range(0, n_samples, step):
        rows = min(step, n_samples - start)
        chosen = rng.integers(0, 2, size=(rows, len(counts)), dtype=np.int8).astype(np.float64)
        chosen[:, several] = rng.binomial(counts[several], 0.5, size=(rows, int(several.sum())))
        yield chosen, np.ones(rows)


def _swap_tests(
    left: Floats, right: Floats, statistics: Mapping[str, Statistic], n_samples: int, seed: int
) -> tuple[dict[str, float], str]:
    """Two-sided p-values of the differences, and how they were found; units are rows of ``left`` and ``right``."""
    sums = left.sum(axis=0, keepdims=True), right.sum(axis=0, keepdims=True)
    moves = right - left
    moves = moves[moves.any(axis=1)]  # a unit on which the models agree changes nothing when swapped
    if not len(moves):
        return dict.fromkeys(statistics, 1.0), "exact"
    least = {}
    for name, statistic in statistics.items():
        values = statistic(np.concatenate(sums))
        least[name] = abs(values[0] - values[1]) - 1e-12 * np.abs(values).max()
    kinds, often = distinct_rows(moves)
    counts = often.astype(np.intp)
    exact = math.prod(int(count) + 1 for count in counts) <= n_samples
    hits, total = dict.fromkeys(statistics, 0.0), 0.0
    for chosen, weight in _all_swaps(counts) if exact else _random_swaps(counts, n_samples, seed):
        moved = chosen @ kinds
        one, other = sums[0] + moved, sums[1] - moved
        for name, statistic in statistics.items():
            gaps = np.abs(statistic(one) - statistic(other))
            # An undefined statistic is no evidence against chance.
            hits[name] += float(weight @ (np.isnan(gaps) | (gaps >= least[name])))
        total += float(weight.sum())
    if exact:
        return {name: min(1.0, found / total) for name, found in hits.items()}, "exact"
    return {name: (1.0 + found) / (1.0 + total) for name, found in hits.items()}, "monte_carlo"


def paired_comparison(
    a: ArrayLike,
    b: ArrayLike,
    *,
    statistic: Statistic | None = None,
    clusters: Sequence[Hashable] | NDArray[Any] | None = None,
    n_samples: int = N_SWAPS,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Difference of a statistic between two models on the same items, with interval and p-value.

    The p-value asks how often a difference as large arises when, for each item, a coin decides which model's output
    counts as whose. Items with equal outputs of both models are grouped, so that the test of 100,000 rows with few
    different outcomes costs no more than that of 100, and is exact (for right and wrong answers it is the exact
    test of McNemar).

    Args:
        a: the first model's values per item, shape (n,), or the columns of which ``statistic`` takes sums,
            shape (n, k): for a rate of a subset its hits and the rows of the subset.
        b: the second model's, same items in the same order.
        statistic: maps column sums, shape (m, k), to the statistic, shape (m,), NaN where undefined; None: the mean
            of one-dimensional values.
        clusters: a label per item: items of a cluster are swapped and counted together.
        n_samples: most combinations of swaps to look at.
        n_bootstrap: 0: no interval; nothing is drawn for it.
        seed: of all draws.

    Returns:
        ``a``, ``b``: the statistic of each; ``difference`` = a - b; ``difference_ci95``: ``[low, high]``, or None
        with one unit, or where the models agree on every unit;
        ``p_value``, two-sided; ``method``: "exact" or "monte_carlo"; ``n`` items;
        ``n_units`` swapped (clusters or items); ``convention``.

    Raises:
        ValueError: different items, NaN, several columns without a statistic, a statistic that is undefined on
            the data.

    Source:
        Sign-flip (approximate randomisation) test as in Noreen 1989; the +1 after Phipson and Smyth 2010.

    Example:
        >>> result = paired_comparison([1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0])
        >>> result["difference"], round(result["p_value"], 6), result["method"]
        (0.75, 0.25, 'exact')
    """
    one = np.ndim(a) < 2
    first, second = as_values(a, "a", ndim=1 if one else 2), as_values(b, "b", ndim=1 if one else 2)
    if first.shape != second.shape:
        raise ValueError(f"a and b must be the same items; got shapes {first.shape} and {second.shape}.")
    if statistic is None:
        if not one:
            raise ValueError("Several columns need statistic=..., a function of their sums.")
        ones = np.ones(len(first))
        first, second = np.stack([first, ones], axis=1), np.stack([second, ones], axis=1)
    if one and statistic is not None:
        first, second = first[:, None], second[:, None]
    statistics = {"statistic": statistic or _mean}
    options: dict[str, Any] = {"clusters": clusters, "n_samples": n_samples, "n_bootstrap": n_bootstrap, "seed": seed}
    return paired_comparisons(first, second, statistics, **options)["statistic"]


def paired_comparisons(
    a: ArrayLike,
    b: ArrayLike,
    statistics: Mapping[str, Statistic],
    *,
    clusters: Sequence[Hashable] | NDArray[Any] | None = None,
    n_samples: int = N_SWAPS,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, dict[str, Any]]:
    """``paired_comparison`` of several statistics of the same columns, which share their swaps.

    Args:
        a: the first model's columns, shape (n, k).
        b: the second model's, same items in the same order.
        statistics: by name, each from column sums, shape (m, k), to shape (m,), NaN where undefined.
        clusters: as in ``paired_comparison``.
        n_samples: as in ``paired_comparison``.
        n_bootstrap: as in ``paired_comparison``.
        seed: as in ``paired_comparison``.

    Returns:
        By name what ``paired_comparison`` returns.

    Raises:
        ValueError: different items, NaN, a statistic that is undefined on the data.
    """
    first, second = as_values(a, "a", ndim=2), as_values(b, "b", ndim=2)
    if first.shape != second.shape:
        raise ValueError(f"a and b must be the same items; got shapes {first.shape} and {second.shape}.")
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1; got {n_samples}.")
    values = {
        name: [float(statistic(side.sum(axis=0, keepdims=True))[0]) for side in (first, second)]
        for name, statistic in statistics.items()
    }
    for name, (one, other) in values.items():
        if not (math.isfinite(one) and math.isfinite(other)):
            raise ValueError(f"{name} is undefined on the data: {one} for a, {other} for b.")
    n = len(first)
    if n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be 0 or more; got {n_bootstrap}.")
    if clusters is not None:
        index = cluster_index(clusters, n)
        first, second = cluster_sums(first, index), cluster_sums(second, index)
        warn_of_few(len(first), "clusters", FEW_CLUSTERS)
    intervals = _differences(first, second, statistics) if n_bootstrap else {}
    p_values, method = _swap_tests(first, second, statistics, n_samples, seed)
    return {
        name: {
            "a": values[name][0],
            "b": values[name][1],
            "difference": values[name][0] - values[name][1],
            "difference_ci95": intervals.get(name),
            "p_value": p_values[name],
            "method": method,
            "n": n,
            "n_units": len(first),
            "convention": CONVENTION,
        }
        for name in statistics
    }


def gap_over_seeds(
    values: Sequence[float | None], others: Sequence[float | None], *, most: float = 1.0
) -> dict[str, Any] | None:
    """Paired difference of two trainings over the same seeds.

    Args:
        values: of one, a value per seed.
        others: of the other, same seeds.
        most: largest possible difference: 1 for rates, infinite for what has no bounds.

    Returns:
        ``difference`` (first - second) with Student's ``ci95``, cut at the largest difference, and the two-sided
        ``p_value`` of the exact sign-flip test over seeds with its ``method``; None where a value is undefined.

    Example:
        >>> found = gap_over_seeds([0.9, 0.8, 0.9, 0.8], [0.5, 0.6, 0.5, 0.6])
        >>> round(found["difference"], 3), found["p_value"]
        (0.3, 0.125)
    """
    if any(value is None for value in (*values, *others)):
        return None
    first, second = np.array(values, dtype=np.float64), np.array(others, dtype=np.float64)
    test = paired_comparison(first, second, n_bootstrap=0)
    return {
        "difference": test["difference"],
        "ci95": mean_interval(first - second, low=-most, high=most),
        "p_value": test["p_value"],
        "method": test["method"],
        "n_seeds": len(first),
    }


def _differences(first: Floats, second: Floats, statistics: Mapping[str, Statistic]) -> dict[str, list[float] | None]:
    """95 % intervals of the differences: Student's, with the variance that leaving out each unit shows."""
    from scipy.special import stdtrit

    units, often = distinct_rows(np.hstack([first, second]))
    n, width = float(often.sum()), first.shape[1]
    differs = (units[:, :width] != units[:, width:]).any()
    if n < 2 or not differs:
        return dict.fromkeys(statistics)
    total = often @ units
    found: dict[str, list[float] | None] = {}
    for name, statistic in statistics.items():
        sums = np.vstack([total, total - units])
        gaps = statistic(sums[:, :width]) - statistic(sums[:, width:])
        moves = gaps[1:] - gaps[0]
        known = ~np.isnan(moves)  # a statistic that one unit alone defines
        variance = float(often[known] @ moves[known] ** 2) * (n - 1.0) / n
        half = float(stdtrit(n - 1.0, 0.975)) * math.sqrt(variance)
        found[name] = [float(gaps[0]) - half, float(gaps[0]) + half]
    return found


def _mean(sums: Floats) -> Floats:
    """Mean from the sum of values and the number of rows."""
    return ratio(sums[:, 0], sums[:, 1])
