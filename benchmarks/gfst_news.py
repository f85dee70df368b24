"""Does GFST help a translator that has read little of women? English to Italian news, two CPU cores.

    python -m benchmarks.gfst_news                      the whole study; writes benchmarks/results/gfst_news.json
    python -m benchmarks.gfst_news --output_dir DIR     the same; a killed study goes on there, stage by stage
    python -m benchmarks.gfst_news --quick              a fortieth of the pairs, few steps; prints, writes nothing

Needs the third-party data in ../shared beside the project: the pseudo-parallel sentences of Choubey et al. 2021, MRPC
and WinoMT. The base translator, that of `benchmarks.gfst_real` with fewer steps, learns from the released en-it pairs
whose source speaks of men alone (by our source filter), and so many that speak of women alone that they are a twentieth
of all. Then `run_gfst` takes other sentences: English sides of what the authors released for other languages and years,
and news of MRPC, none of which stands in an en-it pair. RandST draws from all of them, so what it draws is made of this
mixture: about two thirds of it speak of one gender.

The Italian side is the output of the authors' translator, so BLEU says how near a model comes to that one. The base is
trained once: intervals over seeds hold other draws of pairs and other orders of fine-tuning, not another base. No bar
is set on any gain. No text is written anywhere.
"""

from __future__ import annotations

import argparse
import csv
import html
import json
import re
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset

from benchmarks import gfst_real as real
from benchmarks.study import RESULTS, ROOT, write_results
from hf_fairness.filters import SourceGender
from hf_fairness.measure.translator.winomt_data import read_winomt
from hf_fairness.report.markdown import markdown_table
from hf_fairness.report.text import format_fixed, format_value
from hf_fairness.runs import Run, content_key
from hf_fairness.trainers import GFSTArguments, GFSTConfig, run_gfst

DATA = real.DATA
FILE = RESULTS / "gfst_news.json"
CONFIG: dict[str, Any] = {
    "feminine_share": 0.05,
    "base": {"max_steps": 1600, "eval_steps": 400, "save_steps": 100},
    "pool": {
        "gfst/news.2017.FEMALE.en-fr.en": 1500,
        "gfst/news.2017.FEMALE.en-he.en": 1500,
        "gfst/news.2017.MALE.en-he.en": 1500,
        "gfst/news.2016.MALE.BT.en-de.en": 1500,
        "glue/MRPC/train.tsv": 6000,
    },
    "pool_words": [5, 20],
    "n_seeds": 3,
    "gfst": {
        "method": "mixed_finetune",
        "arms": ["randst", "hd", "gfst_hd"],
        "finetune_num_train_epochs": 2.0,
        "finetune_learning_rate": 5e-4,
        "num_beams": 2,
        "min_pairs": 50,
    },
    "training": {
        "per_device_train_batch_size": 64,
        "warmup_steps": 10,
        "lr_scheduler_type": "linear",
        "adam_beta2": 0.98,
        "average_checkpoints": 0,
        "save_strategy": "no",
        "eval_strategy": "no",
        "seed": 0,
    },
    "bars": {"baseline delta_r": 0.05, "baseline bleu": 0.12},
    "sources": [
        "benchmarks/gfst_news.py",
        *real.CONFIG["sources"],
        "hf_fairness/erasure/hard_debias.py",
        "trainers/experiment.py",
    ],
}
#: What `--quick` has in place of it, and which of all rows it takes.
QUICK: dict[str, Any] = {
    "feminine_share": 0.5,
    "n_seeds": 1,
    "base": {"max_steps": 60, "eval_steps": 60, "save_steps": 60, "per_device_train_batch_size": 32},
    "pool": dict.fromkeys(CONFIG["pool"], 60),
    "gfst": {
        **CONFIG["gfst"],
        "arms": ["randst", "gfst_hd"],
        "finetune_num_train_epochs": 0.1,
        "num_beams": 1,
        "max_new_tokens": 20,
        "min_pairs": 1,
        "n_bootstrap": 50,
    },
    "training": {**CONFIG["training"], "max_length_ratio": 50.0, "per_device_train_batch_size": 8},
}
EVERY = 40
#: Order of the models in the table.
ORDER = ("baseline", "control", "randst", "gfst", "hd", "gfst_hd")
#: Measures of the table, with their names.
MEASURES = {
    "winomt/accuracy": "WinoMT Acc",
    "winomt/delta_g": "ΔG (0)",
    "winomt/delta_s_f1": "ΔS (0)",
    "winomt/delta_r": "ΔR (0)",
    "test/bleu": "BLEU",
}


