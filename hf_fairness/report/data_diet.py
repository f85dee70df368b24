"""The report of a data-diet search: JSON, Markdown tables, the paper's figures as SVG, one HTML page."""

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
from hf_fairness.report.data_diet_record import LIMITS, data_diet_record, stability_table, title_of
from hf_fairness.report.figures import FIGURES
from hf_fairness.report.markdown import escape_markdown, markdown_table
from hf_fairness.report.svg import standalone
from hf_fairness.report.text import ABSENT, DISCLAIMER, flatten, format_interval, format_number
from hf_fairness.runs import atomic_write_json, atomic_write_text
from hf_fairness.utils import FairnessWarning, require

#: Set and key -> heading with the ideal value.
COLUMNS = {
    ("test", "counterfactual_parity"): "paired DP (1)",
    ("test", "counterfactual_equal_opportunity_1"): "paired EqOpp1 (1)",
    ("test", "counterfactual_equalized_odds"): "paired EqOdd (1)",
    ("test", "kept_flipped_parity"): "kept/flipped DP, the paper's eq. 3 (1)",
    ("test", "flip_rate"): "flip rate (0)",
    ("test", "mean_abs_probability_change"): "mean abs. change of p (0)",
    ("test", "positive_rate"): "positive rate",
    ("test", "auc"): "AUC (1)",
    ("groups", "demographic_parity"): "group DP (1)",
    ("groups", "equal_opportunity_1"): "group EqOpp1 (1)",
    ("groups", "equalized_odds"): "group EqOdd (1)",
    ("groups", "positive_rate"): "positive rate, group texts",
}
#: Keys of which a lower value is better; of all others but rates a higher one is.
LOWER = ("flip_rate", "mean_abs_probability_change")


def diet_table(report: Mapping[str, Any]) -> list[list[str]]:
    """Heading and one row per baseline and chosen cell: what was trained on, test numbers with intervals.

    Args:
        report: what ``run_data_diet`` returned.

    Returns:
        Rows of text; columns without any number are left out.
    """
    table = report["table"]
    keys = [key for key in COLUMNS if any(_value(line, *key) for line in table.values())]
    head = ["method", "a", "b", "rows", "of CDA", *(COLUMNS[key] for key in keys), "AUC change"]
    rows = [head]
    for name, line in table.items():
        fractions = ["", ""] if name == line["cell"] else [f"{line[f'{kind}_fraction']:g}" for kind in KINDS]
        change = number(line["auc_change"]["test"], "mean")
        rows.append(
            [
                title_of(name),
                *fractions,
                f"{line['n_rows']:,.0f}",
                f"{line['share_of_cda']:.0%}",
                *(_cell(_value(line, *key)) for key in keys),
                ABSENT if change is None else f"{100 * change:+.1f} %",
            ]
        )
    return rows


KINDS = ("factual", "counterfactual")


def _value(line: Mapping[str, Any], part: str, key: str) -> Mapping[str, Any]:
    return mapping(mapping(mapping(line, "measures"), part), key)


def _cell(value: Mapping[str, Any]) -> str:
    shown = " ".join(filter(None, (format_number(number(value, "mean")), format_interval(interval(value, "ci95")))))
    return shown or ABSENT


def findings(report: Mapping[str, Any]) -> dict[str, list[str]]:
    """What got better and worse in the chosen cell against the vanilla model and against CDA, in words.

    A difference counts as clear when its interval over seeds excludes 0.

    Args:
        report: what ``run_data_diet`` returned.

    Returns:
        ``worse``, ``improved``, ``unclear``: sentences; all empty where no cell was within the limit.
    """
    found: dict[str, list[str]] = {"worse": [], "improved": [], "unclear": []}
    best = report["best"]
    if best is None:
        return found
    line = report["table"][best["ranking"]]
    for other, parts in line["against"].items():
        for (part, key), title in COLUMNS.items():
            gap = mapping(mapping(parts, part), key)
            ends = interval(gap, "ci95")
            if not gap or key == "positive_rate":
                continue
            sign = -1.0 if key in LOWER else 1.0
            kind = (
                "unclear"
                if ends is None or ends[0] <= 0.0 <= ends[1]
                else "improved"
                if sign * ends[0] > 0
                else "worse"
            )
            found[kind].append(
                f"{title} against {title_of(other)}: {gap['difference']:+.3f} {format_interval(ends)}, "
                f"p = {gap['p_value']:.2g}"
            )
    return found


