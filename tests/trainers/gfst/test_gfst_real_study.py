"""The study on real text: its recorded numbers meet their bars, and stand beside their baselines."""

from __future__ import annotations

import copy

import pytest

from benchmarks import gfst_real as study
from benchmarks.study import read_results


@pytest.fixture(scope="module")
def recorded(shared):
    return read_results(study.FILE)


def test_the_study_meets_its_bars(recorded):
    assert study.misses(recorded) == []


def test_the_study_is_whole(recorded):
    assert recorded["n"]["test"] == 1000
    assert recorded["n"]["train"] > 30_000
    assert set(recorded["quality"]) == {"translator", "dictionary", "copy"}
    for found in recorded["quality"].values():
        assert found["bleu_ci95"][0] <= found["bleu"] <= found["bleu_ci95"][1]
        assert "version:" in found["signatures"]["bleu"]
    wino = recorded["winomt"]
    assert wino["meta"]["n"] == 3888
    for name in ("accuracy", "delta_g", "delta_r"):
        low, high = wino[f"{name}_ci95"]
        assert low <= wino[name] <= high
    for name in ("translator", "references"):
        assert set(recorded["filters"][name]["by_gender"]) >= {"female", "male"}


def test_the_validation_loss_fell_and_the_mean_of_checkpoints_kept_it(recorded):
    losses = [each["loss"] for each in recorded["training"]["history"]["eval"]]
    assert losses[-1] < losses[0]
    assert recorded["training"]["history"]["averaged"]["loss"] <= min(losses) + 0.05


def test_no_text_is_in_the_file(recorded):
    written = study.FILE.read_text(encoding="utf-8")
    for row in study.split()["test"].select(range(0, 1000, 10)):
        assert row["source"] not in written
        assert row["target"] not in written


def test_no_side_of_a_test_pair_is_trained_on(shared):
    parts = study.split()
    trained = {study.normalised(text) for column in ("source", "target") for text in parts["train"][column]}
    for name in ("dev", "test"):
        held_out = [study.normalised(text) for column in ("source", "target") for text in parts[name][column]]
        assert not trained & set(held_out)
    test = parts["test"]
    assert {gender: test["gender"][:].count(gender) for gender in set(test["gender"])} == {"female": 500, "male": 500}
    assert all(5 <= len(text.split()) <= 20 for text in test["source"])


def test_a_missed_bar_is_named(recorded):
    worse = copy.deepcopy(recorded)
    worse["quality"]["translator"]["bleu"] = 0.1
    worse["minutes"] = 16.0
    assert study.misses(worse) == [
        "BLEU is 10.00, expected at least 12",
        "16.0 minutes, expected at most 15",
    ]


def test_a_word_by_word_translation_keeps_the_rest():
    words = {"she": "lei", "sees": "vede"}
    assert study.word_by_word('"She sees, 3 Xs!"', words) == '"Lei vede, 3 Xs!"'
