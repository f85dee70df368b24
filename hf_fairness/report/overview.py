"""The first picture of every report: a row for each measure on its own axis, from the original to the method."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hf_fairness.record import Interval, Measure, Record
from hf_fairness.report.summary import capital, ideal_text, main_pairs, with_interval
from hf_fairness.report.tables import shown_arms

#: More rows than this are no picture any more; the tables have the rest.
MOST = 16
#: In which order models are listed and drawn.
ORDER = {"original": 0, "control": 1, "method": 2}
#: Room beside both ends of an axis, in per cent.
EDGE = 4


@dataclass(frozen=True)
class Point:
    """A value on the axis of its row, in per cent of the axis from the left.

    Attributes:
        role: of the arm: original, method, control ...
        title: of the arm.
        at: its place; ``low`` and ``high`` are those of its interval, None without one.
        text: number and interval.
    """

    role: str
    title: str
    at: float
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True)
class Strip:
    """One row of the picture.

    Attributes:
        title: of the measure.
        kind: bias, utility ...
        points: of the models, the last one on top.
        ideal: place of the ideal value; None where there is none, or where it is far off the axis.
        start: place of the original's value, where it and that of the method are known.
        end: place of the method's value.
        verdict: of the method against the original; empty without one.
        left: number at the left end of the axis; ``right`` at the other.
        note: the ideal in words.
        description: the row in words.
    """

    title: str
    kind: str
    points: tuple[Point, ...]
    ideal: float | None
    start: float | None
    end: float | None
    verdict: str
    left: str
    right: str
    note: str
    description: str


def strips(record: Record) -> list[Strip]:
    """The rows of the picture: measures of bias, utility and information that are no part of another.

    Where all measures of bias are parts of others, the parts are shown.
    """
    found = [m for m in record.measures if m.kind != "context" and not m.detail and m.part == "test"]
    if not any(measure.kind == "bias" for measure in found):
        found += [m for m in record.measures if m.kind == "bias" and m.part == "test" and m not in found]
    order = {"bias": 0, "utility": 1, "information": 2}
    found = sorted(found, key=lambda measure: order[measure.kind])[:MOST]
    verdicts = {measure.id: gap.verdict for measure, gap in main_pairs(record)}
    return [strip for measure in found if (strip := _strip(record, measure, verdicts.get(measure.id, "")))]


def _strip(record: Record, measure: Measure, verdict: str) -> Strip | None:
    arms = [arm for arm in shown_arms(record) if arm.name in measure.values]
    if not arms:
        return None
    low, high = _limits(measure, [arm.name for arm in arms])

    def place(value: float) -> float:
        return round(EDGE + (100 - 2 * EDGE) * (value - low) / (high - low), 2)

    points = []
    for arm in sorted(arms, key=lambda arm: ORDER.get(arm.role, 3)):
        value = measure.values[arm.name]
        ends: Interval | None = value.ci95
        points.append(
            Point(
                role=arm.role,
                title=arm.title,
                at=place(value.value),
                low=None if ends is None else place(ends[0]),
                high=None if ends is None else place(ends[1]),
                text=with_interval(value),
            )
        )
    sides = {point.role: point.at for point in points}
    said = "; ".join(f"{point.title} {point.text}" for point in points)
    ideal = measure.ideal if measure.ideal is not None and low <= measure.ideal <= high else None
    return Strip(
        title=capital(measure.title),
        kind=measure.kind,
        points=tuple(points),
        ideal=None if ideal is None else place(ideal),
        start=sides.get("original"),
        end=sides.get("method"),
        verdict=verdict,
        left=_end(low, high - low),
        right=_end(high, high - low),
        note=ideal_text(measure),
        description=f"{measure.title}: {said}" + (f"; {note}" if (note := ideal_text(measure)) else ""),
    )


def _limits(measure: Measure, arms: list[str]) -> Interval:
    """Ends of the axis: all values and intervals, and the ideal where it does not dwarf them."""
    values = [measure.values[arm] for arm in arms]
    ends = [end for value in values for end in (value.value, *(value.ci95 or ()))]
    low, high = min(ends), max(ends)
    width = high - low or abs(high) or 1.0
    if measure.ideal is not None and min(abs(measure.ideal - low), abs(measure.ideal - high)) <= 4 * width:
        low, high = min(low, measure.ideal), max(high, measure.ideal)
    return (low, high) if high > low else (low - width / 2, high + width / 2)


def _end(value: float, width: float) -> str:
    """A number with the digits that tell the ends of an axis apart."""
    digits = max(0, 1 - math.floor(math.log10(width)))
    return f"{value:.{min(digits, 6)}f}".replace("-", "−")
