"""Trainers that make up for a bias model: product of experts, example reweighting, confidence regularisation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from datasets import Dataset
from torch import Tensor
from transformers import Trainer

from hf_fairness.losses import confidence_regularization, example_weights, product_of_experts, reweighted_cross_entropy
from hf_fairness.losses.bias_inputs import check_not_negative
from hf_fairness.rows import column_values
from hf_fairness.scores.class_labels import class_numbers
from hf_fairness.trainers.training.bias_columns import BIAS_COLUMN, TEACHER_COLUMN, check_column
from hf_fairness.trainers.training.published import Published


class BiasTrainer(Published, Trainer):
    """A `Trainer` whose loss reads log-probabilities of other models from columns of the training rows.

    What differs from the parent: the columns named in ``columns`` are kept in the training rows and handed to the loss
    and not to the model; the loss of a step is the sum over its rows divided by their summed weight, whatever the
    number of steps of accumulation and of processes; evaluation and prediction use the main model alone, with plain
    cross entropy, and need no such columns; weights are trained in float32 (see `preparation.full_precision`).

    Subclasses fill :meth:`row_losses` and, where rows have weights, :meth:`row_weights`.

    Args:
        args: those of `transformers.Trainer`.
        kwargs: those of `transformers.Trainer`.

    Raises:
        ValueError: the model is no classifier of two classes or more; label smoothing or a loss function of one's own;
            labels that are no classes of the model (names, fractions, missing ones); a column is missing, has another
            width than the model has classes, is not normalised, or holds NaN.
    """

    #: Columns of log-probabilities, each (n_classes,) per row.
    columns: ClassVar[tuple[str, ...]] = (BIAS_COLUMN,)
    limits = ("What counts as a bias is what the bias model learned: shortcuts that it does not take stay.",)
    #: :meth:`compute_loss` divides by the weight of all rows of a step, so nothing is left to divide.
    loss_is_scaled_for_ga = True
    engines: ClassVar[tuple[str, ...]] = ("FSDP",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name = type(self).__name__
        if self.args.label_smoothing_factor or self.compute_loss_func is not None:
            raise ValueError(
                f"{name} has a loss of its own: leave out label_smoothing_factor and compute_loss_func; got "
                f"label_smoothing_factor={self.args.label_smoothing_factor}."
            )
        config = getattr(self.model, "config", None)
        classes, kind = getattr(config, "num_labels", 0), getattr(config, "problem_type", None)
        if classes < 2 or kind not in (None, "single_label_classification"):
            raise ValueError(
                f"{name} trains classifiers of one label per row: the model has num_labels={classes} and "
                f"problem_type={kind!r}. Open it with num_labels=2 or more."
            )
        # Classifiers take any keyword and ignore the number of items: their loss is the mean over a batch.
        self.model_accepts_loss_kwargs = False
        self._checked_rows: Any = None
        for title in ("train_dataset", "eval_dataset"):
            rows = getattr(self, title)
            for part, each in (rows if isinstance(rows, dict) else {title: rows}).items():
                if isinstance(each, Dataset):
                    _check_labels(each, f"{name}: {part}", classes)
        if isinstance(self.train_dataset, Dataset):
            self.check_rows(self.train_dataset, classes)
            self._checked_rows = self.train_dataset

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        """Train as the parent does.

        Raises:
            ValueError: a checkpoint to go on from, of a model that FSDP splits.
        """
        if resume_from_checkpoint and self.is_fsdp_enabled:
            raise ValueError(
                "A training that FSDP splits cannot go on from a checkpoint here: its processes would wait for each "
                "other for ever. Train anew, or without FSDP."
            )
        return super().train(resume_from_checkpoint, *args, **kwargs)

    @property
    def check_values(self) -> bool:
        """Whether batches must be checked: the training rows are a stream, or others than at the beginning."""
        return self._checked_rows is None or self._checked_rows is not self.train_dataset

    def check_rows(self, rows: Dataset, n_classes: int) -> None:
        """Raise unless the training rows have the columns, with what they are to hold."""
        for column in self.columns:
            check_column(rows, column, n_classes)

    def row_losses(self, logits: Tensor, labels: Tensor, **log_probs: Tensor) -> Tensor:
        """Loss of each row, its weight included.

        Args:
            logits: shape (batch, n_classes).
            labels: shape (batch,).
            **log_probs: the columns by name, shape (batch, n_classes) each.

        Returns:
            Shape (batch,).
        """
        raise NotImplementedError

    def row_weights(self, labels: Tensor, **log_probs: Tensor) -> Tensor:
        """Weight with which each row counts in the mean, shape (batch,); 1 unless a subclass says otherwise."""
        return torch.ones_like(labels, dtype=torch.float32)

    def get_batch_samples(
        self, epoch_iterator: Iterator[Any], num_batches: int, device: torch.device
    ) -> tuple[list[Any], Any]:
        """The batches of a step, and what the sum of their losses is divided by on this process."""
        batches, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        if not batches:
            return batches, None
        weights = [self._weight(batch) for batch in batches]
        total = torch.stack([weight.to(device) for weight in weights]).sum()
        # Gradients are averaged over processes, so each divides by the mean weight of a process.
        return batches, self.accelerator.gather(total).mean()

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """The loss of a batch; in eval mode the model's own, which is plain cross entropy."""
        if not model.training:
            return super().compute_loss(model, self._without_columns(inputs), return_outputs)
        labels, log_probs = self._split(inputs)
        outputs = model(**{name: value for name, value in self._without_columns(inputs).items() if name != "labels"})
        logits = outputs["logits"] if isinstance(outputs, dict) else outputs[0]
        weight = self._weight(inputs) if num_items_in_batch is None else num_items_in_batch
        loss = self.row_losses(logits, labels, **log_probs).sum() / weight.clamp(min=torch.finfo(weight.dtype).tiny)
        return (loss, outputs) if return_outputs else loss

    def prediction_step(self, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Evaluation and prediction never see the columns."""
        return super().prediction_step(model, self._without_columns(inputs), *args, **kwargs)

    def _set_signature_columns_if_needed(self) -> None:
        """Keep the columns when those that no model reads are removed."""
        super()._set_signature_columns_if_needed()
        self._signature_columns += [name for name in self.columns if name not in self._signature_columns]

    def _without_columns(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in inputs.items() if name not in self.columns}

    def _split(self, inputs: dict[str, Any]) -> tuple[Tensor, dict[str, Tensor]]:
        """Labels and columns of a batch.

        Raises:
            ValueError: one of them is missing.
        """
        missing = [name for name in ("labels", *self.columns) if name not in inputs]
        if missing:
            raise ValueError(
                f"{type(self).__name__}: a training batch has no {missing[0]!r}; it has {', '.join(inputs)}. The "
                "collator must pass it on, and the rows must have it: see hf_fairness.trainers.add_bias_log_probs."
            )
        return inputs["labels"], {name: inputs[name] for name in self.columns}

    def _weight(self, batch: dict[str, Any]) -> Tensor:
        """Summed weight of the rows of a batch."""
        labels, log_probs = self._split(batch)
        return self.row_weights(labels, **log_probs).sum()


def _check_labels(rows: Dataset, what: str, n_classes: int) -> None:
    """Raise unless the column of labels, where there is one, holds numbers of the model's classes."""
    for column in ("label", "labels"):
        if column in rows.column_names:
            class_numbers(column_values(rows, column), f"{what}, column {column!r}", n_classes=n_classes)


class PoETrainer(BiasTrainer):
    """Trains the main model in a product of experts with a bias model, and evaluates it alone.

    Training rows need the column ``bias_log_probs``; `hf_fairness.trainers.add_bias_log_probs` makes it.

    Args:
        args: those of `transformers.Trainer`.
        alpha: weight of the bias model, at least 0; 0 is plain cross entropy.
        kwargs: those of `transformers.Trainer`.

    Raises:
        ValueError: as `BiasTrainer`; a negative ``alpha``.

    Source:
        Clark et al. 2019; He et al. 2019; Karimi Mahabadi et al. 2020; see `hf_fairness.losses.product_of_experts`.
    """

    what = (
        "A text classifier: {base}, trained in a product of experts with a bias model (Clark et al. 2019), which is "
        "no part of it."
    )

    def __init__(self, *args: Any, alpha: float = 1.0, **kwargs: Any) -> None:
        check_not_negative("alpha", alpha)
        super().__init__(*args, **kwargs)
        self.alpha = float(alpha)

    def row_losses(self, logits: Tensor, labels: Tensor, **log_probs: Tensor) -> Tensor:
        """Cross entropy of the product, shape (batch,)."""
        bias, check = log_probs[BIAS_COLUMN], self.check_values
        return product_of_experts(logits, labels, bias, alpha=self.alpha, reduction="none", check_values=check)


class ReweightTrainer(BiasTrainer):
    """Trains with less weight on rows that a bias model gets right.

    Training rows need the column ``bias_log_probs``; `hf_fairness.trainers.add_bias_log_probs` makes it.

    Args:
        args: those of `transformers.Trainer`.
        gamma: exponent of the weight 1 − p_bias(label), at least 0; 1 as Clark et al., 2 as the debiased focal loss.
        normalized: whether the loss of a step is divided by the sum of its weights (Clark et al.) or by the number of
            its rows (debiased focal loss). All micro-batches and processes of a step count together.
        kwargs: those of `transformers.Trainer`.

    Raises:
        ValueError: as `BiasTrainer`; a negative ``gamma``.

    Source:
        Clark et al. 2019; Karimi Mahabadi et al. 2020; see `hf_fairness.losses.reweighted_cross_entropy`.
    """

    what = (
        "A text classifier: {base}, trained with less weight on rows that a bias model gets right (Clark et al. 2019)."
    )

    def __init__(self, *args: Any, gamma: float = 1.0, normalized: bool = True, **kwargs: Any) -> None:
        check_not_negative("gamma", gamma)
        super().__init__(*args, **kwargs)
        self.gamma, self.normalized = float(gamma), normalized

    def row_losses(self, logits: Tensor, labels: Tensor, **log_probs: Tensor) -> Tensor:
        """Weighted cross entropy, shape (batch,)."""
        bias, check = log_probs[BIAS_COLUMN], self.check_values
        return reweighted_cross_entropy(logits, labels, bias, gamma=self.gamma, reduction="none", check_values=check)

    def row_weights(self, labels: Tensor, **log_probs: Tensor) -> Tensor:
        """(1 − p_bias(label)) ** gamma, or 1, shape (batch,)."""
        if not self.normalized:
            return super().row_weights(labels, **log_probs)
        return example_weights(log_probs[BIAS_COLUMN].to(labels.device), labels, gamma=self.gamma)


class ConfRegTrainer(BiasTrainer):
    """Trains towards a teacher's distribution, flattened where a bias model is sure of the label.

    Training rows need the columns ``bias_log_probs`` and ``teacher_log_probs``, the latter of a model that was trained
    on the same rows with plain cross entropy; `hf_fairness.trainers.add_bias_log_probs` makes both.

    Args:
        args: those of `transformers.Trainer`.
        kwargs: those of `transformers.Trainer`.

    Raises:
        ValueError: as `BiasTrainer`.

    Source:
        Utama et al. 2020; see `hf_fairness.losses.confidence_regularization`.
    """

    columns = (BIAS_COLUMN, TEACHER_COLUMN)
    what = (
        "A text classifier: {base}, trained towards a teacher's distribution that is flattened where a bias model is "
        "sure (confidence regularisation, Utama et al. 2020)."
    )

    def row_losses(self, logits: Tensor, labels: Tensor, **log_probs: Tensor) -> Tensor:
        """Cross entropy to the flattened teacher, shape (batch,)."""
        bias, teacher, check = log_probs[BIAS_COLUMN], log_probs[TEACHER_COLUMN], self.check_values
        return confidence_regularization(logits, labels, bias, teacher, reduction="none", check_values=check)
