"""The smallest data and models on which each command does all that it does, and the words that run it."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RAW = Path(__file__).parent.parent / "dataset_scripts" / "raw"
TRAINING = ["--use_cpu", "--disable_tqdm", "True", "--report_to", "none"]


@dataclass(frozen=True)
class Command:
    """One command to be killed.

    Attributes:
        words: of the command line, without the output folder.
        output: the flag that names the output folder.
        before: words of a command that fills the folder first.
        again: what a second run says of an output that is whole, where it does not go on from it.
    """

    words: list[str]
    output: str = "--output_dir"
    before: list[str] = field(default_factory=list)
    again: str = ""

    def line(self, words: list[str], out: Path) -> list[str]:
        """The words of the command line."""
        return [*words, self.output, str(out)]


def make_texts(n: int) -> list[str]:
    """Texts that share few words, so that they are no variants of each other."""
    draws = random.Random(0)
    words = ["".join(draws.choices("abcdefghijklmnoprstuw", k=5)) for _ in range(400)]
    rows = [" ".join(draws.sample(words, 6)) for _ in range(n)]
    return [f"{('she', 'he')[i % 2]} said that {row}" for i, row in enumerate(rows)]


def write_csv(path: Path, columns: dict[str, list[Any]]) -> str:
    """Write a table; returns its path."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(columns)
        out.writerows(zip(*columns.values(), strict=True))
    return str(path)


def make_augment(folder: Path) -> dict[str, Command]:
    """Rows written anew, over an old output, and refined."""
    texts = write_csv(folder / "texts.csv", {"text": make_texts(60)})
    start = ["augment", texts, "--method"]
    options = {"output": "--output_dir", "again": "is not empty"}
    return {
        "augment cda": Command([*start, "cda"], **options),
        "augment variants": Command([*start, "variants"], **options),
        "augment --num_shards": Command(
            [*start, "cda", "--num_shards", "2", "--shard_index", "1"],
            before=[*start, "cda", "--num_shards", "2", "--shard_index", "0"],
        ),
        "augment --overwrite": Command([*start, "swap", "--overwrite"], output="--output_dir", before=[*start, "cds"]),
    }


def make_build(folder: Path) -> dict[str, Command]:
    """A data set from raw files."""
    words = ["build-dataset", "winomt", "--data_dir", str(RAW / "winomt"), "--cache_dir", str(folder / "built")]
    return {"build-dataset": Command(words, output="--output_dir", again="is not empty")}


def make_encoder(folder: Path, *, seed: int = 0) -> dict[str, Command]:
    """An encoder that is audited, and one that is mitigated."""
    from hf_fairness import attributes
    from support.tiny_bert import save_tiny_bert

    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789.,;:!?'\"()-/$%&"]
    pieces = [*letters, *(f"##{x}" for x in letters), "she", "he", "they", "her", "his", "the", "a"]
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 16}
    encoder = save_tiny_bert(folder / "encoder", pieces, max_length=64, seed=seed, **sizes)
    texts = write_csv(folder / "ccd.csv", {"text": make_texts(48)})
    # Gender under another name: its tests and texts, which this package carries, would take most of the time.
    attribute = json.loads((Path(attributes.__file__).parent / "data" / "gender.en.json").read_text(encoding="utf-8"))
    (folder / "sex.en.json").write_text(json.dumps({**attribute, "name": "sex"}), encoding="utf-8")
    quick = ["--n_samples", "100", "--n_bootstrap", "20", "--attribute", str(folder / "sex.en.json")]
    training = ["--max_steps", "5", "--per_device_train_batch_size", "8", "--eval_steps", "2", "--save_steps", "2"]
    training += ["--logging_steps", "2", "--learning_rate", "1e-3", *TRAINING]
    methods = ["--methods", "none", "control", "ccd"]
    return {
        "audit": Command(["audit", encoder, "--dataset", texts, *quick, "--use_cpu"]),
        "ccd": Command(["ccd", "--model_name_or_path", encoder, "--dataset", texts, *quick, *training]),
        "compare": Command(["compare", encoder, encoder, *methods, "--dataset", texts, *quick, *training]),
    }


def make_diet(folder: Path) -> dict[str, Command]:
    """Heads on word vectors, and whole models."""
    from support.diet_world import BAD, GOOD, rows, vectors
    from support.tiny_bert import save_tiny_bert

    train, dev = write_csv(folder / "train.csv", rows(200, 0)[:]), write_csv(folder / "dev.csv", rows(100, 1)[:])
    words = ["it", "was", "and", "on", "day", "she", "he", "queen", "king", *GOOD, *BAD, *map(str, range(40))]
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 16}
    bert = save_tiny_bert(folder / "bert", words, **sizes)
    encoder = vectors(folder / "words.txt")
    common = ["--max_auc_drop", "0.9", "--n_init", "1", "--num_train_epochs", "2", "--use_cpu"]
    common += ["--per_device_train_batch_size", "32"]
    common += ["--factual_fractions", "0.5", "--counterfactual_fractions", "0.3", "--learning_rate", "0.005"]
    fast = ["data-diet", encoder, "--dataset", train, "--validation_dataset", dev, "--n_seeds", "2", "--hidden", "8"]
    full = ["data-diet", bert, "--dataset", dev, "--mode", "full", "--n_seeds", "1", "--experiments", "2"]
    return {
        "data-diet": Command([*fast, *common, "--first_fractions", "0", "1"]),
        "data-diet full": Command([*full, *common, "--rankings", "healthy_random"]),
    }


