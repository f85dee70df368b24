"""Audits of an encoder as a record: one model, or the original, the mitigated one and the control."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from hf_fairness.record import (
    Arm,
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
from hf_fairness.report.text import LIMITS, display_name, missing_sections
from hf_fairness.scores import cced, probe, seat, structure

#: Name of the arm of an audit, by its role.
ARMS: dict[str, Role] = {"before": "original", "control": "control", "after": "method"}
_SEAT_EXTRAS = {
    "numerator": "numerator",
    "p_value_clustered": "p (word-clustered)",
    "p_value": "p (sentences, as published)",
}

Sides: TypeAlias = Mapping[str, Mapping[str, Any]]
#: A section of an audit, and how `read_measures` reads it.
Part: TypeAlias = tuple[Mapping[str, Any], dict[str, Any]]


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
    sides = {arm: audit for arm, audit in given.items() if audit is not None}
    if wrong := [arm for arm, audit in sides.items() if not isinstance(audit, Mapping)]:
        got = type(given[wrong[0]]).__name__
        raise TypeError(f"{wrong[0]}: got {got}, expected the report that hf_fairness.measure.audit returns.")
    measures = tuple(audit_measures(sides))
    pairs = [("after", other) for other in ("before", "control") if other in sides]
    paired = {
        (measure, "after", "before"): {"ci95": test["difference_ci95"], "p_value": test["p_value"]}
        for measure, test in audit_changes(after).items()
    }
    gaps = compare(measures, pairs, paired)
    trained = {key: value for key, value in (training or {}).items() if key not in ("control", "loss_curve")}
    about = {arm: display_name(audit.get("model", "")) for arm, audit in sides.items()}
    about["control"] = str((training or {}).get("control") or "training that lacks what the method asks for")
    title = "measured" if len(sides) == 1 else ""
    arms = [Arm(arm, title or arm, ARMS[arm], about[arm], trained if arm == "after" else {}) for arm in sides]
    return Record(
        command=command,
        name=name or display_name(after.get("model", "")),
        method=str((training or {}).get("method") or "audit of a text encoder"),
        arms=tuple(arms),
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


def audit_measures(sides: Sides) -> Iterable[Measure]:
    """Every number of the audits, by arm; the sample of a measure is that of the first arm."""
    found: dict[str, Measure] = {}
    every = ((arm, part) for read in READERS for arm, audit in sides.items() for part in read(audit))
    for arm, (section, how) in every:
        for measure in read_measures({arm: section}, **how):
            known = found.setdefault(measure.id, measure)
            found[measure.id] = replace(known, values={**known.values, **measure.values})
    kept = found.get("utility/similarity_structure")
    if kept and "before" in sides:
        found[kept.id] = replace(kept, values={"before": Value(1.0, (1.0, 1.0)), **kept.values})
    return found.values()


def audit_changes(after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By id of the measure the interval and p-value of the change since the model that was the reference."""
    paired = {}
    for section, how in (part for read in READERS for part in read(after)):
        for measure in read_measures({"after": section}, **how):
            if ends := interval(section, f"{measure.metric}_change_ci95"):
                p_value = number(section, f"{measure.metric}_change_p_value")
                paired[measure.id] = {"difference_ci95": ends, "p_value": p_value}
    return paired


def _sections(audit: Mapping[str, Any], key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The results under a key by name."""
    for name, section in mapping(audit, key).items():
        if isinstance(section, Mapping):
            yield str(name), section


def _seat(audit: Mapping[str, Any]) -> Iterator[Part]:
    """The mean over the bias tests, and each test: one for retention shows what the encoder is still good for."""
    section = mapping(audit, "seat")
    n = sum(test.get("purpose") != "retention" for _, test in _sections(section, "tests"))
    yield section, {"declared": seat.MEASURES, "path": "seat", "sample": f"{n} tests" if n else ""}
    for purpose, path in (("bias", "seat/tests"), ("retention", "seat/retention")):
        for name, test in _sections(section, "tests"):
            if test.get("purpose", "bias") == purpose:
                title = f"{test.get('about') or 'association test'} (SEAT {name})"
                sample = _counts(test, n_words="words", n_sentences="sentences")
                how = {"declared": seat.TEST_MEASURES[purpose], "path": path, "set_name": name, "extras": _SEAT_EXTRAS}
                yield test, {**how, "title": title, "sample": sample, "detail": n > 1}


def _cced(audit: Mapping[str, Any]) -> Iterator[Part]:
    for name, section in _sections(audit, "cced"):
        how = {"declared": cced.MEASURES, "sample": _counts(section, n="texts", n_skipped="skipped")}
        yield section, {**how, "path": "cced", "set_name": name}
        pairs = dict(_sections(section, "pairs"))
        for pair in pairs if len(pairs) > 1 else ():  # with two groups the one pair repeats the numbers above
            yield pairs[pair], {**how, "path": "cced/pairs", "set_name": f"{name}: {pair}", "detail": True}


def _probe(audit: Mapping[str, Any]) -> Iterator[Part]:
    for name, section in _sections(audit, "probe"):
        chance = number(section, "chance")
        better = {"direction": "none"} if chance is None else {"ideal": chance}
        of = f" of {section['set']}" if isinstance(section.get("set"), str) else ""
        how = {"declared": probe.MEASURES, "path": "probe", "set_name": name}
        yield section, {**how, "sample": _counts(section, n="embeddings") + of, **better}


def _utility(audit: Mapping[str, Any]) -> Iterator[Part]:
    section = mapping(audit, "utility")
    for key, what in structure.MEASURES.items():
        size = f"n_{key.removesuffix('_spearman')}"  # "n" where one of the two was measured alone
        sample = _counts(section, **{size if size in section else "n": "pairs"})
        yield section, {"declared": {key: what}, "path": "utility", "sample": sample}


#: What reads the numbers of an audit, in the order of the report.
READERS = (_seat, _cced, _probe, _utility)


def _counts(section: Mapping[str, Any], **names: str) -> str:
    """Sample sizes in words."""
    return ", ".join(f"{int(n):,} {text}" for key, text in names.items() if (n := number(section, key)) is not None)


def _collapse(measures: Sequence[Measure], gaps: Sequence[Gap]) -> Iterator[str]:
    """Sets of texts where CCED fell only because all distances shrank (or grew with them)."""
    since = {gap.measure: gap.verdict for gap in gaps if gap.against == "before"}
    for measure in measures:
        fell = measure.metric == "cced" and since.get(measure.id) == "improved"
        if fell and since.get(f"{measure.id}_relative", "improved") != "improved":
            yield (
                f"On {measure.set}, CCED fell but CCED / mean distance did not clearly do so: the encoder may merely "
                "have drawn its embeddings together."
            )


def _seat_methods(audit: Mapping[str, Any]) -> dict[str, Any]:
    """How the p-values of SEAT were computed, with the tests."""
    used = [
        (name, str(test["method"])) for name, test in _sections(mapping(audit, "seat"), "tests") if test.get("method")
    ]
    shown = {method: f"tests {', '.join(name for name, each in used if each == method)}" for _, method in used}
    return {"p-values of SEAT": shown} if shown else {}
