"""Does IBADR undo an artefact that is planted? Sentence pairs with true labels, tiny models, three seeds, all arms.

    python -m benchmarks.ibadr_quality            the whole study; writes benchmarks/results/ibadr_quality.json
    python -m benchmarks.ibadr_quality --quick    one seed, a smaller world, two rounds; prints, writes nothing

All arms of a seed come from one call of `run_ibadr`, after one with the usual three, which is timed. Two processes of
one thread share the seeds; stages are kept in the output folder: a killed study goes on. Labels of samples are held
against what the sentences say, which only a planted world allows. CrossAug is not among the arms: its rules find no
number and no opposite in these sentences. Synonyms and models that fill in or translate would write words that the
tokenizer of the world does not know.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from scipy.special import stdtr

from benchmarks.study import RESULTS, ROOT, write_results
from hf_fairness.demo import planted_world, true_label
from hf_fairness.demo.planted import LABELS
from hf_fairness.demo.planted_models import planted_classifier, planted_generator, planted_tokenizer
from hf_fairness.report import plain
from hf_fairness.report.markdown import markdown_table
from hf_fairness.report.text import format_fixed
from hf_fairness.runs import atomic_write_json, content_key
from hf_fairness.scores.compare import gap_over_seeds
from hf_fairness.scores.multiple_tests import holm
from hf_fairness.scores.statistics import over_seeds
from hf_fairness.trainers import IBADRArguments, IBADRConfig, run_ibadr

FILE = RESULTS / "ibadr_quality.json"
#: Arms that are trained beside base, control and IBADR, with each kind of run; the second goes on from the first.
RUNS: dict[str, tuple[str, ...]] = {
    "usual": (),
    "all": (
        *("reweight", "confreg", "dct", "z_filter", "text_swap", "poe", "z_filter_poe", "ibadr_poe"),
        *("without_update", "lowest_indicator", "without_update_lowest", "without_indicators", "without_rounds"),
        "biased_filter",
    ),
}
#: Arms of the tables.
ARMS = ("base", "control", "ibadr", *RUNS["all"])
RIVALS = RUNS["all"][:7]
#: Arms whose rounds are reported, with what they are without them.
ROUNDS = ("ibadr", "without_indicators", "biased_filter")
#: Arms that the bars speak of.
JUDGED = ("base", "control", *ROUNDS)
#: Reversed: no row's marker speaks for its label. Removed: markers are drawn without regard to labels.
SETS = ("validation", "reversed", "removed")
#: All comparisons that are made, on every set; those of one set are one family for Holm.
COMPARED = (
    *(("ibadr", other) for other in ARMS if other not in ("ibadr", "ibadr_poe")),
    *((rival, "base") for rival in RIVALS),
    ("ibadr_poe", "ibadr"),
)

CONFIG: dict[str, Any] = {
    "seeds": [0, 1, 2],
    "pilot_seeds": [100, 101, 102],
    "world": {"n": 3000, "artefact_strength": 0.95, "n_validation": 1000, "n_challenge": 1000},
    "settings": {
        "n_shallow": 1000,
        "shallow_num_train_epochs": 3,
        "shallow_learning_rate": 1e-3,
        "n_iterations": 3,
        "n_generated": 3000,
        "generator_num_train_epochs": 12,
        "generator_later_num_train_epochs": 4,
        "generator_learning_rate": 2e-3,
        "generator_per_device_train_batch_size": 64,
        "max_new_tokens": 40,
        "sampling_batch_size": 500,
        "num_train_epochs": 4,
        "early_stopping_patience": 4,
        "learning_rate": 1e-3,
        "per_device_train_batch_size": 64,
        "check_agreement": False,
        "probe": False,
    },
    "models": "planted_classifier (BERT, 2 layers of 96) as classifier and shallow model, planted_generator (GPT-2)",
    "arms": list(ARMS),
    "bars": {"minutes": 8, "above_base": 0.30, "above_control": 0.20, "above_without_indicators": 0.15},
    "sources": [
        "benchmarks/ibadr_quality.py",
        "hf_fairness/demo/planted*",
        "hf_fairness/losses/bias_inputs.py",
        "hf_fairness/losses/confidence_regularization.py",
        "hf_fairness/losses/dct.py",
        "hf_fairness/losses/product_of_experts.py",
        "hf_fairness/losses/reweight.py",
        "hf_fairness/refine/z_*.py",
        "trainers/training/bias_*.py",
        "trainers/training/dct.py",
        "trainers/ibadr/*.py",
        "trainers/training/pair_*.py",
    ],
}
#: What a quick run changes in the world and in the settings.
QUICK = {"n": 2000, "artefact_strength": 0.9, "n_challenge": 500, "n_validation": 500}
QUICK_SETTINGS = {"n_iterations": 2, "n_generated": 2500}
#: Range of accuracies and shares.
RATE = {"low": 0.0, "high": 1.0}


def worlds(seed: int, *, quick: bool = False) -> Any:
    """The world of a seed, with both challenge sets."""
    sizes = {**CONFIG["world"], **(QUICK if quick else {})}
    world = planted_world(**sizes, seed=seed)
    removed = planted_world(**{**sizes, "n": 1}, seed=seed, challenge_strength=1 / 3).challenge
    return world, {"reversed": world.challenge, "removed": removed}


def config() -> dict[str, Any]:
    """The settings, and a key of the rows as they are written today."""
    world, challenge = worlds(CONFIG["seeds"][0])
    return {**CONFIG, "rows": content_key(world.train, world.validation, *challenge.values())}


def run_cell(kind: str, seed: int, folder: str, quick: bool = False) -> dict[str, Any]:
    """One run with one seed; what it returns holds no texts.

    Args:
        kind: of ``RUNS``.
        seed: of the world and of every draw.
        folder: of the run; ``all`` goes on in that of ``usual``.
        quick: a smaller world and two rounds.

    Returns:
        ``accuracy``: set -> arm; ``labels``: the same per gold label; ``rounds``: arm -> rounds; ``steps``; ``rows``;
        ``added``: rows that a z-filter or an augmentation made and left; ``seconds`` by stage.
    """
    world, challenge = worlds(seed, quick=quick)
    tokenizer, plain_tokenizer = planted_tokenizer(), planted_tokenizer(pairs=False)
    settings = {**CONFIG["settings"], **(QUICK_SETTINGS if quick else {})}
    arguments = IBADRArguments(arms=list(RUNS[kind]), probe=settings.pop("probe"))
    cpu = time.process_time()
    report = run_ibadr(
        arguments,
        IBADRConfig(**settings, seed=seed, use_cpu=True, output_dir=folder),
        world.train,
        validation=world.validation,
        challenge=challenge,
        model=(planted_classifier(tokenizer), tokenizer),
        generator=(planted_generator(plain_tokenizer), plain_tokenizer),
        anti_artefact=world.anti_artefact,
    )
    results, stages = report["results"], json.loads(Path(folder, "manifest.json").read_text(encoding="utf-8"))["stages"]
    rounds = {"ibadr": report["rounds"], **report.get("ablations", {})}
    return {
        "accuracy": {name: {arm: found["accuracy"] for arm, found in results[name].items()} for name in results},
        "labels": {
            name: {
                arm: {label: entry["accuracy"] for label, entry in found["labels"].items()}
                for arm, found in results[name].items()
            }
            for name in results
        },
        "rounds": {
            arm: [describe_round(each, _samples(Path(folder), arm, each["round"])) for each in rounds[arm]]
            for arm in ROUNDS
            if arm in rounds
        },
        "steps": {arm: found["steps"] for arm, found in report["arms"].items()},
        "rows": {arm: found["n_rows"] for arm, found in report["arms"].items()},
        "added": report.get("added", {}),
        "seconds": {entry["stage"]: entry["seconds"] for entry in stages if entry["status"] == "done"},
        "cpu_seconds": time.process_time() - cpu,
    }


def _samples(folder: Path, arm: str, number: int) -> Path:
    """Where the samples of a round of an arm are: among its own stages, or among those that it shares with IBADR."""
    own = folder / f"samples-{number}-{arm}"
    return own if own.is_dir() else folder / f"samples-{number}"


def describe_round(found: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What a round drew and kept, and how many of its labels are true by what the sentences say."""
    rows = Dataset.from_parquet(str(folder / "accepted.parquet"), keep_in_memory=True)
    truths = [true_label(row["premise"], row["hypothesis"]) for row in rows]
    readable = [(truth, LABELS[row["label"]]) for truth, row in zip(truths, rows, strict=True) if truth is not None]
    return {
        "counts": found["counts"],
        "anti_artefact": {side: each["anti_artefact_share"] for side, each in found["anti_artefact"].items()},
        "sentences_of_the_world": len(readable) / len(rows),
        "true_labels": float(np.mean([truth == label for truth, label in readable])) if readable else 0.0,
        "generator_loss": found["generator"]["loss"],
    }


