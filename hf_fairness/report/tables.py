"""The tables of a record, for every form of a report: what was measured, all models, comparisons, what is special.

A cell is text; what stands below its first line is shown in smaller letters, or behind it.
"""

from __future__ import annotations

from collections.abc import Iterator

from hf_fairness.record import Arm, Gap, Measure, Record, Role, Table
from hf_fairness.report.summary import change_text, main_pairs, p_text
from hf_fairness.report.text import ABSENT, format_change, format_interval, format_number

KINDS = {
    "bias": "Bias",
    "utility": "Retained utility",
    "information": "What can be read from the model or the data",
    "context": "To read beside the others (no better direction)",
}
DIRECTIONS = {
    "lower": "↓ lower is better",
    "higher": "↑ higher is better",
    "zero": "→← nearer is better",
    "chance": "↓ nearer to chance tells less",
    "none": "no verdict",
}
MARKS = {"improved": "✓", "worse": "✗", "no clear change": "≈", "no interval": "?"}
#: Roles of the models of the main tables, in their order.
ROLES: tuple[Role, ...] = ("original", "method", "control")
#: The verdict of a comparison with another model than the original, where it has other words.
BESIDE = {"improved": "better", "no clear change": "no clear difference"}


def tables(record: Record) -> list[Table]:
    """All tables of a record in the order of the report, each with its heading first; what has no rows is left out."""
    found = []
    for kind, title in KINDS.items():
        rows = [row for measure in record.measures if measure.kind == kind and (row := cells(record, measure))]
        heading = [tuple(name for name, _ in row) for row in rows[:1]]
        found.append(Table(title, (*heading, *(tuple(text for _, text in row) for row in rows))))
    return [table for table in (*found, _all_arms(record), _comparisons(record), *record.tables) if len(table.rows) > 1]


def shown_arms(record: Record) -> list[Arm]:
    """The models of the main tables: original, method and control, or all where they are few or there is no method."""
    if record.arm("method") is None:
        return list(record.arms)
    main = [arm for role in ROLES if (arm := record.arm(role)) is not None]
    return main if len(record.arms) > 3 else [*main, *(arm for arm in record.arms if arm not in main)]


def cells(record: Record, measure: Measure) -> list[tuple[str, str]]:
    """Heading and text of each cell of a measure; none where no model that is shown has a value."""
    arms, method, control = shown_arms(record), record.arm("method"), record.arm("control")
    if not any(arm.name in measure.values for arm in arms):
        return []
    chose = "validation data, which chose the model" if measure.part == "validation" else ""
    title = _lines(" ".join(measure.title.split()), measure.sample, chose, *_extras(measure, arms))
    best = ABSENT if measure.ideal is None else f"{measure.ideal:g}"
    best = f"chance ({format_number(measure.ideal)})" if measure.direction == "chance" else best
    found = [("Measure", title), *((arm.title, _value(measure, arm)) for arm in arms)]
    ideal = ("Ideal", _lines(best, DIRECTIONS[measure.direction]))
    if not any(main_pairs(record)):
        return [*found, ideal]
    gap, beside = record.gap(measure, method, record.arm("original")), record.gap(measure, method, control)
    verdict = _lines(f"{MARKS.get(gap.verdict, '')} {gap.verdict}".strip(), gap.basis) if gap else "no comparison"
    found += [("Change", change_text(measure, gap) if gap else ABSENT), ideal, ("Verdict", verdict)]
    said = _lines(BESIDE.get(beside.verdict, beside.verdict), _paired(beside)) if beside else ABSENT
    return [*found, ("Against control", said)] if control else found


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _extras(measure: Measure, arms: list[Arm]) -> Iterator[str]:
    values = [measure.values[arm.name] for arm in arms if arm.name in measure.values and arm.role != "control"]
    for name in dict.fromkeys(name for value in values for name in value.extras):
        yield f"{name} " + " → ".join(format_number(value.extras.get(name)) for value in values)


def _value(measure: Measure, arm: Arm) -> str:
    value = measure.values.get(arm.name)
    return ABSENT if value is None else _lines(format_number(value.value), format_interval(value.ci95))


def _all_arms(record: Record) -> Table:
    """Every model on every measure that is no part of another, where the main tables cannot show all models."""
    rows = [("Measure", *(arm.title for arm in record.arms))]
    if len(record.arms) > len(shown_arms(record)):
        trained = [{key: text for key, value in arm.training.items() if (text := _plain(value))} for arm in record.arms]
        keys = dict.fromkeys(key for texts in trained for key in texts)
        rows += [(key.replace("_", " "), *(texts.get(key, ABSENT) for texts in trained)) for key in keys]
        whole = [measure for measure in record.measures if not measure.detail]
        rows += [(measure.title, *(_value(measure, arm) for arm in record.arms)) for measure in whole]
    return Table("All models", tuple(rows))


def _plain(value: object) -> str:
    """A number or a word; empty for all else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return ""
    return value if isinstance(value, str) else f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def _comparisons(record: Record) -> Table:
    """Comparisons that the main tables do not hold."""
    method, original, control = (record.arm(role) for role in ("method", "original", "control"))
    main = {(method.name, other.name) for other in (original, control) if method and other}
    measures, names = {measure.id: measure for measure in record.measures}, {a.name: a.title for a in record.arms}
    compared = [(measures[gap.measure], gap) for gap in record.gaps if (gap.arm, gap.against) not in main]
    rows = [
        (
            measure.title,
            f"{names[gap.arm]} against {names[gap.against]}",
            _lines(format_number(gap.difference), format_interval(gap.ci95)),
            p_text(gap),
            BESIDE.get(gap.verdict, gap.verdict),
        )
        for measure, gap in compared
        if not measure.detail and gap.verdict != "not judged"
    ]
    return Table("Other comparisons", (("Measure", "Models", "Difference", "p", "The first is"), *rows))


def _paired(gap: Gap) -> str:
    """What a paired comparison found: the difference with its interval, and the p-value; empty where there was none."""
    p_value = f", p = {p_text(gap)}" if p_text(gap) else ""
    return f"{format_change(gap.difference, None)} {format_interval(gap.ci95)}{p_value}" if gap.ci95 else ""
