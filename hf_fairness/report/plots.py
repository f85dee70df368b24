"""The plots of the report, each as inline SVG with a caption and the same content in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from hf_fairness.report.schema import AuditLike
from hf_fairness.report.svg import GREY, GROUPS, INK, RULE, SERIES, Canvas, short_label
from hf_fairness.report.tables import Row
from hf_fairness.report.text import format_interval, format_number
from hf_fairness.report.values import Interval, mapping, number


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


def _errors(value: float, ends: Interval | None) -> list[list[float]] | None:
    return None if ends is None else [[max(value - ends[0], 0.0)], [max(ends[1] - value, 0.0)]]


def _present(rows: Sequence[Row]) -> list[str]:
    return [name for name in ("before", "after", "control") if any(getattr(row, name) is not None for row in rows)]


def _in_words(rows: Sequence[Row], series: Sequence[str], names: Mapping[str, str]) -> str:
    """Each row with its numbers, as a sentence for a screen reader."""
    parts = []
    for row in rows:
        numbers = [
            " ".join((names[name], format_number(value), format_interval(getattr(row, f"{name}_ci95")))).strip()
            for name in series
            if (value := getattr(row, name)) is not None
        ]
        parts.append(f"{row.set or 'mean of the tests'}: {', '.join(numbers)}")
    return "; ".join(parts)


def _series_names(series: Sequence[str]) -> dict[str, str]:
    return {name: name for name in series} if "before" in series else {"after": "measured", "control": "control"}


def _interval_plot(rows: Sequence[Row], labels: Sequence[str], xlabel: str, name: str, text: str) -> str:
    """Points with 95 % intervals, one line of the picture a row, one marker a series."""
    series = _present(rows)
    names = _series_names(series)
    step = 0.62 / max(len(series), 1)

    def paint(axes: Any) -> None:
        axes.axvline(0.0, color=RULE, linewidth=0.9)
        for k, key in enumerate(series):
            style = SERIES[key]
            for y, row in enumerate(rows):
                value = getattr(row, key)
                if value is None:
                    continue
                axes.errorbar(
                    value,
                    y + (k - (len(series) - 1) / 2) * step,
                    xerr=_errors(value, getattr(row, f"{key}_ci95")),
                    fmt=style["marker"],
                    color=style["color"],
                    markersize=4.5,
                    capsize=2,
                    label=names[key]
                    if y == next(i for i, r in enumerate(rows) if getattr(r, key) is not None)
                    else None,
                )
        axes.set_yticks(range(len(rows)), labels)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(xlabel)
        axes.margins(x=0.08)
        if len(series) > 1:
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(series))

    height = 0.85 + len(rows) * (0.16 + 0.14 * len(series))
    return Canvas(4.4, height).draw(paint, name, text)


def seat_plot(rows: Sequence[Row]) -> Plot | None:
    """Effect sizes of the SEAT bias tests with their intervals; None where there are none."""
    chosen = [row for row in rows if row.metric == "effect_size" and row.kind == "bias"]
    if not chosen:
        return None
    series = _present(chosen)
    text = f"SEAT effect sizes d with 95 % intervals. {_in_words(chosen, series, _series_names(series))}."
    labels = [short_label(f"test {row.set}") for row in chosen]
    return Plot(
        title="SEAT effect sizes",
        svg=_interval_plot(chosen, labels, "effect size d (0 is ideal)", "seat", text),
        caption="Effect size d of each bias test with its 95 % interval. The vertical line marks 0, the "
        "ideal; an interval that crosses it does not exclude that there is no association.",
        description=text,
    )


def cced_plot(rows: Sequence[Row], metric: str = "cced_relative") -> Plot | None:
    """Bars of CCED (or CCED / mean distance) with intervals on each set; None where there are none."""
    chosen = [row for row in rows if row.metric == metric and row.id.split("/")[1] != "pairs"]
    if not chosen:
        return None
    series = _present(chosen)
    names = _series_names(series)
    what = "CCED / mean distance" if metric == "cced_relative" else "CCED"
    text = f"{what} with 95 % intervals. {_in_words(chosen, series, names)}."
    thickness = 0.74 / len(series)

    def paint(axes: Any) -> None:
        for k, key in enumerate(series):
            places = [(y + (k - (len(series) - 1) / 2) * thickness, row) for y, row in enumerate(chosen)]
            shown = [(y, row) for y, row in places if getattr(row, key) is not None]
            color = SERIES[key]["color"]
            axes.barh(
                [y for y, _ in shown],
                [getattr(row, key) for _, row in shown],
                height=thickness * 0.86,
                color=color,
                label=names[key],
            )
            for y, row in shown:
                value = getattr(row, key)
                errors = _errors(value, getattr(row, f"{key}_ci95"))
                if errors is not None:
                    axes.errorbar(value, y, xerr=errors, fmt="none", ecolor=INK, elinewidth=0.9, capsize=2)
        axes.set_yticks(range(len(chosen)), [short_label(row.set) for row in chosen])
        axes.set_ylim(len(chosen) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"{what} (0 is ideal)")
        if len(series) > 1:
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(series))

    height = 0.85 + len(chosen) * (0.2 + 0.17 * len(series))
    name = metric.replace("_", "-")
    return Plot(
        title=f"{what} on each set of texts",
        svg=Canvas(4.4, height).draw(paint, name, text),
        caption=f"{what} with its 95 % interval; 0, the left edge, is ideal.",
        description=text,
    )


def _limits(sections: Sequence[Mapping[str, Any]]) -> tuple[float, float, float, float] | None:
    """Common axis limits with a margin, so that two panels compare."""
    points = [p for section in sections for group in mapping(section, "points").values() for p in group]
    if not points:
        return None
    xs, ys = [float(p[0]) for p in points], [float(p[1]) for p in points]
    pad_x = (max(xs) - min(xs)) * 0.05 or 1.0
    pad_y = (max(ys) - min(ys)) * 0.05 or 1.0
    return min(xs) - pad_x, max(xs) + pad_x, min(ys) - pad_y, max(ys) + pad_y


def _projections(audit: AuditLike | None) -> list[Mapping[str, Any]]:
    """The pictures of an audit that hold points; the key may hold one section or a list of them."""
    found = audit.get("projection") if audit is not None else None
    sections = found if isinstance(found, (list, tuple)) else [found]
    return [part for part in sections if isinstance(part, Mapping) and mapping(part, "points")]


def projection_plots(after: AuditLike, before: AuditLike | None = None) -> list[list[Plot]]:
    """The embeddings of group versions and neutral texts in two dimensions, before and after, side by side.

    Source: after Deng et al. 2024, figure 2.
    """
    old, new = _projections(before), _projections(after)
    names = ("before", "after" if before is not None else "measured")
    pictures = []
    for index, pair in enumerate(zip_longest(old, new)):
        sections = [(name, part) for name, part in zip(names, pair, strict=True) if part is not None]
        methods = {str(part.get("method")) for _, part in sections}
        shared = _limits([part for _, part in sections]) if methods == {"pca"} else None
        pictures.append([_projection_plot(name, part, shared or _limits([part]), index) for name, part in sections])
    return pictures


def _projection_plot(
    name: str, section: Mapping[str, Any], limits: tuple[float, float, float, float] | None, index: int
) -> Plot:
    points = mapping(section, "points")
    method = {"tsne": "t-SNE", "pca": "PCA"}.get(str(section.get("method")), str(section.get("method")))
    counts = ", ".join(f"{len(rows)} {group}" for group, rows in points.items())
    text = f"{method} map of embeddings, {name}: {counts} texts."
    palette = iter(GROUPS * (1 + len(points) // len(GROUPS)))

    def paint(axes: Any) -> None:
        for group, rows in points.items():
            color, marker = (GREY, "s") if group == "neutral" else next(palette)
            xs, ys = [p[0] for p in rows], [p[1] for p in rows]
            axes.scatter(  # neutral below: it often lies on the others and would hide them
                xs,
                ys,
                s=7,
                c=color,
                marker=marker,
                linewidths=0,
                alpha=0.75,
                zorder=1 if group == "neutral" else 2,
                label=short_label(group),
            )
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set_visible(True)
        if limits is not None:
            axes.set_xlim(limits[0], limits[1])
            axes.set_ylim(limits[2], limits[3])
        axes.legend(
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=min(len(points), 4),
            markerscale=2,
            handletextpad=0.1,
        )

    note = f" ({section['note']})" if section.get("note") else ""
    return Plot(
        title=f"Embeddings, {name}",
        svg=Canvas(3.3, 3.4).draw(paint, f"projection-{index}-{name}", text),
        caption=f"{method}{note}, {counts} texts.",
        description=text,
    )


def loss_series(training: Mapping[str, Any]) -> dict[str, list[tuple[float, float]]]:
    """Named curves of ``(step, loss)`` from numbers, pairs, or the dicts of a Trainer's log history."""
    skip = re.compile(r"step|epoch|learning_rate|grad_norm|runtime|per_second|flos|^train_|num_|memory")
    curve = training.get("loss_curve") or training.get("log_history") or []
    series: dict[str, list[tuple[float, float]]] = {}
    for index, item in enumerate(curve, start=1):
        if isinstance(item, Mapping):
            step = number(item, "step")
            for key in item:
                value = number(item, key)
                if value is not None and not skip.search(str(key)):
                    series.setdefault(str(key), []).append((float(index) if step is None else step, value))
        elif isinstance(item, (list, tuple)) and len(item) == 2:
            x, y = number({"v": item[0]}, "v"), number({"v": item[1]}, "v")
            if x is not None and y is not None:
                series.setdefault("loss", []).append((x, y))
        elif (value := number({"v": item}, "v")) is not None:
            series.setdefault("loss", []).append((float(index), value))
    return series


def loss_plot(training: Mapping[str, Any]) -> Plot | None:
    """The training losses by step; None where no curve was recorded."""
    series = loss_series(training)
    if not series:
        return None
    ends = "; ".join(
        f"{name} from {format_number(points[0][1])} to {format_number(points[-1][1])}"
        for name, points in series.items()
    )
    text = f"Losses by training step: {ends}."
    palette = iter(GROUPS * (1 + len(series) // len(GROUPS)))

    def paint(axes: Any) -> None:
        for name, points in series.items():
            color, marker = next(palette)
            shape = marker if len(points) < 30 else None
            axes.plot(*zip(*points, strict=True), color=color, marker=shape, markersize=3.5, label=short_label(name))
        axes.set_xlabel("step")
        axes.set_ylabel("loss")
        if len(series) > 1:
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(len(series), 3))

    return Plot(
        title="Training loss",
        svg=Canvas(4.4, 2.8).draw(paint, "loss", text),
        caption="Losses as logged during training. A falling loss says that the objective was met, not that harm fell.",
        description=text,
    )
