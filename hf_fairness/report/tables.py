"""The tables of a record, for every form of a report: what was measured, all models, comparisons, what is special.

A cell is text; what stands below its first line is shown in smaller letters, or behind it.
"""

from __future__ import annotations

from collections.abc import Iterator

from hf_fairness.record import Arm, Gap, Measure, Record, Table
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
#: The verdict of a comparison with another model than the original, where it has other words.
BESIDE = {"improved": "better", "no clear change": "no clear difference"}


def tables(record: Record) -> list[Table]:
    """All tables of a record in the order of the report, each with its heading first; what has no rows is left out."""
    head = heading(record)
    rows = {measure.id: cells(record, measure) for measure in record.measures}
    found = []
    for kind, title in KINDS.items():
        shown = [rows[measure.id] for measure in record.measures if measure.kind == kind and rows[measure.id]]
        found.append(Table(title, (head, *shown)))
    return [table for table in (*found, _all_arms(record), _comparisons(record), *record.tables) if len(table.rows) > 1]


def shown_arms(record: Record) -> list[Arm]:
    """The models of the main tables: original, method and control, or all where they are few."""
    roles = (record.arm("original"), record.arm("method"), record.arm("control"))
    main = [arm for arm in roles if arm is not None]
    return main if len(record.arms) > 3 else [*main, *(arm for arm in record.arms if arm not in main)]


def heading(record: Record) -> tuple[str, ...]:
    """Heading of the cells of a measure."""
    compared = any(True for _ in main_pairs(record))
    more = ["Change", "Ideal", "Verdict"] if compared else ["Ideal"]
    beside = ["Against control"] if compared and record.arm("control") else []
    return ("Measure", *(arm.title for arm in shown_arms(record)), *more, *beside)


def cells(record: Record, measure: Measure) -> tuple[str, ...]:
    """The cells of a measure below :func:`heading`; empty where no model that is shown has a value."""
    arms, head = shown_arms(record), heading(record)
    if not any(arm.name in measure.values for arm in arms):
        return ()
    chose = "validation data, which chose the model" if measure.part == "validation" else ""
    title = _lines(" ".join(measure.title.split()), measure.sample, chose, *_extras(measure, arms))
    ideal = ABSENT if measure.ideal is None else f"{measure.ideal:g}"
    ideal = f"chance ({format_number(measure.ideal)})" if measure.direction == "chance" else ideal
    method, control = record.arm("method"), record.arm("control")
    gap, beside = record.gap(measure, method, record.arm("original")), record.gap(measure, method, control)
    found = [title, *(_value(measure, arm) for arm in arms), _lines(ideal, DIRECTIONS[measure.direction])]
    if "Change" in head[len(arms) + 1 :]:
        found.insert(-1, change_text(measure, gap) if gap else ABSENT)
        found.append(
            _lines(f"{MARKS.get(gap.verdict, '')} {gap.verdict}".strip(), gap.basis) if gap else "no comparison"
        )
    if len(found) < len(head):
        found.append(_lines(BESIDE.get(beside.verdict, beside.verdict), _paired(beside)) if beside else ABSENT)
    return tuple(found)


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
        trained = dict.fromkeys(key for arm in record.arms for key, value in arm.training.items() if _simple(value))
        rows += [(key.replace("_", " "), *(_plain(arm.training.get(key)) for arm in record.arms)) for key in trained]
        whole = [measure for measure in record.measures if not measure.detail]
        rows += [(measure.title, *(_value(measure, arm) for arm in record.arms)) for measure in whole]
    return Table("All models", tuple(rows))


def _simple(value: object) -> bool:
    return isinstance(value, (int, float, str)) and not isinstance(value, bool)


def _plain(value: object) -> str:
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.3g}"
    return ABSENT if value is None else f"{value:,.0f}" if isinstance(value, (int, float)) else str(value)


def _comparisons(record: Record) -> Table:
    """Comparisons that the main tables do not hold."""
    method, original, control = (record.arm(role) for role in ("method", "original", "control"))
    main = {(method.name, other.name) for other in (original, control) if method and other}
    measures, names = {measure.id: measure for measure in record.measures}, {a.name: a.title for a in record.arms}
    rows = [("Measure", "Models", "Difference", "p", "The first is")]
    for gap in record.gaps:
        measure = measures[gap.measure]
        if (gap.arm, gap.against) not in main and not measure.detail and gap.verdict != "not judged":
            difference = _lines(format_number(gap.difference), format_interval(gap.ci95))
            models = f"{names[gap.arm]} against {names[gap.against]}"
            rows.append((measure.title, models, difference, p_text(gap), BESIDE.get(gap.verdict, gap.verdict)))
    return Table("Other comparisons", tuple(rows))


def _paired(gap: Gap) -> str:
    """What a paired comparison found: the difference with its interval, and the p-value; empty where there was none."""
    p_value = f", p = {p_text(gap)}" if p_text(gap) else ""
    return f"{format_change(gap.difference, None)} {format_interval(gap.ci95)}{p_value}" if gap.ci95 else ""
