"""Intervals of rates, gaps and means that hold for small groups and few clusters; nothing is resampled.

A rate is a ratio of column sums. What each row (or cluster of rows) adds to it gives its variance, hence the number of
independent rows that would know it as well; with that number its limits are mid-P limits. A gap or a weighted mean of
rates gets its limits from those of the rates (MOVER), with the correlations that rows in common make.
``benchmarks/interval_coverage.py`` shows how often these intervals cover.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.scores.statistics import CHUNK_CELLS, Floats, as_values, cluster_index, cluster_sums, generator
from hf_fairness.utils import FairnessWarning

#: Rows below which an interval of a rate is so wide, or its coverage so uneven, that a warning says so.
SMALL_N = 8
#: Clusters below which the variance between them is hardly known.
FEW_CLUSTERS = 10
#: 97.5 % quantile of the normal distribution.
Z = 1.959963984540054
#: Groups at either end of which every pair is looked at.
CANDIDATES = 20
#: How results describe these intervals.
METHOD = (
    "95 % intervals: mid-P of a rate, with the effective number of rows and Student's quantile where rows come in "
    "clusters; gaps and means of rates by MOVER (Newcombe's square-and-add with mid-P limits)"
)


def warn_of_few(units: int, what: str, least: int, *, stacklevel: int = 3) -> None:
    """Say that an interval stands on few units."""
    if 0 < units < least:
        warnings.warn(
            f"Only {units} {what}: below {least} the intervals are very wide or cover less often than 95 %. "
            "Measure more before drawing a conclusion.",
            FairnessWarning,
            stacklevel=stacklevel + 1,
        )


def students(freedom: ArrayLike, tail: float) -> Floats:
    """Quantile of Student's distribution that leaves ``tail`` above it; infinite freedom is the normal one."""
    from scipy.special import ndtri, stdtrit

    degrees = np.asarray(freedom, dtype=np.float64)
    finite = np.where(np.isinf(degrees), 1e9, np.maximum(degrees, 1e-9))
    return np.asarray(np.where(np.isinf(degrees), -ndtri(tail), -stdtrit(finite, tail)), dtype=np.float64)


def rate_limits(rates: ArrayLike, n: ArrayLike, *, tail: float = 0.025) -> tuple[Floats, Floats]:
    """Mid-P limits of rates: the tail probability counts half of what was seen itself.

    Args:
        rates: shares, shape (k,); NaN gives NaN.
        n: rows behind each, shape (k,); need not be whole.
        tail: probability left out at either end.

    Returns:
        Lower and upper limits, shape (k,); the lower one is 0 for a rate of 0, the upper one 1 for a rate of 1.

    Source:
        Lancaster 1961; Berry and Armitage 1995, *Mid-P confidence intervals: a brief review*.

    Example:
        >>> low, high = rate_limits([0.0, 0.5], [8, 8])
        >>> [[round(float(end), 3) for end in ends] for ends in zip(low, high)]
        [[0.0, 0.312], [0.184, 0.816]]
    """
    values, rows = np.broadcast_arrays(np.asarray(rates, np.float64), np.asarray(n, np.float64))
    kinds, place = np.unique(np.stack([values.ravel(), rows.ravel()]), axis=1, return_inverse=True)
    low = _lower_limits(kinds[0], kinds[1], tail)
    high = 1.0 - _lower_limits(1.0 - kinds[0], kinds[1], tail)
    place = place.reshape(values.shape)
    return low[place], high[place]


def _lower_limits(rates: Floats, n: Floats, tail: float) -> Floats:
    """Rate at which as many hits or more (those seen counted half) have the probability ``tail``."""
    from scipy.special import betainc

    hits, misses = np.maximum(rates * n, 0.0), np.maximum((1.0 - rates) * n, 0.0)
    some = hits > 1e-12
    hits_or_one, all_hit = np.where(some, hits, 1.0), misses <= 1e-12
    low, high = np.zeros_like(rates), np.where(np.isnan(rates), 0.0, rates)
    for _ in range(52):
        middle = (low + high) / 2.0
        more = np.where(all_hit, 0.0, betainc(hits_or_one + 1.0, np.where(all_hit, 1.0, misses), middle))
        above = (betainc(hits_or_one, misses + 1.0, middle) + more) / 2.0 > tail
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.where(np.isnan(rates), np.nan, np.where(some, low, 0.0))


