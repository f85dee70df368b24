"""The plots of the report, each as inline SVG with a caption and the same content in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hf_fairness.record import Record, mapping, number
from hf_fairness.report.svg import GREY, GROUPS, Canvas, short_label
from hf_fairness.report.text import format_number


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


def _limits(sections: Sequence[Mapping[str, Any]]) -> tuple[float, float, float, float] | None:
    """Common axis limits with a margin, so that two panels compare."""
    points = [p for section in sections for group in mapping(section, "points").values() for p in group]
    if not points:
        return None
    xs, ys = [float(p[0]) for p in points], [float(p[1]) for p in points]
    pad_x = (max(xs) - min(xs)) * 0.05 or 1.0
    pad_y = (max(ys) - min(ys)) * 0.05 or 1.0
    return min(xs) - pad_x, max(xs) + pad_x, min(ys) - pad_y, max(ys) + pad_y


def projection_plots(record: Record) -> Iterator[tuple[str, Plot]]:
    """The embeddings of group versions and neutral texts in two dimensions, before and after, by name.

    Source: after Deng et al. 2024, figure 2.
    """
    drawn = mapping(record.figures, "projections")
    sides = {arm: found if isinstance(found, list) else [found] for arm, found in drawn.items()}
    titles = {arm.name: arm.title for arm in record.arms}
    for index in range(max(map(len, sides.values()), default=0)):
        parts = {
            arm: found[index]
            for arm in titles
            if index < len(found := sides.get(arm, [])) and mapping(found[index], "points")
        }
        methods = {str(part.get("method")) for part in parts.values()}
        shared = _limits(list(parts.values())) if methods == {"pca"} else None
        for arm, part in parts.items():
            yield f"map-{index}-{arm}", _projection_plot(titles[arm], part, shared or _limits([part]), index)


def _note(section: Mapping[str, Any], method: str) -> str:
    """How a map is to be read."""
    note = "The content is taken out: what is left is how versions of a text differ. " if section.get("note") else ""
    if method == "PCA":
        return (
            note + "Maps of one method share their axes. Groups that overlap in two dimensions may still be told apart."
        )
    return note + (
        "Only neighbourhood has a meaning here, not distance or size. Groups that mix may still be told apart by a "
        "probe."
    )


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
        caption=f"{method}{note}, {counts} texts. {_note(section, method)}",
        description=text,
    )


def loss_series(curve: Sequence[Any]) -> dict[str, list[tuple[float, float]]]:
    """Named curves of ``(step, loss)`` from numbers, pairs, or the dicts of a Trainer's log history."""
    skip = re.compile(r"step|epoch|learning_rate|grad_norm|runtime|per_second|flos|^train_|num_|memory")
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


def loss_plot(record: Record) -> Plot | None:
    """The training losses by step; None where no curve was recorded."""
    series = loss_series(record.figures.get("loss_curve") or ())
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
