"""Full mode: every cell of the grid fine-tunes the whole model, or LoRA adapters, anew."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray
from scipy.special import softmax
from transformers import (
    DataCollatorWithPadding,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

from hf_fairness._opening import find_tokenizer, trainable
from hf_fairness.measure.classifier.importance import example_scores, logits_of
from hf_fairness.measure.classifier.pairs import read_pairs
from hf_fairness.runs import discard
from hf_fairness.scores.importance import forgetting
from hf_fairness.trainers.data_diet.arguments import DataDietArguments
from hf_fairness.trainers.data_diet.config import DataDietConfig
from hf_fairness.trainers.data_diet.data import DietData, Rows
from hf_fairness.trainers.data_diet.features import SHORT_RUNS
from hf_fairness.trainers.data_diet.grid import Cell
from hf_fairness.trainers.data_diet.trainer import DataDietTrainer
from hf_fairness.trainers.training.preparation import full_precision
from hf_fairness.trainers.training.published import merge_adapters
from hf_fairness.trainers.training.stopping import stop_when_diverged
from hf_fairness.utils import progress


class FullLearner:
    """Fine-tunes one model per seed.

    What it keeps of trained models are their probabilities: a grid of whole models would not fit into memory.

    Args:
        data: texts and labels.
        arguments: model, LoRA, epochs, batch size, learning rate, ``use_cpu``.
    """

    def __init__(self, data: DietData, arguments: DataDietArguments) -> None:
        self.data, self.arguments = data, arguments
        self.tokenizer = find_tokenizer(arguments.model_name_or_path)

    def fit(self, rows: Sequence[Rows], seeds: Sequence[int]) -> list[dict[bool, dict[str, NDArray[np.float64]]]]:
        """Train a model per seed and predict with it, on the texts as they are and without terms."""
        found = []
        for chosen, seed in zip(rows, seeds, strict=True):
            blind = bool(chosen.min() >= 2 * self.data.n)
            with tempfile.TemporaryDirectory() as folder:
                model = self._train(chosen, seed, Path(folder)).model
            found.append(
                {blind: {name: self._predict(model, t) for name, t in self.data.measured(blind=blind).items()}}
            )
        return found

    def probabilities(
        self, models: list[dict[bool, dict[str, NDArray[np.float64]]]], *, blind: bool
    ) -> dict[str, NDArray[np.float64]]:
        """Probabilities on every set that is measured, shape (seeds, n, classes)."""
        return {name: np.stack([model[blind][name] for model in models]) for name in models[0][blind]}

    def save(self, models: Any, index: int, folder: Path) -> None:
        """Not used: :meth:`final` trains the model that is kept."""
        raise NotImplementedError("A grid of whole models keeps none of them; call final(cell, folder).")

    def final(self, cell: Cell, folder: Path) -> dict[str, Any]:
        """Train the chosen cell once more with `DataDietTrainer`, as a user would, and save model and kept rows.

        Args:
            cell: a cell of experiment 2.
            folder: where the model goes.

        Returns:
            The trainer's report of what was kept and what scoring cost.
        """
        arguments, data = self.arguments, self.data
        settings = {
            **self._settings(folder / "run", arguments.seed),
            "ranking": cell.ranking,
            "factual_fraction": cell.factual,
            "counterfactual_fraction": cell.counterfactual,
            "counterfactual_base": arguments.counterfactual_base,
            "n_init": arguments.n_init,
            "score_after_epochs": arguments.score_after_epochs,
        }
        trainer = DataDietTrainer(
            model=self._model(arguments.seed),
            args=DataDietConfig(**settings),
            train_dataset=self._pairs_table(),
            processing_class=self.tokenizer,
        )
        trainer.train()
        trainer.save_model(str(folder))
        if arguments.use_peft:  # the adapters beside a whole model, which opens wherever the base model is
            merge_adapters(trainer.model, folder)
        discard(folder / "run")
        (folder / "training_args.bin").unlink(missing_ok=True)
        report: dict[str, Any] = {} if trainer.pruned is None else dict(trainer.pruned.report)
        return {"classes": data.classes, **report}

    def example_scores(
        self, seeds: Sequence[int], *, n_init: int, after: int, show_progress: bool | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Scores of the factual examples, for every seed averaged over short runs of its own.

        The runs follow the schedule of a whole training: GE, EL2N and GraNd are those after ``after`` epochs, and
        forgetting counts over all epochs.

        Returns:
            ``ge``, ``el2n``, ``grand``, ``forgetting``, shape (seeds, n); ``ge_runs``, shape (seeds n_init, n).
        """
        table = self._pairs_table()
        pairs, data = read_pairs(table), self.data
        runs: dict[str, list[NDArray[np.float64]]] = {}
        numbers = [SHORT_RUNS * (seed + 1) + number for seed in seeds for number in range(n_init)]
        for number in progress(numbers, "Scoring runs", show_progress=show_progress):
            history: list[NDArray[np.bool_]] = []

            def look(model: Any, history: list[NDArray[np.bool_]] = history) -> None:
                batch_size = self.arguments.per_device_train_batch_size
                options = {"tokenizer": self.tokenizer, "batch_size": batch_size, "show_progress": False}
                logits = logits_of(model, data.train.texts, **options)
                history.append(logits.argmax(axis=-1) == data.train.labels)
                if len(history) == after:
                    found = example_scores(model, table, pairs, names=("ge", "el2n", "grand"), **options)
                    for name, values in found.items():
                        runs.setdefault(name, []).append(np.asarray(values, dtype=np.float64))

            with tempfile.TemporaryDirectory() as folder:
                self._train(np.arange(data.n), number, Path(folder), look)
            runs.setdefault("forgetting", []).append(forgetting(np.stack(history)))
        joined = {name: np.stack(values) for name, values in runs.items()}
        means = {name: values.reshape(len(seeds), n_init, -1).mean(axis=1) for name, values in joined.items()}
        return {**means, "ge_runs": joined["ge"]}

    def _pairs_table(self) -> Dataset:
        data = self.data
        return Dataset.from_dict(
            {"text": data.train.texts, "text_counterfactual": data.train.counterfactuals, "label": data.train.labels}
        )

    def _model(self, seed: int) -> Any:
        """The model with a new head, or with adapters on it."""
        set_seed(seed)
        names, arguments = dict(enumerate(self.data.classes)), self.arguments
        model = trainable(
            "AutoModelForSequenceClassification",
            arguments.model_name_or_path,
            num_labels=len(names),
            id2label=names,
            label2id={name: place for place, name in names.items()},
            ignore_mismatched_sizes=True,
        )
        full_precision(model)
        if not arguments.use_peft:
            return model
        from peft import LoraConfig, TaskType, get_peft_model

        lora = LoraConfig(
            task_type=TaskType.SEQ_CLS,
            r=arguments.lora_r,
            lora_alpha=arguments.lora_alpha,
            lora_dropout=arguments.lora_dropout,
        )
        return get_peft_model(model, lora)

    def _settings(self, folder: Path, seed: int) -> dict[str, Any]:
        default = 1e-4 if self.arguments.use_peft else 2e-5
        rate = self.arguments.learning_rate
        return {
            "output_dir": str(folder),
            "seed": seed,
            "num_train_epochs": self.arguments.num_train_epochs,
            "per_device_train_batch_size": self.arguments.per_device_train_batch_size,
            "learning_rate": default if rate is None else rate,
            "save_strategy": "no",
            "logging_strategy": "no",
            "report_to": "none",
            "disable_tqdm": True,
            "use_cpu": self.arguments.use_cpu,
        }

    def _train(self, rows: Rows, seed: int, folder: Path, look: Callable[[Any], None] | None = None) -> Trainer:
        """Fine-tune on rows of the pool; ``look`` is called with the model after every epoch."""
        texts = [self.data.pool[row] for row in rows]
        encoded = self.tokenizer(texts, truncation=True)
        table = Dataset.from_dict({**encoded, "labels": self.data.pool_labels[rows]})
        settings = self._settings(folder, seed)
        trainer = Trainer(
            model=self._model(seed),
            args=TrainingArguments(**settings, dataloader_pin_memory=not settings["use_cpu"]),
            train_dataset=table,
            data_collator=DataCollatorWithPadding(self.tokenizer),
            processing_class=self.tokenizer,
            callbacks=[] if look is None else [_Look(look)],
        )
        trainer.remove_callback(PrinterCallback)
        stop_when_diverged(trainer).train()
        return trainer

    def _predict(self, model: Any, texts: list[str]) -> NDArray[np.float64]:
        size = 4 * self.arguments.per_device_train_batch_size
        logits = logits_of(model, texts, tokenizer=self.tokenizer, batch_size=size, show_progress=False)
        return np.asarray(softmax(logits.astype(np.float64), axis=-1))


class _Look(TrainerCallback):
    """Calls a function with the model after every epoch."""

    def __init__(self, function: Callable[[Any], None]) -> None:
        self.function = function

    def on_epoch_end(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        self.function(model)
