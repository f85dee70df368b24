"""The figures of a GFST report: the scores of every model, GFST against the others, and what the filters kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hf_fairness.record import Interval, Record, interval, mapping, number
from hf_fairness.report.gfst_record import name_of
from hf_fairness.report.plots import Plot
from hf_fairness.report.svg import GREY, GROUPS, RULE, Canvas
from hf_fairness.report.text import format_interval, format_number

#: Keys of WinoMT that are drawn, with their titles and ideal values.
SCORES = (("accuracy", "Acc", 1.0), ("delta_g", "ΔG", 0.0), ("delta_s_f1", "ΔS", 0.0), ("delta_r", "ΔR", 0.0))


def _bars(value: float, ends: Interval | None) -> list[list[float]] | None:
    return None if ends is None else [[max(value - ends[0], 0.0)], [max(ends[1] - value, 0.0)]]


def scores_plot(report: Mapping[str, Any]) -> Plot | None:
    """WinoMT of every model with intervals; None without it."""
    scores = mapping(report, "winomt")
    shown = [entry for entry in SCORES if any(number(mapping(scores, name), entry[0]) is not None for name in scores)]
    if not shown:
        return None
    step = 0.7 / max(len(scores), 1)
    words = []
    for model, values in scores.items():
        parts = [f"{title} {format_number(number(values, key))}" for key, title, _ in shown]
        words.append(f"{name_of(model)}: {', '.join(parts)}")
    text = f"WinoMT. {'; '.join(words)}."

    def paint(axes: Any) -> None:
        axes.axvline(0.0, color=RULE, linewidth=0.9)
        for k, (model, values) in enumerate(scores.items()):
            color, marker = (GREY, "o") if k == 0 else GROUPS[(k - 1) % len(GROUPS)]
            for y, (key, _, _) in enumerate(shown):
                value = number(values, key)
                if value is not None:
                    axes.errorbar(
                        value,
                        y + (k - (len(scores) - 1) / 2) * step,
                        xerr=_bars(value, interval(values, f"{key}_ci95")),
                        fmt=marker,
                        color=color,
                        markersize=4,
                        elinewidth=0.9,
                        label=name_of(model) if y == 0 else None,
                    )
        axes.set_yticks(range(len(shown)), [f"{title} ({ideal:g})" for _, title, ideal in shown])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return Plot(
        title="WinoMT of every model",
        svg=Canvas(4.4, 1.2 + 0.55 * len(shown)).draw(paint, "gfst-scores", text),
        caption="Ideal values stand in parentheses; bars are 95 % intervals over rows.",
        description=text,
    )


def differences_plot(report: Mapping[str, Any]) -> Plot | None:
    """Paired differences of GFST to every other model; None without WinoMT."""
    compared = mapping(mapping(report, "comparisons"), "winomt")
    shown = [
        (other, title, gap, ends)
        for other, table in compared.items()
        for key, title, _ in SCORES
        if (gap := mapping(table, key)) and (ends := interval(gap, "difference_ci95")) is not None
    ]
    if not shown:
        return None
    words = [
        f"{title} against {name_of(other)} {format_number(number(gap, 'difference'))} {format_interval(ends)}"
        for other, title, gap, ends in shown
    ]
    text = f"GFST minus the other model. {'; '.join(words)}."
    colors = {other: GROUPS[place % len(GROUPS)] for place, other in enumerate(compared)}

    def paint(axes: Any) -> None:
        axes.axvline(0.0, color=RULE, linewidth=0.9)
        for y, (other, _, gap, ends) in enumerate(shown):
            color, marker = colors[other]
            value = number(gap, "difference") or 0.0
            axes.errorbar(value, y, xerr=_bars(value, ends), fmt=marker, color=color, markersize=4, elinewidth=0.9)
        axes.set_yticks(range(len(shown)), [f"{title}, {name_of(other)}" for other, title, _, _ in shown])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("GFST minus the other model")

    return Plot(
        title="GFST against the other models",
        svg=Canvas(4.4, 0.8 + 0.2 * len(shown)).draw(paint, "gfst-differences", text),
        caption="Paired differences on the same rows with 95 % intervals. For Acc to the right is better; for gaps "
        "above 0 to the left is.",
        description=text,
    )


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
