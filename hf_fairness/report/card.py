"""The "Bias, risks and limitations" section of a model card, and its entries in the card's front matter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hf_fairness
from hf_fairness.record import Record
from hf_fairness.report.markdown import bullets, escape_markdown, markdown_table, sections
from hf_fairness.report.summary import Summary, summarize
from hf_fairness.report.tables import tables
from hf_fairness.report.text import BRACKETS, DISCLAIMER, display_name, joined, setting_texts

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

#: Heading of the section, as in the Hub's template of a model card.
HEADING = "Bias, risks and limitations"
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
    shown = [(f"### {escape_markdown(title)}", bullets(items)) for title, items in record.texts.items() if texts]
    models, measured, *facts_, not_measured = numbers(record)
    limits = ("### What these numbers do not show", bullets(record.limits))
    return sections([("", introduction(record)), models, measured, *shown, *facts_, limits, not_measured])


def introduction(record: Record) -> str:
    """The heading of the section, and the findings."""
    summary = summarize(record)
    subject = ", ".join(f"{key} {joined(value)}" for key, value in record.subject.items())
    what = f"{record.name}: {record.method}. Measured with hf-fairness {hf_fairness.__version__}"
    about = escape_markdown(what + (f" ({subject})." if subject else "."))
    headline, counts = f"**{escape_markdown(summary.headline)}**", escape_markdown(summary.counts)
    parts = (f"## {HEADING}", about, headline, DISCLAIMER, counts, findings_markdown(summary))
    return sections(("", part) for part in parts)


def numbers(record: Record) -> list[tuple[str, str]]:
    """Headings and texts on what was measured: models, tables, settings, how to read it, and what was not measured."""
    grids = [
        f"**{escape_markdown(table.title)}**\n\n{markdown_table(table.rows)}\n\n{escape_markdown(table.note)}"
        for table in tables(record)
    ]
    return [
        ("### Models", bullets(f"{arm.title}: {arm.about}" if arm.about else arm.title for arm in record.arms)),
        ("### Measurements", sections(("", grid) for grid in grids or ["Nothing was measured."])),
        *((f"### {title}", bullets(f"{key}: {value}" for key, value in section)) for title, section in facts(record)),
        ("### How to read the numbers", bullets(conventions(record))),
        ("### Not measured", bullets(record.not_measured)),
    ]


def findings_markdown(summary: Summary) -> str:
    """The findings as lists; "got worse" comes first and is said even where it is empty."""
    return sections(
        ("", f"**{title}**\n\n{bullets(items) or f'- {empty}'}") for title, items, empty in finding_lists(summary)
    )


def finding_lists(summary: Summary) -> list[tuple[str, Sequence[str], str]]:
    """Title, sentences and what stands in their place of each list of findings that is shown."""
    compared = bool(summary.counts)
    lists = [
        ("Got worse", summary.worse, "No measure here got clearly worse." if compared else ""),
        ("Improved", summary.improved, "No measure here clearly improved." if compared else ""),
        ("Beside the others", summary.others, ""),
        ("No clear change", summary.unclear, ""),
        ("Cannot be decided", summary.undecided, ""),
        ("Measured", summary.measured, ""),
        ("Read with care", summary.cautions, ""),
    ]
    return [each for each in lists if each[1] or each[2]]


def facts(record: Record) -> list[tuple[str, list[tuple[str, str]]]]:
    """Blocks of names and values: how the models were trained, what was asked, and where it was run."""
    method = record.arm("method")
    trained = method.training if method else {}
    blocks = (("Training", trained), ("Settings", record.asked), ("Measurement", record.provenance))
    return [(title, found) for title, section in blocks if (found := list(setting_texts(section)))]


def conventions(record: Record) -> list[str]:
    """How each kind of measure is computed and read, each said once, and what brackets and verdicts mean."""
    over = {measure.interval_over for measure in record.measures if any(v.ci95 for v in measure.values.values())}
    kinds = {"items": "the items at hand, not over other trainings", "seeds": "seeds of training, not over other texts"}
    intervals = [f"Intervals are over {kinds.get(each, 'seeds and items')}." for each in sorted(over)]
    said = (measure.convention for measure in record.measures if measure.convention)
    return [*dict.fromkeys(said), BRACKETS, *intervals]


def model_index_entries(record: Record) -> list[EvalResult]:
    """The measurements of the model that a card describes as entries of its ``model-index``.

    Each entry carries its interval, ideal, direction, sample and the control's value in ``metric_args``: no number
    stands alone.

    Args:
        record: of any command; the model is that of the method, or the only one.

    Returns:
        One ``huggingface_hub.EvalResult`` for each measure of bias, utility and information.
    """
    from huggingface_hub import EvalResult

    ours, control = record.arm("method") or record.arms[0], record.arm("control")
    entries = []
    for measure in (each for each in record.measures if each.kind != "context" and ours.name in each.values):
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
                    **{key: joined(record.subject[key]) for key in ("attribute", "language") if key in record.subject},
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
    entries = [] if record is None else model_index_entries(record)
    if entries and record is not None:
        metadata["model-index"] = eval_results_to_model_index(display_name(model_name or record.name), entries)
    return metadata
