"""Adjusted p-values: several tests at once find something somewhere by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.statistics import Floats, as_values


def _checked(p_values: ArrayLike) -> Floats:
    """p-values as an array, or an error."""
    values = as_values(p_values, "p_values", minimum=0)
    if ((values < 0.0) | (values > 1.0)).any():
        raise ValueError(f"p_values must lie between 0 and 1; got {values.min():.3g} to {values.max():.3g}.")
    return values


def holm(p_values: ArrayLike) -> list[float]:
    """Holm's step-down adjustment: reject where the adjusted p is at most alpha, and the chance of even one false
    rejection is at most alpha, however the tests depend on each other.

    The i-th smallest of m p-values becomes the largest of (m - j + 1) p_(j) over j <= i, at most 1.

    Args:
        p_values: shape (m,), each in [0, 1].

    Returns:
        Adjusted p-values in the order of the input; an empty list for no tests.

    Raises:
        ValueError: NaN, or a value outside [0, 1].

    Source: Holm 1979.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    values = _checked(p_values)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty(len(values))
    adjusted[order] = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return [float(value) for value in np.minimum(adjusted, 1.0)]


def benjamini_hochberg(p_values: ArrayLike) -> list[float]:
    """Benjamini and Hochberg's adjustment: reject where the adjusted p is at most q, and the expected share of false
    rejections among all rejections is at most q, for tests that are independent or positively dependent.

    The i-th smallest of m p-values becomes the smallest of m p_(j) / j over j >= i.

    Args:
        p_values: shape (m,), each in [0, 1].

    Returns:
        Adjusted p-values in the order of the input, never above Holm's; an empty list for no tests.

    Raises:
        ValueError: NaN, or a value outside [0, 1].

    Source: Benjamini and Hochberg 1995.

    Example:
        >>> benjamini_hochberg([0.25, 0.02, 0.0625])
        [0.25, 0.06, 0.09375]
    """
    values = _checked(p_values)
    order = np.argsort(values, kind="stable")
    steps = values[order] * len(values) / np.arange(1, len(values) + 1)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum.accumulate(steps[::-1])[::-1]
    return [float(value) for value in adjusted]
