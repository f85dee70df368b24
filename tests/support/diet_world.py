"""A planted world: a classifier learns the group words, and which swaps undo that is known by construction.

A text names a person by a loaded pair of words (*she*, *he*), by a pair that the encoder hardly tells apart
(*queen*, *king*), or not at all, and says something that belongs to the label more often than not. Positive texts are
about *she*, so a classifier reads the label from the loaded pair; only counterfactuals of such texts tell it otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from hf_fairness.trainers import DataDietArguments

GOOD, BAD = ("calm", "kind", "sweet", "gentle", "warm"), ("vile", "cruel", "nasty", "mean", "rude")
WIDTH = 16

SMALL = {
    "n_seeds": 6,
    "n_init": 3,
    "num_train_epochs": 8,
    "hidden": 16,
    "learning_rate": 5e-3,
    "factual_fractions": [0.5],
    "counterfactual_fractions": [0.0, 0.3],
    "first_fractions": [0.0, 0.5, 1.0],
    "max_auc_drop": 0.1,
}


QUICK = {"experiments": [2], "n_seeds": 2, "n_init": 1, "num_train_epochs": 2, "max_auc_drop": 1.0}


def rows(n: int, seed: int) -> Dataset:
    """Texts with labels 0 and 1."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for number in range(n):
        label = int(rng.random() < 0.4)
        kind = rng.random()
        if kind < 0.25:
            who = "she" if rng.random() < (0.95 if label else 0.3) else "he"
        elif kind < 0.5:
            who = "queen" if rng.random() < 0.5 else "king"
        else:
            who = "it"
        words = [rng.choice(BAD if (rng.random() < 0.7) == bool(label) else GOOD) for _ in range(2)]
        texts.append(f"{who} was {words[0]} and {words[1]} on day {number % 40}")
        labels.append(label)
    return Dataset.from_dict({"text": texts, "label": labels})


def vectors(path: Path) -> str:
    """Word vectors in which the loaded pair lies far apart and the other one close together."""
    rng = np.random.default_rng(7)
    words = {word: rng.normal(size=WIDTH) for word in ("it", "was", "and", "on", "day", *GOOD, *BAD)}
    axis = rng.normal(size=WIDTH)
    words |= {"she": 2.0 * axis, "he": -2.0 * axis}
    words["queen"] = rng.normal(size=WIDTH)
    words["king"] = words["queen"] + 0.05 * rng.normal(size=WIDTH)
    path.write_text("\n".join(f"{word} " + " ".join(f"{x:.5f}" for x in v) for word, v in words.items()) + "\n")
    return str(path)


def arguments(encoder: str, folder: Path, **changes: Any) -> DataDietArguments:
    """Of a search that takes seconds."""
    return DataDietArguments(model_name_or_path=encoder, output_dir=str(folder), **{**SMALL, **changes})
