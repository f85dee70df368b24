"""The study of refined corpora: its record is whole, and a small run goes through the command that ships."""

from __future__ import annotations

import pytest

from benchmarks import refine_quality as study
from benchmarks.study import read_results

ARMS = ("original", "sub-95", "random-sub-95", "aug-95", "random-aug-95")


@pytest.fixture(scope="module")
def recorded(shared):
    if not study.FILE.is_file():
        pytest.skip("no results are recorded (python -m benchmarks.refine_quality)")
    return read_results(study.FILE)


def test_the_recorded_study_is_whole(recorded):
    corpora = recorded["corpora"]
    assert recorded["seeds"] == 3
    assert set(corpora) == set(ARMS)
    assert corpora["original"]["n_train"] == 5749
    for kind, key in (("sub", "n_left_out"), ("aug", "n_added")):
        assert corpora[f"{kind}-95"][key] == corpora[f"random-{kind}-95"][key] > 0
    for name in study.MEASURES:
        assert set(recorded["measures"][name]["values"]) == set(ARMS)
        assert {"sub-95 - random-sub-95", "aug-95 - random-aug-95"} <= set(recorded["gaps"][name])
    assert study.table(recorded).count("\n") == 1 + len(ARMS)


@pytest.mark.whole
def test_rows_are_scored_today_as_they_were(recorded):
    assert study.rescored() == pytest.approx(recorded["scores"], abs=1e-3)


@pytest.mark.whole
def test_a_small_run_goes_through_all_steps(shared, tmp_path):
    """100 pairs, one seed, subtraction alone: as many rows are left by chance; the models differ."""
    found = study.study(tmp_path, quick=True)
    sizes = {name: each["n_train"] for name, each in found["corpora"].items()}
    assert sizes == {"original": 100, "sub-95": 95, "random-sub-95": 95}
    for name in study.MEASURES:
        values = {arm: each["value"] for arm, each in found["measures"][name]["values"].items()}
        gap = found["gaps"][name]["sub-95 - random-sub-95"]["difference"]
        assert gap == pytest.approx(values["sub-95"] - values["random-sub-95"], abs=1e-6)
        assert gap != 0.0
    assert "| random sub-95 | 95 |" in study.table(found)
