"""Time of `evaluate.load` for the slowest of our modules, beside a module that imports what evaluate's `accuracy` does.

Every load happens in a process of its own, forked from one that has imported `evaluate` and nothing of ours: what a
module imports counts, and so does copying it into an empty cache. Times are medians of a few loads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.runner import FOLDER, Benchmark, SkipSubject

METRICS = FOLDER.parent / "metrics"

#: The imports, features and call of evaluate's `accuracy`.
ACCURACY = '''
import datasets
import evaluate
from sklearn.metrics import accuracy_score


class Accuracy(evaluate.Metric):
    """Share of predictions that equal their reference."""

    def _info(self):
        features = datasets.Features({"predictions": datasets.Value("int32"), "references": datasets.Value("int32")})
        return evaluate.MetricInfo(description="-", citation="-", inputs_description="-", features=features)

    def _compute(self, predictions, references):
        return {"accuracy": float(accuracy_score(references, predictions))}
'''

#: Loads each named folder in forked processes of its own and prints the median seconds of each.
LOAD = """
import json, os, statistics, sys, tempfile, time
import evaluate

def once(folder):
    reader, writer = os.pipe()
    if not os.fork():
        start = time.perf_counter()
        evaluate.load(folder)
        os.write(writer, repr(time.perf_counter() - start).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    os.wait()
    return float(told)

folders, rounds = sys.argv[2:], int(sys.argv[1])
print(json.dumps([statistics.median(once(folder) for _ in range(rounds)) for folder in folders]))
"""


def setup(quick: bool) -> dict[str, Any]:
    """The folder of the peer module, and the folders of ours."""
    if not hasattr(os, "fork"):
        raise SkipSubject("needs a system that forks processes")
    folder = tempfile.TemporaryDirectory()  # kept in the state, so that it lives as long
    peer = Path(folder.name, "accuracy")
    peer.mkdir()
    (peer / "accuracy.py").write_text(ACCURACY, encoding="utf-8")
    ours = sorted(path for path in METRICS.iterdir() if (path / f"{path.name}.py").is_file())
    return {"folder": folder, "peer": [peer], "ours": ours, "rounds": 1 if quick else 5}


def _slowest(state: dict[str, Any], folders: list[Path]) -> float:
    with tempfile.TemporaryDirectory() as home:
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", LOAD, str(state["rounds"]), *map(str, folders)],
            env=os.environ | {"HF_HOME": home, "HF_HUB_OFFLINE": "1"},
            cwd=FOLDER.parent,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return float(max(json.loads(run.stdout.splitlines()[-1])))


BENCHMARK = Benchmark(
    name="module_load",
    compares="evaluate.load of the slowest of our modules against one with the imports of evaluate's accuracy",
    bar=0.5,
    setup=setup,
    subject=lambda state: _slowest(state, state["ours"]),
    peer=lambda state: _slowest(state, state["peer"]),
    repeats=5,
    unit="seconds of loading",
)
