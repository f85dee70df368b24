"""A record as one self-contained HTML page, by one template for every command, and the picture of its first screen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from hf_fairness.record import Arm, Interval, Measure, Record
from hf_fairness.report.plots import Plot, figures
from hf_fairness.report.render import render, view
from hf_fairness.report.summary import capital, ideal_text, main_pairs, with_interval
from hf_fairness.report.tables import shown_arms

#: More rows than this are no picture any more; the tables have the rest.
MOST = 16
#: In which order measures are listed, and models are drawn.
KINDS = ("bias", "utility", "information")
ORDER = {"original": 0, "control": 1, "method": 2}
#: Room beside both ends of an axis, in per cent.
EDGE = 4


@dataclass(frozen=True)
class Strip:
    """One row of the first picture: a measure on an axis of its own, from the original to the method.

    Attributes:
        measure: of the row.
        arms: models in the order in which they are drawn, the last one on top.
        verdict: of the method against the original; empty without one.
    """

    measure: Measure
    arms: tuple[Arm, ...]
    verdict: str

    @cached_property
    def axis(self) -> Interval:
        """Its left and its right end: all values and intervals, and the ideal where it does not dwarf them."""
        values, ideal = [self.measure.values[arm.name] for arm in self.arms], self.measure.ideal
        ends = [end for value in values for end in (value.value, *(value.ci95 or ()))]
        low, high = min(ends), max(ends)
        width = high - low or abs(high) or 1.0
        if ideal is not None and min(abs(ideal - low), abs(ideal - high)) <= 4 * width:
            low, high = min(low, ideal), max(high, ideal)
        return (low, high) if high > low else (low - width / 2, high + width / 2)

    def at(self, value: float | None) -> float | None:
        """Place of a number, in per cent of the axis from the left; None for one that lies off it."""
        low, high = self.axis
        if value is None or not low <= value <= high:
            return None
        return round(EDGE + (100 - 2 * EDGE) * (value - low) / (high - low), 2)

    def of(self, role: str) -> float | None:
        """Place of the model of a role."""
        values = (self.measure.values[arm.name].value for arm in self.arms if arm.role == role)
        return self.at(next(values, None))

    def ends(self) -> list[str]:
        """Both ends of the axis, with the digits that tell them apart."""
        digits = min(max(0, 1 - math.floor(math.log10(self.axis[1] - self.axis[0]))), 6)
        return [f"{end:.{digits}f}".replace("-", "−") for end in self.axis]


def strips(record: Record) -> list[Strip]:
    """The rows of the picture: measures of bias, utility and information that are no part of another.

    Where all measures of bias are parts of others, the parts are shown.
    """
    arms = sorted(shown_arms(record), key=lambda arm: ORDER.get(arm.role, 3))
    known = [
        m for m in record.measures if m.kind in KINDS and m.part == "test" and any(a.name in m.values for a in arms)
    ]
    whole = [measure for measure in known if not measure.detail]
    if not any(measure.kind == "bias" for measure in whole):
        whole += [measure for measure in known if measure.kind == "bias"]
    verdicts = {measure.id: gap.verdict for measure, gap in main_pairs(record)}
    return [
        Strip(measure, tuple(arm for arm in arms if arm.name in measure.values), verdicts.get(measure.id, ""))
        for measure in sorted(whole, key=lambda measure: KINDS.index(measure.kind))[:MOST]
    ]


def render_html(record: Record, pictures: Mapping[str, Plot] | None = None) -> str:
    """Write the report of any command as an HTML page without scripts that loads nothing.

    Names and texts from the results are escaped: a model's name cannot bring in markup or script. The picture of the
    first screen needs no extra; those of a method need matplotlib (the extra ``report``) and are left out without it.

    Args:
        record: of any command.
        pictures: those of the method, where they are drawn already; None draws them, where matplotlib is installed.

    Returns:
        The page as text; the same record gives the same text.
    """
    return render(
        "report.html",
        **view(record),
        strips=strips(record),
        shown=shown_arms(record),
        figures=figures(record, needed=False) if pictures is None else pictures,
        capital=capital,
        ideal_text=ideal_text,
        with_interval=with_interval,
    )
