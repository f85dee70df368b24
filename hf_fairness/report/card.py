"""The "Bias, risks and limitations" section of a model card, and its entries in the card's front matter."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hf_fairness
from hf_fairness.report.markdown import bullets, escape_markdown, markdown_table
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
from hf_fairness.report.values import read_values

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

#: Heading of the section, as in the Hub's template of a model card.
HEADING = "Bias, risks and limitations"
#: Name of the task under which our entries stand in ``model-index``; it tells ours from those of others.
TASK_NAME = "Bias audit (hf-fairness)"
#: Tags that a mitigated model gets.
TAGS = ("hf-fairness", "bias-mitigation")

_FAMILIES = {"seat": "SEAT", "cced": "CCED", "probe": "Group probe", "utility": "Retained utility"}


def _cell(value: float | None, ends: tuple[float, float] | None) -> str:
    return f"{format_number(value)} {format_interval(ends)}"


def _table(rows: Sequence[Row], compared: bool, has_control: bool) -> str:
    columns = ["Measure", *(["Before", "After"] if compared else ["Measured"])]
    columns += ["Control"] if has_control else []
    columns += ["Change", "Ideal", "Verdict"] if compared else ["Ideal"]
    lines = [columns]
    for row in rows:
        cells = ["; ".join(filter(None, (row.title, row.sample, *row.extras_text)))]
        cells += [_cell(row.before, row.before_ci95)] if compared else []
        cells += [_cell(row.after, row.after_ci95)]
        cells += [_cell(row.control, row.control_ci95)] if has_control else []
        change = [row.change_text] if compared else []
        verdict = [row.verdict] if compared else []
        lines.append([*cells, *change, f"{row.ideal_text}, {row.direction_text}", *verdict])
    return markdown_table(lines)


def _findings(summary: Summary) -> str:
    """The findings as lists; "got worse" comes first and is said even where it is empty."""
    if summary.measured:
        return bullets(summary.measured)
    blocks = [
        "**Got worse**\n\n" + (bullets(summary.worse) or "- No measure here got clearly worse."),
        "**Improved**\n\n" + (bullets(summary.improved) or "- No measure here clearly improved."),
    ]
    blocks += ["**No clear change**\n\n" + bullets(summary.unclear)] if summary.unclear else []
    blocks += ["**Cannot be decided**\n\n" + bullets(summary.undecided)] if summary.undecided else []
    blocks += ["**Read with care**\n\n" + bullets(summary.cautions)] if summary.cautions else []
    return "\n\n".join(blocks)


def card_section(
    result: AuditLike,
    *,
    before: AuditLike | None = None,
    control: AuditLike | None = None,
    training: Mapping[str, Any] | None = None,
) -> str:
    """Write the section of a model card that says what was measured, what changed and what stays unknown.

    Needs no extra. Names and texts from the results are escaped; of a local folder only its last part is
    shown.

    Args:
        result: audit of the model at hand (after mitigation, where there was one).
        before: audit of the original model.
        control: audit of the control.
        training: how the model was trained; its ``control`` says what the control is.

    Returns:
        Markdown that starts with a second-level heading and ends with a line end.
    """
    rows = delta_table(result, before, control)
    summary = summarize(rows)
    model = escape_markdown(display_name(result.get("model", "")))
    against = f", compared with {escape_markdown(display_name(before.get('model', '')))}" if before else ""
    facts = [
        f"{name} {escape_markdown(result[name])}" for name in ("attribute", "language", "date") if result.get(name)
    ]
    parts = [
        f"## {HEADING}",
        f"Measured with hf-fairness {hf_fairness.__version__} on {model}{against}"
        + (f" ({', '.join(facts)})." if facts else "."),
        DISCLAIMER,
        "### What was found" if before is None else "### What changed",
        escape_markdown(summary.headline),
        _findings(summary),
        "### Measurements",
        _table(rows, before is not None, control is not None) if rows else "Nothing was measured.",
    ]
    if control is not None:
        parts.append(f"The control: {escape_markdown(control_text(training))}.")
    if training:
        parts += [
            "### Training",
            bullets(f"{k}: {v}" for k, v in flatten(training)),
        ]
    if sweep := sweep_table(training):
        parts += ["### Sweep over beta", markdown_table(sweep, rule="---:"), SWEEP_NOTE]
    parts += [
        "### How to read the numbers",
        bullets(CONVENTIONS),
        "### What these numbers do not show",
        bullets(LIMITS),
        "### Not measured",
        bullets(missing_sections(result)),
    ]
    return "\n\n".join(parts) + "\n"


def model_index_entries(result: AuditLike) -> list[EvalResult]:
    """The measurements of an audit as entries of a model card's ``model-index``.

    Each entry carries its interval, ideal value, direction and sample in ``metric_args``: no number stands
    alone.

    Args:
        result: audit of the model that the card describes.

    Returns:
        One ``huggingface_hub.EvalResult`` for each measure of bias, utility and probe; none for an empty
        audit.
    """
    from huggingface_hub import EvalResult

    entries = []
    for value in read_values(result):
        if value.kind == "context":
            continue
        family = value.id.split("/")[0]
        slug = "-".join(re.findall(r"[a-z0-9]+", value.id.removesuffix(value.metric).lower())) or family
        entries.append(
            EvalResult(
                task_type="feature-extraction",
                task_name=TASK_NAME,
                dataset_type=f"hf-fairness-{slug}",
                dataset_config=value.set or None,
                dataset_name=f"{_FAMILIES.get(family, family)} {value.set}".strip(),
                metric_type=value.metric,
                metric_name=value.label,
                metric_value=value.value,
                metric_args={
                    "ci95": list(value.ci95) if value.ci95 else None,
                    "ideal": value.ideal,
                    "direction": value.direction,
                    "sample": value.sample,
                    "attribute": str(result.get("attribute") or ""),
                    "language": str(result.get("language") or ""),
                },
            )
        )
    return entries


def card_metadata(
    result: AuditLike, model_name: str | None = None, *, base_model: str | None = None, mitigated: bool = True
) -> dict[str, Any]:
    """Front matter for :func:`update_card`: ``model-index``, tags and base model.

    Args:
        result: audit of the model that the card describes.
        model_name: name in ``model-index``; None takes the audit's.
        base_model: Hub id of the original model; a local path is left out, as it means nothing to others.
        mitigated: whether the model was trained to mitigate bias, which sets the second tag.

    Returns:
        A dict that ``huggingface_hub.ModelCardData(**metadata)`` accepts.
    """
    from huggingface_hub.repocard_data import eval_results_to_model_index

    entries = model_index_entries(result)
    name = display_name(model_name or result.get("model", ""))
    metadata: dict[str, Any] = {"tags": list(TAGS if mitigated else TAGS[:1])}
    if base_model and display_name(base_model) == base_model and not Path(base_model).exists():
        metadata["base_model"] = base_model
    if entries:
        metadata["model-index"] = eval_results_to_model_index(name, entries)
    return metadata
