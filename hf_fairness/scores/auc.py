"""Area under the ROC curve, with an interval that knows clusters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.record import Declared
from hf_fairness.scores.intervals import Rates
from hf_fairness.scores.labels import Bools
from hf_fairness.scores.statistics import Floats, as_values, cluster_index, cluster_sums

MEASURES = {
    "auc": Declared("positive texts are scored above negative ones (AUC)", "utility", 1.0, "higher"),
    "positive_rate": Declared("share of texts that get the positive label", "context", None, "none"),
}


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, ties sharing their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2.0)[place], dtype=np.float64)


def area_under_curve(
    scores: ArrayLike, positive: Bools, *, clusters: Sequence[Hashable] | NDArray[Any] | None = None
) -> dict[str, Any]:
    """Chance that a positive row scores higher than a negative one, ties counted half.

    The value is the rank formula. The variance is DeLong's (of what each row, or each cluster of rows, adds to the
    area); the interval is that of a rate which is known as well: mid-P with Student's quantile.

    Args:
        scores: shape (n,), higher: more likely positive.
        positive: whether the row is positive, shape (n,).
        clusters: a label per row.

    Returns:
        ``auc`` in [0, 1], ideal 1, 0.5 by chance; ``auc_ci95``. Both None without rows of both kinds, the
        interval also with a single cluster.

    Raises:
        ValueError: NaN, or different lengths.

    Source: DeLong, DeLong and Clarke-Pearson 1988; clusters as in Obuchowski 1997.

    Example:
        >>> area_under_curve([0.1, 0.4, 0.35, 0.8], np.array([False, False, True, True]))["auc"]
        0.75
    """
    values, truth = as_values(scores, "scores"), np.asarray(positive, dtype=bool)
    if values.shape != truth.shape:
        raise ValueError(f"scores and positive must be the same rows; got {len(values)} and {len(truth)}.")
    ones, zeros = int(truth.sum()), int((~truth).sum())
    if ones == 0 or zeros == 0:
        return {"auc": None, "auc_ci95": None}
    ranks, wins = _ranks(values), np.empty(len(values))
    # Share of the other kind that a row beats: its rank among all, less its rank among its own kind.
    wins[truth] = (ranks[truth] - _ranks(values[truth])) / zeros
    wins[~truth] = 1.0 - (ranks[~truth] - _ranks(values[~truth])) / ones
    area = float(wins[truth].mean())
    parts = (wins - area) / np.where(truth, ones, zeros)
    sums = parts if clusters is None else cluster_sums(parts, cluster_index(clusters, len(parts)))
    units = len(sums)
    if clusters is not None and units < 2:
        return {"auc": area, "auc_ci95": None}
    variance = float(sums @ sums) * units / max(units - 1, 1)
    # As many rows as would know a rate of that size as well; at 0 and 1 those of the rarer kind.
    known = area * (1.0 - area) / variance if variance > 0.0 and 0.0 < area < 1.0 else float(min(ones, zeros, units))
    freedom = float(units if clusters is not None else 2 * min(ones, zeros)) - 1.0
    rate = Rates(np.array([area]), np.array([known]), np.array([freedom]))
    return rate.entry("auc", 0)
