"""Reads an audit into one flat list of measurements, each with its interval, ideal value and direction."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, TypeAlias

from hf_fairness.report.schema import AuditLike

Interval: TypeAlias = tuple[float, float]
Direction: TypeAlias = Literal["lower", "higher", "zero", "chance", "none"]
Kind: TypeAlias = Literal["bias", "utility", "information", "context"]

#: How each direction reads in a table.
DIRECTION_TEXT: dict[str, str] = {
    "lower": "↓ lower is better",
    "higher": "↑ higher is better",
    "zero": "→0← nearer to 0 is better",
    "chance": "↓ nearer to chance tells less",
    "none": "no better direction",
}

#: Two training seeds differed by this much in mean |d| (measured on all-MiniLM-L6-v2): less is noise.
SEAT_SEED_NOISE = 0.15


@dataclass(frozen=True)
class Value:
    """One measured number with all that is needed to read it.

    Attributes:
        id: path of the number in the audit, for example ``"cced/built-in/cced"``.
        set: name of the test or set of texts.
        metric: key of the number in its section.
        label: name for people.
        kind: ``"bias"``, ``"utility"``, ``"information"`` (what a probe can read) or ``"context"``.
        value: the number, in the unit of the metric; always finite.
        ci95: its 95 % interval, None where none was given.
        ideal: value of a perfect encoder; None where there is none.
        direction: which way is better.
        change_ci95: interval of the paired difference to an earlier audit, if given.
        sample: sample sizes in words.
        noise: changes smaller than this are not interpreted.
        extras: further numbers to show beside it.
    """

    id: str
    set: str
    metric: str
    label: str
    kind: Kind
    value: float
    ci95: Interval | None
    ideal: float | None
    direction: Direction
    change_ci95: Interval | None = None
    sample: str = ""
    noise: float = 0.0
    extras: Mapping[str, float] = field(default_factory=dict)


def number(section: Mapping[str, Any], key: str) -> float | None:
    """The finite number under a key, or None where it is absent, no number, NaN or infinite."""
    value = section.get(key)
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    return float(value) if math.isfinite(value) else None


def interval(section: Mapping[str, Any], key: str) -> Interval | None:
    """The interval ``[low, high]`` under a key, or None where it is absent or not finite."""
    value = section.get(key)
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        return None
    low, high = (number({"v": end}, "v") for end in value)
    return None if low is None or high is None else (min(low, high), max(low, high))


def mapping(section: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The mapping under a key, empty where it is absent or of another type."""
    value = section.get(key)
    return value if isinstance(value, Mapping) else {}


def non_finite(value: Any, path: str = "") -> list[str]:
    """Paths of all numbers in a nested result that are NaN or infinite."""
    if isinstance(value, Mapping):
        return [p for key, item in value.items() for p in non_finite(item, f"{path}/{key}" if path else str(key))]
    if isinstance(value, (list, tuple)):
        return [p for index, item in enumerate(value) for p in non_finite(item, f"{path}[{index}]")]
    return [path] if isinstance(value, Real) and not math.isfinite(value) else []


def _value(
    section: Mapping[str, Any],
    key: str,
    *,
    path: tuple[str, str],
    label: str,
    kind: Kind,
    ideal: float | None,
    direction: Direction,
    **more: Any,
) -> Iterator[Value]:
    """Yield the number under ``key``, or nothing where it was not measured."""
    found = number(section, key)
    if found is None:
        return
    group, set_name = path
    yield Value(
        id="/".join(part for part in (group, set_name, key) if part),
        set=set_name,
        metric=key,
        label=label,
        kind=kind,
        value=found,
        ci95=interval(section, f"{key}_ci95"),
        ideal=ideal,
        direction=direction,
        change_ci95=interval(section, f"{key}_change_ci95")
        or interval(mapping(section, "change"), f"{key}_change_ci95"),
        **more,
    )


