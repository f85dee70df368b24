"""What all stages of an IBADR run share: the run, the data, the models, and how a classifier is trained in a stage."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray
from transformers import Trainer

from hf_fairness.runs import Run, discard
from hf_fairness.trainers.ibadr.arguments import IBADRArguments
from hf_fairness.trainers.ibadr.config import NO_MATTER, IBADRConfig
from hf_fairness.trainers.ibadr.data import LABEL, PairTask, Source
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.training.pair_training import class_log_probabilities, open_pair_classifier, pair_trainer
from hf_fairness.trainers.training.stopping import StopAt
from hf_fairness.utils import is_main_process

#: Stage of the shallow model of the original data.
FIRST_SHALLOW = "shallow-0"


@dataclass
class Job:
    """One run of the pipeline.

    Attributes:
        run: keeps the stages.
        arguments: data, models, and what to run.
        config: settings of the method and of the trainings.
        task: the data.
        sources: ``model``, ``shallow``, ``generator``, and ``judge`` and ``filter`` where they are models of their own.
        anti_artefact: from rows to whether the artefact of each speaks for another label, or None.
    """

    run: Run
    arguments: IBADRArguments
    config: IBADRConfig
    task: PairTask
    sources: dict[str, Source]
    anti_artefact: Callable[[Dataset], Any] | None = None

    def __post_init__(self) -> None:
        self.processes = int(os.environ.get("WORLD_SIZE", "1"))
        if self.processes > 1:
            from accelerate import PartialState

            PartialState(cpu=self.config.use_cpu)

    @property
    def numbers(self) -> list[str]:
        """What models of stages call the labels: their numbers, so that other names train nothing anew."""
        return [f"LABEL_{number}" for number in range(len(self.task.label_names))]

    @property
    def device(self) -> Any:
        """Where models run outside of training."""
        from accelerate import PartialState

        return PartialState(cpu=self.config.use_cpu).device

    def matters(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What a training learns from its settings: not where it runs, and rows of all processes together."""
        found = {name: value for name, value in settings.items() if name not in NO_MATTER}
        found["per_device_train_batch_size"] *= self.processes
        return found

    def classifier(
        self,
        name: str,
        rows: Callable[[], Dataset],
        *,
        start: str,
        inputs: Any,
        kind: str = "main",
        settings: Mapping[str, Any] | None = None,
        choose: bool = False,
        stop_at: int | None = None,
        trainer_class: type[Trainer] = Trainer,
    ) -> dict[str, Any]:
        """A stage that trains a classifier and keeps it in its folder.

        Args:
            name: of the stage.
            rows: makes the training rows; called on every process.
            start: ``model`` or ``shallow``: a fresh one; or the name of a stage whose model is trained on.
            inputs: what the rows depend on.
            kind: of the model, as `IBADRConfig.training` takes it.
            settings: of the `Trainer`, over those of the kind.
            choose: keep the weights with the best accuracy on the validation rows.
            stop_at: step after which training ends, within the schedule of ``settings``; None stops early by patience
                where ``choose`` is set.
            trainer_class: `Trainer` or a subclass.

        Returns:
            ``n_rows``, ``steps``, ``epochs``, and with ``choose`` ``max_steps``, ``eval_steps`` and ``history``:
            steps and accuracies on the validation rows.
        """
        fresh = start in self.sources
        source = self.sources[start if fresh else "model"]
        options = {**self.config.training(kind), **(settings or {})}
        patience = self.config.early_stopping_patience if choose and stop_at is None else None

        def work(folder: Path) -> dict[str, Any]:
            value = source.value if fresh else str(self.run.folder(start))
            tokenizer = source.tokenizer if fresh else None
            model, tokenizer = open_pair_classifier(
                value, label_names=self.numbers, tokenizer=tokenizer, seed=options["seed"]
            )
            named(model.config, self.numbers)
            trainer = pair_trainer(
                model,
                tokenizer,
                rows(),
                trainer_class=trainer_class,
                training_arguments={
                    "output_dir": str(folder / "checkpoints"),
                    "restore_callback_states_from_checkpoint": patience is not None,
                    **options,
                    **self.reporting(name),
                },
                eval_dataset=self.task.validation if choose else None,
                early_stopping_patience=patience,
                columns=self.task.columns,
                callbacks=[] if stop_at is None else [StopAt(stop_at)],
            )
            trainer.train(resume_from_checkpoint=last_whole_checkpoint(folder / "checkpoints"))
            return self._keep(trainer, folder)

        given = [
            start if not fresh else source.key,
            None if fresh else self.run.key(start),
            inputs,
            self.matters(options),
        ]
        given += [len(self.task.label_names), self.task.validation_key if choose else None]
        given += [choose, patience, stop_at, trainer_class.__qualname__]
        result: dict[str, Any] = self.run.stage(name, work, inputs=given, collective=True, keep_partial=True)
        return result

    def _keep(self, trainer: Trainer, folder: Path) -> dict[str, Any]:
        """Write model and tokenizer, remove checkpoints, and say how the training went."""
        state = trainer.state
        if is_main_process():
            trainer.model.save_pretrained(folder)
            trainer.processing_class.save_pretrained(folder)
            self.clear(folder)
        trainer.accelerator.wait_for_everyone()
        found = {"n_rows": len(trainer.train_dataset), "steps": state.global_step, "epochs": state.epoch}
        history = [[line["step"], line["eval_accuracy"]] for line in state.log_history if "eval_accuracy" in line]
        if history:
            found |= {"history": history, "max_steps": state.max_steps, "eval_steps": history[0][0]}
        return found

    def reporting(self, stage: str) -> dict[str, str]:
        """What reports call the training of a stage, where the run has a name."""
        return {} if self.config.run_name is None else {"run_name": f"{self.config.run_name}-{stage}"}

    def clear(self, folder: Path) -> None:
        """Remove what a training left in the folder of its stage; what it logged there goes to ``runs/<stage>``."""
        logs = folder / "checkpoints" / "runs"
        if logs.is_dir():
            shutil.copytree(logs, self.run.output_dir / "runs" / folder.name, dirs_exist_ok=True)
        discard(folder / "checkpoints")

    def folder_or_id(self, name: str) -> str:
        """What opens a model that judges: a stage's folder, or where a model of its own comes from."""
        return str(self.sources[name].value) if name in self.sources else str(self.run.folder(name))

    def model_key(self, name: str) -> Any:
        """Key of such a model."""
        return self.sources[name].key if name in self.sources else self.run.key(name)

    def probabilities(self, name: str, rows: Dataset, *, distributed: bool = True) -> NDArray[np.float64]:
        """Probabilities of the task's labels, shape (n, labels), by the model of a stage or of a source.

        Raises:
            ValueError: a model whose labels are not those of the task.
        """
        if not len(rows):
            return np.zeros((0, len(self.task.label_names)))
        from hf_fairness.measure.classifier.classifier import Classifier

        opened = Classifier(self.folder_or_id(name), device=self.device, show_progress=False)
        log_probabilities = class_log_probabilities(
            opened.model,
            opened.tokenizer,
            rows,
            columns=self.task.columns,
            device=self.device,
            distributed=distributed,
        )
        if name in self.sources:
            order = label_order(opened.label_names, self.task.label_names, opened.name)
            log_probabilities = log_probabilities[:, order]
        found: NDArray[np.float64] = np.exp(log_probabilities)
        return found

    def degrees(self, name: str, rows: Dataset) -> NDArray[np.float32]:
        """Probability that a model gives to each row's label."""
        found = self.probabilities(name, rows)
        chosen = found[np.arange(len(found)), np.asarray(list(rows[LABEL]), dtype=np.int64)]
        return np.asarray(chosen, dtype=np.float32)


def named(config: Any, names: Sequence[str]) -> None:
    """Give the classes of a model's configuration their names."""
    config.id2label = dict(enumerate(names))
    config.label2id = {name: number for number, name in enumerate(names)}


def label_order(own: Mapping[int, str], wanted: list[str], name: str) -> list[int]:
    """Number that a model gives to each label.

    Args:
        own: names of the model's classes.
        wanted: names of the labels.
        name: of the model, for messages.

    Raises:
        ValueError: the model has other classes.

    Example:
        >>> label_order({0: "CONTRADICTION", 1: "ENTAILMENT"}, ["entailment", "contradiction"], "m")
        [1, 0]
    """
    places = {text.casefold(): number for number, text in own.items()}
    if all(label.casefold() in places for label in wanted):
        return [places[label.casefold()] for label in wanted]
    if len(own) == len(wanted) and all(text == f"LABEL_{number}" for number, text in own.items()):
        return list(range(len(wanted)))
    raise ValueError(f"{name} has the classes {', '.join(own.values())}; the data have {', '.join(wanted)}.")
