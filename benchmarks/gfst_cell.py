"""One cell of `benchmarks.gfst_quality`: a world, a baseline trained on it, and the models that go on from it."""

from __future__ import annotations

import copy
import math
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BASELINE, CONTROL, RANDST, UNFILTERED, GFST = "baseline", "control", "randst", "gfst without target filter", "gfst"
ARMS = (BASELINE, CONTROL, RANDST, UNFILTERED, GFST)
#: Measures of an arm, and whether more of them is better. None: a gap, the nearer to 0 the better; two arms are
#: compared by the sizes of their gaps, so that a gap on the other side is no gain.
MEASURES: dict[str, bool | None] = {
    "accuracy": True,
    "delta_r": None,
    "delta_g": None,
    "delta_s_accuracy": None,
    "recall_female": True,
    "recall_male": True,
    "forms_female": True,
    "forms_male": True,
    "absent_accuracy": True,
    "absent_forms": True,
    "bleu": True,
    "dev_loss": False,
}


def cell(config: Mapping[str, Any], setting: str, seed: int, folder: str) -> dict[str, Any]:
    """All arms of one setting and seed, on one thread; numbers only."""
    import torch

    torch.set_num_threads(1)
    start = time.perf_counter()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(dir=folder) as scratch:
        warnings.simplefilter("ignore")
        found = _Cell(config, setting, seed, Path(scratch)).run()
    return {**found, "setting": setting, "seed": seed, "seconds": time.perf_counter() - start}


