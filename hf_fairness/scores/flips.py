"""Paired metrics of a classifier: what its predictions do when only the group words of a text change."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.record import Declared
from hf_fairness.scores.intervals import (
    FEW_CLUSTERS,
    METHOD,
    SMALL_N,
    Rates,
    gap_entry,
    largest_gap,
    mean_gap_interval,
    rates_of,
    warn_of_few,
    worst_gap_interval,
)
from hf_fairness.scores.labels import Bools, Labels, as_labels, as_probabilities, positives
from hf_fairness.scores.meta import describe
from hf_fairness.scores.power import design_effects, minimal_detectable_change
from hf_fairness.scores.rates import one_minus
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, cluster_index, cluster_sums
from hf_fairness.utils import FairnessWarning

CONVENTION = (
    "versions of the same texts; rows that are the same in every version are excluded (changed_share says how many "
    "remain); flip: not every version gets the same label; counterfactual_parity = 1 - gap between the positive rates "
    "of the versions (of the rows with reference 0 or 1 for the forms of equal opportunity), difference form: the gap; "
    f"{METHOD}, with the correlation of versions of one text; minimal_detectable_gap: two-sided at .05, power .8"
)
MEASURES = {
    "counterfactual_parity": Declared(
        "versions of a text about two groups get the positive label equally often (paired DP)",
        "bias",
        1.0,
        "higher",
        convention="Paired DP: 1 less the gap between the positive rates of the versions of the same texts. Flips in "
        "both directions cancel in it, not in the flip rate.",
    ),
    "counterfactual_equal_opportunity_1": Declared(
        "versions of a positive text get the positive label equally often (paired EqOpp1)", "bias", 1.0, "higher"
    ),
    "counterfactual_equalized_odds": Declared(
        "versions of a text of either label get the positive label equally often (paired EqOdd)", "bias", 1.0, "higher"
    ),
    "kept_flipped_parity": Declared(
        "texts as they are and flipped ones get the positive label equally often (the paper's DP)",
        "bias",
        1.0,
        "higher",
        convention="The paper's DP (equation 3) compares texts as they are with flipped ones, where gaps in both "
        "directions cancel: methods that differ on pairs can be alike on it.",
    ),
    "flip_rate": Declared("texts whose label changes with the group (flip rate)", "bias", 0.0, "lower"),
    "mean_abs_probability_change": Declared(
        "mean change of the probability when the group is swapped", "bias", 0.0, "lower"
    ),
}


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
    probabilities: Mapping[str, ArrayLike] | None,
    names: list[str],
    rows: Bools,
    *,
    trusted: bool,
    clusters: Any,
    wanted: bool,
) -> dict[str, Any]:
    """Mean probability change of the changed rows with its interval."""
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
    mean = rates_of(change[:, None], np.ones((len(change), 1)), clusters=clusters, binary=False)
    return mean.entry(key, 0, wanted=wanted)


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


def _odds(hits: Floats, truth: Bools, clusters: Any, *, wanted: bool) -> dict[str, Any]:
    """The paired forms of equal opportunity and of equalized odds; ``hits``: shape (n, versions)."""
    result: dict[str, Any] = {}
    families: list[Rates] = []
    for label in (0, 1):
        key, inside = f"counterfactual_equal_opportunity_{label}", (truth == label)[:, None]
        rates = rates_of(hits * inside, np.ones_like(hits) * inside, clusters=clusters)
        gap = gap_entry(f"{key}_difference", rates, wanted=wanted)
        if gap[f"{key}_difference"] is None:
            warnings.warn(
                f"{key} and counterfactual_equalized_odds are None: no changed row has a "
                f"{'positive' if label else 'negative'} reference.",
                FairnessWarning,
                stacklevel=3,
            )
        result |= one_minus(key, *gap.values()) | gap
        families.append(rates)
    key, gaps = "counterfactual_equalized_odds", [largest_gap(rates) for rates in families]
    if any(map(math.isnan, gaps)):
        return result | one_minus(key, None, None) | {f"{key}_difference": None, f"{key}_difference_ci95": None}
    mean, worst = (mean_gap_interval(families), worst_gap_interval(families)) if wanted else (None, None)
    result |= one_minus(key, sum(gaps) / len(gaps), mean)
    return result | {f"{key}_difference": max(gaps), f"{key}_difference_ci95": worst}


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
        clusters: a label per text, such as its template: texts of a cluster count together.
        n_bootstrap: 0: no intervals; nothing is drawn.
        seed: stated in ``meta``.

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
    if n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be 0 or more; got {n_bootstrap}.")
    every = np.stack([positives(column, "predictions", positive_label) for column in labels.values()], axis=1)
    if positive_label is not None and not every.any():
        known = sorted({str(label) for column in labels.values() for label in set(column.tolist())})[:5]
        warnings.warn(
            f"No prediction of any version is positive_label={positive_label!r}; they are {', '.join(known)}. A label "
            "that is never given has a counterfactual parity of 1 whatever the model does: read the flip rate, and "
            "check how the label is spelled.",
            FairnessWarning,
            stacklevel=2,
        )
    hits = every[rows].astype(np.float64)
    first = labels[names[0]]
    flipped = np.any([column != first for column in labels.values()], axis=0)[rows]
    units = None if clusters is None else cluster_index(clusters, total)[rows]
    wanted = n_bootstrap > 0
    if units is not None:
        warn_of_few(len(np.unique(units)), "clusters", FEW_CLUSTERS)
    elif wanted:
        warn_of_few(len(hits), "changed rows", SMALL_N)
    columns = np.column_stack([flipped, hits]).astype(np.float64)
    rates = rates_of(columns, np.ones_like(columns), clusters=units)
    places = range(1, 1 + len(names))
    gap = gap_entry("counterfactual_parity_difference", rates.take(places), wanted=wanted)
    options: dict[str, Any] = {"clusters": units, "wanted": wanted}
    result = {
        **rates.entry("flip_rate", 0, wanted=wanted),
        **_probability_change(probabilities, names, rows, trusted=changed is not None, **options),
        **one_minus("counterfactual_parity", *gap.values()),
        **gap,
    }
    if references is not None:
        truth = positives(as_labels(references, "references", n=total), "references", positive_label)[rows]
        result |= _odds(hits, truth, units, wanted=wanted)
    return result | {
        "positive_rate": {name: float(rates.values[place]) for name, place in zip(names, places, strict=True)},
        "rates": {
            name: rates.entry("positive_rate", place, wanted=wanted) for name, place in zip(names, places, strict=True)
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
