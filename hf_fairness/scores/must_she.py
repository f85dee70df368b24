"""MuST-SHE: how many gender-marked words of the reference a translation has, and in which form."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.record import Declared
from hf_fairness.scores.compare import N_SWAPS, paired_comparisons
from hf_fairness.scores.intervals import FEW_CLUSTERS, METHOD, SMALL_N, gap_entry, rates_of, warn_of_few
from hf_fairness.scores.meta import describe
from hf_fairness.scores.multiple_tests import holm
from hf_fairness.scores.rates import ratio
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, as_values, cluster_index, read_keys

#: Columns of ``counts``.
COLUMNS = ("terms", "found", "correct", "wrong")

CONVENTION = (
    "accuracy and accuracy_wrong over all annotated terms (Bentivogli et al. 2020), delta_accuracy their difference; "
    "term_coverage over all terms, gender_accuracy over the terms found (Gaido et al. 2020); "
    f"{METHOD}"
)
MEASURES = {
    "accuracy": Declared("gender-marked words that are right (MuST-SHE accuracy)", "bias", 1.0, "higher"),
    "delta_accuracy": Declared("right less wrong gender-marked words (MuST-SHE Δ accuracy)", "bias", 1.0, "higher"),
}


def _statistics(sums: Floats) -> dict[str, Floats]:
    """Every rate of sums of shape (m, 4), NaN where it is undefined."""
    terms, found, correct, wrong = sums.T
    return {
        "accuracy": ratio(correct, terms),
        "accuracy_wrong": ratio(wrong, terms),
        "delta_accuracy": ratio(correct - wrong, terms),
        "term_coverage": ratio(found, terms),
        "gender_accuracy": ratio(correct, correct + wrong),
    }


def must_she(
    counts: ArrayLike,
    *,
    groupings: Mapping[str, Sequence[str]] | None = None,
    gap_over: str = "genders",
    clusters: Sequence[Hashable] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Rates of gender-marked terms in their right and in their wrong form, overall and by labels of the rows.

    Args:
        counts: per row the number of its terms, of those found in either form, in the right form, in the wrong form;
            shape (n, 4).
        groupings: name of a grouping -> label of each row (``""``: in no group), for example ``genders``.
        gap_over: the grouping whose largest difference between labels is reported.
        clusters: a label per row; rows of one label count together.
        n_bootstrap: 0: no intervals; nothing is drawn.
        seed: stated in ``meta``.

    Returns:
        ``accuracy`` (right forms / terms, ideal 1), ``accuracy_wrong`` (wrong forms / terms, ideal 0),
        ``delta_accuracy`` (their difference, ideal 1, lower is worse), ``term_coverage`` (terms found / terms),
        ``gender_accuracy`` (right / right and wrong forms, ideal 1, None when nothing was found), each with ``_ci95``;
        per grouping label -> the same and ``n``, ``n_terms``; ``accuracy_gap`` and ``delta_accuracy_gap``: largest
        difference between labels of ``gap_over`` (ideal 0), None with fewer than two; ``n``, ``n_terms``; ``meta``.

    Raises:
        ValueError: no rows, no terms, counts that contradict each other, or not one label per row.

    Source:
        Bentivogli et al. 2020; Gaido et al. 2020.

    Example:
        >>> result = must_she([[2, 2, 1, 1], [2, 1, 1, 0]])
        >>> result["accuracy"], result["delta_accuracy"], result["term_coverage"]
        (0.5, 0.25, 0.75)
    """
    table = _counted(counts)
    groups = groupings or {}
    if n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be 0 or more; got {n_bootstrap}.")
    options: dict[str, Any] = {"clusters": clusters, "wanted": n_bootstrap > 0}
    if clusters is not None:
        warn_of_few(len(set(cluster_index(clusters, len(table)).tolist())), "clusters", FEW_CLUSTERS)
    elif n_bootstrap:
        warn_of_few(len(table), "rows", SMALL_N)
    result: dict[str, Any] = _reported(_columns(table, [np.ones(len(table), dtype=bool)]), 0, **options)
    for name, given in groups.items():
        labels = read_keys(given, len(table), name)
        known = sorted({str(label) for label in labels if label != ""})
        masks = [np.array([str(label) == wanted for label in labels]) for wanted in known]
        columns = _columns(table, masks) if masks else {}
        result[name] = {
            label: {
                **_reported(columns, place, **options),
                "n": int(mask.sum()),
                "n_terms": int(table[mask, 0].sum()),
            }
            for place, (label, mask) in enumerate(zip(known, masks, strict=True))
        }
        if name == gap_over:
            result |= _gaps(columns, **options)
    for statistic in ("accuracy", "delta_accuracy"):
        result |= {key: result.get(key) for key in (f"{statistic}_gap", f"{statistic}_gap_ci95")}
    return {
        **result,
        "n": len(table),
        "n_terms": int(table[:, 0].sum()),
        "meta": describe(
            n=len(table),
            convention=CONVENTION,
            ideal="1 for accuracy, delta_accuracy, term_coverage and gender_accuracy; 0 for accuracy_wrong and gaps",
            direction="lower accuracy and delta_accuracy are worse; larger gaps are worse",
            seed=seed,
        ),
    }


