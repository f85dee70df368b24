"""The findings of a record in plain words, by fixed rules: what changed most, what it cost, what the control did."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hf_fairness.record import Arm, Gap, Measure, Record, Value, cost
from hf_fairness.report.text import format_change, format_interval, format_number, format_value, relative_change

#: Verdicts that say whether a measure is better or worse, with what counts say of them.
JUDGED = {
    "improved": "improved",
    "worse": "got worse",
    "no clear change": "did not clearly change",
    "no interval": "cannot be decided",
}
#: Kinds of measures that are counted: one of them, and several.
_COUNTED = {
    "bias": ("measure of bias", "measures of bias"),
    "utility": ("measure of utility", "measures of utility"),
    "information": ("probe", "probes"),
}

#: What is said of the cost, by the first of these verdicts that any measure of utility has.
_COST = {
    "worse": "It cost: {}",
    "improved": "No measure of utility clearly fell",
    "no clear change": "No measure of utility clearly fell",
    "no interval": "What it cost cannot be told without intervals: {}",
    "not judged": "Beside it: {}",
}

#: A measure and the comparison of two models on it.
Pair: TypeAlias = tuple[Measure, Gap]


@dataclass(frozen=True)
class Summary:
    """What a reader should know before looking at any table.

    Attributes:
        headline: what changed most, what it cost and what the control did, in one sentence or two.
        counts: how many measures improved, got worse and so on; empty without a comparison.
        worse: one sentence for each measure that got clearly worse.
        improved: one for each that clearly improved.
        unclear: one for each without a clear change; parts of other measures stand in the tables only.
        undecided: one for each that has no interval on one side, with the direction in which it moved.
        measured: for a single model, one sentence for each measure.
        others: one sentence for each model that the method was compared with beside the original.
        cautions: what changes how the numbers are to be read.
    """

    headline: str
    counts: str = ""
    worse: tuple[str, ...] = ()
    improved: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


def summarize(record: Record) -> Summary:
    """Sort the comparisons of a record into findings.

    Every measure with a verdict of the method against the original stands in one list, or is a part of another measure
    whose change is not clear; so nothing that got clearly worse can be left out.

    Args:
        record: any.

    Returns:
        Sentences by verdict, and cautions.
    """
    pairs = list(main_pairs(record))
    if not pairs:
        shown = [measure for measure in record.measures if measure.kind != "context" and not measure.detail]
        return Summary(
            headline=_single_headline(record, len(shown) or len(record.measures)),
            measured=tuple(map(_single_sentence, shown)) if len(record.arms) == 1 else (),
            others=tuple(_beside(record)),
            cautions=record.cautions,
        )
    told = [(measure, gap) for measure, gap in pairs if not (measure.detail and gap.verdict.startswith("no "))]
    improved, worse, unclear, undecided = (
        tuple(change_sentence(measure, gap) for measure, gap in told if gap.verdict == verdict) for verdict in JUDGED
    )
    return Summary(
        headline=_headline(record, pairs),
        counts=_counts(pairs),
        worse=worse,
        improved=improved,
        unclear=unclear,
        undecided=undecided,
        others=tuple(_beside(record)),
        cautions=(*record.cautions, *_cautions(record, pairs)),
    )


def main_pairs(record: Record) -> Iterator[Pair]:
    """Measures with the comparison of the method and the original model."""
    return _against(record, record.arm("original"))


def _against(record: Record, arm: Arm | None) -> Iterator[Pair]:
    """Measures with the comparison of the method and another model."""
    method = record.arm("method")
    return ((measure, gap) for measure in record.measures if (gap := record.gap(measure, method, arm)))


def with_interval(value: Value) -> str:
    """A number and its interval."""
    return format_value(value.value, value.ci95)


def ideal_text(measure: Measure) -> str:
    """The best value in words; empty where there is none."""
    if measure.direction == "chance":
        return f"chance is {format_number(measure.ideal)}"
    if measure.ideal is not None:
        return f"ideal {measure.ideal:g}"
    return "higher is better" if measure.direction == "higher" else ""


def p_text(gap: Gap) -> str:
    """The p-value and how it was adjusted; empty where there is none."""
    return "" if gap.p_value is None else f"{gap.p_value:.2g}" + (f" ({gap.p_adjusted})" if gap.p_adjusted else "")


def change_text(measure: Measure, gap: Gap) -> str:
    """A difference in numbers, with its share of the value before and its interval."""
    before, after, of_size = measure.values[gap.against], measure.values[gap.arm], measure.direction == "zero"
    relative = relative_change(before.value, after.value, of_size=of_size)
    return f"{format_change(gap.difference, relative, of_size=of_size)} {format_interval(gap.ci95)}".strip()


def change_sentence(measure: Measure, gap: Gap) -> str:
    """One comparison in a sentence."""
    values = " → ".join(with_interval(measure.values[name]) for name in (gap.against, gap.arm))
    p_value = f", p = {p_text(gap)}" if p_text(gap) else ""
    moved = ""
    if gap.verdict == "no interval":
        way = f"moved the {'wrong' if _closed(measure, gap) < 0 else 'right'} way" if gap.difference else "unchanged"
        moved = f"{way}, but without an interval that tells it from noise"
    return _sentence(
        f"{measure.title}: {values}, change {change_text(measure, gap)}{p_value}", ideal_text(measure), moved
    )


def capital(text: str) -> str:
    """The same with a capital at its start."""
    return text[:1].upper() + text[1:]


def _sentence(*parts: str) -> str:
    return capital("; ".join(filter(None, parts))) + "."


def _single_sentence(measure: Measure) -> str:
    value = next(iter(measure.values.values()))
    off = _off(measure, value)
    where = {
        "zero": "the interval excludes it" if off else "the interval holds it",
        "chance": "above chance" if off else "not told from chance",
    }
    said = where.get(measure.direction, "") if value.ci95 else "no interval was given"
    return _sentence(f"{measure.title}: {with_interval(value)}", ideal_text(measure), said)


def _off(measure: Measure, value: Value) -> bool:
    """Whether the interval of a value lies off the ideal; below chance is not off."""
    low, high = value.ci95 or (-math.inf, math.inf)
    return low > (measure.ideal or 0.0) or (high < (measure.ideal or 0.0) and measure.direction != "chance")


def _single_headline(record: Record, n: int) -> str:
    if record.outcome or not n:
        return record.outcome or "Nothing was measured."
    if len(record.arms) > 1:
        return "The models were measured; there is none to compare them with."
    values = [
        (measure, next(iter(measure.values.values())))
        for measure in record.measures
        if measure.kind == "bias" and measure.direction == "zero" and measure.ideal is not None
    ]
    clear = [(measure, value) for measure, value in values if _off(measure, value)]
    if not clear:
        return f"{n} measure{'s' if n > 1 else ''} of one model; nothing to compare with."
    most, value = max(clear, key=lambda pair: abs(pair[1].value - (pair[0].ideal or 0.0)))
    return (
        f"Of {len(values)} tests of association, {len(clear)} differ clearly from the ideal; furthest is "
        f"{most.title}: {with_interval(value)}, ideal {most.ideal:g}. There is nothing to compare this model with."
    )


def _headline(record: Record, pairs: list[Pair]) -> str:
    """What changed most, what the control did, whether a measure of bias got worse, and what it cost."""
    bias = [(measure, gap) for measure, gap in pairs if measure.kind == "bias"]
    better = [(measure, gap) for measure, gap in bias if gap.verdict == "improved" and measure.part == "test"]
    worse = [measure.title for measure, gap in bias if gap.verdict == "worse"]
    judged = any(gap.verdict in JUDGED for _, gap in bias)
    changed = f"No measure of bias {'clearly improved' if judged else 'was compared'}"
    if better:  # whole measures go before parts of others
        measure, gap = max(better, key=lambda pair: (not pair[0].detail, _closed(*pair)))
        way = f" ({100 * _closed(measure, gap):.0f}\N{NO-BREAK SPACE}% of the way to {measure.ideal or 0:g})"
        changed = f"Changed most: {_moved(measure, gap)}{way if measure.ideal is not None else ''}"
        changed += f". {_control_part(record, measure)}"
    rose = f"Clearly worse: {worse[0]}{_and_more(worse)}" if worse else ""
    return ". ".join(filter(None, (record.outcome.rstrip("."), changed, rose, _cost_part(pairs)))) + "."


def _and_more(found: Sequence[object]) -> str:
    return f", and {len(found) - 1} more" if len(found) > 1 else ""


def _moved(measure: Measure, gap: Gap) -> str:
    return f"{measure.title}, " + " → ".join(format_number(measure.values[n].value) for n in (gap.against, gap.arm))


def _closed(measure: Measure, gap: Gap) -> float:
    """The share of the distance to the ideal that is gone; negative where the method is further from it."""
    before, after = (measure.values[name].value for name in (gap.against, gap.arm))
    nearer = cost(before, measure.ideal, measure.direction) - cost(after, measure.ideal, measure.direction)
    return nearer / (abs(before - (measure.ideal or 0.0)) or 1.0)


def _control_part(record: Record, measure: Measure) -> str:
    control = record.arm("control")
    if control is None or control.name not in measure.values:
        reason = record.no_control.rstrip(".") if control is None else ""
        return reason or "There is no control to say how much of it any training would have done"
    gap = record.gap(measure, record.arm("method"), control)
    said = {"improved": "clearly further from the ideal", "worse": "clearly nearer to the ideal"}
    sure = said.get(gap.verdict if gap else "", "which cannot be told from it")
    return f"The control came to {format_number(measure.values[control.name].value)}, {sure}"


def _cost_part(pairs: list[Pair]) -> str:
    compared = [(measure, gap) for measure, gap in pairs if measure.kind == "utility"]
    useful = [(measure, gap) for measure, gap in compared if measure.part == "test"]
    if not useful:
        return f"What it cost was {'measured on validation data only' if compared else 'not measured'}"
    verdict = min((gap.verdict for _, gap in useful), key=list(_COST).index)
    alike = [pair for pair in useful if pair[1].verdict == verdict]
    if verdict == "worse":
        alike.sort(key=lambda pair: (pair[0].detail, _closed(*pair)))
    return _COST[verdict].format(_moved(*alike[0])) + (_and_more(alike) if verdict == "worse" else "")


def _counts(pairs: list[Pair]) -> str:
    parts = []
    for kind, (one, several) in _COUNTED.items():
        found = [gap.verdict for measure, gap in pairs if measure.kind == kind and gap.verdict in JUDGED]
        counts = ", ".join(f"{found.count(verdict)} {text}" for verdict, text in JUDGED.items() if verdict in found)
        none = "" if kind == "information" else f"no {several} were judged"
        parts.append(f"of {len(found)} {several if len(found) > 1 else one}, {counts}" if found else none)
    return _sentence(*parts)


def _beside(record: Record) -> Iterator[str]:
    """How the method did against every model but the original; models that it cannot be told from come last."""
    alike = []
    for arm in (arm for arm in record.arms if arm.role != "original"):
        pairs, said = list(_against(record, arm)), []
        for verdict, word in (("improved", "better"), ("worse", "worse")):
            if titles := _titles(measure for measure, gap in pairs if gap.verdict == verdict):
                said.append(f"clearly {word} on {titles}")
        rest = sum(gap.verdict == "no clear change" and not measure.detail for measure, gap in pairs)
        if said and rest:
            said.append(f"no clear difference on {rest} more")
        if said:
            yield f"Against {arm.title}: {'; '.join(said)}."
        elif rest:
            alike.append(arm.title)
    if alike:
        yield f"No clear difference on any measure from: {', '.join(alike)}."


def _titles(measures: Iterable[Measure]) -> str:
    return " · ".join(map(short_title, measures))


def short_title(measure: Measure) -> str:
    """The usual short name of a measure with its set, where its title has one in brackets.

    Example:
        >>> from hf_fairness.record import Measure
        >>> short_title(Measure("i", "s", "m", "gap between groups (CCED): news", "bias", 0.0, "lower", {}))
        'CCED: news'
    """
    found = re.search(r"\(([^()]*)\)(:.*)?$", measure.title)
    return measure.title if found is None else f"{found[1]}{found[2] or ''}"


def _cautions(record: Record, pairs: list[Pair]) -> Iterator[str]:
    control = record.arm("control")
    if control is None:
        yield record.no_control or (
            "No control was measured (training that lacks what the method asks for), so it stays open how much of the "
            "change any training on these data would have made."
        )
    better = [measure for measure, gap in pairs if gap.verdict == "improved"]
    same = [measure for measure, gap in _against(record, control) if measure in better and gap.verdict != "improved"]
    if same:
        yield (
            f"The method is not clearly better than the control on: {_titles(same)}. There the improvement may come "
            "from the training as such."
        )
    if not any(measure.kind == "utility" for measure, _ in pairs):
        yield "No utility was compared, so it stays open what the change cost."
    before, after = pairs[0][1].against, pairs[0][1].arm
    if lost := [m.title for m in record.measures if before in m.values and after not in m.values]:
        yield f"Measured before but not after: {' · '.join(lost)}."
