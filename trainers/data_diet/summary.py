"""What a report says of a data-diet search: its arms, what was chosen, tables, pictures and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hf_fairness.record import Arm, Declared, Role, Table, mapping, number
from hf_fairness.report.text import ABSENT, format_interval, format_number, format_percent
from hf_fairness.scores import flips, groups
from hf_fairness.scores.auc import MEASURES as ON_ALL_TEXTS
from hf_fairness.trainers.data_diet.arguments import CONTROL, DataDietArguments
from hf_fairness.trainers.data_diet.grid import BASELINES
from hf_fairness.trainers.experiment import Plan

#: Title and description of what a search compares: the baselines, and the rankings by which examples are kept.
ARMS = {
    **BASELINES,
    "healthy_random": ("healthy random", "random examples, and the counterfactuals with the highest GE scores"),
    CONTROL: ("random", "random examples and random counterfactuals"),
    "unhealthy_random": ("unhealthy random", "random examples, and the counterfactuals with the lowest GE scores"),
    "vanilla_ge": ("vanilla GE", "the examples and counterfactuals with the lowest GE scores"),
    "ge": ("GE", "random examples, and the counterfactuals with the highest GE scores"),
    "el2n": ("EL2N", "random examples, and the counterfactuals with the highest EL2N scores"),
    "grand": ("GraNd", "random examples, and the counterfactuals with the highest GraNd scores"),
    "forgetting": ("forgetting", "random examples, and the counterfactuals that are forgotten most often"),
}
#: What is read of each part, in the order of tables: of the same texts with their groups swapped, of all texts, and of
#: different texts of different groups.
PAIRED: dict[str, Declared] = {**flips.MEASURES, **{key: ON_ALL_TEXTS[key] for key in ("positive_rate", "auc")}}
GROUPS: dict[str, Declared] = {**groups.MEASURES, "positive_rate": ON_ALL_TEXTS["positive_rate"]}
SETS = {"test": "test texts", "groups": "texts of different groups", "validation": "validation texts"}

CONVENTION = (
    "paired: the same texts with their group words flipped, changed texts only, 1 - |difference of positive rates| "
    "between the versions about one group and about the other (kept/flipped: between texts as they are and flipped, "
    "which is equation 3 of the paper); "
    "group: different texts of different groups; fractions chosen on validation texts by the mean over seeds, test "
    "numbers reported; intervals: Student's over seeds, on these texts; p: exact sign-flip test over seeds, two-sided, "
    "not corrected for the number of comparisons"
)
LIMITS = (
    "Paired DP, EqOpp1 and EqOdd compare the versions of a text about two groups; kept/flipped DP, which is the "
    "demographic parity of the paper (equation 3), compares texts as they are with flipped ones, where gaps in both "
    "directions cancel: methods that differ on pairs can be alike on it.",
    "Paired metrics see only texts that the swap changes, and only what the swap changes in them.",
    "The blind model reads texts without the terms that a swap changes: its paired metrics show that they were removed "
    "and not that the rest of a text tells nothing.",
    "A parity of 1 is also what a model reaches that says the same of every text: read the positive rate and the AUC "
    "beside it. Flips in both directions cancel in a parity, not in the flip rate.",
    "Intervals are over seeds of training on the texts at hand, not over other texts.",
    "Group metrics on templates tell little of natural texts.",
    "Fractions were searched: p-values are not corrected for the number of cells and measures.",
)
#: In the place of a control, where the ranking that chose nothing is the fairest one.
RANDOM_IS_BEST = (
    "The fairest ranking is the random one, which is the control of all others: choosing examples by their scores adds "
    "nothing here."
)
#: Where they are the texts of groups that chose.
TOO_FAVOURABLE = (
    "The fractions were chosen by a measure on the texts of different groups: what stands here of these texts is too "
    "favourable for the rankings."
)
#: Of a chosen cell; of a baseline the last two.
TRAINED_ON = ("factual_fraction", "counterfactual_fraction", "n_rows", "share_of_cda")
#: Measures of test texts that the curves of experiment 1 show: names of the pictures, and of the axes.
CURVES = {"counterfactual_parity": ("parity_curve", "paired DP"), "auc": ("auc_curve", "AUC")}
#: Sets and measures that are the bars of figure 4, with their names.
BARS = {
    "paired DP": ("test", "counterfactual_parity"),
    "paired EqOdd": ("test", "counterfactual_equalized_odds"),
    "paired EqOpp1": ("test", "counterfactual_equal_opportunity_1"),
    "group DP": ("groups", "demographic_parity"),
    "AUC": ("test", "auc"),
}


def title_of(arm: str) -> str:
    """A baseline or ranking as tables call it."""
    return ARMS[arm][0]


def plans(table: Mapping[str, Any], best: str | None) -> list[Plan]:
    """The baselines and rankings as arms: the fairest ranking is the method, and compared with every other model.

    Args:
        table: of the search.
        best: the fairest ranking; None where no cell was within the limit.
    """
    roles: dict[str | None, Role] = {**dict.fromkeys(BASELINES, "rival"), "vanilla": "original", CONTROL: "control"}
    roles[best] = "method"
    return [
        Plan(
            Arm(name, title_of(name), roles.get(name, "variant"), ARMS[name][1]),
            against=tuple(other for other in table if other != name and (name == best or other in ("vanilla", "cda"))),
        )
        for name in table
    ]


def trained_on(arm: str, line: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes of what an arm was trained on, from its line of the table."""
    return {key: line[key] for key in (TRAINED_ON[2:] if arm in BASELINES else TRAINED_ON)}


