"""Scree plot: how much of what tells two groups apart lies along one direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_fairness.report.plots import Plot, draw, save_figure
from hf_fairness.report.text import format_number


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
    return draw("scree", _figure(ratios))


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
    return save_figure(_figure(ratios), path)


def _figure(ratios: Mapping[str, Sequence[float]] | Sequence[float]) -> dict[str, Any]:
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