def study(output_dir: Path, *, quick: bool = False) -> dict[str, Any]:
    """Run all seeds on two processes and put the results together; a killed study goes on in the same folder.

    The three usual arms, which are timed, come first for all seeds; the others go on from them.
    """
    seeds = CONFIG["pilot_seeds"][:1] if quick else CONFIG["seeds"]
    start = time.perf_counter()
    cells = run_cells([("usual", seed) for seed in seeds], output_dir, quick=quick)
    timed = time.perf_counter() - start
    fresh = all(new for _, new in cells.values())
    cells |= run_cells([("all", seed) for seed in seeds], output_dir, quick=quick)
    found = {key: cell for key, (cell, _) in cells.items()}
    return {**summarize(found, seeds), "time": {"three_arms_seconds": timed if fresh else None, **times(found)}}


def run_cells(
    wanted: Sequence[tuple[str, int]], output_dir: Path, *, quick: bool
) -> dict[tuple[str, int], tuple[dict[str, Any], bool]]:
    """Cells by kind of run and seed, and whether each was run now; finished ones are read from the folder."""
    found: dict[tuple[str, int], tuple[dict[str, Any], bool]] = {}
    key = content_key(config(), quick)
    files = {cell: output_dir / "cells" / f"{cell[0]}-{cell[1]}.json" for cell in wanted}
    for cell, file in files.items():
        if file.is_file() and (kept := json.loads(file.read_text(encoding="utf-8")))["key"] == key:
            found[cell] = kept["cell"], False
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context, initializer=_one_thread) as pool:
        jobs = {
            pool.submit(run_cell, *cell, str(output_dir / f"ibadr-{cell[1]}"), quick): cell
            for cell in wanted
            if cell not in found
        }
        for job in as_completed(jobs):
            cell = jobs[job]
            found[cell] = job.result(), True
            files[cell].parent.mkdir(parents=True, exist_ok=True)
            atomic_write_json(files[cell], {"key": key, "cell": plain(found[cell][0])})
            done = ", ".join(f"{arm} {value:.3f}" for arm, value in found[cell][0]["accuracy"]["reversed"].items())
            print(f"{cell[0]}, seed {cell[1]}: {done}", flush=True)
    return found


