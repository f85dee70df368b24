"""A data-diet search as a record: the vanilla model, the baselines, and of every ranking the cell that was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hf_fairness.record import (
    Arm,
    Declared,
    Measure,
    Record,
    Role,
    Table,
    Value,
    compare,
    interval,
    mapping,
    number,
    read_measures,
)
from hf_fairness.report.text import display_name, format_interval, format_number, format_percent
from hf_fairness.scores import flips, groups
from hf_fairness.scores.auc import MEASURES as ON_ALL_TEXTS

VANILLA, RANDOM = "vanilla", "random"
#: Title and description of what a search is compared with.
BASELINES = {
    VANILLA: ("vanilla", "trained on the texts as they are"),
    "cda": ("CDA", "trained on every text and its counterfactual"),
    "cds": ("CDS", "trained on every text or, at random, its counterfactual in its place"),
    "blindness": ("blindness", "trained on and given texts without the words that name a group"),
    "balancing": (
        "balancing",
        "trained on as many texts of each group within each label, those of smaller groups repeated",
    ),
}
#: The same of the rankings by which examples are kept.
RANKINGS = {
    "healthy_random": ("healthy random", "random examples, and the counterfactuals with the highest GE scores"),
    RANDOM: ("random", "random examples and random counterfactuals"),
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


def data_diet_record(report: Mapping[str, Any], *, name: str | None = None) -> Record:
    """Put what ``run_data_diet`` returned into a record.

    Args:
        report: of a search.
        name: of the report; None takes the model's.

    Returns:
        The record; numbers are means over seeds. The fairest ranking is the method, and compared with every other
        model on test texts and texts of groups: with vanilla and CDA in pairs over seeds, with others by the intervals.
        The validation texts chose it, so nothing is compared on them. Where nothing was chosen, there is no method, and
        the outcome says so.
    """
    arguments, meta = mapping(report, "arguments"), mapping(report, "meta")
    table, best = report["table"], chosen(report)
    roles = {arm: _role(arm, best) for arm in table}
    pairs = [] if best is None else [(best, other) for other in table if other != best]
    pairs += [(arm, VANILLA) for arm, role in roles.items() if role == "control"]
    measures = tuple(_measures(report))
    return Record(
        command="data-diet",
        task="text-classification",
        name=name or display_name(arguments.get("model_name_or_path") or ""),
        method="a healthy data diet: the examples that matter for fairness are kept (Zayed et al. 2023)",
        arms=tuple(
            Arm(arm, title_of(arm), roles[arm], {**BASELINES, **RANKINGS}.get(arm, ("", ""))[1], _training(arm, line))
            for arm, line in table.items()
        ),
        measures=measures,
        gaps=compare((each for each in measures if not each.detail), pairs, _paired(table)),
        asked=dict(arguments),
        subject={key: arguments[key] for key in ("attribute", "language") if key in arguments}
        | {key: value for key, value in mapping(report, "data").items() if key in ("positive_label", "classes")},
        outcome=_outcome(report),
        cautions=tuple(_cautions(report)),
        no_control=RANDOM_IS_BEST if best == RANDOM else "",
        tables=tuple(_tables(report)),
        figures=_figures(report, measures),
        limits=LIMITS,
        not_measured=tuple(_not_measured(report)),
        provenance={key: meta[key] for key in ("convention", "seed", "n_seeds", "versions") if key in meta}
        | {"cost": report.get("cost")},
    )


def chosen(report: Mapping[str, Any]) -> str | None:
    """Name of the fairest ranking; None where no cell was within the limit."""
    best = mapping(report, "best").get("ranking")
    return None if best is None else str(best)


def title_of(arm: str) -> str:
    """A baseline or ranking as tables call it."""
    return {**BASELINES, **RANKINGS}.get(arm, (arm.replace("_", " "), ""))[0]


def _role(arm: str, best: str | None) -> Role:
    if arm == VANILLA:
        return "original"
    if arm == best:
        return "method"
    if arm in BASELINES:
        return "rival"
    return "control" if arm == RANDOM else "variant"


def _training(arm: str, line: Mapping[str, Any]) -> dict[str, Any]:
    keys = ["n_rows", "share_of_cda"] if arm in BASELINES else list(FRACTIONS)
    return {key: line[key] for key in keys}


#: Of a chosen cell.
FRACTIONS = ("factual_fraction", "counterfactual_fraction", "n_rows", "share_of_cda")


def _measures(report: Mapping[str, Any]) -> Iterator[Measure]:
    """Numbers on test texts, on texts of groups, then on the validation texts, by which fractions are chosen."""
    data, table = mapping(report, "data"), report["table"]
    parts: tuple[tuple[str, Mapping[str, Declared], dict[str, Any]], ...] = (
        ("test", PAIRED, {}),
        ("groups", GROUPS, {"set_title": SETS["groups"], "part": "validation" if _by_groups(report) else "test"}),
        ("validation", PAIRED, {"set_title": SETS["validation"], "part": "validation", "detail": True}),
    )
    for part, declared, options in parts:
        sections = {arm: _means(mapping(mapping(line, "measures"), part)) for arm, line in table.items()}
        sizes = mapping(data, part)
        for key, what in declared.items():
            n, text = (
                (number(sizes, "n_changed"), "texts that name a group")
                if key in flips.MEASURES
                else (number(sizes, "n"), "texts")
            )
            yield from read_measures(
                sections,
                {key: what},
                path=part,
                set=SETS[part],
                sample="" if n is None else f"{int(n):,} {text}",
                interval_over="seeds",
                **options,
            )


def _means(measures: Mapping[str, Any]) -> dict[str, Any]:
    """Means and intervals over seeds under the keys that a score has."""
    return {
        name: found
        for key, value in measures.items()
        for name, found in ((key, mapping(measures, key).get("mean")), (f"{key}_ci95", value.get("ci95")))
    }


def _paired(table: Mapping[str, Any]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Intervals and p-values of differences that are paired by seed."""
    return {
        (f"{part}/{key}", arm, other): {"ci95": interval(gap, "ci95"), "p_value": number(gap, "p_value")}
        for arm, line in table.items()
        for other, parts in mapping(line, "against").items()
        for part, gaps in parts.items()
        for key, gap in gaps.items()
        if gap
    }


