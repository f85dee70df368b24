"""The report as one HTML file: no script, nothing from elsewhere, for light and dark pages and for phones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import hf_fairness
from hf_fairness.report.plots import Plot, cced_plot, loss_plot, projection_plots, seat_plot
from hf_fairness.report.schema import AuditLike
from hf_fairness.report.summary import Summary, summarize
from hf_fairness.report.sweep import NOTE as SWEEP_NOTE
from hf_fairness.report.sweep import sweep_table
from hf_fairness.report.tables import Row, delta_table
from hf_fairness.report.text import (
    CONVENTIONS,
    DISCLAIMER,
    LIMITS,
    control_text,
    display_name,
    flatten,
    format_interval,
    format_number,
    missing_sections,
)
from hf_fairness.report.values import mapping, seat_tests
from hf_fairness.utils import require

_VERDICT_MARK = {"improved": "✓", "worse": "✗", "no clear change": "≈", "no interval": "?"}
_GROUP_TITLES = {
    "bias": "Bias",
    "utility": "Retained utility",
    "information": "What a probe reads from the embedding",
    "context": "To read beside the others (no better direction)",
}


def _cells(row: Row, series: Sequence[str]) -> dict[str, Any]:
    """One row of the table as finished strings."""
    return {
        "title": row.title,
        "sample": row.sample,
        "values": [
            {
                "name": name,
                "number": format_number(getattr(row, name)),
                "interval": format_interval(getattr(row, f"{name}_ci95")),
            }
            for name in series
        ],
        "change": row.change_text,
        "change_interval": format_interval(row.change_ci95),
        "ideal": row.ideal_text,
        "direction": row.direction_text,
        "verdict": row.verdict,
        "mark": _VERDICT_MARK.get(row.verdict, ""),
        "kind": row.verdict.replace(" ", "-"),
        "basis": row.basis,
        "versus_control": row.versus_control,
        "extras": row.extras_text,
    }


def _tables(rows: Sequence[Row], series: Sequence[str]) -> list[dict[str, Any]]:
    """The rows by kind, each kind a table of its own."""
    return [
        {"caption": title, "rows": [_cells(row, series) for row in rows if row.kind == kind]}
        for kind, title in _GROUP_TITLES.items()
        if any(row.kind == kind for row in rows)
    ]


def _findings(summary: Summary) -> list[dict[str, Any]]:
    """The lists of the summary, worse first; "got worse" is shown even when it is empty."""
    if summary.measured:
        return [{"title": "Measured", "kind": "measured", "items": summary.measured, "empty": ""}]
    return [
        {"title": title, "kind": kind, "items": items, "empty": empty}
        for title, kind, items, empty in (
            ("Got worse", "worse", summary.worse, "No measure here got clearly worse."),
            ("Improved", "improved", summary.improved, "No measure here clearly improved."),
            ("No clear change", "no-clear-change", summary.unclear, ""),
            ("Cannot be decided", "no-interval", summary.undecided, ""),
        )
        if items or empty
    ]


def _about(audit: AuditLike, training: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    facts = [
        ("Model", display_name(audit.get("model", ""))),
        *((key.capitalize(), str(audit[key])) for key in ("attribute", "language", "date") if audit.get(key)),
        *((f"{name} version", text) for name, text in flatten(mapping(audit, "versions"))),
    ]
    blocks = [{"title": "Audit", "facts": facts}]
    if training:
        blocks.append({"title": "Training", "facts": list(flatten(training))})
    methods: dict[str, list[str]] = {}
    for name, test in {**(tests := seat_tests(audit))[0], **tests[1]}.items():
        if test.get("method"):
            methods.setdefault(str(test["method"]), []).append(name)
    if methods:
        used = [(method, f"tests {', '.join(names)}") for method, names in methods.items()]
        blocks.append({"title": "How the p-values of SEAT were computed", "facts": used})
    return blocks


def render_html(
    result: AuditLike,
    *,
    before: AuditLike | None = None,
    control: AuditLike | None = None,
    training: Mapping[str, Any] | None = None,
) -> str:
    """Write the report of one audit, or of a mitigation, as a self-contained HTML page.

    Names and texts from the results are escaped: a model's name cannot bring in markup or script.

    Args:
        result: audit of the model at hand (after mitigation, where there was one).
        before: audit of the original model.
        control: audit of the control.
        training: how the model was trained.

    Returns:
        The page as text; the same input gives the same text.

    Raises:
        ImportError: the extra ``report`` (matplotlib, jinja2) is not installed.
    """
    jinja2 = require("jinja2")
    rows = delta_table(result, before, control)
    series = ["before", "after"] if before is not None else ["after"]
    series += ["control"] if control is not None else []
    plots: list[Plot | None] = [
        seat_plot(rows),
        cced_plot(rows, "cced_relative"),
        cced_plot(rows, "cced"),
        loss_plot(training or {}),
    ]
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = resources.files("hf_fairness.report").joinpath("templates").joinpath("report.html.jinja2")
    template = environment.from_string(source.read_text(encoding="utf-8"))
    page: str = template.render(
        model=display_name(result.get("model", "")),
        original=display_name(before.get("model", "")) if before is not None else None,
        attribute=result.get("attribute") or "not stated",
        language=result.get("language") or "not stated",
        summary=(summary := summarize(rows)),
        findings=_findings(summary),
        disclaimer=DISCLAIMER,
        tables=_tables(rows, series),
        series=[
            {"after": "Measured"}.get(name, name.capitalize()) if before is None else name.capitalize()
            for name in series
        ],
        compared=before is not None,
        has_control=control is not None,
        control_text=control_text(training),
        plots=[plot for plot in plots if plot is not None],
        maps=[(pair, _map_note(pair)) for pair in projection_plots(result, before)],
        about=_about(result, training),
        sweep=sweep_table(training),
        sweep_note=SWEEP_NOTE,
        conventions=CONVENTIONS,
        limits=LIMITS,
        not_measured=missing_sections(result),
        version=hf_fairness.__version__,
    )
    return page


def _map_note(maps: Sequence[Plot]) -> str:
    note = ""
    if "subtracted" in maps[0].caption:
        note = "The content is taken out, so what is left is how the versions of one text differ. "
    if maps[0].caption.startswith("PCA"):
        return note + (
            "Both panels share their axes, so distances compare. Two dimensions hold a part of the "
            "information only: groups that overlap here may still be told apart."
        )
    return note + (
        "In a t-SNE map only neighbourhood has a meaning: distances between clusters and their sizes have "
        "none. Groups that mix here may still be told apart by a probe; see its accuracy in the table."
    )
