"""What a report of GFST says: numbers, verdicts, cautions; when the control explains a gain, and what got worse."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from datasets import Dataset

from hf_fairness.record import Record
from hf_fairness.report import card_metadata, card_section, render_html, summarize, text_report, write_report
from hf_fairness.report.plots import figures
from hf_fairness.trainers import GFSTArguments, GFSTConfig
from hf_fairness.trainers.experiment import Fitted, Found, _record
from hf_fairness.trainers.gfst.method import GFSTMethod
from hf_fairness.trainers.gfst.summary import cautions, explained, kept_table
from support.record_case import through_json, verdicts

#: What a run can be given.
GIVEN = (
    "train",
    "validation",
    "monolingual",
    "must_she_rows",
    "tagger",
    "winomt_tagger",
    "model",
    "reverse",
)


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
        "data": {
            "filter_target": {"n": 4, "kept": 3, "kept_share": 0.75, "reasons": {"empty": 1}, "by_gender": parts},
            "balance": {"n": 2, "per_group": 1, "before": {"male": 2, "female": 1}},
        },
        "arms": {"baseline": {}, "gfst": arm, "control": {**arm, "n_pairs": 0}, "female": arm},
        "results": {"winomt": {model: scores(*numbers) for model, numbers in sides.items()}},
        "comparisons": {
            "winomt": {
                f"gfst - {model}": {"accuracy": gap(0.8, accuracy), "delta_r": gap(-0.1, delta_r)}
                for model, (accuracy, delta_r) in sides.items()
                if model != "gfst"
            }
        },
    }


def gfst_record(report: dict[str, Any], *, name: str | None = None) -> Record:
    """The record of a run that found this."""
    results = report["results"]
    given = {
        **dict.fromkeys(GIVEN),
        "winomt_rows": [{"sentence": "She left.", "gender": "female"}] if "winomt" in results else None,
        "test": Dataset.from_dict({"source": ["a"], "target": ["b"]}) if "test" in results else None,
    }
    asked = [arm for arm in report["arms"] if arm not in ("baseline", "gfst", "control")]
    arguments = GFSTArguments(model_name_or_path="org/model", target_lang="it", arms=asked, name=name)
    method = GFSTMethod(None, arguments, GFSTConfig(output_dir="out", use_cpu=True), given, {}, 0)
    method.counts = report["data"]
    found = Found(
        {plan.arm.name: plan for plan in method.arms()},
        {arm: Fitted(arm, "", None, training) for arm, training in report["arms"].items()},
        results,
        report["comparisons"],
    )
    return _record(method, found)


def test_arms_have_their_roles_and_trainings(report):
    record = through_json(gfst_record(report))
    assert [(arm.name, arm.role) for arm in record.arms] == [
        ("baseline", "original"), ("gfst", "method"), ("control", "control"), ("female", "variant")
    ]  # fmt: skip
    assert record.arms[0].training == {}
    assert record.arms[1].training == {"steps": 10, "n_pairs": 20}
    assert record.name == "model-gfst"
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
    assert record.asked["training"]["seed"] == 0
    assert record.tables[0].rows[0][0] == "stage"
    assert record.figures["kept"]["rows"]["passed the filters"] == {"male": 2.0, "female": 1.0}
    assert record.provenance["WinoMT"].startswith("100 rows, aligner fast_align")
    assert [line.split(" ")[0] for line in record.not_measured] == ["MuST-SHE", "Translation"]
    assert record.outcome == ""


def test_without_winomt_nothing_is_known(report):
    report |= {"results": {}, "comparisons": {}}
    record = through_json(gfst_record(report))
    assert "nothing is known" in record.outcome
    assert (record.measures, record.gaps) == ((), ())


def test_the_picture_is_drawn_from_the_record(report):
    record = through_json(gfst_record(report))
    plot = figures(record)["kept"]
    assert "translated: male 2, female 2; passed the filters: male 2, female 1; balanced: male 1" in plot.description


@pytest.fixture
def lost(report) -> dict[str, Any]:
    """GFST is worse in BLEU, and its ΔR is further from 0 than that of random pairs."""
    report = copy.deepcopy(report)
    report["arms"]["randst"] = report["arms"]["female"]
    report["results"]["winomt"]["randst"] = scores(0.79, 0.01)
    report["comparisons"]["winomt"]["gfst - randst"] = {"accuracy": gap(0.8, 0.79), "delta_r": gap(-0.1, 0.01)}
    report["data"]["randst"] = {"n": 1, "wanted": 2}
    bleu = {"n": 50, "signatures": {"bleu": "tok:13a"}}
    report["results"]["test"] = {
        model: {**bleu, "bleu": value, "bleu_ci95": [value - 0.1, value + 0.1]}
        for model, value in (("baseline", 0.3), ("gfst", 0.2))
    }
    unadjusted = {key: value for key, value in gap(0.2, 0.3).items() if not key.startswith("p_")}
    report["comparisons"]["test"] = {"gfst - baseline": {"bleu": unadjusted}}
    return report


def test_what_got_worse_is_said(lost):
    record = gfst_record(lost)
    found = verdicts(record)
    assert found["winomt/delta_r", "gfst", "randst"] == "worse"  # past 0, and further
    assert found["winomt/accuracy", "gfst", "randst"] == "unclear"
    assert found["test/bleu", "gfst", "baseline"] == "worse"
    summary = summarize(record)
    (line,) = summary.worse
    assert "(BLEU): 0.300 [0.200, 0.400] → 0.200 [0.100, 0.300]" in line
    assert "p = " not in line
    assert "p = 0.02 (Holm)" in summary.improved[0]
    assert "0.300 → 0.200" in summary.headline
    beside = next(line for line in summary.others if line.startswith("Against RandST:"))
    assert beside == "Against RandST: clearly worse on ΔR; no clear difference on 1 more."


def test_a_comparison_without_an_interval_is_undecided(lost, tmp_path):
    """Two models that never differ have none: neither is better, and nothing is left out."""
    for part in lost["comparisons"].values():
        for gaps in part.values():
            for value in gaps.values():
                value["difference_ci95"] = None
    for part in ("winomt", "test"):
        for model in lost["results"][part].values():
            model |= {key: None for key in model if key.endswith("_ci95")}
    record = gfst_record(lost)
    assert {gap.verdict for gap in record.gaps} == {"no interval"}
    summary = summarize(record)
    assert (summary.worse, summary.improved, summary.unclear) == ((), (), ())
    assert len(summary.undecided) == len([each for each in record.measures if not each.detail]) == 3
    shown = card_section(record)
    assert "None" not in shown + text_report(record)
    assert "| 0.800 |" in shown
    files = write_report(record, tmp_path)
    assert "None" not in files["html"].read_text()


def test_the_control_is_said_to_explain_the_gain(lost):
    lost["results"]["winomt"]["gfst"]["delta_r"] = -0.5
    record = gfst_record(lost)
    assert [line[:40] for line in record.cautions] == [
        "The control explains 93% of the gain in ",
        "GFST comes no nearer to the ideal ΔR tha",
        "GFST's accuracy is not clearly above tha",
        "RandST has 1 pairs, 2 were wanted: its s",
    ]
    page, shown, printed = render_html(record), card_section(record), text_report(record, width=500)
    for line in record.cautions:
        assert line in printed
        assert line.split("'")[-1] in page.replace("&#39;", "'")
        assert line.split("'")[-1] in shown
    lost["results"]["winomt"] |= {"gfst": scores(0.8, -0.1), "control": scores(0.6, 0.35)}
    lost["comparisons"]["winomt"]["gfst - randst"]["accuracy"] = gap(0.8, 0.6)
    lost["data"]["randst"]["n"] = 2
    assert gfst_record(lost).cautions == ()


def test_without_a_control_no_share_is_said(report):
    del report["results"]["winomt"]["control"]
    found = explained(report["results"]["winomt"])
    assert found["accuracy"] == {"gain": pytest.approx(0.3), "control_gain": None, "control_share": None}
    assert list(cautions({**report, "explained": found})) == []
    assert explained({"baseline": scores(0.5, 0.4)}) == {}


def test_every_reason_of_the_filters_has_its_row(lost):
    rows = kept_table(lost["data"]).rows
    assert ("filter target", "all", "4", "3", "75.0%", "empty 1") in rows
    assert ("filter target", "female", "2", "1", "50.0%", "nothing dropped") in rows
    assert ("balance", "all", "2", "2", "", "balanced, 1 of each group") in rows
    assert rows[-1] == ("randst", "all", "1", "1", "", "")
    assert gfst_record(lost).tables[0].rows == rows


def test_the_card_puts_the_worse_first_and_escapes(lost, tmp_path):
    lost["data"]["filter_target"]["reasons"] = {"a|b": 1}
    record = gfst_record(lost, name="my <b>model</b>")
    shown = card_section(record)
    heads = ["**Got worse**", "**Improved**", "**Beside the others**", "**Read with care**", "### Models"]
    places = [shown.index(head) for head in heads]
    assert places == sorted(places)
    assert "<b>" not in shown
    assert "a\\|b 1" in shown
    assert "tok:13a" in shown
    files = write_report(record, tmp_path, result=lost)
    assert set(files) == {"json", "markdown", "html", "results", "kept"}
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in files.values()}
    page = files["html"].read_text()
    assert "The control explains" in page
    assert "<b>" not in page
    assert "<script" not in page


def test_the_front_matter_has_the_numbers_of_gfst_beside_those_of_the_control(lost):
    (entry,) = card_metadata(gfst_record(lost), "m")["model-index"]
    found = {metric["type"]: metric for each in entry["results"] for metric in each["metrics"]}
    assert set(found) == {"accuracy", "delta_r", "f1_female", "bleu"}
    assert found["delta_r"]["value"] == -0.1
    assert found["delta_r"]["args"]["control"] == 0.12
    assert found["delta_r"]["args"]["ci95"] == pytest.approx([-0.14, -0.06])
    assert "control" not in found["bleu"]["args"]
    assert {each["task"]["type"] for each in entry["results"]} == {"translation"}
