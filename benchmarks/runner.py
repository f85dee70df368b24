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
        rival="fairlearn",                     # the installed package that the peer is, where it is one
        check=None,                            # optional check(state): what both answer; raises where they must agree
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

One idea at several sizes is one subject: `bar` and, where they differ, `rival` are mappings from each size (a few
words) to its own, and `setup(quick, size)` is told which. Rivals are installed with `benchmarks/requirements.txt`;
without them the subject is skipped.

After the rounds, so that no clock is disturbed, subject, peer and floor each run once more in a process of their own,
after a `setup` of their own: `memory` is the most that the process holds while it works, beyond what it held before, in
MiB (Linux; not with `--quick`). Other processes that a work starts do not count (`memory=False` leaves such a subject
out), unless it returns `Told(seconds, mib)`, what they tell of themselves.
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
from typing import Any, NamedTuple

from benchmarks.memory import held
from hf_fairness.runs import atomic_write_json

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results.json"
PACKAGES = ("hf-fairness", "torch", "transformers", "sentence-transformers", "datasets", "numpy", "scipy")
#: How the rivals are installed: by themselves, for some ask for older versions of what is ours, too.
INSTALL = "pip install --no-deps -r benchmarks/requirements.txt"


class Told(NamedTuple):
    """What processes that a work started tell of themselves: seconds of work, peak memory in MiB."""

    seconds: float
    mib: float


Work = Callable[[Any], "float | Told | None"]


class SkipSubject(Exception):
    """Raised by a subject's `setup` when it cannot run here; the message says what is missing."""


@dataclass(frozen=True)
class Benchmark:
    """One subject and what it is held against; the module docstring explains each field."""

    name: str
    compares: str
    bar: float | Mapping[str, float]
    setup: Callable[..., Any]
    subject: Work
    peer: Work
    floor: Work | None = None
    repeats: int = 7
    unit: str = "s"
    rival: str | Mapping[str, str] = ""
    check: Callable[[Any], Mapping[str, float]] | None = None
    memory: bool = True

    def __post_init__(self) -> None:
        if not self.sizes or not all(self.at(size)[0] > 0 for size in self.sizes):
            raise ValueError(f"Benchmark {self.name!r}: bar must be a positive ratio, got {self.bar!r}.")
        if self.repeats < 1:
            raise ValueError(f"Benchmark {self.name!r}: repeats must be at least 1, got {self.repeats!r}.")

    @property
    def sizes(self) -> list[str]:
        """What it is measured at; a single "" where there is one size."""
        return list(self.bar) if isinstance(self.bar, Mapping) else [""]

    def at(self, size: str) -> tuple[float, str]:
        """Bar and rival ("": none) of one size."""
        bar = self.bar[size] if isinstance(self.bar, Mapping) else self.bar
        return bar, self.rival if isinstance(self.rival, str) else self.rival.get(size, "")

    def state(self, size: str, quick: bool) -> Any:
        """The state of one size, with its rival at hand.

        Raises:
            SkipSubject: the rival, or something that it imports, is not installed; or what `setup` lacks.
        """
        rival = self.at(size)[1]
        try:
            if rival:
                version(rival)
            return self.setup(quick, size) if size else self.setup(quick)
        except ImportError as error:  # which a package that is not found is, too
            if not rival:
                raise
            raise SkipSubject(f"needs {rival} ({error!r}): {INSTALL}") from error

    def works(self) -> dict[str, Work]:
        """Subject, peer and, where there is one, floor."""
        works = {"subject": self.subject, "peer": self.peer}
        return works if self.floor is None else {**works, "floor": self.floor}


def agree(what: str, ours: Sequence[float], theirs: Sequence[float], tolerance: float) -> float:
    """The largest difference of numbers that two libraries define alike.

    Raises:
        ValueError: it is beyond the tolerance.
    """
    differences = [abs(one - other) for one, other in zip(ours, theirs, strict=True)]
    wrong = [each for each in differences if not each <= tolerance]  # NaN agrees with nothing
    if wrong:
        raise ValueError(f"{what}: ours and the rival's differ by {max(wrong):.3g}, more than {tolerance:g}.")
    return max(differences)


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


