"""The tables of a sweep over IBADR runs: JSON and Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_fairness.record import interval, mapping
from hf_fairness.report.ibadr_record import arm_name, sweep_rows
from hf_fairness.report.markdown import markdown_table
from hf_fairness.report.text import format_interval, format_number
from hf_fairness.runs import atomic_write_json, atomic_write_text


def seed_rows(found: Mapping[str, Any]) -> list[list[str]]:
    """Heading and one row per set and arm, or pair of arms: mean over seeds with its interval."""
    rows = [["set", "models", "mean over seeds", "p"]]
    for title, parts in mapping(found, "over_seeds").items():
        for arm, values in parts["arms"].items():
            ends = interval(values, "ci95")
            rows.append([title, arm_name(arm), f"{format_number(values['mean'])} {format_interval(ends)}".strip(), ""])
        for names, gap in parts["differences"].items():
            one, other = names.split(" - ")
            text = f"{format_number(gap['difference'])} {format_interval(interval(gap, 'ci95'))}".strip()
            rows.append([title, f"{arm_name(one)} − {arm_name(other)}", text, f"{gap['p_value']:.2g}"])
    return rows


def write_sweep(found: Mapping[str, Any], folder: Path) -> list[str]:
    """Write ``sweep.json`` and ``sweep.md``; returns their names."""
    from hf_fairness.report import plain

    tables = [rows for rows in (sweep_rows(found), seed_rows(found)) if len(rows) > 1]
    atomic_write_json(folder / "sweep.json", plain(found))
    atomic_write_text(folder / "sweep.md", "\n\n".join(map(markdown_table, tables)) + "\n")
    return ["sweep.json", "sweep.md"]
