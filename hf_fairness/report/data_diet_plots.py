"""The figures of Zayed et al. 2023 for a data-diet search, and its trade-off curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hf_fairness.record import interval, mapping, number
from hf_fairness.report.plots import Plot
from hf_fairness.report.svg import GREY, GROUPS, INK, RULE, Canvas
from hf_fairness.report.text import format_interval, format_number

NAMES = {"ge": "GE", "el2n": "EL2N", "grand": "GraNd", "forgetting": "forgetting"}
BASELINES = ("vanilla", "cda", "cds", "blindness", "balancing")
#: Set and key of the bars of figure 4, with their names.
BARS = (
    (("test", "counterfactual_parity"), "paired DP"),
    (("test", "counterfactual_equalized_odds"), "paired EqOdd"),
    (("test", "counterfactual_equal_opportunity_1"), "paired EqOpp1"),
    (("groups", "demographic_parity"), "group DP"),
    (("test", "auc"), "AUC"),
)


def _name(ranking: str) -> str:
    return NAMES.get(
        ranking, {"cda": "CDA", "cds": "CDS", "vanilla_ge": "vanilla GE"}.get(ranking, ranking.replace("_", " "))
    )


def _errors(value: Mapping[str, Any]) -> list[list[float]] | None:
    mean, ends = number(value, "mean"), interval(value, "ci95")
    return None if mean is None or ends is None else [[max(mean - ends[0], 0.0)], [max(ends[1] - mean, 0.0)]]


def curve_plot(report: Mapping[str, Any], key: str = "counterfactual_parity") -> Plot | None:
    """Experiment 1: a test measure over the share of counterfactual examples, one line per ranking; None without it.

    Source: Zayed et al. 2023, figures 2 and 3.
    """
    curves = mapping(report, "curves")
    if not curves:
        return None
    title = {"counterfactual_parity": "paired DP", "auc": "AUC"}.get(key, key)
    ends = [
        f"{_name(name)} from {format_number(points[0]['test'][key]['mean'])} to "
        f"{format_number(points[-1]['test'][key]['mean'])}"
        for name, points in curves.items()
    ]
    text = f"{title} of test texts by share of counterfactual examples: {'; '.join(ends)}."

    def paint(axes: Any) -> None:
        for place, (name, points) in enumerate(curves.items()):
            color, marker = GROUPS[place % len(GROUPS)]
            shown = [point for point in points if number(point["test"][key], "mean") is not None]
            xs = [point["counterfactual_fraction"] for point in shown]
            axes.plot(
                xs,
                [point["test"][key]["mean"] for point in shown],
                color=color,
                marker=marker,
                markersize=3.5,
                label=_name(name),
            )
            for x, point in zip(xs, shown, strict=True):
                if (errors := _errors(point["test"][key])) is not None:
                    axes.errorbar(
                        x, point["test"][key]["mean"], yerr=errors, fmt="none", ecolor=color, elinewidth=0.7, alpha=0.6
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


def choice_plot(report: Mapping[str, Any]) -> Plot | None:
    """Experiment 2: percentage of change against the vanilla model, for every baseline and chosen cell.

    Source: Zayed et al. 2023, figure 4.
    """
    table = mapping(report, "table")
    vanilla = mapping(table, "vanilla")
    bars = [(place, title) for place, title in BARS if _measure(vanilla, place)]
    lines = {name: line for name, line in table.items() if name != "vanilla"}
    if not lines or not bars:
        return None
    changes = {
        name: [_percent(_measure(line, place), _measure(vanilla, place)) for place, _ in bars]
        for name, line in lines.items()
    }
    words = [
        f"{_name(name)}: "
        + ", ".join(
            f"{title} {value:+.1f} %" for (_, title), value in zip(bars, values, strict=True) if value is not None
        )
        for name, values in changes.items()
    ]
    text = f"Change against the vanilla model. {'; '.join(words)}."
    height = 0.8 / len(bars)

    def paint(axes: Any) -> None:
        axes.axvline(0.0, color=RULE, linewidth=0.9)
        for k, (_, title) in enumerate(bars):
            shown = [
                (y + (k - (len(bars) - 1) / 2) * height, values[k])
                for y, values in enumerate(changes.values())
                if values[k] is not None
            ]
            color = GROUPS[k % len(GROUPS)][0]
            axes.barh([y for y, _ in shown], [v for _, v in shown], height=height * 0.9, color=color, label=title)
        axes.set_yticks(range(len(lines)), [_name(name) for name in lines])
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("change against the vanilla model, %")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return Plot(
        title="Change against the vanilla model",
        svg=Canvas(4.4, 1.1 + 0.5 * len(lines)).draw(paint, "diet-choices", text),
        caption="Experiment 2: of every ranking the cell chosen on the validation texts, beside the baselines; test "
        "texts. To the right: fairer, or a higher AUC.",
        description=text,
    )


def _measure(line: Mapping[str, Any], place: tuple[str, str]) -> Mapping[str, Any]:
    return mapping(mapping(mapping(line, "measures"), place[0]), place[1])


def _percent(value: Mapping[str, Any], base: Mapping[str, Any]) -> float | None:
    new, old = number(value, "mean"), number(base, "mean")
    return None if new is None or not old else 100.0 * (new / old - 1.0)


def trade_off_plot(report: Mapping[str, Any]) -> Plot | None:
    """Paired parity against the change of AUC: every cell of experiment 2, and the baselines; None without it."""
    cells = mapping(report, "trade_off")
    if not cells:
        return None
    limit = float(report["arguments"]["max_auc_drop"])
    series = {
        name: [(point["auc_change"]["mean"], point["test"]["counterfactual_parity"]["mean"]) for point in points]
        for name, points in cells.items()
    }
    others = {
        name: (
            line["auc_change"]["test"]["mean"],
            line["measures"]["test"]["counterfactual_parity"]["mean"],
        )
        for name, line in report["table"].items()
        if name in BASELINES
    }
    words = [
        f"{_name(name)} {format_number(y)} at {100 * x:+.1f} %" for name, (x, y) in others.items() if None not in (x, y)
    ]
    text = f"Paired DP against change of AUC. Baselines: {'; '.join(words)}."

    def paint(axes: Any) -> None:
        axes.axvline(-100 * limit, color=RULE, linewidth=0.9, linestyle="--")
        for place, (name, points) in enumerate(series.items()):
            color, marker = GROUPS[place % len(GROUPS)]
            _scatter(axes, points, c=color, marker=marker, s=14, label=_name(name))
        _scatter(axes, list(others.values()), c=GREY, marker="s", s=20, label="baselines")
        for name, (x, y) in others.items():
            if None not in (x, y):
                axes.annotate(
                    _name(name), (100 * x, y), xytext=(3, 3), textcoords="offset points", color=INK, fontsize=7
                )
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


def stability_plot(report: Mapping[str, Any]) -> Plot | None:
    """Rank correlation of GE after each epoch with the GE that is used; None where only one epoch was scored."""
    values = mapping(report, "stability").get("by_epoch") or []
    if len(values) < 2 or any(value is None for value in values):
        return None
    text = "GE after each epoch against the GE used: " + ", ".join(format_number(value) for value in values) + "."
    pairs = mapping(mapping(mapping(report, "stability"), "by_seed"), "ge")
    ends = (number(pairs, "least"), number(pairs, "greatest"))
    spread = "" if None in ends else f" Between seeds: {format_interval((ends[0] or 0.0, ends[1] or 0.0))}."

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


#: File name -> figure of a report.
FIGURES: dict[str, Callable[[Mapping[str, Any]], Plot | None]] = {
    "parity_curve": curve_plot,
    "auc_curve": lambda report: curve_plot(report, "auc"),
    "choices": choice_plot,
    "trade_off": trade_off_plot,
    "stability": stability_plot,
}
