"""Audits of an encoder as a record: one model, or the original, the mitigated one and the control."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hf_fairness.record import (
    Arm,
    Declared,
    Gap,
    Measure,
    Record,
    Role,
    Value,
    compare,
    interval,
    mapping,
    number,
    read_measures,
)
from hf_fairness.report.plots import loss_figure
from hf_fairness.report.projection import map_figures
from hf_fairness.report.text import LIMITS, control_text, display_name, missing_sections
from hf_fairness.scores import cced, probe, seat, structure

#: Name of the arm of an audit, by its role.
ARMS: dict[str, Role] = {"before": "original", "control": "control", "after": "method"}
_SEAT_EXTRAS = {
    "numerator": "numerator",
    "p_value_clustered": "p (word-clustered)",
    "p_value": "p (sentences, as published)",
}
_UTILITY_COUNTS = {"sts_spearman": ("n_sts", "n"), "similarity_structure": ("n_similarity_structure", "n")}

Sides = Mapping[str, Mapping[str, Any]]


def audit_record(
    after: Mapping[str, Any],
    *,
    before: Mapping[str, Any] | None = None,
    control: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    name: str | None = None,
    command: str = "audit",
    asked: Mapping[str, Any] | None = None,
) -> Record:
    """Put one audit, or those of a mitigation, into a record.

    A measure that was not taken is left out; NaN and infinite numbers are named under "not measured". Similarity
    structure compares with the original model, whose own value is 1 by definition and is filled in.

    Args:
        after: what :func:`hf_fairness.measure.audit` found on the model at hand.
        before: the same on the original model.
        control: the same on the control.
        training: how the model was trained; its ``control`` says what the control is.
        name: of the report; None takes the model's.
        command: that made it.
        asked: the settings of the run.

    Returns:
        The record; its arms are ``before``, ``control`` and ``after``.

    Raises:
        TypeError: an audit is no mapping.
    """
    given = {"before": before, "control": control, "after": after}
    for arm, audit in given.items():
        if audit is not None and not isinstance(audit, Mapping):
            raise TypeError(
                f"{arm}: got {type(audit).__name__}, expected the report that hf_fairness.measure.audit returns."
            )
    sides = {arm: audit for arm, audit in given.items() if audit is not None}
    measures = tuple(audit_measures(sides))
    pairs = [("after", other) for other in ("before", "control") if other in sides]
    paired = {
        (measure, "after", "before"): {"ci95": test["difference_ci95"], "p_value": test["p_value"]}
        for measure, test in audit_changes(after).items()
    }
    gaps = compare(measures, pairs, paired)
    trained = {key: value for key, value in (training or {}).items() if key not in ("control", "loss_curve")}
    arms = {
        arm: Arm(arm, *_title(arm, audit, compared=len(sides) > 1), trained if arm == "after" else {})
        for arm, audit in sides.items()
    }
    if "control" in arms:
        arms["control"] = Arm("control", "control", "control", control_text(training))
    return Record(
        command=command,
        name=name or display_name(after.get("model", "")),
        method=str((training or {}).get("method") or "audit of a text encoder"),
        arms=tuple(arms.values()),
        measures=measures,
        gaps=gaps,
        asked=dict(asked or {}),
        limits=LIMITS,
        **audit_told(after, measures, gaps),
        **audit_drawn(sides, (training or {}).get("loss_curve")),
    )


def audit_told(after: Mapping[str, Any], measures: Sequence[Measure], gaps: Sequence[Gap]) -> dict[str, Any]:
    """What an audit says beside its numbers: fields of a record.

    Args:
        after: the audit of the model at hand.
        measures: of the record.
        gaps: of the record.
    """
    return {
        "subject": {key: after[key] for key in ("attribute", "language", "groups") if after.get(key)},
        "cautions": tuple(_collapse(measures, gaps)),
        "not_measured": tuple(missing_sections(after)),
        "provenance": {**{key: after[key] for key in ("date", "versions") if after.get(key)}, **_seat_methods(after)},
    }


def audit_drawn(sides: Sides, loss_curve: Any = None) -> dict[str, Any]:
    """Pictures and texts of audits, where they have them: fields of a record."""
    titles = {arm: "measured" if len(sides) == 1 else arm for arm in ARMS}
    loss = loss_figure(loss_curve or ())
    return {
        "figures": {
            **map_figures(
                {arm: audit["projection"] for arm, audit in sides.items() if audit.get("projection")}, titles
            ),
            **({"loss": loss} if loss else {}),
        },
        "texts": {
            f"Texts with the largest gap between groups: {name}": tuple(f"{text} ({gap:.3f})" for text, gap in found)
            for name, found in mapping(sides.get("after", {}), "texts").items()
        },
    }


def _title(arm: str, audit: Mapping[str, Any], *, compared: bool) -> tuple[str, Role, str]:
    return arm if compared else "measured", ARMS[arm], display_name(audit.get("model", ""))


def audit_measures(sides: Sides) -> Iterator[Measure]:
    """Every number of the audits, by arm."""
    yield from _seat(sides)
    yield from _cced(sides)
    yield from _probe(sides)
    yield from _utility(sides)


def seat_tests(audit: Mapping[str, Any]) -> tuple[dict[str, Mapping[str, Any]], dict[str, Mapping[str, Any]]]:
    """The bias tests and the retention tests by name; a test stands in one of the two only."""
    section = mapping(audit, "seat")
    every = {str(k): v for k, v in mapping(section, "tests").items() if isinstance(v, Mapping)}
    kept = {str(k): v for k, v in mapping(section, "retention").items() if isinstance(v, Mapping)}
    kept = {name: test for name, test in every.items() if test.get("purpose") == "retention"} | kept
    return {name: test for name, test in every.items() if name not in kept}, kept


def _seat(sides: Sides) -> Iterator[Measure]:
    sections = {arm: mapping(audit, "seat") for arm, audit in sides.items()}
    tests = {arm: seat_tests(audit) for arm, audit in sides.items()}
    n = max((len(bias) for bias, _ in tests.values()), default=0)
    yield from read_measures(sections, seat.MEASURES, path="seat", sample=f"{n} tests" if n else "")
    for place, purpose in enumerate(("bias", "retention")):
        names = dict.fromkeys(name for each in tests.values() for name in each[place])
        for name in names:
            found = {arm: each[place][name] for arm, each in tests.items() if name in each[place]}
            any_test = next(iter(found.values()))
            about = str(any_test.get("about") or "association test")
            declared = {key: replace(what, title=about) for key, what in seat.TEST_MEASURES[purpose].items()}
            sample = _counts(any_test, {"n_words": "words", "n_sentences": "sentences"})
            path = "seat/tests" if purpose == "bias" else "seat/retention"
            for measure in read_measures(found, declared, path=path, set_name=name, sample=sample, detail=n > 1):
                values = {arm: replace(value, extras=_extras(found[arm])) for arm, value in measure.values.items()}
                yield replace(measure, title=f"{about} (SEAT {name})", values=values)


def _extras(test: Mapping[str, Any]) -> dict[str, float]:
    return {text: found for key, text in _SEAT_EXTRAS.items() if (found := number(test, key)) is not None}


def _cced(sides: Sides) -> Iterator[Measure]:
    names = dict.fromkeys(str(name) for audit in sides.values() for name in mapping(audit, "cced"))
    for name in names:
        found = {arm: mapping(mapping(audit, "cced"), name) for arm, audit in sides.items()}
        sample = _counts(next((each for each in found.values() if each), {}), {"n": "texts", "n_skipped": "skipped"})
        yield from read_measures(found, cced.MEASURES, path="cced", set_name=name, sample=sample)
        pairs = dict.fromkeys(pair for each in found.values() for pair in mapping(each, "pairs"))
        for pair in pairs if len(pairs) > 1 else ():  # with two groups the one pair repeats the numbers above
            numbers = {arm: mapping(mapping(each, "pairs"), pair) for arm, each in found.items()}
            part = f"{name}: {pair}"
            yield from read_measures(
                numbers, cced.MEASURES, path="cced/pairs", set_name=part, sample=sample, detail=True
            )


def _probe(sides: Sides) -> Iterator[Measure]:
    names = dict.fromkeys(str(name) for audit in sides.values() for name in mapping(audit, "probe"))
    for name in names:
        found = {arm: mapping(mapping(audit, "probe"), name) for arm, audit in sides.items()}
        first = next((each for each in found.values() if each), {})
        chance = number(first, "chance")
        declared = {
            key: replace(what, ideal=chance, direction="none" if chance is None else what.direction)
            for key, what in probe.MEASURES.items()
        }
        of = f" of {first['set']}" if isinstance(first.get("set"), str) else ""
        sample = _counts(first, {"n": "embeddings"}) + of
        yield from read_measures(found, declared, path="probe", set_name=name, set_title=name, sample=sample)


def _utility(sides: Sides) -> Iterator[Measure]:
    """Each number from the section itself, or from a result nested in it."""
    for key, what in structure.MEASURES.items():
        found = {arm: _holding(mapping(audit, "utility"), key) for arm, audit in sides.items()}
        section = found.get("after") or next(iter(found.values()))
        sample = next((f"{int(n):,} pairs" for name in _UTILITY_COUNTS[key] if (n := number(section, name))), "")
        for measure in read_measures(found, {key: what}, path="utility", sample=sample):
            if key == "similarity_structure" and "before" in sides:
                yield replace(measure, values={"before": Value(1.0, (1.0, 1.0)), **measure.values})
            else:
                yield measure


def _holding(utility: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    parts = (utility, *(each for each in utility.values() if isinstance(each, Mapping)))
    return next((part for part in parts if number(part, key) is not None), utility)


def _counts(section: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Sample sizes in words, looked up in the section and then in its ``meta``."""
    meta = mapping(section, "meta")
    sizes = ((number(section, key), number(meta, key), text) for key, text in names.items())
    return ", ".join(
        f"{int(here if here is not None else there or 0):,} {text}"
        for here, there, text in sizes
        if here is not None or there is not None
    )


