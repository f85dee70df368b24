"""Training a sentence encoder on pairs of texts with labels (NLI), as BiLSTM-max and SBERT were.

A classifier reads the vectors u and v of the two texts, their difference and their product; encoder and classifier
learn together, and the encoder is what is kept.

Sources: Conneau et al. 2017 (InferSent) and its released ``train_nli.py``; Reimers and Gurevych 2019 (SBERT).
"""

from __future__ import annotations

import itertools
import logging
import math
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from datasets import Dataset
from safetensors.torch import load_file, save_file
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
from torch import nn
from torch.optim.lr_scheduler import LRScheduler
from transformers import PrinterCallback, TrainerCallback

from hf_fairness.encoders import Vectors
from hf_fairness.rows import text_columns
from hf_fairness.trainers.refine.bilstm import is_bilstm
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.training.guarded import Guarded
from hf_fairness.trainers.training.pair_training import labelled_rows, order_is_stated
from hf_fairness.trainers.training.settings import MethodArguments
from hf_fairness.utils import FairnessWarning, in_eval

logger = logging.getLogger(__name__)

#: The classifier beside the encoder of a checkpoint.
HEAD_FILE = "nli_head.safetensors"
ACCURACY = "eval_accuracy"
#: The two texts as sentence-transformers is given them; other names have a meaning there.
_PAIR = ("sentence1", "sentence2")

#: Settings of InferSent: those of its released code, with the epochs of Dolci et al. 2023, section 4.3.
BILSTM: dict[str, Any] = {
    "optim": "sgd",
    "learning_rate": 0.1,
    "per_device_train_batch_size": 64,
    "num_train_epochs": 8,
    "max_grad_norm": 5.0,
    "lr_scheduler_type": "constant",
    "lr_decay": 0.99,
    "lr_shrink": 5.0,
    "min_learning_rate": 1e-5,
    "head_layers": [512, 512],
    "head_product": True,
}
#: For corpora of some thousand pairs: on as few steps the published SGD leaves an encoder where it began, and the
#: accuracy on some hundred development rows says too little to divide the learning rate by.
BILSTM_SMALL: dict[str, Any] = {**BILSTM, "optim": "adamw_torch", "learning_rate": 1e-3, "lr_shrink": 1.0}
#: Settings of SBERT on NLI: one epoch with a softmax on (u, v, |u - v|).
TRANSFORMER: dict[str, Any] = {
    "learning_rate": 2e-5,
    "per_device_train_batch_size": 16,
    "num_train_epochs": 1,
    "lr_scheduler_type": "linear",
    "warmup_steps": 0.1,
    "head_layers": [],
    "head_product": False,
}
#: What is set where the caller says nothing: an evaluation and a checkpoint an epoch, of which the best is returned.
DEFAULTS: dict[str, Any] = {
    "eval_strategy": "epoch",
    "save_strategy": "epoch",
    "logging_strategy": "epoch",
    "load_best_model_at_end": True,
    "metric_for_best_model": ACCURACY,
    "greater_is_better": True,
    "save_total_limit": 1,
    "per_device_eval_batch_size": 64,
    "report_to": "none",
    "disable_tqdm": True,
}


@dataclass
class NLIConfig(MethodArguments, SentenceTransformerTrainingArguments):
    """Settings of a training on NLI beside those of every training; :func:`nli_config` fills in the published ones."""

    RANGES: ClassVar = {"lr_decay": (0.0, 1.0), "lr_shrink": (1.0, 1e6), "min_learning_rate": (0.0, 1.0)}

    lr_decay: float = field(
        default=1.0, metadata={"help": "The learning rate is multiplied by this after every epoch; published: 0.99."}
    )
    lr_shrink: float = field(
        default=1.0,
        metadata={
            "help": "The learning rate is divided by this when the accuracy on the development rows is not above its "
            "best; published: 5."
        },
    )
    min_learning_rate: float = field(
        default=0.0, metadata={"help": "Training stops when the learning rate falls below this; published: 1e-5."}
    )
    head_layers: list[int] = field(
        default_factory=list,
        metadata={"help": "Widths of the layers between the sentence vectors and the labels; published: 512 512."},
    )
    head_product: bool = field(
        default=True, metadata={"help": "Give the classifier u * v beside u, v and |u - v|, as published."}
    )

    def __post_init__(self) -> None:
        """Check the fields, then let the parent do the same."""
        for name, (low, high) in self.RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high or (name == "lr_decay" and value == 0.0):
                raise ValueError(f"{name} is {value}, expected a number from {low} to {high}.")
        if any(width < 1 for width in self.head_layers):
            raise ValueError(f"head_layers are {self.head_layers}, expected widths of 1 or more.")
        super().__post_init__()

    @property
    def follows_dev(self) -> bool:
        """Whether the learning rate follows the accuracy on the development rows."""
        return self.lr_decay != 1.0 or self.lr_shrink != 1.0


