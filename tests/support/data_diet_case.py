"""A small training set with a planted bias, and a tiny classifier for it: for the tests of the data diet."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import Trainer

from hf_fairness.augment import CounterfactualAugmentation, CounterfactualSwap
from hf_fairness.trainers import GEPruningCallback
from support.tiny_bert import tiny_bert

BATCH = 16

VERBS = {"praised": 0, "helped": 0, "thanked": 0, "insulted": 1, "mocked": 1, "ignored": 1}
THINGS = ["team", "guest", "judge", "crowd", "clerk", "pilot", "baker", "rival", "crew", "class"]
WORDS = [*VERBS, *THINGS, "he", "she", "the", "rain", "after", "before", "."]


def make_texts(*, seed: int = 0, agree: float = 0.9) -> Dataset:
    """72 texts, two thirds of them with a pronoun that tells the label nearly as well as the verb does.

    Args:
        seed: of the pronouns and of the order.
        agree: share of the pronouns that agree with the label: "she" with 1.
    """
    draws = np.random.default_rng(seed)
    texts, labels = [], []
    for place, (verb, label) in enumerate(VERBS.items()):
        for other, thing in enumerate(THINGS):
            pronoun = ("he", "she")[label if draws.random() < agree else 1 - label]
            subject = pronoun if (place + other) % 5 else "the crew"
            texts.append(f"{subject} {verb} the {thing}")
            labels.append(label)
        texts += [f"the {THINGS[place]} {verb} the rain", f"the {THINGS[-1 - place]} {verb} the rain before"]
        labels += [label, label]
    order = draws.permutation(len(texts))
    return Dataset.from_dict({"text": [texts[i] for i in order], "label": [labels[i] for i in order]})


def long_rows(**options: Any) -> Dataset:
    """The texts with a row for each counterfactual."""
    return make_texts(**options).map(CounterfactualAugmentation("text"), batched=True)


def wide_rows(**options: Any) -> Dataset:
    """The texts with a column of counterfactuals."""
    return make_texts(**options).map(CounterfactualSwap("text"), batched=True)


def make_classifier(*, seed: int = 0, **config: Any) -> tuple[Any, Any]:
    """A tiny classifier with dropout, and its tokenizer."""
    return tiny_bert(WORDS, "BertForSequenceClassification", seed=seed, **{"num_labels": 2, **config})


def tokenize(rows: Dataset, tokenizer: Any, max_length: int = 16) -> Dataset:
    """The rows with the inputs of the model, as a plain Trainer wants them."""
    return rows.map(
        tokenizer, batched=True, input_columns="text", fn_kwargs={"truncation": True, "max_length": max_length}
    )


def make_trainer(rows: Dataset, args: Any, callbacks: Any = (), collator: Any = None, model: Any = None) -> Trainer:
    """A plain Trainer of the tiny classifier, or of a model that is given."""
    tiny, tokenizer = make_classifier()
    return Trainer(
        model=model if model is not None else tiny,
        args=args,
        train_dataset=rows,
        processing_class=tokenizer,
        data_collator=collator(tokenizer, rows) if collator else None,
        callbacks=list(callbacks),
    )


def weights(model: Any) -> dict[str, torch.Tensor]:
    """A copy of the weights by name."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def assert_equal_weights(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> None:
    """Both are equal to the last bit."""
    assert one.keys() == two.keys()
    for name, value in one.items():
        assert torch.equal(value, two[name]), name


def live(trainer: Trainer) -> GEPruningCallback:
    """The callback that a Trainer uses: after a restored checkpoint it is not the one that was passed."""
    return next(each for each in trainer.callback_handler.callbacks if isinstance(each, GEPruningCallback))
