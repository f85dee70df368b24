"""WinoMT: how often a translation keeps the gender of a person, and for whom it does so less often."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hf_fairness.record import Declared
from hf_fairness.scores.compare import N_SWAPS, paired_comparisons
from hf_fairness.scores.intervals import FEW_CLUSTERS, METHOD, SMALL_N, rate_limits, warn_of_few
from hf_fairness.scores.meta import describe
from hf_fairness.scores.multiple_tests import holm
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, cluster_index
from hf_fairness.scores.winomt_rates import (
    GROUPS,
    NEUTRAL,
    UNKNOWN,
    Statistic,
    Sums,
    WinoMTRows,
    checked,
    columns_of,
    intervals_of,
    named,
    statistics_of,
)
from hf_fairness.utils import FairnessWarning

CONVENTION = (
    "accuracy over all rows, neutral ones included, unknown counts as wrong; precision includes predictions on "
    "neutral rows; delta_g = F1, delta_r = recall, {first} minus {second}; delta_s = pro- minus anti-stereotypical "
    "rows, of the accuracy and of the mean F1; rounding={rounding}; {method}"
)
MEASURES = {
    "accuracy": Declared(
        "people translated with the right gender (WinoMT accuracy)",
        "bias",
        1.0,
        "higher",
        convention="WinoMT: share of sentences whose person keeps the gender; neutral rows that are translated with a "
        "gender, and unknown ones, count as wrong.",
    ),
    "delta_g": Declared(
        "gap between the groups in F1 (ΔG)",
        "bias",
        0.0,
        "zero",
        convention="ΔG: F1 of the first group less that of the second.",
    ),
    "delta_s_f1": Declared(
        "gap between stereotypical and other professions (ΔS, F1)",
        "bias",
        0.0,
        "zero",
        convention="ΔS: mean F1 on professions that fit the stereotype minus that on those that do not.",
    ),
    "delta_r": Declared(
        "gap between the groups in recall (ΔR)",
        "bias",
        0.0,
        "zero",
        convention="ΔR: recall of the first group less that of the second.",
    ),
}
#: Of the F1 of one group, which stands under ``f1_<group>``.
F1 = Declared("F1 of one group (WinoMT)", "bias", 1.0, "higher")


def winomt(
    rows: WinoMTRows,
    *,
    groups: Sequence[str] = GROUPS,
    rounding: str = "exact",
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Accuracy and gaps of the genders read from translations.

    Accuracy is the share of rows whose predicted gender is the gold one; unknown ones stay in and are wrong. F1 of a
    group is 2 hits / (gold + predicted), predictions on neutral rows included; 0 for a group that is never predicted
    (there the published code divides by zero), None for one that no row has. delta_g and delta_r are the first
    group minus the second of F1 and of recall; delta_s is pro- minus anti-stereotypical rows.

    Args:
        rows: gold and predicted genders, and what else is known.
        groups: names of the two groups whose gap is taken.
        rounding: ``"original"`` rounds percentages to one decimal before F1 and the gaps are taken from them, as the
            published numbers were made; ``"exact"`` does not.
        n_bootstrap: 0: no intervals; nothing is drawn.
        seed: stated in ``meta``.

    Returns:
        ``accuracy``, per group ``precision_``, ``recall_``, ``f1_`` + name (ideal 1, lower is worse); ``delta_g``,
        ``delta_r``, ``delta_s_accuracy``, ``delta_s_f1`` (ideal 0, further from 0 is worse); ``accuracy_pro``,
        ``accuracy_anti``; ``unknown_rate``, ``alignment_failure_rate`` (ideal 0); each with ``_ci95``, and None where
        it is undefined or not known. ``confusion``: gold -> predicted -> rows. ``professions``: per profession ``n``,
        ``accuracy``, ``accuracy_ci95``, ``gold``, ``predicted``. ``n``; ``meta``.

    Raises:
        ValueError: no rows, columns of different length, a value that is none of those allowed, not two groups.

    Warns:
        FairnessWarning: a group without gold rows.

    Source:
        Stanovsky, Smith, Zettlemoyer 2019; delta_r and the F1 form of delta_s: Choubey et al. 2021.

    Example:
        >>> rows = WinoMTRows(["male", "male", "female", "female"], ["male", "male", "male", "female"])
        >>> result = winomt(rows)
        >>> result["accuracy"], round(result["delta_g"], 3), result["delta_r"]
        (0.75, 0.133, 0.5)
    """
    columns = columns_of(rows, groups, rounding)
    statistics = statistics_of(rows, groups, rounding)
    if n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be 0 or more; got {n_bootstrap}.")
    if rows.clusters is not None:
        warn_of_few(len(set(cluster_index(rows.clusters, len(rows.gold)).tolist())), "clusters", FEW_CLUSTERS)
    elif n_bootstrap:
        warn_of_few(len(rows.gold), "rows", SMALL_N)
    intervals = intervals_of(columns, rows, groups) if n_bootstrap else {}
    sums = {name: column.sum(keepdims=True) for name, column in columns.items()}
    result: dict[str, Any] = {}
    for name, statistic in statistics.items():
        value = float(statistic(sums)[0])
        result[name] = None if np.isnan(value) else value
        result[f"{name}_ci95"] = None if result[name] is None else intervals.get(name)
    for name in ("delta_s_accuracy", "delta_s_f1", "alignment_failure_rate"):
        result.setdefault(name, None)
        result.setdefault(f"{name}_ci95", None)
    empty = [name for name in groups if not sums[f"all gold {name}"][0]]
    if empty:
        warnings.warn(
            f"No row has the gold gender {', '.join(map(repr, empty))}: its F1 and recall and the gaps are undefined "
            "(None). Give rows of both groups, or read the accuracy only.",
            FairnessWarning,
            stacklevel=2,
        )
    n = len(rows.gold)
    first, second = groups
    return {
        **result,
        "confusion": _confusion(rows, groups),
        "professions": _by_profession(rows, wanted=n_bootstrap > 0),
        "n": n,
        "meta": describe(
            n=n,
            convention=CONVENTION.format(first=first, second=second, rounding=rounding, method=METHOD),
            ideal="1 for accuracy, precision, recall and F1; 0 for gaps and for the rates of unknown and not aligned",
            direction="lower accuracy and F1 are worse; gaps further from 0 are worse, above 0 they favour "
            f"{first} and stereotypes",
            seed=seed,
            n_per_group=dict(Counter(rows.gold)),
            n_clusters=n if rows.clusters is None else len(set(rows.clusters)),
        ),
    }