@dataclass(frozen=True)
class Rates:
    """Shares of the same rows, and how well they are known.

    Attributes:
        values: shape (k,), NaN where there are no rows.
        n: number of independent rows that would know each share as well, shape (k,).
        freedom: degrees of freedom of the variance between clusters, shape (k,); infinite for independent rows.
        influence: what each unit (row or cluster) adds to each share, such that products of columns are covariances,
            shape (units, k), dense or sparse; None: the shares have no unit in common.
    """

    values: Floats
    n: Floats
    freedom: Floats
    influence: Any = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which shares have an interval: those with rows, and with two clusters where rows come in clusters."""
        return ~np.isnan(self.values) & (self.freedom > 0)

    def limits(self, tail: float = 0.025) -> tuple[Floats, Floats]:
        """Limits of each share, NaN where it has none."""
        normal = float(students(math.inf, tail))
        shrink = (normal / students(self.freedom, tail)) ** 2
        low, high = rate_limits(np.where(self.known, self.values, np.nan), self.n * shrink, tail=tail)
        return low, high

    def interval(self, place: int) -> list[float] | None:
        """95 % interval of one share, or None."""
        return self.take([place]).intervals()[0]

    def intervals(self) -> list[list[float] | None]:
        """95 % interval of each share, or None."""
        low, high = self.limits()
        return [None if math.isnan(a) else [a, b] for a, b in zip(low.tolist(), high.tolist(), strict=True)]

    def entry(self, key: str, place: int, *, wanted: bool = True) -> dict[str, Any]:
        """A share and its interval as entries of a result; None where undefined."""
        value = float(self.values[place])
        return {
            key: None if math.isnan(value) else value,
            f"{key}_ci95": self.interval(place) if wanted else None,
        }

    def take(self, places: Sequence[int] | NDArray[Any]) -> Rates:
        """Some of the shares."""
        index = np.asarray(places, dtype=np.intp)
        influence = None if self.influence is None else self.influence[:, index]
        return Rates(self.values[index], self.n[index], self.freedom[index], influence)

    def correlations(self) -> Floats:
        """Correlation of every two shares, shape (k, k); 0 where one of them does not vary."""
        return np.eye(len(self.values)) if self.influence is None else correlations(self.influence)


def correlations(influence: Any) -> Floats:
    """Correlation of every two columns, shape (k, k); 0 where one of them does not vary."""
    columns = influence.toarray() if hasattr(influence, "toarray") else influence
    lengths = np.linalg.norm(columns, axis=0)
    unit = np.divide(columns, lengths, out=np.zeros_like(columns), where=lengths > 0.0)
    found = np.clip(unit.T @ unit, -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found, dtype=np.float64)


def rates_of(
    hits: ArrayLike,
    rows: ArrayLike,
    *,
    clusters: Any = None,
    repeats: ArrayLike | None = None,
    binary: bool = True,
) -> Rates:
    """Shares as ratios of column sums.

    Args:
        hits: what each row adds to the numerator of each share, shape (n, k).
        rows: what it adds to the denominator, at least as much, shape (n, k).
        clusters: a label per row; rows of one label are one unit.
        repeats: how many rows each row stands for, shape (n,).
        binary: whether a row adds all or nothing (or parts of that, such as half a point for a tie): then clusters
            never make a share better known than independent rows. False for means of numbers within [0, 1].

    Returns:
        The shares.

    Raises:
        ValueError: no rows, NaN, not one cluster label per row.

    Example:
        >>> found = rates_of([[1.0], [0.0], [1.0], [1.0]], np.ones((4, 1)))
        >>> float(found.values[0]), found.n.tolist()
        (0.75, [4.0])
    """
    top, bottom = as_values(hits, "hits", ndim=2), as_values(rows, "rows", ndim=2)
    weights = np.ones(len(top)) if repeats is None else as_values(repeats, "repeats")
    if clusters is not None:
        index = cluster_index(clusters, len(top))
        top, bottom = cluster_sums(top, index), cluster_sums(bottom, index)
        weights = np.ones(len(top))
    total = weights @ bottom
    values = np.divide(weights @ top, total, out=np.full(len(total), np.nan), where=total > 0.0)
    influence = (top - np.nan_to_num(values) * bottom) * np.sqrt(weights)[:, None]
    influence = np.divide(influence, total, out=np.zeros_like(influence), where=total > 0.0)
    units = weights @ (bottom > 0.0)
    return known_rates(values, total, units, influence, clustered=clusters is not None, binary=binary)


def known_rates(
    values: Floats, rows: Floats, units: Floats, influence: Any, *, clustered: bool, binary: bool = True
) -> Rates:
    """Shares with their effective numbers of rows, from what each unit adds.

    Args:
        values: the shares, shape (k,).
        rows: their denominators.
        units: number of rows or clusters that have a part in each.
        influence: as in ``Rates``, None for independent rows that each belong to one share.
        clustered: whether units are clusters.
        binary: as in ``rates_of``.

    Returns:
        The shares. One that is 0 or 1 is known as well as its units would tell if they were all alike.
    """
    if influence is None:
        return Rates(values, rows, np.full(len(values), math.inf))
    variance = _lengths(influence) ** 2
    if clustered:
        variance = variance * units / np.maximum(units - 1.0, 1.0)
    inside = (values > 0.0) & (values < 1.0)
    most = rows if binary else np.full(len(rows), math.inf)
    spread = np.where(inside, values * (1.0 - values), 0.0)
    n = np.divide(spread, variance, out=np.full(len(values), math.inf), where=variance > 1e-300)
    n = np.where(inside, np.minimum(n, most), units)
    n = np.where(np.isinf(n), units, n)
    freedom = units - 1.0 if clustered else np.full(len(values), math.inf)
    return Rates(values, n, freedom, influence)


def combination(rates: Rates, weights: ArrayLike) -> list[float] | None:
    """95 % interval of a weighted sum of shares, such as a difference or a mean.

    Args:
        rates: the shares.
        weights: of each, shape (k,); those with weight 0 play no part.

    Returns:
        ``[low, high]``, within the range that the weights allow; None where a share has no interval.

    Source:
        Zou and Donner 2008 (MOVER); for two independent rates Newcombe 1998, method 10, with mid-P limits.

    Example:
        >>> found = rates_of([[1, 0], [0, 0], [0, 1], [0, 0]] * 5, [[1, 0], [1, 0], [0, 1], [0, 1]] * 5)
        >>> [round(end, 3) for end in combination(found, [1.0, -1.0])]
        [-0.407, 0.407]
    """
    factors = np.asarray(weights, dtype=np.float64)
    used = np.flatnonzero(factors)
    part, factors = rates.take(used), factors[used]
    if not part.known.all():
        return None
    low, high = combined_limits(part.values, *part.limits(), part.correlations(), factors)
    least, most = float(factors[factors < 0].sum()), float(factors[factors > 0].sum())
    return [max(low, least), min(high, most)]


def combined_limits(values: Floats, low: Floats, high: Floats, related: Floats, weights: Floats) -> tuple[float, float]:
    """Limits of a weighted sum of estimates from their limits and correlations (MOVER)."""
    down, up = weights * (values - low), weights * (high - values)
    down, up = np.where(weights > 0, down, up), np.where(weights > 0, up, down)
    value = float(weights @ values)
    # A negative weight turns the sign of the distance, and with it that of the correlation.
    squares = [(float(side @ related @ side), 1e-14 * float(side @ side)) for side in (down, up)]
    # What is left where all cancels (a model against itself) is rounding.
    lower, upper = (math.sqrt(square) if square > rounding else 0.0 for square, rounding in squares)
    return value - lower, value + upper


@lru_cache(maxsize=512)
def critical_value(upper: int, lower: int, *, apart: bool, tail: float) -> float:
    """Quantile of the largest standardised difference between two sets of groups.

    Args:
        upper: groups that may have the highest rate.
        lower: groups that may have the lowest; the same ones where not ``apart``.
        apart: whether the sets have no group in common.
        tail: probability of a larger difference.

    Returns:
        The quantile, 1.96 for two groups: in units of the standard error of a difference.

    Source:
        Tukey's studentised range; Dunnett 1955 where one set has a single group.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    nodes, weights = np.polynomial.legendre.leggauss(200)
    z = nodes * 9.0
    density = weights * 9.0 * np.exp(-(z**2) / 2.0) / math.sqrt(2.0 * math.pi)

    def within(quantile: float) -> float:
        reach = quantile * math.sqrt(2.0)
        if apart:
            return float(density @ (upper * ndtr(z) ** (upper - 1) * ndtr(reach - z) ** lower))
        return float(density @ (upper * (ndtr(z) - ndtr(z - reach)) ** (upper - 1)))

    return float(brentq(lambda quantile: within(quantile) - (1.0 - tail), 0.1, 12.0, xtol=1e-6))


