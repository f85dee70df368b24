"""The tables of a record, for every form of a report: what was measured, all models, comparisons, what is special."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hf_fairness.record import Arm, Gap, Measure, Record
from hf_fairness.report.summary import change_text, main_pairs
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
#: The verdict of a comparison with another model than the original.
BESIDE = {
    "improved": "better",
    "worse": "worse",
    "no clear change": "no clear difference",
    "no interval": "no interval",
}


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: what stands in it.
        small: what stands below it, in smaller letters.
        mark: a verdict, for its colour; else empty.
    """

    text: str
    small: tuple[str, ...] = ()
    mark: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.text, *self.small)))


@dataclass(frozen=True)
class Grid:
    """One table: its title, heading, rows, and how to read it."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def grids(record: Record) -> list[Grid]:
    """All tables of a record in the order of the report; what has no rows is left out."""
    found = [_measured(record, kind) for kind in KINDS]
    found += [_all_arms(record), _comparisons(record)]
    found += [
        Grid(table.title, table.rows[0], tuple(tuple(map(Cell, row)) for row in table.rows[1:]), table.note)
        for table in record.tables
    ]
    return [grid for grid in found if grid.rows]


def shown_arms(record: Record) -> list[Arm]:
    """The models of the main tables: original, method and control, or all where they are few."""
    if len(record.arms) <= 3:
        order = {"original": 0, "method": 1, "control": 2}
        return sorted(record.arms, key=lambda arm: order.get(arm.role, 3))
    roles = (record.arm("original"), record.arm("method"), record.arm("control"))
    return [arm for arm in roles if arm is not None]


def _measured(record: Record, kind: str) -> Grid:
    arms, compared = shown_arms(record), any(True for _ in main_pairs(record))
    control = record.arm("control") if compared else None
    head = ["Measure", *(arm.title for arm in arms), *(["Change"] if compared else []), "Ideal"]
    head += ["Verdict"] if compared else []
    head += ["Against control"] if control else []
    rows = []
    for measure in record.measures:
        if measure.kind != kind or not any(arm.name in measure.values for arm in arms):
            continue
        row = [Cell(measure.title, tuple(filter(None, (measure.sample, _part(measure), *_extras(measure, arms)))))]
        row += [_value(measure, arm) for arm in arms]
        gap = record.gap(measure, record.arm("method"), record.arm("original"))
        row += [Cell(change_text(measure, gap) if gap else ABSENT)] if compared else []
        ideal = f"chance ({format_number(measure.ideal)})" if measure.direction == "chance" else ABSENT
        ideal = f"{measure.ideal:g}" if measure.ideal is not None and measure.direction != "chance" else ideal
        row += [Cell(ideal, (DIRECTIONS[measure.direction],))]
        row += [_verdict(gap)] if compared else []
        if control:
            beside = record.gap(measure, record.arm("method"), control)
            row += [Cell(BESIDE.get(beside.verdict, beside.verdict), _paired(beside)) if beside else Cell(ABSENT)]
        rows.append(tuple(row))
    return Grid(KINDS[kind], tuple(head), tuple(rows))


def _part(measure: Measure) -> str:
    return "validation data, which chose the model" if measure.part == "validation" else ""


def _extras(measure: Measure, arms: list[Arm]) -> Iterator[str]:
    values = [measure.values[arm.name] for arm in arms if arm.name in measure.values and arm.role != "control"]
    for name in dict.fromkeys(name for value in values for name in value.extras):
        yield f"{name} " + " → ".join(format_number(value.extras.get(name)) for value in values)


def _value(measure: Measure, arm: Arm) -> Cell:
    value = measure.values.get(arm.name)
    return Cell(ABSENT) if value is None else Cell(format_number(value.value), _ends(format_interval(value.ci95)))


def _ends(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _verdict(gap: Gap | None) -> Cell:
    if gap is None:
        return Cell("no comparison")
    text = f"{MARKS[gap.verdict]} {gap.verdict}" if gap.verdict in MARKS else gap.verdict
    return Cell(text, (gap.basis,), gap.verdict.replace(" ", "-"))


def _all_arms(record: Record) -> Grid:
    """Every model on every measure that is no part of another, where the main tables cannot show all models."""
    if len(record.arms) == len(shown_arms(record)):
        return Grid("", (), ())
    rows = []
    for key in dict.fromkeys(key for arm in record.arms for key, value in arm.training.items() if _simple(value)):
        rows.append((Cell(key.replace("_", " ")), *(Cell(_plain(arm.training.get(key))) for arm in record.arms)))
    for measure in record.measures:
        if not measure.detail:
            rows.append((Cell(measure.title), *(_value(measure, arm) for arm in record.arms)))
    return Grid("All models", ("Measure", *(arm.title for arm in record.arms)), tuple(rows))


def _simple(value: object) -> bool:
    return isinstance(value, (int, float, str)) and not isinstance(value, bool)


def _plain(value: object) -> str:
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.3g}"
    return ABSENT if value is None else f"{value:,.0f}" if isinstance(value, (int, float)) else str(value)


def _comparisons(record: Record) -> Grid:
    """Comparisons that the main tables do not hold."""
    method, original, control = (record.arm(role) for role in ("method", "original", "control"))
    main = {(arm.name, other.name) for arm in (method,) for other in (original, control) if arm and other}
    titles, names = {m.id: m for m in record.measures}, {arm.name: arm.title for arm in record.arms}
    rows = []
    for gap in record.gaps:
        measure = titles[gap.measure]
        if (gap.arm, gap.against) in main or measure.detail or gap.verdict == "not judged":
            continue
        verdict = BESIDE.get(gap.verdict, gap.verdict)
        difference = Cell(format_number(gap.difference), _ends(format_interval(gap.ci95)))
        models = f"{names[gap.arm]} against {names[gap.against]}"
        rows.append((Cell(measure.title), Cell(models), difference, Cell(_p_value(gap)), Cell(verdict)))
    return Grid("Other comparisons", ("Measure", "Models", "Difference", "p", "The first is"), tuple(rows))


def _paired(gap: Gap) -> tuple[str, ...]:
    """What a paired comparison found: the difference with its interval, and the p-value; empty where there was none."""
    if gap.ci95 is None:
        return ()
    p = f", p = {_p_value(gap)}" if gap.p_value is not None else ""
    return (f"{format_change(gap.difference, None)} {format_interval(gap.ci95)}{p}",)


def _p_value(gap: Gap) -> str:
    if gap.p_value is None:
        return ""
    return f"{gap.p_value:.2g}" + (f" ({gap.p_adjusted})" if gap.p_adjusted else "")


def text_rows(grid: Grid) -> list[list[str]]:
    """Heading and rows of a table as text."""
    return [list(grid.head), *([str(cell) for cell in row] for row in grid.rows)]
