"""The record: the rule by which a difference counts, what it refuses, and that JSON gives it back."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hf_fairness.record import (
    SCHEMA,
    Arm,
    Declared,
    Gap,
    Measure,
    Record,
    Table,
    Value,
    compare,
    cost,
    interval,
    judge,
    number,
    plain,
    read_measures,
)
from support.record_case import through_json

ACCURACY = Declared("accuracy", "utility", 1.0, "higher")
GAP = Declared("gap", "bias", 0.0, "zero")
PROBE = Declared("probe", "information", 0.5, "chance")
RATE = Declared("flip rate", "bias", 0.0, "lower")


def value(centre: float, half: float | None = 0.1) -> Value:
    return Value(centre, None if half is None else (centre - half, centre + half))


def measure(key: str = "accuracy", arms: dict[str, Value] | None = None, **more) -> Measure:
    values = {"old": value(0.5), "new": value(0.9)} if arms is None else arms
    fields = {"title": key, "kind": "utility", "ideal": 1.0, "direction": "higher"}
    return Measure(**{"id": key, "set": "", "metric": key, "values": values, **fields, **more})


def record(**more) -> Record:
    arms = (Arm("old", "before", "original"), Arm("new", "after", "method", training={"steps": 3}))
    return Record(**{"command": "audit", "name": "m", "method": "x", "arms": arms, "measures": (measure(),), **more})


@pytest.mark.parametrize(
    ("declared", "before", "after", "ci95", "verdict", "basis"),
    [
        # 1. the interval of the paired difference
        (ACCURACY, value(0.5), value(0.6), (0.05, 0.15), "improved", "excludes 0"),
        (ACCURACY, value(0.6), value(0.5), (-0.15, -0.05), "worse", "excludes 0"),
        (ACCURACY, value(0.1), value(0.9), (-0.1, 1.0), "no clear change", "holds 0"),  # intervals lie apart
        (RATE, value(0.5), value(0.4), (-0.2, -0.01), "improved", "excludes 0"),
        (PROBE, value(0.9), value(0.8), (-0.2, -0.01), "improved", "excludes 0"),
        (PROBE, value(0.45), value(0.4), (-0.2, -0.01), "no clear change", "holds 0"),  # both below chance: no worse
        (ACCURACY, value(0.5, None), value(0.6, None), (0.05, 0.15), "improved", "excludes 0"),
        # ... with the ideal inside the range: only on one side of it
        (GAP, value(0.5), value(0.3), (-0.3, -0.1), "improved", "excludes 0"),
        (GAP, value(-0.3), value(-0.5), (-0.3, -0.1), "worse", "excludes 0"),
        (GAP, value(0.3), value(-0.3), (-0.7, -0.5), "no clear change", "overlap"),  # as far on the other side
        (GAP, value(0.6), value(-0.1), (-0.8, -0.6), "improved", "do not overlap"),
        (GAP, value(0.1), value(-0.6), (-0.8, -0.6), "worse", "do not overlap"),
        (GAP, value(0.3, None), value(-0.3, None), (-0.7, -0.5), "no interval", "missing"),
        (replace(GAP, ideal=1.0), value(1.5), value(0.9), (-0.7, -0.5), "improved", "do not overlap"),  # around 1
        # 2. overlap
        (ACCURACY, value(0.5), value(0.8), None, "improved", "do not overlap"),
        (ACCURACY, value(0.8), value(0.5), None, "worse", "do not overlap"),
        (ACCURACY, value(0.5), value(0.65), None, "no clear change", "overlap"),
        (RATE, value(0.5), value(0.8), None, "worse", "do not overlap"),
        (GAP, value(-0.6), value(0.05), None, "improved", "do not overlap"),  # its interval holds 0: from 0 to 0.15
        (PROBE, value(0.9), value(0.4), None, "improved", "do not overlap"),
        # 3. noise
        (replace(RATE, noise=0.15), value(0.5), value(0.4), (-0.11, -0.09), "no clear change", "training seeds"),
        (replace(RATE, noise=0.05), value(0.5), value(0.4), (-0.11, -0.09), "improved", "excludes 0"),
        # 4. no interval, no direction
        (ACCURACY, value(0.5, None), value(0.9), None, "no interval", "missing"),
        (replace(RATE, direction="none"), value(0.1), value(0.9), (0.7, 0.9), "not judged", "no better direction"),
    ],
)  # fmt: skip
def test_the_rule(declared, before, after, ci95, verdict, basis):
    found, why = judge(declared, before, after, ci95)
    assert found == verdict
    assert basis in why


def test_the_rule_is_the_same_in_a_mirror():
    """Swapping what came before and after swaps improved and worse, and nothing else."""
    mirror = {"improved": "worse", "worse": "improved"}
    draws = np.random.default_rng(0)
    seen = set()
    for declared in (ACCURACY, GAP, PROBE, RATE):
        for _ in range(200):
            one, other = (value(float(draws.uniform(-1, 1)), float(draws.uniform(0, 0.4))) for _ in range(2))
            half, paired = draws.uniform(0, 0.6), bool(draws.integers(2))
            gap = other.value - one.value
            ends = (gap - half, gap + half) if paired else None
            found, _ = judge(declared, one, other, ends)
            back, _ = judge(declared, other, one, None if ends is None else (-ends[1], -ends[0]))
            assert back == mirror.get(found, found)
            seen.add(found)
    assert seen == {"improved", "worse", "no clear change"}


def test_cost_is_least_at_the_ideal():
    assert cost(0.9, 1.0, "higher") < cost(0.8, 1.0, "higher")
    assert cost(0.1, None, "lower") < cost(0.2, None, "lower")
    assert cost(-0.1, 0.0, "zero") == cost(0.1, 0.0, "zero") == 0.1
    assert cost(0.4, 0.5, "chance") == cost(0.5, 0.5, "chance") == 0.0


def test_compare_takes_arms_that_both_have_a_value():
    measures = [measure(), measure("loss", {"old": value(1.0)})]
    test = {"ci95": (0.3, 0.5), "p_value": 0.01, "p_adjusted": "Holm"}
    (gap,) = compare(measures, [("new", "old"), ("new", "other")], {("accuracy", "new", "old"): test})
    assert (gap.measure, gap.arm, gap.against, gap.verdict) == ("accuracy", "new", "old", "improved")
    assert gap.difference == pytest.approx(0.4)
    assert (gap.ci95, gap.p_value, gap.p_adjusted) == ((0.3, 0.5), 0.01, "Holm")
    found = record(gaps=(gap,))
    assert found.gap(found.measures[0], found.arm("method"), found.arm("original")) is gap
    assert found.gap(found.measures[0], found.arm("original"), found.arm("method")) is None
    assert found.gap(found.measures[0], found.arm("method"), found.arm("control")) is None


def test_measures_are_read_by_what_is_declared():
    sections = {"old": {"accuracy": 0.5, "accuracy_ci95": [0.6, 0.4], "other": 3}, "new": {"accuracy": float("nan")}}
    (found,) = read_measures(sections, {"accuracy": ACCURACY}, path="x", set_name="dev", part="validation")
    assert (found.id, found.title, found.part, found.ideal) == ("x/dev/accuracy", "accuracy: dev", "validation", 1.0)
    assert found.values == {"old": Value(0.5, (0.4, 0.6))}
    assert list(read_measures({"old": {}}, {"accuracy": ACCURACY}, path="x")) == []


@pytest.mark.parametrize("wrong", [None, True, "1", float("inf"), float("nan"), [1.0]])
def test_what_is_no_finite_number_is_none(wrong):
    assert number({"key": wrong}, "key") is None
    assert interval({"key": [0.0, wrong]}, "key") is None
    assert interval({"key": wrong}, "key") is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"arms": (Arm("old", "", "original"), Arm("old", "", "method"))}, "Two of the arms .* called 'old'"),
        ({"measures": (measure(), measure())}, "Two of the measures .* called 'accuracy'"),
        ({"measures": (measure(arms={"third": value(0.5)}),)}, "'third', and no such arm; it has .*'old', 'new'"),
        ({"gaps": (Gap("accuracy", "new", "third", 0.1, "worse", ""),)}, "'third', and no such arm"),
        ({"gaps": (Gap("auc", "new", "old", 0.1, "worse", ""),)}, "measure 'auc', which the record lacks"),
        ({"arms": (Arm("old", "", "method"), Arm("new", "", "method"))}, "one arm whose role is 'method'"),
        ({"tables": (Table("t", (("a", "b"), ("1",))),)}, "rows of a table differ"),
    ],
)  # fmt: skip
def test_a_record_that_contradicts_itself_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        record(**wrong)


def test_json_gives_the_record_back():
    measures = (measure(noise=0.1, part="validation", interval_over="seeds", detail=True),)
    whole = record(
        measures=measures,
        gaps=compare(measures, [("new", "old")], {("accuracy", "new", "old"): {"ci95": (0.3, 0.5), "p_value": None}}),
        asked={"seeds": [1, 2], "nested": {"a": None}},
        tables=(Table("t", (("a", "b"), ("1", "2")), "note"),),
        texts={"worst": ("one", "two")},
        cautions=("careful",),
        figures={"points": [[0.0, 1.0]]},
    )
    assert through_json(whole) == replace(whole, measures=through_json(whole).measures)
    assert through_json(whole).measures[0].values["new"] == Value(0.9, (0.8, 1.0))
    assert whole.to_json()["schema"] == SCHEMA


def test_what_json_has_no_word_for_becomes_none():
    found = record(
        figures={"nan": float("nan"), "array": np.array([1.0, np.inf]), "set": {"b", "a"}, 1: np.float32(0.5)},
        provenance={"n": np.int64(3), "path": SimpleNamespace},
    )
    figures = through_json(found).figures
    assert figures == {"nan": None, "array": [1.0, None], "set": ["a", "b"], "1": 0.5}
    assert type(found.to_json()["provenance"]["n"]) is int
    assert plain((1, float("-inf"), True)) == [1, None, True]


@pytest.mark.parametrize(
    ("place", "wrong", "messages"),
    [
        (("measures", 0, "values", "new", "value"), "high", ["record.measures[0].values.new.value", "'high'", "float"]),
        (("measures", 0, "values", "new", "value"), None, ["record.measures[0].values.new.value", "None", "float"]),
        (("measures", 0, "values", "new", "ci95"), [0.1], ["record.measures[0].values.new.ci95", "[0.1]"]),
        (("measures", 0, "direction"), "up", ["record.measures[0].direction", "'up'"]),
        (("measures", 0, "detail"), 1, ["record.measures[0].detail", "got 1", "bool"]),
        (("measures", 0, "color"), "red", ["record.measures[0]", "color", "expected id, set, metric"]),
        (("arms", 1, "role"), "boss", ["record.arms[1].role", "'boss'"]),
        (("arms",), {"old": 1}, ["record.arms", "tuple"]),
        (("texts",), {"worst": "one"}, ["record.texts.worst", "'one'"]),
        (("new_key",), 1, ["record: new_key missing or unknown", "expected command, name"]),
        (("name",), 3, ["record.name", "got 3", "expected str"]),
    ],
)
def test_json_that_is_no_record_says_where(place, wrong, messages):
    found = json.loads(json.dumps(record().to_json()))
    part = found
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = wrong
    with pytest.raises(ValueError) as error:  # noqa: PT011
        Record.from_json(found)
    assert all(message in str(error.value) for message in messages), str(error.value)


def test_json_that_lacks_a_key_says_which():
    found = record().to_json()
    del found["arms"][0]["role"]
    with pytest.raises(ValueError, match=r"record\.arms\[0\]: role missing or unknown"):
        Record.from_json(found)


@pytest.mark.parametrize(
    ("wrong", "got"), [({}, "None"), ({"schema": "hf-fairness/record/0"}, "record/0"), ([1], "'list'")]
)
def test_another_schema_is_refused(wrong, got):
    with pytest.raises(ValueError, match=rf"schema is .*{got}.*expected 'hf-fairness/record/1'"):
        Record.from_json(wrong)