def nli_config(model: SentenceTransformer, output_dir: str | Path, **settings: Any) -> NLIConfig:
    """The published settings for a model, those of InferSent for a BiLSTM and of SBERT for a transformer.

    Args:
        model: to be trained.
        output_dir: for checkpoints.
        **settings: fields of :class:`NLIConfig` that shall be different.

    Raises:
        ValueError: a setting of another name, or that cannot be used.
    """
    unknown = sorted(set(settings) - {each.name for each in fields(NLIConfig) if each.init})
    if unknown:
        raise ValueError(f"There is no setting {unknown[0]!r} of a training on NLI; see NLIConfig.")
    published = BILSTM if is_bilstm(model) else TRANSFORMER
    return NLIConfig(str(output_dir), **{**DEFAULTS, **published, **settings})


@dataclass(frozen=True)
class NLITraining:
    """A training on NLI.

    Attributes:
        model: the encoder with the best accuracy on the development rows, in eval mode.
        accuracy: on the development rows after each epoch, in [0, 1].
        learning_rate: at the end of each epoch.
        loss: mean over the steps of each epoch.
        best_accuracy: the highest; that of ``model``.
        steps: of training.
        n_train: rows that were trained on.
        n_dev: rows that chose the weights.
        n_unlabelled: rows of both that were left out since they have no label.
        majority: share of the commonest label of the development rows: the accuracy of a constant answer.
        label_names: names of the labels.
        weight: the classifier as one linear layer on (u, v, |u - v|, u * v), shape (labels, 4 d).
        bias: of that layer, shape (labels,).
        stopped: whether it ended before its last epoch, because the learning rate had become too small.
    """

    model: SentenceTransformer = field(repr=False)
    accuracy: tuple[float, ...]
    learning_rate: tuple[float, ...]
    loss: tuple[float, ...]
    best_accuracy: float
    steps: int
    n_train: int
    n_dev: int
    n_unlabelled: int
    majority: float
    label_names: tuple[str, ...]
    stopped: bool
    weight: Vectors = field(repr=False)
    bias: Vectors = field(repr=False)

    def described(self) -> dict[str, Any]:
        """All but the weights, as JSON takes it."""
        told = {each.name: getattr(self, each.name) for each in fields(self) if each.repr}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}


