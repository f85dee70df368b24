"""Sentences and tables of the report, from numbers made up for the purpose."""

from __future__ import annotations

import pytest

from hf_fairness.report.ibadr import comparison_table, findings, headline, results_table
from hf_fairness.report.ibadr_plots import accuracy_plot
from hf_fairness.report.ibadr_record import arm_name, guard_table


def gap(low, high):
    return {"difference": (low + high) / 2, "difference_ci95": [low, high], "p_value": 0.01}


def result(value, *, width=0.02, labels=()):
    entry = {"accuracy": value, "accuracy_ci95": [value - width, value + width], "n": 100}
    return {
        **entry,
        "labels": {name: {**entry, "accuracy": v, "accuracy_ci95": [v - width, v + width]} for name, v in labels},
    }


@pytest.fixture
def report():
    arms = {name: {"n_rows": 1000, "steps": 50} for name in ("base", "control", "ibadr", "ibadr_10000")}
    return {
        "arms": arms,
        "rounds": [{}, {}],
        "pool": {"n": 1500, "n_original": 1000, "n_added": 500},
        "results": {
            "dev": {
                "base": result(0.9, labels=[("yes", 0.9), ("no", 0.9)]),
                "control": result(0.9),
                "ibadr": result(0.89, labels=[("yes", 0.99), ("no", 0.8)]),
                "ibadr_10000": result(0.9),
            }
        },
        "comparisons": {
            "dev": {"ibadr - base": gap(-0.03, 0.01), "ibadr - control": gap(-0.05, -0.01)},
            "hans": {"ibadr - base": gap(0.1, 0.2)},
        },
        "partial_input": {"original": {"accuracy": 0.8, "accuracy_ci95": [0.7, 0.9], "gain": 0.3}},
        "leakage": {"by_set": {"hans": {"leak_share": 0.25, "leak_share_ci95": [0.2, 0.3]}}},
    }


def test_what_got_worse_is_said(report):
    found = findings(report)
    assert [len(found[kind]) for kind in ("worse", "improved", "unclear")] == [2, 1, 1]
    assert found["worse"][0].startswith("dev: IBADR against control: -0.030")
    assert found["worse"][1].startswith("dev, gold label no: IBADR 0.800")
    assert found["improved"][0].startswith("hans: IBADR against base: +0.150")


def test_tables_and_headline(report):
    assert headline(report).startswith("500 rows were added to 1,000 in 2 rounds. Accuracy on dev: base 0.900")
    table = results_table(report)
    assert table[0] == ["model", "rows", "steps", "dev"]
    assert table[3] == ["IBADR", "1,000", "50", "0.890 [0.870, 0.910]"]
    assert table[4][0] == arm_name("ibadr_10000") == "IBADR, 10,000 added rows"
    assert comparison_table(report)[2][:2] == ["dev", "IBADR − control"]
    assert guard_table(report)[-1] == ["added rows that share text with hans (0)", "0.250 [0.200, 0.300]"]


def test_pictures_say_in_words_what_they_show(report):
    plot = accuracy_plot(report)
    assert "base 0.900" in plot.description
    assert plot.svg.startswith("<svg")
    assert 'id="ibadr-accuracy' in plot.svg
