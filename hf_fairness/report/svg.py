"""A canvas that draws with matplotlib and returns inline SVG whose neutral colours follow the page.

No pyplot and no lasting change of settings. Text stays text, so it can be read aloud and searched. The few
neutral colours are written as CSS variables of the page (light or dark); the colours of data come from the
palette of Okabe and Ito, and shape or position tells the series apart as well.
"""

from __future__ import annotations

import io
import re
import warnings
from html import escape
from typing import Any

from hf_fairness.utils import require

# Okabe and Ito 2008, without the yellow and black that vanish on a light or a dark page.
_BLUE, _VERMILLION, _GREEN, _PURPLE, _ORANGE, _SKY = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
)
GREY = "#808080"
INK, RULE = "#010203", "#040506"
# Colours that are swapped for CSS variables once the SVG is written, as they differ on a dark page.
_VARIABLES = {
    INK: "var(--ink)",
    RULE: "var(--rule)",
    _BLUE: "var(--blue)",
    _VERMILLION: "var(--vermillion)",
}
# The same for a picture that stands alone, on white.
_ON_WHITE = {"var(--ink)": "#1b1f24", "var(--rule)": "#9aa3ad", "var(--blue)": _BLUE, "var(--vermillion)": _VERMILLION}

SERIES: dict[str, dict[str, Any]] = {
    "before": {"color": GREY, "marker": "o"},
    "after": {"color": _BLUE, "marker": "D"},
    "control": {"color": _ORANGE, "marker": "^"},
}
GROUPS = ((_BLUE, "o"), (_VERMILLION, "^"), (_GREEN, "D"), (_PURPLE, "v"), (_ORANGE, "P"), (_SKY, "X"))

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


class Canvas:
    """A figure of our own, drawn under our settings and turned into inline SVG."""

    def __init__(self, width: float, height: float) -> None:
        self._matplotlib = require("matplotlib")
        with self._matplotlib.rc_context(_RC):
            figure = require("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
        self.figure: Any = figure

    def draw(self, painter: Any, name: str, description: str) -> str:
        """Let ``painter(axes)`` draw, and return the SVG with ids that no other picture shares."""
        canvas = require("matplotlib.backends.backend_svg").FigureCanvasSVG
        buffer = io.StringIO()
        with self._matplotlib.rc_context(_RC), warnings.catch_warnings():
            # The browser draws the text with its own fonts; that ours lacks a glyph only shifts the layout a
            # little.
            warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
            canvas(self.figure)
            painter(self.figure.subplots())
            self.figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        return _inline(buffer.getvalue(), name, description)


def _inline(svg: str, name: str, description: str) -> str:
    """Strip what only a file needs, make ids unique on the page, and let colours follow the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\sid=")', rf"\g<1>{name}-", svg)
    svg = re.sub(r"(url\(#|href=\"#)", rf"\g<1>{name}-", svg)
    head, body = svg.split(">", 1)
    head = re.sub(r'\s(?:width|height)="[^"]*"', "", head)
    for stand_in, variable in _VARIABLES.items():
        body = body.replace(stand_in, variable)
    return f'{head} role="img" aria-label="{escape(description)}" focusable="false">{body.strip()}'


def standalone(svg: str) -> str:
    """An inline picture of :class:`Canvas` as a file of its own: with a size, a ground and fixed colours."""
    for variable, color in _ON_WHITE.items():
        svg = svg.replace(variable, color)
    found = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', svg)
    size = f' width="{found[1]}" height="{found[2]}"' if found else ""
    return f'<?xml version="1.0" encoding="utf-8"?>\n<svg{size} style="background: #ffffff"{svg[4:]}\n'


def short_label(text: str, limit: int = 24) -> str:
    """A label that cannot break the layout of a picture: printable characters only, and not too many."""
    clean = "".join(c for c in " ".join(text.split()) if c.isprintable())
    return clean if len(clean) <= limit else f"{clean[: limit - 1]}…"