def by_groups(arguments: DataDietArguments) -> bool:
    """Whether the texts of groups, and not the validation texts, say which cell is fairest."""
    return arguments.select_by in groups.MEASURES


def told(found: Mapping[str, Any], arguments: DataDietArguments) -> dict[str, Any]:
    """Fields of the record that only this method has.

    Args:
        found: what the search found.
        arguments: of the search.
    """
    best, groupless = found["best"], found["data"]["groups"] is None
    return {
        "subject": {"attribute": arguments.attribute, "language": arguments.language}
        | {key: found["data"][key] for key in ("positive_label", "classes")},
        "task": "text-classification",
        "outcome": _outcome(found, arguments),
        "cautions": (*found["cautions"], *([TOO_FAVOURABLE] if best and by_groups(arguments) else [])),
        "no_control": RANDOM_IS_BEST if best and best["ranking"] == CONTROL else "",
        "tables": tuple(_tables(found)),
        "not_measured": (
            *(f"The baseline {title_of(name)}: {reason}" for name, reason in found["skipped"].items()),
            *(["Texts of different groups (group metrics): none were given"] if groupless else []),
        ),
    }


def _outcome(found: Mapping[str, Any], arguments: DataDietArguments) -> str:
    """Which fractions were chosen, or that none were."""
    if found["best"] is None:
        return (
            f"No cell of the grid keeps the loss of AUC on the validation texts within {arguments.max_auc_drop:.0%}, "
            "or experiment 2 was not run: nothing was chosen."
        )
    best = found["best"]["ranking"]
    line, on = found["table"][best], SETS["groups" if by_groups(arguments) else "validation"]
    sure = found["certainty"]["best"]["chosen"].get(found["best"]["name"], 0.0)
    return (
        f"Chosen on the {on}: {title_of(best)} with {line['factual_fraction']:.0%} of the factual and "
        f"{line['counterfactual_fraction']:.0%} of the counterfactual examples ({line['share_of_cda']:.0%} of CDA's "
        f"rows). On texts and seeds drawn anew from these the same cell is chosen {sure:.0%} of the times."
    )


def _data_table(found: Mapping[str, Any]) -> Table:
    """The sets side by side.

    Source: Zayed et al. 2023, table 1.
    """
    sets = found["statistics"]
    groups = list(dict.fromkeys(name for each in sets.values() for name in each["about"]))
    spoken = [name for name in groups if any(name in each["pronouns"] for each in sets.values())]
    head = ("texts", "number", "positive", *(f"{name} pronouns" for name in spoken))
    rows = [(*head, *(f"about {name}, of them positive" for name in groups))]
    for name, each in sets.items():
        shares = (each["positive_about"].get(group) for group in groups)
        about = (
            f"{each['about'].get(group, 0):,}{'' if share is None else f', {share:.1%}'}"
            for group, share in zip(groups, shares, strict=True)
        )
        counts = (f"{each['pronouns'].get(group, 0):,}" for group in spoken)
        title = SETS.get(name, "training texts")
        rows.append((title, f"{each['n']:,}", f"{each['positive_share']:.2%}", *counts, *about))
    return Table(
        "What the texts are",
        tuple(rows),
        "Positive: share of the label that counts as positive. Pronouns: words of the texts. About: texts most of "
        "whose group words are of the group; of the texts of different groups their own group.",
    )