def _one_thread() -> None:
    """Set-up of a worker."""
    import datasets
    import torch
    import transformers

    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    datasets.disable_progress_bars()
    transformers.logging.set_verbosity_error()


def summarize(cells: Mapping[tuple[str, int], Mapping[str, Any]], seeds: Sequence[int]) -> dict[str, Any]:
    """Means over seeds, paired differences, what the filters did, and what got worse."""
    every = [cells["all", seed] for seed in seeds]
    values = {name: {arm: [each["accuracy"][name][arm] for each in every] for arm in ARMS} for name in SETS}
    comparisons = {name: compared(found) for name, found in values.items()}
    found = {
        "accuracy": {
            name: {arm: over_seeds(each, **RATE) for arm, each in arms.items()} for name, arms in values.items()
        },
        "labels": {
            name: {
                arm: {
                    label: over_seeds([each["labels"][name][arm][label] for each in every], **RATE) for label in LABELS
                }
                for arm in ARMS
            }
            for name in SETS
        },
        "comparisons": comparisons,
        "rounds": {
            arm: [_round([each["rounds"][arm][k] for each in every]) for k in range(len(every[0]["rounds"][arm]))]
            for arm in ROUNDS
        },
        "steps": {arm: [each["steps"][arm] for each in every] for arm in ARMS},
        "rows": {arm: [each["rows"][arm] for each in every] for arm in ARMS},
        "added": {title: [each["added"][title] for each in every] for title in every[0]["added"]},
    }
    found["got_worse"] = [
        f"{name}: {pair} is {gap['difference']:+.3f}"
        for name, pairs in comparisons.items()
        for pair, gap in pairs.items()
        if gap["difference"] < 0
    ]
    return found


