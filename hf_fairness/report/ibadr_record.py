"""A run of iterative bias-aware data set refinement as a record, and a sweep over several."""

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
    compare,
    interval,
    mapping,
    number,
    read_measures,
)
from hf_fairness.report.text import display_name, format_number, format_value
from hf_fairness.scores.challenge import CHALLENGE_MEASURES, MEASURES

METHOD = "iterative bias-aware data set refinement (IBADR, Wang et al. 2023)"
#: What became of samples, in the order of the table, with what it is called there.
FATES = {
    "accepted": "added to the pool",
    "low_confidence": "below the threshold",
    "in_pool": "texts in the pool",
    "in_pool_other_label": "texts in the pool, other label",
    "repeated": "texts of an earlier sample",
    "repeated_other_label": "texts of an earlier sample, other label",
    "unended": "did not end",
    "wrong_parts": "not the texts of a row",
    "empty_text": "an empty text",
    "broken_text": "broken characters",
}
#: The same in fewer kinds, for the picture.
FATE_KINDS = {
    "added": ("accepted",),
    "below the threshold": ("low_confidence",),
    "not new": ("in_pool", "in_pool_other_label", "repeated", "repeated_other_label"),
    "not readable": ("unended", "wrong_parts", "empty_text", "broken_text"),
}

LIMITS = (
    "Intervals are over the rows at hand, not over other trainings: two seeds can differ by more. Read a difference "
    "beside the control, which was trained for as many steps.",
    "Bias here is what a shallow model learns from few rows. It need not be wrong, and a bias that is hard to learn is "
    "not seen.",
    "A challenge set tests the shortcuts that it was made for. A higher accuracy there does not show that a model has "
    "no others.",
    "The agreement of samples with a judge says how the judge sees them: it is itself trained on the biased data. Have "
    "people read a sample of the added rows.",
    "What a generator that was trained elsewhere has read is not known: the overlap with challenge sets is measured on "
    "the added rows only.",
)
#: Title, role and description of each trained model.
ARMS: dict[str, tuple[str, Role, str]] = {
    "base": ("base", "original", "trained on the original rows"),
    "ibadr": ("IBADR", "method", "trained on the original and the added rows"),
    "control": ("control", "control", "trained on the original rows for as many steps as IBADR"),
    "poe": ("PoE", "rival", "product of experts with the shallow model, on the original rows"),
    "ibadr_poe": ("IBADR + PoE", "variant", "product of experts with the shallow model, on the refined rows"),
}
#: Sets that are not made against a shortcut, in words.
SETS = {"validation": "validation rows", "test": "test rows"}


def ibadr_record(report: Mapping[str, Any], *, name: str | None = None) -> Record:
    """Put what ``run_ibadr`` returned into a record.

    Args:
        report: of a run.
        name: of the report; None takes the model's.

    Returns:
        The record. Accuracies of whole sets are compared in pairs on the same rows, those of gold labels and other
        parts by their intervals.
    """
    arguments, meta, pool = (mapping(report, key) for key in ("arguments", "meta", "pool"))
    rounds, data = report["rounds"], mapping(report, "data")
    measures = tuple(_measures(report))
    paired = {
        (f"{_path(title)}{title}/accuracy", *names.split(" - ")): _test(gap, "difference_ci95")
        for title, pairs in report["comparisons"].items()
        for names, gap in pairs.items()
    }
    return Record(
        command="ibadr",
        task="text-classification",
        name=name or display_name(arguments.get("model_name_or_path") or ""),
        method=METHOD,
        arms=tuple(
            Arm(arm, *about(arm), {key: trained[key] for key in ("n_rows", "steps", "epochs") if key in trained})
            for arm, trained in report["arms"].items()
        ),
        measures=measures,
        gaps=compare(measures, dict.fromkeys((one, other) for _, one, other in paired), paired),
        asked=dict(arguments),
        subject={key: data[key] for key in ("columns", "label_names") if key in data}
        | {f"{part} rows": data[part]["n"] for part in ("train", "validation", "test") if part in data},
        outcome=f"{pool['n_added']:,} rows were added to {pool['n_original']:,} in {len(rounds)} "
        f"{'round' if len(rounds) == 1 else 'rounds'}.",
        cautions=tuple(poor_labels(report)),
        tables=tuple(
            Table(title, tuple(map(tuple, rows)), note)
            for title, rows, note in (
                (
                    "Samples, round by round",
                    rounds_table(report),
                    "Bias degree: probability that the shallow model gives to the label of a row. The judge was "
                    "itself trained on the biased data.",
                ),
                (
                    "What one text gives away, and what added rows share with test sets",
                    guard_table(report),
                    "Partial input: a classifier that reads one text of the two only. Ideal values stand in "
                    "parentheses.",
                ),
            )
            if len(rows) > 1
        ),
        figures={"bias_degrees": _degrees(rounds), "samples": _fates(rounds)} if rounds else {},
        texts={
            f"Rows added in round {each['round']}, the first ones": tuple(map(_row_text, each["examples"]))
            for each in rounds
            if each.get("examples")
        },
        limits=LIMITS,
        not_measured=tuple(_not_measured(report)),
        provenance={key: meta[key] for key in ("convention", "seed", "versions") if key in meta},
    )


