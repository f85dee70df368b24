"""`hf-fairness demo`, whole, as it is and as it was at an earlier commit: seconds of the processor, and the numbers.

    python -m benchmarks.demo_time --before COMMIT    eight minutes of one core; writes results/demo_time.json

The command runs twice, one after the other, in processes of one thread that differ in nothing but the package that they
import.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.hot_paths import packages
from benchmarks.runner import git
from benchmarks.study import RESULTS, write_results
from hf_fairness import flatten
from hf_fairness.report.markdown import markdown_table

CONFIG: dict[str, Any] = {
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


def run(place: Path, output: Path) -> tuple[float, dict[str, int | float]]:
    """Run the command with the package of a folder: seconds of the processor, and the numbers that it reports."""
    code = "import sys; from hf_fairness.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-W", "ignore", "-c", code, "demo", "--output_dir", str(output)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The demo of {place} failed:\n{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report = json.loads((output / "report" / "results.json").read_text(encoding="utf-8"))
    return seconds, flatten(report["results"])


def study(before: str) -> dict[str, Any]:
    """The command, before and after.

    Args:
        before: the commit.

    Returns:
        ``before``: the commit; ``seconds_before`` and ``seconds``; ``share``: of the earlier seconds; ``n_numbers``: of
        the report that both have; ``n_differ``: those further apart than `TOLERANCE`; ``largest_difference``.
    """
    with tempfile.TemporaryDirectory() as temporary:
        places = packages(before, Path(temporary))
        (earlier, then), (seconds, now) = (run(place, Path(temporary, f"{place.name}-demo")) for place in places)
    apart = [abs(then[key] - now[key]) for key in then.keys() & now.keys()]
    return {
        "before": git("rev-parse", "--short", before).strip(),
        "seconds_before": earlier,
        "seconds": seconds,
        "share": seconds / earlier,
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
    results = study(parser.parse_args().before)
    print(table(results))
    print(f"Results: {write_results(RESULTS / 'demo_time.json', CONFIG, results)}")


if __name__ == "__main__":
    main()
