"""Results of slow studies: written once with the commit, date, versions and hardware they belong to.

A study is a module `benchmarks/<name>.py` that runs for minutes (`make slow`), declares its settings and the
files that decide its numbers, and writes its results once:

    CONFIG = {"seeds": [0, 1, 2], "sources": ["benchmarks/my_study.py", "hf_fairness/losses/*.py"]}
    write_results(RESULTS / "my_study.json", CONFIG, results)       # in the study
    read_results(RESULTS / "my_study.json")                         # in a quick test, in a table
    changed_since(RESULTS / "my_study.json")                        # `python -m benchmarks --stale` prints it

Results that are older than their code are listed, they fail no test: a study is no reason to leave code as it
is. A quick test runs the study small instead and asserts the direction. `sources` are paths or globs from the
top folder of the project; comments, docstrings and blank lines of Python files change no number and do not count.
"""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.runner import environment
from hf_fairness.record import Record
from hf_fairness.runs import atomic_write_json, content_key

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def write_results(path: Path, config: Mapping[str, Any], results: Any, *, root: Path = ROOT) -> Path:
    """Write the results of a study with its sources' hashes, commit, date, versions and hardware, in one step.

    Raises:
        ValueError: `config["sources"]` is missing, or names no file; the results hold NaN.
        TypeError: config or results cannot be written as JSON.
    """
    record = {
        **environment(),
        "config": dict(config),
        "source_hashes": source_hashes(config, root=root),
        "results": results,
    }
    return atomic_write_json(path, record)


def read_record(path: Path) -> dict[str, Any]:
    """What `write_results` wrote: results, and what they belong to.

    Raises:
        FileNotFoundError: the study has not been run; the message says how.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist. Run the study {path.stem!r} (`make slow`).")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def read_results(path: Path) -> Any:
    """The results of a study, whether or not its code has changed since."""
    return read_record(path)["results"]


def changed_since(path: Path, *, root: Path = ROOT) -> list[str]:
    """Files that decide a study's numbers and are no longer as they were when it ran; empty: the results are today's.

    Files that have gone, or that a glob among the sources takes in by now, count too.
    """
    record = read_record(path)
    old, new = record["source_hashes"], source_hashes(record["config"], root=root, missing_ok=True)
    return [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]


def made_by(record: Mapping[str, Any]) -> str:
    """Commit and date of a record, in words for the line below a table."""
    commit, _, dirty = str(record["commit"]).partition("+")
    return f"commit {commit[:7]}{' with changes' if dirty else ''}, {str(record['date'])[:10]}"


def stale_lines(folder: Path = RESULTS, *, root: Path = ROOT) -> list[str]:
    """A line for each results file: of which commit it is, and which of its sources have changed since."""
    lines = []
    for path in sorted(folder.glob("*.json")):
        changed = changed_since(path, root=root)
        state = f"{len(changed)} sources changed since: {', '.join(changed)}" if changed else "as its code"
        lines.append(f"{path.stem} ({made_by(read_record(path))}): {state}")
    return lines


def numbers(record: Record) -> dict[str, Any]:
    """``measures``: id -> title and value by arm; ``gaps``: id -> ``"a - b"`` -> difference, interval, verdict."""
    gaps: dict[str, Any] = {}
    for gap in record.gaps:
        shown = {"difference": gap.difference, "ci95": gap.ci95, "verdict": gap.verdict}
        gaps.setdefault(gap.measure, {})[f"{gap.arm} - {gap.against}"] = shown
    measures = {
        each.id: {
            "title": each.title,
            "ideal": each.ideal,
            "values": {arm: {"value": value.value, "ci95": value.ci95} for arm, value in each.values.items()},
        }
        for each in record.measures
    }
    return {"measures": measures, "gaps": gaps}


def source_hashes(config: Mapping[str, Any], *, root: Path = ROOT, missing_ok: bool = False) -> dict[str, str]:
    """Hash each file that `config["sources"]` names.

    Raises:
        ValueError: `sources` is missing or empty, or one entry names no file and `missing_ok` is False.
    """
    patterns = config.get("sources")
    if not patterns or isinstance(patterns, str):
        raise ValueError("A study's config needs 'sources': a list of the files that decide its numbers.")
    files: set[Path] = set()
    for pattern in patterns:
        found = {path for path in root.glob(pattern) if path.is_file()}
        if not found and not missing_ok:
            raise ValueError(f"sources: {pattern!r} names no file below {root}.")
        files |= found
    return {file.relative_to(root).as_posix(): _file_hash(file) for file in sorted(files)}


def _file_hash(path: Path) -> str:
    if path.suffix != ".py":
        return content_key(path)
    return content_key(code_only(path.read_text(encoding="utf-8")))


def code_only(source: str) -> str:
    """Leave out comments, docstrings and blank lines; the same on every version of Python."""
    lines = source.splitlines()
    gone = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        row, column = token.start
        if token.type == tokenize.COMMENT:
            lines[row - 1] = lines[row - 1][:column].rstrip()
        if token.type in (tokenize.COMMENT, tokenize.NL) and not lines[row - 1].strip():
            gone.add(row)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                gone.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return "\n".join(line for row, line in enumerate(lines, start=1) if row not in gone)
