"""The table of a sweep: one training per weight of the representation part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hf_fairness.record import Table, interval, number
from hf_fairness.report.text import format_interval, format_number

#: Key of a sweep's entry -> heading of its column.
COLUMNS = {
    "beta": "beta",
    "cced": "CCED",
    "cced_relative": "CCED / mean distance",
    "mean_distance": "mean distance",
    "similarity_structure": "similarity structure",
    "loss_bias": "validation L_bias",
    "loss_rep": "validation L_rep",
}

NOTE = (
    "One training per beta, all else alike. A small CCED beside a similarity structure far from 1 means that the "
    "encoder lost what it knew. One seed each: small differences are noise."
)


def sweep_table(training: Mapping[str, Any] | None) -> list[list[str]]:
    """Heading and rows of the sweep that a training record holds.

    Args:
        training: the record; its key ``sweep`` is a list of mappings with ``beta`` and measurements.

    Returns:
        The heading, then a row per training, as text; empty where there was no sweep.
    """
    entries = (training or {}).get("sweep")
    if not isinstance(entries, (list, tuple)) or not entries:
        return []
    keys = [key for key in COLUMNS if any(number(entry, key) is not None for entry in entries)]
    rows = []
    for entry in entries:
        cells = []
        for key in keys:
            value = number(entry, key)
            text = f"{value:g}" if key == "beta" and value is not None else format_number(value)
            cells.append(" ".join(filter(None, (text, format_interval(interval(entry, f"{key}_ci95"))))))
        rows.append(cells)
    return [[COLUMNS[key] for key in keys], *rows]


def sweep_tables(training: Mapping[str, Any] | None) -> tuple[Table, ...]:
    """The sweep as the table of a record; none where there was no sweep."""
    rows = sweep_table(training)
    return (Table("Sweep over beta", tuple(map(tuple, rows)), NOTE),) if rows else ()
