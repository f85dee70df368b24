"""Paired metrics of a classifier: what its predictions do when only the group words of a text change."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.labels import Bools, Labels, as_labels, as_probabilities, positives
from hf_fairness.scores.meta import describe
from hf_fairness.scores.power import design_effects, minimal_detectable_change
from hf_fairness.scores.rates import gap_entry, interval, one_minus, ratio, resampled_sums
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, cluster_index, cluster_sums
from hf_fairness.utils import FairnessWarning

CONVENTION = (
    "versions of the same texts; rows that are the same in every version are excluded (changed_share says how many "
    "remain); flip: not every version gets the same label; counterfactual_parity = 1 - gap between the positive rates "
    "of the versions (of the rows with reference 0 or 1 for the forms of equal opportunity), difference form: the gap; "
    "intervals resample texts, or whole clusters; minimal_detectable_gap: two-sided at .05, power .8"
)
#: Steps to which probability changes are rounded for the draws (not for the value) of many rows.
STEPS = 1024


def _versions(columns: Mapping[str, Any], n: int | None, name: str, read: Any) -> dict[str, Any]:
    """Every version's column, checked, all of one length."""
    if not isinstance(columns, Mapping) or len(columns) < 2:
        got = list(columns) if isinstance(columns, Mapping) else type(columns).__name__
        raise ValueError(
            f"{name} must map two or more versions of the texts to their columns, such as 'original' and "
            f"'counterfactual'; got {got}."
        )
    found: dict[str, Any] = {}
    for version, values in columns.items():
        found[str(version)] = read(values, f"{name}[{version!r}]", n)
        n = len(found[str(version)])
    return found


def _changed_rows(changed: Any, n: int) -> Bools:
    """Which rows differ between versions; all of them where that was not said."""
    if changed is None:
        return np.ones(n, dtype=bool)
    rows = positives(as_labels(changed, "changed", n=n), "changed")
    if not rows.any():
        raise ValueError(f"None of the {n} rows was changed: there is no pair of texts to compare.")
    return rows


def _probability_change(
    probabilities: Mapping[str, ArrayLike] | None, names: list[str], rows: Bools, *, trusted: bool, **resampling: Any
) -> dict[str, Any]:
    """Mean probability change of the changed rows with its interval.

    Without clusters and with many rows, the draws are of values rounded to 1/1024, which are counted by value and need
    no draw per row; they are moved to the exact mean.
    """
    key = "mean_abs_probability_change"
    if probabilities is None:
        return {key: None, f"{key}_ci95": None}
    versions = _versions(probabilities, len(rows), "probabilities", as_probabilities)
    if set(versions) != set(names):
        raise ValueError(f"probabilities must hold the versions of predictions, {names}; got {list(versions)}.")
    change = np.ptp(np.stack(list(versions.values())), axis=0)[rows]
    same = int((change == 0.0).sum())
    if same and not trusted:
        warnings.warn(
            f"{same} of {len(change)} rows have exactly the same probability in every version. If the texts of some "
            "rows do not differ, exclude them: changed=[...].",
            FairnessWarning,
            stacklevel=3,
        )
    counted = resampling["clusters"] is None and len(change) > 4 * STEPS
    rounded = np.round(change * STEPS) / STEPS if counted else change
    sums = resampled_sums(np.stack([rounded, np.ones(len(rounded))], axis=1), **resampling)
    mean = float(change.mean())
    return {key: mean, f"{key}_ci95": interval(ratio(sums[:, 0], sums[:, 1]) + (mean - rounded.mean()))}


def _detectable(hits: Floats, flips: int, clusters: Labels | None) -> float:
    """Minimal detectable gap between the positive rates of two versions of the same texts."""
    n, pairs = hits.shape[0], hits.shape[1] * (hits.shape[1] - 1) / 2
    effect = 1.0
    if clusters is not None:
        parts = hits - hits.mean(axis=0)
        sums = cluster_sums(parts, cluster_index(clusters, n))
        effect = float(design_effects(parts.T @ parts, sums.T @ sums).max())
    # A change needs a flip; counting one more than was seen keeps a model without flips from looking certain.
    spread = math.sqrt((flips + 1) / (n + 2))
    return minimal_detectable_change(n, spread, alpha=0.05 / pairs, design_effect=effect)


def _spread(rates: Floats) -> Floats:
    """Largest - smallest rate over the versions."""
    return np.asarray(rates.max(axis=-1) - rates.min(axis=-1))


def _by_reference(sums: Floats, versions: int) -> Floats:
    """Positive rates of the rows with reference 0 and 1: sums (m, 3 + 2 versions) to (m, 2, versions)."""
    rows, hits = sums[:, 0], sums[:, 2 : 2 + versions]
    ones, hits_of_ones = sums[:, 2 + versions], sums[:, 3 + versions :]
    return np.stack([ratio(hits - hits_of_ones, (rows - ones)[:, None]), ratio(hits_of_ones, ones[:, None])], axis=1)


def _odds(sums: Floats, draws: Floats, versions: int) -> dict[str, Any]:
    """The paired forms of equal opportunity and of equalized odds."""
    rates, drawn = _by_reference(sums, versions), _by_reference(draws, versions)
    result: dict[str, Any] = {}
    for label in (0, 1):
        key = f"counterfactual_equal_opportunity_{label}"
        gap = gap_entry(f"{key}_difference", _spread, rates[:, label], drawn[:, label])
        if gap[f"{key}_difference"] is None:
            warnings.warn(
                f"{key} and counterfactual_equalized_odds are None: no changed row has a "
                f"{'positive' if label else 'negative'} reference.",
                FairnessWarning,
                stacklevel=3,
            )
        result |= one_minus(key, *gap.values()) | gap
    key = "counterfactual_equalized_odds"
    mean = gap_entry(key, lambda values: _spread(values).mean(axis=1), rates, drawn)
    worst = gap_entry(f"{key}_difference", lambda values: _spread(values).max(axis=1), rates, drawn)
    return result | one_minus(key, *mean.values()) | worst


