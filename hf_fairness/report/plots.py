"""The pictures of a report, drawn from the data that a record holds: a method says what to draw.

Each entry of ``Record.figures`` is a mapping, in JSON values; its name becomes the name of a file. Every kind reads

* ``kind``: one of those below; ``title``: heading; ``caption``: how to read the picture;
* ``x_label`` and ``y_label`` of the axes, where they have any;
* ``grey``: names that are drawn in grey and below the others;
* ``marks``: ``{label: x}``, vertical lines; ``labels``: ``[[x, y, text], ...]``, words beside points;
* ``format``: of the numbers in the description, as Python writes it (``".0%"``); default: three decimals;
* ``description``: the picture in words, for those who do not see it; made from the data where it is absent;

and its data:

=============  ========================================================================================================
``lines``      ``series``: ``{name: [[x, y], ...]}``, or ``[x, y, low, high]`` with the ends of an interval
``scatter``    ``series``: ``{name: [[x, y], ...]}``, or ``[x, y, left, right, low, high]`` with the ends of two
               intervals; a point with None is left out, here and in lines
``projection`` the same, for places whose axes mean nothing; ``limits``: ``[left, right, bottom, top]``, so that two
               maps can be compared
``bars``       ``rows``: ``{row: {name: value}}``, a bar for each name, which lie side by side or, with ``stacked``:
               true, behind each other; None draws none
``histogram``  ``rows``: ``{row: {name: counts}}`` and ``edges`` of the bins; ``outline``: names drawn as a line, on a
               scale of their own; the counts of the others are relative to the highest of the row, and in front of
               those named before them; one row that is called "" has its counts on the axis
=============  ========================================================================================================

No pyplot and no lasting change of settings. Text stays text, so it can be read aloud and searched. The few neutral
colours are written as CSS variables of the page (light or dark); the colours of data come from the palette of Okabe and
Ito, and shape or position tells the series apart as well.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import cycle
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hf_fairness.record import Record, number
from hf_fairness.report.text import format_number
from hf_fairness.runs import atomic_write_bytes, atomic_write_text
from hf_fairness.utils import REPORT, FairnessWarning, check_packages, require

#: Data of a picture, as the docstring of this module says.
Figure: TypeAlias = Mapping[str, Any]
Styles: TypeAlias = Mapping[str, tuple[str, str]]
#: Draws on the axes of matplotlib that it is given.
Painter: TypeAlias = Callable[[Any], None]

# Okabe and Ito 2008, without the yellow and black that vanish on a light or a dark page.
_BLUE, _VERMILLION = "#0072b2", "#d55e00"
#: Colour and marker of the series of a picture, in their order.
GROUPS = ((_BLUE, "o"), (_VERMILLION, "^"), ("#009e73", "D"), ("#cc79a7", "v"), ("#e69f00", "P"), ("#56b4e9", "X"))
GREY = "#808080"
INK, RULE = "#010203", "#040506"
# Stand-ins for what is another colour on a dark page: a variable of the page, and the colour where there is none.
_VARIABLES = {
    INK: "var(--ink, #1b1f24)",
    RULE: "var(--rule, #9aa3ad)",
    _BLUE: f"var(--blue, {_BLUE})",
    _VERMILLION: f"var(--vermillion, {_VERMILLION})",
}

_RC: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "hf-fairness",
    "text.parse_math": False,
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.edgecolor": RULE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.3,
}

#: Height of a row of counts: the rest keeps it from the one above.
_ROW = 0.85


@dataclass(frozen=True)
class Plot:
    """One picture of the report.

    Attributes:
        title: heading of the picture.
        svg: inline SVG, safe to insert: all text in it is escaped.
        caption: what is drawn and how to read it.
        description: the same picture in words, for those who do not see it.
    """

    title: str
    svg: str
    caption: str
    description: str


def figures(record: Record, *, needed: bool = True) -> dict[str, Plot]:
    """Pictures by name, in the order of the page.

    Args:
        record: of any command.
        needed: False gives none where matplotlib is not installed, and warns.

    Raises:
        ValueError: a figure is of no known kind.
        ImportError: they are needed, and matplotlib (the extra ``report``) is not installed.
    """
    try:
        check_packages(*(REPORT if record.figures else ()))
    except ImportError as error:
        if needed:
            raise
        warnings.warn(f"The pictures are left out: {error}", FairnessWarning, stacklevel=3)
        return {}
    return {_slug(name): draw(name, data) for name, data in record.figures.items()}


def draw(name: str, data: Figure) -> Plot:
    """Draw a picture.

    Args:
        name: begins the ids in the SVG.
        data: see the docstring of this module.

    Raises:
        ValueError: it is of no known kind.
        ImportError: matplotlib (the extra ``report``) is not installed.
    """
    if data.get("kind") not in KINDS:
        raise ValueError(f"figures: {name} is of the kind {data.get('kind')!r}, expected one of {', '.join(KINDS)}.")
    words = data.get("description") or f"{data['title']}. {_words(data)}."
    svg = inline_svg(partial(_paint, data), _size(data), _slug(name), words)
    return Plot(str(data["title"]), svg, str(data.get("caption", "")), words)


def save_figure(data: Figure, path: str | Path) -> Path:
    """Draw a picture into a file, in one step.

    Args:
        data: see the docstring of this module.
        path: its ending decides the format (``.svg``, ``.png``, ``.pdf``; PNG without one); parent folders are made.

    Returns:
        The path written.

    Raises:
        ValueError: an ending that matplotlib does not know.
        ImportError: matplotlib is not installed.
    """
    form = Path(path).suffix.lower().lstrip(".") or "png"
    if form == "svg":
        return atomic_write_text(path, standalone(draw(data["kind"], data).svg))
    return atomic_write_bytes(path, painted(partial(_paint, data), _size(data), form))


def painted(paint: Painter, size: tuple[float, float], form: str) -> bytes:
    """A picture in a format of matplotlib, drawn under our settings.

    Args:
        paint: draws it.
        size: width and height in inches.
        form: ``"svg"``, ``"png"``, ``"pdf"`` ...
    """
    buffer = io.BytesIO()
    with require("matplotlib").rc_context(_RC), warnings.catch_warnings():
        # What shows the picture has fonts of its own; that ours lacks a glyph only shifts the layout a little.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        figure = require("matplotlib.figure").Figure(figsize=size, layout="constrained", dpi=200)
        paint(figure.subplots())
        bare = {"metadata": dict.fromkeys(("Date", "Creator", "Format", "Type")), "transparent": True}
        figure.savefig(buffer, format=form, **(bare if form == "svg" else {}))
    return buffer.getvalue()


def inline_svg(paint: Painter, size: tuple[float, float], name: str, description: str) -> str:
    """A picture for a page: without what only a file needs, with ids of its own, and colours that follow the page."""
    svg = painted(paint, size, "svg").decode()
    svg = re.sub(r'(\sid="|url\(#|href="#)', rf"\g<1>{name}-", svg[svg.index("<svg") :])
    for stand_in, variable in _VARIABLES.items():
        svg = svg.replace(stand_in, variable)
    about = f'role="img" aria-label="{escape(description)}" focusable="false"'
    return svg.replace("<svg", f"<svg {about}", 1).strip()


def standalone(svg: str) -> str:
    """An inline picture as a file of its own: on white, with fixed colours."""
    fixed = re.sub(r"var\(--\w+, (#\w+)\)", r"\1", svg)
    ground = fixed.replace("<svg", '<svg style="background: #ffffff"', 1)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ground}\n'


def short_label(text: str, limit: int = 24) -> str:
    """A label that cannot break the layout of a picture: printable characters only, and not too many."""
    clean = "".join(c for c in " ".join(text.split()) if c.isprintable())
    return clean if len(clean) <= limit else f"{clean[: limit - 1]}…"


def _slug(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name)


def _size(data: Figure) -> tuple[float, float]:
    """Width and height in inches."""
    if "rows" in data and list(data["rows"]) != [""]:
        return 4.4, 1.1 + 0.55 * len(data["rows"])
    return {"projection": (3.3, 3.4), "scatter": (4.4, 3.4)}.get(data["kind"], (4.4, 2.8))


def _names(data: Figure) -> Mapping[str, Any]:
    """The series of a picture, or the names of its bars or counts."""
    return data.get("series") or dict.fromkeys(name for row in data["rows"].values() for name in row)


def _words(data: Figure) -> str:
    """What the numbers of a picture are, in words."""

    def said(value: float) -> str:
        return format(value, data["format"]) if "format" in data else format_number(value)

    if data["kind"] == "bars":
        rows = {row: (f"{k} {said(v)}" for k, v in bars.items() if v is not None) for row, bars in data["rows"].items()}
        return "; ".join(f"{row}: {', '.join(cells)}" for row, cells in rows.items())
    known = {name: _known(points) for name, points in data.get("series", {}).items()}
    if data["kind"] == "lines":
        ends = {name: (points[0][1], points[-1][1]) for name, points in known.items() if points}
        return "; ".join(f"{name} from {said(first)} to {said(last)}" for name, (first, last) in ends.items())
    return ", ".join(f"{len(known[name])} {name}" if name in known else name for name in _names(data))


def _known(points: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    return [point for point in points if None not in point[:2]]


def _paint(data: Figure, axes: Any) -> None:
    """Draw a picture on axes: what is common to all kinds stands here."""
    names, grey, palette = _names(data), data.get("grey") or (), cycle(GROUPS)
    KINDS[data["kind"]](axes, data, {name: (GREY, "s") if name in grey else next(palette) for name in names})
    marks = data.get("marks") or {}
    for place, (label, x) in enumerate(marks.items()):  # each lower than the one before, so that no label is crossed
        top = 1.0 - 0.75 * place / max(len(marks), 8)
        axes.axvline(x, ymax=top, color=GROUPS[1][0], linewidth=1.0).set_gid(f"threshold-{_slug(label)}")
        where = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points", "va": "top"}
        axes.annotate(label, (x, top), xytext=(2, 0), **where)
    for x, y, text in data.get("labels") or ():
        axes.annotate(short_label(text), (x, y), xytext=(3, 3), textcoords="offset points", color=INK, fontsize=7)
    axes.set(xlabel=data.get("x_label", ""), ylabel=data.get("y_label", ""))
    if len(names) > 1:
        columns, scale = (4, 2) if data["kind"] == "projection" else (3, 1)
        how = {"ncols": min(len(names), columns), "markerscale": scale, "handletextpad": 0.4}
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), **how)


def _points(axes: Any, data: Figure, styles: Styles) -> None:
    """Points, or lines through them, with the ends of their intervals."""
    kind, size = data["kind"], 7 if data["kind"] == "projection" else 14
    for name, (color, marker) in styles.items():
        points, label = _known(data["series"][name]), short_label(name)
        x, y = ([point[place] for point in points] for place in (0, 1))
        if kind == "lines":
            axes.plot(x, y, color=color, marker=marker if len(points) < 30 else None, markersize=3.5, label=label)
        else:  # grey below: it often lies on the others and would hide them
            below = 1 if color == GREY else 2
            axes.scatter(x, y, size, c=color, marker=marker, label=label, linewidths=0, alpha=0.75, zorder=below)
        for x, y, *across, low, high in (point for point in points if len(point) > 2 and None not in point):
            axes.plot([x, x], [low, high], color=color, linewidth=0.7, alpha=0.6)
            axes.plot(across, [y] * len(across), color=color, linewidth=0.7, alpha=0.6)
    if kind == "lines" and all(float(x).is_integer() for points in data["series"].values() for x, *_ in points):
        axes.locator_params(axis="x", integer=True)
    if kind == "projection":
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(True)
    if data.get("limits"):
        axes.axis(data["limits"])


def _bars(axes: Any, data: Figure, styles: Styles) -> None:
    rows, stacked = list(data["rows"].values()), data.get("stacked")
    height = 0.6 if stacked else 0.8 / len(styles)
    table = np.array([[row.get(name) or 0.0 for name in styles] for row in rows])
    left = np.cumsum(table, axis=1) - table if stacked else np.zeros_like(table)
    axes.axvline(0.0, color=RULE, linewidth=0.9)
    for place, (name, (color, _)) in enumerate(styles.items()):
        y = np.arange(len(rows)) + (0.0 if stacked else (place - (len(styles) - 1) / 2) * height)
        axes.barh(y, table[:, place], 0.9 * height, left[:, place], color=color, label=short_label(name))
    _name_rows(axes, data, range(len(rows)))
    axes.set_ylim(len(rows) - 0.5, -0.5)


def _histogram(axes: Any, data: Figure, styles: Styles) -> None:
    rows, outline, edges = data["rows"], data.get("outline") or (), data["edges"]
    bare, places = list(rows) == [""], range(len(rows) - 1, -1, -1)
    for place, row in zip(places, rows.values(), strict=True):
        most = max((max(counts) for name, counts in row.items() if name not in outline), default=1)
        for name, counts in row.items():
            scale = 1.0 if bare else _ROW / max(max(counts) if name in outline else most, 1)
            how = {"baseline": place, "fill": name not in outline, "color": styles[name][0]}
            heights, label = [place + scale * count for count in counts], "_" if place else short_label(name)
            axes.stairs(heights, edges, label=label, **how)
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0, None))
    if not bare:
        _name_rows(axes, data, places)


def _name_rows(axes: Any, data: Figure, places: Sequence[int]) -> None:
    axes.set_yticks(places, [short_label(row, 40) for row in data["rows"]])
    axes.tick_params(axis="y", length=0)


#: Kind -> what draws it.
KINDS = {"lines": _points, "scatter": _points, "projection": _points, "bars": _bars, "histogram": _histogram}


def loss_figure(curve: Iterable[Any]) -> dict[str, Any] | None:
    """The losses of a training by step, as data of a picture.

    Args:
        curve: numbers, pairs of step and loss, or the dicts of a Trainer's log history.

    Returns:
        Lines by name of the loss; None where there is none.
    """
    skip = re.compile(r"step|epoch|learning_rate|grad_norm|runtime|per_second|flos|^train_|num_|memory")
    series: dict[str, list[list[float]]] = {}
    for place, item in enumerate(curve, start=1):
        step, loss = item if isinstance(item, (list, tuple)) else (place, item)
        entry = item if isinstance(item, Mapping) else {"step": step, "loss": loss}
        for key in entry:
            value, step = number(entry, key), number(entry, "step")
            if value is not None and not skip.search(str(key)):
                series.setdefault(str(key), []).append([float(place) if step is None else step, value])
    if not series:
        return None
    return {
        "kind": "lines",
        "title": "Training loss",
        "caption": "Losses as logged during training. A falling loss says that the objective was met, not that harm "
        "fell.",
        "x_label": "step",
        "y_label": "loss",
        "series": series,
    }
