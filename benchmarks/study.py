"""Results of slow studies, and a check that they still belong to the code.

A study is a module `benchmarks/<name>.py` that runs for minutes (`make slow`), declares its settings and the
files that decide its numbers, and writes its results once:

    CONFIG = {"seeds": [0, 1, 2], "sources": ["benchmarks/my_study.py", "hf_fairness/losses/*.py"]}
    write_results(RESULTS / "my_study.json", CONFIG, results)       # in the study
    check_fresh(RESULTS / "my_study.json", CONFIG)                  # in a quick test: fails when it is stale

The results file holds a hash of the config and of the content of `sources` (paths or globs from the top
folder of the project; name the study's own file too). Comments, docstrings and blank lines of Python files do
not count: they change no number. The commit is recorded for readers and is no part of the hash.
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
from hf_fairness.runs import atomic_write_json, content_key

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


class StaleResultsError(AssertionError):
    """A results file is missing, or it was written by other code or with another config."""


def write_results(path: Path, config: Mapping[str, Any], results: Any, *, root: Path = ROOT) -> Path:
    """Write the results of a study with its hashes, commit, date, versions and hardware, in one step.

    Raises:
        ValueError: `config["sources"]` is missing, or names no file; the results hold NaN.
        TypeError: config or results cannot be written as JSON.
    """
    record = {
        **environment(),
        "config": dict(config),
        "config_hash": config_hash(config, root=root),
        "source_hashes": source_hashes(config, root=root),
        "results": results,
    }
    return atomic_write_json(path, record)


def check_fresh(path: Path, config: Mapping[str, Any] | None = None, *, root: Path = ROOT) -> Any:
    """Return the results of a study if its code and config are those of today.

    Args:
        path: a file of `write_results`.
        config: the study's config of today; None takes the recorded one and so checks the sources only.
        root: top folder of the project.

    Raises:
        StaleResultsError: the file is missing or stale; the message names what changed and what to run.
    """
    again = f"Run the study {path.stem!r} again (`make slow`) and commit {path.name}."
    if not path.is_file():
        raise StaleResultsError(f"{path} does not exist. {again}")
    record = json.loads(path.read_text(encoding="utf-8"))
    recorded = record["config"]
    today = recorded if config is None else json.loads(json.dumps(dict(config)))
    changed = [
        f"config[{key!r}]: {recorded.get(key)!r} -> {today.get(key)!r}"
        for key in sorted(recorded.keys() | today.keys())
        if recorded.get(key) != today.get(key)
    ]
    old, new = record["source_hashes"], source_hashes(today, root=root)
    changed += [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
    if changed or record["config_hash"] != config_hash(today, root=root):
        what = "; ".join(changed) or "the way hashes are made, or the file itself"
        raise StaleResultsError(f"{path.name} of commit {record['commit'][:12]} is stale: {what}. {again}")
    return record["results"]


def config_hash(config: Mapping[str, Any], *, root: Path = ROOT) -> str:
    """Hash the config and the content of its sources."""
    return content_key(json.loads(json.dumps(dict(config))), source_hashes(config, root=root))


def source_hashes(config: Mapping[str, Any], *, root: Path = ROOT) -> dict[str, str]:
    """Hash each file that `config["sources"]` names.

    Raises:
        ValueError: `sources` is missing or empty, or one entry names no file.
    """
    patterns = config.get("sources")
    if not patterns or isinstance(patterns, str):
        raise ValueError("A study's config needs 'sources': a list of the files that decide its numbers.")
    files: set[Path] = set()
    for pattern in patterns:
        found = {path for path in root.glob(pattern) if path.is_file()}
        if not found:
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
