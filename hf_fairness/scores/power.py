"""Minimal detectable gaps: a test that found nothing shows only that the gap is smaller than what it can see."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.rates import ratio
from hf_fairness.scores.statistics import Floats, as_values


def _reach(alpha: float, power: float, design_effect: float) -> float:
    """How many standard errors a gap must have: z of a two-sided test at alpha plus z of the power."""
    from scipy.special import ndtri

    for name, value in (("alpha", alpha), ("power", power)):
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must lie between 0 and 1; got {value}.")
    if not (design_effect > 0.0 and math.isfinite(design_effect)):
        raise ValueError(f"design_effect must be a number above 0 (1: independent rows); got {design_effect}.")
    return float(ndtri(1.0 - alpha / 2.0) + ndtri(power)) * math.sqrt(design_effect)


def minimal_detectable_gap(
    n_first: int,
    n_second: int,
    *,
    rate: float = 0.5,
    alpha: float = 0.05,
    power: float = 0.8,
    design_effect: float = 1.0,
) -> float | None:
    """Smallest gap between two groups' rates that a two-sided test finds with the given power.

    On the scale 2 asin(sqrt(rate)) the standard error is sqrt(1/n_first + 1/n_second) whatever the rate, so that the
    answer stays sensible near 0 and 1. The two rates lie symmetrically around ``rate`` on that scale, or begin at 0
    or 1 where there is no room.

    Args:
        n_first: rows of the first group.
        n_second: rows of the second.
        rate: overall rate; 0.5 is the worst case.
        alpha: level of the test; divide it by the number of comparisons where there are several.
        power: chance of finding the gap.
        design_effect: variance with the clusters of the data over variance with independent rows, as
            ``design_effects`` finds it.

    Returns:
        The gap in (0, 1]; None where even a gap of 1 would be found less often.

    Raises:
        ValueError: a group without rows, or alpha, power, rate or design_effect out of range.

    Source: Cohen 1988, chapter 6.

    Example:
        >>> round(minimal_detectable_gap(100, 100), 3), round(minimal_detectable_gap(10_000, 10_000), 3)
        (0.197, 0.02)
    """
    if n_first < 1 or n_second < 1:
        raise ValueError(f"Both groups need rows; got {n_first} and {n_second}.")
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate must lie between 0 and 1; got {rate}.")
    width = _reach(alpha, power, design_effect) * math.sqrt(1.0 / n_first + 1.0 / n_second)
    if width > math.pi:
        return None
    low = min(max(2.0 * math.asin(math.sqrt(rate)) - width / 2.0, 0.0), math.pi - width)
    return math.sin((low + width) / 2.0) ** 2 - math.sin(low / 2.0) ** 2


def minimal_detectable_change(
    n: int, std: float, *, alpha: float = 0.05, power: float = 0.8, design_effect: float = 1.0
) -> float:
    """Smallest mean of paired differences that a two-sided test finds with the given power.

    Args:
        n: pairs.
        std: standard deviation of the differences.
        alpha: level of the test.
        power: chance of finding the change.
        design_effect: variance with the clusters of the data over variance with independent pairs.

    Returns:
        The change, in the units of ``std``.

    Raises:
        ValueError: no pairs, a negative std, or alpha, power or design_effect out of range.

    Example:
        >>> round(minimal_detectable_change(100, 1.0), 3)
        0.28
    """
    if n < 1 or not (std >= 0.0 and math.isfinite(std)):
        raise ValueError(f"n must be at least 1 and std a number of 0 or more; got {n} and {std}.")
    return _reach(alpha, power, design_effect) * std / math.sqrt(n)


def design_effects(rows: ArrayLike, clusters: ArrayLike) -> Floats:
    """How much clusters of rows widen the difference of each pair of estimates; never below 1.

    Args:
        rows: shape (k, k): sums over rows of the products of what a row adds to estimate i and to estimate j, each
            centred (for a mean: (value - mean) / n).
        clusters: the same with what a whole cluster adds.

    Returns:
        Shape (k, k): variance of estimate i - estimate j with clusters over that with independent rows; 1 on the
        diagonal and where nothing varies.

    Example:
        >>> float(design_effects([[1.0, 0.0], [0.0, 1.0]], [[2.0, -1.0], [-1.0, 2.0]])[0, 1])
        3.0
    """
    variances = []
    for gram in (as_values(rows, "rows", ndim=2), as_values(clusters, "clusters", ndim=2)):
        own = np.diag(gram)
        variances.append(own[:, None] + own[None, :] - 2.0 * gram)
    effects = ratio(variances[1], variances[0])
    return np.where(effects > 1.0, effects, 1.0)
