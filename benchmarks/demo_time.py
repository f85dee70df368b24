"""`hf-fairness demo`, whole, as it is and as it was at an earlier commit: seconds of the processor, and the numbers.

    python -m benchmarks.demo_time --before COMMIT    ten minutes of one core a round; writes results/demo_time.json

Each round runs the command twice, one after the other, in processes of one thread that differ in nothing but the
package that they import.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.hot_paths import FOLDERS, package
from benchmarks.runner import git
from benchmarks.study import RESULTS, ROOT, write_results
from hf_fairness.report.markdown import markdown_table

CONFIG: dict[str, Any] = {
    "rounds": 1,
    "sources": [
        "benchmarks/demo_time.py",
        "hf_fairness/_linear.py",
        "hf_fairness/_encoder_adapters.py",
        "trainers/ccd/*.py",
        "trainers/training/guarded.py",
    ],
}
#: The share of the earlier seconds that the command may take.
BAR = 0.6
#: How far a number of the report may lie from the earlier one: below what its tables show.
TOLERANCE = 5e-4


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a JSON value, with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{path}/{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from numbers(item, f"{path}/{index}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, float(value)


def run(place: Path, output: Path, *options: str) -> tuple[float, dict[str, float]]:
    """Run the command with the package of a folder: seconds of the processor, and the numbers that it reports."""
    code = "import sys; from hf_fairness.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-W", "ignore", "-c", code, "demo", "--output_dir", str(output), *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The demo of {place} failed:\n{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report = json.loads((output / "report" / "results.json").read_text(encoding="utf-8"))
    return seconds, dict(numbers(report["results"]))


def study(before: str, rounds: int, *options: str) -> dict[str, Any]:
    """The command, before and after.

    Args:
        before: the commit.
        rounds: how often both run.
        options: further arguments of the command.

    Returns:
        ``before``: the commit; ``seconds_before`` and ``seconds``: medians; ``share``: of the earlier seconds, median
        of the rounds; ``n_numbers``: of the report that both have; ``n_differ``: those further apart than `TOLERANCE`;
        ``largest_difference``.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        git("archive", "--output", str(folder / "old.tar"), before, "hf_fairness", *FOLDERS)
        with tarfile.open(folder / "old.tar") as archive:
            archive.extractall(folder / "old", filter="data")
        places = [package(folder / "old", folder / "before"), package(ROOT, folder / "after")]
        found = [[run(place, folder / f"{place.name}-{turn}", *options) for place in places] for turn in range(rounds)]
    then, now = (each for _, each in found[-1])
    apart = [abs(then[key] - now[key]) for key in then.keys() & now.keys()]
    return {
        "before": git("rev-parse", "--short", before).strip(),
        "seconds_before": statistics.median(one for (one, _), _ in found),
        "seconds": statistics.median(one for _, (one, _) in found),
        "share": statistics.median(after / before for (before, _), (after, _) in found),
        "n_numbers": len(apart),
        "n_differ": sum(one > TOLERANCE for one in apart),
        "largest_difference": max(apart),
    }


def table(results: Mapping[str, Any]) -> str:
    """The results for a page."""
    met = "met" if results["share"] <= BAR else "not met"
    rows = [
        [f"CPU-seconds at {results['before']}", "CPU-seconds", f"share (at most {BAR:g})", "numbers of the report"],
        [
            f"{results['seconds_before']:.0f}",
            f"{results['seconds']:.0f}",
            f"{results['share']:.2f}, {met}",
            f"{results['n_numbers']:,}; {results['n_differ']:,} further apart than {TOLERANCE:g}, at most "
            f"{results['largest_difference']:.1g}",
        ],
    ]
    return markdown_table(rows, trusted=True)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.demo_time", description=__doc__.split("\n")[0])
    parser.add_argument("--before", metavar="COMMIT", required=True, help="the commit that today's is held against")
    results = study(parser.parse_args().before, CONFIG["rounds"])
    print(table(results))
    print(f"Results: {write_results(RESULTS / 'demo_time.json', CONFIG, results)}")


if __name__ == "__main__":
    main()
