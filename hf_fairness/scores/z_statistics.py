"""z-statistics of features: how far a label goes with a feature more often than with any row."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.rates import ratio
from hf_fairness.scores.statistics import Floats, as_values


def z_statistics(counts: ArrayLike, expected: ArrayLike) -> Floats:
    """Compute z = (p̂ − p0) / sqrt(p0 (1 − p0) / n) for every feature and label.

    p̂ is the share of a label among the n rows with the feature, p0 the share that is expected. Squared it is the
    chi-squared statistic of the label against all others.

    Args:
        counts: rows with the feature by label, shape (features, labels).
        expected: p0 of each label, shape (labels,), or of each entry, shape (features, labels).

    Returns:
        Shape (features, labels). 0 is ideal: the feature says nothing of the label; positive: it speaks for the label,
        negative: against it. NaN where a feature has no rows or p0 is 0 or 1.

    Raises:
        ValueError: counts that are negative, NaN, shares outside [0, 1].

    Source:
        Gardner et al. 2021, *Competency Problems: On Finding and Removing Artifacts in Language Data*; Wu et al. 2022.

    Example:
        >>> z_statistics([[9, 1]], [0.5, 0.5]).round(2).tolist()
        [[2.53, -2.53]]
    """
    table = as_values(counts, "counts", ndim=2)
    shares = np.broadcast_to(as_values(expected, "expected", ndim=np.ndim(expected)), table.shape)
    if (table < 0).any() or (shares < 0).any() or (shares > 1).any():
        raise ValueError("counts must be 0 or more, and expected shares lie in [0, 1].")
    n = table.sum(axis=1, keepdims=True)
    return ratio(table - n * shares, np.sqrt(n * shares * (1.0 - shares)))


def z_threshold(level: float, n_tests: int) -> float:
    """The z above which a feature is called biased when so many are tested: Bonferroni, one-sided.

    Args:
        level: probability of calling at least one feature biased where none is, in (0, 0.5).
        n_tests: number of features times labels.

    Raises:
        ValueError: level out of range, no tests.

    Example:
        >>> round(z_threshold(0.05, 1), 2), round(z_threshold(0.01, 28_000), 2)
        (1.64, 4.96)
    """
    from scipy.stats import norm

    if not 0 < level < 0.5 or n_tests < 1:
        raise ValueError(f"Wanted a level in (0, 0.5) and at least one test; got {level} and {n_tests}.")
    return float(norm.isf(level / n_tests))
