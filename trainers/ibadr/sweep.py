"""IBADR for several values of a setting: the tables of the paper that vary one thing at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from datasets import Dataset

from hf_fairness.report import write_report
from hf_fairness.report.ibadr_record import sweep_record
from hf_fairness.scores.compare import gap_over_seeds
from hf_fairness.scores.statistics import over_seeds
from hf_fairness.trainers.ibadr.arguments import SWEEPS, IBADRArguments
from hf_fairness.trainers.ibadr.config import IBADRConfig
from hf_fairness.trainers.ibadr.evaluation import PAIRS
from hf_fairness.trainers.ibadr.recipe import run_ibadr
from hf_fairness.utils import is_main_process

FORMAT = "hf-fairness/ibadr-sweep/1"


def sweep_ibadr(arguments: IBADRArguments, config: IBADRConfig, train: Dataset, **given: Any) -> dict[str, Any]:
    """One run per value, each in a folder of its own and each taken up where it stopped.

    Args:
        arguments: of all runs; ``sweep`` says what varies.
        config: settings of all runs; each has a folder of its own in ``output_dir``.
        train: rows to refine.
        given: further arguments of :func:`~hf_fairness.trainers.ibadr.recipe.run_ibadr`.

    Returns:
        ``cells``: for each ``name``, ``value``, accuracies of the arms on each set with intervals, numbers of rows, and
        differences; ``over_seeds``, where seeds vary: set -> arm -> mean with Student's interval over seeds, and set ->
        ``"a - b"`` -> the paired difference over seeds; ``record``; ``files``.

    Raises:
        ValueError: no sweep, or a value of the wrong kind.
    """
    cells = []
    for name, values in arguments.sweeps().items():
        for text in values:
            value = _typed(name, text)
            folder = Path(str(config.output_dir)) / "sweep" / re.sub(r"[^A-Za-z0-9.-]+", "_", f"{name}-{text}")
            changes: dict[str, Any] = {"output_dir": str(folder)}
            others: dict[str, Any] = {"sweep": None}
            (changes if name in {entry.name for entry in fields(IBADRConfig)} else others)[name] = value
            own, what = replace(config, **changes), replace(arguments, **others)
            cells.append(_cell(name, value, run_ibadr(what, own, train, **given)))
    if not cells:
        raise ValueError(f"--sweep is empty; expected NAME=VALUE,VALUE... with one of {', '.join(SWEEPS)}.")
    found: dict[str, Any] = {"format": FORMAT, "sources": SWEEPS, "cells": cells}
    seeds = [cell for cell in cells if cell["name"] == "seed"]
    if len(seeds) > 1:
        found["over_seeds"] = _over_seeds(seeds)
    record = sweep_record(found, name=arguments.name)
    files = write_report(record, str(config.output_dir), result=found) if is_main_process() else {}
    return {**found, "record": record, "files": files}


def _typed(name: str, text: str) -> int | str:
    """A value as its field wants it."""
    kind = next(field.type for cls in (IBADRArguments, IBADRConfig) for field in fields(cls) if field.name == name)
    if "int" not in str(kind):
        return text
    try:
        return int(text)
    except ValueError as error:
        raise ValueError(f"--sweep of {name} has the value {text!r}, expected a whole number.") from error


def _cell(name: str, value: int | str, report: Mapping[str, Any]) -> dict[str, Any]:
    """What a table needs of one run."""
    results = {
        title: {arm: {key: found[key] for key in ("accuracy", "accuracy_ci95", "n")} for arm, found in arms.items()}
        for title, arms in report["results"].items()
    }
    keys = ("difference", "difference_ci95", "p_value")
    gaps = {
        title: {names: {key: gap[key] for key in keys} for names, gap in pairs.items()}
        for title, pairs in report["comparisons"].items()
    }
    shown = report["arguments"].get(name, value)
    return {
        "name": name,
        "value": shown,
        "rows": {"train": report["pool"]["n_original"], "added": report["pool"]["n_added"]},
        "results": results,
        "comparisons": gaps,
    }


def _over_seeds(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds, and differences of arms paired by seed."""
    found: dict[str, Any] = {}
    for title, arms in cells[0]["results"].items():
        values = {arm: [cell["results"][title][arm]["accuracy"] for cell in cells] for arm in arms}
        found[title] = {
            "arms": {arm: over_seeds(each, low=0.0, high=1.0) for arm, each in values.items()},
            "differences": {
                f"{a} - {b}": gap_over_seeds(values[a], values[b]) for a, b in PAIRS if a in values and b in values
            },
        }
    return found
