"""What only a report of GFST says: its models, what the filters kept, and how much of a gain the control has too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hf_fairness.record import Arm, Table, interval, mapping, number
from hf_fairness.report.text import format_fixed
from hf_fairness.trainers.experiment import Plan
from hf_fairness.trainers.gfst.arguments import BASELINE, CONTROL, GFST, GFST_HD, HD, RANDOM, UNFILTERED

#: Numbers of WinoMT of which it is told how much the control explains, with their names and ideal values.
EXPLAINED = {"accuracy": ("accuracy", 1.0), "delta_g": ("ΔG", 0.0), "delta_r": ("ΔR", 0.0)}
#: A control that has this part of the gain explains most of it.
MOST = 0.5

LIMITS = (
    "WinoMT has one kind of sentence and two genders; its genders are read by an aligner and a tagger, which err. Its "
    "neutral rows are counted as wrong where they are translated with a gender.",
    "A tagger that both filters the training pairs and reads the test set makes the same errors on both sides.",
    "Intervals are over rows of the test sets; where every model was trained once, another seed would give other "
    "numbers.",
    "The filters know the words of the attribute's groups. Other people are not represented in the pairs.",
    "Self-training spreads what the initial model does already, its errors in anything but gender too, and cannot "
    "invent forms that the parallel data lack.",
    "Gender accuracy says nothing of stereotypes that need no gendered word, or of people whose gender is not said.",
)
#: What is said of a set that was not given.
MISSING = {
    "winomt": "WinoMT (the gender of people in translations): no rows were given",
    "must_she": "MuST-SHE (gender-marked words): no rows were given",
    "test": "Translation quality: no test set was given",
}
#: The models by name, with what they need and are compared with; one of no other name learned from one group's pairs.
PLANS = {
    each.arm.name: each
    for each in (
        Plan(Arm(BASELINE, "baseline", "original", "the initial model, which translated the texts")),
        Plan(
            Arm(
                GFST,
                "GFST",
                "method",
                "trained on pairs that the source and the target filter kept, as many of each group",
            )
        ),
        Plan(
            Arm(CONTROL, "control", "control", "trained for as many steps on the original parallel data alone"), (GFST,)
        ),
        Plan(Arm(RANDOM, "RandST", "rival", "trained on as many random pairs, which no filter saw")),
        Plan(Arm(UNFILTERED, "no target filter", "variant", "trained on pairs that the source filter alone kept")),
        Plan(
            Arm(HD, "baseline +HD", "rival", "the initial model with hard-debiased embeddings of its encoder"),
            (BASELINE,),
            (BASELINE,),
        ),
        Plan(
            Arm(GFST_HD, "GFST +HD", "variant", "GFST with hard-debiased embeddings of its encoder"), (GFST,), (GFST,)
        ),
    )
}


def plan(name: str) -> Plan:
    """A model as reports call it, before it is compared with others."""
    return PLANS.get(name) or Plan(
        Arm(name, f"{name} pairs only", "variant", f"trained on the pairs about the group {name} alone")
    )


def ending(history: Mapping[str, Any]) -> str:
    """Why a training that validation could stop ended, for the report.

    Args:
        history: of :func:`hf_fairness.trainers.train_translator`.

    Example:
        >>> ending({"stopped_early": True, "eval": [{"step": 10, "loss": 2.0}, {"step": 20, "loss": 2.5}]})
        'stopped by the validation loss, lowest after step 10'
    """
    best = min(history["eval"], key=lambda each: float(each["loss"]))["step"]
    why = "stopped by the validation loss" if history["stopped_early"] else "all steps; validation loss"
    return f"{why}, lowest after step {best}"


def kept_table(data: Mapping[str, Any]) -> Table:
    """Per stage and group, how many rows came, how many were kept, and why the others were dropped.

    Labels of rows (which group a text speaks of) stand below them.

    Args:
        data: what the stages counted, by stage.
    """
    rows = [("stage", "of", "rows", "kept", "share", "dropped because of")]
    for name, numbers in data.items():
        stage, parts = name.replace("_", " "), {"all": numbers, **mapping(numbers, "by_gender")}
        rows += [(stage, group, f"{part['n']:,}", *_kept(part)) for group, part in parts.items()]
        labels = mapping(numbers, "by_group") or mapping(numbers, "sources_by_gender")
        every = max(sum(labels.values()), 1)
        rows += [(stage, group, "", f"{n:,}", f"{n / every:.1%}", "") for group, n in labels.items()]
    return Table(
        "What the filters kept",
        tuple(rows),
        "Groups are balanced by leaving out pairs of the larger ones. Brackets hold 95 % intervals.",
    )


def _kept(part: Mapping[str, Any]) -> tuple[str, str, str]:
    """Of rows that a stage counted how many were kept, their share, and why the others were dropped."""
    if "reasons" not in part:
        each = part.get("per_group")
        return f"{part['n']:,}", "", f"balanced, {each} of each group" if each else ""
    share, reasons = number(part, "kept_share"), [f"{reason} {n:,}" for reason, n in part["reasons"].items()]
    shown = "" if share is None else format_fixed(share, interval(part, "kept_share_ci95"), ".1%")
    return f"{part['kept']:,}", shown, ", ".join(reasons) or "nothing dropped"


def kept_figure(data: Mapping[str, Any], last_filter: str) -> dict[str, Any]:
    """Pairs by step and group, as a picture."""
    parts, balanced = data[last_filter]["by_gender"], data["balance"]
    return {
        "kind": "bars",
        "title": "What the filters kept",
        "caption": "Pairs of each group; the larger groups lose pairs until all have as many as the smallest.",
        "x_label": "pairs",
        "format": ",.0f",
        "rows": {
            "translated": {group: parts[group]["n"] for group in balanced["before"]},
            "passed the filters": balanced["before"],
            "balanced": dict.fromkeys(balanced["before"], balanced["per_group"]),
        },
    }


def explained(results: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    """How much nearer to the ideal GFST and its control come, and the control's part of it.

    Args:
        results: WinoMT of ``baseline``, ``gfst`` and, where it was trained, ``control``.

    Returns:
        Per key ``gain`` of GFST and ``control_gain`` over the baseline, and ``control_share``, None where GFST gains
        nothing; the last two are None without a control. A share of 1 says that longer training on the same data does
        as well.

    Example:
        >>> found = explained({"baseline": {"accuracy": 0.5}, "control": {"accuracy": 0.7}, "gfst": {"accuracy": 0.75}})
        >>> round(found["accuracy"]["control_share"], 6)
        0.8
    """
    found: dict[str, dict[str, float | None]] = {}
    for key, (_, ideal) in EXPLAINED.items():
        far = {name: abs(value - ideal) for name, each in results.items() if (value := number(each, key)) is not None}
        if BASELINE in far and GFST in far:
            gain, control_gain = (far[BASELINE] - far[name] if name in far else None for name in (GFST, CONTROL))
            share = control_gain / gain if gain and gain > 0 and control_gain is not None else None
            found[key] = {"gain": gain, "control_gain": control_gain, "control_share": share}
    return found


def cautions(report: Mapping[str, Any]) -> Iterator[str]:
    """What the control and RandST say about the gain, and what else to know before a number is quoted.

    Args:
        report: ``explained``, ``comparisons``, ``data``.
    """
    for key, part in report["explained"].items():
        gain, share, title = part["gain"], part["control_share"], EXPLAINED[key][0]
        if gain <= 0:
            yield f"GFST comes no nearer to the ideal {title} than the baseline: there is no gain."
        elif share is not None and share >= MOST:
            yield (
                f"The control explains {min(share, 1):.0%} of the gain in {title}: most of it comes from longer "
                "training on the same parallel data, not from the filtered pairs."
            )
    gaps = mapping(mapping(report["comparisons"], "winomt"), f"{GFST} - {RANDOM}")
    ends = interval(mapping(gaps, "accuracy"), "difference_ci95")
    if ends is not None and ends[0] <= 0:
        yield "GFST's accuracy is not clearly above that of as many random pairs: the filters may add nothing."
    sizes = mapping(report["data"], RANDOM)
    if sizes and sizes["n"] < sizes["wanted"]:
        yield f"RandST has {sizes['n']} pairs, {sizes['wanted']} were wanted: its size is not matched."


def signatures(results: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What says how BLEU and chrF were computed, and how WinoMT was read; results by set and arm."""
    first: dict[str, Any] = {name: next(iter(by_arm.values()), {}) for name, by_arm in results.items()}
    found, read = dict(mapping(mapping(first, "test"), "signatures")), mapping(first, "winomt")
    if read:
        found["WinoMT"] = f"{read['n']} rows, aligner {read['aligner']}, tagger {read['tagger']}, {read['rules']} rules"
    return found
