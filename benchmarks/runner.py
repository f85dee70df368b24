"""Run each speed subject beside its peer and its floor, and keep the numbers.

A subject is a module `benchmarks/<name>.py` that assigns one module-level constant:

    from benchmarks.runner import Benchmark

    BENCHMARK = Benchmark(
        name="ccd_step",                       # the file's name
        compares="CCDTrainer step against a bare PyTorch loop of the same forwards and backward",
        bar=0.87,                              # least accepted speed ratio
        setup=setup,                           # setup(quick: bool) -> state, not timed
        subject=subject,                       # subject(state) -> units of work done, or None for 1
        peer=peer,                             # peer(state)    -> units of work done, or None for 1
        floor=None,                            # optional floor(state): the least work that any answer needs
        repeats=7,                             # timed rounds; `--quick` runs at most 3
    )

One round times subject, peer and floor after each other (the order turns from round to round), so that a
noisy machine hits all alike. Seconds are divided by the units that the call returns: a peer may do fewer
draws than the subject. The speed ratio of a round is

    ratio = peer seconds per unit / subject seconds per unit

Above 1 the subject is faster; .87 means that it reaches 87 % of the peer's speed. The bar is held against the
median ratio of all rounds; least and greatest are shown beside it. One untimed round comes first. `setup`
raises `SkipSubject("reason")` when something optional is missing; a skipped subject is reported, not passed.
A subject with a `unit` other than "s" is not timed: its works return an amount of that unit (peak MiB), and the ratio
is peer amount / subject amount.
Modules without `BENCHMARK` (studies, helpers) are left alone. The exit code is 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hf_fairness.runs import atomic_write_json

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results.json"
PACKAGES = ("hf-fairness", "torch", "transformers", "sentence-transformers", "datasets", "numpy", "scipy")

Work = Callable[[Any], "float | None"]


class SkipSubject(Exception):
    """Raised by a subject's `setup` when it cannot run here; the message says what is missing."""


@dataclass(frozen=True)
class Benchmark:
    """One subject and what it is held against; the module docstring explains each field."""

    name: str
    compares: str
    bar: float
    setup: Callable[[bool], Any]
    subject: Work
    peer: Work
    floor: Work | None = None
    repeats: int = 7
    unit: str = "s"

    def __post_init__(self) -> None:
        if not self.bar > 0:
            raise ValueError(f"Benchmark {self.name!r}: bar must be a positive ratio, got {self.bar!r}.")
        if self.repeats < 1:
            raise ValueError(f"Benchmark {self.name!r}: repeats must be at least 1, got {self.repeats!r}.")


def discover(folder: Path = FOLDER, package: str = "benchmarks") -> list[Benchmark]:
    """Find the subjects: modules of `folder` that assign `BENCHMARK`, in order of their names.

    The source is parsed before it is imported, so that studies and helpers are never imported.

    Raises:
        TypeError: `BENCHMARK` is not a `Benchmark`.
        ValueError: its name differs from the file's.
    """
    found = []
    for path in sorted(folder.glob("*.py")):
        if not _assigns_benchmark(path):
            continue
        benchmark = importlib.import_module(f"{package}.{path.stem}").BENCHMARK
        if not isinstance(benchmark, Benchmark):
            raise TypeError(f"{path.name}: BENCHMARK is a {type(benchmark).__name__}, expected a Benchmark.")
        if benchmark.name != path.stem:
            raise ValueError(f"{path.name}: name={benchmark.name!r} must be the file's name {path.stem!r}.")
        found.append(benchmark)
    return found


def _assigns_benchmark(path: Path) -> bool:
    targets: list[ast.expr] = []
    for node in ast.parse(path.read_text(encoding="utf-8"), str(path)).body:
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign):
            targets.append(node.target)
    return any(isinstance(target, ast.Name) and target.id == "BENCHMARK" for target in targets)


def measure(benchmark: Benchmark, *, quick: bool = False) -> dict[str, Any]:
    """Time one subject beside its peer and floor.

    Returns:
        `ratio`: median, min and max of peer seconds / subject seconds over the rounds; `passed`; and
        `seconds`: median, min and max per unit of subject, peer and floor. `floor_ratio` is floor seconds /
        subject seconds: 1 means that no time is spent beyond the least work. A skipped subject has `skipped`.
    """
    repeats = min(3, benchmark.repeats) if quick else benchmark.repeats
    row: dict[str, Any] = {
        "name": benchmark.name,
        "compares": benchmark.compares,
        "bar": benchmark.bar,
        "repeats": repeats,
        "quick": quick,
        "unit": benchmark.unit,
    }
    try:
        state = benchmark.setup(quick)
    except SkipSubject as reason:
        return {**row, "skipped": str(reason)}
    works = {"subject": benchmark.subject, "peer": benchmark.peer}
    if benchmark.floor is not None:
        works["floor"] = benchmark.floor
    seconds: dict[str, list[float]] = {role: [] for role in works}
    roles = list(works)
    for turn in range(-1, repeats):
        for role in roles:
            took = _cost(works[role], state, f"{benchmark.name}: {role}", benchmark.unit)
            if turn >= 0:
                seconds[role].append(took)
        roles = roles[1:] + roles[:1]
    ratios = [peer / subject for peer, subject in zip(seconds["peer"], seconds["subject"], strict=True)]
    row["ratio"] = _spread(ratios)
    row["passed"] = row["ratio"]["median"] >= benchmark.bar
    row["seconds" if benchmark.unit == "s" else benchmark.unit] = {
        role: _spread(values) for role, values in seconds.items()
    }
    if "floor" in seconds:
        pairs = zip(seconds["floor"], seconds["subject"], strict=True)
        row["floor_ratio"] = _spread([floor / subject for floor, subject in pairs])
    return row


