"""A record for a terminal: the findings, then the table of measures with intervals."""

from __future__ import annotations

import shutil

from hf_fairness.record import Record
from hf_fairness.report.render import render
from hf_fairness.report.summary import summarize
from hf_fairness.report.tables import cells, shown_arms
from hf_fairness.report.text import ABSENT
from hf_fairness.results import columns, one_line

#: Longest title in a table.
WIDEST = 72


def text_report(record: Record, *, width: int | None = None) -> str:
    """What was found: headline, what got worse, the table of measures with intervals, cautions.

    Args:
        record: any.
        width: of the lines of text; None takes the terminal's. The table is as wide as it needs to be.

    Returns:
        Lines of text, without a last line end.
    """
    width = width or min(shutil.get_terminal_size((100, 24)).columns, 120)
    return render("report.txt", summary=summarize(record), table=_table(record), width=width).rstrip("\n")


def _table(record: Record) -> str:
    """One line a measure: values with intervals, the ideal, the verdict."""
    n, lines = 1 + len(shown_arms(record)), []
    for measure in record.measures:
        if row := cells(record, measure):
            title, *values = (text for _, text in row[:n])
            ideal = ABSENT if measure.ideal is None else f"{measure.ideal:g}"
            verdict = [text.split("\n")[0].replace("no comparison", "") for name, text in row[n:] if name == "Verdict"]
            lines.append(
                [one_line(title.split("\n")[0], WIDEST), *(text.replace("\n", " ") for text in values), ideal, *verdict]
            )
    head = ["measure", *(arm.title for arm in shown_arms(record)), "ideal", "verdict"]
    return "\n".join(columns([head[: len(lines[0])], *lines])) if lines else ""
