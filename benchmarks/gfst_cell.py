"""One cell of `benchmarks.gfst_quality`: `run_gfst` on a world of templates, and what is measured beside it.

`run_gfst` filters, draws, balances, trains and measures; the world brings a tokenizer of words, lexicons, and the forms
that the parallel data lack.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BASELINE, CONTROL, RANDST, UNFILTERED, GFST = "baseline", "control", "randst", "gfst without target filter", "gfst"
ARMS = (BASELINE, CONTROL, RANDST, UNFILTERED, GFST)
#: What `run_gfst` calls an arm where tables have another name.
CALLED = {UNFILTERED: "no_target_filter"}
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
        found = _run(config, _world(config, setting, seed), seed, Path(scratch))
    return {**found, "setting": setting, "seed": seed, "seconds": time.perf_counter() - start}


def _world(config: Mapping[str, Any], setting: str, seed: int) -> Any:
    from hf_fairness.demo.grammar import WorldConfig, translation_world

    return translation_world(
        config["lang"],
        **config["settings"][setting],
        n_monolingual=config["n_monolingual"],
        seed=seed,
        config=WorldConfig(monolingual_feminine_share=config["monolingual_feminine_share"]),
    )


def _run(config: Mapping[str, Any], world: Any, seed: int, folder: Path) -> dict[str, Any]:
    """Train and measure every arm, and read what they wrote."""
    from hf_fairness.filters import LexiconTagger
    from hf_fairness.trainers import GFSTArguments, GFSTConfig, run_gfst
    from hf_fairness.trainers.gfst.small_translator import small_marian, small_tokenizer

    pairs = world.parallel
    forms = [form for each in world.forms.values() for form in each.values()]  # the absent ones too
    texts = [*pairs["source"], *pairs["target"], *world.monolingual["text"], " ".join(forms)]
    tokenizer = small_tokenizer(texts, level="word")
    arguments = GFSTArguments(
        target_lang=world.lang,
        method="mixed_finetune",
        arms=[RANDST, CALLED[UNFILTERED]],
        lexicon=world.write_lexicon(folder),
        min_pairs=1,
        n_bootstrap=0,
        translation_batch_size=256,
        max_new_tokens=30,  # twice the length of the longest sentence
        until="scores",
        **config["gfst"],
    )
    training = GFSTConfig(
        output_dir=str(folder / "run"),
        eval_strategy="steps",
        eval_steps=1 / config["evaluations"],
        save_strategy="steps",
        save_steps=1 / config["evaluations"],
        early_stopping_patience=None,
        logging_strategy="no",
        seed=seed,
        use_cpu=True,
        disable_tqdm=True,
        **config["training"],
    )
    found = run_gfst(
        arguments,
        pairs,
        world.monolingual,
        config=training,
        validation=world.validation,
        test=world.generic_test,
        winomt_rows=world.winomt_rows,
        winomt_tagger=LexiconTagger(world.write_lexicon(folder, nouns_only=True), world.lang),
        model=small_marian(tokenizer, seed=seed, **config["model"]),
        tokenizer=tokenizer,
    )
    losses = [each["loss"] for each in found["arms"][BASELINE]["history"]["eval"]]
    target, balance = found["data"]["filter_target"], found["data"]["balance"]
    return {
        "arms": {arm: _measures(found, world, CALLED.get(arm, arm)) for arm in ARMS},
        "pairs": {
            "source": target["n"],
            "by_gender": target["by_gender"],
            "kept_per_gender": balance["per_group"],
            "pairs_added": balance["n"],
        },
        "dev_losses": losses,
        "dev_loss_change": last_change(losses),
    }


def _measures(found: Mapping[str, Any], world: Any, arm: str) -> dict[str, Any]:
    """WinoMT, the absent forms by themselves, BLEU on the generic test set, and what the training says."""
    from hf_fairness.demo.grammar_forms import GENDERS
    from hf_fairness.trainers.gfst.sets import TRANSLATIONS, WINOMT, read

    texts = read(found["stages"][f"predict_{arm}"], TRANSLATIONS)[WINOMT]
    genders = read(found["stages"][f"scores_{arm}"], f"{WINOMT}.json")
    rows = list(zip(world.winomt_rows, texts, genders, strict=True))
    absent = [(row, text, gender) for row, text, gender in rows if row["absent"]]
    of = {gender: [(row, text) for row, text, _ in rows if row["gender"] == gender] for gender in GENDERS}
    scores, history = found["results"]["winomt"][arm], found["arms"][arm]["history"]
    return {
        **{key: scores[key] for key in MEASURES if key in scores},
        "absent_accuracy": sum(gender == row["gender"] for row, _, gender in absent) / len(absent),
        "absent_forms": _written(world, [(row, text) for row, text, _ in absent]),
        **{f"forms_{gender}": _written(world, own) for gender, own in of.items()},
        "bleu": found["results"]["test"][arm]["bleu"],
        "dev_loss": history["averaged"].get("loss", history["eval"][-1]["loss"]),
        "steps": history["steps"],
        "n_pairs": history["n"],
    }


def _written(world: Any, rows: Sequence[tuple[Mapping[str, Any], str]]) -> float:
    """Share of translations that hold the right noun in the right gender."""
    forms = [world.forms[row["profession"]][row["gender"]] for row, _ in rows]
    return sum(form in text.rstrip(".").split() for form, (_, text) in zip(forms, rows, strict=True)) / len(rows)


def last_change(losses: Sequence[float]) -> float:
    """By which share of itself the loss falls from the third last validation to the last one.

    Example:
        >>> round(last_change([9.0, 1.0, 0.9, 0.9]), 3)
        0.1
    """
    return (losses[-3] - losses[-1]) / losses[-3]
