"""Counts behind the group metrics: rows by group, reference and prediction.

Rates and gaps are functions of these counts, or of the counts of each cluster; time and memory are linear in the number
of rows and in that of groups.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hf_fairness.scores.intervals import (
    CANDIDATES,
    FEW_CLUSTERS,
    SMALL_N,
    Rates,
    distance_interval,
    known_rates,
    largest_gap_interval,
    warn_of_few,
)
from hf_fairness.scores.labels import Bools, Labels, as_labels, group_index, positives
from hf_fairness.scores.power import design_effects, minimal_detectable_gap
from hf_fairness.scores.rates import ratio
from hf_fairness.scores.statistics import Floats, cluster_index
from hf_fairness.utils import FairnessWarning


@dataclass(frozen=True)
class GroupCounts:
    """Rows by group, reference (0, 1; all 0 where there is none) and prediction (0, 1).

    Attributes:
        names: of the groups, sorted.
        positive_label: the label that counts as positive.
        data: shape (groups, 2, 2).
        clusters: the same per cluster, sparse, shape (clusters, groups * 4), or None.
        truth: whether the reference of each row is positive, or None.
        wanted: whether intervals are.
    """

    names: list[str]
    positive_label: Any
    data: Floats
    clusters: Any
    truth: Bools | None
    wanted: bool

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.data.sum())

    def rates(self, label: int | None = None) -> Rates:
        """Share of positive predictions per group; ``label``: of the rows with this reference."""
        return self._rates[label]

    def overall(self) -> Rates:
        """Share of positive predictions and, with references, of right ones, over all rows."""
        cells = self.data.sum(axis=0)
        hits, rows = np.array([cells[:, 1].sum(), np.trace(cells)]), np.full(2, cells.sum())
        if self.clusters is None:
            return known_rates(hits / rows, rows, rows, None, clustered=False)
        groups = len(self.names)
        one = self.clusters @ np.tile([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]], (groups, 1))
        size = np.asarray(self.clusters.sum(axis=1)).reshape(-1, 1)
        influence = (one - hits / rows * size) / rows
        return known_rates(hits / rows, rows, np.full(2, float(len(size))), influence, clustered=True)

    @cached_property
    def _rates(self) -> dict[int | None, Rates]:
        return {label: self._rates_of(label) for label in (None, 0, 1)}

    def _rates_of(self, label: int | None) -> Rates:
        cells = self.data.sum(axis=1) if label is None else self.data[:, label]
        rows = cells.sum(axis=1)
        values = ratio(cells[:, 1], rows)
        if self.clusters is None:
            return known_rates(values, rows, rows, None, clustered=False)
        hits, sizes = self.by_cluster(label)
        units = np.asarray((sizes > 0).sum(axis=0), dtype=np.float64).ravel()
        scale = np.nan_to_num(values), np.divide(1.0, rows, out=np.zeros_like(rows), where=rows > 0)
        influence = (hits - sizes.multiply(scale[0][None, :])).multiply(scale[1][None, :]).tocsc()
        return known_rates(values, rows, units, influence, clustered=True)

    def by_cluster(self, label: int | None) -> tuple[Any, Any]:
        """Positive predictions and rows, sparse, shape (clusters, groups)."""
        places = np.arange(len(self.names)) * 4
        references = (0, 1) if label is None else (label,)
        sides = [[self.clusters[:, places + 2 * reference + hit] for reference in references] for hit in (0, 1)]
        hits, misses = sum(sides[1][1:], sides[1][0]), sum(sides[0][1:], sides[0][0])
        return hits, hits + misses


def count_groups(
    predictions: Labels,
    groups: Labels,
    references: Labels | None,
    positive_label: Any,
    clusters: Labels | None,
    n_bootstrap: int,
) -> GroupCounts:
    """Check the columns and count the rows.

    Args:
        predictions: predicted labels, shape (n,).
        groups: the group of each row.
        references: true labels, or None.
        positive_label: the label that counts as positive; None: 1.
        clusters: a label per row, or None.
        n_bootstrap: 0 for no intervals.

    Returns:
        The counts.

    Raises:
        ValueError: what ``as_labels``, ``positives``, ``group_index`` and ``cluster_index`` refuse.
    """
    if n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be 0 or more; got {n_bootstrap}.")
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
    size = len(names) * 4
    cell = group * 4 + (0 if truth is None else truth * 2) + hit
    counts = np.bincount(cell, minlength=size).astype(np.float64).reshape(-1, 2, 2)
    by_cluster = None
    if clusters is not None:
        from scipy.sparse import csc_matrix  # takes a moment to import

        number = cluster_index(clusters, len(hit))
        shape = (int(number.max()) + 1, size)
        by_cluster = csc_matrix((np.ones(len(hit)), (number, cell)), shape=shape)
        warn_of_few(shape[0], "clusters", FEW_CLUSTERS, stacklevel=4)
    elif n_bootstrap:
        warn_of_few(int(counts.sum(axis=(1, 2)).min()), "row(s) in the smallest group", SMALL_N, stacklevel=4)
    label = 1 if positive_label is None else positive_label
    return GroupCounts(names, label, counts, by_cluster, truth, n_bootstrap > 0)


def distance_entry(key: str, counts: GroupCounts, label: int, n_draws: int, seed: int) -> dict[str, Any]:
    """Sum over the groups of the distance to the overall rate of the rows with a reference, and its interval."""
    rates, rows = counts.rates(label), counts.data[:, label].sum(axis=1)
    if np.isnan(rates.values).any():
        return {key: None, f"{key}_ci95": None}

    def distance(values: Floats) -> Floats:
        return np.asarray(np.abs(values - (values @ (rows / rows.sum()))[:, None]).sum(axis=1))

    value = float(distance(rates.values[None])[0])
    if len(rows) == 2:  # then it is the gap
        return {key: value, f"{key}_ci95": largest_gap_interval(rates) if n_draws else None}
    most = float(len(rows))
    return {key: value, f"{key}_ci95": distance_interval(distance, value, rates, most=most, n_draws=n_draws, seed=seed)}


def detectable_gap(counts: GroupCounts, label: int | None) -> float | None:
    """Minimal detectable gap of the pair of groups in which it is largest.

    Args:
        counts: as ``count_groups`` returns them.
        label: only rows with this reference; None: all rows.

    Returns:
        The gap at level .05 / number of pairs and power .8; None where a group has no rows, or where even a gap of 1
        would be missed.
    """
    cells = counts.data.sum(axis=1) if label is None else counts.data[:, label]
    n, k = cells.sum(axis=1), len(cells)
    if not n.all():
        return None
    # The hardest pair is among the groups whose own rates are known worst.
    worst = np.argsort(n * 1.0 if counts.clusters is None else counts.rates(label).n, kind="stable")[: 2 * CANDIDATES]
    effects = np.ones((len(worst), len(worst)))
    if counts.clusters is not None:
        part, rates = counts.rates(label).take(worst), cells[worst, 1] / n[worst]
        sums = part.influence.toarray()
        effects = design_effects(np.diag(rates * (1.0 - rates) / n[worst]), sums.T @ sums)
    widths = np.triu(effects * (1.0 / n[worst][:, None] + 1.0 / n[worst][None, :]), 1)
    first, second = np.unravel_index(int(widths.argmax()), widths.shape)
    return minimal_detectable_gap(
        int(n[worst[first]]),
        int(n[worst[second]]),
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
        cells = counts.data[place]
        table[name] = {"n": int(cells.sum())}
        if counts.truth is not None:
            table[name] |= {"n_positive": int(cells[1].sum()), "n_negative": int(cells[0].sum())}
    for key, label in wanted.items():
        rates = counts.rates(label)
        limits = rates.intervals() if counts.wanted else [None] * len(counts.names)
        for name, value, interval in zip(counts.names, rates.values.tolist(), limits, strict=True):
            table[name] |= {key: None if np.isnan(value) else value, f"{key}_ci95": interval}
    return table


def overall_entries(counts: GroupCounts) -> dict[str, Any]:
    """Overall positive rate and, with references, accuracy: what a gap must be read beside."""
    keys = ["overall_positive_rate", *(["accuracy"] if counts.truth is not None else [])]
    rates, result = counts.overall(), dict[str, Any]()
    for place, key in enumerate(keys):
        result |= rates.entry(key, place, wanted=counts.wanted)
    return result


def groups_without(counts: GroupCounts, label: int) -> list[str]:
    """Groups without rows of that reference."""
    rows = counts.data[:, label].sum(axis=1)
    return [name for name, n in zip(counts.names, rows, strict=True) if n == 0]
