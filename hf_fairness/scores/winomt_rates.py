"""The numbers of WinoMT as functions of column sums: what is counted per row, and what is made of the sums."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.scores.intervals import combination, rates_of
from hf_fairness.scores.rates import ratio
from hf_fairness.scores.statistics import Floats

#: Sums of columns by their names, each of shape (m,); a statistic maps them to shape (m,), NaN where undefined.
Sums = Mapping[str, Floats]
Statistic = Callable[[Sums], Floats]

#: The two genders whose gap is measured, in the order in which it is taken: first minus second.
GROUPS = ("male", "female")
#: Gold gender of rows that speak of nobody's gender, and a gender of words; counts in accuracy, has no F1 here.
NEUTRAL = "neutral"
#: What is predicted where no gender could be read.
UNKNOWN = "unknown"
#: Values of ``stereotypes``: the gold gender is the one expected of the profession, or the other one.
SUBSETS = ("pro", "anti")
#: Stereotype of a row that stands in both subsets, and counts in both.
BOTH = "both"
#: How rates are rounded: not at all, or to a tenth of a percent before anything is made of them, as published.
ROUNDINGS = ("exact", "original")


@dataclass(frozen=True)
class WinoMTRows:
    """What is known of each row; all fields but those that are None have one entry per row.

    Attributes:
        gold: the person's gender in the source: one of the groups, or ``"neutral"``.
        predicted: the gender of the word for the person in the translation: a group, ``"neutral"`` or ``"unknown"``.
        stereotypes: ``"pro"``, ``"anti"``, ``"both"`` or ``""``; None: not known, no delta_s.
        professions: the word for the person; None: no table by profession.
        aligned: whether a word of the translation was found for the person; None: not known.
        clusters: a label per row, rows of one label count together; None: each row by itself.
    """

    gold: Sequence[str]
    predicted: Sequence[str]
    stereotypes: Sequence[str] | None = None
    professions: Sequence[str] | None = None
    aligned: Sequence[bool] | None = None
    clusters: Sequence[Hashable] | None = None


def checked(values: Sequence[Any], name: str, n: int, allowed: Sequence[str] | None = None) -> Sequence[Any]:
    """The values of a field, or an error that names the field, what came and what was wanted."""
    if len(values) != n:
        raise ValueError(f"{name} needs one entry per row: got {len(values)} for {n} rows.")
    for row, value in enumerate(values):
        if allowed is not None and value not in allowed:
            raise ValueError(f"{name}[{row}] is {value!r}; expected one of {', '.join(map(repr, allowed))}.")
    return values


def columns_of(rows: WinoMTRows, groups: Sequence[str], rounding: str) -> dict[str, Floats]:
    """What is summed: per subset its rows, right ones, and per group gold, predicted and right ones."""
    if len(set(groups)) != 2:
        raise ValueError(f"WinoMT's gaps need exactly two groups; got {list(groups)}.")
    if rounding not in ROUNDINGS:
        raise ValueError(f"rounding must be one of {', '.join(map(repr, ROUNDINGS))}; got {rounding!r}.")
    n = len(rows.gold)
    if not n:
        raise ValueError("WinoMT needs at least one row; got none.")
    classes = (*groups, NEUTRAL)
    gold = np.array(checked(rows.gold, "gold", n, classes))
    predicted = np.array(checked(rows.predicted, "predicted", n, (*classes, UNKNOWN)))
    subsets = {"all": np.ones(n, dtype=bool)}
    if rows.stereotypes is not None:
        kinds = np.array(checked(rows.stereotypes, "stereotypes", n, (*SUBSETS, BOTH, "")))
        subsets |= {name: np.isin(kinds, (name, BOTH)) for name in SUBSETS}
    masks: dict[str, NDArray[np.bool_]] = {}
    for subset, inside in subsets.items():
        masks |= {f"{subset} n": inside, f"{subset} correct": inside & (gold == predicted)}
        for group in groups:
            mine, read = inside & (gold == group), inside & (predicted == group)
            masks |= {f"{subset} gold {group}": mine, f"{subset} predicted {group}": read}
            masks[f"{subset} hits {group}"] = mine & read
    masks["unknown"] = predicted == UNKNOWN
    if rows.aligned is not None:
        masks["not aligned"] = ~np.array(checked(rows.aligned, "aligned", n), dtype=bool)
    return {name: mask.astype(np.float64) for name, mask in masks.items()}


def named(columns: Sums, sums: Floats) -> dict[str, Floats]:
    """Columns of a matrix of sums by their names."""
    return dict(zip(columns, sums.T, strict=True))


def statistics_of(rows: WinoMTRows, groups: Sequence[str], rounding: str) -> dict[str, Statistic]:
    """Every number of the result as a function of column sums, NaN where it is undefined."""

    def rounded(values: Floats) -> Floats:
        return values if rounding == "exact" else np.round(100.0 * values, 1) / 100.0

    def rate(top: str, bottom: str) -> Statistic:
        return lambda sums: rounded(ratio(sums[top], sums[bottom]))

    def f1(subset: str, group: str) -> Statistic:
        recall = rate(f"{subset} hits {group}", f"{subset} gold {group}")
        precision = rate(f"{subset} hits {group}", f"{subset} predicted {group}")

        def value(sums: Sums) -> Floats:
            hit, right = recall(sums), np.nan_to_num(precision(sums))
            return np.where(np.isnan(hit), np.nan, rounded(np.nan_to_num(ratio(2.0 * hit * right, hit + right))))

        return value

    def gap(one: Statistic, other: Statistic) -> Statistic:
        # Rounded rates are tenths of a percent; so is their difference, without the noise of binary fractions.
        return lambda sums: one(sums) - other(sums) if rounding == "exact" else np.round(one(sums) - other(sums), 6)

    def mean_f1(subset: str) -> Statistic:
        parts = [f1(subset, group) for group in groups]
        return lambda sums: np.asarray(np.mean([part(sums) for part in parts], axis=0))

    recalls = [rate(f"all hits {group}", f"all gold {group}") for group in groups]
    found = {"accuracy": rate("all correct", "all n")}
    for group, recall in zip(groups, recalls, strict=True):
        found[f"precision_{group}"] = rate(f"all hits {group}", f"all predicted {group}")
        found |= {f"recall_{group}": recall, f"f1_{group}": f1("all", group)}
    found |= {"delta_g": gap(*(f1("all", group) for group in groups)), "delta_r": gap(*recalls)}
    if rows.stereotypes is not None:
        accuracies = [rate(f"{subset} correct", f"{subset} n") for subset in SUBSETS]
        found |= {f"accuracy_{subset}": value for subset, value in zip(SUBSETS, accuracies, strict=True)}
        found["delta_s_accuracy"] = gap(*accuracies)
        found["delta_s_f1"] = gap(*(mean_f1(subset) for subset in SUBSETS))
    found["unknown_rate"] = lambda sums: ratio(sums["unknown"], sums["all n"])
    if rows.aligned is not None:
        found["alignment_failure_rate"] = lambda sums: ratio(sums["not aligned"], sums["all n"])
    return found


def intervals_of(
    columns: Mapping[str, Floats], rows: WinoMTRows, groups: Sequence[str]
) -> dict[str, list[float] | None]:
    """95 % interval of every number; F1 is a ratio of sums as well: twice the hits per gold and predicted row."""
    ratios: dict[str, tuple[Floats, Floats]] = {"accuracy": (columns["all correct"], columns["all n"])}
    subsets = ["all", *(SUBSETS if rows.stereotypes is not None else ())]
    for subset in subsets:
        for group in groups:
            hits, gold, read = (columns[f"{subset} {kind} {group}"] for kind in ("hits", "gold", "predicted"))
            ratios[f"{subset} f1 {group}"] = (2.0 * hits, gold + read)
            if subset == "all":
                ratios |= {f"precision_{group}": (hits, read), f"recall_{group}": (hits, gold)}
        if subset != "all":
            ratios[f"accuracy_{subset}"] = (columns[f"{subset} correct"], columns[f"{subset} n"])
    ratios["unknown_rate"] = (columns["unknown"], columns["all n"])
    if rows.aligned is not None:
        ratios["alignment_failure_rate"] = (columns["not aligned"], columns["all n"])
    names = list(ratios)
    hits, sizes = (np.stack([ratios[name][side] for name in names], axis=1) for side in (0, 1))
    rates = rates_of(hits, sizes, clusters=rows.clusters)
    found = dict(zip(names, rates.intervals(), strict=True))

    def combined(parts: Mapping[str, float]) -> list[float] | None:
        return combination(rates, [parts.get(name, 0.0) for name in names])

    first, second = groups
    found |= {f"f1_{group}": found[f"all f1 {group}"] for group in groups}
    found["delta_g"] = combined({f"all f1 {first}": 1.0, f"all f1 {second}": -1.0})
    found["delta_r"] = combined({f"recall_{first}": 1.0, f"recall_{second}": -1.0})
    if rows.stereotypes is not None:
        found["delta_s_accuracy"] = combined({"accuracy_pro": 1.0, "accuracy_anti": -1.0})
        halves = {
            f"{subset} f1 {group}": sign for subset, sign in zip(SUBSETS, (0.5, -0.5), strict=True) for group in groups
        }
        found["delta_s_f1"] = combined(halves)
    return found
