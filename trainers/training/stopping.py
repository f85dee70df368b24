"""Trainings that end before their schedule does: at a given step, or because they have diverged.

A training whose weights or loss are no numbers any more is stopped with an error, and nothing of it is saved.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from transformers import Trainer, TrainerCallback

#: What `Trainer` logs that must be a number. (A gradient of a step that fp16 skips need not be.)
LOSSES = ("loss", "train_loss", "eval_loss")


class StopAt(TrainerCallback):
    """Ends a training after a given step; schedule and order of rows stay those of the whole training.

    Args:
        step: the last one.
    """

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Say so to the trainer."""
        if state.global_step >= self.step:
            control.should_training_stop = True


class DivergedError(ValueError):
    """A training has diverged; the model is of no use."""


class StopWhenDiverged(TrainerCallback):
    """Raises as soon as trained weights, or a logged loss, are NaN or infinite.

    By default `Trainer` puts the mean of earlier losses in the place of one that is no number, and goes on: it ends
    with a loss that looks well and a model that gives NaN. Here the weights are looked at after every step, before
    anything is logged, evaluated or saved. The processes of a launch agree, so that all of them stop at the same step,
    also where each holds a part of the weights.

    Example:
        ``Trainer(..., callbacks=[StopWhenDiverged()])``
    """

    def __init__(self) -> None:
        self.training = False
        self.filtered = True

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Let a loss that is no number be logged as such."""
        self.filtered, args.logging_nan_inf_filter = args.logging_nan_inf_filter, False
        self.training = True

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """What is evaluated from now on is no training; the arguments are as they were."""
        self.training, args.logging_nan_inf_filter = False, self.filtered

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        """Look at the weights."""
        if model is not None and not finite_everywhere(model):
            raise diverged("The weights of the model are", args, state)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Look at the losses: every process is given the same."""
        for name in LOSSES:
            value = (logs or {}).get(name)
            if self.training and isinstance(value, float) and not math.isfinite(value):
                raise diverged(f"{name} is", args, state)


def stop_when_diverged(trainer: Trainer) -> Trainer:
    """Give a trainer the callback, unless it has it; returns the trainer."""
    if not any(isinstance(each, StopWhenDiverged) for each in trainer.callback_handler.callbacks):
        trainer.add_callback(StopWhenDiverged())
    return trainer


def finite_everywhere(model: torch.nn.Module) -> bool:
    """Whether the weights that are trained are numbers, on every process; all must ask."""
    weights = [weight.detach() for weight in model.parameters() if weight.requires_grad and weight.numel()]
    fine = all_finite(weights)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        device = weights[0].device if weights else torch.device("cpu")
        flag = torch.tensor(int(fine), device=device)
        torch.distributed.all_reduce(flag, op=torch.distributed.ReduceOp.MIN)
        fine = bool(flag)
    return fine


def all_finite(weights: list[torch.Tensor]) -> bool:
    """Whether all numbers are finite, and so is the length of each tensor: one cheap pass, 6 % of Adam's.

    Example:
        >>> all_finite([torch.ones(2), torch.tensor([float("nan")])])
        False
    """
    local = [getattr(weight, "_local_tensor", weight) for weight in weights]  # of weights spread by FSDP
    numbers = [part for part in local if part.is_floating_point()]
    lengths = torch._foreach_norm(numbers, dtype=torch.float32) if numbers else ()
    return not numbers or bool(torch.isfinite(torch.stack([length.to(lengths[0].device) for length in lengths])).all())


def diverged(what: str, args: Any, state: Any) -> DivergedError:
    """The error, with where it happened and what to try."""
    mixed = "fp16" if args.fp16 else "bf16" if args.bf16 else None
    number = f" in {mixed}" if mixed else ""
    more = f", or train without {mixed}" if mixed else ""
    return DivergedError(
        f"Training diverged{number}: {what} NaN or infinite at step {state.global_step} of {state.max_steps} (learning "
        f"rate {args.learning_rate:g}, max_grad_norm {args.max_grad_norm:g}). Nothing is saved of it. Take a lower "
        f"learning rate or a longer warm-up, clip gradients (max_grad_norm=1.0){more}; if it happens at once, check "
        "the model and the rows for NaN."
    )
