"""The figures of Zayed et al. 2023 for a data-diet search, and its trade-off curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hf_fairness.record import Record, Value, interval, mapping, number
from hf_fairness.report.plots import Plot
from hf_fairness.report.svg import GREY, GROUPS, INK, RULE, Canvas
from hf_fairness.report.text import format_interval, format_number

#: Measures that are the bars of figure 4, with their names.
BARS = {
    "test/counterfactual_parity": "paired DP",
    "test/counterfactual_equalized_odds": "paired EqOdd",
    "test/counterfactual_equal_opportunity_1": "paired EqOpp1",
    "groups/demographic_parity": "group DP",
    "test/auc": "AUC",
}


def _errors(value: Mapping[str, Any]) -> list[list[float]] | None:
    mean, ends = number(value, "mean"), interval(value, "ci95")
    return None if mean is None or ends is None else [[max(mean - ends[0], 0.0)], [max(ends[1] - mean, 0.0)]]


def curve_plot(record: Record, key: str = "counterfactual_parity") -> Plot | None:
    """Experiment 1: a test measure over the share of counterfactual examples, one line per ranking; None without it.

    Source: Zayed et al. 2023, figures 2 and 3.
    """
    curves = mapping(record.figures, "curves")
    if not curves:
        return None
    title = {"counterfactual_parity": "paired DP", "auc": "AUC"}.get(key, key)
    ends = [
        f"{name} from {format_number(points[0][key]['mean'])} to {format_number(points[-1][key]['mean'])}"
        for name, points in curves.items()
    ]
    text = f"{title} of test texts by share of counterfactual examples: {'; '.join(ends)}."

    def paint(axes: Any) -> None:
        for place, (name, points) in enumerate(curves.items()):
            color, marker = GROUPS[place % len(GROUPS)]
            shown = [point for point in points if number(point[key], "mean") is not None]
            xs = [point["share"] for point in shown]
            axes.plot(
                xs,
                [point[key]["mean"] for point in shown],
                color=color,
                marker=marker,
                markersize=3.5,
                label=name,
            )
            for x, point in zip(xs, shown, strict=True):
                if (errors := _errors(point[key])) is not None:
                    axes.errorbar(
                        x, point[key]["mean"], yerr=errors, fmt="none", ecolor=color, elinewidth=0.7, alpha=0.6
                    )
        axes.set_xlabel("share of the counterfactual examples (b)")
        axes.set_ylabel(title)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return Plot(
        title=f"All factual examples and a share of the counterfactual ones: {title}",
        svg=Canvas(4.4, 3.0).draw(paint, f"diet-curve-{key.replace('_', '-')}", text),
        caption="Experiment 1. The counterfactual examples with the highest scores come first. Bars: 95 % intervals "
        "over seeds.",
        description=text,
    )


def choice_plot(record: Record) -> Plot | None:
    """Experiment 2: percentage of change against the vanilla model, for every baseline and chosen cell.

    Source: Zayed et al. 2023, figure 4.
    """
    original = record.arm("original")
    if original is None or len(record.arms) < 2:
        return None
    found = {measure.id: measure.values for measure in record.measures}
    bars = {title: found[place] for place, title in BARS.items() if original.name in found.get(place, {})}
    if not bars:
        return None
    changes = {
        arm.title: [_percent(values.get(arm.name), values[original.name]) for values in bars.values()]
        for arm in record.arms
        if arm is not original
    }
    words = [
        f"{name}: "
        + ", ".join(f"{title} {change:+.1f} %" for title, change in zip(bars, row, strict=True) if change is not None)
        for name, row in changes.items()
    ]
    text = f"Change against the vanilla model. {'; '.join(words)}."
    height = 0.8 / len(bars)

    def paint(axes: Any) -> None:
        axes.axvline(0.0, color=RULE, linewidth=0.9)
        for k, title in enumerate(bars):
            drawn = [
                (y + (k - (len(bars) - 1) / 2) * height, row[k])
                for y, row in enumerate(changes.values())
                if row[k] is not None
            ]
            color = GROUPS[k % len(GROUPS)][0]
            axes.barh([y for y, _ in drawn], [v for _, v in drawn], height=height * 0.9, color=color, label=title)
        axes.set_yticks(range(len(changes)), list(changes))
        axes.set_ylim(len(changes) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("change against the vanilla model, %")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return Plot(
        title="Change against the vanilla model",
        svg=Canvas(4.4, 1.1 + 0.5 * len(changes)).draw(paint, "diet-choices", text),
        caption="Experiment 2: of every ranking the cell chosen on the validation texts, beside the baselines; test "
        "texts. To the right: fairer, or a higher AUC.",
        description=text,
    )


def _percent(value: Value | None, base: Value) -> float | None:
    return None if value is None or not base.value else 100.0 * (value.value / base.value - 1.0)


def trade_off_plot(record: Record) -> Plot | None:
    """Paired parity against the change of AUC: every cell of experiment 2, and the baselines; None without it."""
    data = mapping(record.figures, "trade_off")
    if not data:
        return None
    limit, series, others = data["limit"], data["rankings"], data["baselines"]
    words = [f"{name} {format_number(y)} at {100 * x:+.1f} %" for name, (x, y) in others.items() if None not in (x, y)]
    text = f"Paired DP against change of AUC. Baselines: {'; '.join(words)}."

    def paint(axes: Any) -> None:
        axes.axvline(-100 * limit, color=RULE, linewidth=0.9, linestyle="--")
        for place, (name, points) in enumerate(series.items()):
            color, marker = GROUPS[place % len(GROUPS)]
            _scatter(axes, points, c=color, marker=marker, s=14, label=name)
        _scatter(axes, list(others.values()), c=GREY, marker="s", s=20, label="baselines")
        for name, (x, y) in others.items():
            if None not in (x, y):
                axes.annotate(name, (100 * x, y), xytext=(3, 3), textcoords="offset points", color=INK, fontsize=7)
        axes.set_xlabel("change of AUC against the vanilla model, %")
        axes.set_ylabel("paired DP")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return Plot(
        title="Fairness and AUC",
        svg=Canvas(4.4, 3.4).draw(paint, "diet-trade-off", text),
        caption="Every cell of experiment 2 and the baselines on the test texts, means over seeds. The dashed line is "
        "the largest loss of AUC allowed, which is held against the validation texts.",
        description=text,
    )


def _scatter(axes: Any, points: Sequence[tuple[float | None, float | None]], **style: Any) -> None:
    defined = [(100 * x, y) for x, y in points if x is not None and y is not None]
    axes.scatter([x for x, _ in defined], [y for _, y in defined], linewidths=0, **style)


def stability_plot(record: Record) -> Plot | None:
    """Rank correlation of GE after each epoch with the GE that is used; None where only one epoch was scored."""
    data = mapping(record.figures, "stability")
    values = data.get("by_epoch") or []
    if len(values) < 2 or any(value is None for value in values):
        return None
    text = "GE after each epoch against the GE used: " + ", ".join(format_number(value) for value in values) + "."
    ends = interval(data, "between_seeds")
    spread = f" Between seeds: {format_interval(ends)}." if ends else ""

    def paint(axes: Any) -> None:
        axes.plot(range(1, len(values) + 1), values, color=GROUPS[0][0], marker="o", markersize=3.5)
        axes.set_ylim(top=1.02)
        axes.set_xlabel("epoch")
        axes.set_ylabel("Spearman")

    return Plot(
        title="Stability of GE over epochs",
        svg=Canvas(4.4, 2.4).draw(paint, "diet-stability", text),
        caption=f"Spearman correlation of the mean GE over runs, on examples with a counterfactual.{spread}",
        description=text,
    )
