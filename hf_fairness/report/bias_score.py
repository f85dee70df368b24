"""Pictures and tables of bias scores, after Dolci et al. 2023: of a direction, of the words of a text, of a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hf_fairness.record import interval, number
from hf_fairness.report.markdown import markdown_table
from hf_fairness.report.render import render
from hf_fairness.report.text import format_number, format_value

#: Colours of the negative and the positive side, as red, green, blue: they differ for every kind of colour vision.
COLOURS = ((0, 114, 178), (213, 94, 0))
#: Opacity of the strongest colour; the page shows through, so that its text colour stays readable on it.
STRONGEST = 0.55
#: Key of a percentile's entry -> heading of its column, and how its numbers are written where they have no interval.
COLUMNS = {
    "percentile": ("percentile", "g"),
    "threshold": ("threshold", ""),
    "n_above": ("rows above", ",.0f"),
    "share_above": ("share above", ""),
    "max_kept": ("highest score kept", ""),
    "n_with_terms": ("with terms", ",.0f"),
    "n_added": ("added", ",.0f"),
    "share_duplicated": ("share duplicated", ""),
}


def scree_figure(ratios: Mapping[str, Sequence[float]] | Sequence[float]) -> dict[str, Any]:
    """Share of variance of the first components of one or more directions, as data of a picture.

    Args:
        ratios: ``direction.explained_variance_ratio``, or several of them by name (10 and 50 pairs).

    Returns:
        What a record keeps, `draw` shows and `save_figure` writes, see :mod:`hf_fairness.report.plots`.

    Raises:
        ValueError: nothing to draw, or a value that is no share.

    Source:
        Dolci et al. 2023, figures 2 and 7.
    """
    named = ratios if isinstance(ratios, Mapping) else {"": ratios}
    series = {str(name): [float(value) for value in values] for name, values in named.items()}
    if not series or not all(series.values()):
        raise ValueError("There are no explained variance ratios to draw; take them from bias_direction(...).")
    if wrong := [value for values in series.values() for value in values if not 0.0 <= value <= 1.0 + 1e-9]:
        raise ValueError(f"Explained variance ratios are shares between 0 and 1; got {wrong[0]}.")
    words = (f"{name}: " * bool(name) + ", ".join(map(format_number, values)) for name, values in series.items())
    return {
        "kind": "lines",
        "title": "Explained variance",
        "caption": "Share of the variance of the pair differences that each component explains (uncentred PCA). A "
        "first component that towers over the others means that one direction tells the groups apart.",
        "description": f"Share of variance explained by each component. {'; '.join(words)}.",
        "x_label": "component",
        "y_label": "share of variance",
        "series": {name: [[place, value] for place, value in enumerate(v, start=1)] for name, v in series.items()},
        "labels": [[1, values[0], f"{values[0]:.0%}"] for values in series.values()],
    }


def refinement_table(description: Mapping[str, Any]) -> list[list[str]]:
    """Heading and one row per percentile, as text.

    Args:
        description: what ``hf_fairness.refine.describe`` returned.

    Returns:
        The heading, then the rows; columns that the description does not have are left out.

    Raises:
        ValueError: something else than a description.
    """
    _check(description)
    levels = description["percentiles"]
    keys = [key for key in COLUMNS if any(key in level for level in levels)]
    return [[COLUMNS[key][0] for key in keys], *([_cell(level, key) for key in keys] for level in levels)]


def _cell(level: Mapping[str, Any], key: str) -> str:
    value, form = number(level, key), COLUMNS[key][1]
    return format(value, form) if form and value is not None else format_value(value, interval(level, f"{key}_ci95"))


def _check(description: object) -> None:
    wanted = ("n", "max", "histogram", "percentiles")
    if not isinstance(description, Mapping) or any(key not in description for key in wanted):
        got = f"keys {', '.join(map(str, description))}" if isinstance(description, Mapping) else type(description)
        raise ValueError(f"Wanted what hf_fairness.refine.describe returns, with {', '.join(wanted)}; got {got}.")


def refinement_figure(description: Mapping[str, Any]) -> dict[str, Any]:
    """Histogram of the scores of a corpus with a line at each threshold, as data of a picture.

    Args:
        description: what ``hf_fairness.refine.describe`` returned.

    Returns:
        As :func:`scree_figure`; the lines have ids that end in ``threshold-<percentile>``.

    Raises:
        ValueError: something else than a description.

    Source:
        Dolci et al. 2023, figure 5.
    """
    _check(description)
    levels = {f"{level['percentile']:g}": level["threshold"] for level in description["percentiles"]}
    lines = "; ".join(f"{level}th percentile {format_number(threshold)}" for level, threshold in levels.items())
    return {
        "kind": "histogram",
        "title": "Distribution of scores",
        "caption": "Number of rows by score. Each line marks a percentile; the rows to its right are those that a "
        "refinement at this percentile takes.",
        "description": f"Scores of {description['n']:,} rows, highest {format_number(description['max'])}. {lines}.",
        "x_label": "score of a row (greatest of its texts)",
        "y_label": "rows",
        "rows": {"": {"rows": description["histogram"]["counts"]}},
        "edges": description["histogram"]["edges"],
        "marks": levels,
    }


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
    limit = scale or max((abs(float(row["weighted"])) for table in items for row in table["rows"]), default=0.0)
    return render(
        "word_table.html",
        tables=items,
        groups=names,
        legend=[(names[0], -limit), (names[1], limit)],
        colour=partial(_colour, scale=limit),
        number=_number,
        page=page,
    )
