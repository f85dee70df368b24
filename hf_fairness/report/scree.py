"""Scree plot: how much of what tells two groups apart lies along one direction."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_fairness.report.plots import Plot
from hf_fairness.report.svg import GROUPS, Canvas, short_label
from hf_fairness.report.text import format_number
from hf_fairness.utils import require


def _series(ratios: Mapping[str, Sequence[float]] | Sequence[float]) -> dict[str, list[float]]:
    named = ratios if isinstance(ratios, Mapping) else {"": ratios}
    found = {str(name): [float(value) for value in values] for name, values in named.items()}
    if not found or not all(found.values()):
        raise ValueError("There are no explained variance ratios to draw; take them from bias_direction(...).")
    wrong = [value for values in found.values() for value in values if not 0.0 <= value <= 1.0 + 1e-9]
    if wrong:
        raise ValueError(f"Explained variance ratios are shares between 0 and 1; got {wrong[0]}.")
    return found


def _painter(series: Mapping[str, Sequence[float]]) -> Any:
    """Bars side by side, one colour a direction."""
    most = max(len(values) for values in series.values())
    width = 0.8 / len(series)

    def paint(axes: Any) -> None:
        for k, (name, values) in enumerate(series.items()):
            places = [i + 1 + (k - (len(series) - 1) / 2) * width for i in range(len(values))]
            axes.bar(places, values, width=0.9 * width, color=GROUPS[k % len(GROUPS)][0], label=short_label(name))
            axes.annotate(f"{values[0]:.0%}", (places[0], values[0]), ha="center", va="bottom", fontsize=7)
        axes.set_xticks(range(1, most + 1))
        axes.set_ylim(0.0, min(1.15 * max(max(values) for values in series.values()), 1.08))
        axes.set_xlabel("component")
        axes.set_ylabel("share of variance")
        if len(series) > 1:
            axes.legend(loc="upper right")

    return paint


def scree_plot(ratios: Mapping[str, Sequence[float]] | Sequence[float]) -> Plot:
    """Share of variance of the first components of one or more directions, as inline SVG.

    Args:
        ratios: ``direction.explained_variance_ratio``, or several of them by name (10 and 50 pairs).

    Returns:
        A ``Plot`` with SVG, caption and the same in words.

    Raises:
        ValueError: nothing to draw, or a value that is no share.
        ImportError: matplotlib is not installed.

    Source:
        Dolci et al. 2023, figures 2 and 7.
    """
    series = _series(ratios)
    words = "; ".join(
        f"{name + ': ' if name else ''}{', '.join(format_number(value) for value in values)}"
        for name, values in series.items()
    )
    text = f"Share of variance explained by each component. {words}."
    return Plot(
        title="Explained variance",
        svg=Canvas(4.4, 2.6).draw(_painter(series), "scree", text),
        caption="Share of the variance of the pair differences that each component explains (uncentred PCA). One "
        "bar that towers over the others means that one direction tells the groups apart.",
        description=text,
    )


def save_scree_plot(ratios: Mapping[str, Sequence[float]] | Sequence[float], path: str | Path) -> Path:
    """Write a scree plot as a picture file.

    Args:
        ratios: as in :func:`scree_plot`.
        path: the file; its ending decides the format (``.png``, ``.svg``, ``.pdf``).

    Returns:
        The path written.

    Raises:
        ValueError: as :func:`scree_plot`, or an ending that matplotlib does not know.
        ImportError: matplotlib is not installed.
    """
    from hf_fairness.runs import atomic_write_bytes

    series = _series(ratios)
    figure = require("matplotlib.figure").Figure(figsize=(4.4, 2.6), layout="constrained", dpi=200)
    _painter(series)(figure.subplots())
    buffer = io.BytesIO()
    figure.savefig(buffer, format=Path(path).suffix.lstrip(".") or "png")
    return atomic_write_bytes(path, buffer.getvalue())
