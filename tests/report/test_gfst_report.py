"""What a GFST report says of numbers made up for it: what got worse, and when the control explains a gain."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hf_fairness.report.gfst import gfst_card_section, gfst_model_index, write_gfst_report
from hf_fairness.report.gfst_record import cautions, kept_table
from hf_fairness.report.gfst_tables import findings, gfst_table, headline


def scores(accuracy: float, delta_r: float) -> dict[str, Any]:
    """WinoMT of one model."""
    found: dict[str, Any] = {"n": 100, "aligner": "fast_align", "tagger": "a lexicon", "rules": "agreement"}
    for name, value in {"accuracy": accuracy, "delta_r": delta_r, "f1_female": accuracy}.items():
        found |= {name: value, f"{name}_ci95": [value - 0.1, value + 0.1]}
    return found


def gap(a: float, b: float, half: float = 0.05) -> dict[str, Any]:
    """A paired comparison with an interval of this half-width."""
    ends = [a - b - half, a - b + half]
    return {"a": a, "b": b, "difference": a - b, "difference_ci95": ends, "p_value": 0.01, "p_value_holm": 0.02}


@pytest.fixture
def report() -> dict[str, Any]:
    """GFST far better than the baseline, hardly better than its control, worse in BLEU."""
    arm = {"steps": 10, "n_pairs": 20}
    bleu = {"bleu": 0.3, "bleu_ci95": [0.2, 0.4], "signatures": {"bleu": "tok:13a"}}
    return {
        "arguments": {"source_lang": "en", "lang": "it", "model": "org/model"},
        "training": {"seed": 0},
        "groups": ["male", "female"],
        "data": {
            "filter_target": {
                "n": 4, "kept": 3, "kept_share": 0.75, "kept_share_ci95": [0.3, 0.95],
                "reasons": {"opposite_gender": 1},
                "by_gender": {"female": {"n": 2, "kept": 1, "kept_share": 0.5, "reasons": {"opposite_gender": 1}}},
            },
            "balance": {"n": 2, "per_group": 1, "before": {"male": 2, "female": 1}},
            "randst": {"n": 1, "wanted": 2},
        },
        "arms": {"gfst": arm, "control": {**arm, "n_pairs": 0}, "randst": arm},
        "winomt": {
            "baseline": scores(0.5, 0.4), "gfst": scores(0.8, -0.1),
            "control": scores(0.75, 0.1), "randst": scores(0.79, 0.2),
        },
        "test": {"gfst": bleu, "baseline": bleu},
        "comparisons": {
            "winomt": {
                "baseline": {"accuracy": gap(0.8, 0.5), "delta_r": gap(-0.1, 0.4)},
                "control": {"accuracy": gap(0.8, 0.75, half=0.06), "delta_r": gap(-0.1, 0.1)},
                "randst": {"accuracy": gap(0.8, 0.79), "delta_r": gap(-0.3, 0.2)},
            },
            "test": {"baseline": {"bleu": {key: v for key, v in gap(0.2, 0.3).items() if not key.startswith("p_")}}},
        },
        "explained": {
            "accuracy": {"gain": 0.3, "control_gain": 0.25, "control_share": 0.25 / 0.3},
            "delta_r": {"gain": -0.1, "control_gain": 0.3, "control_share": None},
        },
        "meta": {"convention": "as said here"},
    }  # fmt: skip


def test_a_gap_counts_by_its_distance_to_the_ideal(report):
    found = findings(report)
    starts = {kind: [line.split(", difference")[0] for line in lines] for kind, lines in found.items()}
    assert "ΔR against baseline: 0.400 → −0.100" in starts["improved"]  # past 0, but nearer
    assert "ΔR against RandST: 0.200 → −0.300" in starts["worse"]  # past 0, and further
    assert "BLEU against baseline: 0.300 → 0.200" in starts["worse"]
    assert found["unclear"] == ["Against control: WinoMT Acc", "Against RandST: WinoMT Acc"]
    assert "p = 0.02 (Holm)" in found["improved"][0]


def test_a_comparison_without_an_interval_is_unclear(report, tmp_path):
    """Two models that never differ have none: neither is better, and nothing is left out."""
    for part in report["comparisons"].values():
        for gaps in part.values():
            for value in gaps.values():
                value["difference_ci95"] = None
    for part in report["winomt"].values():
        part |= dict.fromkeys(("accuracy_ci95", "delta_r_ci95"))
    found = findings(report)
    assert (found["worse"], found["improved"]) == ([], [])
    assert found["unclear"][0] == "Against baseline: WinoMT Acc, ΔR, BLEU"
    assert gfst_table(report)[2][3] == "0.800"
    assert "None" not in gfst_card_section(report, "a model")
    assert write_gfst_report(report, tmp_path)


def test_the_control_is_said_to_explain_the_gain(report):
    lines = cautions(report)
    assert any("The control explains 83% of the gain in accuracy" in line for line in lines)
    assert any("no nearer to the ideal ΔR" in line for line in lines)
    assert any("not clearly above that of as many random pairs" in line for line in lines)
    assert any("RandST has 1 pairs, 2 were wanted" in line for line in lines)
    better = copy.deepcopy(report)
    better["explained"] = {"accuracy": {"gain": 0.3, "control_gain": 0.1, "control_share": 1 / 3}}
    better["comparisons"]["winomt"]["randst"]["accuracy"] = gap(0.8, 0.6)
    better["data"]["randst"]["n"] = 2
    assert cautions(better) == []


def test_tables_hold_every_model_and_every_reason(report):
    table = gfst_table(report)
    assert table[0][:3] == ["model", "steps", "pseudo pairs"]
    assert [row[0] for row in table[1:]] == ["baseline", "GFST", "control", "RandST"]
    assert table[1][1:3] == ["–", "–"]  # the baseline was not trained here
    assert table[2][3] == "0.800 [0.700, 0.900]"
    rows = kept_table(report)
    assert ["filter target", "female", "2", "1", "50.0%", "opposite_gender 1"] in rows
    assert rows[-1] == ["randst", "all", "1", "1", "", ""]


def test_nothing_measured_is_said(report):
    for key in ("winomt", "comparisons", "explained"):
        report[key] = {}
    assert "nothing is known" in headline(report)
    assert findings(report) == {"worse": [], "improved": [], "unclear": []}


def test_the_card_puts_the_worse_first_and_escapes(report, tmp_path):
    report["data"]["filter_target"]["reasons"] = {"a|b": 1}
    text = gfst_card_section(report, "my <b>model</b>")
    assert text.index("Read first") < text.index("Got worse") < text.index("Improved")
    assert "<b>" not in text
    assert "tok:13a" in text
    files = write_gfst_report(report, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(files)
    page = (tmp_path / "report.html").read_text()
    assert "The control explains" in page
    assert "script" not in page
    index = gfst_model_index(report, "m")["model-index"][0]["results"]
    found = {metric["name"]: metric for entry in index for metric in entry["metrics"]}
    assert found["ΔR"]["value"] == -0.1
    assert found["ΔR"]["args"]["control"] == 0.1