def largest_gap_interval(rates: Rates, *, families: int = 1) -> list[float] | None:
    """95 % interval of the largest - smallest share, which is 0 at least and 1 at most.

    The gap that was seen is the largest of many, so it is too large on average. Its lower limit is the highest of the
    pairs' lower limits, at the critical value of a comparison of all groups that may be at the top with all that may
    be at the bottom (those that are clearly not are left out first); its upper limit the highest of the pairs' upper
    ones. With two groups it is the interval of their difference.

    Args:
        rates: of two groups or more.
        families: number of such gaps of which the largest is wanted; their lower limits are then held together.

    Returns:
        ``[low, high]``; None where a group has no interval.

    Source:
        Tukey's and Dunnett's comparisons with MOVER limits of each pair; the choice of groups as in moment selection
        (Andrews and Soares 2010).
    """
    if not rates.known.all():
        return None
    values, k = rates.values, len(rates.values)
    tail = -math.expm1(math.log(0.95) / families)
    tops, bottoms = _contenders(rates, critical_value(k, k, apart=False, tail=tail))
    apart = not set(tops.tolist()) & set(bottoms.tolist())
    sizes = (len(tops), len(bottoms)) if apart else (len(set(tops.tolist()) | set(bottoms.tolist())),) * 2
    quantile = critical_value(*sizes, apart=apart, tail=tail / 2.0 if apart else tail)
    low, high = rates.limits(_tail(quantile))
    tops = _extreme(tops, values[tops], low[tops])
    bottoms = _extreme(bottoms, -values[bottoms], -high[bottoms])
    least = float(_pair_limits(rates, tops, bottoms, values - low, high - values, -1.0).max())
    low, high = rates.limits()
    everyone = np.arange(k)
    tops, bottoms = _extreme(everyone, values, high), _extreme(everyone, -values, -low)
    most = float(_pair_limits(rates, tops, bottoms, high - values, values - low, 1.0).max())
    return [max(0.0, least), min(1.0, most)]


