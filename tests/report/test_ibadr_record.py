"""IBADR reports and sweeps as records: what got worse is found by gold label, and seeds are arms by model."""

from __future__ import annotations

import copy

import pytest

from hf_fairness.report import card_section, render_html, summarize, text_report
from hf_fairness.report.ibadr_record import arm_name, ibadr_record, sweep_record
from hf_fairness.report.plots import figures
from support.record_case import through_json, verdicts


def entry(value, width=0.02):
    return {"accuracy": value, "accuracy_ci95": [value - width, value + width], "n": 100}


def result(value, **labels):
    return {**entry(value), "labels": {name: entry(each) for name, each in labels.items()}, "by": {}}


def gap(low, high):
    return {"difference": (low + high) / 2, "difference_ci95": [low, high], "p_value": 0.01}


ROUND = {
    "round": 1,
    "pool": {"counts": [1, 3], "mean": 0.7, "n": 4},
    "counts": {"drawn": 10, "accepted": 4, "low_confidence": 3, "repeated": 2, "unended": 1},
    "degrees": {side: {"counts": [2, 1], "mean": 0.3, "n": 3} for side in ("before", "after")},
    "generator": {"loss": 2.0},
    "judge": {"below_expected": True, "expected_agreement": 0.9},
    "agreement": {"before": {"agreement": 0.4, "agreement_ci95": [0.3, 0.5], "chance": 0.33}},
    "examples": [],
}


@pytest.fixture
def report():
    """No clear change on the validation rows as a whole, for one gold label lost what the other won."""
    return {
        "arguments": {"model_name_or_path": "org/model", "seed": 0},
        "data": {"train": {"n": 1000}, "columns": ["premise", "hypothesis"], "label_names": ["yes", "no"]},
        "rounds": [copy.deepcopy(ROUND)],
        "pool": {"n": 1500, "n_original": 1000, "n_added": 500},
        "arms": {name: {"n_rows": 1000, "steps": 50} for name in ("base", "ibadr", "ibadr_200", "control")},
        "results": {
            "validation": {
                "base": result(0.9, yes=0.9, no=0.9),
                "ibadr": result(0.89, yes=0.99, no=0.8),
                "ibadr_200": result(0.9, yes=0.9, no=0.9),
                "control": result(0.9, yes=0.9, no=0.9),
            },
            "hans": {name: result(value) for name, value in (("base", 0.5), ("ibadr", 0.65), ("control", 0.5))},
        },
        "comparisons": {
            "validation": {"ibadr - base": gap(-0.03, 0.01), "ibadr - control": gap(-0.05, -0.01)},
            "hans": {"ibadr - base": gap(0.1, 0.2)},
        },
        "partial_input": {"original": {"accuracy": 0.8, "accuracy_ci95": [0.7, 0.9], "gain": 0.3}},
        "leakage": {"by_set": {"hans": {"leak_share": 0.25, "leak_share_ci95": [0.2, 0.3]}}},
        "meta": {"convention": "as said here", "seed": 0, "versions": {}},
    }


def test_arms_and_measures(report):
    record = through_json(ibadr_record(report))
    assert [(arm.name, arm.role) for arm in record.arms] == [
        ("base", "original"), ("ibadr", "method"), ("ibadr_200", "variant"), ("control", "control")
    ]  # fmt: skip
    assert record.arms[2].title == "IBADR, 200 added rows"
    assert record.arms[0].training == {"n_rows": 1000, "steps": 50}
    kinds = {measure.id: (measure.kind, measure.part, measure.detail) for measure in record.measures}
    assert kinds == {
        "validation/accuracy": ("utility", "validation", False),
        "challenge/hans/accuracy": ("bias", "test", False),
        "validation/label/yes/accuracy": ("utility", "validation", True),
        "validation/label/no/accuracy": ("utility", "validation", True),
    }
    assert record.outcome == "500 rows were added to 1,000 in 1 round."
    assert any("Test rows: none were given" in line for line in record.not_measured)


def test_a_gold_label_that_lost_is_found(report):
    found = verdicts(ibadr_record(report))
    assert found["validation/accuracy", "ibadr", "base"] == "unclear"
    assert found["validation/accuracy", "ibadr", "control"] == "worse"
    assert found["challenge/hans/accuracy", "ibadr", "base"] == "improved"
    assert found["challenge/hans/accuracy", "ibadr", "control"] == "improved"  # not paired here: the intervals decide
    assert found["validation/label/no/accuracy", "ibadr", "base"] == "worse"
    assert found["validation/label/yes/accuracy", "ibadr", "base"] == "improved"
    assert not any("ibadr_200" in key for key in found)


def test_what_got_worse_is_said_first(report):
    """The gold label that lost, and the validation rows against the control; what is unclear is no finding."""
    record = ibadr_record(report)
    summary = summarize(record)
    assert summary.worse == (
        "Accuracy: validation rows, gold label no: 0.900 [0.880, 0.920] → 0.800 [0.780, 0.820], change −0.100 "
        "(−11\N{NO-BREAK SPACE}%); ideal 1.",
    )
    assert [line.split(": ")[1] for line in summary.improved] == [
        "challenge set hans", "validation rows, gold label yes"
    ]  # fmt: skip
    assert "[0.100, 0.200], p = 0.01" in summary.improved[0]
    assert [line.split(": ")[1] for line in summary.unclear] == ["validation rows"]
    (beside,) = summary.others
    assert beside.startswith("Against control: clearly better on ")
    assert "clearly worse on accuracy: validation rows · accuracy: validation rows, gold label no." in beside
    assert summary.headline.startswith("500 rows were added to 1,000 in 1 round. Changed most: accuracy: challenge")
    for shown in (card_section(record), render_html(record)):
        places = [shown.index(title) for title in ("Got worse", "Improved", "Read with care", "Models")]
        assert places == sorted(places)


