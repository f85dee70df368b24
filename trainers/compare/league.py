"""From measures of many methods over seeds to claims: which stand, which fall, which cannot be decided at this n.

A claim says of one method and one measure what the publication of a method says of it: that it *lowers* a measure of
bias (or what a probe can read), or that it *keeps* a measure of utility. It is held against the original model and,
where there is one, against its control, which lacks what the method is for:

* "lowers" stands where the measure is nearer to its ideal than the original's and than the control's; it falls where
  it is further from it than either.
* "keeps" stands where less is lost than a margin, and falls where more is lost.
* Else, and where a difference is smaller than two seeds of one training differ, nothing is decided.

Each claim has one p-value, of the direction in which it points; Holm's adjustment is over all claims of the table. A
p-value belongs to the interval of the record: it is the level at which the interval, over other seeds and other items
both, just reaches 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri, stdtrit

from hf_fairness.record import Arm, Gap, Measure, Record, Table, Value, cost
from hf_fairness.report.summary import short_title
from hf_fairness.report.text import ABSENT, format_value
from hf_fairness.scores.multiple_tests import holm

Status = Literal["stands", "falls", "cannot be decided"]
#: Kinds of measures about which there are claims, with what is claimed.
CLAIMS = {"bias": "lowers", "information": "lowers", "utility": "keeps"}
MARKS: dict[Status, str] = {"stands": "✓", "falls": "✗", "cannot be decided": "?"}
LEVEL = 0.05
#: Half widths of 95 % intervals in standard errors of a normal distribution.
_Z = float(-ndtri(0.025))
#: The least p-value that is told from 0.
_LEAST = 1e-300


@dataclass(frozen=True)
class Claim:
    """What is claimed of a method on a measure, and what became of it.

    Attributes:
        arm: name of the method.
        measure: id of the measure; ``title``: in words.
        says: ``"lowers"`` or ``"keeps"``.
        gain: how much nearer to the ideal than the original's; negative: further from it.
        over_control: the same against its control; None without one.
        p_value: of the direction in which the claim points, adjusted by Holm over all claims; None: no interval.
        status: what became of it.
    """

    arm: str
    measure: str
    title: str
    says: str
    gain: float
    over_control: float | None
    p_value: float | None
    status: Status


@dataclass(frozen=True)
class Gain:
    """How much nearer to the ideal one model is than another.

    Attributes:
        mean: over seeds; above 0 is nearer.
        error: standard error over seeds.
        n_seeds: of them.
        widths: half widths of the 95 % interval over items, below and above the mean; None where nothing has one.
    """

    mean: float
    error: float
    n_seeds: int
    widths: tuple[float, float] | None

    def p_value(self, margin: float = 0.0) -> float | None:
        """Two-sided p-value of the difference being ``-margin``: the level at which the interval reaches it."""
        if self.widths is None:
            return None
        away = self.mean + margin
        items = self.widths[0 if away > 0 else 1] / _Z

        def short(log_level: float) -> float:
            """How far the interval of a level is from reaching it."""
            tail = math.exp(log_level) / 2
            over = -float(stdtrit(self.n_seeds - 1, tail)) * self.error if self.error else 0.0
            return math.hypot(over, -float(ndtri(tail)) * items) - abs(away)

        if away == 0.0:
            return 1.0
        least = math.log(_LEAST)
        return 0.0 if short(least) < 0 else math.exp(brentq(short, least, 0.0))


def gain(measures: Sequence[Measure], gaps: Sequence[Gap]) -> Gain:
    """How much nearer to the ideal an arm is than the one that it is compared with.

    Args:
        measures: the measure in the record of each seed.
        gaps: the comparison in each, in the same order.

    Returns:
        Mean over seeds. Widths are those of the paired comparison; where it has none, or where the two values lie on
        both sides of the ideal, those of both values together, as if they had been measured on different items.
    """
    each = [_one(measure, gap) for measure, gap in zip(measures, gaps, strict=True)]
    values = np.array([value for value, _ in each])
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
    widths = [width for _, width in each if width is not None]
    below, above = (math.sqrt(np.mean([width[side] ** 2 for width in widths or [(0.0, 0.0)]])) for side in (0, 1))
    return Gain(float(values.mean()), error, len(values), (below, above) if widths else None)


def _one(measure: Measure, gap: Gap) -> tuple[float, tuple[float, float] | None]:
    """Gain of one seed and its half widths, below and above."""
    if measure.direction == "none":  # a share of 1 that can only fall
        measure = replace(measure, direction="higher")
    before, after = measure.values[gap.against], measure.values[gap.arm]
    centre = measure.ideal or 0.0
    gained = _cost(before, measure) - _cost(after, measure)
    places = (before.value - centre, after.value - centre)
    one_side = places[0] * places[1] > 0
    if gap.ci95 is not None and (measure.direction != "zero" or one_side):
        up = measure.direction == "higher" or (measure.direction == "zero" and places[1] < 0)
        ends = sorted(end if up else -end for end in gap.ci95)
        return gained, (max(gained - ends[0], 0.0), max(ends[1] - gained, 0.0))
    halves = [max(value.value - value.ci95[0], value.ci95[1] - value.value) for value in (before, after) if value.ci95]
    return gained, (math.hypot(*halves), math.hypot(*halves)) if len(halves) == 2 else None


def _cost(value: Value, measure: Measure) -> float:
    return cost(value.value, measure.ideal, measure.direction)


def claims(seeds: Sequence[Record], controls: Mapping[str, str], *, margin: float) -> list[Claim]:
    """Every claim of every method, with Holm's adjustment over all of them.

    Args:
        seeds: one record per seed, of the same arms and measures.
        controls: by name of a method that of its control; of controls themselves nothing is claimed.
        margin: what of a measure of utility may be lost so that it counts as kept.

    Returns:
        Claims by measure in the order of the record, then by arm.
    """
    first, by_name = seeds[0], {arm.name: arm for arm in seeds[0].arms}
    original = first.arm("original")
    assert original is not None
    found: list[tuple[Claim, float | None, bool]] = []
    for measure in first.measures:
        unjudged = measure.direction == "none" and measure.kind != "utility"
        if measure.kind not in CLAIMS or measure.detail or measure.part != "test" or unjudged:
            continue
        for arm in first.arms:
            if arm.role in ("original", "control") or (against := _gain(seeds, measure, arm, original)) is None:
                continue
            control = by_name.get(controls.get(arm.name, ""))
            over = None if control is None else _gain(seeds, measure, arm, control)
            says = CLAIMS[measure.kind]
            p_value, stands = _points(says, against, over, margin)
            if says == "lowers" and abs(against.mean) < measure.noise:
                p_value = 1.0
            claim = Claim(
                *(arm.name, measure.id, measure.title, says, against.mean, over.mean if over else None),
                *(None, "cannot be decided"),
            )
            found.append((claim, p_value, stands))
    known = [p_value for _, p_value, _ in found if p_value is not None]
    adjusted = iter(holm(known))
    return [_decided(claim, None if p is None else next(adjusted), stands) for claim, p, stands in found]


def _gain(seeds: Sequence[Record], measure: Measure, arm: Arm, against: Arm) -> Gain | None:
    """The gain of an arm over another on a measure; None where a seed lacks the comparison."""
    by_seed = [next((each for each in record.measures if each.id == measure.id), None) for record in seeds]
    gaps = [each and record.gap(each, arm, against) for record, each in zip(seeds, by_seed, strict=True)]
    if None in by_seed or None in gaps:
        return None
    return gain([each for each in by_seed if each], [each for each in gaps if each])


def _points(says: str, against: Gain, over: Gain | None, margin: float) -> tuple[float | None, bool]:
    """The p-value of the direction in which a claim points, and whether it points to standing."""
    if says == "keeps":  # one-sided against the margin
        p_value = against.p_value(margin)
        return None if p_value is None else p_value / 2, against.mean > -margin
    gains = [each for each in (against, over) if each is not None]
    p_values = {each: each.p_value() for each in gains}
    if any(p_value is None for p_value in p_values.values()):
        return None, False
    if all(each.mean > 0 for each in gains):
        return max(p for p in p_values.values() if p is not None), True
    worse = [p for each, p in p_values.items() if p is not None and each.mean <= 0]
    return min(1.0, len(gains) * min(worse)), False


def _decided(claim: Claim, p_value: float | None, stands: bool) -> Claim:
    status: Status = "cannot be decided"
    if p_value is not None and p_value < LEVEL:
        status = "stands" if stands else "falls"
    values = {**vars(claim), "p_value": p_value, "status": status}
    return Claim(**values)


def league_table(
    record: Record,
    found: Iterable[Claim],
    costs: Mapping[str, Mapping[str, Any]],
    margin: float,
    failed: Sequence[str] = (),
) -> Table:
    """One row per model: what it costs, and each measure about which there is a claim, with what became of the claim.

    Args:
        record: of all seeds.
        found: the claims.
        costs: by arm ``seconds`` of its making and ``peak_memory_mib``.
        margin: of the claims about utility.
        failed: titles of models that could not be made or measured.

    Returns:
        The table, the model with most claims that stand first, the original above all.
    """
    by_place = {(claim.arm, claim.measure): claim for claim in found}
    ids = list(dict.fromkeys(measure for _, measure in by_place))
    shown = [measure for measure in record.measures if measure.id in ids]
    short = [short_title(measure) for measure in shown]
    titles = (name if short.count(name) == 1 else each.title for name, each in zip(short, shown, strict=True))
    rows = [("Model", "Claims", *titles, "Time", "Memory")]

    def counts(arm: Arm) -> dict[str, int]:
        statuses = [claim.status for claim in by_place.values() if claim.arm == arm.name]
        return {status: statuses.count(status) for status in MARKS if status in statuses}

    ranked = sorted(
        record.arms,
        key=lambda arm: (arm.role != "original", counts(arm).get("falls", 0) - counts(arm).get("stands", 0)),
    )
    for arm in ranked:
        cells = []
        for measure in shown:
            value, claim = measure.values.get(arm.name), by_place.get((arm.name, measure.id))
            text = ABSENT if value is None else format_value(value.value, value.ci95)
            cells.append(f"{text} {MARKS[claim.status]}" if claim else text)
        said = " ".join(f"{MARKS[status]} {n}" for status, n in counts(arm).items())  # type: ignore[index]
        spent = costs.get(arm.name, {})
        units = {"seconds": "s", "peak_memory_mib": "MiB"}
        numbers = [f"{spent[key]:,.0f} {unit}" if key in spent else ABSENT for key, unit in units.items()]
        rows.append((arm.title, said or ABSENT, *cells, *numbers))
    rows += [(title, "failed", *[ABSENT] * (len(shown) + 2)) for title in failed]
    return Table(
        "League table",
        tuple(rows),
        "✓ the claim stands: bias (or what a probe reads) is lower than that of the original and of the method's "
        f"control; of utility less than {margin:g} is lost. ✗ it falls: the measure is further from its ideal than one "
        "of them, or more is lost. ? cannot be decided at this n. Holm over all claims of the table; brackets: 95 % "
        "intervals over seeds and items. Time: of the making; memory: the most that the process grew by meanwhile.",
    )


def pareto(record: Record, bias: str, utility: str) -> dict[str, Any] | None:
    """Bias against utility of every model, with intervals both ways, as data of a picture.

    Args:
        record: of all seeds.
        bias: id of the measure across.
        utility: id of the measure upwards.

    Returns:
        The picture; None where the record lacks one of the measures.
    """
    by_id = {measure.id: measure for measure in record.measures}
    if bias not in by_id or utility not in by_id:
        return None
    across, up = by_id[bias], by_id[utility]
    series = {}
    for arm in record.arms:
        x, y = across.values.get(arm.name), up.values.get(arm.name)
        if x and y:
            ends = [*(x.ci95 or (x.value, x.value)), *(y.ci95 or (y.value, y.value))]
            series[arm.title] = [[x.value, y.value, *ends]]
    original = record.arm("original")
    return {
        "kind": "scatter",
        "title": "Bias against utility",
        "caption": "Each point is a model; less bias is to the left, more utility above. Lines: 95 % intervals over "
        "seeds and items. A model is only better than another if it is both further left and not lower.",
        "x_label": across.title,
        "y_label": up.title,
        "series": series,
        "grey": [original.title] if original else [],
        "description": "Bias against utility. "
        + "; ".join(f"{name}: {points[0][0]:.3f}, {points[0][1]:.3f}" for name, points in series.items())
        + ".",
    }
