"""A GFST report as a record: numbers, verdicts and cautions as its tables have them."""

from __future__ import annotations

from typing import Any

import pytest
from record_case import through_json, verdicts

from hf_fairness.report.figures import FIGURES
from hf_fairness.report.gfst_record import gfst_record

GROUPS = ["male", "female"]


def scores(accuracy: float, delta_r: float) -> dict[str, Any]:
    found: dict[str, Any] = {"n": 100, "aligner": "fast_align", "tagger": "a lexicon", "rules": "agreement"}
    for name, value in {"accuracy": accuracy, "delta_r": delta_r, "f1_female": accuracy}.items():
        found |= {name: value, f"{name}_ci95": [value - 0.04, value + 0.04]}
    return found


def gap(a: float, b: float, half: float = 0.05) -> dict[str, Any]:
    ends = [a - b - half, a - b + half]
    return {"a": a, "b": b, "difference": a - b, "difference_ci95": ends, "p_value": 0.01, "p_value_holm": 0.02}


@pytest.fixture
def report() -> dict[str, Any]:
    """GFST better than the baseline; its ΔR lies past 0."""
    arm = {"steps": 10, "n_pairs": 20, "history": {"loss": [1.0]}}
    sides = {"baseline": (0.5, 0.4), "gfst": (0.8, -0.1), "control": (0.78, 0.12), "female": (0.6, -0.4)}
    parts = {
        "female": {"n": 2, "kept": 1, "kept_share": 0.5, "reasons": {}},
        "male": {"n": 2, "kept": 2, "reasons": {}},
    }
    return {
        "arguments": {"source_lang": "en", "lang": "it", "model": "org/model", "attribute": "gender"},
        "method": "retrain",
        "training": {"seed": 0},
        "groups": GROUPS,
        "data": {
            "filter_target": {"n": 4, "kept": 3, "kept_share": 0.75, "reasons": {"empty": 1}, "by_gender": parts},
            "balance": {"n": 2, "per_group": 1, "before": {"male": 2, "female": 1}},
        },
        "arms": {"gfst": arm, "control": {**arm, "n_pairs": 0}, "female": arm},
        "winomt": {model: scores(*numbers) for model, numbers in sides.items()},
        "comparisons": {
            "winomt": {
                model: {"accuracy": gap(0.8, accuracy), "delta_r": gap(-0.1, delta_r)}
                for model, (accuracy, delta_r) in sides.items()
                if model != "gfst"
            }
        },
        "explained": {"accuracy": {"gain": 0.3, "control_gain": 0.28, "control_share": 0.28 / 0.3}},
        "meta": {"n": 100, "convention": "as said here", "seed": 3, "versions": {"numpy": "2"}},
    }  # fmt: skip


def test_arms_have_their_roles_and_trainings(report):
    record = through_json(gfst_record(report))
    assert [(arm.name, arm.role) for arm in record.arms] == [
        ("baseline", "original"), ("gfst", "method"), ("control", "control"), ("female", "variant")
    ]  # fmt: skip
    assert record.arms[0].training == {}
    assert record.arms[1].training == {"steps": 10, "n_pairs": 20}
    assert record.name == "org/model"
    assert gfst_record(report, name="ours").name == "ours"


def test_numbers_keep_their_intervals_and_p_values(report):
    record = gfst_record(report)
    measures = {measure.id: measure for measure in record.measures}
    assert list(measures) == ["winomt/accuracy", "winomt/delta_r", "winomt/f1_female"]
    assert measures["winomt/accuracy"].values["gfst"].ci95 == pytest.approx((0.76, 0.84))
    assert measures["winomt/accuracy"].sample == "100 rows"
    assert (measures["winomt/f1_female"].detail, measures["winomt/delta_r"].detail) == (True, False)
    assert "female" in measures["winomt/f1_female"].title
    first = record.gap(measures["winomt/accuracy"], record.arm("method"), record.arm("original"))
    assert (first.difference, first.p_value, first.p_adjusted) == (pytest.approx(0.3), 0.02, "Holm")


def test_a_gap_that_changes_its_sign_is_judged_by_its_distance(report):
    """Its paired difference excludes 0 although the model is as far from 0 as before, on the other side."""
    record = gfst_record(report)
    found = verdicts(record)
    assert found["winomt/delta_r", "gfst", "baseline"] == "improved"  # 0.4 -> -0.1: intervals of |ΔR| lie apart
    assert found["winomt/delta_r", "gfst", "control"] == "unclear"  # 0.12 -> -0.1: before, this was an improvement
    assert found["winomt/delta_r", "gfst", "female"] == "improved"  # -0.4 -> -0.1: one side, the paired interval
    assert found["winomt/accuracy", "gfst", "control"] == "unclear"
    assert found["winomt/f1_female", "gfst", "baseline"] == "improved"  # not compared in pairs


def test_what_is_read_beside_the_numbers(report):
    record = gfst_record(report)
    assert "The control explains 93% of the gain in accuracy" in record.cautions[0]
    assert record.tables[0].rows[0][0] == "stage"
    assert record.figures["kept"]["passed the filters"] == {"male": 2.0, "female": 1.0}
    assert record.provenance["WinoMT"].startswith("100 rows, aligner fast_align")
    assert [line.split(" ")[0] for line in record.not_measured] == ["MuST-SHE", "Translation"]
    assert record.outcome == ""


def test_without_winomt_nothing_is_known(report):
    report |= {"winomt": {}, "comparisons": {}, "explained": {}}
    record = through_json(gfst_record(report))
    assert "nothing is known" in record.outcome
    assert (record.measures, record.gaps) == ((), ())


def test_the_picture_is_drawn_from_the_record(report):
    record = through_json(gfst_record(report))
    plot = FIGURES["gfst"]["kept"](record)
    assert "translated: male 2, female 2; passed the filters: male 2, female 1; balanced: male 1" in plot.description
    del report["data"]["balance"]
    assert FIGURES["gfst"]["kept"](gfst_record(report)) is None
