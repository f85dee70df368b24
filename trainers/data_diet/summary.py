"""What a report says of a data-diet search: its arms, what was chosen, tables, pictures and limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from hf_fairness.record import Arm, Declared, Role, Table
from hf_fairness.report.text import ABSENT, format_number
from hf_fairness.results import leaves
from hf_fairness.scores import flips, groups
from hf_fairness.scores.auc import MEASURES as ON_ALL_TEXTS
from hf_fairness.trainers.data_diet.arguments import CONTROL, DataDietArguments
from hf_fairness.trainers.data_diet.choice import point
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
SETS = {
    "train": "training texts",
    "validation": "validation texts",
    "test": "test texts",
    "groups": "texts of different groups",
}

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
#: What the report says of the cell of an arm; of a baseline without its fractions.
_FRACTIONS, _SIZES = ("factual_fraction", "counterfactual_fraction"), ("n_rows", "share_of_cda")
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
#: In the place of a ranking: the fairest one.
_BEST = "fairest of all"
#: Cells beside the chosen one in the table that says how sure the choice is.
_MOST_OTHERS = 3


def title_of(arm: str) -> str:
    """A baseline or ranking as tables call it."""
    return ARMS[arm][0] if arm in ARMS else arm


def plans(table: Mapping[str, Any], best: str | None) -> list[Plan]:
    """The baselines and rankings as arms: the fairest ranking is the method, and compared with every other model.

    Args:
        table: of the search.
        best: the fairest ranking; None where no cell was within the limit.
    """
    roles: dict[str | None, Role] = {**dict.fromkeys(BASELINES, "rival"), "vanilla": "original", CONTROL: "control"}
    roles[best] = "method"
    found = []
    for name in table:
        others = table if name == best else ("vanilla", "cda")
        against = tuple(other for other in others if other != name)
        found.append(Plan(Arm(name, title_of(name), roles.get(name, "variant"), ARMS[name][1]), against=against))
    return found


def trained_on(arm: str, line: Mapping[str, Any]) -> dict[str, Any]:
    """What an arm was trained on, and what its AUC is against that of the vanilla model, from its line."""
    shown = _SIZES if arm in BASELINES else (*_FRACTIONS, *_SIZES)
    changes = {f"auc_change_{part}": change["mean"] for part, change in line["auc_change"].items()}
    return {**{key: line[key] for key in shown}, **changes}


def told(found: Mapping[str, Any], arguments: DataDietArguments) -> dict[str, Any]:
    """Fields of the record that only this method has.

    Args:
        found: what the search found.
        arguments: of the search.
    """
    best, groupless = found["best"], found["data"]["groups"] is None
    too_favourable = best and arguments.chosen_on == "groups"
    return {
        "subject": {"attribute": arguments.attribute, "language": arguments.language}
        | {key: found["data"][key] for key in ("positive_label", "classes")},
        "task": "text-classification",
        "outcome": _outcome(found, arguments),
        "cautions": (*found["cautions"], *([TOO_FAVOURABLE] if too_favourable else [])),
        "no_control": RANDOM_IS_BEST if best and best["ranking"] == CONTROL else "",
        "tables": _tables(found),
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
    line = found["table"][best]
    sure = found["certainty"]["best"]["chosen"].get(found["best"]["name"], 0.0)
    return (
        f"Chosen on the {SETS[arguments.chosen_on]}: {title_of(best)} with {line['factual_fraction']:.0%} of the "
        f"factual and {line['counterfactual_fraction']:.0%} of the counterfactual examples "
        f"({line['share_of_cda']:.0%} of CDA's rows). On texts and seeds drawn anew from these the same cell is chosen "
        f"{sure:.0%} of the times."
    )


def _tables(found: Mapping[str, Any]) -> tuple[Table, ...]:
    """What the texts are (Zayed et al. 2023, table 1), what was trained on, how sure the choice is, and the scores."""
    trained = {
        title_of(name): {**trained_on(name, line), "n_rows": round(line["n_rows"])}
        for name, line in found["table"].items()
    }
    return (
        _table(
            "What the texts are",
            {SETS[name]: each for name, each in found["statistics"].items()},
            "Positive: share of the label that counts as positive. Pronouns: words of the texts. About: texts most of "
            "whose group words are of the group; of the texts of different groups their own group.",
        ),
        _table(
            "What was trained on",
            trained,
            "Fractions: a and b of the cell that was chosen on the validation texts, of every ranking. AUC change: "
            "relative, against the vanilla model, mean over seeds.",
        ),
        *([] if found["certainty"] is None or found["best"] is None else [_certainty_table(found)]),
        _table(
            "Scores of the training texts",
            {"value": {"ge": found["ge"], **found["stability"]}},
            "GE: how far the logits of a text and of its counterfactual lie apart, mean over short runs and seeds; 0 "
            "of a text without one; quantiles of the others: the least, the quarters, the largest (--show_texts shows "
            "which texts have how much). The rest are rank correlations (Spearman): of a score between seeds or single "
            "runs, of GE with GE after each epoch and of other models, between two scores. Scores that differ between "
            "seeds choose other examples.",
        ),
    )


def _table(title: str, nested: Mapping[str, Mapping[str, Any]], note: str) -> Table:
    """Nested numbers as a table: a column for each key, a row for each number below it."""
    columns = {name: dict(leaves(each, ", ", lambda key, value: value is None)) for name, each in nested.items()}
    names = dict.fromkeys(name for column in columns.values() for name in column)
    rows = [(name.replace("_", " "), *(_text(column.get(name)) for column in columns.values())) for name in names]
    return Table(title, (("", *columns), *rows), note)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:,}" if isinstance(value, int) else format_number(value)


def _certainty_table(found: Mapping[str, Any]) -> Table:
    """How often the same cell is chosen on texts drawn anew."""
    rows = [("ranking", "chosen", "in", "also chosen", "none in")]
    choices = {**found["choices"], _BEST: found["best"]}
    for name, shares in {**found["certainty"]["rankings"], _BEST: found["certainty"]["best"]}.items():
        again = Counter[str](shares["chosen"])
        chosen, share = ABSENT, ABSENT
        if choices[name] is not None:
            chosen = choices[name]["name"]
            share = f"{again.pop(chosen, 0.0):.0%}"
        others = [f"{cell} ({often:.0%})" for cell, often in again.most_common(_MOST_OTHERS)]
        rows.append((title_of(name), chosen, share, ", ".join(others) or ABSENT, f"{shares['none']:.0%}"))
    return Table(
        "How sure the choice is",
        tuple(rows),
        f"The choice was made again {found['certainty']['n_draws']} times, each time on as many validation texts as "
        "there are, drawn from them with replacement (so too the texts of groups where they chose), and for seeds "
        "drawn likewise. In: the share of these in which the same cell was chosen. A low share means that the held-out "
        "texts cannot tell the cells apart; a high one does not say that the cell is the best one on other texts.",
    )


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
                title_of(ranking): [
                    [each["counterfactual_fraction"], each["test"][key]["mean"], *(each["test"][key]["ci95"] or ())]
                    for each in points
                ]
                for ranking, points in found["curves"].items()
            },
        }
        for key, (name, title) in CURVES.items()
    }
    by_epoch = found["stability"].get("by_epoch", [])
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
        "stability": {
            "kind": "lines",
            "title": "Stability of GE over epochs",
            "caption": "Spearman correlation of the mean GE over runs after each epoch with the GE that is used, on "
            "examples with a counterfactual.",
            "x_label": "epoch",
            "y_label": "Spearman",
            "series": {"GE": [list(each) for each in enumerate(by_epoch, start=1)]} if len(by_epoch) > 1 else {},
        },
    }
    return {name: each for name, each in drawn.items() if each.get("series") or each.get("rows")}


def _changes(table: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """Change of each arm against the vanilla model, in per cent."""
    found: dict[str, dict[str, float | None]] = {}
    for arm in (name for name in table if name != "vanilla"):
        found[title_of(arm)] = {}
        for title, (part, key) in BARS.items():
            if part in table[arm]["measures"]:
                value, base = (table[name]["measures"][part][key]["mean"] for name in (arm, "vanilla"))
                found[title_of(arm)][title] = 100.0 * (value / base - 1.0) if value is not None and base else None
    return found


def _trade_off(found: Mapping[str, Any], limit: float) -> dict[str, Any]:
    """Change of AUC and paired parity of every cell of experiment 2, and of the baselines."""
    series = {title_of(name): [_place(each) for each in points] for name, points in found["trade_off"].items()}
    places = {title_of(name): _place(point(line)) for name, line in found["table"].items() if name in BASELINES}
    known = {title: place for title, place in places.items() if None not in place}
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
        "labels": [[*place, title] for title, place in known.items()],
        "marks": {"": -100 * limit},
    }


def _place(shown: Mapping[str, Any]) -> list[float | None]:
    """Change of AUC in per cent, and paired parity, of what :func:`.point` gives."""
    change = shown["auc_change"]["mean"]
    return [None if change is None else 100 * change, shown["test"]["counterfactual_parity"]["mean"]]