def compare_must_she(
    a: ArrayLike,
    b: ArrayLike,
    *,
    clusters: Sequence[Hashable] | None = None,
    n_samples: int = N_SWAPS,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, dict[str, Any]]:
    """Two systems on the same rows.

    Args:
        a: counts of the first system, as for ``must_she``.
        b: counts of the second.
        clusters: as in ``must_she``.
        n_samples: most swaps behind a p-value.
        n_bootstrap: resamples behind the intervals.
        seed: of all draws.

    Returns:
        Per rate that both systems define: ``a``, ``b``, ``difference`` = a - b, ``difference_ci95``, ``p_value``
        (two-sided), ``method``, and ``p_value_holm``, adjusted for the number of rates.

    Raises:
        ValueError: other rows or terms; else as ``must_she``.
    """
    left, right = _counted(a), _counted(b)
    if left.shape != right.shape or (left[:, 0] != right[:, 0]).any():
        raise ValueError("a and b must be two systems on the same rows; their numbers of terms differ.")
    sides = [_statistics(side.sum(axis=0, keepdims=True)) for side in (left, right)]
    defined = {name: _one(name) for name in sides[0] if not any(np.isnan(side[name][0]) for side in sides)}
    options: dict[str, Any] = {"n_samples": n_samples, "n_bootstrap": n_bootstrap, "seed": seed}
    found = paired_comparisons(left, right, defined, clusters=clusters, **options)
    adjusted = holm([one["p_value"] for one in found.values()])
    keys = ("a", "b", "difference", "difference_ci95", "p_value", "method")
    return {
        name: {**{key: one[key] for key in keys}, "p_value_holm": float(p)}
        for (name, one), p in zip(found.items(), adjusted, strict=True)
    }


def _one(name: str) -> Callable[[Floats], Floats]:
    """One rate as a function of sums."""
    return lambda sums: _statistics(sums)[name]


def _counted(counts: ArrayLike) -> Floats:
    """The counts, checked."""
    if not len(np.asarray(counts)):
        raise ValueError("MuST-SHE needs at least one row; got none.")
    table = as_values(counts, "counts", ndim=2)
    if table.shape[1] != len(COLUMNS) or (table < 0).any() or (table != np.round(table)).any():
        raise ValueError(f"counts must hold whole numbers of 0 or more, columns {', '.join(COLUMNS)}; got {table[0]}.")
    terms, found, correct, wrong = table.T
    if (found > terms).any() or (np.maximum(correct, wrong) > found).any() or (found > correct + wrong).any():
        raise ValueError("counts contradict each other: found must lie between either form and all terms.")
    if not terms.any():
        raise ValueError("No row has a gender-marked term: there is nothing to measure.")
    return table


def _columns(table: Floats, masks: Sequence[NDArray[np.bool_]]) -> dict[str, tuple[Floats, Floats]]:
    """Numerator and denominator of every rate, one column per mask; of delta_accuracy those of (1 + delta) / 2."""
    terms, found, correct, wrong = (np.stack([column * mask for mask in masks], axis=1) for column in table.T)
    return {
        "accuracy": (correct, terms),
        "accuracy_wrong": (wrong, terms),
        "delta_accuracy": ((terms + correct - wrong) / 2.0, terms),
        "term_coverage": (found, terms),
        "gender_accuracy": (correct, correct + wrong),
    }


def _reported(
    columns: Mapping[str, tuple[Floats, Floats]], place: int, *, clusters: Any, wanted: bool
) -> dict[str, Any]:
    """Rates of one mask with their intervals, None for what is undefined."""
    names = list(columns)
    hits, rows = (np.stack([columns[name][side][:, place] for name in names], axis=1) for side in (0, 1))
    rates = rates_of(hits, rows, clusters=clusters)
    reported: dict[str, Any] = {}
    for number, name in enumerate(names):
        reported |= rates.entry(name, number, wanted=wanted)
    if reported["delta_accuracy"] is not None:
        correct, wrong = ((columns[name][0][:, place]).sum() for name in ("accuracy", "accuracy_wrong"))
        reported["delta_accuracy"] = float((correct - wrong) / rows[:, 0].sum())
    interval = reported["delta_accuracy_ci95"]
    reported["delta_accuracy_ci95"] = None if interval is None else [2.0 * end - 1.0 for end in interval]
    return reported


def _gaps(columns: Mapping[str, tuple[Floats, Floats]], *, clusters: Any, wanted: bool) -> dict[str, Any]:
    """Largest difference of a rate between labels that have terms."""
    result: dict[str, Any] = {}
    for statistic, scale in (("accuracy", 1.0), ("delta_accuracy", 2.0)):
        rates = rates_of(*columns[statistic], clusters=clusters) if columns else None
        if rates is None or (~np.isnan(rates.values)).sum() < 2:
            result |= {f"{statistic}_gap": None, f"{statistic}_gap_ci95": None}
            continue
        gap, interval = gap_entry("gap", rates.take(np.flatnonzero(~np.isnan(rates.values))), wanted=wanted).values()
        result[f"{statistic}_gap"] = scale * gap
        result[f"{statistic}_gap_ci95"] = None if interval is None else [scale * end for end in interval]
    return result
