"""The findings of a record in plain words, by fixed rules: what changed most, what it cost, what the control did."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hf_fairness.record import Arm, Gap, Measure, Record, Value, cost
from hf_fairness.report.text import format_change, format_interval, format_number, relative_change

#: Verdicts that say whether a measure is better or worse.
JUDGED = ("improved", "worse", "no clear change", "no interval")


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
            measured=tuple(_single_sentence(measure) for measure in shown) if len(record.arms) == 1 else (),
            others=tuple(_beside(record)),
            cautions=record.cautions,
        )
    sentences: dict[str, list[str]] = {verdict: [] for verdict in JUDGED}
    for measure, gap in pairs:
        if gap.verdict in sentences and not (measure.detail and gap.verdict.startswith("no ")):
            sentences[gap.verdict].append(change_sentence(measure, gap))
    return Summary(
        headline=_headline(record, pairs),
        counts=_counts(pairs),
        worse=tuple(sentences["worse"]),
        improved=tuple(sentences["improved"]),
        unclear=tuple(sentences["no clear change"]),
        undecided=tuple(sentences["no interval"]),
        others=tuple(_beside(record)),
        cautions=(*record.cautions, *_cautions(record, pairs)),
    )


def main_pairs(record: Record) -> Iterator[tuple[Measure, Gap]]:
    """Measures with the comparison of the method and the original model."""
    method, original = record.arm("method"), record.arm("original")
    for measure in record.measures:
        if gap := record.gap(measure, method, original):
            yield measure, gap


def with_interval(value: Value) -> str:
    """A number and its interval."""
    return " ".join(filter(None, (format_number(value.value), format_interval(value.ci95))))


def ideal_text(measure: Measure) -> str:
    """The best value in words; empty where there is none."""
    if measure.direction == "chance":
        return f"chance is {format_number(measure.ideal)}"
    if measure.ideal is not None:
        return f"ideal {measure.ideal:g}"
    return "higher is better" if measure.direction == "higher" else ""


def change_text(measure: Measure, gap: Gap) -> str:
    """A difference in numbers, with its share of the value before and its interval."""
    before, after = measure.values[gap.against], measure.values[gap.arm]
    relative = relative_change(before.value, after.value, of_size=measure.direction == "zero")
    text = format_change(gap.difference, relative, of_size=measure.direction == "zero")
    return " ".join(filter(None, (text, format_interval(gap.ci95))))


def change_sentence(measure: Measure, gap: Gap) -> str:
    """One comparison in a sentence."""
    before, after = measure.values[gap.against], measure.values[gap.arm]
    parts = [f"{capital(measure.title)}: {with_interval(before)} → {with_interval(after)}"]
    parts[0] += f", change {change_text(measure, gap)}"
    if gap.p_value is not None:
        parts[0] += f", p = {gap.p_value:.2g}" + (f" ({gap.p_adjusted})" if gap.p_adjusted else "")
    if ideal := ideal_text(measure):
        parts.append(ideal)
    if gap.verdict == "no interval":
        away = cost(after.value, measure.ideal, measure.direction) - cost(
            before.value, measure.ideal, measure.direction
        )
        moved = "unchanged" if gap.difference == 0 else "moved the wrong way" if away > 0 else "moved the right way"
        parts.append(f"{moved}, but without an interval that tells it from noise")
    return "; ".join(parts) + "."


def capital(text: str) -> str:
    """The same with a capital at its start."""
    return text[:1].upper() + text[1:]


def _single_sentence(measure: Measure) -> str:
    value = next(iter(measure.values.values()))
    parts = [f"{capital(measure.title)}: {with_interval(value)}", *filter(None, [ideal_text(measure)])]
    if value.ci95 is None:
        parts.append("no interval was given")
    elif measure.direction == "zero":
        low, high = value.ci95
        parts.append(f"the interval {'holds' if low <= (measure.ideal or 0.0) <= high else 'excludes'} it")
    elif measure.direction == "chance" and measure.ideal is not None:
        parts.append("above chance" if value.ci95[0] > measure.ideal else "not told from chance")
    return "; ".join(parts) + "."


def _single_headline(record: Record, n: int) -> str:
    if record.outcome:
        return record.outcome
    judged = [m for m in record.measures if m.kind == "bias" and m.direction == "zero" and m.ideal is not None]
    values = [(measure, next(iter(measure.values.values()))) for measure in judged]
    if not n:
        return "Nothing was measured."
    if len(record.arms) > 1:
        return "The models were measured; there is none to compare them with."
    clear = [(m, v) for m, v in values if v.ci95 is not None and not v.ci95[0] <= (m.ideal or 0.0) <= v.ci95[1]]
    if not clear:
        return f"{n} measure{'s' if n > 1 else ''} of one model; nothing to compare with."
    most, value = max(clear, key=lambda pair: abs(pair[1].value - (pair[0].ideal or 0.0)))
    return (
        f"Of {len(values)} tests of association, {len(clear)} differ clearly from the ideal; furthest is "
        f"{most.title}: {with_interval(value)}, ideal {most.ideal:g}. There is nothing to compare this model with."
    )


def _headline(record: Record, pairs: list[tuple[Measure, Gap]]) -> str:
    """What changed most, what the control did, whether a measure of bias got worse, and what it cost."""
    parts = [record.outcome.rstrip(".")] if record.outcome else []
    best = _best(pairs)
    judged = [gap for measure, gap in pairs if measure.kind == "bias" and gap.verdict in JUDGED]
    if best is None:
        parts.append("No measure of bias clearly improved" if judged else "No measure of bias was compared")
    else:
        measure, gap = best
        way = (
            f" ({100 * _closed(measure, gap):.0f}\N{NO-BREAK SPACE}% of the way to {measure.ideal:g})"
            if measure.ideal is not None
            else ""
        )
        parts += [f"Changed most: {measure.title}, {_arrow(measure, gap)}{way}", _control_part(record, measure)]
    worse = [measure.title for measure, gap in pairs if measure.kind == "bias" and gap.verdict == "worse"]
    if worse:
        parts.append(f"Clearly worse: {worse[0]}" + (f", and {len(worse) - 1} more" if len(worse) > 1 else ""))
    parts.append(_cost_part(pairs))
    return ". ".join(parts) + "."


def _arrow(measure: Measure, gap: Gap) -> str:
    return " → ".join(format_number(measure.values[name].value) for name in (gap.against, gap.arm))


def _best(pairs: list[tuple[Measure, Gap]]) -> tuple[Measure, Gap] | None:
    """The measure of bias that came furthest towards its ideal; whole measures go before parts of others."""
    better = [(m, g) for m, g in pairs if m.kind == "bias" and g.verdict == "improved" and m.part == "test"]
    whole = [pair for pair in better if not pair[0].detail] or better
    return max(whole, key=lambda pair: _closed(*pair), default=None)


def _closed(measure: Measure, gap: Gap) -> float:
    """The share of the distance to the ideal that is gone; negative where it grew."""
    before, after = (measure.values[name].value for name in (gap.against, gap.arm))
    gone = cost(before, measure.ideal, measure.direction) - cost(after, measure.ideal, measure.direction)
    distance = abs(before - (measure.ideal or 0.0))
    return gone / distance if distance > 0 else 0.0


def _control_part(record: Record, measure: Measure) -> str:
    control, method = record.arm("control"), record.arm("method")
    if control is None and record.no_control:
        return record.no_control.rstrip(".")
    if control is None or control.name not in measure.values:
        return "There is no control to say how much of it any training would have done"
    gap = record.gap(measure, method, control)
    said = {"improved": "clearly further from the ideal", "worse": "clearly nearer to the ideal"}
    sure = said.get(gap.verdict if gap else "", "which cannot be told from it")
    return f"The control came to {format_number(measure.values[control.name].value)}, {sure}"


def _cost_part(pairs: list[tuple[Measure, Gap]]) -> str:
    compared = [(measure, gap) for measure, gap in pairs if measure.kind == "utility"]
    useful = [(measure, gap) for measure, gap in compared if measure.part == "test"]
    lost = [(measure, gap) for measure, gap in useful if gap.verdict == "worse"]
    if not useful:
        return f"What it cost was {'measured on validation data only' if compared else 'not measured'}"
    if lost:
        measure, gap = min(lost, key=lambda pair: (pair[0].detail, _closed(*pair)))
        more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
        return f"It cost: {measure.title}, {_arrow(measure, gap)}{more}"
    if any(gap.verdict in ("improved", "no clear change") for _, gap in useful):
        return "No measure of utility clearly fell"
    undecided = [pair for pair in useful if pair[1].verdict == "no interval"]
    if undecided:
        measure, gap = undecided[0]
        return f"What it cost cannot be told without intervals: {measure.title}, {_arrow(measure, gap)}"
    return f"Beside it: {useful[0][0].title}, {_arrow(*useful[0])}"


def _counts(pairs: list[tuple[Measure, Gap]]) -> str:
    parts = []
    for kind, one, name in (
        ("bias", "measure of bias", "measures of bias"),
        ("utility", "measure of utility", "measures of utility"),
        ("information", "probe", "probes"),
    ):
        found = [gap.verdict for measure, gap in pairs if measure.kind == kind and gap.verdict in JUDGED]
        if not found and kind != "information":
            parts.append(f"no {name} were judged")
        if not found:
            continue
        names = {"improved": "improved", "worse": "got worse", "no clear change": "did not clearly change"}
        names["no interval"] = "cannot be decided"
        counts = [f"{found.count(key)} {text}" for key, text in names.items() if key in found]
        parts.append(f"of {len(found)} {name if len(found) > 1 else one}, {', '.join(counts)}")
    return capital("; ".join(parts)) + "."


def _beside(record: Record) -> Iterator[str]:
    """How the method did against every model but the original; models that it cannot be told from come last."""
    method, alike = record.arm("method"), []
    for arm in record.arms:
        if method is None or arm.name == method.name or arm.role == "original":
            continue
        found = [(measure, gap) for measure in record.measures if (gap := record.gap(measure, method, arm))]
        better, worse = (
            " · ".join(short_title(measure) for measure, gap in found if gap.verdict == verdict)
            for verdict in ("improved", "worse")
        )
        rest = sum(gap.verdict == "no clear change" and not measure.detail for measure, gap in found)
        if better or worse:
            said = [f"clearly better on {better}"] if better else []
            said += [f"clearly worse on {worse}"] if worse else []
            said += [f"no clear difference on {rest} more"] if rest else []
            yield f"Against {arm.title}: {'; '.join(said)}."
        elif rest:
            alike.append(arm.title)
    if alike:
        yield f"No clear difference on any measure from: {', '.join(alike)}."


def short_title(measure: Measure) -> str:
    """The usual short name of a measure with its set, where its title has one in brackets.

    Example:
        >>> from hf_fairness.record import Measure
        >>> short_title(Measure("i", "s", "m", "gap between groups (CCED): news", "bias", 0.0, "lower", {}))
        'CCED: news'
    """
    found = re.search(r"\(([^()]*)\)(:.*)?$", measure.title)
    return measure.title if found is None else f"{found[1]}{found[2] or ''}"


def _cautions(record: Record, pairs: list[tuple[Measure, Gap]]) -> Iterator[str]:
    control, method = record.arm("control"), record.arm("method")
    if control is None:
        yield record.no_control or (
            "No control was measured (training that lacks what the method asks for), so it stays open how much of the "
            "change any training on these data would have made."
        )
    else:
        yield from _control_cautions(record, pairs, method, control)
    if not any(measure.kind == "utility" for measure, _ in pairs):
        yield "No utility was compared, so it stays open what the change cost."
    original = record.arm("original")
    if lost := [m.title for m in record.measures if original and original.name in m.values and not _has(m, method)]:
        yield f"Measured before but not after: {' · '.join(lost)}."


def _has(measure: Measure, arm: Arm | None) -> bool:
    return arm is not None and arm.name in measure.values


def _control_cautions(
    record: Record, pairs: list[tuple[Measure, Gap]], method: Arm | None, control: Arm
) -> Iterator[str]:
    against = {measure.id: gap for measure, _ in pairs if (gap := record.gap(measure, method, control))}
    same = [
        short_title(measure)
        for measure, gap in pairs
        if gap.verdict == "improved" and measure.id in against and against[measure.id].verdict != "improved"
    ]
    if same:
        yield (
            f"The method is not clearly better than the control on: {' · '.join(same)}. There the improvement may come "
            "from the training as such."
        )
