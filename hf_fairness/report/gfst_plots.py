"""The picture of a GFST report: what the filters kept of each group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hf_fairness.record import Record
from hf_fairness.report.plots import Plot
from hf_fairness.report.svg import GROUPS, Canvas


def kept_plot(record: Record) -> Plot | None:
    """How many pairs of each group came to the last filter, passed it and were left after balancing."""
    steps: Mapping[str, Mapping[str, float]] = record.figures.get("kept") or {}
    if not steps:
        return None
    groups = list(next(iter(steps.values())))
    words = [f"{name}: {', '.join(f'{group} {n:,.0f}' for group, n in row.items())}" for name, row in steps.items()]
    text = f"Pairs by group. {'; '.join(words)}."
    height = 0.8 / len(groups)

    def paint(axes: Any) -> None:
        for k, group in enumerate(groups):
            ys = [y + (k - (len(groups) - 1) / 2) * height for y in range(len(steps))]
            values = [row[group] for row in steps.values()]
            axes.barh(ys, values, height=height * 0.9, color=GROUPS[k % len(GROUPS)][0], label=group)
        axes.set_yticks(range(len(steps)), list(steps))
        axes.set_ylim(len(steps) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("pairs")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return Plot(
        title="What the filters kept",
        svg=Canvas(4.4, 2.2).draw(paint, "gfst-kept", text),
        caption="Pairs of each group; the larger groups lose pairs until all have as many as the smallest.",
        description=text,
    )
