"""The refinement of a corpus as a picture and a table: the histogram of scores with its threshold lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_fairness.record import interval, number
from hf_fairness.report.plots import Plot
from hf_fairness.report.svg import GROUPS, SERIES, Canvas, standalone
from hf_fairness.report.text import format_interval, format_number
from hf_fairness.runs import atomic_write_text

#: Key of a percentile's entry -> heading of its column.
COLUMNS = {
    "percentile": "percentile",
    "threshold": "threshold",
    "n_above": "rows above",
    "share_above": "share above",
    "max_kept": "highest score kept",
    "n_with_terms": "with terms",
    "n_added": "added",
    "share_duplicated": "share duplicated",
}
COUNTS = ("n_above", "n_with_terms", "n_added")


def refinement_plot(description: Mapping[str, Any]) -> Plot:
    """Histogram of the scores of a corpus, with a line at each threshold.

    Args:
        description: what ``hf_fairness.refine.describe`` returned.

    Returns:
        A ``Plot``; the lines have ids that end in ``threshold-<percentile>``.

    Raises:
        ValueError: something else than a description.
        ImportError: the extra ``report`` is not installed.

    Source: Dolci et al. 2023, figure 5.
    """
    _check(description)
    levels = description["percentiles"]
    counts, edges = description["histogram"]["counts"], description["histogram"]["edges"]
    lines = "; ".join(f"{x['percentile']:g}th percentile {format_number(x['threshold'])}" for x in levels)
    text = f"Scores of {description['n']:,} rows, highest {format_number(description['max'])}. {lines}."

    def paint(axes: Any) -> None:
        axes.stairs(counts, edges, fill=True, color=SERIES["after"]["color"])
        for place, level in enumerate(levels):  # each line lower than the one before, so that no label is crossed
            top = 1.0 - 0.75 * place / max(len(levels), 8)
            line = axes.axvline(level["threshold"], ymax=top, color=GROUPS[1][0], linewidth=1.0)
            line.set_gid(f"threshold-{level['percentile']:g}")
            axes.annotate(
                f"{level['percentile']:g}",
                (level["threshold"], top),
                xycoords=axes.get_xaxis_transform(),
                xytext=(2, 0),
                textcoords="offset points",
                va="top",
            )
        axes.set_xlim(edges[0], edges[-1])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("score of a row (greatest of its texts)")
        axes.set_ylabel("rows")

    return Plot(
        title="Distribution of scores",
        svg=Canvas(4.4, 2.8).draw(paint, "refinement", text),
        caption="Number of rows by score. Each line marks a percentile; the rows to its right are those that a "
        "refinement at this percentile takes.",
        description=text,
    )


def write_histogram(description: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write :func:`refinement_plot` as an SVG file that needs no page around it, in one step.

    Args:
        description: what ``hf_fairness.refine.describe`` returned.
        path: file to write, ending in ``.svg``; parent folders are made.

    Returns:
        The path written.

    Raises:
        ValueError: another ending, or something else than a description.
        ImportError: the extra ``report`` is not installed.
    """
    if Path(path).suffix.lower() != ".svg":
        raise ValueError(f"The histogram is written as SVG; got {os.fspath(path)!r}, wanted a name ending in .svg.")
    return atomic_write_text(path, standalone(refinement_plot(description).svg))


def refinement_table(description: Mapping[str, Any]) -> list[list[str]]:
    """Heading and one row per percentile, as text.

    Args:
        description: what ``hf_fairness.refine.describe`` returned.

    Returns:
        The heading, then the rows; columns that the description does not have are left out.

    Raises:
        ValueError: something else than a description.
    """
    _check(description)
    levels = description["percentiles"]
    keys = [key for key in COLUMNS if any(key in level for level in levels)]
    return [[COLUMNS[key] for key in keys], *([_cell(level, key) for key in keys] for level in levels)]


def _cell(level: Mapping[str, Any], key: str) -> str:
    value = number(level, key)
    if value is not None and (key in COUNTS or key == "percentile"):
        return f"{value:,.0f}" if key in COUNTS else f"{value:g}"
    return " ".join(filter(None, (format_number(value), format_interval(interval(level, f"{key}_ci95")))))


def _check(description: object) -> None:
    wanted = ("n", "max", "histogram", "percentiles")
    if not isinstance(description, Mapping) or any(key not in description for key in wanted):
        got = f"keys {', '.join(map(str, description))}" if isinstance(description, Mapping) else type(description)
        raise ValueError(f"Wanted what hf_fairness.refine.describe returns, with {', '.join(wanted)}; got {got}.")
