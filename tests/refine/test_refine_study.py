"""The study of refined corpora: its record is whole, and a small run goes through the same steps."""

from __future__ import annotations

import pytest

from benchmarks import refine_quality as study
from benchmarks.study import RESULTS, read_results
from hf_fairness.refine import describe

FILE = RESULTS / "refine_quality.json"


@pytest.fixture(scope="module")
def recorded(shared):
    return read_results(FILE)


@pytest.fixture(scope="module")
def score(shared):
    return study.scorer()


def test_the_recorded_study_is_whole(recorded):
    rows, arms = recorded["rows"], recorded["arms"]
    assert recorded["seeds"] == [0, 1, 2]
    assert list(arms) == ["aug", "original", "random", "sub"]  # as JSON sorts them
    assert rows["original"] == 5749
    assert rows["sub"] == rows["random"] == 5749 - len(recorded["above"])
    added = next(level for level in recorded["corpus"]["percentiles"] if level["percentile"] == 95)["n_added"]
    assert rows["aug"] == 5749 + added
    for name, arm in arms.items():
        for part in ({"level", "against original", "against random"}) - {f"against {name}"}:
            assert set(arm[part]) >= set(study.MEASURES)
            for value in arm[part].values():
                assert len(value["by_seed"]) == len(value["ci95_by_seed"]) == 3
                assert value["ci95"][0] <= value["mean"] <= value["ci95"][1]
    assert study.table(recorded).count("\n") == 2 + 3 * len(study.MEASURES)


@pytest.mark.whole
def test_rows_are_scored_today_as_they_were(recorded, score):
    assert study.rescored(score) == pytest.approx(recorded["scores"], abs=1e-3)


@pytest.mark.whole
def test_a_small_run_goes_through_all_steps(score):
    """100 pairs, one seed, two arms: the highest score falls, both subtractions leave as many rows."""
    rows = study.scored(study.stsb_train(100), score)
    refined = study.corpora(rows, 0)
    sizes = {name: len(corpus) for name, corpus in refined.items()}
    assert sizes["original"] == 100
    assert sizes["sub"] == sizes["random"] == 95
    assert sizes["aug"] > 100
    assert describe(rows, refined["sub"], score_columns=study.SCORES)["refined"]["max"] < study.greatest(rows).max()
    assert refined["sub"]["sentence1"][:] != refined["random"]["sentence1"][:]

    pairs = {name: values[::15] for name, values in study.stsb_dev().items()}
    chosen = {name: refined[name] for name in ("random", "sub")}
    arms = study.summarize([study.run_seed(chosen, pairs, 0, n_bootstrap=50)])
    assert list(arms["random"]) == ["level"]
    assert list(arms["sub"]) == ["level", "against random"]
    for key in study.MEASURES:
        change = arms["sub"]["against random"][key]["mean"]
        gap = arms["sub"]["level"][key]["mean"] - arms["random"]["level"][key]["mean"]
        assert change == pytest.approx(gap, abs=1e-6)
        assert change != 0.0  # they are different models
    text = study.table({"arms": arms, "rows": sizes})
    assert "| rows | 95 | 95 |" in text


def test_the_interval_over_seeds_is_students():
    found = study.by_seed(
        [{"value": value, "ci95": [value - 1, value + 1]} for value in (1.0, 2.0, 3.0)], "effect_size_6"
    )
    assert found["mean"] == 2.0
    assert found["ci95"] == pytest.approx([2.0 - 4.302653 / 3**0.5, 2.0 + 4.302653 / 3**0.5], abs=1e-6)
    assert found["ci95_by_seed"][0] == [0.0, 2.0]
