"""Pairs of texts in which a word of the hypothesis mostly gives the label away, and a tiny classifier for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from datasets import ClassLabel, Dataset, Features, Value
from transformers import DataCollatorWithPadding, TrainingArguments

from hf_fairness.trainers.training.pair_training import encode_rows
from support.tiny_bert import tiny_bert

CONTENT = [[f"{stem}{end}" for stem in ("ba", "ko", "mi", "tu")] for end in ("la", "no", "ri")]
ARTEFACTS = ["indeed", "also", "never"]
NAMES = ["entailment", "neutral", "contradiction"]
WORDS = [*(word for words in CONTENT for word in words), *ARTEFACTS, "the", "dog", "."]


def make_pairs(
    n: int = 240, *, content: float = 0.8, artefact: float = 0.9, seed: int = 0, names: list[str] | None = None
) -> Dataset:
    """Rows whose premise holds a content word and whose hypothesis holds an artefact.

    Args:
        n: rows.
        content: share of rows whose content word is one of the label's; else it is one of another label's.
        artefact: the same of the artefact; 0 is a challenge set.
        seed: of all draws.
        names: of the labels, in the order of their numbers.
    """
    draws = np.random.default_rng(seed)

    def agreeing(label: int, share: float) -> int:
        return label if draws.random() < share else int((label + draws.integers(1, 3)) % 3)

    rows: dict[str, list[Any]] = {"premise": [], "hypothesis": [], "label": []}
    for place in range(n):
        label = place % 3
        rows["premise"].append(f"the dog {draws.choice(CONTENT[agreeing(label, content)])} .")
        rows["hypothesis"].append(f"{ARTEFACTS[agreeing(label, artefact)]} the dog .")
        rows["label"].append(label)
    features = {"premise": Value("string"), "hypothesis": Value("string"), "label": ClassLabel(names=names or NAMES)}
    return Dataset.from_dict(rows, features=Features(features)).shuffle(seed=seed).flatten_indices()


def known_bias(rows: Dataset, share: float = 0.9) -> np.ndarray:
    """Log-probabilities of a model that sees the artefact only, shape (n, 3)."""
    seen = [ARTEFACTS.index(text.split()[0]) for text in rows["hypothesis"]]
    return np.log(np.full((len(rows), 3), (1 - share) / 2) + (share - (1 - share) / 2) * np.eye(3)[seen])


def with_columns(rows: Dataset, **columns: np.ndarray) -> Dataset:
    """The rows with columns of log-probabilities."""
    for name, values in columns.items():
        rows = rows.add_column(name, np.asarray(values, dtype=np.float32).tolist())
    return rows


def make_classifier(*, seed: int = 0, dropout: float = 0.0, **config: Any) -> tuple[Any, Any]:
    """A tiny classifier of pairs, and its tokenizer."""
    rates = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    names = {"id2label": dict(enumerate(NAMES)), "label2id": {name: k for k, name in enumerate(NAMES)}}
    settings = {"num_labels": 3, "initializer_range": 0.1, **names, **rates, **config}
    return tiny_bert(WORDS, "BertForSequenceClassification", seed=seed, **settings)


def make_trainer(trainer_class: Any, rows: Dataset, folder: Any, *, model: Any = None, **options: Any) -> Any:
    """A trainer of the tiny classifier; options of `TrainingArguments`, and of the trainer under ``own``."""
    tiny, tokenizer = make_classifier()
    own, evaluated = options.pop("own", {}), options.pop("eval_dataset", None)
    settings = {"learning_rate": 1e-3, "per_device_train_batch_size": 16, "num_train_epochs": 1, "logging_steps": 1}
    settings |= {"save_strategy": "no", "use_cpu": True, "disable_tqdm": True, "report_to": "none"}
    args = TrainingArguments(str(folder), **{**settings, "dataloader_pin_memory": False, **options})
    return trainer_class(
        model=tiny if model is None else model,
        args=args,
        train_dataset=encode_rows(rows, tokenizer),
        eval_dataset=None if evaluated is None else encode_rows(evaluated, tokenizer),
        data_collator=DataCollatorWithPadding(tokenizer),
        processing_class=tokenizer,
        **own,
    )


def weights(model: Any) -> torch.Tensor:
    """All weights as one vector."""
    return torch.cat([value.detach().flatten().double() for value in model.state_dict().values()])
