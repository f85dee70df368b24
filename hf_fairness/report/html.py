"""A record as one self-contained HTML page, by one template for every command."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from importlib.util import find_spec
from typing import Any

import hf_fairness
from hf_fairness.record import Record
from hf_fairness.report.card import conventions, facts, finding_lists
from hf_fairness.report.overview import strips
from hf_fairness.report.plots import Plot, figures
from hf_fairness.report.summary import summarize
from hf_fairness.report.tables import shown_arms, tables
from hf_fairness.report.text import DISCLAIMER, joined
from hf_fairness.utils import require


def render_html(record: Record, pictures: Mapping[str, Plot] | None = None) -> str:
    """Write the report of any command as an HTML page without scripts that loads nothing.

    Names and texts from the results are escaped: a model's name cannot bring in markup or script. The picture of the
    first screen needs no extra library; those of a method need matplotlib and are left out without it.

    Args:
        record: of any command.
        pictures: those of the method, where they are drawn already; None draws them, where matplotlib is installed.

    Returns:
        The page as text; the same record gives the same text.

    Raises:
        ImportError: jinja2 (the extra ``report``) is not installed.
    """
    if pictures is None:
        pictures = figures(record) if find_spec("matplotlib") is not None else {}
    summary = summarize(record)
    return from_template(
        "report",
        record=record,
        subject=[f"{key}: {joined(value)}" for key, value in record.subject.items()],
        summary=summary,
        strips=strips(record),
        shown=shown_arms(record),
        findings=finding_lists(summary),
        disclaimer=DISCLAIMER,
        tables=tables(record),
        figures=pictures,
        facts=facts(record),
        conventions=conventions(record),
        version=hf_fairness.__version__,
    )


def from_template(name: str, **values: Any) -> str:
    """A page by one of our templates; all text in the values is escaped.

    Raises:
        ImportError: jinja2 (the extra ``report``) is not installed.
    """
    jinja2 = require("jinja2")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = resources.files("hf_fairness.report").joinpath("templates").joinpath(f"{name}.html.jinja2")
    page: str = environment.from_string(source.read_text(encoding="utf-8")).render(**values)
    return page
