"""A run of gender-filtered self-training as a record: the initial model, GFST, its control and the other arms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hf_fairness.record import (
    Arm,
    Declared,
    Measure,
    Record,
    Role,
    Table,
    compare,
    interval,
    mapping,
    number,
    read_measures,
)
from hf_fairness.report.text import display_name
from hf_fairness.scores import must_she, translation_quality, winomt

BASELINE, GFST, CONTROL, RANDOM = "baseline", "gfst", "control", "randst"
#: A control that has this part of the gain explains most of it.
MOST = 0.5

LIMITS = (
    "WinoMT has one kind of sentence and two genders; its genders are read by an aligner and a tagger, which err. Its "
    "neutral rows are counted as wrong where they are translated with a gender.",
    "A tagger that both filters the training pairs and reads the test set makes the same errors on both sides.",
    "Intervals are over rows of the test sets. Every model was trained once: another seed would give other numbers.",
    "The filters know the words of the attribute's groups. Other people are not represented in the pairs.",
    "Self-training spreads what the initial model does already, its errors in anything but gender too, and cannot "
    "invent forms that the parallel data lack.",
    "Gender accuracy says nothing of stereotypes that need no gendered word, or of people whose gender is not said.",
)
#: Title, role and description of each model; any other is a variant that was trained on the pairs of one group.
ARMS: dict[str, tuple[str, Role, str]] = {
    BASELINE: ("baseline", "original", "the initial model, which translated the texts"),
    GFST: ("GFST", "method", "trained on pairs that the source and the target filter kept, as many of each group"),
    CONTROL: ("control", "control", "trained for as many steps on the original parallel data alone"),
    RANDOM: ("RandST", "rival", "trained on as many random pairs, which no filter saw"),
    "no_target_filter": ("no target filter", "variant", "trained on pairs that the source filter alone kept"),
}
#: Key of a set -> its name, and why it can be missing.
SETS = {
    "winomt": ("WinoMT", "WinoMT (the gender of people in translations): no rows were given"),
    "must_she": ("MuST-SHE", "MuST-SHE (gender-marked words): no rows were given"),
    "test": ("test set", "Translation quality: no test set was given"),
}


def gfst_record(report: Mapping[str, Any], *, name: str | None = None) -> Record:
    """Put what ``run_gfst`` returned into a record.

    Args:
        report: of a run that came to its end.
        name: of the report; None takes the model's.

    Returns:
        The record; GFST is compared with every other model, paired over the rows of each set, p-values adjusted for
        the number of measures of a set (Holm).
    """
    arguments, meta = mapping(report, "arguments"), mapping(report, "meta")
    languages = f"{arguments.get('source_lang')}-{arguments.get('target_lang')}"
    others = [model for model in models(report) if model != GFST]
    measures = tuple(_measures(report))
    trained = mapping(report, "arms")
    return Record(
        command="gfst",
        task="translation",
        name=name or display_name(arguments.get("model_name_or_path") or languages),
        method="gender-filtered self-training (GFST, Choubey et al. 2021)",
        arms=tuple(Arm(model, *_about(model), _plain_values(mapping(trained, model))) for model in models(report)),
        measures=measures,
        gaps=compare(measures, [(GFST, other) for other in others], _paired(report)),
        asked={**arguments, "training": report.get("training")},
        subject={
            "attribute": arguments.get("attribute", ""),
            "languages": languages,
            "groups": report["groups"],
            "trained by": str(report.get("method", "")).replace("_", " "),
        },
        outcome=""
        if mapping(report, "winomt")
        else "WinoMT was not measured: nothing is known of how these models treat gender.",
        cautions=tuple(cautions(report)),
        tables=(
            Table(
                "What the filters kept",
                tuple(map(tuple, kept_table(report))),
                "Groups are balanced by leaving out pairs of the larger ones. Brackets hold 95 % intervals.",
            ),
        ),
        figures={"kept": _KEPT | {"rows": kept}} if (kept := _kept(report)) else {},
        limits=LIMITS,
        not_measured=tuple(missing for part, (_, missing) in SETS.items() if not mapping(report, part)),
        provenance={key: meta[key] for key in ("convention", "seed", "versions") if key in meta} | signatures(report),
    )


def models(report: Mapping[str, Any]) -> list[str]:
    """The models in their order, the baseline first."""
    return [BASELINE, *(name for name in report["arms"] if name != BASELINE)]


def name_of(model: str) -> str:
    """A model as tables and figures call it."""
    return ARMS[model][0] if model in ARMS else model


def _about(model: str) -> tuple[str, Role, str]:
    return ARMS.get(model, (f"{model} pairs only", "variant", f"trained on the pairs about the group {model} alone"))


def _plain_values(arm: Mapping[str, Any]) -> dict[str, Any]:
    """Steps and sizes of a training, without its history."""
    return {key: value for key, value in arm.items() if not isinstance(value, (Mapping, list)) and value is not None}


def declared(report: Mapping[str, Any]) -> dict[str, dict[str, Declared]]:
    """The numbers of each set, with the F1 of every group."""
    f1 = {
        f"f1_{group}": replace(winomt.F1, title=f"people of the group {group} translated with the right gender (F1)")
        for group in report["groups"]
    }
    return {
        "winomt": {**winomt.MEASURES, **f1},
        "must_she": must_she.MEASURES,
        "test": translation_quality.MEASURES,
    }


def _measures(report: Mapping[str, Any]) -> Iterator[Measure]:
    """Every number of every set; the F1 of a group is a part of the gap between the groups."""
    for part, what in declared(report).items():
        sections = {model: mapping(mapping(report, part), model) for model in models(report)}
        n = next((size for each in sections.values() if (size := number(each, "n")) is not None), None)
        sample = "" if n is None else f"{int(n):,} rows"
        for measure in read_measures(sections, what, path=part, sample=sample, set=SETS[part][0]):
            yield replace(measure, detail=measure.metric.startswith("f1_"))


def _paired(report: Mapping[str, Any]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """What the paired comparisons found, by measure, GFST, and the other model."""
    found = {}
    for part, others in mapping(report, "comparisons").items():
        for other, gaps in others.items():
            for key, gap in gaps.items():
                p_value = number(gap, "p_value_holm")
                test = {"ci95": interval(gap, "difference_ci95"), "p_value": p_value}
                found[f"{part}/{key}", GFST, other] = {**test, "p_adjusted": "" if p_value is None else "Holm"}
    return found


def kept_table(report: Mapping[str, Any]) -> list[list[str]]:
    """Heading and, per stage and group, how many rows came, how many were kept, and why the others were dropped.

    Labels of the parallel data (which group a source speaks of) stand below its row.
    """
    rows = [["stage", "of", "rows", "kept", "share", "dropped because of"]]
    for stage, numbers in report["data"].items():
        if "reasons" not in numbers:
            size = numbers.get("n", 0)
            more = "" if "before" not in numbers else f"balanced, {numbers['per_group']} of each group"
            rows.append([stage.replace("_", " "), "all", f"{size:,}", f"{size:,}", "", more])
            continue
        for name, part in (("all", numbers), *mapping(numbers, "by_gender").items()):
            share, ends = number(part, "kept_share"), interval(part, "kept_share_ci95")
            reasons = ", ".join(f"{reason} {n:,}" for reason, n in part["reasons"].items()) or "nothing dropped"
            shown = "" if share is None else f"{share:.1%}" + (f" [{ends[0]:.1%}, {ends[1]:.1%}]" if ends else "")
            rows.append([stage.replace("_", " "), name, f"{part['n']:,}", f"{part['kept']:,}", shown, reasons])
        labels = mapping(numbers, "by_group") or mapping(numbers, "sources_by_gender")
        for name, n in labels.items():
            rows.append([stage.replace("_", " "), name, "", f"{n:,}", f"{n / max(sum(labels.values()), 1):.1%}", ""])
    return rows


#: The picture of what the filters kept, but for its numbers.
_KEPT = {
    "kind": "bars",
    "title": "What the filters kept",
    "caption": "Pairs of each group; the larger groups lose pairs until all have as many as the smallest.",
    "x_label": "pairs",
    "format": ",.0f",
}


def _kept(report: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Pairs by step and group, for the picture; empty where a step was not taken."""
    data = mapping(report, "data")
    filtered = next(
        (mapping(data, name) for name in ("filter_target", "filter_source") if "by_gender" in mapping(data, name)), None
    )
    balanced = mapping(data, "balance")
    if filtered is None or not balanced:
        return {}
    parts = {group: mapping(mapping(filtered, "by_gender"), group) for group in report["groups"]}
    return {
        "translated": {group: number(part, "n") or 0.0 for group, part in parts.items()},
        "passed the filters": {group: number(part, "kept") or 0.0 for group, part in parts.items()},
        "balanced": {group: float(balanced["per_group"]) for group in parts},
    }


