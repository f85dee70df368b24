"""The "Bias, risks and limitations" section of a model card, and its entries in the card's front matter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.record import Record
from hf_fairness.report.render import render, view
from hf_fairness.report.text import display_name, joined

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

#: Name of the task under which our entries stand in ``model-index``; it tells ours from those of others.
TASK_NAME = "Bias audit (hf-fairness)"
#: Tags that a mitigated model gets.
TAGS = ("hf-fairness", "bias-mitigation")


def card_section(record: Record, *, texts: bool = False) -> str:
    """Write the section of a model card that says what was measured, what changed and what stays unknown.

    Needs no extra. Names and texts from the results are escaped; of a local folder only its last part is shown.

    Args:
        record: of any command.
        texts: whether texts of the person's own data are shown, where the record holds any: a card is public.

    Returns:
        Markdown that starts with a second-level heading and ends with a line end.
    """
    return render("section.md", **view(record), texts=record.texts if texts else {}, limits=record.limits)


def model_index_entries(record: Record) -> list[EvalResult]:
    """The measurements of the model that a card describes as entries of its ``model-index``.

    Each entry carries its interval, ideal, direction, sample and the control's value in ``metric_args``: no number
    stands alone.

    Args:
        record: of any command; the model is that of the method, or the first one.

    Returns:
        One ``huggingface_hub.EvalResult`` for each measure of bias, utility and information; none without a model.
    """
    from huggingface_hub import EvalResult

    ours, control = record.arm("method") or next(iter(record.arms), None), record.arm("control")
    subject = {key: joined(record.subject[key]) for key in ("attribute", "language") if key in record.subject}
    entries = []
    for measure in record.measures:
        if ours is None or measure.kind == "context" or ours.name not in measure.values:
            continue
        value = measure.values[ours.name]
        slug = "-".join(re.findall(r"[a-z0-9]+", measure.id.removesuffix(measure.metric).lower())) or measure.metric
        beside = measure.values.get(control.name) if control else None
        entries.append(
            EvalResult(
                task_type=record.task,
                task_name=TASK_NAME,
                dataset_type=f"hf-fairness-{slug}",
                dataset_config=measure.set or None,
                dataset_name=f"{measure.id.split('/')[0]} {measure.set}".strip(),
                metric_type=measure.metric,
                metric_name=measure.title,
                metric_value=value.value,
                metric_args={
                    "ci95": list(value.ci95) if value.ci95 else None,
                    "ideal": measure.ideal,
                    "direction": measure.direction,
                    "sample": measure.sample,
                    **({"control": beside.value} if beside else {}),
                    **subject,
                },
            )
        )
    return entries


def card_metadata(
    record: Record | None, model_name: str | None = None, *, base_model: str | None = None, mitigated: bool = True
) -> dict[str, Any]:
    """Front matter for :func:`hf_fairness.report.update_card`: ``model-index``, tags and base model.

    Args:
        record: of the model that the card describes; None leaves out the numbers.
        model_name: name in ``model-index``; None takes the record's.
        base_model: Hub id of the original model; a local path is left out, as it means nothing to others.
        mitigated: whether the model was trained to mitigate bias, which sets the second tag.

    Returns:
        A dict that ``huggingface_hub.ModelCardData(**metadata)`` accepts.
    """
    from huggingface_hub.repocard_data import eval_results_to_model_index

    metadata: dict[str, Any] = {"tags": list(TAGS if mitigated else TAGS[:1])}
    if base_model and display_name(base_model) == base_model and not Path(base_model).exists():
        metadata["base_model"] = base_model
    if record is not None and (entries := model_index_entries(record)):
        metadata["model-index"] = eval_results_to_model_index(display_name(model_name or record.name), entries)
    return metadata