def arm_name(arm: str) -> str:
    """A trained model as tables call it."""
    return about(arm)[0]


def about(arm: str) -> tuple[str, Role, str]:
    """Title, role and description of a trained model; ``ibadr_<n>`` has that many added rows."""
    if arm.startswith("ibadr_") and arm not in ARMS:
        n = f"{int(arm.rpartition('_')[2]):,}"
        return f"IBADR, {n} added rows", "variant", f"trained on the original rows and {n} of the added ones"
    return ARMS.get(arm, (arm, "variant", ""))


def _path(title: str) -> str:
    return "" if title in SETS else "challenge/"


def _about_set(title: str) -> tuple[Mapping[str, Declared], dict[str, Any], str]:
    """What is declared of a set, more that is the same for all its measures, and its name in words."""
    if title == "validation":
        convention = (
            f"{MEASURES['accuracy'].convention} Models are chosen by it on these rows: it is somewhat too high."
        )
        return MEASURES, {"part": "validation", "path": "", "convention": convention}, SETS[title]
    if title in SETS:
        return MEASURES, {"path": ""}, SETS[title]
    return CHALLENGE_MEASURES, {"path": "challenge"}, f"challenge set {title}"


def _measures(report: Mapping[str, Any]) -> Iterator[Measure]:
    """Accuracy on each set; then by gold label and by what else a set is divided by."""
    details = []
    for title, arms in report["results"].items():
        declared, options, words = _about_set(title)
        yield from read_measures(arms, declared, set_name=title, set_title=words, sample=_rows(arms), **options)
        for kind, value in _parts(arms):
            found = {arm: _part(result, kind, value) for arm, result in arms.items()}
            named = f"gold label {value}" if kind == "label" else f"{kind} {value}"
            details += list(
                read_measures(
                    found,
                    declared,
                    set_name=f"{title}/{kind}/{value}",
                    set_title=f"{words}, {named}",
                    sample=_rows(found),
                    detail=True,
                    **options,
                )
            )
    yield from details


