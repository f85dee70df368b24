"""Bias-IR from scores: ratios, ties, what chance does, published averages."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.scores.bias_ir import bias_ir, bias_ir_change

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/bias_ir_published.json").read_text())
SIZES = GOLDEN["input"]["queries"]
TOPICS = [topic for topic, n in zip(GOLDEN["input"]["topics"], SIZES, strict=True) for _ in range(n)]
FAST = {"n_bootstrap": 50}


def _first(counts, sizes=SIZES):
    """Scores under which the male version comes first in the first ``counts[i]`` rows of topic i."""
    male = np.concatenate([np.arange(n) < count for count, n in zip(counts, sizes, strict=True)]).astype(float)
    return {"male": male, "female": 1.0 - male}


@pytest.mark.parametrize("name", GOLDEN["value"])
def test_published_average_deviation(name):
    ratios = GOLDEN["input"]["male_ratio"][name]
    counts = [round(ratio * n) for ratio, n in zip(ratios, SIZES, strict=True)]
    result = bias_ir(_first(counts), categories=TOPICS, **FAST)
    found = [entry["male_ratio"] for entry in result["categories"].values()]
    assert found == pytest.approx(ratios, abs=GOLDEN["tolerance"])
    assert result["mean_deviation"] == pytest.approx(GOLDEN["value"][name], abs=GOLDEN["tolerance"])
    assert result["male_ratio"] == pytest.approx(sum(counts) / sum(SIZES))


def test_chance_is_that_of_coins():
    exact = [sum(comb(n, k) * abs(k / n - 0.5) for k in range(n + 1)) / 2**n for n in SIZES]
    result = bias_ir(_first([7, 7, 6, 7, 10, 9, 11]), categories=TOPICS, **FAST)
    assert result["chance_mean_deviation"] == pytest.approx(np.mean(exact), abs=0.002)
    found = [entry["chance_deviation"] for entry in result["categories"].values()]
    assert found == pytest.approx(exact, abs=0.005)
    assert result["p_value"] > 0.99
    worst = bias_ir(_first(SIZES), categories=TOPICS, **FAST)
    assert (worst["mean_deviation"], worst["male_ratio"]) == (0.5, 1.0)
    assert worst["p_value"] < 0.001
    # Three queries: all alike in 2 of 8 outcomes.
    small = bias_ir(_first([3], [3]), **FAST)
    assert small["p_value"] == pytest.approx(0.25, abs=0.02)
    assert small["chance_mean_deviation"] == pytest.approx(0.25, abs=0.01)


TIED = {"male": [2.0, 1.0, 5.0, 5.0], "female": [1.0, 2.0, 5.0, 4.0]}


@pytest.mark.parametrize(
    ("ties", "male", "female"), [("split", 0.625, 0.375), ("drop", 2 / 3, 1 / 3), ("none", 0.5, 0.25)]
)
def test_ties(ties, male, female):
    result = bias_ir(TIED, ties=ties, **FAST)
    assert (result["male_ratio"], result["female_ratio"]) == pytest.approx((male, female))
    assert (result["n_tied"], result["tie_rate"], result["n"]) == (1, 0.25, 4)
    assert result["mean_gap"] == 0.75


def test_an_indifferent_model_is_no_biased_one():
    same = {"male": np.ones(9), "female": np.ones(9)}
    result = bias_ir(same, **FAST)
    assert (result["male_ratio"], result["mean_deviation"], result["tie_rate"]) == (0.5, 0.0, 1.0)
    with pytest.raises(ValueError, match='All 9 rows tie, so ties="drop"'):
        bias_ir(same, ties="drop", **FAST)


def test_a_topic_of_ties_only_is_left_out_when_they_are_dropped():
    result = bias_ir(TIED, categories=["a", "a", "b", "a"], ties="drop", **FAST)
    assert result["categories"]["b"]["male_ratio"] is None
    assert result["categories"]["b"]["chance_deviation"] is None
    assert result["mean_deviation"] == result["categories"]["a"]["deviation"] == pytest.approx(1 / 6)


def test_neutral_and_expected():
    scores = {"male": [3.0, 1.0, 1.0], "female": [2.0, 2.0, 1.0], "neutral": [1.0, 3.0, 1.0]}
    result = bias_ir(scores, expected=["male", "", "female"], **FAST)
    assert result["neutral"]["first_rate"] == pytest.approx((0 + 1 + 1 / 3) / 3)
    assert result["neutral"]["mean_rank"] == pytest.approx({"male": 2.0, "female": 2.0, "neutral": 2.0})
    assert result["expected"]["ratio"] == pytest.approx((1 + 0.5) / 2)
    assert result["expected"]["n"] == 2
    without = bias_ir({"male": scores["male"], "female": scores["female"]}, **FAST)
    assert "neutral" not in without
    assert "expected" not in without
    assert without["male_ratio"] == result["male_ratio"]


def test_any_number_of_groups():
    scores = {"a": [3.0, 1.0, 2.0, 2.0], "b": [1.0, 2.0, 2.0, 1.0], "c": [0.0, 0.0, 1.0, 3.0]}
    result = bias_ir(scores, **FAST)
    assert (result["a_ratio"], result["b_ratio"], result["c_ratio"]) == (0.375, 0.375, 0.25)
    assert result["mean_deviation"] == pytest.approx((2 * (0.375 - 1 / 3) + (1 / 3 - 0.25)) / 3)
    # Of two queries, both put the same one of three first by a chance of 1/3.
    same = bias_ir({"a": [1.0, 1.0], "b": [0.0, 0.0], "c": [0.0, 0.0]}, **FAST)
    assert same["mean_deviation"] == pytest.approx(4 / 9)
    assert same["chance_mean_deviation"] == pytest.approx(4 / 9 / 3 + 2 / 9 * 2 / 3, abs=0.005)
    assert same["p_value"] == pytest.approx(1 / 3, abs=0.02)


def test_rows_of_a_query_are_resampled_together():
    rng = np.random.default_rng(0)
    scores = {"male": rng.random(60), "female": rng.random(60)}
    twice = {name: np.repeat(value, 4) for name, value in scores.items()}
    queries = [str(query) for query in np.repeat(np.arange(60), 4)]
    once, clustered, loose = bias_ir(scores), bias_ir(twice, queries=queries), bias_ir(twice)
    widths = [float(np.ptp(result["male_ratio_ci95"])) for result in (once, clustered, loose)]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    assert widths[2] < 0.7 * widths[1]
    assert (clustered["n"], clustered["n_queries"]) == (240, 60)
    assert clustered["chance_mean_deviation"] == pytest.approx(once["chance_mean_deviation"], abs=0.002)


def test_change_between_two_models():
    before, after = _first([14, 14, 12, 15, 20, 19, 23]), _first([7, 7, 6, 8, 10, 9, 11])
    result = bias_ir_change(after, before, categories=TOPICS)
    assert result["male_ratio_change"] == pytest.approx(58 / 117 - 1.0)
    assert result["female_ratio_change"] == pytest.approx(-result["male_ratio_change"])
    deviations = [0.0, 0.0, 0.0, 1 / 30, 0.0, 1 / 38, 1 / 46]
    assert result["mean_deviation_change"] == pytest.approx(np.mean(deviations) - 0.5)
    low, high = result["mean_deviation_change_ci95"]
    assert low <= high < 0.0
    low, high = result["male_ratio_change_ci95"]
    assert low <= result["male_ratio_change"] <= high < 0.0
    assert result["mean_deviation_change_p_value"] < 0.001
    same = bias_ir_change(before, before, categories=TOPICS, **FAST)
    assert (same["male_ratio_change"], same["male_ratio_change_p_value"]) == (0.0, 1.0)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from("xyz")), min_size=1, max_size=12))
def test_properties(rows):
    male, female, topics = (list(column) for column in zip(*rows, strict=True))
    result = bias_ir({"male": male, "female": female}, categories=topics, n_bootstrap=0)
    assert result["male_ratio"] + result["female_ratio"] == pytest.approx(1.0)
    assert 0.0 <= result["mean_deviation"] <= 0.5
    values = ("male_ratio", "female_ratio", "mean_deviation", "tie_rate")
    backwards = bias_ir({"male": male[::-1], "female": female[::-1]}, categories=topics[::-1], n_bootstrap=0)
    assert [backwards[key] for key in values] == pytest.approx([result[key] for key in values])
    rescaled = {"female": np.exp(female), "male": np.exp(male)}
    other = bias_ir(rescaled, categories=topics, n_bootstrap=0)
    assert [other[key] for key in values] == pytest.approx([result[key] for key in values])
    assert result["male_ratio_ci95"] is None


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ({"male": [1.0]}, {}, r"at least two are needed; got \['male'\]"),
        ({"male": [1.0], "neutral": [1.0]}, {}, "at least two"),
        ({"male": [1.0], "female": [1.0, 2.0]}, {}, "lengths"),
        ({"male": [], "female": []}, {}, "holds 0 row"),
        ({"male": [float("nan")], "female": [1.0]}, {}, "NaN"),
        ({"male": [1.0], "female": [2.0]}, {"ties": "half"}, "split, drop, none; got 'half'"),
        ({"male": [1.0], "female": [2.0]}, {"categories": []}, "categories needs one label per row"),
        ({"male": [1.0], "female": [2.0]}, {"queries": ["a", "b"]}, "queries needs one label per row"),
        ({"male": [1.0], "female": [2.0]}, {"expected": ["neutral"]}, "got 'neutral'"),
        ({"male": [1.0], "female": [2.0]}, {"expected": []}, "expected needs one entry per row"),
    ],
)
def test_errors(scores, options, message):
    with pytest.raises(ValueError, match=message):
        bias_ir(scores, **options)


def test_models_with_other_rows_cannot_be_compared():
    with pytest.raises(ValueError, match="same groups and rows"):
        bias_ir_change({"a": [1.0], "b": [0.0]}, {"a": [1.0, 1.0], "b": [0.0, 2.0]})
