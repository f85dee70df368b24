"""Counts behind the group metrics: rows by group, reference and prediction.

Rates, gaps and their draws are functions of these counts. Without clusters the resampled counts are multinomial, which
is exactly the bootstrap of rows, at a cost that does not depend on their number; with clusters, whole clusters are
drawn.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from hf_fairness.scores.labels import Bools, Labels, as_labels, group_index, positives
from hf_fairness.scores.power import design_effects, minimal_detectable_gap
from hf_fairness.scores.rates import interval, ratio, resampled_counts, resampled_sums
from hf_fairness.scores.statistics import Floats, cluster_index
from hf_fairness.utils import FairnessWarning


class GroupCounts(NamedTuple):
    """Rows by group, reference (0, 1; all 0 where there is none) and prediction (0, 1).

    ``names``: of the groups, sorted; ``positive_label``; ``data``: shape (1, groups, 2, 2); ``draws``: resampled,
    shape (n_bootstrap, groups, 2, 2); ``clusters``: per cluster, shape (clusters, groups, 2, 2), or None; ``truth``:
    whether the reference of each row is positive, or None.
    """

    names: list[str]
    positive_label: Any
    data: Floats
    draws: Floats
    clusters: Floats | None
    truth: Bools | None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.data.sum())

    def rates(self, label: int | None = None) -> tuple[Floats, Floats]:
        """``group_rates`` of the data and of the draws."""
        return group_rates(self.data, label), group_rates(self.draws, label)


def count_groups(
    predictions: Labels,
    groups: Labels,
    references: Labels | None,
    positive_label: Any,
    clusters: Labels | None,
    n_bootstrap: int,
    seed: int,
) -> GroupCounts:
    """Check the columns, count the rows, draw the counts.

    Args:
        predictions: predicted labels, shape (n,).
        groups: the group of each row.
        references: true labels, or None.
        positive_label: the label that counts as positive; None: 1.
        clusters: a label per row, or None: whole clusters are drawn.
        n_bootstrap: number of resamples.
        seed: of the draws.

    Returns:
        The counts.

    Raises:
        ValueError: what ``as_labels``, ``positives``, ``group_index`` and ``resampled_sums`` refuse.
    """
    labels = as_labels(predictions, "predictions")
    hit = positives(labels, "predictions", positive_label)
    names, group = group_index(groups, len(hit))
    truth = None
    if references is not None:
        truth = positives(as_labels(references, "references", n=len(hit)), "references", positive_label)
    if hit.all() or not hit.any():
        warnings.warn(
            f"Every prediction is {'the positive label' if hit.all() else 'negative'}: a constant classifier has no "
            "gap and no use. Read the positive rate and the accuracy.",
            FairnessWarning,
            stacklevel=3,
        )
    shape = (len(names), 2, 2)
    size = int(np.prod(shape))
    cell = group * 4 + (0 if truth is None else truth * 2) + hit
    by_cluster = None
    if clusters is None:
        counts = np.bincount(cell, minlength=size).astype(np.float64)
        draws = resampled_counts(counts, n_bootstrap=n_bootstrap, seed=seed)
    else:
        number = cluster_index(clusters, len(hit))
        by_cluster = np.bincount(number * size + cell, minlength=(int(number.max()) + 1) * size).astype(np.float64)
        by_cluster = by_cluster.reshape(-1, size)
        counts, draws = by_cluster.sum(axis=0), resampled_sums(by_cluster, n_bootstrap=n_bootstrap, seed=seed)
        by_cluster = by_cluster.reshape(-1, *shape)
    label = 1 if positive_label is None else positive_label
    return GroupCounts(names, label, counts.reshape(1, *shape), draws.reshape(-1, *shape), by_cluster, truth)


def group_rates(cells: Floats, label: int | None = None) -> Floats:
    """Share of positive predictions per group, and overall.

    Args:
        cells: shape (m, groups, 2, 2).
        label: only rows with this reference; None: all rows.

    Returns:
        Shape (m, groups + 1), the overall rate last; NaN where there are no rows.
    """
    part = cells.sum(axis=2) if label is None else cells[:, :, label]
    part = np.concatenate([part, part.sum(axis=1, keepdims=True)], axis=1)
    return ratio(part[..., 1], part.sum(axis=-1))


def largest_gap(rates: Floats) -> Floats:
    """Largest - smallest rate over the groups; NaN where one of them is undefined."""
    groups = rates[..., :-1]
    return np.asarray(groups.max(axis=-1) - groups.min(axis=-1))


def distance_to_overall(rates: Floats) -> Floats:
    """Sum over the groups of the distance to the overall rate."""
    return np.asarray(np.abs(rates[..., :-1] - rates[..., -1:]).sum(axis=-1))


def detectable_gap(counts: GroupCounts, label: int | None) -> float | None:
    """Minimal detectable gap of the pair of groups in which it is largest.

    Args:
        counts: as ``count_groups`` returns them.
        label: only rows with this reference; None: all rows.

    Returns:
        The gap at level .05 / number of pairs and power .8; None where a group has no rows, or where even a gap of 1
        would be missed.
    """
    cells = counts.data[0].sum(axis=1) if label is None else counts.data[0, :, label]
    n, k = cells.sum(axis=1), len(cells)
    if not n.all():
        return None
    rates = cells[:, 1] / n
    effects = np.ones((k, k))
    if counts.clusters is not None:
        part = counts.clusters.sum(axis=2) if label is None else counts.clusters[:, :, label]
        sums = (part[..., 1] - rates * part.sum(axis=-1)) / n
        effects = design_effects(np.diag(rates * (1.0 - rates) / n), sums.T @ sums)
    widths = np.triu(effects * (1.0 / n[:, None] + 1.0 / n[None, :]), 1)
    first, second = np.unravel_index(int(widths.argmax()), widths.shape)
    return minimal_detectable_gap(
        int(n[first]),
        int(n[second]),
        rate=float(cells[:, 1].sum() / n.sum()),
        alpha=0.05 / (k * (k - 1) / 2),
        design_effect=float(effects[first, second]),
    )


def rate_table(counts: GroupCounts) -> dict[str, dict[str, Any]]:
    """Per group: rows and rates with intervals."""
    wanted: dict[str, int | None] = {"positive_rate": None}
    if counts.truth is not None:
        wanted |= {"true_positive_rate": 1, "false_positive_rate": 0}
    table: dict[str, dict[str, Any]] = {}
    for place, name in enumerate(counts.names):
        cells = counts.data[0, place]
        table[name] = {"n": int(cells.sum())}
        if counts.truth is not None:
            table[name] |= {"n_positive": int(cells[1].sum()), "n_negative": int(cells[0].sum())}
    for key, label in wanted.items():
        rates, draws = counts.rates(label)
        for place, name in enumerate(counts.names):
            defined = not np.isnan(rates[0, place])
            table[name][key] = float(rates[0, place]) if defined else None
            table[name][f"{key}_ci95"] = interval(draws[:, place]) if defined else None
    return table


def overall_entries(counts: GroupCounts) -> dict[str, Any]:
    """Overall positive rate and, with references, accuracy: what a gap must be read beside."""
    rates, draws = counts.rates()
    result: dict[str, Any] = {
        "overall_positive_rate": float(rates[0, -1]),
        "overall_positive_rate_ci95": interval(draws[:, -1]),
    }
    if counts.truth is not None:
        right = [
            ratio(cells[:, :, [0, 1], [0, 1]].sum(axis=(1, 2)), cells.sum(axis=(1, 2, 3)))
            for cells in (counts.data, counts.draws)
        ]
        result |= {"accuracy": float(right[0][0]), "accuracy_ci95": interval(right[1])}
    return result


def groups_without(counts: GroupCounts, label: int) -> list[str]:
    """Groups without rows of that reference."""
    rows = counts.data[0, :, label].sum(axis=1)
    return [name for name, n in zip(counts.names, rows, strict=True) if n == 0]
