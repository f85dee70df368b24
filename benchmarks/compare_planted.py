"""Which methods take a planted bias out of a masked language model? Items like CrowS-Pairs and StereoSet, three worlds.

    python -m benchmarks.compare_planted            the whole study; writes benchmarks/results/compare_planted.json
    python -m benchmarks.compare_planted --quick    one small world, CCD alone; prints, writes nothing

A tiny BERT learns from scratch that some occupations and traits go with one gender and others with neither, see
`hf_fairness.demo.masked_world`. `run_compare` then changes it with every method that changes what the model says of
tokens, with the same texts. Each seed has a world, a first model and every draw of its own. Both benchmarks on words
that go with neither are the control: they hold .5 before, and a method should leave them there.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.study import RESULTS, ROOT, numbers, write_results
from hf_fairness.demo.masked_world import MaskedWorld, masked_world, train_masked_model
from hf_fairness.measure import crows_pairs, stereoset
from hf_fairness.record import Record
from hf_fairness.report.markdown import markdown_table
from hf_fairness.report.text import format_value
from hf_fairness.trainers import CompareArguments, CompareConfig, run_compare
from hf_fairness.trainers.experiment import over_seeds

FILE = RESULTS / "compare_planted.json"
CONFIG: dict[str, Any] = {
    "seeds": [1, 2, 3],
    "pilot_seed": 0,  # the settings were found on it
    "world": {"n": 16000, "strength": 0.8, "n_texts": 1000},
    "model": {"epochs": 6},
    "methods": ["none", "control", "ccd", "dpce", "adept", "cda", "dropout", "continued", "hard-debias"],
    "training": {"num_train_epochs": 4, "learning_rate": 1e-3},
    "sources": [
        "benchmarks/compare_planted.py",
        "hf_fairness/demo/masked_world*",
        "trainers/baselines/*.py",
        "trainers/ccd/*.py",
        "trainers/compare/method.py",
        "trainers/training/encoder*.py",
    ],
}
#: What a quick run changes.
QUICK: dict[str, Any] = {
    "world": {"strength": 0.9, "n_texts": 200},
    "model": {"epochs": 3},
    "methods": ["none", "ccd"],
}
#: Measures of the table: path in the record, title with the ideal value.
MEASURES = {
    "crows_pairs/gender/stereotype_score": "CrowS-Pairs-like (.5)",
    "stereoset/gender/stereotype_score": "StereoSet-like, SS (.5)",
    "stereoset/gender/lm_score": "LMS (1)",
    "cced/held-out rows/cced_relative": "CCED / mean distance, held-out texts (0)",
    "utility/similarity_structure": "similarity structure (1)",
}
#: Benchmarks on words that go with neither gender.
CONTROLS = {"crows_pairs": "CrowS-Pairs-like, balanced words (.5)", "stereoset": "SS, balanced words (.5)"}


def settings(*, quick: bool = False) -> dict[str, Any]:
    """The settings of the study, or of its quick run."""
    changes = QUICK if quick else {}
    return {
        name: {**value, **changes.get(name, {})} if isinstance(value, dict) else changes.get(name, value)
        for name, value in CONFIG.items()
    }


def run_seed(seed: int, folder: Path, *, quick: bool = False) -> dict[str, Any]:
    """One world with its model.

    Args:
        seed: of the world, the model and every draw.
        folder: of the run, which goes on there if it was killed; the model is trained once.
        quick: smaller.

    Returns:
        ``record`` (JSON), and ``controls``: by benchmark and arm its score on balanced words with the interval.
    """
    chosen = settings(quick=quick)
    world = masked_world(**chosen["world"], seed=seed)
    model = folder / f"masked-model-{seed}"
    if not (model / "tokenizer_config.json").is_file():
        train_masked_model(world.sentences, model, seed=seed, **chosen["model"])
    out = folder / f"out-{seed}"
    options = {"use_cpu": True, "report_to": "none", "disable_tqdm": True, "logging_strategy": "no", "seed": seed}
    result = run_compare(
        CompareArguments(model_name_or_path=str(model), methods=chosen["methods"], n_samples=100, n_bootstrap=1000),
        CompareConfig(output_dir=str(out), **options, **chosen["training"]),
        world.texts,
        text_column="text",
        crows_pairs=world.crows_pairs,
        stereoset=list(world.stereoset),
    )
    record = result["record"]
    models = {arm.name: model if arm.name == "before" else out / f"train_{arm.name}" / "model" for arm in record.arms}
    controls = {arm: _on_balanced_words(world, str(path)) for arm, path in models.items()}
    return {"record": record.to_json(), "controls": controls}


def _on_balanced_words(world: MaskedWorld, model: str) -> dict[str, Any]:
    found = {
        "crows_pairs": crows_pairs(world.crows_pairs_control, model=model, show_progress=False),
        "stereoset": stereoset(list(world.stereoset_control), model=model, show_progress=False),
    }
    return {name: {key: each[f"stereotype_score{key}"] for key in ("", "_ci95")} for name, each in found.items()}


def study(folder: Path, *, quick: bool = False) -> dict[str, Any]:
    """Run all worlds, each in a process of one thread, and put them together."""
    seeds = [CONFIG["pilot_seed"]] if quick else CONFIG["seeds"]
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # of the processes that begin below
    with ProcessPoolExecutor(len(seeds), mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = [pool.submit(run_seed, seed, folder, quick=quick) for seed in seeds]
        return summarize([job.result() for job in jobs], seeds)


def summarize(found: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> dict[str, Any]:
    """The seeds together: values and gaps of every measure, with intervals over seeds and items."""
    records = [Record.from_json(each["record"]) for each in found]
    record = over_seeds(records) if len(records) > 1 else records[0]
    return {
        "seeds": list(seeds),
        "titles": {arm.name: arm.title for arm in record.arms},
        **numbers(record),
        "controls": [each["controls"] for each in found],
        "by_seed": [numbers(each)["measures"] for each in records],
    }


def misses(results: Mapping[str, Any]) -> list[str]:
    """What must be so before any method is looked at: the planted bias is there, and only where it was planted."""
    found = []
    before = {name: results["measures"][name]["values"]["before"] for name in list(MEASURES)[:3]}
    for name, value in before.items():
        if name.endswith("lm_score"):
            if value["value"] < 0.95:
                found.append(f"{name} is low: {value}")
        elif not value["ci95"][0] > 0.5:
            found.append(f"{name} is not clearly above 0.5: {value}")
    for seed, controls in zip(results["seeds"], results["controls"], strict=True):
        for name, value in controls["before"].items():
            low, high = value["_ci95"]
            if not low <= 0.5 <= high:
                found.append(f"{name} on balanced words, seed {seed}, is clear of 0.5: {[low, high]}")
    return found


def table(results: Mapping[str, Any]) -> str:
    """A row for each arm: its value, and in the next column its difference to the model before, bold where clear."""
    rows = [["model", *(f"{title}{less}" for title in MEASURES.values() for less in ("", ", less before"))]]
    rows[0] += CONTROLS.values()
    for arm, title in results["titles"].items():
        cells = []
        for name in MEASURES:
            value = results["measures"][name]["values"].get(arm)
            gap = results["gaps"].get(name, {}).get(f"{arm} - before")
            cells.append("" if value is None else format_value(value["value"], value["ci95"]))
            shown = "" if gap is None else format_value(gap["difference"], gap["ci95"])
            clear = gap is not None and gap["ci95"] and gap["ci95"][0] * gap["ci95"][1] > 0
            cells.append(f"**{shown}**" if clear else shown)
        cells += [", ".join(f"{each[arm][name]['']:.2f}" for each in results["controls"]) for name in CONTROLS]
        rows.append([title, *cells])
    return markdown_table(rows, trusted=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study, print the table, write the results unless it is a quick run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small world, CCD alone; writes nothing")
    parser.add_argument("--output_dir", help="keep the runs here, and go on with what is there")
    options = parser.parse_args(argv)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as temporary:
        warnings.simplefilter("ignore")
        results = study(Path(options.output_dir or temporary), quick=options.quick)
    print(table(results), *misses(results), sep="\n")
    if not options.quick:
        print(f"written to {write_results(FILE, CONFIG, results).relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