def compare_winomt(
    a: WinoMTRows,
    b: WinoMTRows,
    *,
    groups: Sequence[str] = GROUPS,
    rounding: str = "exact",
    n_samples: int = N_SWAPS,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, dict[str, Any]]:
    """Two systems on the same rows: every rate and gap of both, their difference, and whether chance does as well.

    Args:
        a: rows of the first system.
        b: rows of the second; gold genders, stereotypes and clusters as in ``a``.
        groups: as in ``winomt``.
        rounding: as in ``winomt``.
        n_samples: most swaps behind a p-value.
        n_bootstrap: resamples behind the intervals.
        seed: of all draws.

    Returns:
        Per key of ``winomt`` that both systems define: ``a``, ``b``, ``difference`` = a - b, ``difference_ci95``,
        ``p_value`` (two-sided; the systems' outputs are swapped cluster by cluster) and ``p_value_holm``, adjusted
        for the number of keys.

    Raises:
        ValueError: rows that differ in gold gender, stereotype or cluster; else as ``winomt``.
    """
    for name in ("gold", "stereotypes", "clusters"):
        left, right = getattr(a, name), getattr(b, name)
        if (left is None) != (right is None) or (left is not None and list(left) != list(right)):
            raise ValueError(f"a and b must be two systems on the same rows; their {name} differ.")
    left, right = columns_of(a, groups, rounding), columns_of(b, groups, rounding)
    if left.keys() != right.keys():
        raise ValueError("Either both systems say which rows were aligned, or neither does.")
    sides = [{key: value.sum(keepdims=True) for key, value in side.items()} for side in (left, right)]
    defined = {
        name: _of_sums(statistic, left)
        for name, statistic in statistics_of(a, groups, rounding).items()
        if not any(np.isnan(statistic(side)[0]) for side in sides)
    }
    first, second = (np.stack(list(side.values()), axis=1) for side in (left, right))
    options: dict[str, Any] = {"n_samples": n_samples, "n_bootstrap": n_bootstrap, "seed": seed}
    found = paired_comparisons(first, second, defined, clusters=a.clusters, **options)
    adjusted = holm([one["p_value"] for one in found.values()])
    keys = ("a", "b", "difference", "difference_ci95", "p_value", "method")
    return {
        name: {**{key: one[key] for key in keys}, "p_value_holm": float(p)}
        for (name, one), p in zip(found.items(), adjusted, strict=True)
    }


def _of_sums(statistic: Statistic, columns: Sums) -> Callable[[Floats], Floats]:
    """The statistic as a function of a matrix of sums."""
    return lambda sums: statistic(named(columns, sums))


def _confusion(rows: WinoMTRows, groups: Sequence[str]) -> dict[str, dict[str, int]]:
    """Rows by gold and predicted gender."""
    counts = Counter(zip(rows.gold, rows.predicted, strict=True))
    classes = (*groups, NEUTRAL)
    return {gold: {read: counts[gold, read] for read in (*classes, UNKNOWN)} for gold in classes}


def _by_profession(rows: WinoMTRows, *, wanted: bool) -> dict[str, dict[str, Any]]:
    """Rows, accuracy with interval (of independent rows), and counts of genders, per profession."""
    if rows.professions is None:
        return {}
    table: dict[str, list[tuple[str, str]]] = {}
    for profession, pair in zip(
        checked(rows.professions, "professions", len(rows.gold)),
        zip(rows.gold, rows.predicted, strict=True),
        strict=True,
    ):
        table.setdefault(profession, []).append(pair)
    found = {}
    for profession, pairs in sorted(table.items()):
        right = sum(gold == read for gold, read in pairs)
        low, high = rate_limits([right / len(pairs)], [len(pairs)])
        found[profession] = {
            "n": len(pairs),
            "accuracy": right / len(pairs),
            "accuracy_ci95": [float(low[0]), float(high[0])] if wanted else None,
            "gold": dict(Counter(gold for gold, _ in pairs)),
            "predicted": dict(Counter(read for _, read in pairs)),
        }
    return found