def counterfactual_flip(
    predictions: Mapping[str, Labels],
    *,
    probabilities: Mapping[str, ArrayLike] | None = None,
    references: Labels | None = None,
    changed: Labels | None = None,
    positive_label: Any = None,
    clusters: Labels | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Counterfactual metrics: how predictions change when the same text is written for another group.

    flip_rate = share of texts whose versions do not all get the same label; mean_abs_probability_change = mean of
    the largest - smallest probability; counterfactual_parity = 1 - (largest - smallest positive rate of a version).
    Flips that cancel each other leave the parity at 1: read the flip rate beside it.

    Args:
        predictions: predicted labels per version of the texts, each of shape (n,), row i the same text: for example
            ``{"original": ..., "counterfactual": ...}``, or one version per group.
        probabilities: of the positive label, same versions.
        references: true labels of the texts, which hold for every version; adds the paired forms of equal
            opportunity and equalized odds.
        changed: whether the versions of a row differ in their text; None: all do. Rows that do not are excluded.
        positive_label: the label that counts as positive against all others; None: 1, and labels are 0 and 1. A flip
            is any change of the label.
        clusters: a label per text, such as its template: whole clusters are resampled.
        n_bootstrap: resamples behind the intervals; 0: no intervals.
        seed: of the resamples.

    Returns:
        ``flip_rate``, ideal 0; ``mean_abs_probability_change``, ideal 0, None without probabilities;
        ``counterfactual_parity``, ideal 1, and ``counterfactual_parity_difference``, ideal 0; with references also
        ``counterfactual_equal_opportunity_0``, ``..._1``, ``counterfactual_equalized_odds`` and their
        ``_difference`` (of the odds: the larger gap), None where no changed row has the reference; each with
        ``_ci95``. ``positive_rate`` per version, in ``rates`` with intervals; ``minimal_detectable_gap``;
        ``n_flipped``; ``n`` changed rows; ``n_rows``; ``changed_share`` (None where ``changed`` was not given);
        ``meta``.

    Raises:
        ValueError: fewer than two versions, different lengths, no rows or none that changed, missing values, or
            labels that are not two without ``positive_label``.

    Source:
        Zayed et al. 2023, equation 3 as its text defines it (z: kept or flipped); counterfactual fairness of Garg et
        al. 2019 for the probability change.

    Example:
        >>> versions = {"original": [1, 1, 0, 0], "counterfactual": [1, 0, 0, 0]}
        >>> result = counterfactual_flip(versions, changed=[True, True, True, False])
        >>> round(result["flip_rate"], 4), round(result["counterfactual_parity"], 4), result["changed_share"]
        (0.3333, 0.6667, 0.75)
    """
    labels = _versions(predictions, None, "predictions", lambda values, name, n: as_labels(values, name, n=n))
    names, total = list(labels), len(next(iter(labels.values())))
    rows = _changed_rows(changed, total)
    every = np.stack([positives(column, "predictions", positive_label) for column in labels.values()], axis=1)
    hits = every[rows].astype(np.float64)
    first = labels[names[0]]
    flipped = np.any([column != first for column in labels.values()], axis=0)[rows]
    units = None if clusters is None else cluster_index(clusters, total)[rows]
    resampling: dict[str, Any] = {"clusters": units, "n_bootstrap": n_bootstrap, "seed": seed}
    columns = [np.ones(len(hits)), flipped.astype(np.float64), *hits.T]
    if references is not None:
        truth = positives(as_labels(references, "references", n=total), "references", positive_label)[rows]
        columns += [truth.astype(np.float64), *(hits.T * truth)]
    table = np.stack(columns, axis=1)
    draws = resampled_sums(table, **resampling)
    sums, k = table.sum(axis=0, keepdims=True), len(names)
    rates, drawn = ratio(sums[:, 2 : 2 + k], sums[:, :1]), ratio(draws[:, 2 : 2 + k], draws[:, :1])
    gap = gap_entry("counterfactual_parity_difference", _spread, rates, drawn)
    result = {
        "flip_rate": float(flipped.mean()),
        "flip_rate_ci95": interval(ratio(draws[:, 1], draws[:, 0])),
        **_probability_change(probabilities, names, rows, trusted=changed is not None, **resampling),
        **one_minus("counterfactual_parity", *gap.values()),
        **gap,
    }
    if references is not None:
        result |= _odds(sums, draws, k)
    return result | {
        "positive_rate": {name: float(rate) for name, rate in zip(names, rates[0], strict=True)},
        "rates": {
            name: {"positive_rate": float(rates[0, place]), "positive_rate_ci95": interval(drawn[:, place])}
            for place, name in enumerate(names)
        },
        "minimal_detectable_gap": _detectable(hits, int(flipped.sum()), units),
        "n_flipped": int(flipped.sum()),
        "n": len(hits),
        "n_rows": total,
        "changed_share": None if changed is None else float(rows.mean()),
        "meta": describe(
            n=len(hits),
            convention=CONVENTION,
            ideal="flip_rate, mean_abs_probability_change and differences 0; counterfactual_parity and its like 1",
            direction="flip_rate, mean_abs_probability_change and differences: higher is worse; others: lower is worse",
            seed=seed,
            versions_of_texts=names,
            positive_label=1 if positive_label is None else positive_label,
            **({} if units is None else {"n_clusters": len(np.unique(units))}),
        ),
    }
