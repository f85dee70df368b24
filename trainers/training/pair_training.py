"""Classifiers of texts or pairs of texts: opened, trained by any `Trainer`, and asked how sure they are.

Rows have the text columns ``premise`` and ``hypothesis``, or ``text`` alone, or those that are named; and ``label``,
the number of the class. Columns of a bias model or a teacher, as `PoETrainer` and its like read them, stay beside the
tokens.
"""

from __future__ import annotations

import copy
import dataclasses
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray
from scipy.special import log_softmax
from transformers import (
    DataCollatorWithPadding,
    EarlyStoppingCallback,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

from hf_fairness._encoder_adapters import is_a, model_max_length
from hf_fairness._opening import find_tokenizer, trainable
from hf_fairness.measure.classifier.classifier import Classifier
from hf_fairness.rows import column_values, text_columns
from hf_fairness.scores import class_labels
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.training.length_groups import length_grouped
from hf_fairness.utils import FairnessWarning

#: Columns of numbers that methods read beside the tokens.
METHOD_COLUMNS = ("bias_log_probs", "teacher_log_probs", "dct_negatives", "dct_hard")
#: What data sets write where annotators did not agree on a label (SNLI, MNLI).
UNLABELLED = (-1, "-1", "-")
#: What is set where the caller says nothing: no files but the best weights, no bars, no reports.
DEFAULTS: dict[str, Any] = {
    "save_strategy": "no",
    "logging_strategy": "no",
    "report_to": "none",
    "disable_tqdm": True,
}


def open_pair_classifier(
    source: Any, *, label_names: Sequence[str], tokenizer: Any = None, seed: int = 0
) -> tuple[Any, Any]:
    """A classifier with one output per label that is free to be trained, and its tokenizer.

    Args:
        source: a Hub id or folder, a live model (it is copied), or a transformers config (random weights).
        label_names: names of the classes in the order of their numbers.
        tokenizer: needed with a live model or a config that do not say where they came from.
        seed: of weights that are drawn at random: a new head, or all of a config.

    Returns:
        Model and tokenizer. Without a padding token, as GPT-2 has none, the end-of-text token pads.

    Raises:
        ValueError: a source that does not open, a live model with another number of classes, no tokenizer.
    """
    n = len(label_names)
    set_seed(seed)
    if is_a(source, "transformers", "PretrainedConfig"):
        source = copy.deepcopy(source)
        source.num_labels = n
    model = trainable("AutoModelForSequenceClassification", source, num_labels=n, ignore_mismatched_sizes=True)
    if getattr(getattr(model, "config", None), "num_labels", None) != n:
        raise ValueError(f"{type(model).__name__} is no classifier of the {n} labels {', '.join(label_names)}.")
    model.config.id2label = dict(enumerate(label_names))
    model.config.label2id = {name: number for number, name in enumerate(label_names)}
    tokenizer = find_tokenizer(source, tokenizer)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id
    return model, tokenizer


def pair_trainer(
    model: Any,
    tokenizer: Any,
    train: Dataset,
    *,
    trainer_class: type[Trainer] = Trainer,
    training_arguments: TrainingArguments | Mapping[str, Any],
    eval_dataset: Dataset | None = None,
    early_stopping_patience: int | None = None,
    columns: Sequence[str] | None = None,
    label_column: str = "label",
    max_length: int | None = None,
    callbacks: Sequence[TrainerCallback] = (),
    **trainer_options: Any,
) -> Trainer:
    """The trainer that :func:`train_pair_classifier` runs; for callers that want its state.

    Args:
        model: as there.
        tokenizer: as there.
        train: as there.
        trainer_class: as there.
        training_arguments: as there, with ``output_dir``.
        eval_dataset: as there.
        early_stopping_patience: as there.
        columns: of :func:`encode_rows`.
        label_column: of :func:`encode_rows`.
        max_length: of :func:`encode_rows`; None means what the model can take.
        callbacks: of the trainer.
        trainer_options: others of the trainer.

    Returns:
        The trainer, not yet run.
    """
    if early_stopping_patience is not None:
        if eval_dataset is None:
            raise ValueError(
                f"early_stopping_patience={early_stopping_patience} stops on the accuracy of eval_dataset, which is "
                "missing."
            )
        callbacks = [*callbacks, EarlyStoppingCallback(early_stopping_patience=early_stopping_patience)]
    length = model_max_length(model, tokenizer) if max_length is None else max_length
    how: dict[str, Any] = {"columns": columns, "label_column": label_column, "max_length": length}
    trainer = length_grouped(trainer_class)(
        model=model,
        args=_arguments(training_arguments, eval_dataset is not None),
        train_dataset=encode_rows(train, tokenizer, **how),
        eval_dataset=None if eval_dataset is None else encode_rows(eval_dataset, tokenizer, **how),
        processing_class=tokenizer,
        callbacks=list(callbacks),
        **{
            "data_collator": DataCollatorWithPadding(tokenizer),
            "compute_metrics": _accuracy,
            **trainer_options,
        },
    )
    trainer.remove_callback(PrinterCallback)
    # Classifiers take any keyword and ignore the number of items: their loss is the mean over a batch.
    trainer.model_accepts_loss_kwargs = False
    return trainer


def train_pair_classifier(
    model: Any,
    tokenizer: Any,
    train: Dataset,
    *,
    trainer_class: type[Trainer] = Trainer,
    training_arguments: TrainingArguments | Mapping[str, Any],
    eval_dataset: Dataset | None = None,
    early_stopping_patience: int | None = None,
    max_steps: int | None = None,
    **trainer_options: Any,
) -> Any:
    """Train a classifier on texts or pairs of texts.

    With ``eval_dataset`` its accuracy is taken after every epoch (or as the arguments say), and the best weights are
    those that are returned. Checkpoints of an interrupted run in ``output_dir`` are gone on from.

    Args:
        model: live classifier; it is trained in place, in float32 (see `preparation.full_precision`).
        tokenizer: of the model.
        train: rows, see :mod:`hf_fairness.trainers.training.pair_training`.
        trainer_class: `Trainer` or a subclass with another loss.
        training_arguments: `TrainingArguments`, or a mapping of some; without ``output_dir`` a folder is used that is
            removed afterwards.
        eval_dataset: rows to choose the best weights on.
        early_stopping_patience: evaluations without a better accuracy after which training stops; None trains to the
            end.
        max_steps: steps of training, in place of epochs.
        trainer_options: of :func:`pair_trainer`: ``columns``, ``label_column``, ``max_length``, ``callbacks``, and
            others of the trainer.

    Returns:
        The trained model, in eval mode.

    Raises:
        ValueError: rows without texts or labels, ``early_stopping_patience`` without ``eval_dataset``.
    """
    changed = {} if max_steps is None else {"max_steps": max_steps}
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(training_arguments, Mapping):
            training_arguments = {"output_dir": folder, **training_arguments, **changed}
        elif changed:
            training_arguments = dataclasses.replace(training_arguments, **changed)
        trainer = pair_trainer(
            model,
            tokenizer,
            train,
            trainer_class=trainer_class,
            training_arguments=training_arguments,
            eval_dataset=eval_dataset,
            early_stopping_patience=early_stopping_patience,
            **trainer_options,
        )
        trainer.train(resume_from_checkpoint=last_whole_checkpoint(trainer.args.output_dir))
    return trainer.model.eval()


def class_log_probabilities(
    model: Any,
    tokenizer: Any,
    dataset: Dataset,
    *,
    columns: Sequence[str] | None = None,
    batch_size: int = 64,
    device: Any = None,
    max_length: int | None = None,
    distributed: bool = False,
    label_names: Sequence[str] | None = None,
) -> NDArray[np.float64]:
    """Log-probabilities of the classes for each row, shape (n, classes), in input order.

    Args:
        model: Hub id, folder or live classifier.
        tokenizer: of a live model; None looks where the model came from.
        dataset: rows; labels are not needed.
        columns: text columns; None as in :func:`text_columns`.
        batch_size: rows per forward.
        device: None means where a live model is.
        max_length: tokens of a row; None means what the model can take.
        distributed: whether the processes of a launch share the rows; then all must call it.
        label_names: classes in the order that is wanted; None takes the model's own.
    """
    opened = Classifier(
        model, tokenizer=tokenizer, device=device, max_length=max_length, show_progress=False, distributed=distributed
    )
    texts = [dataset[name][:] for name in text_columns(dataset, columns)]
    found: NDArray[np.float64] = log_softmax(opened.logits(*texts, batch_size=batch_size), axis=1)
    return found if label_names is None else found[:, class_order(opened, label_names)]


def class_order(opened: Classifier, names: Sequence[str]) -> list[int]:
    """Which output of a model belongs to each label.

    Args:
        opened: the model; it may have further classes.
        names: of the labels.

    Raises:
        ValueError: the model names its classes, and otherwise than the labels, or has another number of them.
    """
    theirs = {str(name).casefold(): number for number, name in opened.label_names.items()}
    ours = [name.casefold() for name in names]
    if set(ours) <= set(theirs):
        return [theirs[name] for name in ours]
    if len(theirs) != len(names):
        raise ValueError(f"{opened.name} has {len(theirs)} classes, the labels have {len(names)}: {list(names)}.")
    if all(name.isdecimal() or name.startswith("label_") for name in theirs):
        return list(range(len(names)))
    if all(map(str.isdecimal, ours)):
        pairs = ", ".join(f"{own} = {name}" for own, name in zip(names, opened.label_names.values(), strict=True))
        warnings.warn(
            f"{opened.name} names its classes and the rows number theirs: they are taken to be in one order ({pairs}). "
            "If that is wrong, say what the numbers mean (label_names, --class_names).",
            FairnessWarning,
            stacklevel=3,
        )
        return list(range(len(names)))
    raise ValueError(
        f"{opened.name} has the classes {', '.join(opened.label_names.values())} and the rows the labels "
        f"{', '.join(names)}: which is which? Give the labels in the model's words (label_names, --class_names)."
    )


def gold_confidence(
    model: Any, tokenizer: Any, dataset: Dataset, *, label_column: str = "label", **options: Any
) -> NDArray[np.float32]:
    """Probability that the model gives to each row's own label: the bias degree where the model is a shallow one.

    Args:
        model: Hub id, folder or live classifier, whose outputs are numbered as the labels are.
        tokenizer: of a live model; None looks where the model came from.
        dataset: texts and labels.
        label_column: numbers of classes.
        options: of :func:`class_log_probabilities`.

    Returns:
        Shape (n,), in [0, 1]; under a shallow model 1 is the most biased.

    Raises:
        ValueError: labels that are no classes of the model.

    Source:
        Wang et al. 2023, section 2.1.
    """
    labels = class_numbers(dataset, label_column)
    log_probabilities = class_log_probabilities(model, tokenizer, dataset, **options)
    if labels.max() >= log_probabilities.shape[1]:
        raise ValueError(f"There is a label {labels.max()}, and the model has {log_probabilities.shape[1]} classes.")
    return np.exp(log_probabilities[np.arange(len(labels)), labels]).astype(np.float32)


def order_is_stated(rows: Dataset, label_column: str, names: Sequence[str] | None) -> bool:
    """Whether somebody stated the order of the classes: by names, or by a ``ClassLabel`` of the rows."""
    return bool(names) or hasattr(rows.features.get(label_column), "names")


def labelled_rows(
    rows: Dataset,
    columns: Sequence[str],
    names: Sequence[str] | None,
    title: str,
    *,
    label_column: str = "label",
    others: Sequence[str] = (),
    stated: bool = True,
) -> tuple[Dataset, list[str]]:
    """Rows with the text columns and ``label``, those without a label left out with a warning; and names of the labels.

    Args:
        rows: with text columns and labels.
        columns: text columns.
        names: of the labels in the order of their numbers; None: those of the rows, or else the labels themselves.
        title: of the rows, in messages.
        label_column: column of the labels.
        others: columns to keep beside these, as texts, where the rows have them.
        stated: whether somebody stated the order of the names. Else they are words of other rows in alphabetical order,
            in which no number has a place.

    Raises:
        ValueError: a column is missing, a row without text, a label that is not in the map, or a number where nobody
            stated the order of the names.
    """
    missing = [name for name in (*columns, label_column) if name not in rows.column_names]
    if missing:
        raise ValueError(
            f"The {title} rows have no column {missing[0]!r}; they have {', '.join(rows.column_names)}. Say which they "
            "are with --text_column and --label_column."
        )
    values, what = column_values(rows, label_column), f"column {label_column!r} of the {title} rows"
    kept = [place for place, value in enumerate(values) if value not in UNLABELLED]
    own = getattr(rows.features[label_column], "names", None)  # a split may number its labels in its own way
    found = class_labels.read_labels([values[place] for place in kept], what, names=own, rows=kept)
    names = list(names or own or class_labels.class_names(found))
    if not stated:
        class_labels.refuse_numbers(found, names, what)
    labels = class_labels.places(found, names, f"{what} (--class_names says what the classes are)", rows=kept)
    if len(kept) < len(rows):
        warnings.warn(
            f"{len(rows) - len(kept)} of {len(rows)} {title} rows have no label (-1 or -) and are left out.",
            FairnessWarning,
            stacklevel=4,
        )
        rows = rows.select(kept)
    texts = {name: rows[name][:] for name in columns}
    for name, column in texts.items():
        bad = next((place for place, text in enumerate(column) if not isinstance(text, str) or not text.strip()), None)
        if bad is not None:
            raise ValueError(f"Row {kept[bad]} of the {title} rows has no text in {name!r}: {column[bad]!r}.")
    kept_beside = {name: list(map(str, rows[name][:])) for name in others if name in rows.column_names}
    return Dataset.from_dict({**texts, "label": labels, **kept_beside}), names


def encode_rows(
    dataset: Dataset,
    tokenizer: Any,
    *,
    columns: Sequence[str] | None = None,
    label_column: str = "label",
    max_length: int | None = None,
) -> Dataset:
    """Tokens and ``labels`` of the rows, with the columns of methods where the rows have them.

    Args:
        dataset: texts and labels.
        tokenizer: of the model.
        columns: text columns; None as in :func:`text_columns`.
        label_column: numbers of classes.
        max_length: tokens of a row; None means what the tokenizer says. Longer rows are cut.

    Raises:
        ValueError: a column is missing, or labels are no numbers of classes.
    """
    names = text_columns(dataset, columns)
    labels = class_numbers(dataset, label_column)
    # Tokenizers state a huge number where nothing is known.
    cut = {"truncation": max_length is not None or tokenizer.model_max_length <= 10**6, "max_length": max_length}

    def encode(batch: Mapping[str, Any]) -> dict[str, Any]:
        return dict(tokenizer(*(list(batch[name]) for name in names), **cut))

    dropped = [name for name in dataset.column_names if name not in METHOD_COLUMNS]
    encoded = dataset.map(encode, batched=True, remove_columns=dropped, desc="Tokenizing")
    return encoded.add_column("labels", labels.tolist())


def class_numbers(dataset: Dataset, label_column: str = "label") -> NDArray[np.int64]:
    """Labels of the rows as numbers of classes.

    Raises:
        ValueError: there are no rows or no such column, or it does not hold whole numbers from 0.
    """
    if label_column not in dataset.column_names or not len(dataset):
        raise ValueError(
            f"The rows need the column {label_column!r} and one row at least; got {len(dataset)} rows with "
            f"{', '.join(dataset.column_names)}."
        )
    return class_labels.class_numbers(column_values(dataset, label_column), f"column {label_column!r}")


def _arguments(given: TrainingArguments | Mapping[str, Any], evaluates: bool) -> TrainingArguments:
    """Settings of a run; with rows to evaluate on, those that keep the best weights."""
    if not isinstance(given, Mapping):
        return given
    settings = {**DEFAULTS, **given}
    if evaluates:
        when = settings.setdefault("eval_strategy", "epoch")
        best = {"load_best_model_at_end": True, "metric_for_best_model": "accuracy", "greater_is_better": True}
        settings |= {**best, "save_strategy": when, "save_total_limit": 1}
        if when == "steps":
            settings["save_steps"] = settings.setdefault("eval_steps", 500)
    if settings.get("use_cpu"):
        settings.setdefault("dataloader_pin_memory", False)
    return TrainingArguments(**settings)


def _accuracy(prediction: Any) -> dict[str, float]:
    logits = prediction.predictions[0] if isinstance(prediction.predictions, tuple) else prediction.predictions
    return {"accuracy": float((logits.argmax(axis=-1) == prediction.label_ids).mean())}
