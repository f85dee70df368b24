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
from hf_fairness.report.ibadr_plots import FIGURES, arm_name
from hf_fairness.report.markdown import escape_markdown, markdown_table
from hf_fairness.report.svg import standalone
from hf_fairness.report.text import ABSENT, DISCLAIMER, flatten, format_interval, format_number
from hf_fairness.runs import atomic_write_json, atomic_write_text
from hf_fairness.utils import FairnessWarning, require

#: What became of samples, in the order of the table, with what it is called there.
FATES = {
    "accepted": "added to the pool",
    "low_confidence": "below the threshold",
    "in_pool": "texts in the pool",
    "in_pool_other_label": "texts in the pool, other label",
    "repeated": "texts of an earlier sample",
    "repeated_other_label": "texts of an earlier sample, other label",
    "unended": "did not end",
    "wrong_parts": "not the texts of a row",
    "empty_text": "an empty text",
    "broken_text": "broken characters",
}

LIMITS = (
    "Intervals are over the rows at hand, not over other trainings: two seeds can differ by more. Read a difference "
    "beside the control, which was trained for as many steps.",
    "Bias here is what a shallow model learns from few rows. It need not be wrong, and a bias that is hard to learn is "
    "not seen.",
    "A challenge set tests the shortcuts that it was made for. A higher accuracy there does not show that a model has "
    "no others.",
    "The agreement of samples with a judge says how the judge sees them: it is itself trained on the biased data. Have "
    "people read a sample of the added rows.",
    "What a generator that was trained elsewhere has read is not known: the overlap with challenge sets is measured on "
    "the added rows only.",
)


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


def rounds_table(report: Mapping[str, Any]) -> list[list[str]]:
    """What became of the samples of each round, and how they are."""
    rounds = report["rounds"]
    rows = [["samples", *(f"round {each['round']}" for each in rounds)]]
    rows.append(["pool before: mean bias degree", *(format_number(each["pool"]["mean"]) for each in rounds)])
    rows.append(["drawn", *(f"{each['counts']['drawn']:,}" for each in rounds)])
    for key, title in FATES.items():
        if any(key in each["counts"] for each in rounds):
            rows.append([title, *(f"{each['counts'].get(key, 0):,}" for each in rounds)])
    for side, when in (("before", "new ones"), ("after", "added ones")):
        for key, title in (("agreement", "agreement with the judge"), ("chance", "by chance"), ("kappa", "kappa")):
            entries = [mapping(mapping(each, "agreement"), side) for each in rounds]
            rows.append([f"{when}: {title}", *(_cell(entry, key) for entry in entries)])
        if side == "before":
            values = [format_number(number(mapping(each, "judge"), "expected_agreement")) for each in rounds]
            rows.append([f"{when}: by dev rows as biased, with true labels", *values])
        entries = [mapping(mapping(each, "degrees"), side) for each in rounds]
        rows.append([f"{when}: mean bias degree", *(format_number(number(entry, "mean")) for entry in entries)])
        if any("anti_artefact" in each for each in rounds):
            entries = [mapping(mapping(each, "anti_artefact"), side) for each in rounds]
            rows.append([f"{when}: anti-artefact share", *(_cell(entry, "anti_artefact_share") for entry in entries)])
    for key, title in (("original", "as many original rows"), ("after", "added ones")):
        for size in (1, 2, 3):
            entries = [mapping(mapping(each, "diversity"), key) for each in rounds]
            values = [format_number(number(entry, f"distinct_{size}")) for entry in entries]
            rows.append([f"{title}: distinct {size}-grams", *values])
    rows.append(["generator: mean loss per token", *(format_number(each["generator"]["loss"]) for each in rounds)])
    return rows


def guard_table(report: Mapping[str, Any]) -> list[list[str]]:
    """The partial-input probe, and what added rows share with test and challenge sets."""
    rows = [["what", "value"]]
    for side, title in (("original", "original rows"), ("pool", "pool")):
        found = mapping(mapping(report, "partial_input"), side)
        if found:
            rows.append([f"partial input, {title}: accuracy", _cell(found, "accuracy")])
            rows.append([f"partial input, {title}: above the majority (0)", _cell(found, "gain")])
    for name, found in mapping(mapping(report, "leakage"), "by_set").items():
        rows.append([f"added rows that share text with {name} (0)", _cell(found, "leak_share")])
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
    found["worse"] += [*_label_losses(report), *_poor_labels(report)]
    return found


def _poor_labels(report: Mapping[str, Any]) -> list[str]:
    """Rounds whose samples agree with the judge far less than rows of the data would."""
    lines = []
    for each in report["rounds"]:
        judge = mapping(each, "judge")
        if judge.get("below_expected"):
            agreed = mapping(mapping(each, "agreement"), "before")
            lines.append(
                f"labels of the samples of round {each['round']}: {_cell(agreed, 'agreement')} agree with the judge; "
                f"dev rows as biased would in {judge['expected_agreement']:.3f}, by chance {agreed['chance']:.3f}"
            )
    return lines


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
        plots = {name: plot for name, make in FIGURES.items() if (plot := make(report)) is not None}
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
