"""Text, lists and tables in Markdown, in which no name becomes markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

#: An interval of numbers, which no sign behind it makes a link, is readable as it is.
_INTERVAL = r"\[[-+−]?[\d.]+ ?%?, [-+−]?[\d.]+ ?%?\](?![\[(:])"
_SPECIAL = re.compile(rf"({_INTERVAL})|([\\|*_\[\]`#~$])")
#: What readers make a link of without brackets.
_BARE_LINK = re.compile(r"(?<=\bwww)\.|:(?=//)|(?<=\bmailto):|(?<=\w)@(?=\w)", re.IGNORECASE)
#: What begins a list at the start of a line.
_OPENING = re.compile(r"^(\d{0,9})([-+.)=])(?=\s|$)")


def escape_markdown(text: object) -> str:
    r"""Text on one line that cannot become markup, a link, the end of a table's cell, or HTML.

    Example:
        >>> print(escape_markdown("a | <b>\n[x](javascript:y)"))
        a \| &lt;b&gt; \[x\](javascript:y)
        >>> print(escape_markdown("a_b .10 [.05, .20], [1, 2](x)"))
        a\_b .10 [.05, .20], \[1, 2\](x)
    """
    flat = " ".join("".join(letter if letter.isprintable() else " " for letter in str(text)).split())
    escaped = _SPECIAL.sub(lambda found: found[1] or f"\\{found[2]}", html.escape(flat, quote=False))
    escaped = _OPENING.sub(r"\1\\\2", escaped)
    return _BARE_LINK.sub(lambda sign: f"&#{ord(sign[0])};", escaped)


def bullets(items: Iterable[object]) -> str:
    """A list, an item a line."""
    return "\n".join(f"- {escape_markdown(item)}" for item in items)


def markdown_table(rows: Sequence[Sequence[Any]], *, trusted: bool = False) -> str:
    r"""A table; empty without rows below the heading's.

    Args:
        rows: the heading, then the rows; cells of several lines stand on one.
        trusted: whether cells hold markup that was written by us: then ``|`` alone is escaped.

    Example:
        >>> print(markdown_table([["group", "n"], ["a|b", 3]]))
        | group | n |
        |---|---|
        | a\|b | 3 |
    """
    write = _own_markup if trusted else escape_markdown
    lines = [f"| {' | '.join(map(write, row))} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) if len(rows) > 1 else ""


def _own_markup(cell: object) -> str:
    return str(cell).replace("|", "\\|")
