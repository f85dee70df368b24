"""The words of a text coloured by what they add to its bias score, as HTML for light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hf_fairness.report.html import from_template
from hf_fairness.report.markdown import markdown_table

#: Colours of the negative and the positive side, as red, green, blue: they differ for every kind of colour vision.
COLOURS = ((0, 114, 178), (213, 94, 0))
#: Opacity of the strongest colour; the page shows through, so that its text colour stays readable on it.
STRONGEST = 0.55


def top_texts_table(lists: Mapping[str, Sequence[tuple[str, float]]]) -> str:
    r"""The most biased texts per group as a Markdown table (tables 3, B1 and B2 of the paper).

    Args:
        lists: what ``measure.encoder.bias_score.most_biased`` returned.

    Returns:
        The table, the second group first as in the paper; text is escaped.

    Example:
        >>> print(top_texts_table({"male": [("a | b", -0.2)], "female": [("c", 0.1)]}))
        | Sentence | Bias score |
        |---|---|
        | c | 0.10000 |
        | a \| b | −0.20000 |
    """
    rows = [(text, _number(score)) for name in reversed(list(lists)) for text, score in lists[name]]
    return markdown_table([("Sentence", "Bias score"), *rows])


def _colour(weighted: float, scale: float) -> str:
    red, green, blue = COLOURS[weighted > 0.0]
    share = min(abs(weighted) / scale, 1.0) if scale > 0.0 else 0.0
    return f"background: rgba({red}, {green}, {blue}, {STRONGEST * share:.3f})"


def _number(value: float, places: int = 5) -> str:
    return f"{value:.{places}f}".replace("-", "−") if round(value, places) else "0"


def word_table_html(
    tables: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    groups: Sequence[str] | None = None,
    scale: float | None = None,
    page: bool = True,
) -> str:
    """Coloured HTML of one or more word tables (tables 2 and 12 of the paper).

    A word's colour is the side that it leans to, and its strength the weighted bias; the numbers stand beside it,
    so that nothing is said by colour alone. All text is escaped; there is no script and nothing from elsewhere.

    Args:
        tables: what ``measure.encoder.bias_score.word_table`` returned, or a list of it, or the ``words`` of
            ``bias_score(words=True)``.
        groups: names of the negative and the positive group; None reads them from ``meta`` of the first table.
        scale: weighted bias of the strongest colour; None takes the largest of these tables.
        page: True for a whole HTML page, False for a fragment with its style.

    Returns:
        The HTML.

    Raises:
        ValueError: no table, no groups, or a scale that is not positive.
        ImportError: jinja2 (the extra ``report``) is not installed.

    Source:
        Dolci et al. 2023, tables 2 and 12.

    Example:
        >>> row = {"word": "<b>", "importance": 0.5, "bias": 0.2, "weighted": 0.1}
        >>> table = {"text": "<b>", "rows": [row], "female": 0.1, "male": 0.0}
        >>> html = word_table_html(table, groups=["male", "female"])
        >>> "&lt;b&gt;" in html, "<b>" in html
        (True, False)
    """
    items = [tables] if isinstance(tables, Mapping) else list(tables)
    if not items:
        raise ValueError("There is no table to show.")
    names = list(groups if groups is not None else items[0].get("meta", {}).get("groups", ()))
    if len(names) != 2:
        raise ValueError(f"groups must name the negative and the positive group; got {names}.")
    if scale is not None and not scale > 0.0:
        raise ValueError(f"scale must be positive; got {scale}.")
    largest = max((abs(float(row["weighted"])) for table in items for row in table["rows"]), default=0.0)
    limit = largest if scale is None else scale
    return from_template(
        "word_table",
        tables=items,
        groups=names,
        legend=[(names[0], -limit), (names[1], limit)],
        colour=partial(_colour, scale=limit),
        number=_number,
        page=page,
    )
