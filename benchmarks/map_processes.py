"""`datasets.map` of `CounterfactualSwap` with two processes against one."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from benchmarks.runner import FOLDER, Benchmark, SkipSubject

DATA = FOLDER.parent.parent / "shared" / "data" / "gfst"
#: Rows that are mapped: the 116,000 news sentences ten times over, so that starting a process does not decide.
COPIES = 10


def setup(quick: bool) -> dict[str, Any]:
    """The English news sentences as a data set on disk, which every process opens without copying it."""
    if not DATA.is_dir():
        raise SkipSubject("needs the third-party data in ../shared beside the project")
    if len(os.sched_getaffinity(0)) < 2:
        raise SkipSubject("needs two processor cores")
    from datasets import Dataset, disable_progress_bars

    from hf_fairness.augment import CounterfactualSwap

    disable_progress_bars()
    texts = [text for path in sorted(DATA.glob("*.en")) for text in path.read_text(encoding="utf-8").splitlines()]
    texts = texts[::4] if quick else texts * COPIES
    folder = tempfile.TemporaryDirectory()  # kept in the state, so that it lives as long
    Dataset.from_dict({"text": texts}).save_to_disk(folder.name)
    return {"rows": Dataset.load_from_disk(folder.name), "swap": CounterfactualSwap("text"), "folder": folder}


def _map(state: dict[str, Any], processes: int | None) -> float:
    rows = state["rows"]
    mapped = rows.map(state["swap"], batched=True, num_proc=processes, load_from_cache_file=False)
    if len(mapped) != len(rows):
        raise RuntimeError(f"{len(mapped)} rows came back of {len(rows)}.")
    mapped.cleanup_cache_files()
    return float(len(rows))


def subject(state: dict[str, Any]) -> float:
    """Two processes, their start and the writing of the shards included."""
    return _map(state, 2)


def peer(state: dict[str, Any]) -> float:
    """One process: the one that calls."""
    return _map(state, None)


BENCHMARK = Benchmark(
    name="map_processes",
    compares="map(CounterfactualSwap, num_proc=2) against one process (1,160,000 news sentences: 116,000 ten times)",
    bar=1.7,
    setup=setup,
    subject=subject,
    peer=peer,
    memory=False,  # the other process would not be counted
    repeats=3,
)