def _cost(work: Work, state: Any, where: str, unit: str) -> float:
    """Seconds per unit of work; for another unit than seconds, the amount that the work returns."""
    start = time.perf_counter()
    units = work(state)
    took = time.perf_counter() - start
    if unit != "s":
        if units is None or not units > 0:
            raise ValueError(f"{where} returned {units!r}; expected a positive amount in {unit}.")
        return float(units)
    units = 1.0 if units is None else float(units)
    if not units > 0:
        raise ValueError(f"{where} returned {units!r} units of work; expected a positive number or None.")
    return max(took, 1e-9) / units


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def environment() -> dict[str, Any]:
    """Describe what the numbers were measured on: hardware, versions, commit and date."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "hardware": {
            "machine": platform.machine(),
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "threads": os.environ.get("OMP_NUM_THREADS", "default"),
            "system": platform.system(),
        },
        "versions": versions,
        "commit": commit(),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def commit() -> str:
    """Return the commit of the working tree, with `+changes` when it is not clean; `unknown` outside git."""
    try:
        head = git("rev-parse", "HEAD").strip()
        return head + ("+changes" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def git(*arguments: str) -> str:
    """What git prints of the project."""
    return subprocess.run(["git", *arguments], cwd=FOLDER.parent, capture_output=True, text=True, check=True).stdout


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Lay the rows out for a terminal."""
    lines = [f"{'benchmark':<20} {'ratio':>8} {'min':>8} {'max':>8} {'bar':>6}  result"]
    for row in rows:
        if "skipped" in row:
            lines.append(f"{row['name']:<20} {'-':>8} {'-':>8} {'-':>8} {row['bar']:>6.2f}  skipped")
            lines.append(f"    {row['skipped']}")
            continue
        ratio = row["ratio"]
        numbers = " ".join(f"{ratio[key]:>8.2f}" for key in ("median", "min", "max"))
        lines.append(f"{row['name']:<20} {numbers} {row['bar']:>6.2f}  {'ok' if row['passed'] else 'MISSED'}")
        unit = row["unit"]
        costs = row["seconds" if unit == "s" else unit]
        times = ", ".join(f"{role} {spread['median']:.3g} {unit}" for role, spread in costs.items())
        lines.append(f"    {row['compares']}: {times}")
    return "\n".join(lines)


def merged(rows: Sequence[Mapping[str, Any]], results: Path) -> list[Mapping[str, Any]]:
    """The rows, and those of other subjects that the results file holds, by name."""
    old = json.loads(results.read_text(encoding="utf-8"))["benchmarks"] if results.is_file() else []
    found = {row["name"]: row for row in (*old, *rows)}
    return [found[name] for name in sorted(found)]


def run(
    benchmarks: Sequence[Benchmark], *, quick: bool = False, results: Path | None = RESULTS, keep: bool = False
) -> int:
    """Measure all, print the table, write the results file; return 1 if a bar is missed.

    With ``keep`` the file keeps the rows of subjects that were not measured; each row says when and where it was.
    """
    rows = []
    for number, benchmark in enumerate(benchmarks, start=1):
        print(f"[{number}/{len(benchmarks)}] {benchmark.name} ...", file=sys.stderr, flush=True)
        where = {key: environment()[key] for key in ("commit", "date", "hardware")}
        rows.append({**measure(benchmark, quick=quick), "measured": where})
    print(table(rows))
    if results is not None:
        written, about = (merged(rows, results) if keep else rows), environment()
        if keep and results.is_file():  # what the file says of the run that wrote it stays true of the other rows
            about = json.loads(results.read_text(encoding="utf-8"))
        record = {**about, "quick": quick, "benchmarks": written}
        atomic_write_json(results, record)
        print(f"Results: {results}")
    missed = [row for row in rows if not row.get("passed", True)]
    for row in missed:
        print(
            f"{row['name']}: the ratio {row['ratio']['median']:.2f} is below the bar {row['bar']:.2f}. "
            f"Run `python -m benchmarks --only {row['name']}` on an idle machine; "
            "if it stays below, the subject has become costlier.",
            file=sys.stderr,
        )
    return 1 if missed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run; see the module docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed against peers.")
    parser.add_argument("--only", metavar="NAME", action="append", help="run this subject; may be repeated")
    parser.add_argument("--quick", action="store_true", help="small states and at most 3 rounds")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument(
        "--output",
        type=Path,
        help="results file; default: benchmarks/results.json for a whole run, none with --only or --quick. With --only "
        "the rows of other subjects in the file stay",
    )
    parser.add_argument(
        "--stale", action="store_true", help="list the studies whose code has changed since they ran, and stop"
    )
    options = parser.parse_args(arguments)
    if options.stale:
        from benchmarks.study import stale_lines  # which imports this module

        print("\n".join(stale_lines()))
        return 0
    benchmarks = discover()
    if options.list:
        print("\n".join(benchmark.name for benchmark in benchmarks))
        return 0
    if options.only:
        known = {benchmark.name: benchmark for benchmark in benchmarks}
        unknown = [name for name in options.only if name not in known]
        if unknown:
            parser.error(f"no benchmark called {', '.join(unknown)}; known: {', '.join(known) or 'none'}")
        benchmarks = [known[name] for name in options.only]
    if not benchmarks:
        parser.error(f"no benchmark in {FOLDER}: a subject is a module that assigns BENCHMARK")
    whole = not options.only and not options.quick
    results = options.output or (RESULTS if whole else None)
    return run(benchmarks, quick=options.quick, results=results, keep=bool(options.only))
