"""What a small translator learns from GFST's released pairs alone: English to Italian news, two CPU cores.

    python -m benchmarks.gfst_real            the whole study; writes benchmarks/results/gfst_real.json
    python -m benchmarks.gfst_real --quick    a tenth of the pairs, few steps; prints, writes nothing

Needs the third-party data in ../shared beside the project: the pseudo-parallel sentences of Choubey et al. 2021 and
WinoMT. The Italian side is the output of the authors' translator, so training is distillation, and BLEU says how near
the small model comes to that translator, not how good either is. No text is written anywhere.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
import time
import unicodedata
import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from datasets import Dataset
from sklearn.utils.extmath import randomized_svd
from torch.nn import functional
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from benchmarks.study import RESULTS, ROOT, write_results
from hf_fairness.alignment import align
from hf_fairness.filters import SourceGender, TargetGender, drops, gender_tagger
from hf_fairness.measure.translator.translation import translate
from hf_fairness.measure.translator.winomt import winomt
from hf_fairness.measure.translator.winomt_data import read_winomt
from hf_fairness.runs import Run, content_key
from hf_fairness.scores.translation_quality import translation_quality
from hf_fairness.trainers import GFSTConfig, train_translator
from hf_fairness.trainers.gfst.small_translator import small_marian, small_tokenizer

DATA = ROOT.parent / "shared" / "data"
FILE = RESULTS / "gfst_real.json"
WORD = re.compile(r"\w+(?:['’]\w+)*")

CONFIG: dict[str, Any] = {
    "pairs": "news.2017.{FEMALE,MALE}.en-it of Choubey et al. 2021, 20,000 of each gender",
    "files": {"female": "news.2017.FEMALE.en-it", "male": "news.2017.MALE.en-it"},
    "test_pairs": 500,
    "dev_pairs": 150,
    "test_words": [5, 20],
    "vocab_size": 4000,
    "most_training_words": 22,
    "model": {"d_model": 160, "layers": [2, 1], "heads": 4, "ffn": 640, "dropout": 0.0, "max_length": 96},
    "embeddings": "singular vectors of the Dice coefficients of fast_align's links, with a fifth of noise",
    "training": {
        "max_steps": 3000,
        "per_device_train_batch_size": 64,
        "learning_rate": 2.5e-3,
        "warmup_steps": 100,
        "lr_scheduler_type": "linear",
        "label_smoothing_factor": 0.1,
        "adam_beta2": 0.98,
        "average_checkpoints": 5,
        "early_stopping_patience": None,
        "eval_strategy": "steps",
        "eval_steps": 250,
        "save_strategy": "steps",
        "save_steps": 125,
    },
    "num_beams": 5,
    "seed": 0,
    "bars": {"bleu": 0.12, "minutes": 15},
    "sources": [
        "benchmarks/gfst_real.py",
        "hf_fairness/alignment/fast_align.py",
        "hf_fairness/filters/source*.py",
        "hf_fairness/filters/target.py",
        "hf_fairness/filters/apertium.py",
        "hf_fairness/filters/grammatical.py",
        "hf_fairness/measure/translator/translation.py",
        "hf_fairness/scores/translation_quality.py",
        "hf_fairness/measure/translator/winomt.py",
        "hf_fairness/scores/winomt*.py",
        "trainers/training/averaging.py",
        "trainers/gfst/*.py",
        "trainers/training/length_groups.py",
    ],
}

Pair = tuple[str, str]


def read_pairs(gender: str) -> list[Pair]:
    """The authors' pairs of one gender, in their order."""
    name = CONFIG["files"][gender]
    sides = [(DATA / "gfst" / f"{name}.{lang}").read_text(encoding="utf-8").split("\n") for lang in ("en", "it")]
    return [(source, target) for source, target in zip(*sides, strict=True) if source.strip() and target.strip()]


def normalised(text: str) -> str:
    """What two texts must share to be the same text: letters and digits in lower case."""
    return "".join(character for character in unicodedata.normalize("NFKC", text).casefold() if character.isalnum())