def _by_groups(report: Mapping[str, Any]) -> bool:
    """Whether the texts of groups, and not the validation texts, say which cell is fairest."""
    return mapping(report, "arguments").get("select_by") in groups.MEASURES


def _outcome(report: Mapping[str, Any]) -> str:
    """Which fractions were chosen, or that none were."""
    best, limit = chosen(report), mapping(report, "arguments")["max_auc_drop"]
    if best is None:
        return (
            f"No cell of the grid keeps the loss of AUC on the validation texts within {limit:.0%}, or experiment 2 "
            "was not run: nothing was chosen."
        )
    line, on = report["table"][best], SETS["groups" if _by_groups(report) else "validation"]
    return (
        f"Chosen on the {on}: {title_of(best)} with {line['factual_fraction']:.0%} of the factual and "
        f"{line['counterfactual_fraction']:.0%} of the counterfactual examples ({line['share_of_cda']:.0%} of CDA's "
        "rows)."
    )


def _cautions(report: Mapping[str, Any]) -> Iterator[str]:
    yield from report["cautions"]
    if chosen(report) is not None and _by_groups(report):
        yield (
            "The fractions were chosen by a measure on the texts of different groups: what stands here of these texts "
            "is too favourable for the rankings."
        )


def _tables(report: Mapping[str, Any]) -> Iterator[Table]:
    rows = [["ranking", "a", "b", "rows", "of CDA", "AUC change, validation", "AUC change, test"]]
    for name, line in report["table"].items():
        fractions = ["", ""] if name in BASELINES else [f"{line[key]:g}" for key in FRACTIONS[:2]]
        changes = [number(mapping(line["auc_change"], part), "mean") for part in ("validation", "test")]
        sizes = [f"{line['n_rows']:,.0f}", f"{line['share_of_cda']:.0%}"]
        rows.append([title_of(name), *fractions, *sizes, *map(_percent, changes)])
    if len(rows) > 1:
        yield Table(
            "What was trained on",
            tuple(map(tuple, rows)),
            "a: share of the factual examples, b: of the counterfactual ones; of every ranking the cell that was "
            "chosen on the validation texts. AUC change: relative, against the vanilla model, mean over seeds.",
        )
    rows = stability_table(report)
    if len(rows) > 1:
        yield Table(
            "Stability of the scores",
            tuple(map(tuple, rows)),
            "Rank correlations of the scores of examples: scores that differ between seeds choose other examples.",
        )


