"""The hot paths that profiles show, as they are and as they were at an earlier commit, in turns and at the same result.

    python -m benchmarks.hot_paths --before COMMIT    five minutes of one core; writes results/hot_paths.json

Each round runs a work twice, in processes of their own that differ in nothing but the package that they import: that of
the working tree, and that of the commit. Time is that of the processor. What both give must be equal, to the last byte,
but for what was mended between them (`MENDED`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.runner import FOLDER, git
from benchmarks.study import RESULTS, ROOT, write_results
from hf_fairness.report.markdown import markdown_table

DATA = ROOT.parent / "shared" / "data" / "gfst"
#: Folders of the project that are parts of the package.
FOLDERS = ("trainers", "metrics", "dataset_scripts")
CONFIG: dict[str, Any] = {
    "rounds": 5,
    "sources": [
        "benchmarks/hot_paths.py",
        "hf_fairness/augment/*.py",
        "hf_fairness/maps.py",
        "hf_fairness/scores/group*.py",
        "hf_fairness/scores/labels.py",
    ],
}
#: The part of its input that a quick run takes.
QUICK = 20

#: What group metrics give otherwise than at earlier commits, by intent: its lower end never reached 0 there.
MENDED = ("equalized_odds_ci95",)

Work = Callable[[], Any]


def _news(quick: bool) -> list[str]:
    texts = [text for path in sorted(DATA.glob("*.en")) for text in path.read_text(encoding="utf-8").splitlines()]
    return texts[:: QUICK if quick else 1]


def _mapped(function: Callable[[Any], Any], texts: list[str]) -> list[Any]:
    return [function({"text": texts[start : start + 1000]}) for start in range(0, len(texts), 1000)]


def swap(quick: bool) -> Work:
    """Counterfactuals of news sentences."""
    from hf_fairness.augment import CounterfactualSwap

    function, texts = CounterfactualSwap("text"), _news(quick)
    return lambda: _mapped(function, texts)


def cda(quick: bool) -> Work:
    """News sentences, and after each its counterfactual."""
    from hf_fairness.augment import CounterfactualAugmentation

    function, texts = CounterfactualAugmentation("text"), _news(quick)
    return lambda: _mapped(function, texts)


def variants(quick: bool) -> Work:
    """News sentences once for each group, and once for none."""
    from hf_fairness.augment import GroupVariants

    function, texts = GroupVariants("text"), _news(quick)[::4]
    return lambda: _mapped(function, texts)


def groups(quick: bool) -> Work:
    """Equalized odds of arrays of a million rows, all but what was mended."""
    from hf_fairness.scores.groups import equalized_odds

    n, rng = 1_000_000 // (QUICK if quick else 1), np.random.default_rng(0)
    arrays = [*rng.integers(0, 2, (2, n)), np.array(["a", "b", "c", "d"])[rng.integers(0, 4, n)]]
    return lambda: _unmended(equalized_odds(*arrays))


def columns(quick: bool) -> Work:
    """The same of columns of a data set, as the search of the data diet reads them."""
    from datasets import Dataset

    from hf_fairness.scores.groups import equalized_odds

    n, rng = 200_000 // (QUICK if quick else 1), np.random.default_rng(0)
    predictions, references, group = [*rng.integers(0, 2, (2, n)), rng.integers(0, 4, n)]
    rows = Dataset.from_dict({"prediction": predictions, "label": references, "group": group})
    names = ("prediction", "label", "group")
    return lambda: _unmended(equalized_odds(*(rows[name] for name in names)))


def _unmended(result: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key not in MENDED}


#: What is measured, by the words of the table.
WORKS: dict[str, Callable[[bool], Work]] = {
    "swap of 116,000 news sentences": swap,
    "CDA of 116,000 news sentences": cda,
    "variants of 29,000 news sentences": variants,
    "group metrics of a million rows": groups,
    "group metrics of 200,000 rows of a data set": columns,
}


def tell(name: str, quick: str) -> None:
    """Print the seconds of a work, and a digest of what it gives; runs in a process of its own."""
    work = WORKS[name](bool(quick))
    start = time.process_time()
    made = work()
    seconds = time.process_time() - start
    print(f"\n{json.dumps([seconds, hashlib.sha256(repr(made).encode(errors='surrogatepass')).hexdigest()])}")


def package(tree: Path, folder: Path) -> Path:
    """A folder from which the package of a tree is imported."""
    (folder / "hf_fairness").mkdir(parents=True)
    for path in [*(tree / "hf_fairness").iterdir(), *(tree / name for name in FOLDERS)]:
        (folder / "hf_fairness" / path.name).symlink_to(path)
    return folder


def packages(commit: str, folder: Path) -> list[Path]:
    """Two folders within one: from the first the package of a commit is imported, from the second today's."""
    old = folder / "old"
    git("archive", "--output", f"{old}.tar", commit, "hf_fairness", *FOLDERS)
    with tarfile.open(f"{old}.tar") as archive:
        archive.extractall(old, filter="data")
    return [package(old, folder / "before"), package(ROOT, folder / "after")]


def apart(name: str, folder: Path, quick: bool) -> tuple[float, str]:
    """What :func:`tell` says of a work with the package of a folder."""
    code = "import sys; from benchmarks.hot_paths import tell; tell(*sys.argv[1:])"
    command = [sys.executable, "-W", "ignore", "-c", code, name, "quick" if quick else ""]
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    seconds, digest = json.loads(done.stdout.splitlines()[-1])
    return float(seconds), str(digest)


def study(before: str, *, quick: bool = False) -> dict[str, Any]:
    """Every work, before and after.

    Args:
        before: the commit.
        quick: a small part of every input, and three rounds.

    Returns:
        ``before``: the commit; ``works``: name -> ``before``, ``after`` (median seconds) and ``ratio``, before / after:
        median, least and greatest of the rounds.

    Raises:
        ValueError: the two give something else.
    """
    works: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        places = packages(before, Path(temporary))
        for name in WORKS:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rounds = []
            for turn in range(3 if quick else CONFIG["rounds"]):
                found = {place: apart(name, place, quick) for place in places[:: 1 if turn % 2 else -1]}
                if len({digest for _, digest in found.values()}) > 1:
                    raise ValueError(f"{name}: today's package and that of {before} give something else.")
                rounds.append([found[place][0] for place in places])
            ratios = [old_seconds / seconds for old_seconds, seconds in rounds]
            seconds = [statistics.median(each) for each in zip(*rounds, strict=True)]
            works[name] = dict(zip(("before", "after"), seconds, strict=True))
            works[name]["ratio"] = {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}
    return {"before": git("rev-parse", "--short", before).strip(), "works": works}


def table(results: Mapping[str, Any]) -> str:
    """The results for a page."""
    rows = [["hot path", f"seconds at {results['before']}", "seconds", "times as fast"]]
    for name, work in results["works"].items():
        ratio = "{median:.2f} ({min:.2f} to {max:.2f})".format(**work["ratio"])
        rows.append([name, f"{work['before']:.2f}", f"{work['after']:.2f}", ratio])
    return markdown_table(rows, trusted=True)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hot_paths", description=__doc__.split("\n")[0])
    parser.add_argument("--before", metavar="COMMIT", required=True, help="the commit that today's is held against")
    parser.add_argument("--quick", action="store_true", help="a small part of every input; nothing is written")
    options = parser.parse_args()
    results = study(options.before, quick=options.quick)
    print(table(results))
    if not options.quick:
        print(f"Results: {write_results(RESULTS / 'hot_paths.json', CONFIG, results)}")


if __name__ == "__main__":
    main()