def measure(benchmark: Benchmark, size: str = "", *, quick: bool = False, memory: bool = False) -> dict[str, Any]:
    """Time one subject beside its peer and floor.

    Args:
        benchmark: the subject.
        size: one of its sizes.
        quick: a small state and at most 3 rounds.
        memory: whether peak memory is measured too; the subject must then be one of the files of this folder.

    Returns:
        `ratio`: median, min and max of peer seconds / subject seconds over the rounds; `passed`; and
        `seconds`: median, min and max per unit of subject, peer and floor. `floor_ratio` is floor seconds /
        subject seconds: 1 means that no time is spent beyond the least work. `memory`: peak MiB of each. `rival`: the
        peer's package and version; `facts`: what `check` returned. A skipped subject has `skipped`.
    """
    repeats = min(3, benchmark.repeats) if quick else benchmark.repeats
    bar, rival = benchmark.at(size)
    row: dict[str, Any] = {"name": benchmark.name, **({"size": size} if size else {}), "compares": benchmark.compares}
    row |= {"bar": bar, "repeats": repeats, "quick": quick, "unit": benchmark.unit}
    where = f"{benchmark.name}{f' ({size})' if size else ''}"
    try:
        state = benchmark.state(size, quick)
    except SkipSubject as reason:
        return {**row, "skipped": str(reason)}
    if rival:
        row["rival"] = f"{rival} {version(rival)}"
    if benchmark.check is not None:
        row["facts"] = dict(benchmark.check(state))
    works = benchmark.works()
    costs: dict[str, list[float]] = {role: [] for role in works}
    mib: dict[str, list[float]] = {role: [] for role in works}
    roles = list(works)
    for turn in range(-1, repeats):
        for role in roles:
            took, told = _cost(works[role], state, f"{where}: {role}", benchmark.unit)
            if turn >= 0:
                costs[role].append(took)
                mib[role] += told
        roles = roles[1:] + roles[:1]
    row["ratio"] = _ratio(costs["peer"], costs["subject"])
    row["passed"] = row["ratio"]["median"] >= bar
    row["seconds" if benchmark.unit == "s" else benchmark.unit] = {
        role: _spread(values) for role, values in costs.items()
    }
    if "floor" in costs:
        row["floor_ratio"] = _ratio(costs["floor"], costs["subject"])
    if memory and benchmark.memory and benchmark.unit == "s":
        peaks = {
            role: statistics.median(mib[role]) if mib[role] else peak(benchmark.name, role, size=size, quick=quick)
            for role in works
        }
        row["memory"] = {role: found for role, found in peaks.items() if found is not None}
    return row


def _cost(work: Work, state: Any, where: str, unit: str) -> tuple[float, list[float]]:
    """Seconds per unit of work, or the amount that the work returns; and the peak memory that it tells, if it does."""
    start = time.perf_counter()
    units = work(state)
    took = time.perf_counter() - start
    if isinstance(units, Told):
        return units.seconds, [units.mib]
    if unit != "s":
        if units is None or not units > 0:
            raise ValueError(f"{where} returned {units!r}; expected a positive amount in {unit}.")
        return float(units), []
    units = 1.0 if units is None else float(units)
    if not units > 0:
        raise ValueError(f"{where} returned {units!r} units of work; expected a positive number or None.")
    return max(took, 1e-9) / units, []


def peak(name: str, role: str, *, size: str = "", quick: bool = False) -> float | None:
    """What a subject's work ``held`` in a process of its own, in MiB; None where the system tells none."""
    code = "import sys; from benchmarks.runner import tell_peak; tell_peak(*sys.argv[1:])"
    command = [sys.executable, "-W", "ignore", "-c", code, name, role, size, "quick" if quick else ""]
    done = subprocess.run(command, cwd=FOLDER.parent, stdout=subprocess.PIPE, text=True, check=True)
    found: float | None = json.loads(done.stdout.splitlines()[-1])
    return found


