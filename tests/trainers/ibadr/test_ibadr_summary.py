"""What only a report of IBADR says, and its sets as measures: what got worse is found by gold label."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from hf_fairness.record import Record, compare
from hf_fairness.report import card_section, render_html, summarize, text_report
from hf_fairness.report.plots import figures
from hf_fairness.scores.challenge import CHALLENGE_MEASURES, MEASURES
from hf_fairness.trainers.ibadr.arguments import CHOICES, IN_ROUNDS, TABLES
from hf_fairness.trainers.ibadr.arms import RECIPES, ROUNDS, smaller
from hf_fairness.trainers.ibadr.config import IBADRConfig
from hf_fairness.trainers.ibadr.sets import LabelledSet
from hf_fairness.trainers.ibadr.summary import LIMITS, pictures, tell
from support.record_case import through_json, verdicts


def entry(value, width=0.02):
    return {"accuracy": value, "accuracy_ci95": [value - width, value + width], "n": 100}


def result(value, **labels):
    return {**entry(value), "labels": {name: entry(each) for name, each in labels.items()}, "by": {}}


def gap(low, high):
    return {"ci95": (low, high), "p_value": 0.01}


ROUND = {
    "round": 1,
    "pool": {"counts": [1, 3], "mean": 0.7, "n": 4},
    "counts": {"drawn": 10, "accepted": 4, "low_confidence": 3, "repeated": 2, "unended": 1},
    "degrees": {side: {"counts": [2, 1], "mean": 0.3, "n": 3} for side in ("before", "after")},
    "generator": {"loss": 2.0},
    "judge": {"below_expected": True, "expected_agreement": 0.9},
    "caution": "Round 1: the labels of 10 samples agree with the judge's in 40%, where chance gives 33%",
    "agreement": {"before": {"agreement": 0.4, "agreement_ci95": [0.3, 0.5], "chance": 0.33}},
    "examples": [],
}


@pytest.fixture
def extras():
    return {
        "data": {"train": {"n": 1000}, "columns": ["premise", "hypothesis"], "label_names": ["yes", "no"]},
        "rounds": [copy.deepcopy(ROUND)],
        "pool": {"n": 1500, "n_original": 1000, "n_added": 500},
        "partial_input": {"original": {"accuracy": 0.8, "accuracy_ci95": [0.7, 0.9], "gain": 0.3}},
        "added": {},
        "ablations": {},
        "leakage": {"by_set": {"hans": {"leak_share": 0.25, "leak_share_ci95": [0.2, 0.3]}}},
    }


#: No clear change on the validation rows as a whole, for one gold label lost what the other won.
RESULTS = {
    "validation": {
        "base": result(0.9, yes=0.9, no=0.9),
        "ibadr": result(0.89, yes=0.99, no=0.8),
        "ibadr_200": result(0.9, yes=0.9, no=0.9),
        "control": result(0.9, yes=0.9, no=0.9),
    },
    "hans": {name: result(value) for name, value in (("base", 0.5), ("ibadr", 0.65), ("control", 0.5))},
}
PAIRED = {
    ("validation/accuracy", "ibadr", "base"): gap(-0.03, 0.01),
    ("validation/accuracy", "ibadr", "control"): gap(-0.05, -0.01),
    ("challenge/hans/accuracy", "ibadr", "base"): gap(0.1, 0.2),
}


def make(extras, results=RESULTS, name="model"):
    """The record as the spine puts it together."""
    measures = []
    for title, found in results.items():
        own = title == "validation"
        about = {"declared": MEASURES} if own else {"declared": CHALLENGE_MEASURES, "path": "challenge"}
        words = "validation rows" if own else f"challenge set {title}"
        part = "validation" if own else "test"
        measures += LabelledSet(title, title=words, part=part, **about).measures(found)
    arms = [each.plan for each in (RECIPES["base"], RECIPES["ibadr"], smaller(200), RECIPES["control"])]
    pairs = [(plan.arm.name, other) for plan in arms for other in plan.against]
    return Record(
        "ibadr",
        name,
        "a method",
        tuple(plan.arm for plan in arms),
        tuple(measures),
        gaps=compare(measures, pairs, PAIRED),
        limits=LIMITS,
        **tell(extras, results),
    )


@pytest.fixture
def record(extras):
    return through_json(make(extras))


def test_arms():
    found = {recipe.plan.arm.name: recipe.plan for recipe in (*RECIPES.values(), smaller(10_000))}
    roles = {name: plan.arm.role for name, plan in found.items()}
    assert {name: roles[name] for name in ("base", "ibadr", "control", "poe", "ibadr_poe", "ibadr_10000")} == {
        "base": "original", "ibadr": "method", "control": "control", "poe": "rival", "ibadr_poe": "variant",
        "ibadr_10000": "variant",
    }  # fmt: skip
    assert found["ibadr_10000"].arm.title == "IBADR, 10,000 added rows"
    assert found["control"].needs == ("ibadr",)
    against = {name: plan.against for name, plan in found.items() if plan.against}
    assert [against[name] for name in ("ibadr", "poe", "ibadr_poe")] == [("base", "control"), ("base",), ("ibadr",)]
    assert {against[name] for name in CHOICES if name not in ("poe", "ibadr_poe")} == {("base", "ibadr")}


def test_every_name_of_the_option_is_a_recipe_and_the_other_way_round():
    assert set(CHOICES) | {"base", "ibadr", "control"} == set(RECIPES)
    assert {name for name, recipe in RECIPES.items() if recipe.rows in ROUNDS} - {"ibadr"} == set(IN_ROUNDS)
    for table in ("table 5", "the filter"):
        for name in TABLES[table]:
            config = IBADRConfig(output_dir="unused", use_cpu=True)
            assert all(getattr(config, key) != value for key, value in ROUNDS[name].items())


def test_measures(record):
    kinds = {measure.id: (measure.kind, measure.part, measure.detail) for measure in record.measures}
    assert kinds == {
        "validation/accuracy": ("utility", "validation", False),
        "challenge/hans/accuracy": ("bias", "test", False),
        "validation/label/yes/accuracy": ("utility", "validation", True),
        "validation/label/no/accuracy": ("utility", "validation", True),
    }
    assert record.outcome == "500 rows were added to 1,000 in 1 round."
    assert any("Test rows: none were given" in line for line in record.not_measured)


def test_a_gold_label_that_lost_is_found(record):
    found = verdicts(record)
    assert found["validation/accuracy", "ibadr", "base"] == "unclear"
    assert found["validation/accuracy", "ibadr", "control"] == "worse"
    assert found["challenge/hans/accuracy", "ibadr", "base"] == "improved"
    assert found["challenge/hans/accuracy", "ibadr", "control"] == "improved"  # not paired here: the intervals decide
    assert found["validation/label/no/accuracy", "ibadr", "base"] == "worse"
    assert found["validation/label/yes/accuracy", "ibadr", "base"] == "improved"
    assert not any("ibadr_200" in key for key in found)


def test_what_got_worse_is_said_first(record):
    """The gold label that lost, and the validation rows against the control; what is unclear is no finding."""
    summary = summarize(record)
    assert summary.worse == (
        "Accuracy: validation rows, gold label no: 0.900 [0.880, 0.920] → 0.800 [0.780, 0.820], change −0.100 "
        "(−11\N{NO-BREAK SPACE}%); ideal 1.",
    )
    assert {line.split(": ")[1] for line in summary.improved} == {
        "challenge set hans", "validation rows, gold label yes"
    }  # fmt: skip
    assert any("[0.100, 0.200], p = 0.01" in line for line in summary.improved)
    assert [line.split(": ")[1] for line in summary.unclear] == ["validation rows"]
    (beside,) = summary.others
    assert beside.startswith("Against control: clearly better on ")
    assert "clearly worse on accuracy: validation rows · accuracy: validation rows, gold label no" in beside
    assert summary.headline.startswith("500 rows were added to 1,000 in 1 round. Changed most: accuracy: challenge")
    for shown in (card_section(record), render_html(record)):
        places = [shown.index(title) for title in ("Got worse", "Improved", "Read with care", "Models")]
        assert places == sorted(places)


def test_every_model_has_its_title(record):
    section = card_section(record)
    assert "| Measure | base | IBADR | IBADR, 200 added rows | control |" in section
    accuracy = "0.900 [0.880, 0.920] | 0.890 [0.870, 0.910] | 0.900 [0.880, 0.920] | 0.900 [0.880, 0.920] |"
    assert f"| accuracy: validation rows | {accuracy}" in section.replace(
        " 100 rows validation data, which chose the model", ""
    )


def test_the_difference_to_the_control_stands_in_the_table_with_its_interval(record):
    section = card_section(record)
    rows = {line.split(" 100 rows")[0]: line for line in section.splitlines() if line.startswith("| accuracy:")}
    assert rows["| accuracy: validation rows"].endswith("| worse −0.010 [−0.050, −0.010], p = 0.01 |")
    assert rows["| accuracy: challenge set hans"].endswith("| better |")  # not compared in pairs


def test_poor_labels_and_leaks_are_told(record):
    assert record.cautions == (ROUND["caution"],)
    rounds, guards = record.tables
    assert ("drawn", "10") in rounds.rows
    assert ("new ones: agreement with the judge", "0.400 [0.300, 0.500]") in rounds.rows
    assert not any("anti-artefact" in row[0] for row in rounds.rows)
    assert guards.rows[-1] == ("added rows that share text with hans (0)", "0.250 [0.200, 0.300]")
    assert record.texts == {}
    assert f"Caution. {record.cautions[0]}" in text_report(record, width=500)
    assert "| 0.250 [0.200, 0.300] |" in card_section(record)


def test_nothing_probed_and_no_sets(extras):
    told = tell({**extras, "partial_input": {}, "leakage": {}}, {"validation": {}})
    assert [table.title for table in told["tables"]] == ["Samples, round by round"]
    assert [line.split(":")[0] for line in told["not_measured"]] == [
        "Test rows", "Challenge sets", "What one text of a pair gives away (partial input)"
    ]  # fmt: skip


def test_names_of_the_data_are_no_markup(extras):
    results = {**RESULTS, "<b>|set": {arm: result(0.5, **{"<i>|yes": 0.5}) for arm in ("base", "ibadr")}}
    record = make(extras, results, name="ours | <b>")
    page, card, written = render_html(record), card_section(record), card_section(record, texts=True)
    for shown in (page, card, written):
        assert not any(mark in shown for mark in ("<b>", "<i>"))
        assert shown.count("&lt;b&gt;|set" if shown == page else "&lt;b&gt;\\|set") >= 2


def test_pictures(extras):
    found = pictures(extras["rounds"])
    assert list(figures(replace(make(extras), figures=found))) == ["bias_degrees", "samples"]
    degrees, fates = found["bias_degrees"], found["samples"]
    assert "round 1: mean 0.700 in the pool, 0.300 before, 0.300 after" in degrees["description"]
    assert degrees["rows"] == {"round 1": {"before the filter": [2, 1], "after it": [2, 1], "pool": [1, 3]}}
    assert degrees["edges"] == [0.0, 0.5, 1.0]
    assert fates["rows"]["round 1"] == {
        "added": 0.4, "below the threshold": 0.3, "not new": 0.2, "not readable": 0.1
    }  # fmt: skip