def base_pairs(parts: Mapping[str, Dataset], share: float) -> tuple[Dataset, dict[str, int]]:
    """Training pairs whose source speaks of men alone, and the first of women alone up to a share of all."""
    labels = SourceGender("source")({"source": parts["train"]["source"][:]})["source_gender"]
    of = {gender: [row for row, label in enumerate(labels) if label == gender] for gender in ("male", "female")}
    few = of["female"][: round(len(of["male"]) * share / (1 - share))]
    sizes = {"male": len(of["male"]), "female": len(few), "female_left_out": len(of["female"]) - len(few)}
    return parts["train"].select(sorted([*of["male"], *few])), sizes


def joined(text: str) -> str:
    """A tokenized text as people write it: entities, and spaces before and after punctuation marks."""
    text = html.unescape(text)
    text = re.sub(r" (?=(?:[.,;:!?%)\]]|n ?'t\b|'(?:s|t|re|ve|ll|d|m)\b))", "", text)
    text = re.sub(r"(?<=n) '(?=t\b)|(?<=[($\[]) ", lambda match: "'" if "'" in match[0] else "", text)
    return re.sub(r"\"\s*([^\"]*?)\s*\"", r'"\1"', text).strip()


def sentences(name: str) -> Iterator[str]:
    """The English sentences of a file of the pool."""
    text = (DATA / name).read_text(encoding="utf-8-sig")
    if name.endswith(".tsv"):
        for row in csv.reader(text.splitlines()[1:], delimiter="\t", quoting=csv.QUOTE_NONE):
            yield from map(joined, row[3:5])
    else:
        yield from map(joined, text.split("\n"))


def pool(sizes: Mapping[str, int]) -> tuple[Dataset, dict[str, Any]]:
    """The first sentences of each file that have a fit length and stand in no en-it pair, each once; what they are."""
    seen = {real.normalised(source) for gender in real.CONFIG["files"] for source, _ in real.read_pairs(gender)}
    low, high = CONFIG["pool_words"]
    texts: list[str] = []
    counts: dict[str, Any] = {}
    for name, size in sizes.items():
        found: list[str] = []
        for text in sentences(name):
            key = real.normalised(text)
            if len(found) < size and low <= len(text.split()) <= high and key not in seen:
                seen.add(key)
                found.append(text)
        labels = SourceGender("text")({"text": found})["source_gender"]
        counts[name] = {"n": len(found), "by_gender": dict(sorted(Counter(labels).items()))}
        texts += found
    return Dataset.from_dict({"text": texts}), counts


def config() -> dict[str, Any]:
    """The settings, and a key of the texts as they are today."""
    return {**CONFIG, "texts": content_key(*real.split().values(), pool(CONFIG["pool"])[0], DATA / "winomt/en.txt")}


def study(output_dir: Path, *, quick: bool = False) -> dict[str, Any]:
    """Train the base, then all arms and seeds; a killed study goes on in the same folder."""
    settings, every = ({**CONFIG, **QUICK}, EVERY) if quick else (CONFIG, 1)
    parts = real.split(every)
    train, sizes = base_pairs(parts, settings["feminine_share"])
    texts, counts = pool(settings["pool"])
    with Run(output_dir / "base", {**settings, "quick": quick}) as run:
        trained = run.stage(
            "model",
            lambda folder: real.train_model(folder, {**parts, "train": train}, **settings["base"]),
            inputs=[settings["base"], real.CONFIG, content_key(train, parts["dev"])],
            keep_partial=True,
        )
        base = run.folder("model")
    arguments = GFSTArguments(
        model_name_or_path=str(base),
        target_lang="it",
        n_seeds=settings["n_seeds"],
        until="report",
        **settings["gfst"],
    )
    args = GFSTConfig(output_dir=str(output_dir / "gfst"), use_cpu=True, disable_tqdm=True, **settings["training"])
    rows = read_winomt(DATA / "winomt" / "en.txt")[::every]
    found = run_gfst(
        arguments, train.select_columns(["source", "target"]), texts, config=args, test=parts["test"], winomt_rows=rows
    )
    return {
        "n": {**{name: len(part) for name, part in parts.items()}, "base": sizes, "winomt": len(rows), "pool": counts},
        "base": trained,
        **_numbers(found),
        "threads": torch.get_num_threads(),
    }