def _certainty_table(found: Mapping[str, Any]) -> Iterator[Table]:
    """How often the same cell is chosen on texts drawn anew."""
    known = found["certainty"]
    if known is None or found["best"] is None:
        return
    rows = [("ranking", "chosen", "in", "also chosen", "none in")]
    for name, shares in {**known["rankings"], "": known["best"]}.items():
        choice = found["choices"].get(name) if name else found["best"]
        cell = "" if choice is None else choice["name"]
        others = [f"{other} ({share:.0%})" for other, share in shares["chosen"].items() if other != cell]
        share = f"{shares['chosen'].get(cell, 0.0):.0%}" if cell else ABSENT
        title = title_of(name) if name else "fairest of all"
        rows.append((title, cell or ABSENT, share, ", ".join(others[:3]) or ABSENT, f"{shares['none']:.0%}"))
    yield Table(
        "How sure the choice is",
        tuple(rows),
        f"The choice was made again {known['n_draws']} times, each time on as many validation texts as there are, "
        "drawn from them with replacement (so too the texts of groups where they chose), and for seeds drawn likewise. "
        "In: the share of these in which the same cell was chosen. A low share means that the held-out texts cannot "
        "tell the cells apart; a high one does not say that the cell is the best one on other texts.",
    )


def _ge_table(found: Mapping[str, Any]) -> Iterator[Table]:
    """How GE is spread, without any text."""
    ge = found["ge"]
    if ge["quantiles"]:
        yield Table(
            "GE scores of the training texts",
            (
                ("texts with a counterfactual", "least", "quarter", "median", "three quarters", "largest", "GE of 0"),
                (f"{ge['n']:,}", *map(format_number, ge["quantiles"]), f"{ge['n_zero']:,} texts without one"),
            ),
            "GE: how far the logits of a text and of its counterfactual lie apart, mean over short runs and seeds. "
            "Which texts have how much is shown with --show_texts.",
        )


def _tables(found: Mapping[str, Any]) -> Iterator[Table]:
    yield _data_table(found)
    rows: list[tuple[str, ...]] = [
        ("ranking", "a", "b", "rows", "of CDA", "AUC change, validation", "AUC change, test")
    ]
    for name, line in found["table"].items():
        fractions = ("", "") if name in BASELINES else tuple(f"{line[key]:g}" for key in TRAINED_ON[:2])
        changes = [
            format_percent(number(line["auc_change"][part], "mean")) or ABSENT for part in ("validation", "test")
        ]
        rows.append((title_of(name), *fractions, f"{line['n_rows']:,.0f}", f"{line['share_of_cda']:.0%}", *changes))
    yield Table(
        "What was trained on",
        tuple(rows),
        "a: share of the factual examples, b: of the counterfactual ones; of every ranking the cell that was "
        "chosen on the validation texts. AUC change: relative, against the vanilla model, mean over seeds.",
    )
    yield from _certainty_table(found)
    yield from _ge_table(found)
    rows = stability_table(found["stability"])
    if len(rows) > 1:
        yield Table(
            "Stability of the scores",
            tuple(rows),
            "Rank correlations of the scores of examples: scores that differ between seeds choose other examples.",
        )


