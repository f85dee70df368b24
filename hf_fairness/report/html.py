"""A record as one self-contained HTML page, by one template for every command, and the picture of its first screen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from typing import Any

import hf_fairness
from hf_fairness.record import Arm, Interval, Measure, Record, Value
from hf_fairness.report.card import conventions, facts, finding_lists
from hf_fairness.report.plots import Plot, figures
from hf_fairness.report.summary import capital, ideal_text, main_pairs, summarize, with_interval
from hf_fairness.report.tables import shown_arms, tables
from hf_fairness.report.text import DISCLAIMER, joined
from hf_fairness.utils import require

#: More rows than this are no picture any more; the tables have the rest.
MOST = 16
#: In which order measures are listed, and models are drawn.
KINDS = ("bias", "utility", "information")
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
    at: float | None
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True)
class Strip:
    """One row of the first picture: a measure on an axis of its own, from the original to the method.

    Attributes:
        title: of the measure.
        points: of the models, the last one on top.
        ideal: place of the ideal value; None where there is none, or where it is far off the axis.
        start: place of the original's value, where it is known; ``end``: of the method's.
        verdict: of the method against the original; empty without one.
        ends: numbers at the left and the right end of the axis.
        note: the ideal in words.
        description: the row in words.
    """

    title: str
    points: tuple[Point, ...]
    ideal: float | None
    start: float | None
    end: float | None
    verdict: str
    ends: tuple[str, str]
    note: str
    description: str


def strips(record: Record) -> list[Strip]:
    """The rows of the picture: measures of bias, utility and information that are no part of another.

    Where all measures of bias are parts of others, the parts are shown.
    """
    known = [m for m in record.measures if m.kind in KINDS and m.part == "test" and _drawn_arms(record, m)]
    whole = [measure for measure in known if not measure.detail]
    if not any(measure.kind == "bias" for measure in whole):
        whole += [measure for measure in known if measure.kind == "bias"]
    verdicts = {measure.id: gap.verdict for measure, gap in main_pairs(record)}
    shown = sorted(whole, key=lambda measure: KINDS.index(measure.kind))[:MOST]
    return [_strip(record, measure, verdicts.get(measure.id, "")) for measure in shown]


def _drawn_arms(record: Record, measure: Measure) -> list[Arm]:
    return sorted(
        (arm for arm in shown_arms(record) if arm.name in measure.values), key=lambda arm: ORDER.get(arm.role, 3)
    )


def _strip(record: Record, measure: Measure, verdict: str) -> Strip:
    arms = _drawn_arms(record, measure)
    low, high = _limits(measure, [measure.values[arm.name] for arm in arms])

    def place(value: float | None) -> float | None:
        if value is None or not low <= value <= high:
            return None
        return round(EDGE + (100 - 2 * EDGE) * (value - low) / (high - low), 2)

    points = []
    for arm in arms:
        value = measure.values[arm.name]
        first, last = value.ci95 or (None, None)
        at, text = place(value.value), with_interval(value)
        points.append(Point(arm.role, arm.title, at, place(first), place(last), text))
    sides = {point.role: point.at for point in points}
    note = ideal_text(measure)
    said = "; ".join(filter(None, (*(f"{point.title} {point.text}" for point in points), note)))
    digits = min(max(0, 1 - math.floor(math.log10(high - low))), 6)  # they tell the ends of the axis apart
    left, right = (f"{end:.{digits}f}".replace("-", "−") for end in (low, high))
    return Strip(
        title=capital(measure.title),
        points=tuple(points),
        ideal=place(measure.ideal),
        start=sides.get("original"),
        end=sides.get("method"),
        verdict=verdict,
        ends=(left, right),
        note=note,
        description=f"{measure.title}: {said}",
    )


def _limits(measure: Measure, values: list[Value]) -> Interval:
    """Ends of the axis: all values and intervals, and the ideal where it does not dwarf them."""
    ends = [end for value in values for end in (value.value, *(value.ci95 or ()))]
    low, high = min(ends), max(ends)
    width = high - low or abs(high) or 1.0
    if measure.ideal is not None and min(abs(measure.ideal - low), abs(measure.ideal - high)) <= 4 * width:
        low, high = min(low, measure.ideal), max(high, measure.ideal)
    return (low, high) if high > low else (low - width / 2, high + width / 2)


def render_html(record: Record, pictures: Mapping[str, Plot] | None = None) -> str:
    """Write the report of any command as an HTML page without scripts that loads nothing.

    Names and texts from the results are escaped: a model's name cannot bring in markup or script. The picture of the
    first screen needs no extra library; those of a method need matplotlib and are left out without it.

    Args:
        record: of any command.
        pictures: those of the method, where they are drawn already; None draws them, where matplotlib is installed.

    Returns:
        The page as text; the same record gives the same text.

    Raises:
        ImportError: jinja2 (the extra ``report``) is not installed.
    """
    if pictures is None:
        pictures = figures(record) if find_spec("matplotlib") is not None else {}
    summary = summarize(record)
    return from_template(
        "report",
        record=record,
        subject=[f"{key}: {joined(value)}" for key, value in record.subject.items()],
        summary=summary,
        strips=strips(record),
        shown=shown_arms(record),
        findings=finding_lists(summary),
        disclaimer=DISCLAIMER,
        tables=tables(record),
        figures=pictures,
        facts=facts(record),
        conventions=conventions(record),
        version=hf_fairness.__version__,
    )


def from_template(name: str, **values: Any) -> str:
    """A page by one of our templates; all text in the values is escaped.

    Raises:
        ImportError: jinja2 (the extra ``report``) is not installed.
    """
    jinja2 = require("jinja2")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = resources.files("hf_fairness.report").joinpath("templates").joinpath(f"{name}.html.jinja2")
    page: str = environment.from_string(source.read_text(encoding="utf-8")).render(**values)
    return page
