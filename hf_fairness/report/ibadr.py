"""The report of an IBADR run: JSON, Markdown tables, figures as SVG, one HTML page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hf_fairness
from hf_fairness.record import interval, mapping, number
from hf_fairness.report.figures import FIGURES
from hf_fairness.report.ibadr_plots import accuracy_plot
from hf_fairness.report.ibadr_record import LIMITS, arm_name, guard_table, ibadr_record, poor_labels, rounds_table
from hf_fairness.report.markdown import escape_markdown, markdown_table
from hf_fairness.report.svg import standalone
from hf_fairness.report.text import ABSENT, DISCLAIMER, flatten, format_interval, format_number
from hf_fairness.runs import atomic_write_json, atomic_write_text
from hf_fairness.utils import FairnessWarning, require


def results_table(report: Mapping[str, Any]) -> list[list[str]]:
    """Heading and one row per arm: steps, rows, and accuracy with its interval on every set."""
    sets = list(report["results"])
    rows = [["model", "rows", "steps", *sets]]
    for arm, training in report["arms"].items():
        cells = [_cell(mapping(mapping(report["results"], name), arm), "accuracy") for name in sets]
        rows.append([arm_name(arm), f"{training['n_rows']:,}", f"{training['steps']:,}", *cells])
    return rows


def detail_table(report: Mapping[str, Any]) -> list[list[str]]:
    """Accuracy by set and gold label, and by what else a set is divided by, for every arm."""
    arms = list(report["arms"])
    rows = [["set", "rows", *map(arm_name, arms)]]
    for title, found in report["results"].items():
        first = mapping(found, arms[0])
        groups = {"label": mapping(first, "labels"), **mapping(first, "by")}
        for kind, entries in groups.items():
            for value, entry in entries.items():
                cells = [_cell(_part(mapping(found, arm), kind, value), "accuracy") for arm in arms]
                rows.append([f"{title}: {value}", f"{entry['n']:,}", *cells])
    return rows


def _part(found: Mapping[str, Any], kind: str, value: str) -> Mapping[str, Any]:
    entries = mapping(found, "labels") if kind == "label" else mapping(mapping(found, "by"), kind)
    return mapping(entries, value)


def comparison_table(report: Mapping[str, Any]) -> list[list[str]]:
    """Differences of accuracy between arms on the same rows, with intervals and p-values."""
    rows = [["set", "models", "difference", "p"]]
    for title, pairs in report["comparisons"].items():
        for names, found in pairs.items():
            one, other = names.split(" - ")
            p = f"{found['p_value']:.2g}"
            rows.append([title, f"{arm_name(one)} − {arm_name(other)}", _cell(found, "difference"), p])
    return rows


def _cell(value: Mapping[str, Any], key: str) -> str:
    shown = " ".join(filter(None, (format_number(number(value, key)), format_interval(interval(value, f"{key}_ci95")))))
    return shown or ABSENT


def findings(report: Mapping[str, Any]) -> dict[str, list[str]]:
    """What got better and worse on each set against the base model and the control, in words.

    A difference counts as clear when its interval excludes 0.

    Args:
        report: what ``run_ibadr`` returned.

    Returns:
        ``worse``, ``improved``, ``unclear``: sentences.
    """
    found: dict[str, list[str]] = {"worse": [], "improved": [], "unclear": []}
    for title, pairs in report["comparisons"].items():
        for names, gap in pairs.items():
            one, other = names.split(" - ")
            ends = interval(gap, "difference_ci95")
            kind = "unclear" if ends is None or ends[0] <= 0.0 <= ends[1] else "improved" if ends[0] > 0.0 else "worse"
            found[kind].append(
                f"{title}: {arm_name(one)} against {arm_name(other)}: {gap['difference']:+.3f} "
                f"{format_interval(ends)}, p = {gap['p_value']:.2g}"
            )
    found["worse"] += [*_label_losses(report), *poor_labels(report)]
    return found


def _label_losses(report: Mapping[str, Any]) -> list[str]:
    """Gold labels on which IBADR is below the base model, intervals apart."""
    lines = []
    for title, arms in report["results"].items():
        for label, before in mapping(mapping(arms, "base"), "labels").items():
            after = mapping(mapping(mapping(arms, "ibadr"), "labels"), label)
            old, new = interval(before, "accuracy_ci95"), interval(after, "accuracy_ci95")
            if old is not None and new is not None and new[1] < old[0]:
                lines.append(
                    f"{title}, gold label {label}: IBADR {_cell(after, 'accuracy')}, base {_cell(before, 'accuracy')}"
                )
    return lines


def headline(report: Mapping[str, Any]) -> str:
    """The run in two sentences."""
    pool, sets = report["pool"], report["results"]
    parts = []
    for title, arms in sets.items():
        values = {arm: number(mapping(arms, arm), "accuracy") for arm in ("base", "control", "ibadr")}
        shown = ", ".join(f"{arm_name(arm)} {format_number(value)}" for arm, value in values.items())
        parts.append(f"{title}: {shown}")
    return (
        f"{pool['n_added']:,} rows were added to {pool['n_original']:,} in {len(report['rounds'])} rounds. "
        f"Accuracy on {'; '.join(parts)}."
    )


def write_ibadr_report(report: Mapping[str, Any], folder: Path) -> list[str]:
    """Write ``ibadr.json``, ``tables.md`` and, with the extra ``report``, the figures and ``report.html``.

    Args:
        report: what ``run_ibadr`` found.
        folder: where the files go.

    Returns:
        Names of the files.
    """
    from hf_fairness.report import plain

    tables = [rows for _, rows in _tables(report)]
    texts = {"tables.md": "\n\n".join([escape_markdown(headline(report)), *map(markdown_table, tables)]) + "\n"}
    if all(find_spec(name) is not None for name in ("matplotlib", "jinja2")):
        record = ibadr_record(report)
        drawn = {"accuracy": accuracy_plot(report)} | {name: make(record) for name, make in FIGURES["ibadr"].items()}
        plots = {name: plot for name, plot in drawn.items() if plot is not None}
        texts |= {f"{name}.svg": standalone(plot.svg) for name, plot in plots.items()}
        texts["report.html"] = render_ibadr_html(report, list(plots.values()))
    else:
        warnings.warn(
            "Figures and report.html are left out: they need matplotlib and jinja2. "
            'Install them with: pip install "hf-fairness[report]"',
            FairnessWarning,
            stacklevel=2,
        )
    atomic_write_json(folder / "ibadr.json", plain(report))
    for name, text in texts.items():
        atomic_write_text(folder / name, text)
    return ["ibadr.json", *texts]


def _tables(report: Mapping[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """Caption and rows of the tables, in the order of the page; those without rows are left out."""
    found = [
        ("Accuracy of every model", results_table(report)),
        ("Differences on the same rows", comparison_table(report)),
        ("Samples, round by round", rounds_table(report)),
        ("Guards", guard_table(report)),
        ("Accuracy by gold label and part of a set", detail_table(report)),
    ]
    return [(caption, rows) for caption, rows in found if len(rows) > 1]


def render_ibadr_html(report: Mapping[str, Any], plots: Sequence[Any]) -> str:
    """The report as one HTML page without scripts."""
    jinja2 = require("jinja2")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    templates = resources.files("hf_fairness.report").joinpath("templates")
    style = re.search(
        r"<style>.*?</style>", templates.joinpath("report.html.jinja2").read_text(encoding="utf-8"), re.DOTALL
    )
    source = templates.joinpath("ibadr.html.jinja2").read_text(encoding="utf-8")
    page: str = environment.from_string(source).render(
        style=style[0] if style else "",
        headline=headline(report),
        disclaimer=DISCLAIMER,
        findings=findings(report),
        tables=_tables(report),
        examples=[(each["round"], each["examples"]) for each in report["rounds"] if each.get("examples")],
        plots=plots,
        facts=[
            (title, list(flatten({key: value for key, value in report[part].items() if value is not None})))
            for title, part in (("Data", "data"), ("Settings", "arguments"), ("Pool", "pool"))
        ],
        convention=report["meta"]["convention"],
        limits=LIMITS,
        model=report["arguments"]["model_name_or_path"],
        version=hf_fairness.__version__,
    )
    return page
