"""The before/after table: what changed, which way is better, and whether the change is clear.

The rule of the verdict, for every measure with a direction:

1. If an interval of the paired difference is given, the change is clear when that interval excludes 0. For a
   signed measure whose ideal is 0 this holds only while both values lie on one side of 0; when the sign
   flips, rule 2 decides.
2. Otherwise the change is clear when the two 95 % intervals of the distance to the ideal do not overlap. This
   is conservative: intervals may overlap a little although a paired test would tell the two apart.
3. A change of a SEAT effect size below .15 is never clear: two seeds of one training differ by that much.
4. Without intervals on both sides nothing is decided; the verdict is ``"no interval"``, and a move in the
   wrong direction is still named in the summary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from hf_fairness.report.schema import AuditLike
from hf_fairness.report.text import ABSENT, format_change, format_number
from hf_fairness.report.values import DIRECTION_TEXT, Direction, Interval, Kind, Value, interval, read_values

Verdict: TypeAlias = Literal["improved", "worse", "no clear change", "no interval", "no comparison", "not judged"]


@dataclass(frozen=True)
class Row:
    """One line of the before/after table.

    Attributes:
        id: path of the number in the audit; ``set``, ``metric``, ``label``, ``kind`` as in the measurement.
        before: value of the original model, None where not measured; ``after`` and ``control`` alike.
        before_ci95: 95 % interval of ``before``; ``after_ci95`` and ``control_ci95`` alike.
        change: after minus before.
        change_relative: the change as a fraction of the value before, for ``"zero"`` of its magnitude; None
            where the value before is 0, and for other measures where a value is negative.
        change_ci95: interval of the paired difference where given.
        ideal: value of a perfect encoder, None where there is none.
        direction: ``"lower"``, ``"higher"``, ``"zero"``, ``"chance"`` or ``"none"``.
        verdict: see the rule at the top of this module.
        basis: what the verdict rests on.
        versus_control: the same rule with the control in place of ``before``: ``"improved"`` means that the
            method did better than the same training without it.
        sample: sample sizes in words.
        extras: further numbers by name, before and after.
    """

    id: str
    set: str
    metric: str
    label: str
    kind: Kind
    before: float | None
    before_ci95: Interval | None
    after: float | None
    after_ci95: Interval | None
    control: float | None
    control_ci95: Interval | None
    change: float | None
    change_relative: float | None
    change_ci95: Interval | None
    ideal: float | None
    direction: Direction
    verdict: Verdict
    basis: str
    versus_control: Verdict
    sample: str = ""
    extras: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)

    @property
    def direction_text(self) -> str:
        """Which way is better, in words."""
        return DIRECTION_TEXT[self.direction]

    @property
    def change_text(self) -> str:
        """The change in numbers, with its percentage."""
        return format_change(self.change, self.change_relative, of_size=self.direction == "zero")

    @property
    def ideal_text(self) -> str:
        """The ideal value in words, a dash where there is none."""
        if self.direction == "chance":
            return f"chance ({format_number(self.ideal)})"
        return ABSENT if self.ideal is None else f"{self.ideal:g}"

    @property
    def extras_text(self) -> list[str]:
        """The further numbers, each with its name, before and after."""
        return [
            f"{name} {format_number(new)}"
            if self.before is None
            else f"{name} {format_number(old)} → {format_number(new)}"
            for name, (old, new) in self.extras.items()
        ]

    @property
    def title(self) -> str:
        """Name of the measure with its set."""
        return f"{self.label} ({self.set})" if self.set else self.label


def _cost(value: float, ideal: float | None, direction: Direction) -> float:
    """How far a value is from the best one: smaller is better whatever the direction."""
    if direction == "higher":
        return -value
    if direction == "zero":
        return abs(value - (ideal or 0.0))
    if direction == "chance":
        return max(value - (ideal or 0.0), 0.0)
    return value


def _cost_interval(ci95: Interval, ideal: float | None, direction: Direction) -> Interval:
    ends = sorted(_cost(end, ideal, direction) for end in ci95)
    if direction == "zero" and ci95[0] <= (ideal or 0.0) <= ci95[1]:
        return 0.0, ends[1]
    return ends[0], ends[1]


def judge(before: Value, after: Value, change_ci95: Interval | None = None) -> tuple[Verdict, str]:
    """Whether a measure got better or worse between two audits.

    Args:
        before: the earlier measurement (or that of the control).
        after: the later measurement of the same metric.
        change_ci95: 95 % interval of the paired difference after minus before, if known.

    Returns:
        The verdict and what it rests on, by the rule at the top of this module.
    """
    direction, ideal = after.direction, after.ideal
    if direction == "none":
        return "not judged", "this number has no better direction"
    difference = _cost(after.value, ideal, direction) - _cost(before.value, ideal, direction)
    if abs(difference) < after.noise:
        return "no clear change", f"smaller than {after.noise:g}, the difference between two training seeds"
    centre = ideal or 0.0
    same_side = (before.value - centre) * (after.value - centre) > 0
    if change_ci95 is not None and (direction != "zero" or same_side):
        if change_ci95[0] <= 0.0 <= change_ci95[1] or difference == 0.0:
            return "no clear change", "the interval of the paired difference holds 0"
        return ("improved" if difference < 0 else "worse"), "the interval of the paired difference excludes 0"
    if before.ci95 is None or after.ci95 is None:
        return "no interval", "an interval is missing, so nothing can be decided"
    old = _cost_interval(before.ci95, ideal, direction)
    new = _cost_interval(after.ci95, ideal, direction)
    if new[1] < old[0]:
        return "improved", "the 95 % intervals do not overlap"
    if new[0] > old[1]:
        return "worse", "the 95 % intervals do not overlap"
    return "no clear change", "the 95 % intervals overlap"


def _against_itself(value: Value) -> Value:
    """What the original encoder has when compared with itself: exactly 1, without uncertainty."""
    return replace(value, value=1.0, ci95=(1.0, 1.0), change_ci95=None)


def _relative(before: Value, after: Value) -> float | None:
    old, new = before.value, after.value
    if after.direction == "zero":
        old, new = abs(old), abs(new)
    elif old < 0 or new < 0:
        return None  # a share of a signed number misleads
    return (new - old) / abs(old) if abs(old) > 1e-12 else None


def _row(id_: str, before: Value | None, after: Value | None, control: Value | None, paired: Interval | None) -> Row:
    known = after or before or control
    assert known is not None  # ids come from one of the three
    verdict: Verdict = "no comparison"
    versus_control: Verdict = "no comparison"
    basis = "measured on one side only" if before or control else "a single audit"
    change = relative = None
    if before and after:
        paired = paired or after.change_ci95
        verdict, basis = judge(before, after, paired)
        change, relative = after.value - before.value, _relative(before, after)
    elif known.direction == "none":
        verdict, basis = "not judged", "this number has no better direction"
    if control and after:
        versus_control, _ = judge(control, after)
    names = dict.fromkeys([*(before.extras if before else ()), *(after.extras if after else ())])
    return Row(
        id=id_,
        set=known.set,
        metric=known.metric,
        label=known.label,
        kind=known.kind,
        before=before.value if before else None,
        before_ci95=before.ci95 if before else None,
        after=after.value if after else None,
        after_ci95=after.ci95 if after else None,
        control=control.value if control else None,
        control_ci95=control.ci95 if control else None,
        change=change,
        change_relative=relative,
        change_ci95=paired if change is not None else None,
        ideal=known.ideal,
        direction=known.direction,
        verdict=verdict,
        basis=basis,
        versus_control=versus_control,
        sample=known.sample,
        extras={
            name: (before.extras.get(name) if before else None, after.extras.get(name) if after else None)
            for name in names
        },
    )


def delta_table(
    after: AuditLike,
    before: AuditLike | None = None,
    control: AuditLike | None = None,
    *,
    paired: Mapping[str, Sequence[float]] | None = None,
) -> list[Row]:
    """Line up an audit with those of the original model and of the control.

    A pure function: the same dicts give the same rows. Measures found on one side only are kept, with the
    verdict ``"no comparison"``. Similarity structure compares with the original model, whose own value is 1
    by definition and is filled in.

    Args:
        after: audit of the model at hand.
        before: audit of the original model, if there is one.
        control: audit of the control, if there is one.
        paired: 95 % intervals ``[low, high]`` of the difference after minus before on the same items, by row
            id (for example ``"cced/built-in/cced"``); they go before ``<key>_change_ci95`` of the audit.

    Returns:
        Rows in the order of the report: SEAT, CCED, probes, utility.

    Raises:
        TypeError: an audit is no mapping.
        ValueError: ``paired`` names a row that does not exist, or holds no interval.

    Example:
        >>> old = {"probe": {"linear": {"accuracy": 0.9, "accuracy_ci95": [0.88, 0.92], "chance": 0.5}}}
        >>> new = {"probe": {"linear": {"accuracy": 0.6, "accuracy_ci95": [0.56, 0.64], "chance": 0.5}}}
        >>> [(row.id, row.verdict) for row in delta_table(new, old)]
        [('probe/linear/accuracy', 'improved')]
    """
    sides: list[dict[str, Value]] = [
        {} if audit is None else {value.id: value for value in read_values(audit)} for audit in (before, after, control)
    ]
    key = "utility/similarity_structure"
    if before is not None and key in sides[1]:
        sides[0].setdefault(key, _against_itself(sides[1][key]))
    ids = list(dict.fromkeys([*sides[1], *sides[0], *sides[2]]))
    intervals = {name: interval({"v": list(ends)}, "v") for name, ends in (paired or {}).items()}
    for name, ends in intervals.items():
        if name not in ids or ends is None:
            raise ValueError(
                f"paired: got {name!r}: {(paired or {})[name]!r}, expected an interval [low, high] of "
                f"finite numbers for one of the rows {', '.join(ids) or '(none)'}. Use the row's id as the "
                f"key."
            )
    return [_row(id_, sides[0].get(id_), sides[1].get(id_), sides[2].get(id_), intervals.get(id_)) for id_ in ids]
