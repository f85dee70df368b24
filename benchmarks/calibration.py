"""Do confidences mean what they say? Calibration error, reliability table, and how well they find what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from hf_fairness.scores.statistics import percentile_interval, share_interval

DRAWS = 2_000


def calibration_error(confidence: np.ndarray, right: np.ndarray, n_bins: int = 10) -> float:
    """Expected calibration error over bins of equal width: mean distance of confidence and share that is right.

    Args:
        confidence: shape (n,), in [0, 1].
        right: shape (n,), 0 or 1.
        n_bins: number of bins.

    Returns:
        In [0, 1]; 0 is ideal.

    Source: Naeini et al. 2015; Guo et al. 2017, equation 3.
    """
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, weights=confidence - right, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(confidence))


def area_for_wrong(confidence: np.ndarray, right: np.ndarray) -> float:
    """Chance that a wrong one has less confidence than a right one (ties count half); NaN if all are right or wrong."""
    if right.min() == right.max():
        return float("nan")
    return float(roc_auc_score(right == 0, -confidence))


def reliability(confidence: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """Rows of the reliability table: from the least sure to the surest, as many sentences in each.

    Returns:
        For each: ``n``, mean ``confidence``, ``right``: share that is right, with its 95 % interval (Wilson 1927).
    """
    rows = []
    for part in np.array_split(np.argsort(confidence, kind="stable"), min(5, len(right))):
        n, share = len(part), float(right[part].mean())
        ends = share_interval(int(right[part].sum()), n)
        rows.append({"n": n, "confidence": float(confidence[part].mean()), "right": share, "right_ci95": ends})
    return rows


def calibration(confidence: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    """Calibration error and area for wrong ones with 95 % intervals over sentences, and the reliability table.

    Args:
        confidence: shape (n,), in [0, 1].
        right: shape (n,), 0 or 1.

    Returns:
        ``ece`` (0 is ideal), ``auc_wrong`` (1 is ideal, .5 chance; None where none is wrong), each with ``_ci95``;
        ``mean_confidence``, ``right``, ``n_wrong``, ``n``, ``reliability``.
    """
    rng, n = np.random.default_rng(0), len(right)
    draws = [rng.integers(0, n, n) for _ in range(DRAWS)]
    areas = np.array([area_for_wrong(confidence[draw], right[draw]) for draw in draws])
    area, defined = area_for_wrong(confidence, right), areas[~np.isnan(areas)]
    return {
        "ece": calibration_error(confidence, right),
        "ece_ci95": percentile_interval([calibration_error(confidence[draw], right[draw]) for draw in draws]),
        "auc_wrong": None if np.isnan(area) else area,
        "auc_wrong_ci95": percentile_interval(defined) if len(defined) and not np.isnan(area) else None,
        "mean_confidence": float(confidence.mean()),
        "right": float(right.mean()),
        "n_wrong": int(n - right.sum()),
        "n": n,
        "reliability": reliability(confidence, right),
    }