def _counts(section: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Sample sizes in words, looked up in the section and then in its ``meta``."""
    meta = mapping(section, "meta")
    found = ((number(section, key), number(meta, key), text) for key, text in names.items())
    return ", ".join(
        f"{int(here if here is not None else there or 0):,} {text}"
        for here, there, text in found
        if here is not None or there is not None
    )


_SEAT_EXTRAS = {
    "numerator": "numerator",
    "p_value_clustered": "p (word-clustered)",
    "p_value": "p (sentences, as published)",
}


def seat_tests(audit: AuditLike) -> tuple[dict[str, Mapping[str, Any]], dict[str, Mapping[str, Any]]]:
    """The bias tests and the retention tests by name; a test stands in one of the two only."""
    seat = mapping(audit, "seat")
    every = {str(k): v for k, v in mapping(seat, "tests").items() if isinstance(v, Mapping)}
    kept = {str(k): v for k, v in mapping(seat, "retention").items() if isinstance(v, Mapping)}
    kept = {name: test for name, test in every.items() if test.get("purpose") == "retention"} | kept
    return {name: test for name, test in every.items() if name not in kept}, kept


def _seat(audit: AuditLike) -> Iterator[Value]:
    bias, retention = seat_tests(audit)
    yield from _value(
        mapping(audit, "seat"),
        "mean_abs_effect_size",
        path=("seat", ""),
        label="SEAT, mean |d| of the bias tests",
        kind="bias",
        ideal=0.0,
        direction="lower",
        sample=f"{len(bias)} tests" if bias else "",
        noise=SEAT_SEED_NOISE,
    )
    for name, test in bias.items():
        yield from _seat_test(name, test, "seat/tests", "SEAT effect size d", "bias", 0.0, "zero")
    for name, test in retention.items():
        label = "SEAT retention test, effect size d"
        yield from _seat_test(name, test, "seat/retention", label, "utility", None, "higher")


def _seat_test(
    name: str,
    test: Mapping[str, Any],
    path: str,
    label: str,
    kind: Kind,
    ideal: float | None,
    direction: Direction,
) -> Iterator[Value]:
    yield from _value(
        test,
        "effect_size",
        path=(path, name),
        label=label,
        kind=kind,
        ideal=ideal,
        direction=direction,
        sample=_counts(test, {"n_words": "words", "n_sentences": "sentences"}),
        noise=SEAT_SEED_NOISE,
        extras={text: found for key, text in _SEAT_EXTRAS.items() if (found := number(test, key)) is not None},
    )


def _cced_numbers(section: Mapping[str, Any], set_name: str, sample: str, path: str = "cced") -> Iterator[Value]:
    keys: tuple[tuple[str, str, Kind, float | None, Direction], ...] = (
        ("cced", "CCED", "bias", 0.0, "lower"),
        ("cced_relative", "CCED / mean distance", "bias", 0.0, "lower"),
        ("cced_signed", "CCED, signed mean", "context", 0.0, "none"),
        ("mean_distance", "Mean distance to the neutral text", "context", None, "none"),
    )
    for key, label, kind, ideal, direction in keys:
        yield from _value(
            section,
            key,
            path=(path, set_name),
            label=label,
            kind=kind,
            ideal=ideal,
            direction=direction,
            sample=sample,
        )


def _cced(audit: AuditLike) -> Iterator[Value]:
    for set_name, section in mapping(audit, "cced").items():
        if not isinstance(section, Mapping):
            continue
        sample = _counts(section, {"n": "texts", "n_skipped": "skipped"})
        yield from _cced_numbers(section, str(set_name), sample)
        pairs = mapping(section, "pairs")
        if len(pairs) > 1:  # with two groups the one pair repeats the numbers above
            for pair, numbers in pairs.items():
                if isinstance(numbers, Mapping):
                    yield from _cced_numbers(numbers, f"{set_name}: {pair}", sample, "cced/pairs")


def _probe(audit: AuditLike) -> Iterator[Value]:
    for name, section in mapping(audit, "probe").items():
        if not isinstance(section, Mapping):
            continue
        yield from _value(
            section,
            "accuracy",
            path=("probe", str(name)),
            label="Accuracy of a probe that reads the group",
            kind="information",
            ideal=number(section, "chance"),
            direction="none" if number(section, "chance") is None else "chance",
            sample=_counts(section, {"n": "embeddings"})
            + (f" of {section['set']}" if isinstance(section.get("set"), str) else ""),
        )


_UTILITY = {
    "sts_spearman": (
        "Semantic similarity, Spearman with human scores",
        {"n_sts": "pairs", "n": "pairs"},
    ),
    "similarity_structure": (
        "Similarity structure, Spearman with the original encoder",
        {"n_similarity_structure": "pairs"},
    ),
}


def _utility(audit: AuditLike) -> Iterator[Value]:
    """Each number from the section itself, or from a result nested in it."""
    utility = mapping(audit, "utility")
    nested = [section for section in utility.values() if isinstance(section, Mapping)]
    for key, (label, counts) in _UTILITY.items():
        section = next((part for part in (utility, *nested) if number(part, key) is not None), utility)
        yield from _value(
            section,
            key,
            path=("utility", ""),
            label=label,
            kind="utility",
            ideal=1.0,
            direction="higher",
            sample=_counts(section, counts if section is utility else {"n": "pairs"}),
        )


def read_values(audit: AuditLike) -> list[Value]:
    """Every number of an audit that belongs in a table, in the order of the report.

    Args:
        audit: the dict of one audit (:class:`hf_fairness.report.schema.Audit`); any section may be absent.

    Returns:
        Measurements with unique ids; NaN and infinite numbers are left out (:func:`non_finite` names them).

    Raises:
        TypeError: the audit is no mapping.
    """
    if not isinstance(audit, Mapping):
        raise TypeError(
            f"audit: got {type(audit).__name__}, expected the dict that hf_fairness.measure.audit returns. "
            "Pass the result itself, or json.load the audit.json of an earlier run and take its 'audit'."
        )
    return [*_seat(audit), *_cced(audit), *_probe(audit), *_utility(audit)]
