"""Quick settings of the GFST recipe, and what its tests look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from hf_fairness.trainers import GFSTArguments, GFSTConfig
from support import gfst_world

SMALL = {"d_model": 32, "layers": 1, "heads": 2, "ffn": 64, "dropout": 0.0, "token_level": "word", "vocab_size": 200}


def arguments(lexicon: str, **more: Any) -> GFSTArguments:
    """Settings that are quick."""
    quick = {"target_lang": "it", "lexicon": lexicon, "min_pairs": 5, "num_beams": 1, "n_bootstrap": 50}
    return GFSTArguments(**{**quick, **SMALL, **more})


def config(folder: Path, **more: Any) -> GFSTConfig:
    """Settings of a short training on the CPU."""
    quick = {
        "max_steps": 120,
        "per_device_train_batch_size": 32,
        "learning_rate": 5e-3,
        "warmup_steps": 30,
        "average_checkpoints": 0,
        "eval_strategy": "no",
        "use_cpu": True,
        "disable_tqdm": True,
        "logging_strategy": "no",
    }
    return GFSTConfig(output_dir=str(folder), **{**quick, **more})


def weights(folder: Path, stage: str = "train_gfst") -> dict[str, Any]:
    """Weights of the model that a stage left."""
    return load_file(folder / stage / "model" / "model.safetensors")


def shows(target: str, gender: str) -> bool:
    """Whether noun, pronoun and adjective of a target all have this gender."""
    words, index = set(target.lower().rstrip(".").split()), int(gender == "female")
    nouns = {both[index].split()[1] for both in gfst_world.JOBS.values()}
    states = {f"{word[:-1]}{'oa'[index]}" for word in gfst_world.STATES.values()}
    return bool(words & nouns) and bool(words & states) and ("lui", "lei")[index] in words