def tell_peak(name: str, role: str, size: str, quick: str) -> None:
    """Print what :func:`peak` reads; runs in the process that is measured."""
    benchmark: Benchmark = importlib.import_module(f"benchmarks.{name}").BENCHMARK
    state = benchmark.state(size, bool(quick))
    print(f"\n{json.dumps(held(lambda: benchmark.works()[role](state)))}")


def _ratio(above: Sequence[float], below: Sequence[float]) -> dict[str, float]:
    return _spread([one / other for one, other in zip(above, below, strict=True)])


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
    lines = [f"{'benchmark':<40} {'ratio':>8} {'min':>8} {'max':>8} {'bar':>6}  result"]
    for row in rows:
        name = _title(row)
        if "skipped" in row:
            lines.append(f"{name:<40} {'-':>8} {'-':>8} {'-':>8} {row['bar']:>6.2f}  skipped")
            lines.append(f"    {row['skipped']}")
            continue
        ratio = row["ratio"]
        numbers = " ".join(f"{ratio[key]:>8.2f}" for key in ("median", "min", "max"))
        lines.append(f"{name:<40} {numbers} {row['bar']:>6.2f}  {'ok' if row['passed'] else 'MISSED'}")
        unit = row["unit"]
        costs = row["seconds" if unit == "s" else unit]
        times = ", ".join(f"{role} {spread['median']:.3g} {unit}" for role, spread in costs.items())
        lines.append(f"    {row['compares']}: {times}")
        notes = [f"beside {row['rival']}"] if "rival" in row else []
        notes += [f"{role} {mib:.0f} MiB" for role, mib in row.get("memory", {}).items()]
        notes += [f"{key} {value:.4g}" for key, value in row.get("facts", {}).items()]
        lines += [f"    {', '.join(notes)}"] if notes else []
    return "\n".join(lines)


def _title(row: Mapping[str, Any]) -> str:
    return f"{row['name']}, {row['size']}" if "size" in row else str(row["name"])


def merged(rows: Sequence[Mapping[str, Any]], results: Path) -> list[Mapping[str, Any]]:
    """The rows, and those of other subjects that the results file holds, by name."""
    old = json.loads(results.read_text(encoding="utf-8"))["benchmarks"] if results.is_file() else []
    measured = {row["name"] for row in rows}
    return sorted((*(row for row in old if row["name"] not in measured), *rows), key=lambda row: str(row["name"]))


def run(
    benchmarks: Sequence[Benchmark],
    *,
    quick: bool = False,
    results: Path | None = RESULTS,
    keep: bool = False,
    memory: bool = False,
) -> int:
    """Measure all, print the table, write the results file; return 1 if a bar is missed.

    With ``keep`` the file keeps the rows of subjects that were not measured; each row says when and where it was, and
    how many jobs the machine had in the minute before (`load`). ``memory``: whether peaks are measured, too.
    """
    rows = []
    asked = [(benchmark, size) for benchmark in benchmarks for size in benchmark.sizes]
    for number, (benchmark, size) in enumerate(asked, start=1):
        print(f"[{number}/{len(asked)}] {benchmark.name} {size}".rstrip(), "...", file=sys.stderr, flush=True)
        here = environment()
        where = {key: here[key] for key in ("commit", "date", "hardware")}
        where["load"] = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
        rows.append({**measure(benchmark, size, quick=quick, memory=memory), "measured": where})
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
            f"{_title(row)}: the ratio {row['ratio']['median']:.2f} is below the bar {row['bar']:.2f}. "
            f"Run `python -m benchmarks --only {row['name']}` on an idle machine; "
            "if it stays below, the subject has become costlier.",
            file=sys.stderr,
        )
    return 1 if missed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run; see the module docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed against peers.")
    parser.add_argument("--only", metavar="NAME", action="append", help="run this subject; may be repeated")
    parser.add_argument("--quick", action="store_true", help="small states, at most 3 rounds, no memory")
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
    return run(benchmarks, quick=options.quick, results=results, keep=bool(options.only), memory=not options.quick)
