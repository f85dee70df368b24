"""What a GFST report says: a row per model, and what got better and worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hf_fairness.record import interval, mapping, number
from hf_fairness.report.gfst_record import models, name_of
from hf_fairness.report.text import ABSENT, format_interval, format_number

#: Set and key -> heading and ideal value; one column more per group for the F1.
COLUMNS: dict[tuple[str, str], tuple[str, float]] = {
    ("winomt", "accuracy"): ("WinoMT Acc", 1.0),
    ("winomt", "delta_g"): ("ΔG", 0.0),
    ("winomt", "delta_s_f1"): ("ΔS (F1)", 0.0),
    ("winomt", "delta_r"): ("ΔR", 0.0),
    ("must_she", "accuracy"): ("MuST-SHE Acc", 1.0),
    ("must_she", "delta_accuracy"): ("MuST-SHE ΔAcc", 1.0),
    ("test", "bleu"): ("BLEU", 1.0),
    ("test", "chrf"): ("chrF", 1.0),
}


def columns(report: Mapping[str, Any]) -> dict[tuple[str, str], tuple[str, float]]:
    """The columns that any model has a number for."""
    found = dict(COLUMNS)
    for group in report["groups"]:
        found["winomt", f"f1_{group}"] = (f"F1 {group}", 1.0)
    return {
        place: title
        for place, title in found.items()
        if any(number(scores, place[1]) is not None for scores in mapping(report, place[0]).values())
    }


def gfst_table(report: Mapping[str, Any]) -> list[list[str]]:
    """Heading and one row per model: what it was trained on and its numbers with intervals.

    Args:
        report: what ``run_gfst`` returned.

    Returns:
        Rows of text.
    """
    shown = columns(report)
    rows = [["model", "steps", "pseudo pairs", *(f"{title} ({ideal:g})" for title, ideal in shown.values())]]
    for name in models(report):
        arm = mapping(mapping(report, "arms"), name)
        steps, pairs = number(arm, "steps"), number(arm, "n_pairs")
        cells = [_cell(mapping(mapping(report, part), name), key) for part, key in shown]
        counts = [ABSENT if value is None else f"{value:,.0f}" for value in (steps, pairs)]
        rows.append([name_of(name), *counts, *cells])
    return rows


def _cell(scores: Mapping[str, Any], key: str) -> str:
    shown = (format_number(number(scores, key)), format_interval(interval(scores, f"{key}_ci95")))
    return " ".join(filter(None, shown))


def comparisons(report: Mapping[str, Any]) -> Iterator[tuple[str, str, float, Mapping[str, Any]]]:
    """Every paired comparison of GFST: other model, title, ideal value, and what was found."""
    shown = columns(report)
    for other in models(report):
        for (part, key), (title, ideal) in shown.items():
            gap = mapping(mapping(mapping(mapping(report, "comparisons"), part), other), key)
            if gap:
                yield other, title, ideal, gap


def findings(report: Mapping[str, Any]) -> dict[str, list[str]]:
    """What GFST does better and worse than each other model, in words.

    A difference counts as clear when its paired interval over rows excludes 0; p-values are adjusted for the number of
    measures of a set (Holm).

    Args:
        report: what ``run_gfst`` returned.

    Returns:
        ``worse``, ``improved``, ``unclear``: sentences.
    """
    found: dict[str, list[str]] = {"worse": [], "improved": [], "unclear": []}
    alike: dict[str, list[str]] = {}
    for other, title, ideal, gap in comparisons(report):
        ends, ours, theirs = interval(gap, "difference_ci95"), number(gap, "a"), number(gap, "b")
        if ours is None or theirs is None:
            continue
        if ends is None or ends[0] <= 0.0 <= ends[1]:  # no interval: nothing is clear
            alike.setdefault(other, []).append(title)
            continue
        p = number(gap, "p_value_holm")
        chance = "" if p is None else f", p = {p:.2g} (Holm)"
        found["improved" if abs(ideal - ours) < abs(ideal - theirs) else "worse"].append(
            f"{title} against {name_of(other)}: {format_number(theirs)} → {format_number(ours)}, difference "
            f"{format_number(number(gap, 'difference'))} {format_interval(ends)}{chance}"
        )
    found["unclear"] = [f"Against {name_of(other)}: {', '.join(titles)}" for other, titles in alike.items()]
    return found


def headline(report: Mapping[str, Any]) -> str:
    """What happened to accuracy and ΔR, in one sentence."""
    scores = mapping(report, "winomt")
    if not scores:
        return "WinoMT was not measured: nothing is known of how these models treat gender."
    parts = []
    for key, title in (("accuracy", "accuracy"), ("delta_r", "ΔR")):
        values = [f"{name_of(name)} {format_number(number(mapping(scores, name), key))}" for name in models(report)]
        parts.append(f"{title}: {', '.join(values)}")
    return f"WinoMT {'; '.join(parts)}."
