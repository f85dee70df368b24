"""A record for a terminal: the findings, then the table of measures with intervals."""

from __future__ import annotations

import shutil
import textwrap

from hf_fairness.record import Record
from hf_fairness.report.summary import Summary, main_pairs, summarize
from hf_fairness.report.tables import MARKS, shown_arms
from hf_fairness.report.text import ABSENT, format_interval, format_number
from hf_fairness.results import columns

#: Longest title in a table.
WIDEST = 72
#: What is printed, and not "printable".
_BLANKS = "\n\N{NO-BREAK SPACE}"


def text_report(record: Record, *, width: int | None = None) -> str:
    """What was found: headline, what got worse, the table of measures with intervals, cautions.

    Args:
        record: any.
        width: of the lines of text; None takes the terminal's. The table is as wide as it needs to be.

    Returns:
        Lines of text, without a last line end.
    """
    width = width or min(shutil.get_terminal_size((100, 24)).columns, 120)
    summary = summarize(record)
    blocks = [_wrapped(summary.headline, width), _table(record)]
    if summary.counts:
        blocks.append(_wrapped(summary.counts, width))
    blocks += [block for block in _findings(summary, width) if block]
    text = "\n\n".join(filter(None, blocks))
    return "".join(
        letter for letter in text if letter.isprintable() or letter in _BLANKS
    )  # a name commands no terminal


def _wrapped(text: str, width: int, mark: str = "") -> str:
    indent = " " * len(mark)
    return textwrap.fill(text, width, initial_indent=mark, subsequent_indent=indent, break_on_hyphens=False)


def _findings(summary: Summary, width: int) -> list[str]:
    lists = [("Got clearly worse:", summary.worse), ("Beside the others:", summary.others)]
    found = ["\n".join([title, *(_wrapped(item, width, "  - ") for item in items)]) for title, items in lists if items]
    found.insert(0, "" if summary.worse or not summary.counts else "No measure got clearly worse.")
    return [*found, *(_wrapped(f"Caution. {item}", width) for item in summary.cautions)]


def _table(record: Record) -> str:
    """One line a measure: values with intervals, the ideal, the verdict."""
    arms, gaps = shown_arms(record), {measure.id: gap for measure, gap in main_pairs(record)}
    rows = [["measure", *(arm.title for arm in arms), "ideal", *(["verdict"] if gaps else [])]]
    for measure in record.measures:
        values = [measure.values.get(arm.name) for arm in arms]
        if not any(values):
            continue
        title = " ".join(measure.title.split())
        title = (
            title if len(title) <= WIDEST else f"{title[: WIDEST // 2]}…{title[-WIDEST // 2 + 1 :]}"
        )  # sets come last
        cells = [
            ABSENT
            if value is None
            else " ".join(filter(None, (format_number(value.value), format_interval(value.ci95))))
            for value in values
        ]
        ideal = ABSENT if measure.ideal is None else f"{measure.ideal:g}"
        gap = gaps.get(measure.id)
        verdict = "" if gap is None else f"{MARKS.get(gap.verdict, ' ')} {gap.verdict}"
        rows.append([title, *cells, ideal, *([verdict] if gaps else [])])
    if len(rows) == 1:
        return ""
    return "\n".join(columns(rows))
