"""How large is what? Statements per folder, beside those of an earlier commit; and the modules that a command enters.

    python -m benchmarks.code_size [--before COMMIT]      statements
    python -m benchmarks.code_size --way ccd              modules of the package in which a small run calls a function

Statements are those of Python's grammar, without imports and docstrings: neither blank lines nor how a call is broken
into lines count. The carrying layers are what stands between the methods and the people who call them: methods (without
their trainers, losses and samplers), spine, report and command line, wherever they lay.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import FrameType
from typing import Any

import hf_fairness
from benchmarks.runner import git
from benchmarks.study import ROOT
from hf_fairness.results import columns

#: Top folders of code.
TOP = ("hf_fairness", "metrics", "dataset_scripts", "trainers", "benchmarks", "tests")
#: The carrying layers by name: globs of their files, today and before there was a spine.
LAYERS: dict[str, tuple[str, ...]] = {
    "report": ("hf_fairness/report/*",),
    "command line": ("hf_fairness/cli/*", "hf_fairness/sources.py"),
    "spine": ("trainers/experiment.py", "trainers/training/encoder_method.py", "trainers/training/encoder_data.py"),
    "methods": (
        "trainers/recipes/*",
        *(f"trainers/*/{name}.py" for name in ("arguments", "command", "method", "summary", "sets", "sources")),
        *(f"trainers/gfst/{name}.py" for name in ("checks", "pairs")),
        *(f"trainers/ibadr/{name}.py" for name in ("classifiers", "data", "rounds")),
        *(f"trainers/data_diet/{name}.py" for name in ("choice", "data", "grid", "heads", "learners")),
    ),
}


def statements(source: str) -> int:
    """Number of statements of a file, without imports and docstrings."""
    nodes = list(ast.walk(ast.parse(source)))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = sum(ast.get_docstring(node) is not None for node in nodes if isinstance(node, documented))
    counted = sum(isinstance(node, ast.stmt) and not isinstance(node, (ast.Import, ast.ImportFrom)) for node in nodes)
    return counted - docstrings


def files(commit: str | None) -> Iterator[tuple[str, str]]:
    """Path and text of each Python file of the working tree, or of a commit."""
    if commit is None:
        for path in sorted(path for top in TOP for path in (ROOT / top).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        return
    for name in git("ls-tree", "-r", "--name-only", commit, *TOP).splitlines():
        if name.endswith(".py"):
            yield name, git("show", f"{commit}:{name}")


def sizes(commit: str | None) -> dict[str, Counter[str]]:
    """By top folder and carrying layer: files, lines, statements."""
    found: dict[str, Counter[str]] = {}
    for name, text in files(commit):
        layers = [layer for layer, globs in LAYERS.items() if any(fnmatch(name, each) for each in globs)]
        for key in [name.partition("/")[0], *layers[:1], *(["carrying layers"] if layers else [])]:
            one = {"files": 1, "lines": text.count("\n"), "statements": statements(text)}
            found.setdefault(key, Counter()).update(one)
    return found


def size_table(before: str | None) -> str:
    """Sizes of today, beside those of a commit."""
    now, then = sizes(None), sizes(before) if before else {}
    kinds = ("files", "lines", "statements")
    rows = [
        ("", *(f"{kind}{' before' if old else ''}" for kind in kinds for old in ([True, False] if before else [0])))
    ]
    for key in (*TOP, *LAYERS, "carrying layers"):
        if key in now or key in then:
            pairs = [(then.get(key, Counter())[kind], now.get(key, Counter())[kind]) for kind in kinds]
            rows.append((key, *(f"{size:,}" for pair in pairs for size in (pair if before else pair[1:]))))
    return "\n".join(columns(rows, left=(0,)))


def way(name: str) -> list[str]:
    """Modules of the package in which the small run of a command (one of the frozen ones) calls a function."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support import frozen_runs

    for module in pkgutil.walk_packages(hf_fairness.__path__, "hf_fairness."):
        if not module.name.endswith((".app", ".__main__")):  # these run something
            importlib.import_module(module.name)  # or what runs at an import counts as entered
    entered: set[str] = set()

    def called(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            entered.add(str(frame.f_globals.get("__name__", "")))

    with tempfile.TemporaryDirectory() as folder:
        sys.setprofile(called)
        try:
            frozen_runs.run(name, Path(folder) / name)
        finally:
            sys.setprofile(None)
    return sorted(module for module in entered if module.startswith("hf_fairness"))


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.code_size", description="Statements, or a way.")
    parser.add_argument("--before", metavar="COMMIT", help="put the sizes at this commit beside those of today")
    parser.add_argument("--way", metavar="RUN", help="list the modules that the small run of a command enters")
    options = parser.parse_args()
    if options.way:
        modules = way(options.way)
        print(*modules, f"{len(modules)} modules", sep="\n")
    else:
        print(size_table(options.before))


if __name__ == "__main__":
    main()