def stability_table(stability: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Rank correlations of the scores between seeds, epochs and models, as text."""
    single, epochs = mapping(stability, "single_runs"), enumerate(stability.get("by_epoch", []), start=1)
    one = {
        **{f"GE after epoch {epoch}, against that used": value for epoch, value in epochs},
        **{f"GE of {name}, against that used": value for name, value in stability["by_model"].items()},
        **{name.upper().replace(" ", " and "): value for name, value in stability["between"].items()},
    }
    return [
        ("scores", "Spearman"),
        *(
            (
                f"{name.upper()} between seeds (mean, least, greatest)",
                f"{pairs['mean']:.3f} ({pairs['least']:.3f} to {pairs['greatest']:.3f})",
            )
            for name, pairs in stability["by_seed"].items()
            if pairs is not None
        ),
        *([("GE between single runs", f"{single['mean']:.3f}")] if single else []),
        *((name, format_number(value)) for name, value in one.items()),
    ]


def figures(found: Mapping[str, Any], arguments: DataDietArguments) -> dict[str, Any]:
    """The pictures; those without data are left out.

    Source: Zayed et al. 2023, figures 2 to 4.
    """
    curves = {
        name: {
            "kind": "lines",
            "title": f"All factual examples and a share of the counterfactual ones: {title}",
            "caption": "Experiment 1. The counterfactual examples with the highest scores come first. Bars: 95 % "
            "intervals over seeds.",
            "x_label": "share of the counterfactual examples (b)",
            "y_label": title,
            "series": {
                title_of(ranking): [[p["counterfactual_fraction"], *_ends(p["test"][key])] for p in points]
                for ranking, points in found["curves"].items()
            },
        }
        for key, (name, title) in CURVES.items()
    }
    drawn = {
        **curves,
        "choices": {
            "kind": "bars",
            "title": "Change against the vanilla model",
            "caption": "Experiment 2: of every ranking the cell chosen on the validation texts, beside the baselines; "
            "test texts. To the right: fairer, or a higher AUC.",
            "x_label": "change against the vanilla model, %",
            "format": "+.1f",
            "rows": _changes(found["table"]),
        },
        "trade_off": _trade_off(found, arguments.max_auc_drop),
        "stability": _by_epoch(found["stability"]),
    }
    return {name: each for name, each in drawn.items() if each.get("series") or each.get("rows")}


def _ends(value: Mapping[str, Any]) -> list[float | None]:
    return [value["mean"], *(value["ci95"] or ())]


def _changes(table: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """Change of each arm against the vanilla model, in per cent."""
    means = {
        arm: {
            title: number(line["measures"][part][key], "mean")
            for title, (part, key) in BARS.items()
            if part in line["measures"]
        }
        for arm, line in table.items()
    }
    vanilla = means.pop("vanilla")
    return {
        title_of(arm): {
            title: 100.0 * (value / base - 1.0) if value is not None and base else None
            for (title, value), base in zip(each.items(), vanilla.values(), strict=True)
        }
        for arm, each in means.items()
    }


def _trade_off(found: Mapping[str, Any], limit: float) -> dict[str, Any]:
    """Change of AUC and paired parity of every cell of experiment 2, and of the baselines."""
    places = {
        title_of(name): _place(line["auc_change"]["test"], line["measures"]["test"])
        for name, line in found["table"].items()
        if name in BASELINES
    }
    known = {title: place for title, place in places.items() if None not in place}
    series = {
        title_of(name): [_place(each["auc_change"], each["test"]) for each in cells]
        for name, cells in found["trade_off"].items()
    }
    words = (f"{title} {format_number(y)} at {x:+.1f} %" for title, (x, y) in known.items())
    return {
        "kind": "scatter",
        "title": "Fairness and AUC",
        "caption": "Every cell of experiment 2 and the baselines on the test texts, means over seeds. The line is the "
        "largest loss of AUC allowed, which is held against the validation texts.",
        "description": f"Paired DP against change of AUC. Baselines: {'; '.join(words)}.",
        "x_label": "change of AUC against the vanilla model, %",
        "y_label": "paired DP",
        "series": {**series, "baselines": list(known.values())} if series else {},
        "grey": ["baselines"],
        "labels": [[x, y, title] for title, (x, y) in known.items()],
        "marks": {"": -100 * limit},
    }


def _place(change: Mapping[str, Any], measures: Mapping[str, Any]) -> list[float | None]:
    """Change of AUC in per cent, and paired parity."""
    return [None if change["mean"] is None else 100 * change["mean"], measures["counterfactual_parity"]["mean"]]


def _by_epoch(stability: Mapping[str, Any]) -> dict[str, Any]:
    """Rank correlation of GE after each epoch with the GE that is used."""
    values, pairs = stability.get("by_epoch", []), mapping(stability["by_seed"], "ge")
    between = f" Between seeds: {format_interval((pairs['least'], pairs['greatest']))}." if pairs else ""
    return {
        "kind": "lines",
        "title": "Stability of GE over epochs",
        "caption": f"Spearman correlation of the mean GE over runs, on examples with a counterfactual.{between}",
        "description": f"GE after each epoch against the GE used: {', '.join(map(format_number, values))}.",
        "x_label": "epoch",
        "y_label": "Spearman",
        "series": {"GE": list(map(list, enumerate(values, start=1)))} if len(values) > 1 and None not in values else {},
    }
