"""How large is what? Statements per folder, beside those of an earlier commit; and the modules that a command enters.

    python -m benchmarks.code_size [--before COMMIT]      statements
    python -m benchmarks.code_size --files                every file of the carrying layers, the largest first
    python -m benchmarks.code_size --way ccd              modules of the package in which a small run calls a function

Statements are those of Python's grammar, without imports and docstrings: neither blank lines nor how a call is broken
into lines count. Nodes are those of the syntax tree, counted likewise: they do not fall where several statements are
crammed into one. The carrying layers are what stands between the methods and the people who call them: methods (without
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
from hf_fairness import trainers
from hf_fairness.results import columns

#: Top folders of code.
TOP = ("hf_fairness", "metrics", "dataset_scripts", "trainers", "benchmarks", "tests")
#: What is counted.
KINDS = ("files", "lines", "statements", "nodes")
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


def counted(source: str) -> Counter[str]:
    """Statements and nodes of a file, without imports and docstrings."""
    found, left = Counter[str](), [ast.parse(source)]
    while left:
        node: ast.AST = left.pop()
        documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        said = node.body[0] if documented and ast.get_docstring(node) is not None else None
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(statements=isinstance(node, ast.stmt), nodes=1)
            left += [child for child in ast.iter_child_nodes(node) if child is not said]
    return found


def files(commit: str | None) -> Iterator[tuple[str, str]]:
    """Path and text of each Python file of the working tree, or of a commit."""
    if commit is None:
        for path in sorted(path for top in TOP for path in (ROOT / top).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        return
    for name in git("ls-tree", "-r", "--name-only", commit, *TOP).splitlines():
        if name.endswith(".py"):
            yield name, git("show", f"{commit}:{name}")


def layer_of(name: str) -> str:
    """Carrying layer of a file; empty for one of none."""
    return next((layer for layer, globs in LAYERS.items() if any(fnmatch(name, each) for each in globs)), "")


def sizes(commit: str | None, *, by_file: bool = False) -> dict[str, Counter[str]]:
    """Files, lines, statements and nodes: by top folder and carrying layer, or of each file of the layers."""
    found: dict[str, Counter[str]] = {}
    for name, text in files(commit):
        layer, size = layer_of(name), Counter({"files": 1, "lines": text.count("\n"), **counted(text)})
        for key in [name] if by_file else [name.partition("/")[0], layer, "carrying layers"]:
            if layer or key == name.partition("/")[0]:
                found.setdefault(key, Counter()).update(size)
    return found


def size_table(before: str | None, *, by_file: bool = False) -> str:
    """Sizes of today, beside those of a commit."""
    now, then = sizes(None, by_file=by_file), sizes(before, by_file=by_file) if before else {}
    rows = [("", *(f"{kind}{said}" for kind in KINDS for said in ((" before", "") if before else ("",))))]
    listed = sorted(now, key=lambda name: -now[name]["statements"]) if by_file else (*TOP, *LAYERS, "carrying layers")
    for key in (key for key in listed if key in now or key in then):
        pairs = [(then.get(key, Counter())[kind], now.get(key, Counter())[kind]) for kind in KINDS]
        rows.append((key, *(f"{size:,}" for pair in pairs for size in (pair if before else pair[1:]))))
    return "\n".join(columns(rows, left=(0,)))


def way(name: str) -> list[str]:
    """Modules of the package in which the small run of a command (one of the frozen ones) calls a function."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support import frozen_runs

    for package in (hf_fairness, trainers):  # an editable install does not show the second in the first
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
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
    parser.add_argument("--files", action="store_true", help="list the files of the carrying layers")
    options = parser.parse_args()
    if options.way:
        modules = way(options.way)
        print(*modules, f"{len(modules)} modules", sep="\n")
    else:
        print(size_table(options.before, by_file=options.files))


if __name__ == "__main__":
    main()
