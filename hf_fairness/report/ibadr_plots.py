"""The figures of an IBADR report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hf_fairness.record import Record
from hf_fairness.report.plots import Plot
from hf_fairness.report.svg import GREY, GROUPS, Canvas
from hf_fairness.report.text import format_number


def degrees_plot(record: Record) -> Plot | None:
    """Bias degrees of new samples before and after the filter, in each round."""
    rounds = record.figures.get("degrees")
    if not rounds:
        return None
    bins = len(rounds[0]["before"]["counts"])
    words = []
    for each in rounds:
        pool, before, after = (format_number(each[side]["mean"]) for side in ("pool", "before", "after"))
        words.append(f"round {each['round']}: mean {pool} in the pool, {before} before, {after} after")
    text = f"Bias degrees of new samples around the filter; {'; '.join(words)}."

    def paint(axes: Any) -> None:
        for place, each in enumerate(rounds):
            offset = len(rounds) - 1 - place
            most = max([1, *each["before"]["counts"]])
            for side, color, label in (("before", GREY, "before the filter"), ("after", GROUPS[0][0], "after it")):
                heights = [0.85 * count / most for count in each[side]["counts"]]
                axes.bar(
                    [(k + 0.5) / bins for k in range(bins)],
                    heights,
                    bottom=offset,
                    width=0.9 / bins if side == "before" else 0.6 / bins,
                    color=color,
                    label=label if not place else None,
                )
            shares = [count / max(1, each["pool"]["n"]) for count in each["pool"]["counts"]]
            steps = [offset + 0.85 * share / max(shares) for share in shares]
            axes.step(
                [k / bins for k in range(bins + 1)],
                [*steps, steps[-1]],
                where="post",
                color=GROUPS[1][0],
                linewidth=0.9,
                label="pool" if not place else None,
            )
        axes.set_yticks(
            [len(rounds) - 1 - k for k in range(len(rounds))], [f"round {each['round']}" for each in rounds]
        )
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0.0, 1.0)
        axes.set_xlabel("bias degree: p(label | texts) by the shallow model")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return Plot(
        title="What the filter did to the bias degrees",
        svg=Canvas(4.4, 1.1 + 0.7 * len(rounds)).draw(paint, "ibadr-degrees", text),
        caption="Readable samples with new texts. To the left: the shallow model does not expect the label. Heights "
        "are relative to the highest of a round, for the pool (the line) on its own.",
        description=text,
    )


def fates_plot(record: Record) -> Plot | None:
    """What became of the samples of each round."""
    rounds: Mapping[str, Mapping[str, float]] = record.figures.get("fates") or {}
    if not rounds:
        return None
    words = [
        f"{title}: " + ", ".join(f"{kind} {share:.0%}" for kind, share in shares.items())
        for title, shares in rounds.items()
    ]
    text = f"What became of the samples. {'; '.join(words)}."

    def paint(axes: Any) -> None:
        left = [0.0] * len(rounds)
        for k, kind in enumerate(next(iter(rounds.values()))):
            values = [shares[kind] for shares in rounds.values()]
            color = GREY if kind == "not readable" else GROUPS[k][0]
            axes.barh(range(len(rounds)), values, left=left, height=0.6, color=color, label=kind)
            left = [start + value for start, value in zip(left, values, strict=True)]
        axes.set_yticks(range(len(rounds)), list(rounds))
        axes.set_ylim(len(rounds) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0.0, 1.0)
        axes.set_xlabel("share of the samples drawn")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)

    return Plot(
        title="What became of the samples",
        svg=Canvas(4.4, 1.2 + 0.35 * len(rounds)).draw(paint, "ibadr-samples", text),
        caption="Samples whose texts are in the pool, or came before, are not new.",
        description=text,
    )