def cautions(report: Mapping[str, Any]) -> list[str]:
    """What the control and RandST say about the gain, and what else to know before a number is quoted."""
    found = []
    titles = {"accuracy": "accuracy", "delta_g": "ΔG", "delta_r": "ΔR"}
    for key, part in mapping(report, "explained").items():
        gain, share = number(part, "gain"), number(part, "control_share")
        if gain is not None and gain <= 0:
            found.append(f"GFST comes no nearer to the ideal {titles[key]} than the baseline: there is no gain.")
        elif share is not None and share >= MOST:
            found.append(
                f"The control explains {min(share, 1):.0%} of the gain in {titles[key]}: most of it comes from longer "
                "training on the same parallel data, not from the filtered pairs."
            )
    gap = mapping(mapping(mapping(mapping(report, "comparisons"), "winomt"), RANDOM), "accuracy")
    ends = interval(gap, "difference_ci95")
    if ends is not None and ends[0] <= 0:
        found.append("GFST's accuracy is not clearly above that of as many random pairs: the filters may add nothing.")
    sizes = mapping(mapping(report, "data"), "randst")
    if sizes and sizes["n"] < sizes["wanted"]:
        found.append(f"RandST has {sizes['n']} pairs, {sizes['wanted']} were wanted: its size is not matched.")
    return found


def signatures(report: Mapping[str, Any]) -> dict[str, str]:
    """What says how BLEU and chrF were computed, and how WinoMT was read."""
    test: Mapping[str, Any] = next(iter(mapping(report, "test").values()), {})
    found = {str(name): str(text) for name, text in mapping(test, "signatures").items()}
    read = next(iter(mapping(report, "winomt").values()), None)
    if read is not None:
        found["WinoMT"] = f"{read['n']} rows, aligner {read['aligner']}, tagger {read['tagger']}, {read['rules']} rules"
    return found