def _numbers(found: Mapping[str, Any]) -> dict[str, Any]:
    """What a run of all seeds found, without any text."""
    record, every = found["record"], {"seed=0": found, **found.get("trials", {})}
    target = found["data"]["filter_target"]["by_gender"]
    keys = ("n", "kept", "kept_share", "kept_share_ci95", "reasons")
    return {
        "measures": {
            measure.id: {arm: {"value": each.value, "ci95": each.ci95} for arm, each in measure.values.items()}
            for measure in record.measures
        },
        "gaps": [
            {"measure": gap.measure, "pair": f"{gap.arm} - {gap.against}", "difference": gap.difference}
            | {"ci95": gap.ci95, "verdict": gap.verdict}
            for gap in record.gaps
            if gap.measure in MEASURES
        ],
        "by_seed": {
            seed: {
                arm: {key: one["results"][key.split("/")[0]][arm][key.split("/")[1]] for key in MEASURES}
                for arm in one["arms"]
            }
            for seed, one in every.items()
        },
        "gaps_by_seed": {
            seed: {
                name: {
                    pair: {key: gap for key, gap in gaps.items() if f"{name}/{key}" in MEASURES}
                    for pair, gaps in pairs.items()
                }
                for name, pairs in one["comparisons"].items()
            }
            for seed, one in every.items()
        },
        "arms": {
            arm.name: {"title": arm.title} | {key: arm.training[key] for key in ("steps",) if key in arm.training}
            for arm in record.arms
        },
        "kept": {group: {key: target[group][key] for key in keys} for group in found["groups"]},
        "balanced": {seed: one["data"]["balance"]["per_group"] for seed, one in every.items()},
        "explained": {seed: one["explained"] for seed, one in every.items()},
        "cautions": list(record.cautions),
        "hard_debiased": {name: dict(one) for name, one in found["arms"].items() if name in ("hd", "gfst_hd")},
    }


def misses(results: Mapping[str, Any]) -> list[str]:
    """Which bars the results miss, in words: there must be a gap to begin with, in a model that translates."""
    names = {"baseline delta_r": "winomt/delta_r", "baseline bleu": "test/bleu"}
    found = {bar: results["measures"][key]["baseline"]["value"] for bar, key in names.items()}
    return [
        f"{bar} is {value:.3f}, expected at least {CONFIG['bars'][bar]}"
        for bar, value in found.items()
        if value < CONFIG["bars"][bar]
    ]


def table(results: Mapping[str, Any]) -> str:
    """Models by measures in Markdown, how they differ, and what the filter kept."""
    models = [["model", "steps", *MEASURES.values()]]
    for name, arm in ((name, results["arms"][name]) for name in ORDER if name in results["arms"]):
        values = (results["measures"][key][name] for key in MEASURES)
        cells = (format_value(each["value"], each["ci95"] and tuple(each["ci95"])) for each in values)
        models.append([arm["title"], str(arm.get("steps", "–")), *cells])
    differences = [["difference", *MEASURES.values()]]
    for pair in dict.fromkeys(gap["pair"] for gap in results["gaps"]):
        one, _, other = pair.partition(" - ")
        gaps = {gap["measure"]: gap for gap in results["gaps"] if gap["pair"] == pair}
        title = f"{results['arms'][one]['title']} less {results['arms'][other]['title']}"
        differences.append([title, *(_gap(gaps.get(key)) for key in MEASURES)])
    kept = "; ".join(
        f"{group} {part['kept']:,} of {part['n']:,} ({part['kept_share']:.2f}, "
        + ", ".join(f"{reason.replace('_', ' ')} {n:,}" for reason, n in part["reasons"].items())
        + ")"
        for group, part in results["kept"].items()
    )
    sizes = results["n"]["base"]
    lines = [
        markdown_table(models, trusted=True),
        "",
        markdown_table(differences, trusted=True),
        "",
        f"The base read {sizes['male']:,} pairs about men and {sizes['female']:,} about women. Of the translations of "
        f"the pool the target filter kept: {kept}. Balanced by leaving out pairs: "
        f"{' and '.join(map(str, dict.fromkeys(results['balanced'].values())))} of each. Definitional sets by which "
        f"+HD found its direction: {results['hard_debiased']['gfst_hd']['definitional sets found']}.",
    ]
    return "\n".join(lines)


def _gap(gap: Mapping[str, Any] | None) -> str:
    return "–" if gap is None else format_fixed(gap["difference"], gap["ci95"], "+.3f")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study, print its table, write the results unless it is a quick run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a part of the pairs, few steps; writes nothing")
    parser.add_argument("--output_dir", help="folder in which a killed study goes on; default: a temporary one")
    options = parser.parse_args(argv)
    start, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        results = study(Path(options.output_dir or folder), quick=options.quick)
    print(table(results), *results["cautions"], sep="\n")
    missed = [] if options.quick else misses(results)
    print("\n" + ("\n".join(missed) or "every bar is met"))
    print(f"{time.perf_counter() - start:.0f} s, {time.process_time() - cpu:.0f} s of CPU, less what was made before")
    if not options.quick:
        print(f"written to {write_results(FILE, config(), json.loads(json.dumps(results))).relative_to(ROOT)}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
