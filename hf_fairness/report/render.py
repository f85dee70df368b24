"""Pages, cards and texts by the templates of this package, in which every value is escaped.

The name of a template says how: in ``*.html.jinja2`` a value is text of a page; in ``*.md.jinja2`` it is one line that
cannot become markup; in ``*.txt.jinja2`` it commands no terminal. Only ``| safe`` takes a value as it is. Markdown is
escaped value by value, which is safe as long as a blank or the end of the line stands behind each: what has to stand
closer is joined with ``~`` before.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from hf_fairness.report.markdown import bullets, escape_markdown, markdown_table
from hf_fairness.report.text import display_name

#: What is printed, and not "printable".
_BLANKS = "\n\N{NO-BREAK SPACE}"


def render(name: str, **values: Any) -> str:
    """A text by the template of a name, such as ``"report.html"``; it ends with a line end."""
    return _environment().get_template(f"{name}.jinja2").render(**values).strip() + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hf_fairness.report"),
        autoescape=lambda name: _kind(name) == "html",
        finalize=_escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"bullets": _bullets, "table": _table, "wrap": _wrap, "display_name": display_name}
    return environment


def _kind(template: str | None) -> str:
    return (template or "").removesuffix(".jinja2").rpartition(".")[2]


@pass_context
def _escaped(context: Context, value: Any) -> Any:
    """A value as it is written: jinja2 itself escapes those of pages."""
    kind = _kind(context.name)
    if isinstance(value, Markup) or kind == "html":
        return value
    if kind == "txt":
        return "".join(letter for letter in str(value) if letter.isprintable() or letter in _BLANKS)
    return escape_markdown(value)


def _bullets(items: Iterable[object]) -> Markup:
    return Markup(bullets(items))


def _table(rows: Iterable[Sequence[Any]], *heading: str) -> Markup:
    return Markup(markdown_table([*([heading] if heading else []), *rows]))


def _wrap(text: str, width: int, mark: str = "") -> str:
    """Lines of a width, the first one behind a mark."""
    blank = " " * len(mark)
    return textwrap.fill(text, width, initial_indent=mark, subsequent_indent=blank, break_on_hyphens=False)
