"""The words of a text coloured by what they add to its bias score, as HTML for light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from hf_fairness.report.markdown import markdown_table
from hf_fairness.report.text import ABSENT

#: Colours of the negative and the positive side, as red, green, blue: they differ for every kind of colour vision.
COLOURS = ((0, 114, 178), (213, 94, 0))
#: Opacity of the strongest colour; the page shows through, so that its text colour stays readable on it.
STRONGEST = 0.55

_STYLE = """
.word-bias { color-scheme: light dark; color: CanvasText; font: 1rem/1.6 system-ui, sans-serif; max-width: 46rem; }
.word-bias p { overflow-wrap: anywhere; }
.word-bias table { border-collapse: collapse; font-size: .92rem; }
.word-bias caption { text-align: left; font-weight: 600; padding: .3rem 0; }
.word-bias th, .word-bias td { padding: .2rem .8rem .2rem .3rem; border-bottom: 1px solid #8888; text-align: right;
  font-variant-numeric: tabular-nums; }
.word-bias th:first-child { text-align: left; font-weight: 500; overflow-wrap: anywhere; }
.word-bias tfoot th, .word-bias thead th { font-weight: 600; }
.word-bias mark { color: inherit; padding: .1rem .25rem; border-radius: .25rem; }
.word-bias .out { text-decoration: underline dotted; text-underline-offset: .2em; }
"""


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


def _mark(row: Mapping[str, Any], scale: float) -> str:
    word, weighted = escape(str(row["word"])), float(row["weighted"])
    if row.get("excluded"):
        return f'<mark class="out" style="background: none" title="on the exclusion list">{word}</mark>'
    return f'<mark style="{_colour(weighted, scale)}" title="{_number(weighted)}">{word}</mark>'


def _line(row: Mapping[str, Any], scale: float) -> str:
    bias = "0 (exclusion list)" if row.get("excluded") else _number(float(row["bias"]))
    cells = [f"{100 * float(row['importance']):.2f} %", bias, _number(float(row["weighted"]))]
    if not row.get("known", True):
        cells = [ABSENT, ABSENT, "0 (no vector)"]
    numbers = "".join(f"<td>{cell}</td>" for cell in cells[:2])
    colour = _colour(float(row["weighted"]), scale)
    return f'<tr><th scope="row">{escape(str(row["word"]))}</th>{numbers}<td style="{colour}">{cells[2]}</td></tr>'


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
    legend = "".join(
        f' <mark style="{_colour(sign * limit, limit)}">{escape(name)} ({_number(sign * limit)})</mark>'
        for sign, name in zip((-1.0, 1.0), names, strict=True)
    )
    parts = [f"<p>Weighted bias:{legend} <mark class='out' style='background: none'>on the exclusion list</mark></p>"]
    for table in items:
        words = " ".join(_mark(row, limit) for row in table["rows"])
        sums = "".join(
            f'<tr><th scope="row" colspan="3">Overall {escape(name)} bias</th>'
            f"<td>{_number(float(table[name]))}</td></tr>"
            for name in reversed(names)
        )
        heads = "".join(f'<th scope="col">{head}</th>' for head in ("Word", "Importance", "Bias", "Weighted bias"))
        body = "".join(_line(row, limit) for row in table["rows"])
        parts.append(
            f"<p>{words}</p><table><caption>{escape(str(table['text']))}</caption><thead><tr>{heads}</tr></thead>"
            f"<tbody>{body}</tbody><tfoot>{sums}</tfoot></table>"
        )
    fragment = f'<section class="word-bias"><style>{_STYLE}</style>{"".join(parts)}</section>'
    if not page:
        return fragment
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Bias score by word</title></head><body>{fragment}</body></html>\n"
    )
