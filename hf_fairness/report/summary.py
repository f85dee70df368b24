"""The findings in plain words, computed from the table by fixed rules: what got worse comes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hf_fairness.report.tables import Row
from hf_fairness.report.text import format_interval, format_number


@dataclass(frozen=True)
class Summary:
    """What a reader should know before looking at any table.

    Attributes:
        headline: one sentence of counts.
        worse: one sentence for each measure that got clearly worse.
        improved: one for each that clearly improved.
        unclear: one for each without a clear change.
        undecided: one for each that has no interval on one side, with the direction in which it moved.
        measured: for a single audit, one sentence for each measure.
        cautions: patterns in the numbers that change how they are to be read.
    """

    headline: str
    worse: list[str] = field(default_factory=list)
    improved: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)


def _with_interval(value: float | None, ends: tuple[float, float] | None) -> str:
    return " ".join(part for part in (format_number(value), format_interval(ends)) if part)


def _ideal(row: Row) -> str:
    if row.direction == "chance":
        return f"chance is {format_number(row.ideal)}"
    if row.ideal is not None:
        return f"ideal {row.ideal:g}"
    return "higher is better" if row.direction == "higher" else ""


def _change_sentence(row: Row) -> str:
    ideal = _ideal(row)
    text = (
        f"{row.title}: {_with_interval(row.before, row.before_ci95)} → "
        f"{_with_interval(row.after, row.after_ci95)}, "
        f"change {' '.join(filter(None, (row.change_text, format_interval(row.change_ci95))))}"
    )
    return f"{text}; {ideal}." if ideal else f"{text}."


def _moved_away(row: Row) -> bool:
    """Whether the point estimate moved away from the ideal, without regard to intervals."""
    assert row.before is not None
    assert row.after is not None
    if row.direction == "higher":
        return row.after < row.before
    if row.direction == "zero":
        return abs(row.after) > abs(row.before)
    return row.after > row.before


def _undecided_sentence(row: Row) -> str:
    assert row.change is not None
    moved = "moved the wrong way" if _moved_away(row) else "moved the right way"
    how = "unchanged" if row.change == 0 else moved
    return f"{_change_sentence(row)[:-1]}; {how}, but without an interval that tells it from noise."


def _single_sentence(row: Row) -> str:
    ideal = _ideal(row)
    text = f"{row.title}: {_with_interval(row.after, row.after_ci95)}" + (f"; {ideal}" if ideal else "")
    if row.after_ci95 is None:
        return f"{text}; no interval was given."
    low, high = row.after_ci95
    if row.direction == "zero":
        text += "; the interval holds 0" if low <= 0 <= high else "; the interval excludes 0"
    elif row.direction == "chance" and row.ideal is not None:
        text += "; above chance" if low > row.ideal else "; not told from chance"
    return f"{text}."


def _find(rows: Sequence[Row], id_: str) -> Row | None:
    return next((row for row in rows if row.id == id_), None)


def _collapse_cautions(rows: Sequence[Row]) -> list[str]:
    """Sets of texts where CCED fell only because all distances shrank (or grew with them)."""
    found = []
    for row in rows:
        if row.metric != "cced" or row.verdict != "improved":
            continue
        relative = _find(rows, f"{row.id}_relative")
        if relative is not None and relative.change is not None and relative.verdict != "improved":
            found.append(
                f"On {row.set}, CCED fell but CCED / mean distance did not clearly do so: the encoder may "
                f"merely have drawn its embeddings together."
            )
    return found


def _control_cautions(rows: Sequence[Row]) -> list[str]:
    improved = [row for row in rows if row.verdict == "improved" and row.control is not None]
    same = [row.title for row in improved if row.versus_control != "improved"]
    worse = [row.title for row in rows if row.versus_control == "worse" and row.kind in {"bias", "utility"}]
    found = []
    if same:
        found.append(
            "The control (training that lacks what the method asks for) cannot be told apart from the mitigated "
            f"model on: {'; '.join(same)}. There the improvement may come from the training as such."
        )
    if worse:
        found.append(f"The mitigated model is clearly worse than the control on: {'; '.join(worse)}.")
    return found


def _cautions(rows: Sequence[Row], has_control: bool) -> list[str]:
    found = _collapse_cautions(rows)
    compared = [row for row in rows if row.before is not None and row.after is not None]
    if compared and not has_control:
        found.append(
            "No control was measured (training that lacks what the method asks for), so it stays open how much of "
            "the change any training on these texts would have made."
        )
    found += _control_cautions(rows)
    if compared and not any(row.kind == "utility" for row in compared):
        found.append("No utility was compared, so it stays open what the change cost.")
    lost = [row.title for row in rows if row.before is not None and row.after is None]
    if lost and compared:
        found.append(f"Measured before but not after: {'; '.join(lost)}.")
    return found


def _headline(rows: Sequence[Row]) -> str:
    parts = []
    for kind, name in (
        ("bias", "measures of bias"),
        ("utility", "measures of utility"),
        ("information", "probes"),
    ):
        judged = [row for row in rows if row.kind == kind and row.verdict not in {"no comparison", "not judged"}]
        if not judged and kind != "information":
            parts.append(f"no {name} were compared")
        if not judged:
            continue
        counts = [
            f"{count} {verdict}"
            for verdict, count in (
                ("got worse", sum(row.verdict == "worse" for row in judged)),
                ("improved", sum(row.verdict == "improved" for row in judged)),
                ("did not clearly change", sum(row.verdict == "no clear change" for row in judged)),
                ("cannot be decided", sum(row.verdict == "no interval" for row in judged)),
            )
            if count
        ]
        parts.append(f"of {len(judged)} {name}, {', '.join(counts)}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def summarize(rows: Sequence[Row]) -> Summary:
    """Sort the rows of a table into findings.

    Every judged row appears in exactly one list, so nothing that got worse can be left out. Rows of kind
    ``"context"`` have no better direction and appear in the table only.

    Args:
        rows: what :func:`hf_fairness.report.tables.delta_table` returned.

    Returns:
        Sentences by verdict, and cautions.
    """
    if not any(row.before is not None and row.after is not None for row in rows):
        shown = [row for row in rows if row.after is not None and row.kind != "context"]
        if not shown:
            return Summary(headline="Nothing was measured.")
        return Summary(
            headline=f"{len(shown)} measures of one model; nothing to compare with.",
            measured=[_single_sentence(row) for row in shown],
        )
    return Summary(
        headline=_headline(rows),
        worse=[_change_sentence(row) for row in rows if row.verdict == "worse"],
        improved=[_change_sentence(row) for row in rows if row.verdict == "improved"],
        unclear=[_change_sentence(row) for row in rows if row.verdict == "no clear change"],
        undecided=[_undecided_sentence(row) for row in rows if row.verdict == "no interval"],
        cautions=_cautions(rows, any(row.control is not None for row in rows)),
    )