def _percent(change: float | None) -> str:
    return format_percent(change) or format_number(None)


def stability_table(report: Mapping[str, Any]) -> list[list[str]]:
    """Rank correlations of the scores between seeds, epochs and models, as text."""
    found = report["stability"]
    rows = [["scores", "Spearman"]]
    for name, pairs in found["by_seed"].items():
        if pairs is not None:
            spread = f"{pairs['mean']:.3f} ({pairs['least']:.3f} to {pairs['greatest']:.3f})"
            rows.append([f"{name.upper()} between seeds (mean, least, greatest)", spread])
    if found.get("single_runs") is not None:
        rows.append(["GE between single runs", f"{found['single_runs']['mean']:.3f}"])
    rows += [
        [f"GE after epoch {epoch}, against that used", format_number(value)]
        for epoch, value in enumerate(found.get("by_epoch", []), start=1)
    ]
    rows += [[f"GE of {name}, against that used", format_number(value)] for name, value in found["by_model"].items()]
    rows += [[f"{name.upper().replace(' ', ' and ')}", format_number(v)] for name, v in found["between"].items()]
    return rows


#: Measures of test texts that the curves of experiment 1 show, with their names in pictures.
CURVES = {"counterfactual_parity": ("parity_curve", "paired DP"), "auc": ("auc_curve", "AUC")}
#: Measures that are the bars of figure 4, with their names.
BARS = {
    "test/counterfactual_parity": "paired DP",
    "test/counterfactual_equalized_odds": "paired EqOdd",
    "test/counterfactual_equal_opportunity_1": "paired EqOpp1",
    "groups/demographic_parity": "group DP",
    "test/auc": "AUC",
}


def _figures(report: Mapping[str, Any], measures: Sequence[Measure]) -> dict[str, Any]:
    """The pictures; those without data are left out."""
    found = {
        **{name: _curve(report, key, title) for key, (name, title) in CURVES.items()},
        "choices": _choices(report, {measure.id: measure.values for measure in measures}),
        "trade_off": _trade_off(report),
        "stability": _stability(report),
    }
    return {name: data for name, data in found.items() if data}


def _curve(report: Mapping[str, Any], key: str, title: str) -> dict[str, Any]:
    """Experiment 1: a test measure over the share of counterfactual examples (Zayed et al. 2023, figures 2 and 3)."""
    curves: Mapping[str, Sequence[Mapping[str, Any]]] = mapping(report, "curves")
    series = {
        title_of(ranking): [
            [point["counterfactual_fraction"], point["test"][key]["mean"], *(point["test"][key]["ci95"] or ())]
            for point in points
        ]
        for ranking, points in curves.items()
    }
    return (
        {}
        if not series
        else {
            "kind": "lines",
            "title": f"All factual examples and a share of the counterfactual ones: {title}",
            "caption": "Experiment 1. The counterfactual examples with the highest scores come first. Bars: 95 % "
            "intervals over seeds.",
            "x_label": "share of the counterfactual examples (b)",
            "y_label": title,
            "series": series,
        }
    )