def headline(report: Mapping[str, Any]) -> str:
    """The chosen cell in one sentence, or that there is none."""
    best, limit = report["best"], report["arguments"]["max_auc_drop"]
    if best is None:
        return (
            f"No cell of the grid keeps the loss of AUC on the validation texts within {limit:.0%}, or experiment 2 "
            "was not run: nothing was chosen."
        )
    line = report["table"][best["ranking"]]
    change = line["auc_change"]["test"]["mean"]
    return (
        f"Chosen on the validation texts: {title_of(best['ranking'])} with "
        f"{line['factual_fraction']:.0%} of the factual and {line['counterfactual_fraction']:.0%} of the "
        f"counterfactual examples ({line['share_of_cda']:.0%} of CDA's rows). On the test texts: paired DP "
        f"{_cell(_value(line, 'test', 'counterfactual_parity'))}, AUC {100 * change:+.1f} % against the vanilla model."
    )


def write_diet_report(report: Mapping[str, Any], folder: Path) -> list[str]:
    """Write ``data_diet.json``, ``tables.md`` and, with the extra ``report``, the figures and ``report.html``.

    Args:
        report: what ``run_data_diet`` returned.
        folder: where the files go.

    Returns:
        Names of the files.
    """
    from hf_fairness.report import plain

    said = [f"**Caution.** {escape_markdown(caution)}" for caution in report["cautions"]]
    tables = [markdown_table(diet_table(report)), markdown_table(stability_table(report))]
    texts = {"tables.md": "\n\n".join([escape_markdown(headline(report)), *said, *tables]) + "\n"}
    if all(find_spec(name) is not None for name in ("matplotlib", "jinja2")):
        record = data_diet_record(report)
        drawn = {name: make(record) for name, make in FIGURES["data-diet"].items()}
        plots = {name: plot for name, plot in drawn.items() if plot is not None}
        texts |= {f"{name}.svg": standalone(plot.svg) for name, plot in plots.items()}
        texts["report.html"] = render_diet_html(report, list(plots.values()))
    else:
        warnings.warn(
            "Figures and report.html are left out: they need matplotlib and jinja2. "
            'Install them with: pip install "hf-fairness[report]"',
            FairnessWarning,
            stacklevel=2,
        )
    atomic_write_json(folder / "data_diet.json", plain(report))
    for name, text in texts.items():
        atomic_write_text(folder / name, text)
    return ["data_diet.json", *texts]


def render_diet_html(report: Mapping[str, Any], plots: Sequence[Any]) -> str:
    """The report as one HTML page without scripts."""
    jinja2 = require("jinja2")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    templates = resources.files("hf_fairness.report").joinpath("templates")
    source = templates.joinpath("data_diet.html.jinja2").read_text(encoding="utf-8")
    style = re.search(
        r"<style>.*?</style>", templates.joinpath("report.html.jinja2").read_text(encoding="utf-8"), re.DOTALL
    )
    page: str = environment.from_string(source).render(
        style=style[0] if style else "",
        headline=headline(report),
        cautions=report["cautions"],
        disclaimer=DISCLAIMER,
        findings=findings(report),
        table=diet_table(report),
        skipped=report["skipped"],
        stability=stability_table(report),
        plots=plots,
        facts=[
            (title, list(flatten({key: value for key, value in report[part].items() if value is not None})))
            for title, part in (("Data", "data"), ("Search", "arguments"), ("Cost", "cost"))
        ],
        convention=report["meta"]["convention"],
        limits=LIMITS,
        model=report["arguments"]["model_name_or_path"],
        version=hf_fairness.__version__,
    )
    return page
