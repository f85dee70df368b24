"""Pages and cards by the templates of this package, in which every value is escaped.

The name of a template says how: in ``*.html.jinja2`` a value is text of a page; in ``*.md.jinja2`` it is one line that
cannot become markup, and only ``| safe`` takes it for Markdown. Markdown is escaped value by value, which is safe as
long as a blank or the end of the line stands behind each: what has to stand closer is joined with ``~`` before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_eval_context
from jinja2.nodes import EvalContext
from markupsafe import Markup

from hf_fairness.report.markdown import bullets, escape_markdown, markdown_table
from hf_fairness.report.text import display_name


def render(name: str, **values: Any) -> str:
    """A text by the template of a name, such as ``"report.html"``."""
    return _environment().get_template(f"{name}.jinja2").render(**values).strip() + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hf_fairness.report"),
        autoescape=lambda name: name is not None and name.endswith(".html.jinja2"),
        finalize=_escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"bullets": _bullets, "table": _table, "display_name": display_name}
    return environment


@pass_eval_context
def _escaped(context: EvalContext, value: Any) -> Any:
    """A value as it is written: jinja2 itself escapes those of pages."""
    return value if context.autoescape or isinstance(value, Markup) else escape_markdown(value)


def _bullets(items: Iterable[object]) -> Markup:
    return Markup(bullets(items))


def _table(rows: Iterable[Sequence[Any]], *heading: str) -> Markup:
    return Markup(markdown_table([*([heading] if heading else []), *rows]))