def split(every: int = 1) -> dict[str, Dataset]:
    """Test: of each gender the last pairs of 5 to 20 words whose two sides stand nowhere else; dev: those before.

    What is not taken trains, so that no side of a test or dev pair occurs there.
    """
    pairs = {gender: read_pairs(gender) for gender in CONFIG["files"]}
    sides = Counter(key for part in pairs.values() for pair in part for key in {normalised(text) for text in pair})
    low, high = CONFIG["test_words"]
    parts: dict[str, list[tuple[str, str, str]]] = {"train": [], "dev": [], "test": []}
    for gender, part in pairs.items():
        room = {"test": CONFIG["test_pairs"] // every, "dev": CONFIG["dev_pairs"] // every}
        for number, (source, target) in enumerate(reversed(part)):
            fits = low <= len(source.split()) <= high
            alone = all(sides[normalised(text)] == 1 for text in (source, target))
            name = next((name for name, left in room.items() if left), "train") if fits and alone else "train"
            if name != "train":
                room[name] -= 1
            elif len(source.split()) > CONFIG["most_training_words"] or number % every:
                continue
            parts[name].append((source, target, gender))
    columns = ("source", "target", "gender")
    return {
        name: Dataset.from_list([dict(zip(columns, row, strict=True)) for row in rows]) for name, rows in parts.items()
    }


def config() -> dict[str, Any]:
    """The settings, and a key of the texts as they are split today."""
    return {**CONFIG, "texts": content_key(*split().values(), DATA / "winomt" / "en.txt")}


def dictionary(train: Dataset) -> dict[str, str]:
    """The word that fast_align links most often with each source word."""
    words = [[WORD.findall(text.lower()) for text in train[column]] for column in ("source", "target")]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for source, target, links in zip(*words, align(*words), strict=True):
        for one, other in links:
            counts[source[one]][target[other]] += 1
    return {word: max(found, key=lambda other: (found[other], other)) for word, found in counts.items()}


def word_by_word(text: str, words: Mapping[str, str]) -> str:
    """Every word in its place translated alone; unknown ones, spaces and punctuation stay."""

    def one(match: re.Match[str]) -> str:
        found = words.get(match[0].lower(), match[0])
        return found.capitalize() if match[0][:1].isupper() else found

    return WORD.sub(one, text)


def align_embeddings(model: Any, tokenizer: Any, train: Dataset) -> None:
    """Put each token beside those that fast_align links it with, so that the lexicon is there when training begins.

    The model has one embedding for source, target and output: what attends to a word and passes it on unchanged then
    already says its translation. Links are weighed by their Dice coefficient.
    """
    encoded = tokenizer(train["source"][:], text_target=train["target"][:])
    sides = [[ids[:-1] for ids in encoded[name]] for name in ("input_ids", "labels")]
    links = align(*([[str(token) for token in ids] for ids in side] for side in sides))
    pairs = Counter(
        (source[one], target[other])
        for source, target, found in zip(*sides, links, strict=True)
        for one, other in found
    )
    n, width = model.model.shared.weight.shape
    sums = [np.zeros(n), np.zeros(n)]
    for pair, count in pairs.items():
        for side, token in zip(sums, pair, strict=True):
            side[token] += count
    rows = [(one, other, 2 * k / (sums[0][one] + sums[1][other])) for (one, other), k in pairs.items() if k > 1]
    one, other, dice = (np.array(column) for column in zip(*rows, strict=True))
    near = scipy.sparse.coo_matrix((dice, (one, other)), shape=(n, n)).tocsr()
    near = near + near.T + scipy.sparse.identity(n)
    scale = scipy.sparse.diags(1 / np.sqrt(np.asarray(near.sum(axis=1)).ravel()))
    vectors, values, _ = randomized_svd(scale @ near @ scale, width, n_iter=5, random_state=CONFIG["seed"])
    with torch.no_grad():
        weights = model.model.shared.weight
        made = functional.normalize(torch.tensor(vectors * np.sqrt(values), dtype=weights.dtype))
        made = functional.normalize(made + 0.2 * functional.normalize(weights))
        made[tokenizer.pad_token_id] = 0
        weights.copy_(made)


def training_args(folder: Path, **changes: Any) -> GFSTConfig:
    """The settings of the training on the CPU."""
    settings = {**CONFIG["training"], "seed": CONFIG["seed"], **changes}
    return GFSTConfig(output_dir=str(folder), use_cpu=True, disable_tqdm=True, logging_steps=50, **settings)


def train_model(folder: Path, parts: Mapping[str, Dataset], **changes: Any) -> dict[str, Any]:
    """Tokenizer and model into the folder; a killed training goes on from its checkpoint there."""
    start, cpu = time.perf_counter(), time.process_time()
    tokenizer = small_tokenizer(
        (text for column in ("source", "target") for text in parts["train"][column]), vocab_size=CONFIG["vocab_size"]
    )
    sizes = {**CONFIG["model"], "layers": tuple(CONFIG["model"]["layers"])}
    model = small_marian(tokenizer, **sizes, seed=CONFIG["seed"])
    align_embeddings(model, tokenizer, parts["train"])
    args = training_args(folder / "run", **changes)
    model, history = train_translator(model, tokenizer, parts["train"], args, eval_dataset=parts["dev"], resume=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    shutil.rmtree(folder / "run")
    return {
        "history": history,
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "tokens": len(tokenizer),
        "wall_seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
    }


def evaluate(folder: Path, parts: Mapping[str, Dataset], cache: Path, every: int = 1) -> dict[str, Any]:
    """BLEU beside the baselines, WinoMT, and what the filters of GFST keep of the model's own translations."""
    start = time.perf_counter()
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    test, rows = parts["test"], read_winomt(DATA / "winomt" / "en.txt")[::every]
    options: dict[str, Any] = {"num_beams": CONFIG["num_beams"], "cache": cache}
    translations = translate(model, tokenizer, test["source"][:], **options)
    wino = translate(model, tokenizer, [row["sentence"] for row in rows], **options)
    seconds = {"translation": time.perf_counter() - start}
    words = dictionary(parts["train"])
    systems = {
        "translator": translations,
        "dictionary": [word_by_word(text, words) for text in test["source"]],
        "copy": test["source"][:],
    }
    quality = {
        name: translation_quality(texts, test["target"][:], compare_to=None if name == "translator" else translations)
        for name, texts in systems.items()
    }
    by_gender = {
        gender: translation_quality(
            *(
                [text for text, own in zip(texts, test["gender"], strict=True) if own == gender]
                for texts in (translations, test["target"])
            )
        )
        for gender in sorted(set(test["gender"]))
    }
    scores = winomt(wino, rows, lang="it")
    found = {
        "quality": quality,
        "quality_by_gender": by_gender,
        "winomt": scores,
        "filters": filtered(test, translations),
        "dictionary_words": len(words),
    }
    return {**found, "seconds": {**seconds, "all": time.perf_counter() - start}}


def filtered(test: Dataset, translations: Sequence[str]) -> dict[str, Any]:
    """What the source and the target filter keep: of the model's translations, and of the authors'."""
    tagger = gender_tagger("it")
    found = {"tagger": tagger.name}
    for name, targets in {"translator": translations, "references": test["target"][:]}.items():
        rows = Dataset.from_dict({"source": test["source"][:], "target": list(targets)})
        rows = rows.map(SourceGender("source"), batched=True)
        rows = rows.map(TargetGender(tagger=tagger), batched=True)
        found[name] = drops(rows, ["target_reason"], minimum=0)
    return found


def study(output_dir: Path, *, quick: bool = False) -> dict[str, Any]:
    """Train, translate, score; a killed study goes on in the same folder."""
    every = 10 if quick else 1
    parts = split(every)
    changes = {"max_steps": 40, "eval_steps": 20, "save_steps": 20} if quick else {}
    with Run(output_dir, {**CONFIG, "quick": quick}) as run:
        inputs = [CONFIG, quick, content_key(*parts.values())]
        trained = run.stage(
            "model", lambda folder: train_model(folder, parts, **changes), inputs=inputs, keep_partial=True
        )
        scored = run.stage(
            "scores",
            lambda folder: evaluate(run.folder("model"), parts, output_dir / "translations", every),
            inputs=[*inputs, run.key("model")],
        )
    return {
        "n": {name: len(rows) for name, rows in parts.items()},
        "training": trained,
        **scored,
        "minutes": (trained["wall_seconds"] + scored["seconds"]["all"]) / 60,
        "threads": torch.get_num_threads(),
    }


def misses(results: Mapping[str, Any]) -> list[str]:
    """Which bars the results miss, in words; empty when all are met."""
    bars, missed = CONFIG["bars"], []
    bleu = results["quality"]["translator"]["bleu"]
    if bleu < bars["bleu"]:
        missed.append(f"BLEU is {100 * bleu:.2f}, expected at least {100 * bars['bleu']:.0f}")
    for name in ("dictionary", "copy"):
        gap = results["quality"][name]["comparison"]["bleu"]
        if not gap["difference_ci95"][1] < 0:
            missed.append(f"the {name} baseline is not below the translator: {gap['difference']:+.4f}")
    if results["minutes"] > bars["minutes"]:
        missed.append(f"{results['minutes']:.1f} minutes, expected at most {bars['minutes']}")
    return missed


def table(results: Mapping[str, Any]) -> str:
    """The results for a terminal."""

    def cell(scores: Mapping[str, Any], name: str) -> str:
        low, high = scores[f"{name}_ci95"]
        return f"{100 * scores[name]:.1f} [{100 * low:.1f}, {100 * high:.1f}]"

    lines = [f"{'system':<12} {'BLEU':>18} {'chrF':>18}"]
    rows = {**results["quality"], **{f"  {name}": found for name, found in results["quality_by_gender"].items()}}
    lines += [f"{name:<12} {cell(found, 'bleu'):>18} {cell(found, 'chrf'):>18}" for name, found in rows.items()]
    lines.append(results["quality"]["translator"]["signatures"]["bleu"])
    wino = results["winomt"]
    gaps = ("accuracy", "delta_g", "delta_s_accuracy", "delta_r")
    lines.append("WinoMT: " + ", ".join(f"{name} {cell(wino, name)}" for name in gaps))
    for name in ("translator", "references"):
        for gender, found in results["filters"][name]["by_gender"].items():
            lines.append(f"target filter, {name}, {gender}: {cell(found, 'kept_share')} of {found['n']}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study, print its table, write the results unless it is a quick run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the pairs, few steps; writes nothing")
    parser.add_argument("--output_dir", help="folder in which a killed study goes on; default: a temporary one")
    options = parser.parse_args(argv)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        results = study(Path(options.output_dir or folder), quick=options.quick)
    print(table(results))
    missed = [] if options.quick else misses(results)
    print("\n" + ("\n".join(missed) or "every bar is met"))
    print(f"{results['minutes']:.1f} minutes on {results['threads']} threads")
    if not options.quick:
        print(f"written to {write_results(FILE, config(), json.loads(json.dumps(results))).relative_to(ROOT)}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
