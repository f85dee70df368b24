"""Pictures of matplotlib as inline SVG whose neutral colours follow the page, or as a file.

No pyplot and no lasting change of settings. Text stays text, so it can be read aloud and searched. The few
neutral colours are written as CSS variables of the page (light or dark); the colours of data come from the
palette of Okabe and Ito, and shape or position tells the series apart as well.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import Any, TypeAlias

from hf_fairness.utils import require

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