def make_gfst(folder: Path, *, feminine: float = 0.5, noise: float = 0.0) -> dict[str, Command]:
    """A translator that has learned a little, its arms, its report; shares as for `gfst_world.pairs`."""
    from hf_fairness.cli import main
    from support import gfst_world

    pairs = gfst_world.pairs(400, 0, feminine=feminine, noise=noise)
    parallel = write_csv(folder / "pairs.csv", {"en": pairs["source"], "it": pairs["target"]})
    (folder / "news.txt").write_text("\n".join(gfst_world.monolingual(80, 1)["text"][:]) + "\n", encoding="utf-8")
    rows = gfst_world.winomt_rows()[:40]
    lines = [f"{row['gender']}\t{row['target_index']}\t{row['sentence']}\t{row['profession']}\n" for row in rows]
    (folder / "en.txt").write_text("".join(lines), encoding="utf-8")
    words = ["gfst", "--dataset", parallel, "--monolingual_dataset", str(folder / "news.txt"), "--winomt"]
    words += [str(folder / "en.txt"), "--lexicon", gfst_world.lexicon(folder / "forms.tsv")]
    words += ["--target_lang", "it", "--min_pairs", "1", "--num_beams", "1", "--n_bootstrap", "10", "--arms", "none"]
    words += ["--per_device_train_batch_size", "32", "--learning_rate", "5e-3", "--eval_strategy", "no", *TRAINING]
    sizes = ["--d_model", "32", "--layers", "1", "--heads", "2", "--ffn", "64", "--token_level", "word"]
    sizes += ["--vocab_size", "200", "--max_steps", "120", "--warmup_steps", "30", "--average_checkpoints", "0"]
    main([*words, *sizes, "--until", "initial", "--output_dir", str(folder / "initial")])
    arms = [
        "--model_name_or_path",
        str(folder / "initial" / "initial" / "model"),
        "--max_steps",
        "7",
        "--warmup_steps",
        "2",
    ]
    arms += ["--average_checkpoints", "2", "--save_strategy", "steps", "--save_steps", "1", "--logging_steps", "3"]
    arms += ["--save_total_limit", "2", "--max_candidates", "40", "--max_new_tokens", "16"]
    return {"gfst": Command([*words, *arms])}


def make_ibadr(folder: Path, *, n: int = 64) -> dict[str, Command]:
    """One round with tiny models, on so many rows."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

    from support.ibadr_case import SETTINGS, make_case

    case = make_case(n)
    names = case.world.train.features["label"].names
    for split in ("train", "validation", "challenge"):
        rows = [{**row, "label": names[row["label"]]} for row in getattr(case.world, split)]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    openers = {"classifier": AutoModelForSequenceClassification, "generator": AutoModelForCausalLM}
    for name, opener in openers.items():
        config, tokenizer = getattr(case, name)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = opener.from_config(config)
        for part in (model, tokenizer):
            part.save_pretrained(folder / name)
    quick = {"n_generated": 12, "generator_num_train_epochs": 2, "n_shallow": 16, "n_iterations": 1}
    settings = {**SETTINGS, **quick, "generator_model": str(folder / "generator")}
    (folder / "ibadr.yaml").write_text(json.dumps(settings))
    words = ["ibadr", str(folder / "classifier"), "--config", str(folder / "ibadr.yaml")]
    words += ["--dataset", str(folder / "train.jsonl"), "--validation_dataset", str(folder / "validation.jsonl")]
    return {"ibadr": Command([*words, "--challenge", f"own={folder / 'challenge.jsonl'}"])}


def make_refine(folder: Path) -> dict[str, Command]:
    """Encoders trained on pairs, on those refined, and on those refined at random."""
    from support.refine_case import make_words

    words = [*make_words(folder), "--percentiles", "80", "--refinements", "aug", "--num_train_epochs", "0.5"]
    return {"refine": Command(["refine", *words])}


#: Maker -> the names of the commands that it makes.
MAKERS: dict[Callable[[Path], dict[str, Command]], tuple[str, ...]] = {
    make_augment: ("augment cda", "augment variants", "augment --num_shards", "augment --overwrite"),
    make_build: ("build-dataset",),
    make_encoder: ("audit", "ccd", "compare"),
    make_diet: ("data-diet", "data-diet full"),
    make_gfst: ("gfst",),
    make_ibadr: ("ibadr",),
    make_refine: ("refine",),
}
NAMES = tuple(name for names in MAKERS.values() for name in names)


def make_command(name: str, folder: Path) -> Command:
    """Write what a command needs into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return next(maker for maker, names in MAKERS.items() if name in names)(folder)[name]
