"""The classifiers of a run: trained in stages of their own, or opened from where they come, and asked."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import PartialState
from datasets import Dataset
from numpy.typing import NDArray
from transformers import Trainer

from hf_fairness._processes import turn
from hf_fairness.runs import Run, discard
from hf_fairness.trainers.ibadr.config import NO_MATTER, IBADRConfig
from hf_fairness.trainers.ibadr.data import LABEL, PairTask, Source
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.training.pair_training import class_log_probabilities, open_pair_classifier, pair_trainer
from hf_fairness.trainers.training.stopping import StopAt
from hf_fairness.utils import is_main_process


@dataclass
class Classifiers:
    """The classifiers of one trial.

    Attributes:
        run: keeps the stages.
        config: settings of the trainings.
        task: the data.
        sources: where models come from, by role.
    """

    run: Run
    config: IBADRConfig
    task: PairTask
    sources: Mapping[str, Source]

    @property
    def numbers(self) -> list[str]:
        """What models of stages call the labels: their numbers, so that other names train nothing anew."""
        return [f"LABEL_{number}" for number in range(len(self.task.label_names))]

    def matters(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What a training learns from its settings: not where it runs, and rows of all processes together."""
        found = {name: value for name, value in settings.items() if name not in NO_MATTER}
        return {**found, "per_device_train_batch_size": found["per_device_train_batch_size"] * self.config.world_size}

    def train(
        self,
        name: str,
        rows: Callable[[], Dataset],
        *,
        start: str = "model",
        inputs: Any,
        kind: str = "main",
        settings: Mapping[str, Any] | None = None,
        stop_at: int | None = None,
        trainer_class: type[Trainer] = Trainer,
    ) -> Any:
        """A stage that trains a classifier and keeps it in its folder.

        Of a main model the weights with the best accuracy on the validation rows are kept.

        Args:
            name: of the stage.
            rows: makes the training rows; called on every process.
            start: ``model`` or ``shallow``: a fresh one; or the name of a stage whose model is trained on.
            inputs: what the rows depend on.
            kind: of the model, ``main`` or ``shallow``.
            settings: of the `Trainer`, over those of the kind.
            stop_at: step after which training ends, within the schedule of ``settings``; None stops a main model early
                by patience.
            trainer_class: `Trainer` or a subclass.

        Returns:
            ``n_rows``, ``steps``, ``epochs``, and of a main model ``max_steps``, ``eval_steps`` and ``history``: steps
            and accuracies on the validation rows.
        """
        choose = kind == "main"
        options = {**self.config.training(kind), **(settings or {})}
        patience = self.config.early_stopping_patience if choose and stop_at is None else None

        def work(folder: Path) -> dict[str, Any]:
            value, tokenizer = self._source(start)
            model, tokenizer = open_pair_classifier(
                value, label_names=self.numbers, tokenizer=tokenizer, seed=options["seed"]
            )
            trainer = pair_trainer(
                model,
                tokenizer,
                rows(),
                training_arguments={
                    "output_dir": str(folder / "checkpoints"),
                    "restore_callback_states_from_checkpoint": patience is not None,
                    **options,
                    **self.reporting(folder),
                },
                trainer_class=trainer_class,
                eval_dataset=self.task.validation if choose else None,
                early_stopping_patience=patience,
                callbacks=[] if stop_at is None else [StopAt(stop_at)],
                columns=self.task.columns,
            )
            trainer.train(resume_from_checkpoint=last_whole_checkpoint(trainer.args.output_dir))
            if is_main_process():
                trainer.model.save_pretrained(folder)
                tokenizer.save_pretrained(folder)
            self.clear(folder)
            state = trainer.state
            found = {"n_rows": len(trainer.train_dataset), "steps": state.global_step, "epochs": state.epoch}
            history = [[line["step"], line["eval_accuracy"]] for line in state.log_history if "eval_accuracy" in line]
            if history:
                found |= {"history": history, "max_steps": state.max_steps, "eval_steps": history[0][0]}
            return found

        given = [
            *(self.model_key(start), inputs, self.matters(options), len(self.task.label_names)),
            *(self.task.validation_key if choose else None, patience, stop_at, trainer_class.__qualname__),
        ]
        return self.run.stage(name, work, inputs=given, collective=True, keep_partial=True)

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

    def _source(self, name: str) -> tuple[Any, Any]:
        """What opens the model of a stage or of a source, and its tokenizer."""
        found = self.sources.get(name)
        return (str(self.run.folder(name)), None) if found is None else (found.value, found.tokenizer)

    def model_key(self, name: str) -> Any:
        """Key of the model of a stage or of a source."""
        return self.sources[name].key if name in self.sources else self.run.key(name)

    def probabilities(self, name: str, rows: Dataset, *, distributed: bool = True) -> NDArray[np.float64]:
        """Probabilities of the task's labels, shape (n, labels), by the model of a stage or of a source.

        Raises:
            ValueError: a model whose labels are not those of the task.
        """
        value, tokenizer = self._source(name)
        log_probabilities = class_log_probabilities(
            value,
            tokenizer,
            rows,
            columns=self.task.columns,
            device=self.config.device,
            distributed=distributed,
            label_names=self.task.label_names if name in self.sources else self.numbers,
        )
        return np.asarray(np.exp(log_probabilities))

    def guess(self, name: str, rows: Dataset) -> NDArray[np.int64]:
        """Number of the class that a model gives to each row, on the processes that share rows."""
        return self.probabilities(name, rows, distributed=turn()[1] > 1).argmax(axis=1)

    def degrees(self, name: str, rows: Dataset) -> NDArray[np.float32]:
        """Probability that a model gives to each row's label."""
        labels = np.asarray(rows[LABEL][:], dtype=np.int64)
        return self.probabilities(name, rows)[np.arange(len(labels)), labels].astype(np.float32)