def train_on_nli(
    model: SentenceTransformer,
    rows: Dataset,
    *,
    dev_rows: Dataset,
    seed: int = 0,
    output_dir: str | Path | None = None,
    columns: Sequence[str] | None = None,
    label_column: str = "label",
    label_names: Sequence[str] | None = None,
    config: NLIConfig | None = None,
    callbacks: Sequence[TrainerCallback] = (),
    **settings: Any,
) -> NLITraining:
    """Train a sentence encoder on pairs of texts with labels.

    As published for a BiLSTM (see :data:`BILSTM`): SGD with a learning rate of 0.1 that is multiplied by 0.99 after
    every epoch and divided by 5 when the accuracy on the development rows is not above its best, at most 8 epochs, and
    an end when it is below 1e-5; the classifier has two layers of 512 without nonlinearity between. Another encoder is
    trained as SBERT was (see :data:`TRANSFORMER`).

    Args:
        model: any SentenceTransformer; it is trained in place.
        rows: pairs of texts (``premise`` and ``hypothesis``, or others that are named) and labels. Rows with the label
            -1 or ``-`` are left out with a warning.
        dev_rows: the same; their accuracy after every epoch decides the learning rate and which weights are kept.
        seed: of the classifier's weights, the order of the rows and dropout; the encoder's are drawn already.
        output_dir: for checkpoints: a training that was stopped goes on from the last one, and ends as if it had not
            been. None: a folder that is removed.
        columns: the two text columns; None finds them.
        label_column: of the labels.
        label_names: in the order of their numbers; None: those of the rows.
        config: all settings, in place of the published ones; its ``seed`` and ``output_dir`` give way to these here.
        callbacks: of the trainer.
        **settings: fields of :class:`NLIConfig` that differ from the published ones.

    Returns:
        The encoder and how it was trained.

    Raises:
        ValueError: rows without texts or labels, labels that are all alike, settings that cannot be used, a training
            that diverged, more than one process.

    Warns:
        FairnessWarning: rows without a label are left out; nothing was learned, as it happens when the published SGD is
            given some thousand pairs: :data:`BILSTM_SMALL` is for these.

    Source:
        Conneau et al. 2017, section 3.3; Dolci et al. 2023, section 4.3. Text and code of InferSent differ: the text
        divides the learning rate when the accuracy decreases, the code (followed here) when it is not above its best.

    Example:
        ``train_on_nli(bilstm_max(texts=texts), train, dev_rows=dev, seed=1).model.save("encoder")``
    """
    if config is not None and settings:
        raise ValueError(f"Give config=... or single settings ({', '.join(settings)}), not both.")
    names = list(columns) if columns is not None else list(text_columns(rows))
    if len(names) != 2:
        raise ValueError(f"NLI has two texts a row; got the column(s) {', '.join(names)}. Name two with columns=.")
    train, labels = labelled_rows(rows, names, label_names, "training", label_column=label_column)
    if len(set(train["label"][:])) < 2:
        found = f"all have the label {labels[train['label'][0]]!r}" if len(train) else "none has a label"
        raise ValueError(f"Of the {len(rows)} training rows {found}: there is nothing to learn from them.")
    stated = order_is_stated(rows, label_column, label_names)
    dev, _ = labelled_rows(dev_rows, names, labels, "development", label_column=label_column, stated=stated)
    if not len(dev):
        raise ValueError(f"None of the {len(dev_rows)} development rows has a label.")
    train, dev = (each.rename_columns(dict(zip(names, _PAIR, strict=True))) for each in (train, dev))
    with tempfile.TemporaryDirectory() as temporary:
        folder = temporary if output_dir is None else str(output_dir)
        args = nli_config(model, folder, **settings) if config is None else config
        args.seed, args.output_dir = seed, folder
        trainer = NLITrainer(model, args, train, dev, n_labels=len(labels), callbacks=callbacks)
        trainer.train(resume_from_checkpoint=last_whole_checkpoint(folder))
    history = trainer.state.log_history
    accuracy = _logged(history, ACCURACY)
    majority = float(torch.bincount(torch.tensor(dev["label"][:])).max()) / len(dev)
    if accuracy and max(accuracy) <= majority:
        warnings.warn(
            f"The encoder learned nothing of the labels: its best accuracy on the {len(dev)} development rows is "
            f"{max(accuracy):.3f}, and the commonest label alone gives {majority:.3f}. Give more than these "
            f"{len(train):,} rows (published: 550,000), or train longer and with other settings: BILSTM_SMALL has some "
            "for a BiLSTM.",
            FairnessWarning,
            stacklevel=2,
        )
    weight, bias = trainer.loss.linear()
    return NLITraining(
        model=model.eval(),
        accuracy=accuracy,
        learning_rate=_logged(history, "learning_rate"),
        loss=_logged(history, "loss"),
        best_accuracy=max(accuracy, default=math.nan),
        steps=trainer.state.global_step,
        n_train=len(train),
        n_dev=len(dev),
        n_unlabelled=len(rows) - len(train) + len(dev_rows) - len(dev),
        majority=majority,
        label_names=tuple(labels),
        stopped=trainer.state.global_step < trainer.state.max_steps,
        weight=weight,
        bias=bias,
    )


