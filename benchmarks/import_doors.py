"""How long each door takes to import, in a fresh process, beside what it stands on: `import evaluate` for most.

The clock runs around the imports alone, not around the start of Python; memory is what they add to the process. Modules
are compiled and the disk is warm after the first round.
"""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

from benchmarks.runner import FOLDER, Benchmark, Told

EVALUATE = "import evaluate"
#: By name of the door: its statement, what it stands beside, and the least ratio of that to it.
DOORS = {
    "hf_fairness": ("import hf_fairness", EVALUATE, 10.0),
    "attributes": ("import hf_fairness.attributes", EVALUATE, 1.0),
    "augment": ("import hf_fairness.augment", EVALUATE, 1.0),
    "refine": ("import hf_fairness.refine", EVALUATE, 1.0),
    "measure": ("import hf_fairness.measure", EVALUATE, 1.0),
    "scores": ("from hf_fairness.scores import groups, seat", EVALUATE, 1.0),
    "trainers": ("import hf_fairness.trainers", EVALUATE, 1.0),
    "metrics, one loaded": (
        "import evaluate, hf_fairness; evaluate.load(hf_fairness.metric_path('demographic_parity'))",
        EVALUATE,
        0.5,
    ),
    "losses, beside torch": ("import hf_fairness.losses", "import torch", 0.8),
    "CCDTrainer, beside its parent": (
        "from hf_fairness.trainers import CCDTrainer",
        "from sentence_transformers import SentenceTransformerTrainer",
        0.8,
    ),
}

#: Prints the seconds of a statement and the memory in KiB that it adds at most (0 where the system does not tell).
TIMED = """
import sys, time

def kib(key):
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(key))
    except OSError:
        return 0

before, start = kib("VmRSS"), time.perf_counter()
exec(sys.argv[1])
print("\\n", time.perf_counter() - start, kib("VmHWM") - before)
"""


class State(NamedTuple):
    """What the door runs, and what runs beside it."""

    ours: str
    beside: str


def setup(quick: bool, size: str) -> State:
    """Nothing to prepare."""
    return State(*DOORS[size][:2])


def told(statement: str) -> Told:
    """Run a statement in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TIMED, statement],
        cwd=FOLDER.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds, kib = run.stdout.split()[-2:]
    return Told(float(seconds), int(kib) / 2**10)


BENCHMARK = Benchmark(
    name="import_doors",
    compares="import of a door in a fresh process, beside `import evaluate` where nothing else is said",
    bar={name: bar for name, (_, _, bar) in DOORS.items()},
    setup=setup,
    subject=lambda state: told(state.ours),
    peer=lambda state: told(state.beside),
    repeats=7,
)