def audit_changes(after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By id of the measure the interval and p-value of the change since the model that was the reference."""
    bias, retention = seat_tests(after)
    sections: list[tuple[str, Mapping[str, Any], Mapping[str, Declared]]] = [
        ("seat", mapping(after, "seat"), seat.MEASURES),
        *((f"seat/tests/{name}", test, seat.TEST_MEASURES["bias"]) for name, test in bias.items()),
        *((f"seat/retention/{name}", test, seat.TEST_MEASURES["retention"]) for name, test in retention.items()),
        *((f"probe/{name}", part, probe.MEASURES) for name, part in mapping(after, "probe").items()),
        *(
            ("utility", _holding(mapping(after, "utility"), key), {key: what})
            for key, what in structure.MEASURES.items()
        ),
    ]
    for name, part in mapping(after, "cced").items():
        sections.append((f"cced/{name}", part, cced.MEASURES))
        pairs = mapping(part, "pairs").items()
        sections += [(f"cced/pairs/{name}: {pair}", numbers, cced.MEASURES) for pair, numbers in pairs]
    paired = {}
    for path, section, declared in sections:
        for key in declared:
            ends = interval(section, f"{key}_change_ci95") or interval(mapping(section, "change"), f"{key}_change_ci95")
            if ends is not None:
                p_value = number(section, f"{key}_change_p_value")
                paired[f"{path}/{key}"] = {"difference_ci95": ends, "p_value": p_value}
    return paired


def _collapse(measures: Sequence[Measure], gaps: Sequence[Gap]) -> Iterator[str]:
    """Sets of texts where CCED fell only because all distances shrank (or grew with them)."""
    since = {gap.measure: gap for gap in gaps if gap.against == "before"}
    for measure in measures:
        gap, relative = since.get(measure.id), since.get(f"{measure.id}_relative")
        fell = measure.metric == "cced" and gap is not None and gap.verdict == "improved"
        if fell and relative is not None and relative.verdict != "improved":
            yield (
                f"On {measure.set}, CCED fell but CCED / mean distance did not clearly do so: the encoder may merely "
                "have drawn its embeddings together."
            )


def _seat_methods(audit: Mapping[str, Any]) -> dict[str, Any]:
    """How the p-values of SEAT were computed, with the tests."""
    methods: dict[str, list[str]] = {}
    for tests in seat_tests(audit):
        for name, test in tests.items():
            if test.get("method"):
                methods.setdefault(str(test["method"]), []).append(name)
    shown = {method: f"tests {', '.join(names)}" for method, names in methods.items()}
    return {"p-values of SEAT": shown} if shown else {}
