"""Write the numbers of the small runs of all commands anew: ``golden/frozen/<run>.json``.

    OMP_NUM_THREADS=1 PYTHONPATH=tests python -m support.freeze [RUN ...]

The rule: only when an issue names a change of numbers, and then in a commit of its own that says which numbers changed
and why. A redesign of reports, names or files changes the readers in `frozen_runs.py` and leaves the numbers alone.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from support import frozen_runs


def main() -> None:
    """Run the commands, print what changed, write."""
    from hf_fairness.runs import atomic_write_json

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="RUN", help=f"of {', '.join(frozen_runs.RUNS)}; default: all")
    names = parser.parse_args().names or list(frozen_runs.RUNS)
    if unknown := [name for name in names if name not in frozen_runs.RUNS]:
        parser.error(f"no run is called {unknown[0]!r}; there are {', '.join(frozen_runs.RUNS)}")
    for name in names:
        path = frozen_runs.FOLDER / f"{name}.json"
        with tempfile.TemporaryDirectory() as folder:
            found = frozen_runs.run(name, Path(folder) / name)
        lines = frozen_runs.differences(found, frozen_runs.frozen(name) if path.is_file() else {})
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write_json(path, found)
        print(f"{path}: {len(found)} numbers, {len(lines)} of them missing, new or changed", *lines, sep="\n  ")


if __name__ == "__main__":
    main()
