"""The refinement of a corpus as a picture and a table: the histogram of scores with its threshold lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_fairness.record import interval, number
from hf_fairness.report.plots import Plot, draw, save_figure
from hf_fairness.report.text import format_number, format_value

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
    return draw("refinement", _figure(description))


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
    return save_figure(_figure(description), path)


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
    return format_value(value, interval(level, f"{key}_ci95"))


def _check(description: object) -> None:
    wanted = ("n", "max", "histogram", "percentiles")
    if not isinstance(description, Mapping) or any(key not in description for key in wanted):
        got = f"keys {', '.join(map(str, description))}" if isinstance(description, Mapping) else type(description)
        raise ValueError(f"Wanted what hf_fairness.refine.describe returns, with {', '.join(wanted)}; got {got}.")


def _figure(description: Mapping[str, Any]) -> dict[str, Any]:
    _check(description)
    levels = {f"{level['percentile']:g}": level["threshold"] for level in description["percentiles"]}
    lines = "; ".join(f"{level}th percentile {format_number(threshold)}" for level, threshold in levels.items())
    return {
        "kind": "histogram",
        "title": "Distribution of scores",
        "caption": "Number of rows by score. Each line marks a percentile; the rows to its right are those that a "
        "refinement at this percentile takes.",
        "description": f"Scores of {description['n']:,} rows, highest {format_number(description['max'])}. {lines}.",
        "x_label": "score of a row (greatest of its texts)",
        "y_label": "rows",
        "rows": {"": {"rows": description["histogram"]["counts"]}},
        "edges": description["histogram"]["edges"],
        "marks": levels,
    }
