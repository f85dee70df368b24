"""Log-probabilities of a bias model, or of a teacher, as a column of the training rows.

A bias model is any classifier that knows the bias and little else: one that sees the hypothesis only, or one trained
for a few steps on few rows. On rows that it was trained on it is too sure of itself, and the main model would be taught
to leave them alone whether they are biased or not; `add_bias_log_probs` can train it on other folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset, List, Value
from numpy.typing import NDArray
from torch import nn
from transformers import Trainer, TrainingArguments

from hf_fairness.losses.bias_inputs import check_log_probs
from hf_fairness.measure.classifier.classifier import Classifier
from hf_fairness.measure.classifier.text_learners import (
    Learner,
    Predictor,
    Texts,
    checked_log_probs,
    fold_numbers,
    out_of_fold,
)
from hf_fairness.measure.model_keys import tokenizer_key, weights_key
from hf_fairness.rows import text_columns
from hf_fairness.runs import content_key
from hf_fairness.scores.statistics import Floats
from hf_fairness.trainers.training.pair_training import (
    class_log_probabilities,
    class_numbers,
    class_order,
    open_pair_classifier,
    train_pair_classifier,
)
from hf_fairness.trainers.training.remembered import remembered

BIAS_COLUMN, TEACHER_COLUMN = "bias_log_probs", "teacher_log_probs"
#: Part of the name of every file of log-probabilities; raise it when their computation changes.
VERSION = 1


def add_bias_log_probs(
    dataset: Dataset,
    model: Any = None,
    *,
    learner: Learner | None = None,
    columns: Sequence[str] | None = None,
    label_column: str = "label",
    label_names: Sequence[str] | None = None,
    into: str = BIAS_COLUMN,
    folds: int = 5,
    seed: int = 0,
    cache_dir: str | Path | None = None,
    **model_options: Any,
) -> Dataset:
    """Add the log-probabilities that a classifier gives to the classes of each row.

    With ``model`` a trained classifier is asked. With ``learner`` one classifier per fold is trained on the *other*
    folds (cross-fitting), so that none is asked about rows it has seen; rows with equal texts share a fold.

    Args:
        dataset: texts and labels.
        model: Hub id, folder or live classifier, or a function that takes one list of texts per column and gives
            log-probabilities, shape (n, n_classes). Classes of a model that have the names of the labels in another
            order are put in the labels' order.
        learner: in place of a model: ``hf_fairness.measure.TextLearner()``, `ClassifierLearner`, ...
        columns: texts that the bias model sees, one or two; for a hypothesis-only model ``("hypothesis",)``. None looks
            for ``premise`` and ``hypothesis``, then for ``text``.
        label_column: numbers of classes.
        label_names: names of the classes; None takes those of the column's ClassLabel, else the numbers that occur.
        into: name of the column; ``"teacher_log_probs"`` for a teacher.
        folds: parts, for a learner.
        seed: of the folds.
        cache_dir: folder in which the log-probabilities of a transformers model are kept, under a name made of its
            weights, its tokenizer and the texts. None keeps nothing.
        **model_options: for a transformers model: tokenizer, batch_size, device, max_length, distributed.

    Returns:
        The rows with one more column, a list of float32 of length n_classes.

    Raises:
        TypeError: neither or both of model and learner, options that do not go with them.
        ValueError: the column is there already, texts or labels are missing, a classifier with other classes, or one
            that gives no log-probabilities.

    Source:
        Cross-fitting as in Chernozhukov et al. 2018; bias models of Clark et al. 2019 and He et al. 2019.

    Example:
        >>> rows = Dataset.from_dict({"text": ["no rain", "no sun", "rain", "sun"], "label": [1, 1, 0, 0]})
        >>> half = lambda texts: np.log(np.full((len(texts), 2), 0.5))
        >>> [round(x, 4) for x in add_bias_log_probs(rows, half)[0]["bias_log_probs"]]
        [-0.6931, -0.6931]
    """
    if (model is None) == (learner is None):
        raise TypeError("Give a trained model, or a learner to be trained on the other folds; one of both.")
    if into in dataset.column_names:
        raise ValueError(f"The rows have the column {into!r} already. Remove or rename it first.")
    labels, names = class_numbers(dataset, label_column), _label_names(dataset, label_column, label_names)
    seen = text_columns(dataset, columns)
    texts = [list(dataset.with_format(None)[name][:]) for name in seen]
    is_function = callable(model) and not isinstance(model, (type, nn.Module))
    if (model_options or cache_dir is not None) and (learner is not None or is_function):
        advice = "not with a function" if is_function else "give a learner its own options"
        raise TypeError(f"Model options and cache_dir go with a trained transformers model; {advice}.")
    if learner is not None:
        fold_of = fold_numbers(texts, folds, seed=seed)
        found = out_of_fold(texts, labels.astype(np.intp), learner, len(names), fold_of)
    elif is_function:
        found = checked_log_probs(model(*texts), len(labels), len(names))
    else:
        found = _of_model(model, dataset.select_columns(list(seen)), seen, names, cache_dir, model_options)
    feature = List(Value("float32"), length=len(names))
    return dataset.add_column(into, list(found.astype(np.float32)), feature=feature)


@dataclass(frozen=True)
class ClassifierLearner:
    """Fine-tunes a transformer on the texts it is given: for cross-fitting, and for the partial-input probe.

    Attributes:
        source: Hub id, folder, live classifier (it is copied) or config, as `open_pair_classifier` takes it.
        training_arguments: of the training, see `train_pair_classifier`.
        tokenizer: for a live model or a config.
        label_names: of the classes; None: their numbers.
        seed: of new weights.
        trainer_class: `Trainer` or a subclass.
        max_length: tokens of a row; None: what the model can take.

    Example:
        ``add_bias_log_probs(train, learner=ClassifierLearner("bert-base-uncased"), columns=("hypothesis",))``
    """

    source: Any
    training_arguments: TrainingArguments | Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Any = None
    label_names: Sequence[str] | None = None
    seed: int = 0
    trainer_class: type[Trainer] = Trainer
    max_length: int | None = None

    def __call__(self, texts: Texts, labels: NDArray[np.intp], n_classes: int) -> Predictor:
        """Train on texts."""
        names = [str(k) for k in range(n_classes)] if self.label_names is None else self.label_names
        model, tokenizer = open_pair_classifier(
            self.source, label_names=names, tokenizer=self.tokenizer, seed=self.seed
        )
        columns = [f"text_{k}" for k in range(len(texts))]
        rows = Dataset.from_dict({**dict(zip(columns, map(list, texts), strict=True)), "label": labels.tolist()})
        train_pair_classifier(
            model,
            tokenizer,
            rows,
            trainer_class=self.trainer_class,
            training_arguments=self.training_arguments,
            columns=columns,
            max_length=self.max_length,
        )

        def predict(*given: Sequence[str]) -> Floats:
            rows = Dataset.from_dict(dict(zip(columns, map(list, given), strict=True)))
            return class_log_probabilities(model, tokenizer, rows, columns=columns, max_length=self.max_length)

        return predict


def check_column(dataset: Dataset, name: str, n_classes: int) -> None:
    """Raise unless the column holds one normalised log-probability per class for each row.

    Raises:
        ValueError: it is missing, has another width, or holds rows that are not normalised, or NaN.
    """
    if name not in dataset.column_names:
        raise ValueError(
            f"The training rows have no column {name!r}; they have {', '.join(dataset.column_names)}. "
            f"hf_fairness.trainers.add_bias_log_probs(dataset, model, into={name!r}) adds it."
        )
    values = dataset.with_format("numpy")[name][:]
    if values.ndim != 2 or values.shape[1] != n_classes:
        widths = sorted({np.size(row) for row in values})
        raise ValueError(
            f"Column {name!r} has rows of length {', '.join(map(str, widths))}, expected {n_classes}: one "
            "log-probability for each class of the model."
        )
    check_log_probs(torch.from_numpy(values.astype(np.float64)), f"column {name!r}")


def _label_names(dataset: Dataset, label_column: str, given: Sequence[str] | None) -> list[str]:
    """Names of the classes in the order of their numbers."""
    own = getattr(dataset.features[label_column], "names", None) if given is None else given
    highest = int(max(class_numbers(dataset, label_column)))
    names = [str(k) for k in range(highest + 1)] if own is None else list(own)
    if highest >= len(names) or len(names) < 2:
        raise ValueError(
            f"Column {label_column!r} has labels up to {highest} and there are {len(names)} names of classes, two at "
            "least: pass label_names=[...]."
        )
    return names


def _of_model(
    model: Any,
    rows: Dataset,
    columns: Sequence[str],
    names: Sequence[str],
    cache_dir: str | Path | None,
    options: dict[str, Any],
) -> Floats:
    """Log-probabilities of a transformers model, with classes in the order of the labels."""
    opened = Classifier(model, tokenizer=options.pop("tokenizer", None), device=options.get("device"))
    order = class_order(opened, names)

    def compute() -> dict[str, Any]:
        found = class_log_probabilities(opened.model, opened.tokenizer, rows, columns=columns, **options)
        return {"log_probs": found}

    if cache_dir is None:
        found = compute()["log_probs"]
    else:
        key = content_key(
            VERSION, weights_key(opened.model), tokenizer_key(opened.tokenizer), options.get("max_length"), rows
        )
        found = remembered(Path(cache_dir, f"log-probs-{key}.npz"), compute)["log_probs"]
    if found.shape[1] != len(names):
        raise ValueError(f"{opened.name} has {found.shape[1]} classes, the labels have {len(names)}: {list(names)}.")
    return checked_log_probs(found[:, order], len(rows), len(names))