def largest_gap(rates: Rates) -> float:
    """Largest - smallest rate; NaN where one of them is undefined."""
    return float(rates.values.max() - rates.values.min())


def gap_entry(key: str, rates: Rates, *, wanted: bool = True) -> dict[str, Any]:
    """The largest gap between rates and its interval as entries of a result; None where a rate is undefined."""
    gap = largest_gap(rates)
    if np.isnan(gap):
        return {key: None, f"{key}_ci95": None}
    return {key: gap, f"{key}_ci95": largest_gap_interval(rates) if wanted else None}


def _tail(quantile: float) -> float:
    """Probability above a quantile of the normal distribution."""
    return 0.5 * math.erfc(quantile / math.sqrt(2.0))


def _contenders(rates: Rates, quantile: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Groups that may have the highest share, and those that may have the lowest."""
    values, everyone = rates.values, np.arange(len(rates.values))
    low, high = rates.limits(_tail(quantile))
    best, worst = np.array([int(low.argmax())]), np.array([int(high.argmin())])
    below = _pair_limits(rates, best, everyone, values - low, high - values, -1.0)[0] > 0.0
    above = _pair_limits(rates, everyone, worst, values - low, high - values, -1.0)[:, 0] > 0.0
    below[best], above[worst] = False, False
    return everyone[~below], everyone[~above]


def _extreme(places: NDArray[np.intp], *orders: Floats) -> NDArray[np.intp]:
    """The ``CANDIDATES`` places that stand highest in each of the orders."""
    chosen = [places[np.argsort(-order, kind="stable")[:CANDIDATES]] for order in orders]
    return np.unique(np.concatenate(chosen))


def _pair_limits(
    rates: Rates, first: NDArray[np.intp], second: NDArray[np.intp], of_first: Floats, of_second: Floats, sign: float
) -> Floats:
    """Limits of share i - share j for i in ``first`` and j in ``second``, shape (first, second)."""
    one, other = of_first[first][:, None], of_second[second][None, :]
    squares = one**2 + other**2
    if rates.influence is not None:
        squares = squares - 2.0 * _cross_correlations(rates, first, second) * one * other
    gaps = rates.values[first][:, None] - rates.values[second][None, :]
    return np.asarray(gaps + sign * np.sqrt(np.maximum(squares, 0.0)))


def _cross_correlations(rates: Rates, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
    """Correlation of the shares in ``first`` with those in ``second``."""
    left, right = rates.influence[:, first], rates.influence[:, second]
    products = left.T @ right
    products = products.toarray() if hasattr(products, "toarray") else np.asarray(products)
    lengths = _lengths(left), _lengths(right)
    scale = lengths[0][:, None] * lengths[1][None, :]
    found = np.divide(products, scale, out=np.zeros_like(scale), where=scale > 0.0)
    return np.asarray(np.clip(found, -1.0, 1.0), dtype=np.float64)


def mean_gap_interval(families: Sequence[Rates]) -> list[float] | None:
    """95 % interval of the mean of the largest gaps of several families of shares, whose clusters may share rows.

    The lower limit of a gap is cut at 0, and square-and-add of such limits never reaches 0 though chance explains all
    gaps: the lower limit of the mean is the mean of the lower ones, on the safe side. They are held together, for one
    that is above 0 lifts the mean.
    """
    ends = _held_together(families)
    if ends is None:
        return None
    low, high = zip(*ends, strict=True)
    gaps = np.array([largest_gap(rates) for rates in families])
    up = np.array(high) - gaps
    squares = float(up @ _gap_correlations(families) @ up)
    return [float(np.mean(low)), float(gaps.mean()) + math.sqrt(max(squares, 0.0)) / len(up)]


def _gap_correlations(families: Sequence[Rates]) -> Floats:
    """Correlation of the gaps of several families, 0 at least."""
    if any(rates.influence is None for rates in families):
        return np.eye(len(families))
    columns = []
    for rates in families:
        ends = rates.influence[:, [int(rates.values.argmax()), int(rates.values.argmin())]]
        dense = ends.toarray() if hasattr(ends, "toarray") else np.asarray(ends)
        columns.append(dense[:, 0] - dense[:, 1])
    return np.maximum(correlations(np.stack(columns, axis=1)), 0.0)


def worst_gap_interval(families: Sequence[Rates]) -> list[float] | None:
    """95 % interval of the largest of several largest gaps."""
    ends = _held_together(families)
    return None if ends is None else [max(low for low, _ in ends), max(high for _, high in ends)]


def _held_together(families: Sequence[Rates]) -> list[list[float]] | None:
    """Interval of each largest gap, the lower limits held together; None where one is unknown."""
    found = [largest_gap_interval(rates, families=len(families)) for rates in families]
    ends = [interval for interval in found if interval is not None]
    return ends if len(ends) == len(found) else None


def distance_interval(
    distance: Callable[[Floats], Floats], value: float, rates: Rates, *, most: float, n_draws: int, seed: int
) -> list[float] | None:
    """95 % interval of a sum of distances between shares (FPED, a mean deviation), on the safe side.

    A distance lies no further from the true one than the shares lie from the true shares, measured by the same
    distance; that reach is drawn, and the largest 5 % of draws are left out.

    Args:
        distance: maps errors of the shares, shape (m, k), to their size, shape (m,); a seminorm.
        value: the distance that was found.
        rates: the shares.
        most: largest possible value.
        n_draws: number of draws; 0 for no interval.
        seed: of the draws.

    Returns:
        ``[low, high]``; None where a share has no interval or nothing is drawn.
    """
    if n_draws < 1 or not rates.known.all():
        return None
    low, high = rates.limits()
    errors = (high - low) / (2.0 * Z)  # Student's quantile, where rows come in clusters, is in the limits
    reach = distance_reach(distance, errors, rates.influence, n_draws, seed)
    return [max(0.0, value - reach), min(most, value + reach)]


def distance_reach(
    distance: Callable[[Floats], Floats], errors: Floats, influence: Any, n_draws: int, seed: int
) -> float:
    """95 % quantile of the size of the errors of estimates, of which standard errors and influence are known."""
    k, rng = len(errors), generator(seed)
    step = max(1, CHUNK_CELLS // k)
    sizes = [min(step, n_draws - start) for start in range(0, n_draws, step)]
    drawn = [distance(_noise(influence, k, rows, rng) * errors) for rows in sizes]
    return float(np.quantile(np.concatenate(drawn), 0.95))


def _noise(influence: Any, k: int, rows: int, rng: np.random.Generator) -> Floats:
    """Standard normal errors of k estimates, related as these are; shape (rows, k)."""
    if influence is None:
        return rng.standard_normal((rows, k))
    lengths = _lengths(influence)
    drawn = np.asarray((influence.T @ rng.standard_normal((influence.shape[0], rows))).T)
    drawn = drawn / np.where(lengths > 0.0, lengths, 1.0)
    still = lengths <= 0.0
    drawn[:, still] = rng.standard_normal((rows, int(still.sum())))
    return np.asarray(drawn, dtype=np.float64)


def _lengths(influence: Any) -> Floats:
    """Euclidean length of each column, dense or sparse."""
    squares = influence.multiply(influence) if hasattr(influence, "multiply") else influence**2
    return np.sqrt(np.asarray(squares.sum(axis=0), dtype=np.float64).ravel())
