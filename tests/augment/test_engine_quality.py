"""Swaps against human counterparts, beside a plain dictionary swap: measured live, with the study's own functions."""

from __future__ import annotations

import pytest

from benchmarks import swap_quality
from benchmarks.study import RESULTS, read_results
from benchmarks.token_errors import edit_distance
from hf_fairness.augment import swap


@pytest.fixture(scope="module")
def measured(shared):
    systems = {"hf-fairness": lambda text, group: swap(text), "dictionary": swap_quality.dictionary()}
    sets = {name: load(shared / "data") for name, load in swap_quality.SETS.items()}
    return sets, {
        system: {name: swap_quality.measure(rewrite, pairs) for name, pairs in sets.items()}
        for system, rewrite in systems.items()
    }


def test_the_bars(measured):
    sets, results = measured
    assert {name: len(pairs) for name, pairs in sets.items()} == {
        "winogender": 240,
        "grep_biasir": 258,
        "crows_pairs": 88,
    }
    assert swap_quality.misses(results) == []


def test_the_harm_is_there_first(measured):
    _, results = measured
    for name in ("grep_biasir", "crows_pairs"):
        plain, ours = results["dictionary"][name], results["hf-fairness"][name]
        assert plain["token_error_rate_ci95"][0] > 0.01
        assert ours["token_error_rate"] < plain["token_error_rate_ci95"][0]
        assert len(ours["commonest"]) >= 9


def test_a_miss_is_named(measured):
    _, results = measured
    worse = {**results, "hf-fairness": results["dictionary"]}
    assert len(swap_quality.misses(worse)) == 3


@pytest.mark.parametrize(
    ("a", "b", "distance"), [("", "", 0), ("a", "", 1), ("abc", "abc", 0), ("abcd", "axd", 2), ("ab", "ba", 2)]
)
def test_edit_distance(a, b, distance):
    assert edit_distance(a, b) == edit_distance(b, a) == distance


def test_the_recorded_table_is_of_this_code(shared):
    results = read_results(RESULTS / "swap_quality.json")
    assert swap_quality.misses(results) == []
    for name in swap_quality.SETS:
        ours = results["hf-fairness"][name]["token_error_rate_uncased"]
        others = [results[system][name]["token_error_rate_uncased"] for system in ("dictionary", "langfair", "nlpaug")]
        assert ours < min(others)
