"""The classifiers of a run: trained on rows with a loss, each a stage of its own, and asked."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from accelerate import PartialState
from datasets import Dataset
from transformers import Trainer

from hf_fairness.runs import discard
from hf_fairness.trainers.experiment import Fitted, Method
from hf_fairness.trainers.ibadr.config import NO_MATTER
from hf_fairness.trainers.ibadr.data import PairTask, as_pair
from hf_fairness.trainers.ibadr.pool import Pool
from hf_fairness.trainers.training.bias_columns import add_bias_log_probs
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.training.dct import NEGATIVES_COLUMN, add_dct_columns, bias_features
from hf_fairness.trainers.training.pair_training import (
    class_log_probabilities,
    gold_confidence,
    open_pair_classifier,
    pair_trainer,
)
from hf_fairness.trainers.training.stopping import StopAt
from hf_fairness.utils import is_main_process

#: Folder of the output folder that keeps what models said of rows, for all models that learn from it.
SAID = ".log_probs"


class Classifiers(Method):
    """The part of IBADR that trains classifiers, and asks them.

    Attributes:
        task: the data.
    """

    task: PairTask

    def stage(self, name: str, work: Callable[[Path], Any], inputs: Any, **how: Any) -> Fitted:
        """A stage that all processes carry out: its folder, its key and what it returned; see `Run.stage`."""
        found = self.run.stage(name, work, inputs=inputs, **{"collective": True, **how})
        return Fitted(name, self.run.key(name), self.run.folder(name), found)

    def train(
        self,
        name: str,
        pool: Pool,
        start: Fitted,
        *,
        trainer_class: type[Trainer] = Trainer,
        told: Mapping[str, Sequence[Fitted]] | None = None,
        kind: str = "main",
        settings: Mapping[str, Any] | None = None,
        stop_at: int | None = None,
    ) -> Fitted:
        """Train a classifier, as a stage that keeps it in its folder.

        Of a main model the weights with the best accuracy on the validation rows are kept.

        Args:
            name: of the stage.
            pool: the training rows.
            start: the model that is trained.
            trainer_class: `Trainer`, or a subclass with another loss.
            told: column that this loss reads -> the models that are asked for it.
            kind: of the model, ``main`` or ``shallow``.
            settings: of the `Trainer`, over those of the kind.
            stop_at: step after which training ends, within the schedule of ``settings``; None stops a main model early
                by patience.

        Returns:
            ``training`` has ``n_rows``, ``steps``, ``epochs``, and of a main model ``max_steps``, ``eval_steps`` and
            ``history``: steps and accuracies on the validation rows.
        """
        validation, told = self.task.validation if kind == "main" else None, told or {}
        options = {**self.config.training(kind), **(settings or {})}
        patience = None if validation is None or stop_at is not None else self.config.early_stopping_patience
        # Numbers and no names, so that other names train nothing anew.
        labels = [f"LABEL_{number}" for number in range(len(self.task.label_names))]

        def work(folder: Path) -> dict[str, Any]:
            value, tokenizer = as_pair(start.model)
            model, tokenizer = open_pair_classifier(
                value, label_names=labels, tokenizer=tokenizer, seed=options["seed"]
            )
            trainer = pair_trainer(
                model,
                tokenizer,
                self._with_columns(pool.rows, told, labels),
                training_arguments={
                    "output_dir": str(folder / "checkpoints"),
                    "restore_callback_states_from_checkpoint": patience is not None,
                    **options,
                    **self.reporting(folder),
                },
                trainer_class=trainer_class,
                eval_dataset=validation,
                early_stopping_patience=patience,
                callbacks=[] if stop_at is None else [StopAt(stop_at)],
                columns=self.task.columns,
            )
            trainer.train(resume_from_checkpoint=last_whole_checkpoint(trainer.args.output_dir))
            trainer.save_model(str(folder))
            self.clear(folder)
            state = trainer.state
            history = [[line["step"], line["eval_accuracy"]] for line in state.log_history if "eval_accuracy" in line]
            chosen = {"history": history, "max_steps": state.max_steps, "eval_steps": history[0][0]} if history else {}
            n_rows = len(trainer.train_dataset)
            return {"n_rows": n_rows, "steps": state.global_step, "epochs": state.epoch, **chosen}

        asked = [each.key for models in told.values() for each in models]
        rows = [start.key, pool.key, validation, len(labels)]
        inputs = [rows, trainer_class.__qualname__, asked, self.matters(options), patience, stop_at]
        return self.stage(name, work, inputs, keep_partial=True)

    def matters(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What a training learns from its settings: not where it runs, and rows of all processes together."""
        found = {name: value for name, value in settings.items() if name not in NO_MATTER}
        return {**found, "per_device_train_batch_size": found["per_device_train_batch_size"] * self.config.world_size}

    def reporting(self, folder: Path) -> dict[str, str]:
        """What reports call the training of a stage, where the run has a name."""
        return {} if self.config.run_name is None else {"run_name": f"{self.config.run_name}-{folder.name}"}

    def clear(self, folder: Path) -> None:
        """Remove what a training left in the folder of its stage, when it has ended on all processes.

        What it logged there goes to ``runs/<stage>``.
        """
        PartialState().wait_for_everyone()
        if is_main_process():
            logs = folder / "checkpoints" / "runs"
            if logs.is_dir():
                shutil.copytree(logs, self.run.output_dir / "runs" / folder.name, dirs_exist_ok=True)
            discard(folder / "checkpoints")

    def _with_columns(self, rows: Dataset, told: Mapping[str, Sequence[Fitted]], labels: Sequence[str]) -> Dataset:
        """Rows with what other models say of them, as far as a loss reads it."""
        columns, device, found = self.task.columns, self.config.device, rows
        how: dict[str, Any] = {"columns": columns, "label_names": labels, "device": device}
        for column, (*_, last) in told.items():
            found = add_bias_log_probs(found, last.model, into=column, cache_dir=self.run.output_dir / SAID, **how)
        if NEGATIVES_COLUMN in told:  # what the last model said tells which rows are hard
            models = told[NEGATIVES_COLUMN]
            features = [bias_features(each.model, None, rows, columns=columns, device=device) for each in models]
            found = add_dct_columns(rows, features, list(found[NEGATIVES_COLUMN]))
        return found

    def degrees(self, model: Fitted, rows: Dataset) -> Any:
        """Probability that a model gives to each row's label, shape (n,)."""
        return self._ask(gold_confidence, model, rows)

    def classes(self, model: Fitted, rows: Dataset) -> Any:
        """Number of the label that a model gives to each row, shape (n,)."""
        return self._ask(class_log_probabilities, model, rows).argmax(axis=1)

    def _ask(self, question: Callable[..., Any], model: Fitted, rows: Dataset) -> Any:
        """What a model says of rows, labels by the numbers of the task.

        Raises:
            ValueError: a model whose labels are not those of the task.
        """
        names = None if isinstance(model.model, Path) else self.task.label_names  # those of a stage are the numbers
        how: dict[str, Any] = {"columns": self.task.columns, "device": self.config.device, "label_names": names}
        return question(model.model, None, rows, distributed=True, **how)
