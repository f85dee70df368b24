"""Every command, disturbed and run again, leaves what an undisturbed run leaves, and nothing else.

``HF_FAIRNESS_KILLS=256 pytest tests/kills`` kills each command at so many random moments (12 by default), and
``HF_FAIRNESS_FAULTS=100`` kills it, or lets it fail, at so many of the points where it writes (10 by default);
``PYTHONPATH=tests python -m support.kills --help`` tries single ones.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys

import pytest

from support.kill_world import NAMES, make_command
from support.launch import environment

pytestmark = pytest.mark.whole

KILLS = int(os.environ.get("HF_FAIRNESS_KILLS", "12"))
FAULTS = int(os.environ.get("HF_FAIRNESS_FAULTS", "10"))
ENVIRONMENT = environment(MKL_NUM_THREADS="1")


@pytest.fixture(scope="module")
def trials(tmp_path_factory) -> dict[str, dict]:
    """What the script found, by command."""
    folder = tmp_path_factory.mktemp("kills")
    words = ["--kills", str(KILLS), "--faults", str(FAULTS), "--jobs", "2", "--folder", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "support.kills", *words],
        env={**ENVIRONMENT, "HF_DATASETS_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
    )
    assert (folder / "results.json").is_file(), done.stderr[-3000:]
    return {found["command"]: found for found in json.loads((folder / "results.json").read_text())}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", NAMES)
def test_a_disturbed_command_ends_as_one_that_nobody_disturbed(trials, name):
    found = trials[name]
    assert "error" not in found, found["error"]
    number = KILLS + FAULTS
    assert (found["failures"], found["n"], found["equal"], found["left_over"]) == ([], number, number, 0)


def test_a_full_disk_stops_ccd_with_a_clear_error_and_loses_nothing(tmp_path):
    """Files may not grow beyond what the small ones need, as on a disk that is nearly full."""
    command, out = make_command("ccd", tmp_path / "data"), tmp_path / "out"

    def run(*more: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
        def confine() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        words = [sys.executable, "-m", "hf_fairness", *command.line(command.words, out), *more]
        return subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, preexec_fn=confine)

    done = run()
    assert done.returncode == 0, done.stderr
    kept = {
        path: path.read_bytes() for stage in ("train_after", "model") for path in sorted((out / stage).rglob("*.*"))
    }
    largest = max(map(len, kept.values()))
    done = run("--learning_rate", "1e-2", limit=largest // 2)
    assert done.returncode == 1
    assert re.search(r"Stage '\w+' could not be written: the disk of .* is full", done.stderr), done.stderr
    assert "Traceback" not in done.stderr
    assert all(path.read_bytes() == data for path, data in kept.items())
    done = run("--learning_rate", "1e-2")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in out.iterdir() if path.name.startswith(".")} == set()
