"""The report of a GFST run: JSON, Markdown tables, figures as SVG, one HTML page, and the section of a model card."""

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
from hf_fairness.report.card import HEADING, TASK_NAME
from hf_fairness.report.figures import FIGURES
from hf_fairness.report.gfst_plots import differences_plot, scores_plot
from hf_fairness.report.gfst_record import CONTROL, GFST, LIMITS, cautions, gfst_record, kept_table, signatures
from hf_fairness.report.gfst_tables import columns, findings, gfst_table, headline
from hf_fairness.report.markdown import bullets, escape_markdown, markdown_table
from hf_fairness.report.svg import standalone
from hf_fairness.report.text import DISCLAIMER, flatten
from hf_fairness.runs import atomic_write_json, atomic_write_text
from hf_fairness.utils import FairnessWarning, require


def write_gfst_report(report: Mapping[str, Any], folder: Path) -> list[str]:
    """Write ``gfst.json``, ``tables.md`` and, with the extra ``report``, the figures and ``report.html``.

    Args:
        report: what ``run_gfst`` put together.
        folder: where the files go.

    Returns:
        Names of the files.
    """
    from hf_fairness.report import plain

    texts = {"tables.md": gfst_card_section(report, "this model")}
    if all(find_spec(name) is not None for name in ("matplotlib", "jinja2")):
        record = gfst_record(report)
        drawn = {"scores": scores_plot(report), "differences": differences_plot(report)}
        drawn |= {name: make(record) for name, make in FIGURES["gfst"].items()}
        plots = {name: plot for name, plot in drawn.items() if plot is not None}
        texts |= {f"{name}.svg": standalone(plot.svg) for name, plot in plots.items()}
        texts["report.html"] = render_gfst_html(report, list(plots.values()))
    else:
        warnings.warn(
            "Figures and report.html are left out: they need matplotlib and jinja2. "
            'Install them with: pip install "hf-fairness[report]"',
            FairnessWarning,
            stacklevel=2,
        )
    atomic_write_json(folder / "gfst.json", plain(report))
    for name, text in texts.items():
        atomic_write_text(folder / name, text)
    return ["gfst.json", *texts]


def render_gfst_html(report: Mapping[str, Any], plots: Sequence[Any]) -> str:
    """The report as one HTML page without scripts."""
    jinja2 = require("jinja2")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    templates = resources.files("hf_fairness.report").joinpath("templates")
    source = templates.joinpath("gfst.html.jinja2").read_text(encoding="utf-8")
    style = re.search(
        r"<style>.*?</style>", templates.joinpath("report.html.jinja2").read_text(encoding="utf-8"), re.DOTALL
    )
    page: str = environment.from_string(source).render(
        style=style[0] if style else "",
        headline=headline(report),
        disclaimer=DISCLAIMER,
        findings=findings(report),
        cautions=cautions(report),
        table=gfst_table(report),
        kept=kept_table(report),
        plots=plots,
        facts=[
            (title, list(flatten({key: value for key, value in report[part].items() if value is not None})))
            for title, part in (("Run", "arguments"), ("Training", "training"))
        ],
        signatures=[f"{name}: {text}" for name, text in signatures(report).items()],
        convention=report["meta"]["convention"],
        limits=LIMITS,
        languages=f"{report['arguments']['source_lang']}-{report['arguments']['lang']}",
        version=hf_fairness.__version__,
    )
    return page


def gfst_card_section(report: Mapping[str, Any], name: str) -> str:
    """The section of a model card that says what was measured, what got worse, and what stays unknown.

    Args:
        report: what ``run_gfst`` put together.
        name: of the model.

    Returns:
        Markdown that starts with a second-level heading and ends with a line end.
    """
    found = findings(report)
    parts = [
        f"## {HEADING}",
        f"{escape_markdown(name)} was trained with gender-filtered self-training (GFST, Choubey et al. 2021) and "
        f"measured with hf-fairness {hf_fairness.__version__}.",
        DISCLAIMER,
        escape_markdown(headline(report)),
        *(["**Read first**\n\n" + bullets(cautions(report))] if cautions(report) else []),
        "**Got worse**\n\n" + (bullets(found["worse"]) or "- No measure here got clearly worse."),
        "**Improved**\n\n" + (bullets(found["improved"]) or "- No measure here clearly improved."),
        *(["**No clear change**\n\n" + bullets(found["unclear"])] if found["unclear"] else []),
        "### Measurements",
        markdown_table(gfst_table(report)),
        "The control is trained for as many steps on the original parallel data alone; RandST on as many pairs that no "
        "filter saw. Brackets hold 95 % intervals, ideal values stand in parentheses.",
        bullets([f"{name}: {text}" for name, text in signatures(report).items()]),
        "### Data",
        markdown_table(kept_table(report)),
        "### What these numbers do not show",
        bullets(LIMITS),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def gfst_model_index(report: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Front matter with the final model's numbers, each with interval, ideal value and the control's value."""
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    entries = []
    for (part, key), (title, ideal) in columns(report).items():
        scores, control = (mapping(mapping(report, part), model) for model in (GFST, CONTROL))
        value = number(scores, key)
        if value is not None:
            ends = interval(scores, f"{key}_ci95")
            entries.append(
                EvalResult(
                    task_type="translation",
                    task_name=TASK_NAME,
                    dataset_type=f"hf-fairness-{part.replace('_', '-')}",
                    dataset_name={"winomt": "WinoMT", "must_she": "MuST-SHE"}.get(part, "generic test set"),
                    metric_type=key,
                    metric_name=title,
                    metric_value=value,
                    metric_args={
                        "ci95": list(ends) if ends else None,
                        "ideal": ideal,
                        "control": number(control, key),
                        "direction": "nearer to the ideal value is better",
                    },
                )
            )
    return {"model-index": eval_results_to_model_index(name, entries)} if entries else {}
