"""The recorded numbers of the slow studies meet their bars, and a small run points the same way."""

from __future__ import annotations

import pytest

from benchmarks import bias_score_distilled, ccd_quality, compare_planted
from benchmarks.study import RESULTS, read_results

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def recorded(shared):
    return read_results(RESULTS / "ccd_quality.json")


def test_ccd_quality_meets_its_bars(recorded):
    assert ccd_quality.misses(recorded["arms"]) == []


def test_ccd_quality_shows_the_harm_first_and_the_control(recorded):
    original, control = recorded["original"], recorded["arms"]["control (news)"]
    assert original["winogender"]["cced_ci95"][0] > 0.05
    assert abs(control["winogender_cced"]["mean"]) < 0.2  # without the bias part the gap stays
    assert len(recorded["arms"]["news"]["seeds"]) == 3


def test_a_missed_bar_is_named(recorded):
    arms = {**recorded["arms"], "demo corpus": {"winogender_cced": {"mean": -0.4}}}
    assert ccd_quality.misses(arms) == ["demo corpus: winogender_cced is -0.4000, expected <= -0.5"]


@pytest.mark.timeout(2400)
def test_a_small_run_points_the_same_way(shared):
    """One seed, 300 news sentences: the gap on human-written triples falls, the control's does not, STS stays."""
    evaluation = ccd_quality.Evaluation()
    rows = ccd_quality.news_rows(300, seed=42, pool=200)
    mitigated = evaluation.arm({42: ccd_quality.train(rows, 42)})
    assert mitigated["winogender_cced"]["ci95"][1] < -0.3
    assert mitigated["grep_biasir_cced"]["mean"] < 0
    assert mitigated["stsb_dev_spearman"]["mean"] > -0.01
    assert mitigated["similarity_structure"]["mean"] > 0.97


@pytest.mark.timeout(2400)
def test_a_planted_bias_is_there_and_falls_with_ccd(shared, tmp_path):
    """One small world: the harm first, only where it was planted; CCD takes some of it away; sense stays."""
    results = compare_planted.study(tmp_path, quick=True)
    assert compare_planted.misses(results) == []
    for measure in ("stereoset/gender/stereotype_score", "cced/held-out rows/cced_relative"):
        assert results["gaps"][measure]["ccd - before"]["ci95"][1] < 0
    values = results["measures"]["stereoset/gender/lm_score"]["values"]
    assert values["ccd"]["value"] > 0.9
    assert "CrowS-Pairs-like" in compare_planted.table(results)


def test_a_world_without_harm_is_named():
    value = {"value": 0.5, "ci95": [0.4, 0.6]}
    half = {name: {"values": {"before": value}} for name in compare_planted.MEASURES}
    balanced = {"": 0.8, "_ci95": [0.7, 0.9]}
    controls = [{"before": {"crows_pairs": balanced, "stereoset": {"": 0.5, "_ci95": [0.4, 0.6]}}}]
    missed = compare_planted.misses({"measures": half, "seeds": [0], "controls": controls})
    assert len(missed) == 4
    assert missed[-1] == "crows_pairs on balanced words, seed 0, is clear of 0.5: [0.7, 0.9]"


def test_a_distilled_bias_score_puts_sentences_in_the_order_of_the_exact_one(shared):
    """A fifth of the sentences: better than chance and than what is simpler, and far faster than the model."""
    results = bias_score_distilled.study(quick=True)
    assert bias_score_distilled.misses(results) == []
    assert "Spearman" in bias_score_distilled.table(results)
    poor = {**results, "fidelity": {**results["fidelity"], "input embeddings": results["fidelity"]["table"]}}
    assert "input embeddings" in bias_score_distilled.misses(poor)[0]
