"""Peak memory of a streamed `CounterfactualSwap`: ten times the rows take no more.

Each number of rows is streamed in a process of its own, which reports the peak of its resident set.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.runner import FOLDER, Benchmark, SkipSubject

DATA = FOLDER.parent.parent / "shared" / "data" / "gfst"
ROWS = 116_000

#: Streams a text file through the map function and prints the peak in MiB and the number of rows. The reader of
#: `datasets` takes 10 MiB at a time, more than the smaller file has: with 1 MiB both sizes meet the same reader. Linux
#: only: the peak that `resource` tells is handed down from the process that started this one.
STREAM = """
import sys
from benchmarks.memory import kib
from datasets import load_dataset
from hf_fairness.augment import CounterfactualSwap
stream = load_dataset("text", data_files=sys.argv[1], split="train", streaming=True, chunksize=2**20)
rows = sum(1 for _ in stream.map(CounterfactualSwap("text"), batched=True))
print(kib("VmHWM") / 2**10, rows)
"""


def setup(quick: bool) -> dict[str, Any]:
    """Two text files: the English news sentences, and those ten times over."""
    if not DATA.is_dir():
        raise SkipSubject("needs the third-party data in ../shared beside the project")
    if not Path("/proc/self/status").is_file():
        raise SkipSubject("reads peak memory from /proc, which this system has not")
    texts = [text for path in sorted(DATA.glob("*.en")) for text in path.read_text(encoding="utf-8").splitlines()]
    texts = texts[: ROWS : 20 if quick else 1]
    folder = tempfile.TemporaryDirectory()  # kept in the state, so that it lives as long
    files = {}
    for copies in (1, 10):
        files[copies] = Path(folder.name, f"{copies}.txt")
        with files[copies].open("w", encoding="utf-8") as file:
            for _ in range(copies):
                file.writelines(f"{text}\n" for text in texts)
    return {"files": files, "rows": len(texts), "folder": folder}


def _peak(state: dict[str, Any], copies: int) -> float:
    command = [sys.executable, "-W", "ignore", "-c", STREAM, str(state["files"][copies])]
    run = subprocess.run(command, cwd=FOLDER.parent, stdout=subprocess.PIPE, text=True, check=True)
    peak, rows = run.stdout.split()[-2:]
    if int(rows) != copies * state["rows"]:
        raise RuntimeError(f"{rows} rows came back of {copies * state['rows']}.")
    return float(peak)


def subject(state: dict[str, Any]) -> float:
    """Peak for ten times the rows."""
    return _peak(state, 10)


def peer(state: dict[str, Any]) -> float:
    """Peak for the rows."""
    return _peak(state, 1)


BENCHMARK = Benchmark(
    name="map_memory",
    compares="peak memory of a streamed CounterfactualSwap: 116,000 rows against 1,160,000",
    bar=0.91,
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=1,
    unit="MiB",
)
