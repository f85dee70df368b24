"""Scores of a training set's examples: from the running model, or averaged over short runs of their own."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.state import GradientState
from torch import nn
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from hf_fairness.measure.classifier.classifier import Classifier
from hf_fairness.measure.classifier.grand import check_head
from hf_fairness.measure.classifier.importance import example_scores
from hf_fairness.measure.model_keys import tokenizer_key, weights_key
from hf_fairness.runs import content_key
from hf_fairness.scores.importance import forgetting
from hf_fairness.trainers.data_diet.config import DataDietSettings
from hf_fairness.trainers.data_diet.pruned import Mask, PairedRows, Scores, score_names
from hf_fairness.trainers.training.remembered import remembered
from hf_fairness.trainers.training.stopping import stop_when_diverged

#: Part of the name of every file of scores; raise it when their computation changes.
VERSION = 1
#: Training arguments that do not change what a short run learns.
NO_MATTER = (
    "output_dir", "run_name", "project", "seed", "logging_", "log_", "report_to", "trackio", "disable_tqdm", "debug",
    "push_to_hub", "hub_", "save_", "eval_", "per_device_eval", "batch_eval", "prediction_loss", "include_", "do_",
    "load_best", "metric_for", "greater_is", "resume_from", "restore_", "ignore_data_skip", "enable_jit_checkpoint",
    "dataloader_num", "dataloader_pin", "dataloader_pers", "dataloader_pre", "skip_memory_metrics",
)  # fmt: skip


@dataclass(frozen=True)
class ShortRuns:
    """Everything that short runs need beside the data.

    Attributes:
        settings: of the method.
        args: training arguments of the run proper.
        make_trainer: trainer on the short run's rows for a copy of the arguments; its model has the initial weights.
        tokenizer: of the texts.
    """

    settings: DataDietSettings
    args: TrainingArguments
    make_trainer: Callable[[TrainingArguments], Trainer]
    tokenizer: Any

    def scores(self, rows: PairedRows, *, seed: int) -> tuple[Scores, dict[str, int]]:
        """Scores averaged over ``n_init`` runs, each remembered in a file of its own.

        The random state of the process and accelerate's state of the gradients are as before afterwards.

        Args:
            rows: the training set.
            seed: the runs have this seed plus 1, plus 2 and so on.

        Returns:
            The scores, empty where the ranking needs none, and what they cost: ``scoring_runs``,
            ``scoring_training_rows`` (rows trained on, with repetition) and ``scoring_texts`` (texts passed through a
            model to be scored).
        """
        names, epochs, found = score_names(self.settings), self.settings.score_after_epochs, []
        for run in range(self.settings.n_init if names else 0):
            args = short_arguments(self.args, seed + 1 + run, epochs)
            with undisturbed():
                trainer = self.make_trainer(args)
                path = scores_path(
                    self.args, rows, self.settings, self.tokenizer, trainer.model, args.seed, arguments_key(args)
                )
                found.append(remembered(path, partial(self._run, trainer, rows, names)))
            del trainer
        trained = len(rows.dataset) if self.settings.score_on == "all" else rows.pairs.n
        return {name: np.mean([scores[name] for scores in found], axis=0) for name in names}, {
            "scoring_runs": len(found),
            "scoring_training_rows": len(found) * trained * epochs,
            "scoring_texts": len(found) * texts_scored(rows, names, epochs),
        }

    def _run(self, trainer: Trainer, rows: PairedRows, names: tuple[str, ...]) -> Scores:
        """Train for a few epochs of the schedule of the run proper, then score."""
        history: list[Mask] = []

        def note(model: nn.Module) -> None:
            history.append(correct(model, rows, self.settings, self.tokenizer))

        trainer.add_callback(StopAfter(self.settings.score_after_epochs, note if "forgetting" in names else None))
        trainer.train()
        if trainer.state.epoch < self.settings.score_after_epochs:
            raise ValueError(
                f"max_steps={self.args.max_steps} ends a short run after {trainer.state.epoch:.2f} epochs, before "
                f"score_after_epochs={self.settings.score_after_epochs}. Train for longer, or score earlier."
            )
        return score(trainer.model, rows, self.settings, self.tokenizer, history)


class StopAfter(TrainerCallback):
    """Ends training after some epochs, whatever the schedule was made for."""

    def __init__(self, epochs: int, after: Callable[[nn.Module], object] | None) -> None:
        self.epochs, self.after = epochs, after

    def on_epoch_end(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        """Call the function with the model, and end where it is time."""
        if self.after is not None:
            self.after(model)
        if state.epoch >= self.epochs:
            control.should_training_stop = True


def score(model: Any, rows: PairedRows, settings: DataDietSettings, tokenizer: Any, history: list[Mask]) -> Scores:
    """Scores of the examples under a model; model and process are left as they were.

    Args:
        model: a sequence classifier.
        rows: the training set.
        settings: of the method.
        tokenizer: of the texts.
        history: what `correct` gave after each epoch so far, for forgetting.
    """
    names = score_names(settings)
    found = _pass(model, rows, settings, tokenizer, tuple(name for name in names if name != "forgetting"))
    if "forgetting" in names:
        found["forgetting"] = forgetting(np.stack(history))
    return {name: found[name] for name in names}


def correct(model: Any, rows: PairedRows, settings: DataDietSettings, tokenizer: Any) -> Mask:
    """Whether each example is predicted rightly, shape (n,)."""
    return _pass(model, rows, settings, tokenizer, ("correct",))["correct"].astype(bool)


def check_classifier(model: Any, rows: PairedRows, settings: DataDietSettings, tokenizer: Any) -> None:
    """Raise on a model that cannot be scored.

    Raises:
        ValueError: no tokenizer, a regression head, labels that are no class of the model.
    """
    if not score_names(settings):
        return
    if tokenizer is None:
        raise ValueError(
            "There is no tokenizer to score texts with: give the Trainer processing_class=tokenizer, or "
            "GEPruningCallback tokenizer=tokenizer."
        )
    check_head(Classifier(model, tokenizer=tokenizer), rows.pairs.labels(rows.dataset).tolist(), rows.pairs.n)


def _pass(
    model: Any, rows: PairedRows, settings: DataDietSettings, tokenizer: Any, names: tuple[str, ...]
) -> dict[str, Any]:
    with undisturbed():
        return example_scores(
            model,
            rows.dataset,
            rows.pairs,
            names=names,
            batch_size=settings.score_batch_size,
            tokenizer=tokenizer,
            max_length=settings.max_length,
        )


def scores_path(
    args: TrainingArguments, rows: PairedRows, settings: DataDietSettings, tokenizer: Any, model: nn.Module, *more: Any
) -> Path:
    """File in the output folder for the scores of this model on these rows, named by all that they depend on."""
    key = content_key(
        VERSION,
        rows.key,
        score_names(settings),
        [settings.score_on, settings.score_after_epochs, settings.max_length],
        tokenizer_key(tokenizer),
        weights_key(model),
        more,
    )
    return Path(args.output_dir, "data_diet", f"scores-{key}.npz")


def arguments_key(args: TrainingArguments) -> str:
    """Content key of the training arguments that matter for what is learned, and of the number of processes."""
    settings = DataDietSettings().diet()
    matter = {k: v for k, v in args.to_dict().items() if not k.startswith(NO_MATTER) and k not in settings}
    return content_key(json.dumps(matter, sort_keys=True, default=str), args.world_size)


def texts_scored(rows: PairedRows, names: tuple[str, ...], epochs: int) -> int:
    """Texts that one scoring passes through a model."""
    if not names:
        return 0
    forwards = rows.pairs.n + int(rows.pairs.changed.sum())
    return forwards + rows.pairs.n * (("grand" in names) + epochs * ("forgetting" in names))


def short_arguments(args: TrainingArguments, seed: int, epochs: int) -> TrainingArguments:
    """Arguments of a short run: those of the run proper, without anything that writes, reports or validates.

    Args:
        args: of the run proper.
        seed: of the short run.
        epochs: least number of epochs that the schedule is made for.
    """
    short = copy.copy(args)
    vars(short).update(
        seed=seed,
        data_seed=None,
        num_train_epochs=max(args.num_train_epochs, epochs),
        eval_strategy=IntervalStrategy.NO,
        logging_strategy=IntervalStrategy.NO,
        save_strategy=SaveStrategy.NO,
        report_to=[],
        disable_tqdm=True,
        load_best_model_at_end=False,
        eval_on_start=False,
        push_to_hub=False,
        resume_from_checkpoint=None,
    )
    return short


def short_trainer(
    model: nn.Module | None,
    args: TrainingArguments,
    *,
    model_init: Callable[[], Any] | None = None,
    accepts_loss_kwargs: bool | None = None,
    **parts: Any,
) -> Trainer:
    """A plain Trainer that leaves ``model`` alone: it trains a copy, or what ``model_init`` makes.

    Args:
        model: in its initial state.
        args: of `short_arguments`.
        model_init: makes a model; called with the seed of the run set.
        accepts_loss_kwargs: whether the model takes the number of items for its loss; None: as Trainer finds it.
        parts: ``train_dataset``, ``data_collator``, ``processing_class``.
    """
    if model_init is None:
        args.neftune_noise_alpha = None  # the copy carries the hook of the original
    trainer = Trainer(
        model=copy.deepcopy(model) if model_init is None else None, args=args, model_init=model_init, **parts
    )
    trainer.remove_callback(PrinterCallback)
    if accepts_loss_kwargs is not None:
        trainer.model_accepts_loss_kwargs = accepts_loss_kwargs
    return stop_when_diverged(trainer)


def take_rows(dataset: Any, rows: PairedRows, settings: DataDietSettings) -> Any:
    """The rows of a data set, parallel to the training set, that short runs train on."""
    if settings.score_on == "all" or len(rows.pairs.factual) == len(dataset):
        return dataset
    if hasattr(dataset, "select"):
        return dataset.select(rows.pairs.factual)
    return torch.utils.data.Subset(dataset, rows.pairs.factual.tolist())


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Within the block draw and train at will: random states and accelerate's state are as before afterwards."""
    python, numpy_state, gradient = random.getstate(), np.random.get_state(), vars(GradientState())  # noqa: NPY002
    saved = {key: list(value) if isinstance(value, list) else value for key, value in gradient.items()}
    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    devices = range(torch.accelerator.device_count()) if device is not None else []
    try:
        with torch.random.fork_rng(devices=devices, device_type=device.type if device is not None else "cuda"):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy_state)  # noqa: NPY002
        gradient.clear()
        gradient.update(saved)