class _Cell:
    """One world and its models."""

    def __init__(self, config: Mapping[str, Any], setting: str, seed: int, folder: Path) -> None:
        from hf_fairness.demo.grammar import WorldConfig, translation_world
        from hf_fairness.filters import LexiconTagger
        from hf_fairness.trainers.gfst.small_translator import small_tokenizer

        self.config, self.seed, self.folder = config, seed, folder
        self.world = translation_world(
            config["lang"],
            **config["settings"][setting],
            n_monolingual=config["n_monolingual"],
            seed=seed,
            config=WorldConfig(monolingual_feminine_share=config["monolingual_feminine_share"]),
        )
        self.tagger = LexiconTagger(self.world.write_lexicon(folder), config["lang"])
        self.noun_tagger = LexiconTagger(self.world.write_lexicon(folder, nouns_only=True), config["lang"])
        pairs = self.world.parallel
        forms = [form for each in self.world.forms.values() for form in each.values()]  # the absent ones too
        texts = [*pairs["source"], *pairs["target"], *self.world.monolingual["text"], " ".join(forms)]
        self.tokenizer = small_tokenizer(texts, level="word")

    def run(self) -> dict[str, Any]:
        """Train and measure every arm."""
        from datasets import concatenate_datasets

        arms, histories = {}, {}
        original = self.world.parallel
        baseline, histories[BASELINE] = self.train(BASELINE, None, original, **self.config["baseline"])
        arms[BASELINE] = self.measure(baseline)
        pseudo, counts = self.pseudo_pairs(baseline)
        size = len(pseudo[GFST])
        counts["pairs_added"] = size
        how = dict(self.config["fine_tuning"])
        how["steps"] = math.ceil(how.pop("epochs") * 2 * size / self.config["training"]["per_device_train_batch_size"])
        beside = original.shuffle(seed=self.seed).select(range(min(size, len(original))))
        for arm in ARMS[1:]:
            added = pseudo.get(arm)
            rows = (
                original if added is None else concatenate_datasets([beside, added.select_columns(beside.column_names)])
            )
            model, histories[arm] = self.train(arm, baseline, rows, **how)
            arms[arm] = self.measure(model)
        for arm, history in histories.items():
            loss = history["averaged"].get("loss", history["eval"][-1]["loss"])
            arms[arm] |= {"dev_loss": loss, "steps": history["steps"], "n_pairs": history["n"]}
        losses = [each["loss"] for each in histories[BASELINE]["eval"]]
        return {"arms": arms, "pairs": counts, "dev_losses": losses, "dev_loss_change": last_change(losses)}

    def train(self, arm: str, start: Any, rows: Any, *, steps: int, **how: Any) -> tuple[Any, dict[str, Any]]:
        """A model after so many steps from another one, or from the random weights of this seed."""
        from hf_fairness.trainers import GFSTConfig, train_translator
        from hf_fairness.trainers.gfst.small_translator import small_marian

        every = max(1, steps // self.config["evaluations"])
        args = GFSTConfig(
            output_dir=str(self.folder / arm.replace(" ", "_")),
            max_steps=steps,
            eval_strategy="steps",
            eval_steps=every,
            save_strategy="steps",
            save_steps=every,
            average_checkpoints=self.config["average_checkpoints"],
            early_stopping_patience=None,
            logging_strategy="no",
            seed=self.seed,
            use_cpu=True,
            disable_tqdm=True,
            **self.config["training"],
            **how,
        )
        if start is None:
            start = small_marian(self.tokenizer, seed=self.seed, **self.config["model"])
        model = copy.deepcopy(start)
        return train_translator(model, self.tokenizer, rows, args, eval_dataset=self.world.validation)

    def translate(self, model: Any, texts: Sequence[str]) -> list[str]:
        """Translations, limited to twice the length of the longest sentence."""
        from hf_fairness.measure.translator.translation import translate

        return translate(
            model, self.tokenizer, texts, num_beams=self.config["num_beams"], batch_size=256, max_new_tokens=30,
            show_progress=False,
        )  # fmt: skip

    def pseudo_pairs(self, model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Pairs of the baseline's making for RandST and GFST with and without target filter, all equally many."""
        from datasets import Dataset

        from hf_fairness.filters import Kept, OneGroup, SourceGender, TargetGender, drops

        text = self.world.monolingual
        labelled = text.map(SourceGender("text"), batched=True)
        chosen = labelled.filter(OneGroup()).shuffle(seed=self.seed)
        genders = sorted(set(chosen["source_gender"]))
        n = min(chosen["source_gender"].count(gender) for gender in genders)
        sides = [chosen.filter(OneGroup(groups=[gender])).select(range(n)) for gender in genders]
        made = {"source": [each for side in sides for each in side["text"]]}
        made["target"] = self.translate(model, made["source"])
        made["source_gender"] = [each for side in sides for each in side["source_gender"]]
        rows = Dataset.from_dict(made).map(TargetGender("target", tagger=self.tagger), batched=True)
        counts = drops(rows, "target_reason")
        good = rows.filter(Kept("target_reason"))
        size = min(each["kept"] for gender, each in counts["by_gender"].items() if gender in genders)
        random_texts = text.shuffle(seed=self.seed).select(range(len(genders) * size))["text"]
        pairs = {
            RANDST: Dataset.from_dict({"source": random_texts, "target": self.translate(model, random_texts)}),
            UNFILTERED: balanced(rows, genders, size),
            GFST: balanced(good, genders, size),
        }
        return pairs, {"source": counts["n"], "by_gender": counts["by_gender"], "kept_per_gender": size}

    def measure(self, model: Any) -> dict[str, Any]:
        """WinoMT, the absent forms by themselves, and BLEU on the generic test set."""
        from hf_fairness.demo.grammar_forms import GENDERS
        from hf_fairness.measure import translation_quality, winomt

        world = self.world
        translations = self.translate(model, [row["sentence"] for row in world.winomt_rows])
        read = {"lang": world.lang, "tagger": self.noun_tagger, "rules": "agreement", "items": True, "n_bootstrap": 0}
        scores = winomt(translations, world.winomt_rows, **read)
        rows = list(zip(world.winomt_rows, translations, scores["items"], strict=True))
        absent = [(row, text, item) for row, text, item in rows if row["absent"]]
        by_gender = {gender: [(row, text) for row, text, _ in rows if row["gender"] == gender] for gender in GENDERS}
        test = world.generic_test
        generic = translation_quality(self.translate(model, test["source"]), test["target"], n_bootstrap=0)
        keys = [key for key in MEASURES if key in scores]
        return {
            **{key: scores[key] for key in keys},
            "absent_accuracy": sum(item["correct"] for _, _, item in absent) / len(absent),
            "absent_forms": self.written([(row, text) for row, text, _ in absent]),
            **{f"forms_{gender}": self.written(of_gender) for gender, of_gender in by_gender.items()},
            "bleu": generic["bleu"],
        }

    def written(self, rows: Sequence[tuple[Mapping[str, Any], str]]) -> float:
        """Share of translations that hold the right noun in the right gender."""
        forms = [self.world.forms[row["profession"]][row["gender"]] for row, _ in rows]
        return sum(form in text.rstrip(".").split() for form, (_, text) in zip(forms, rows, strict=True)) / len(rows)


def balanced(rows: Any, genders: Sequence[str], size: int) -> Any:
    """The first so many rows of each gender."""
    from datasets import concatenate_datasets

    from hf_fairness.filters import OneGroup

    return concatenate_datasets([rows.filter(OneGroup(groups=[each])).select(range(size)) for each in genders])


def last_change(losses: Sequence[float]) -> float:
    """By which share of itself the loss falls from the third last validation to the last one.

    Example:
        >>> round(last_change([9.0, 1.0, 0.9, 0.9]), 3)
        0.1
    """
    return (losses[-3] - losses[-1]) / losses[-3]
