"""A GFST run that is stopped anywhere goes on there and ends as one that was not; its stages can be run one by one."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from datasets import load_from_disk

from hf_fairness import runs
from hf_fairness.trainers.gfst.arguments import STAGES
from support.gfst_case import weights
from support.manifest import stages

pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("ignore:fast_align learned to align")]
ORDER = [
    *("parallel", "filter_source", "translate", "filter_target", "balance", "randst"),
    *("predict_baseline", "scores_baseline"),
    *(f"{what}_{arm}" for arm in ("gfst", "randst", "control") for what in ("train", "predict", "scores")),
    *("comparisons", "report", "model"),
]


class Stopped(BaseException):
    """What a killed process does not see."""


@pytest.fixture(scope="module")
def whole(run_in, tmp_path_factory):
    """Folder and report of a run that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    return folder, run_in(folder, max_pairs=40)


def same_end(first, one, second, two):
    """Whether two runs ended alike, to the last bit of the weights."""
    for key in ("results", "comparisons", "explained"):
        assert one[key] == two[key], key
    for arm in ("train_gfst", "train_control", "train_randst"):
        a, b = weights(first, arm), weights(second, arm)
        assert all(np.array_equal(a[name], b[name]) for name in a), arm
    for name in ("balance", "randst", "filter_target"):
        assert load_from_disk(str(first / name))[:] == load_from_disk(str(second / name))[:], name


def test_a_run_killed_in_every_stage_ends_as_one_that_was_not(gfst, whole, tmp_path, monkeypatch):
    """Each stage in turn is stopped when its work is done but not in its place, as a kill then leaves it."""
    commit = runs.commit_folder
    for stage in ORDER:

        def stop(temporary, target, stage=stage):
            if target.name == stage:
                raise Stopped(stage)
            commit(temporary, target)

        monkeypatch.setattr(runs, "commit_folder", stop)
        with pytest.raises(Stopped, match=stage):
            gfst(out="killed", max_pairs=40)
        made = stages(tmp_path / "killed")
        assert made[stage]["status"] == "failed"
        done = [name for name in ORDER if made.get(name, {}).get("status") == "done"]
        assert done == ORDER[: ORDER.index(stage)]
    monkeypatch.setattr(runs, "commit_folder", commit)
    report = gfst(out="killed", max_pairs=40)
    same_end(*whole, tmp_path / "killed", report)
    assert set((tmp_path / "killed" / "report").iterdir()) == set(report["files"].values())


def test_stages_one_by_one_end_as_the_whole_run(gfst, whole, tmp_path):
    done: list[str] = []
    for until in STAGES:
        report = gfst(out="steps", max_pairs=40, until=until.replace("_", "-"))
        made = [name for name, stage in stages(tmp_path / "steps").items() if stage["status"] == "done"]
        kinds = {"train": "train_", "predict": "predict_", "scores": ("scores_", "comparisons")}
        assert all(name.startswith(kinds.get(until, until)) for name in made if name not in done), until
        done = made
    assert sorted(done) == sorted(ORDER)
    same_end(*whole, tmp_path / "steps", report)


def test_a_second_call_does_no_work_twice(gfst, whole, tmp_path):
    shutil.copytree(whole[0], tmp_path / "out")
    before = {name: stage["started"] for name, stage in stages(tmp_path / "out").items()}
    again = gfst(max_pairs=40)
    assert {name: stage["started"] for name, stage in stages(tmp_path / "out").items()} == before
    assert again["results"] == whole[1]["results"]
    assert again["record"].to_json() == whole[1]["record"].to_json()
    written = {kind: path.read_bytes() for kind, path in whole[1]["files"].items()}
    assert {kind: path.read_bytes() for kind, path in again["files"].items()} == written
    shutil.rmtree(tmp_path / "out" / "report")
    assert {kind: path.read_bytes() for kind, path in gfst(max_pairs=40)["files"].items()} == written
    now = {name: stage["started"] for name, stage in stages(tmp_path / "out").items()}
    assert {name for name in now if now[name] != before[name]} <= {"report"}  # in seconds: it can be the same one
    gfst(max_pairs=30, until="balance")  # a smaller limit keeps what was translated
    changed = {name: stage["started"] for name, stage in stages(tmp_path / "out").items()}
    assert changed["filter_target"] == before["filter_target"]
    assert len(load_from_disk(str(tmp_path / "out" / "balance"))) == 60
