"""Pruning by gender equity (GE) and other scores inside a plain Trainer.

Source: Zayed et al. 2023, *Deep Learning on a Healthy Data Diet: Finding Important Examples for Fairness*.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from hf_fairness._processes import refuse_engines
from hf_fairness.trainers.data_diet.config import PruningSettings
from hf_fairness.trainers.data_diet.pruned import Mask, PairedRows, Pruned, describe, differences, score_names
from hf_fairness.trainers.data_diet.sampler import install_sampler, sampler_owner
from hf_fairness.trainers.data_diet.scores import (
    ShortRuns,
    check_classifier,
    correct,
    score,
    scores_path,
    short_trainer,
    take_rows,
    texts_scored,
)
from hf_fairness.trainers.training.remembered import remembered

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class _Parts:
    """What a callback was built from and JSON cannot hold."""

    rows: PairedRows
    model_init: Callable[[], Any] | None
    tokenizer: Any


#: Parts of the callbacks that live in this process, by the key of their rows: a Trainer that restores callbacks from
#: a checkpoint builds them anew, from JSON, while those that it was given are still there.
_BUILT: weakref.WeakValueDictionary[str, _Parts] = weakref.WeakValueDictionary()


class GEPruningCallback(TrainerCallback, ExportableState):
    """Let a plain `transformers.Trainer` train on the part of its data that is good for fairness.

    What it saves: rows that are not kept are never trained on (again), so fewer distinct rows decide what the model
    learns. What it does not save: steps. An epoch stays as long as the whole data set and repeats kept rows in new
    permutations, so that the learning-rate schedule, the steps and resuming from a checkpoint stay exact; with
    ``mode="restart"`` the short runs come on top. `DataDietTrainer` takes fewer steps.

    - *restart* (published): before training, scores are averaged over ``n_init`` short runs of the first
      ``score_after_epochs`` epochs of the same schedule; they start from the model's initial weights, or from those
      of ``model_init``, each with a seed of its own. Training then starts from the initial weights on what is kept.
    - *continue*: the running model trains on all rows for ``score_after_epochs`` epochs, is scored, and goes on with
      what is kept.

    Scores are written to ``<output_dir>/data_diet/`` and taken from there by a run with the same weights, data and
    settings. The kept rows and their scores are part of every checkpoint: a run that is resumed keeps them, with or
    without ``restore_callback_states_from_checkpoint``. (With ``dataloader_persistent_workers`` no Trainer resumes
    exactly: the workers of the new process draw other numbers.) What scoring cost is logged, and stands in
    ``pruned.report``, in the log history of the run, and so in its last checkpoint.

    Args:
        dataset: the training set with its texts, row for row that of the Trainer; columns that the Trainer drops are
            welcome. In the layout of ``CounterfactualAugmentation``: the rows of counterfactuals must be there to be
            trained on. In that of ``CounterfactualSwap`` factual rows alone can be pruned
            (``counterfactual_fraction=0``).
        settings: all settings; None means the defaults of the paper.
        model_init: makes a model with new random parts for each short run of ``mode="restart"``, as the paper does;
            None starts each from the weights of the model that is trained.
        tokenizer: of the texts; None means the Trainer's ``processing_class``.
        changes: fields of `PruningSettings` that differ from ``settings``: ``ranking``, ``factual_fraction``,
            ``counterfactual_fraction``, ``mode``, ``score_after_epochs``, ``n_init``, ``order``, ``seed`` ...

    Attributes:
        pruned: the kept rows, their scores and the report; None before they are decided.

    Raises:
        TypeError: no single `datasets.Dataset`, or an unknown setting.
        ValueError: a setting out of range, no attribute terms, labels that are missing, counterfactuals that do not
            belong to their texts; when training begins: a model that is no classifier, a data set of another length,
            a checkpoint of another run.

    Source:
        Zayed et al. 2023, sections 4 and 5. Deviation: without ``model_init`` the short runs differ by the order of
        rows and dropout alone.

    Example:
        >>> from datasets import Dataset
        >>> from hf_fairness.augment import CounterfactualAugmentation
        >>> texts = Dataset.from_dict({"text": ["He ran.", "It rained."], "label": [1, 0]})
        >>> rows = texts.map(CounterfactualAugmentation("text"), batched=True)
        >>> GEPruningCallback(rows, factual_fraction=0.5, mode="continue").settings.ranking
        'healthy_random'
    """

    def __init__(
        self,
        dataset: Any,
        settings: PruningSettings | None = None,
        *,
        model_init: Callable[[], Any] | None = None,
        tokenizer: Any = None,
        **changes: Any,
    ) -> None:
        self.settings = replace(settings if settings is not None else PruningSettings(), **changes)
        if isinstance(dataset, str):
            self._parts = _parts_of(dataset)
        else:
            self._parts = _Parts(PairedRows.read(dataset, self.settings), model_init, tokenizer)
            _BUILT[self._parts.rows.key] = self._parts
        if not self.rows.pairs.is_long and self.settings.counterfactual_fraction > 0:
            raise ValueError(
                f"counterfactual_fraction is {self.settings.counterfactual_fraction}, but the counterfactuals stand in "
                f"column {self.rows.pairs.counterfactual_column!r}, where a Trainer does not see them. Make rows of "
                "them with CounterfactualAugmentation and train on these, use DataDietTrainer, or set "
                "counterfactual_fraction=0."
            )
        self.pruned: Pruned | None = None
        #: Whether each example was predicted rightly after each epoch so far, for ``mode="continue"`` and forgetting.
        self._history: list[Mask] = []

    @property
    def rows(self) -> PairedRows:
        """The training set and its pairs."""
        return self._parts.rows

    def state(self) -> dict[str, Any]:
        """Settings, kept rows and scores as JSON, for a checkpoint."""
        return {
            "args": {"dataset": self.rows.key, **asdict(self.settings)},
            "attributes": {"record": self.record},
        }

    @property
    def record(self) -> dict[str, Any]:
        """What has been decided so far as JSON; setting it restores that."""
        return {
            "pruned": None if self.pruned is None else self.pruned.to_record(),
            "history": [Pruned(right).to_record() for right in self._history],
        }

    @record.setter
    def record(self, value: dict[str, Any]) -> None:
        self.pruned = None if value["pruned"] is None else Pruned.from_record(value["pruned"])
        self._history = [Pruned.from_record(right).kept for right in value["history"]]

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Check that everything fits; restore what a checkpoint holds, or with ``mode="restart"`` decide now."""
        model, dataloader = kwargs["model"], kwargs["train_dataloader"]
        self._check(args, state, dataloader)
        tokenizer = self._tokenizer(kwargs.get("processing_class"))
        check_classifier(model, self.rows, self.settings, tokenizer)
        if state.global_step > 0:
            self._restore(state)
            return
        self.record = {"pruned": None, "history": []}
        if self.settings.mode == "restart":
            make_trainer = partial(
                short_trainer,
                model,
                model_init=self._parts.model_init,
                train_dataset=take_rows(dataloader.dataset, self.rows, self.settings),
                data_collator=dataloader.collate_fn,
                processing_class=kwargs.get("processing_class"),
            )
            runs = ShortRuns(self.settings, args, make_trainer, tokenizer)
            self._decide(*runs.scores(self.rows, seed=self.settings.seed), state)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Score when it is time; then show the Trainer the kept rows."""
        epoch = int(state.epoch or 0)
        if self.pruned is None and epoch > 0:
            self._score_running(args, state, epoch, kwargs["model"], self._tokenizer(kwargs.get("processing_class")))
        if self.pruned is not None:
            sampler = install_sampler(kwargs["train_dataloader"], self.pruned.kept, seed=self.settings.seed)
            sampler.set_epoch(epoch)  # a resumed run on several processes is not told otherwise

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Count all that passed through a model."""
        if self.pruned is not None:
            self.pruned.count_training(round(state.epoch * len(self.pruned.kept)))
            logger.info("With scoring, %d rows and texts passed through a model.", self.pruned.report["rows_used"])

    def _score_running(self, args: Any, state: Any, epoch: int, model: Any, tokenizer: Any) -> None:
        """Note what the running model gets right, where needed, and after the wanted number of epochs decide."""
        settings, names = self.settings, score_names(self.settings)
        if "forgetting" in names and len(self._history) < epoch:
            self._history.append(correct(model, self.rows, settings, tokenizer))
        if epoch < settings.score_after_epochs:
            return
        scores = {}
        if names:
            path = scores_path(args, self.rows, settings, tokenizer, model, self._history)
            scores = remembered(path, lambda: score(model, self.rows, settings, tokenizer, self._history))
        texts = texts_scored(self.rows, names, settings.score_after_epochs)
        self._decide(scores, {"scoring_runs": 0, "scoring_training_rows": 0, "scoring_texts": texts}, state)

    def _decide(self, scores: Any, cost: dict[str, int], state: Any) -> None:
        """Fix what is kept, and say so in the log."""
        self.pruned = self.rows.prune(self.settings, scores, seed=self.settings.seed, **cost)
        logger.info("%s", describe(self.pruned))
        state.log_history.append({**self.pruned.numbers(), "epoch": state.epoch or 0, "step": state.global_step})

    def _tokenizer(self, processing_class: Any) -> Any:
        return self._parts.tokenizer if self._parts.tokenizer is not None else processing_class

    def _check(self, args: Any, state: Any, dataloader: Any) -> None:
        """Raise where data or arguments of the Trainer do not fit."""
        refuse_engines(type(self).__name__, args)
        sampler_owner(dataloader)
        seen = dataloader.dataset
        if len(seen) != len(self.rows.dataset):
            raise ValueError(
                f"The Trainer has {len(seen)} rows and GEPruningCallback {len(self.rows.dataset)}. Give the callback "
                "the very rows that were tokenized for train_dataset, in the same order."
            )
        wanted = self.settings.label_column
        label = next((name for name in (wanted, "labels", "label") if name in getattr(seen, "column_names", ())), None)
        if label is not None and list(seen[label][:]) != list(self.rows.dataset[wanted][:]):
            raise ValueError(
                f"Column {label!r} of the Trainer's rows differs from {wanted!r} of GEPruningCallback's: the data set "
                "was sorted, shuffled or filtered in between. Give the callback the very rows that were tokenized for "
                "the Trainer's train_dataset."
            )
        if self.settings.mode == "continue" and state.num_train_epochs <= self.settings.score_after_epochs:
            raise ValueError(
                f"score_after_epochs is {self.settings.score_after_epochs}, but the run has {state.num_train_epochs} "
                "epoch(s): nothing would be pruned. Train for longer, score earlier, or use mode='restart'."
            )

    def _restore(self, state: Any) -> None:
        """Take over what the checkpoint that is resumed from holds."""
        name = type(self).__name__
        stored = state.stateful_callbacks.get(name)
        if not isinstance(stored, dict):
            found = "none" if stored is None else f"{len(stored)}"
            raise ValueError(
                f"The checkpoint must hold the state of one {name}; it holds {found}. Resume with the callbacks that "
                "the run was started with, one of this kind."
            )
        if other := differences(stored["args"], self.state()["args"]):
            raise ValueError(f"The checkpoint was pruned with {other}. Resume with the same data and settings.")
        self.record = stored["attributes"]["record"]


def _parts_of(key: str) -> _Parts:
    """Parts of a callback of this process, by the key in a checkpoint."""
    parts = _BUILT.get(key)
    if parts is None:
        raise ValueError(
            f"The checkpoint was pruned on a data set with content key {key}, and no GEPruningCallback in this process "
            "was given that one. Build the callback with the same rows, texts and labels before resuming."
        )
    return parts