def _choices(report: Mapping[str, Any], values: Mapping[str, Mapping[str, Value]]) -> dict[str, Any]:
    """Experiment 2: change against the vanilla model of baselines and chosen cells (Zayed et al. 2023, figure 4)."""
    bars = {title: values[place] for place, title in BARS.items() if VANILLA in values.get(place, {})}
    rows = {
        title_of(arm): {title: _change(found, arm) for title, found in bars.items()}
        for arm in report["table"]
        if arm != VANILLA
    }
    return (
        {}
        if not (bars and rows)
        else {
            "kind": "bars",
            "title": "Change against the vanilla model",
            "caption": "Experiment 2: of every ranking the cell chosen on the validation texts, beside the baselines; "
            "test texts. To the right: fairer, or a higher AUC.",
            "x_label": "change against the vanilla model, %",
            "format": "+.1f",
            "rows": rows,
        }
    )


def _change(found: Mapping[str, Value], arm: str) -> float | None:
    """In per cent."""
    base = found[VANILLA].value
    return 100.0 * (found[arm].value / base - 1.0) if arm in found and base else None


def _trade_off(report: Mapping[str, Any]) -> dict[str, Any]:
    """Change of AUC and paired parity of every cell of experiment 2, and of the baselines; empty without cells."""
    cells: Mapping[str, Sequence[Mapping[str, Any]]] = mapping(report, "trade_off")
    table = {title_of(name): line for name, line in report["table"].items() if name in BASELINES}
    others = {name: _place(line["auc_change"]["test"], line["measures"]["test"]) for name, line in table.items()}
    known = {name: place for name, place in others.items() if None not in place}
    words = (f"{name} {format_number(y)} at {x:+.1f} %" for name, (x, y) in known.items())
    return (
        {}
        if not cells
        else {
            "kind": "scatter",
            "title": "Fairness and AUC",
            "caption": "Every cell of experiment 2 and the baselines on the test texts, means over seeds. The line is "
            "the largest loss of AUC allowed, which is held against the validation texts.",
            "description": f"Paired DP against change of AUC. Baselines: {'; '.join(words)}.",
            "x_label": "change of AUC against the vanilla model, %",
            "y_label": "paired DP",
            "series": {
                title_of(name): [_place(each["auc_change"], each["test"]) for each in points]
                for name, points in cells.items()
            }
            | {"baselines": list(known.values())},
            "grey": ["baselines"],
            "labels": [[x, y, name] for name, (x, y) in known.items()],
            "marks": {"": -100 * report["arguments"]["max_auc_drop"]},
        }
    )


def _place(change: Mapping[str, Any], measures: Mapping[str, Any]) -> list[float | None]:
    """Change of AUC in per cent, and paired parity."""
    mean = change["mean"]
    return [None if mean is None else 100 * mean, measures["counterfactual_parity"]["mean"]]


def _stability(report: Mapping[str, Any]) -> dict[str, Any]:
    """Rank correlation of GE after each epoch with the GE that is used; empty where only one epoch was scored."""
    stability = mapping(report, "stability")
    values = list(stability.get("by_epoch") or [])
    pairs = mapping(mapping(stability, "by_seed"), "ge")
    ends = (number(pairs, "least"), number(pairs, "greatest"))
    spread = "" if None in ends else f" Between seeds: {format_interval(ends)}."
    return (
        {}
        if len(values) < 2 or None in values
        else {
            "kind": "lines",
            "title": "Stability of GE over epochs",
            "caption": f"Spearman correlation of the mean GE over runs, on examples with a counterfactual.{spread}",
            "description": f"GE after each epoch against the GE used: {', '.join(map(format_number, values))}.",
            "x_label": "epoch",
            "y_label": "Spearman",
            "series": {"GE": [[epoch, value] for epoch, value in enumerate(values, start=1)]},
        }
    )


def _not_measured(report: Mapping[str, Any]) -> Iterator[str]:
    for name, reason in report["skipped"].items():
        yield f"The baseline {title_of(name)}: {reason}"
    if mapping(report, "data").get("groups") is None:
        yield "Texts of different groups (group metrics): none were given"
