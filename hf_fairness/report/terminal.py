"""The before/after table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from hf_fairness.report.tables import Row
from hf_fairness.report.text import format_number

_WIDTH = 56


def text_table(rows: Sequence[Row]) -> str:
    """What was measured, one line a measure; with a comparison also the change and the verdict.

    Args:
        rows: of ``delta_table``.

    Returns:
        Lines of text, without a last line end.
    """
    compared = any(row.before is not None for row in rows)
    controlled = any(row.control is not None for row in rows)
    names = ["measure", *(["before"] if compared else []), "after" if compared else "value"]
    names += [*(["control"] if controlled else []), "ideal", *(["change", "verdict"] if compared else [])]
    table = [names]
    for row in rows:
        cells = [row.title if len(row.title) <= _WIDTH else f"{row.title[: _WIDTH - 1]}…"]
        cells += [format_number(row.before)] if compared else []
        cells += [format_number(row.after)]
        cells += [format_number(row.control)] if controlled else []
        cells += [row.ideal_text]
        cells += [row.change_text, row.verdict] if compared else []
        table.append(cells)
    widths = [max(len(line[place]) for line in table) for place in range(len(names))]
    left = {0, len(names) - 1} if compared else {0}
    lines = []
    for line in table:
        cells = [
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)