def test_every_model_has_its_title_rows_and_steps(report):
    assert arm_name("ibadr_10000") == "IBADR, 10,000 added rows"
    section = card_section(ibadr_record(report))
    assert "| Measure | base | IBADR | IBADR, 200 added rows | control |" in section
    for row in ("| n rows | 1,000 | 1,000 | 1,000 | 1,000 |", "| steps | 50 | 50 | 50 | 50 |"):
        assert row in section
    accuracy = "0.900 [0.880, 0.920] | 0.890 [0.870, 0.910] | 0.900 [0.880, 0.920] | 0.900 [0.880, 0.920] |"
    assert f"| accuracy: validation rows | {accuracy}" in section


def test_the_difference_to_the_control_stands_in_the_table_with_its_interval(report):
    section = card_section(ibadr_record(report))
    rows = {line.split(" 100 rows")[0]: line for line in section.splitlines() if line.startswith("| accuracy:")}
    assert rows["| accuracy: validation rows"].endswith("| worse −0.010 [−0.050, −0.010], p = 0.01 |")
    assert rows["| accuracy: challenge set hans"].endswith("| better |")  # not compared in pairs


def test_poor_labels_and_leaks_are_told(report):
    record = ibadr_record(report)
    assert record.cautions == (
        "Labels of the samples of round 1: 0.400 [0.300, 0.500] agree with the judge; validation rows as biased would "
        "in 0.900, by chance 0.330",
    )
    rounds, guards = record.tables
    assert ("drawn", "10") in rounds.rows
    assert guards.rows[-1] == ("added rows that share text with hans (0)", "0.250 [0.200, 0.300]")
    assert record.texts == {}
    assert f"Caution. {record.cautions[0]}" in text_report(record, width=500)
    assert "| 0.250 [0.200, 0.300] |" in card_section(record)


def test_added_rows_are_shown_where_the_report_has_them(report):
    report["rounds"][0]["examples"] = [{"premise": "a", "hypothesis": "b", "label": "yes"}]
    (rows,) = ibadr_record(report).texts.values()
    assert rows == ("premise: a; hypothesis: b; label: yes",)


def test_names_and_rows_of_the_data_are_no_markup_and_in_no_card(report):
    report["results"]["<b>|set"] = {arm: result(0.5, **{"<i>|yes": 0.5}) for arm in ("base", "ibadr")}
    report["rounds"][0]["examples"] = [{"premise": "<script>| secret", "label": "<i>"}]
    record = ibadr_record(report, name="ours | <b>")
    page, card, written = render_html(record), card_section(record), card_section(record, texts=True)
    for shown in (page, card, written):
        assert not any(mark in shown for mark in ("<b>", "<i>", "<script>"))
        assert shown.count("&lt;b&gt;|set" if shown == page else "&lt;b&gt;\\|set") >= 2
    assert "&lt;script&gt;| secret" in page
    assert "&lt;script&gt;\\| secret" in written
    assert "secret" not in card + text_report(record)


def test_pictures_are_drawn_from_the_record(report):
    record = through_json(ibadr_record(report))
    degrees, fates = (figures(record)[name] for name in ("bias_degrees", "samples"))
    assert "round 1: mean 0.700 in the pool, 0.300 before, 0.300 after" in degrees.description
    assert "round 1: added 40%, below the threshold 30%, not new 20%, not readable 10%" in fates.description
    assert figures(ibadr_record({**report, "rounds": []})) == {}


def cell(name, value, accuracy):
    return {
        "name": name,
        "value": value,
        "rows": {"train": 100, "added": 10},
        "results": {"validation": {"base": entry(0.5), "ibadr": entry(accuracy)}},
    }


def test_a_sweep_over_seeds_has_models_as_arms():
    found = {"cells": [cell("seed", 0, 0.7), cell("seed", 1, 0.8)]}
    found["over_seeds"] = {
        "validation": {
            "arms": {"base": {"mean": 0.5, "ci95": [0.4, 0.6]}, "ibadr": {"mean": 0.75, "ci95": [0.5, 1.0]}},
            "differences": {"ibadr - base": {"difference": 0.25, "ci95": [0.1, 0.4], "p_value": 0.5}},
        }
    }
    record = through_json(sweep_record(found))
    (measure,) = record.measures
    assert (measure.interval_over, measure.values["ibadr"].value) == ("seeds", 0.75)
    assert [arm.role for arm in record.arms] == ["original", "method"]
    assert verdicts(record) == {("validation/accuracy", "ibadr", "base"): "improved"}  # by the paired interval
    assert record.tables[0].rows[1][:2] == ("seed", "0")


def test_a_sweep_over_a_setting_is_a_table():
    record = through_json(
        sweep_record({"cells": [cell("n_bias_indicators", 2, 0.7), cell("n_bias_indicators", 4, 0.8)]})
    )
    assert (record.arms, record.measures) == ((), ())
    assert record.outcome == "Varied, one thing at a time: n_bias_indicators; runs: 2."
    assert [row[1] for row in record.tables[0].rows] == ["value", "2", "4"]