def compared(values: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Paired differences of one set, with the p-value of Student's test over seeds and Holm's over all of them.

    The sign-flip test of ``p_value`` cannot fall below 0.25 with three seeds, so that Holm's adjustment has nothing to
    work on; Student's assumes that differences between trainings are normal, as its intervals do.
    """
    found: dict[str, Any] = {f"{a} - {b}": gap_over_seeds(values[a], values[b]) for a, b in COMPARED}
    tests = [student_p_value(np.subtract(values[a], values[b])) for a, b in COMPARED]
    if len(next(iter(values.values()))) > 1:
        for gap, p_value, adjusted in zip(found.values(), tests, holm(tests), strict=True):
            gap |= {"p_value_student": p_value, "p_value_holm": adjusted}
    return found


def student_p_value(differences: Any) -> float:
    """Two-sided p-value of Student's test that differences over seeds have the mean 0; without spread 0 or 1."""
    n, mean = len(differences), float(np.mean(differences))
    spread = float(np.std(differences, ddof=1)) if n > 1 else 0.0
    if spread == 0.0:
        return float(n < 2 or mean == 0.0)
    return float(2.0 * stdtr(n - 1, -abs(mean) / spread * math.sqrt(n)))


def _round(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A round over the seeds."""
    keys = ("sentences_of_the_world", "true_labels", "generator_loss")
    sides = {
        f"anti_artefact_{side}": over_seeds([one["anti_artefact"][side] for one in each], **RATE)
        for side in ("before", "after")
    }
    reasons = sorted({reason for one in each for reason in one["counts"]})
    return {
        **{
            key: over_seeds([one[key] for one in each], low=0.0, high=math.inf if key == "generator_loss" else 1.0)
            for key in keys
        },
        **sides,
        "counts": {reason: [one["counts"].get(reason, 0) for one in each] for reason in reasons},
    }


def times(cells: Mapping[tuple[str, int], Mapping[str, Any]]) -> dict[str, Any]:
    """Seconds of each cell: processor time, and by stage as the clock had them."""
    return {
        "cpu_seconds": {f"{kind}-{seed}": cell["cpu_seconds"] for (kind, seed), cell in cells.items()},
        "stages": {f"{kind}-{seed}": cell["seconds"] for (kind, seed), cell in cells.items()},
        "processes": 2,
        "threads": 1,
    }


def misses(results: Mapping[str, Any]) -> list[str]:
    """Which bars the results miss, in words; empty when all are met."""
    bars, missed = CONFIG["bars"], []
    seconds = results["time"]["three_arms_seconds"]
    if seconds is not None and seconds > 60 * bars["minutes"]:  # else some of it was done before
        missed.append(f"the three arms took {seconds / 60:.1f} minutes, expected at most {bars['minutes']}")
    reversed_set = results["comparisons"]["reversed"]
    for other in ("base", "control", "without_indicators"):
        gap, bar = reversed_set[f"ibadr - {other}"], bars[f"above_{other}"]
        if gap["difference"] < bar:
            missed.append(f"reversed: ibadr - {other} is {gap['difference']:+.3f}, expected at least {bar:+.2f}")
    for other in ("without_indicators", "biased_filter"):
        ends = reversed_set[f"ibadr - {other}"]["ci95"]
        if ends is not None and not ends[0] > 0:
            missed.append(f"reversed: ibadr - {other} has the interval {ends}, expected above 0")
    for number, each in enumerate(results["rounds"]["biased_filter"], start=1):
        before, after = (each[f"anti_artefact_{side}"]["mean"] for side in ("before", "after"))
        if not after < before:
            missed.append(
                f"round {number}: the biased filter keeps {after:.2f} of anti-artefact rows, {before:.2f} before"
            )
    return missed


def table(results: Mapping[str, Any]) -> str:
    """Accuracy of each arm on each set, with Student's interval over seeds."""
    rows = [["arm", *SETS, "rows", "steps"]]
    for arm in ARMS:
        cells = []
        for name in SETS:
            found = results["accuracy"][name][arm]
            ends = "" if found["ci95"] is None else " [{:.3f}, {:.3f}]".format(*found["ci95"])
            cells.append(f"{found['mean']:.3f}{ends}")
        rows.append([arm, *cells, f"{np.mean(results['rows'][arm]):.0f}", f"{np.mean(results['steps'][arm]):.0f}"])
    return markdown_table(rows, trusted=True)


def comparison_table(results: Mapping[str, Any]) -> str:
    """Each comparison on the set with a reversed marker, with its p-value among all of them."""
    rows = [["reversed marker", "difference", "p, Student", "p, Holm"]]
    gaps = results["comparisons"]["reversed"]
    for pair in (f"{a} - {b}" for a, b in COMPARED):
        gap = gaps[pair]
        difference = format_fixed(gap["difference"], gap["ci95"], "+.3f")
        numbers = (difference, f"{gap['p_value_student']:.3f}", f"{gap['p_value_holm']:.3f}")
        rows.append([pair.replace(" - ", " less "), *numbers])
    return markdown_table(rows, trusted=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study, print its tables, write the results unless it is a quick run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, a smaller world; writes nothing")
    parser.add_argument("--output_dir", help="folder in which a killed study goes on; default: a temporary one")
    options = parser.parse_args(argv)
    os.environ["OMP_NUM_THREADS"] = "1"  # workers inherit it
    with tempfile.TemporaryDirectory() as folder:
        results = study(Path(options.output_dir or folder), quick=options.quick)
    print(table(results))
    print("\nReversed, paired by seed:")
    for pair, gap in results["comparisons"]["reversed"].items():
        ends = (
            ""
            if gap["ci95"] is None
            else " [{:+.3f}, {:+.3f}], Holm p {:.3f}".format(*gap["ci95"], gap["p_value_holm"])
        )
        print(f"  {pair}: {gap['difference']:+.3f}{ends}")
    for arm, rounds in results["rounds"].items():
        for number, each in enumerate(rounds, start=1):
            shares = " -> ".join(f"{each[f'anti_artefact_{side}']['mean']:.2f}" for side in ("before", "after"))
            truth = f"{each['true_labels']['mean']:.2f} of labels true"
            print(f"{arm}, round {number}: anti-artefact share before -> after the filter {shares}; {truth}")
    print("\nGot worse:", *results["got_worse"], sep="\n  ")
    missed = misses(results)
    print("\n" + ("\n".join(missed) or "every bar is met"))
    if results["time"]["three_arms_seconds"] is not None:
        print(f"three arms: {results['time']['three_arms_seconds']:.0f} s on two processes of one thread")
    if not options.quick:
        print(f"written to {write_results(FILE, config(), plain(results)).relative_to(ROOT)}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
