"""Audit results -> JSON, the model card's section on bias, and an HTML page with plots."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hf_fairness.report.card import card_metadata, card_section, model_index_entries
from hf_fairness.report.html import render_html
from hf_fairness.report.merge import update_card
from hf_fairness.report.projection import project
from hf_fairness.report.refinement import refinement_plot, refinement_table, write_histogram
from hf_fairness.report.scree import save_scree_plot, scree_plot
from hf_fairness.report.summary import Summary, summarize
from hf_fairness.report.tables import Row, delta_table
from hf_fairness.report.terminal import text_table
from hf_fairness.report.text import missing_sections
from hf_fairness.report.word_table import top_texts_table, word_table_html
from hf_fairness.utils import FairnessWarning

__all__ = [
    "Row",
    "Summary",
    "card_metadata",
    "card_section",
    "delta_table",
    "model_index_entries",
    "plain",
    "project",
    "refinement_plot",
    "refinement_table",
    "render_html",
    "save_scree_plot",
    "scree_plot",
    "summarize",
    "text_table",
    "top_texts_table",
    "update_card",
    "word_table_html",
    "write_histogram",
    "write_report",
]

#: Version of the layout of ``audit.json``.
FORMAT = "hf-fairness/audit/1"


def plain(value: Any) -> Any:
    """A nested result as JSON values: string keys, Python numbers, and None for NaN and infinities.

    Nothing is lost silently: the report names every number that was not finite under "not measured".

    Args:
        value: dicts, lists, tuples, sets, paths, numpy scalars and arrays, strings, numbers.

    Returns:
        The same as dicts, lists, str, int, float, bool and None.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=str)
    if value is None or isinstance(value, (bool, str)):
        return value
    if hasattr(value, "tolist") and not isinstance(value, (int, float)):
        return plain(value.tolist())  # numpy and torch, without importing either
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return str(value)


def write_report(
    result: Mapping[str, Any],
    output_dir: str | Path,
    *,
    before: Mapping[str, Any] | None = None,
    control: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    html: bool | None = None,
) -> dict[str, Path]:
    """Write ``audit.json``, ``card_section.md`` and ``report.html``.

    Args:
        result: audit of the model at hand (after mitigation, where there was one); see
            :class:`hf_fairness.report.schema.Audit`.
        output_dir: folder for the files; made if absent.
        before: audit of the original model.
        control: audit of the control.
        training: how the model was trained; see :class:`hf_fairness.report.schema.Training`.
        html: whether to write the HTML page, which needs the extra ``report``; None writes it where the extra
            is installed, and warns otherwise.

    Returns:
        Paths by kind: ``"json"``, ``"markdown"`` and, where written, ``"html"``.

    Raises:
        TypeError: an audit is no mapping.
        ImportError: ``html=True`` without the extra ``report``; nothing is written then.
    """
    from hf_fairness.runs import atomic_write_json, atomic_write_text

    folder = Path(output_dir)
    sides: dict[str, Any] = {"before": before, "control": control, "training": training}
    rows = delta_table(result, before, control)
    section = card_section(result, **sides)
    if html is None:
        html = all(find_spec(name) is not None for name in ("matplotlib", "jinja2"))
        if not html:
            warnings.warn(
                "report.html is left out: it needs matplotlib and jinja2. "
                'Install them with: pip install "hf-fairness[report]"',
                FairnessWarning,
                stacklevel=2,
            )
    page = render_html(result, **sides) if html else None
    record = {
        "format": FORMAT,
        "audit": result,
        "rows": [asdict(row) for row in rows],
        "summary": asdict(summarize(rows)),
        "not_measured": missing_sections(result),
        **{name: side for name, side in sides.items() if side is not None},
    }
    paths = {"json": folder / "audit.json", "markdown": folder / "card_section.md"}
    atomic_write_json(paths["json"], plain(record))
    atomic_write_text(paths["markdown"], section)
    if page is not None:
        paths["html"] = folder / "report.html"
        atomic_write_text(paths["html"], page)
    return paths
