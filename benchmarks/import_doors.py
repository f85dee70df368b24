"""How long each door takes to import, in a fresh process, beside `import evaluate`.

The clock is that of the processor and runs around the imports alone, not around the start of Python; memory is what
they add to the process. Modules are compiled after the first round.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.runner import FOLDER, Benchmark, Told

BESIDE = "import evaluate"
#: By name of the door: its statement, and the least ratio of the other import to it.
DOORS = {
    "hf_fairness": ("import hf_fairness", 10.0),
    "augment": ("import hf_fairness.augment", 1.0),
    "measure": ("import hf_fairness.measure", 1.0),
    "scores": ("from hf_fairness.scores import groups, seat", 1.0),
    "trainers": ("import hf_fairness.trainers", 1.0),
    "metrics, one loaded": (
        "import evaluate, hf_fairness; evaluate.load(hf_fairness.metric_path('demographic_parity'))",
        0.5,
    ),
}

#: Prints the seconds of a statement and the memory in MiB that it adds at most (0 where the system does not tell).
TIMED = """
import sys, time
from benchmarks.memory import held

def work():
    global seconds
    start = time.process_time()
    exec(sys.argv[1], {})
    seconds = time.process_time() - start

mib = held(work)
print("\\n", seconds, mib or 0)
"""


def setup(quick: bool, size: str) -> str:
    """The statement of the door."""
    return DOORS[size][0]


def told(statement: str) -> Told:
    """Run a statement in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TIMED, statement],
        cwd=FOLDER.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds, mib = run.stdout.split()[-2:]
    return Told(float(seconds), float(mib))


BENCHMARK = Benchmark(
    name="import_doors",
    compares="import of a door in a fresh process, beside `import evaluate`",
    bar={name: bar for name, (_, bar) in DOORS.items()},
    setup=setup,
    subject=told,
    peer=lambda statement: told(BESIDE),
    repeats=5,
)
