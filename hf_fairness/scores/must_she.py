"""MuST-SHE: how many gender-marked words of the reference a translation has, and in which form."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.compare import N_SWAPS, paired_comparisons
from hf_fairness.scores.meta import describe
from hf_fairness.scores.multiple_tests import holm
from hf_fairness.scores.rates import interval, ratio, resampled_sums
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, as_values

#: Columns of ``counts``.
COLUMNS = ("terms", "found", "correct", "wrong")

CONVENTION = (
    "accuracy and accuracy_wrong over all annotated terms (Bentivogli et al. 2020), delta_accuracy their difference; "
    "term_coverage over all terms, gender_accuracy over the terms found (Gaido et al. 2020); intervals resample rows"
)


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
        clusters: a label per row; rows of one label are resampled together.
        n_bootstrap: resamples behind the intervals; 0: none.
        seed: of the resamples.

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
    masks: dict[tuple[str, str], Any] = {("", ""): np.ones(len(table), dtype=bool)}
    for name, labels in groups.items():
        if len(labels) != len(table):
            raise ValueError(f"{name} needs one label per row: got {len(labels)} for {len(table)} rows.")
        masks |= {(name, label): np.array(labels) == label for label in sorted(set(labels)) if label}
    columns = np.hstack([table * mask[:, None] for mask in masks.values()])
    draws = resampled_sums(columns, clusters=clusters, n_bootstrap=n_bootstrap, seed=seed)
    values, resampled = {}, {}
    for place, key in enumerate(masks):
        part = slice(4 * place, 4 * place + 4)
        values[key] = _statistics(columns[:, part].sum(axis=0, keepdims=True))
        resampled[key] = _statistics(draws[:, part])
    result: dict[str, Any] = _reported(values["", ""], resampled["", ""])
    for name in groups:
        result[name] = {
            label: {
                **_reported(values[name, label], resampled[name, label]),
                "n": int(mask.sum()),
                "n_terms": int(table[mask, 0].sum()),
            }
            for (grouping, label), mask in masks.items()
            if grouping == name
        }
    compared = [key for key in masks if key[0] == gap_over]
    for statistic in ("accuracy", "delta_accuracy"):
        result |= _gap(statistic, [values[key] for key in compared], [resampled[key] for key in compared])
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


def _reported(values: Mapping[str, Floats], draws: Mapping[str, Floats]) -> dict[str, Any]:
    """Values and intervals as plain Python, None for what is undefined."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        defined = not np.isnan(value[0])
        found |= {
            name: float(value[0]) if defined else None,
            f"{name}_ci95": interval(draws[name]) if defined else None,
        }
    return found


def _gap(
    statistic: str, values: Sequence[Mapping[str, Floats]], draws: Sequence[Mapping[str, Floats]]
) -> dict[str, Any]:
    """Largest difference of a rate between labels that have terms."""
    rows = [place for place, value in enumerate(values) if not np.isnan(value[statistic][0])]
    if len(rows) < 2:
        return {f"{statistic}_gap": None, f"{statistic}_gap_ci95": None}
    now = np.array([values[place][statistic][0] for place in rows])
    then = np.stack([draws[place][statistic] for place in rows])
    return {
        f"{statistic}_gap": float(now.max() - now.min()),
        f"{statistic}_gap_ci95": interval(then.max(axis=0) - then.min(axis=0)),
    }