def _logged(history: Iterable[dict[str, Any]], name: str) -> tuple[float, ...]:
    return tuple(float(entry[name]) for entry in history if name in entry)


class PairClassifier(nn.Module):
    """Cross-entropy of the labels of pairs, of a classifier on their sentence vectors; the loss of the training.

    Args:
        model: gives the sentence vectors u and v.
        n_labels: classes.
        layers: widths of linear layers between; nothing nonlinear stands between them, as in the published code.
        product: whether u * v stands beside u, v and |u - v|.
        seed: of its weights.
    """

    def __init__(
        self, model: SentenceTransformer, n_labels: int, layers: Sequence[int], *, product: bool, seed: int
    ) -> None:
        super().__init__()
        self.model, self.product = model, product
        width = model.get_embedding_dimension()
        assert width is not None
        sizes = [width * (4 if product else 3), *layers, n_labels]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.head = nn.Sequential(*(nn.Linear(a, b) for a, b in itertools.pairwise(sizes)))

    def logits(self, sentence_features: Iterable[dict[str, torch.Tensor]]) -> torch.Tensor:
        """Scores of the labels, shape (batch, labels)."""
        u, v = (self.model(features)["sentence_embedding"] for features in sentence_features)
        parts = [u, v, (u - v).abs(), *([u * v] if self.product else [])]
        scores: torch.Tensor = self.head(torch.cat(parts, dim=1).float())
        return scores

    @torch.no_grad()
    def linear(self) -> tuple[Vectors, Vectors]:
        """Its layers as one, which they are: weight on (u, v, |u - v|, u * v), shape (labels, 4 d), and bias."""
        arrays = [value.detach().double().cpu().numpy() for value in self.head.parameters()]
        weight, bias = np.eye(arrays[0].shape[1]), np.zeros(arrays[0].shape[1])
        for own, shift in zip(arrays[::2], arrays[1::2], strict=True):
            weight, bias = own @ weight, own @ bias + shift
        if not self.product:
            weight = np.hstack([weight, np.zeros((len(weight), weight.shape[1] // 3))])
        return weight.astype(np.float32), bias.astype(np.float32)

    def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy of a batch."""
        return nn.functional.cross_entropy(self.logits(sentence_features), labels.view(-1))

    def get_config_dict(self) -> dict[str, Any]:
        """For the card that sentence-transformers writes."""
        return {"product": self.product, "layers": [layer.out_features for layer in self.head]}


class DevSchedule(LRScheduler):
    """A learning rate that changes between epochs, by the accuracy on the development rows.

    Args:
        optimizer: whose learning rate it is.
        config: how it changes.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, config: NLIConfig) -> None:
        self.factor, self.best = 1.0, -math.inf
        self.decay, self.shrink, self.minimum = config.lr_decay, config.lr_shrink, config.min_learning_rate
        super().__init__(optimizer)

    def get_lr(self) -> list[float | torch.Tensor]:
        """The learning rates as they are now."""
        return [float(rate) * self.factor for rate in self.base_lrs]

    def end_epoch(self, accuracy: float) -> bool:
        """Change the learning rate after an epoch; returns whether it has become too small to go on."""
        if accuracy > self.best:
            self.best = accuracy
        else:
            self.factor /= self.shrink
        ended = bool(min(self.get_lr()) < self.minimum)
        self.factor *= self.decay
        self._last_lr = self.get_lr()
        for group, rate in zip(self.optimizer.param_groups, self._last_lr, strict=True):
            group["lr"] = rate
        return ended


class FollowDev(TrainerCallback):
    """Tells a :class:`DevSchedule` the accuracy after every epoch, and ends the training when it says so."""

    def __init__(self) -> None:
        self.schedule: DevSchedule | None = None

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        """Called before the checkpoint of the epoch is written, which holds the schedule."""
        if self.schedule is not None and ACCURACY in (metrics or {}):
            control.should_training_stop |= self.schedule.end_epoch(float(metrics[ACCURACY]))


class DevAccuracy(SentenceEvaluator):
    """Accuracy of the classifier on the development rows.

    Args:
        loss: classifier and encoder.
        rows: two text columns and ``label``.
        collate: makes features of rows.
        batch_size: rows of a forward pass.
    """

    def __init__(self, loss: PairClassifier, rows: Dataset, collate: Callable[[Any], Any], batch_size: int) -> None:
        super().__init__()
        self.loss, self.rows, self.collate, self.batch_size = loss, rows, collate, batch_size
        self.primary_metric, self.greater_is_better = "accuracy", True
        self.features: Callable[[Any], Any] = lambda inputs: inputs

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        """The accuracy; the encoder is in eval mode meanwhile."""
        right = 0
        with in_eval(self.loss), torch.no_grad():
            for start in range(0, len(self.rows), self.batch_size):
                rows = self.rows.select(range(start, min(start + self.batch_size, len(self.rows)))).to_list()
                features, labels = self.features(self.collate(rows))
                right += int((self.loss.logits(features).argmax(dim=1) == labels).sum())
        return {"accuracy": right / len(self.rows)}


class NLITrainer(Guarded, SentenceTransformerTrainer):
    """A SentenceTransformerTrainer whose learning rate follows the development rows, and which keeps its classifier.

    Args:
        model: any SentenceTransformer; it is trained in place.
        args: settings.
        train: two text columns and ``label``.
        dev: the same.
        n_labels: classes.
        callbacks: further ones.
    """

    quick = True

    args: NLIConfig
    loss: PairClassifier

    def __init__(
        self,
        model: SentenceTransformer,
        args: NLIConfig,
        train: Dataset,
        dev: Dataset,
        *,
        n_labels: int,
        callbacks: Sequence[TrainerCallback] = (),
    ) -> None:
        if args.world_size > 1:
            raise ValueError(
                f"NLI is trained in one process, and these are {args.world_size}: the classifier is not shared between "
                "them. Start one; a single GPU is enough for a BiLSTM."
            )
        self.follow = FollowDev()
        loss = PairClassifier(model, n_labels, args.head_layers, product=args.head_product, seed=args.seed)
        collate = self.get_data_collator(model, args)
        judge = DevAccuracy(loss, dev, collate, args.per_device_eval_batch_size)
        judge.features = lambda inputs: self.collect_features(self._prepare_inputs(inputs))
        super().__init__(
            model=model,
            args=args,
            train_dataset=train,
            loss=loss,
            evaluator=judge,
            data_collator=collate,
            callbacks=[self.follow, *callbacks],
        )
        self.remove_callback(PrinterCallback)

    def get_data_collator(self, model: Any, args: Any, processing_class: Any = None) -> Any:
        """As the parent; word vectors are not told the task of a column, which they do not take."""
        collator = super().get_data_collator(model, args, processing_class)
        collator.preprocess_fn = lambda inputs, prompt=None, task=None: model.preprocess(inputs, prompt=prompt)
        return collator

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """None is added: it would print texts of the rows, and cannot read word vectors with their own tokenizer."""

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """The published schedule where the settings ask for it."""
        if not self.args.follows_dev:
            return super().create_scheduler(num_training_steps, optimizer)
        if self.follow.schedule is None:
            self.follow.schedule = DevSchedule(optimizer or self.optimizer, self.args)
        self.lr_scheduler: Any = self.follow.schedule
        return self.lr_scheduler

    def _clip_grad_norm(self, model: Any) -> Any:
        """Gradients of encoder and classifier are clipped together, as published."""
        return self.accelerator.clip_grad_norm_(self.loss.parameters(), self.args.max_grad_norm)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        super()._save(output_dir, state_dict)
        folder = Path(output_dir if output_dir is not None else str(self.args.output_dir))
        save_file({name: value.contiguous() for name, value in self.loss.head.state_dict().items()}, folder / HEAD_FILE)

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        super()._load_from_checkpoint(checkpoint_path)
        self.loss.head.load_state_dict(load_file(Path(checkpoint_path) / HEAD_FILE))