def _parts(arms: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Kinds and values by which a set is divided, as the first arm has them."""
    first: Mapping[str, Any] = next(iter(arms.values()), {})
    groups = {"label": mapping(first, "labels"), **mapping(first, "by")}
    return [(kind, value) for kind, entries in groups.items() for value in entries]


def _part(found: Mapping[str, Any], kind: str, value: str) -> Mapping[str, Any]:
    entries = mapping(found, "labels") if kind == "label" else mapping(mapping(found, "by"), kind)
    return mapping(entries, value)


def _rows(arms: Mapping[str, Mapping[str, Any]]) -> str:
    n = next((size for each in arms.values() if (size := number(each, "n")) is not None), None)
    return "" if n is None else f"{int(n):,} rows"


def _test(gap: Mapping[str, Any], ends: str) -> dict[str, Any]:
    return {"ci95": interval(gap, ends), "p_value": number(gap, "p_value")}


def _row_text(row: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {text}" for name, text in row.items())


def _not_measured(report: Mapping[str, Any]) -> Iterator[str]:
    if "test" not in report["results"]:
        yield "Test rows: none were given, and the validation rows chose the models"
    if all(title in SETS for title in report["results"]):
        yield "Challenge sets: none were given, so nothing is known of shortcuts"
    if not mapping(report, "partial_input"):
        yield "What one text of a pair gives away (partial input): not asked for, or the rows have one text"


def rounds_table(report: Mapping[str, Any]) -> list[list[str]]:
    """What became of the samples of each round, and how they are."""
    rounds = report["rounds"]
    rows = [["samples", *(f"round {each['round']}" for each in rounds)]]
    rows.append(["pool before: mean bias degree", *(format_number(each["pool"]["mean"]) for each in rounds)])
    rows.append(["drawn", *(f"{each['counts']['drawn']:,}" for each in rounds)])
    for key, title in FATES.items():
        if any(key in each["counts"] for each in rounds):
            rows.append([title, *(f"{each['counts'].get(key, 0):,}" for each in rounds)])
    for side, when in (("before", "new ones"), ("after", "added ones")):
        for key, title in (("agreement", "agreement with the judge"), ("chance", "by chance"), ("kappa", "kappa")):
            entries = [mapping(mapping(each, "agreement"), side) for each in rounds]
            rows.append([f"{when}: {title}", *(_cell(entry, key) for entry in entries)])
        if side == "before":
            values = [format_number(number(mapping(each, "judge"), "expected_agreement")) for each in rounds]
            rows.append([f"{when}: by validation rows as biased, with true labels", *values])
        entries = [mapping(mapping(each, "degrees"), side) for each in rounds]
        rows.append([f"{when}: mean bias degree", *(format_number(number(entry, "mean")) for entry in entries)])
        if any("anti_artefact" in each for each in rounds):
            entries = [mapping(mapping(each, "anti_artefact"), side) for each in rounds]
            rows.append([f"{when}: anti-artefact share", *(_cell(entry, "anti_artefact_share") for entry in entries)])
    for key, title in (("original", "as many original rows"), ("after", "added ones")):
        for size in (1, 2, 3):
            entries = [mapping(mapping(each, "diversity"), key) for each in rounds]
            values = [format_number(number(entry, f"distinct_{size}")) for entry in entries]
            rows.append([f"{title}: distinct {size}-grams", *values])
    rows.append(["generator: mean loss per token", *(format_number(each["generator"]["loss"]) for each in rounds)])
    return rows


def guard_table(report: Mapping[str, Any]) -> list[list[str]]:
    """The partial-input probe, and what added rows share with test and challenge sets."""
    rows = [["what", "value"]]
    for side, title in (("original", "original rows"), ("pool", "pool")):
        found = mapping(mapping(report, "partial_input"), side)
        if found:
            rows.append([f"partial input, {title}: accuracy", _cell(found, "accuracy")])
            rows.append([f"partial input, {title}: above the majority (0)", _cell(found, "gain")])
    for name, found in mapping(mapping(report, "leakage"), "by_set").items():
        rows.append([f"added rows that share text with {name} (0)", _cell(found, "leak_share")])
    return rows


def poor_labels(report: Mapping[str, Any]) -> list[str]:
    """Rounds whose samples agree with the judge far less than rows of the data would."""
    lines = []
    for each in report["rounds"]:
        judge = mapping(each, "judge")
        if judge.get("below_expected"):
            agreed = mapping(mapping(each, "agreement"), "before")
            lines.append(
                f"Labels of the samples of round {each['round']}: {_cell(agreed, 'agreement')} agree with the judge; "
                f"validation rows as biased would in {judge['expected_agreement']:.3f}, by chance "
                f"{agreed['chance']:.3f}"
            )
    return lines


def _cell(value: Mapping[str, Any], key: str) -> str:
    return format_value(number(value, key), interval(value, f"{key}_ci95"))


#: What of a round stands in the picture of bias degrees.
_SIDES = {"before the filter": "before", "after it": "after"}


def _degrees(rounds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Picture of the bias degrees by round: of the pool, and of samples before and after the filter."""
    words = []
    for each in rounds:
        sides = (each["pool"], each["degrees"]["before"], each["degrees"]["after"])
        pool, before, after = (format_number(side["mean"]) for side in sides)
        words.append(f"round {each['round']}: mean {pool} in the pool, {before} before, {after} after")
    bins = len(rounds[0]["pool"]["counts"])
    return {
        "kind": "histogram",
        "title": "What the filter did to the bias degrees",
        "caption": "Readable samples with new texts. To the left: the shallow model does not expect the label. Heights "
        "are relative to the highest of a round, for the pool (the line) on its own.",
        "description": f"Bias degrees of new samples around the filter; {'; '.join(words)}.",
        "x_label": "bias degree: p(label | texts) by the shallow model",
        "edges": [k / bins for k in range(bins + 1)],
        "rows": {
            f"round {each['round']}": {name: list(each["degrees"][side]["counts"]) for name, side in _SIDES.items()}
            | {"pool": list(each["pool"]["counts"])}
            for each in rounds
        },
        "grey": ["before the filter"],
        "outline": ["pool"],
    }


def _fates(rounds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Picture of what became of the samples of each round."""
    return {
        "kind": "bars",
        "title": "What became of the samples",
        "caption": "Samples whose texts are in the pool, or came before, are not new.",
        "x_label": "share of the samples drawn",
        "format": ".0%",
        "stacked": True,
        "grey": ["not readable"],
        "rows": {
            f"round {each['round']}": {
                kind: sum(each["counts"].get(key, 0) for key in keys) / each["counts"]["drawn"]
                for kind, keys in FATE_KINDS.items()
            }
            for each in rounds
        },
    }


def sweep_record(found: Mapping[str, Any], *, name: str | None = None) -> Record:
    """Put what ``sweep_ibadr`` returned into a record.

    Args:
        found: of the sweep.
        name: of the report; None: "sweep".

    Returns:
        The record, with a table of all runs. Where seeds vary, its arms are the models, their numbers means over seeds,
        and their comparisons paired by seed; else it has no arms, for every run has an original model of its own.
    """
    cells, seeds = found["cells"], mapping(found, "over_seeds")
    measures, paired = [], {}
    for title, parts in seeds.items():
        declared, options, words = _about_set(title)
        sections = {
            arm: {"accuracy": value["mean"], "accuracy_ci95": value["ci95"]} for arm, value in parts["arms"].items()
        }
        options |= {"set_name": title, "set_title": words, "interval_over": "seeds"}
        measures += list(read_measures(sections, declared, **options))
        for names, gap in parts["differences"].items():
            if gap is not None:
                key = (f"{_path(title)}{title}/accuracy", *names.split(" - "))
                paired[key] = _test(gap, "ci95")
    varied = list(dict.fromkeys(cell["name"] for cell in cells))
    return Record(
        command="ibadr-sweep",
        name=name or "sweep",
        method=f"{METHOD} for several values of a setting",
        arms=tuple(Arm(arm, *about(arm)) for arm in dict.fromkeys(arm for each in measures for arm in each.values)),
        measures=tuple(measures),
        gaps=compare(measures, dict.fromkeys((one, other) for _, one, other in paired), paired),
        subject={"runs": len(cells), "varied": varied},
        outcome=f"Varied, one thing at a time: {', '.join(varied)}; runs: {len(cells)}.",
        tables=(
            Table("Accuracy of every run", tuple(map(tuple, sweep_rows(found))), "Brackets: 95 % intervals over rows."),
        ),
        limits=LIMITS,
        provenance={"sources": found["sources"]} if "sources" in found else {},
    )


def sweep_rows(found: Mapping[str, Any]) -> list[list[str]]:
    """Heading and one row per run: value, rows, accuracy of every arm on every set."""
    cells = found["cells"]
    columns = [(title, arm) for title, arms in cells[0]["results"].items() for arm in arms]
    rows = [["setting", "value", "rows", "added", *(f"{title}: {arm_name(arm)}" for title, arm in columns)]]
    for cell in cells:
        numbers = [_cell(mapping(mapping(cell["results"], title), arm), "accuracy") for title, arm in columns]
        sizes = [f"{cell['rows'][key]:,}" for key in ("train", "added")]
        rows.append([cell["name"], str(cell["value"]), *sizes, *numbers])
    return rows
