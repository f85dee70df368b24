"""A record as JSON, as text for the terminal, as the section of a model card, and as an HTML page with pictures.

Every command ends in the same report: what changed most, what the control did and what it cost, in a few sentences;
one picture with a row for each measure; then lists, tables and the pictures of the method. ``report.html`` reads on a
phone, in the dark and on paper, without scripts; ``report.md`` is the section of a model card; ``record.json`` holds
all of it in one layout (`hf_fairness.record.Record`), and ``results.json`` what the command found in its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_fairness.record import Record, plain
from hf_fairness.report.audit_record import audit_record
from hf_fairness.report.bias_score import (
    refinement_figure,
    refinement_table,
    scree_figure,
    top_texts_table,
    word_table_html,
)
from hf_fairness.report.card import card_metadata, card_section, model_index_entries
from hf_fairness.report.html import render_html
from hf_fairness.report.merge import update_card
from hf_fairness.report.plots import draw, figures, save_figure, standalone
from hf_fairness.report.projection import project
from hf_fairness.report.render import text_report
from hf_fairness.report.summary import Summary, summarize
from hf_fairness.runs import Run, atomic_write_text

__all__ = [
    "Summary",
    "audit_record",
    "card_metadata",
    "card_section",
    "draw",
    "model_index_entries",
    "plain",
    "project",
    "refinement_figure",
    "refinement_table",
    "render_html",
    "save_figure",
    "scree_figure",
    "stage_report",
    "summarize",
    "text_report",
    "top_texts_table",
    "update_card",
    "word_table_html",
    "write_report",
]


def write_report(
    record: Record, output_dir: str | Path, *, result: Mapping[str, Any] | None = None, html: bool | None = None
) -> dict[str, Path]:
    """Write ``record.json``, ``report.md``, ``report.html`` and the pictures of the method as SVG.

    Args:
        record: of any command.
        output_dir: folder for the files; made if absent.
        result: what the command found, in its own layout, with everything that the record leaves out; written as
            ``results.json``.
        html: whether to write the page and the pictures; None leaves out pictures where the extra ``report`` is not
            installed, and warns.

    Returns:
        Paths by kind: ``"json"``, ``"markdown"`` and, where written, ``"results"``, ``"html"`` and the pictures.

    Raises:
        ImportError: ``html=True``, and pictures without the extra ``report``; nothing is written then.
    """
    folder = Path(output_dir)
    texts = {"json": ("record.json", record.to_json()), "markdown": ("report.md", card_section(record, texts=True))}
    if html is not False:
        pictures = figures(record, needed=html is True)
        texts["html"] = ("report.html", render_html(record, pictures))
        texts |= {name: (f"{name}.svg", standalone(plot.svg)) for name, plot in pictures.items()}
    if result is not None:
        texts["results"] = ("results.json", plain(result))
    for name, text in texts.values():
        if not isinstance(text, str):  # in the order of the value: reports list facts, and colour groups, in that order
            text = json.dumps(text, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        atomic_write_text(folder / name, text)
    return {kind: folder / name for kind, (name, _) in texts.items()}


def stage_report(
    run: Run, record: Callable[[], Record], result: Mapping[str, Any], *, inputs: Sequence[Any]
) -> dict[str, Path]:
    """Write the report as the stage ``report`` of a run.

    Args:
        run: that is going on.
        record: makes what was found, with its pictures' data; called where the stage has work to do.
        result: the same in the command's own layout.
        inputs: what the report depends on.

    Returns:
        Paths by kind, see :func:`write_report`.
    """

    def work(folder: Path) -> dict[str, str]:
        return {kind: path.name for kind, path in write_report(record(), folder, result=result).items()}

    written: dict[str, str] = run.stage("report", work, inputs=inputs, version=3)
    return {kind: run.folder("report") / name for kind, name in (written or {}).items()}
