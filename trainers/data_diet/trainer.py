"""Training a classifier on the part of its data that is good for fairness.

Source: Zayed et al. 2023, *Deep Learning on a Healthy Data Diet: Finding Important Examples for Fairness*.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import Any

from datasets import Dataset
from transformers import Trainer

from hf_fairness.rows import column_values
from hf_fairness.scores.class_labels import class_numbers
from hf_fairness.trainers.data_diet.config import DataDietConfig
from hf_fairness.trainers.data_diet.pruned import PairedRows, Pruned, describe, differences
from hf_fairness.trainers.data_diet.scores import (
    ShortRuns,
    check_classifier,
    short_trainer,
    take_rows,
)
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.training.published import Published

logger = logging.getLogger(__name__)


class DataDietTrainer(Published, Trainer):
    """Score the examples over short runs, then train anew on those that are kept.

    What it saves: steps. Training runs over ``train_dataset.select(kept)``, so an epoch is as much shorter as the data
    set; the learning-rate schedule is made for these steps. What it does not save: scoring, which comes before and
    trains ``n_init`` times for ``score_after_epochs`` epochs (``pruned.report`` counts it). `GEPruningCallback` prunes
    inside a plain Trainer, with the steps of the whole data set.

    A `Trainer` with four differences: it tokenizes texts; it reads counterfactuals in either layout (those in a column
    become rows); the loss is the mean over the texts of a step, for any number of processes and of steps of
    accumulation; and it saves the kept rows with their scores (``data_diet.npz``, ``data_diet.json``) beside the model
    and in every checkpoint. A run that is resumed keeps the rows of its checkpoint. Scores are also written to
    ``<output_dir>/data_diet/`` and used again by a run with the same weights, data and settings.

    Args:
        model: a sequence classifier with two classes or more; it may carry LoRA adapters. It is trained in float32
            (see `preparation.full_precision`). Its weights at the beginning of `train` are those that every short run
            starts from.
        args: settings; None means ``DataDietConfig(output_dir="tmp_trainer")``.
        train_dataset: texts with labels and counterfactuals, as ``CounterfactualSwap`` or
            ``CounterfactualAugmentation`` makes them. ``input_ids``, if present, are used as they are in the latter
            layout.
        eval_dataset: texts with labels, or tokenized rows.
        processing_class: tokenizer.
        model_init: makes a model; then every short run, and training, starts from a new one, as in the paper.
        kwargs: further arguments of `transformers.Trainer`.

    Attributes:
        pruned: the kept rows, their scores and the report; None before `train`.
        rows: all rows, tokenized, with their pairs.

    Raises:
        TypeError: arguments of another kind, or a stream of rows.
        ValueError: a setting out of range, no attribute terms, labels that are missing, counterfactuals that do not
            belong to their texts, a model that is no classifier, no tokenizer.

    Source:
        Zayed et al. 2023, sections 4 and 5. Deviation: without ``model_init`` the short runs differ by the order of
        rows and dropout alone.
    """

    args: DataDietConfig
    what = (
        "A text classifier: {base}, trained on the part of its data that was chosen as a healthy data diet (Zayed et "
        "al. 2023). The files data_diet.json and data_diet.npz say which rows were kept, and by what scores."
    )
    limits = ("Rows were left out by their scores: what they alone held was not learned.",)

    def __init__(
        self,
        model: Any = None,
        args: DataDietConfig | None = None,
        *,
        train_dataset: Dataset | None = None,
        eval_dataset: Any = None,
        processing_class: Any = None,
        **kwargs: Any,
    ) -> None:
        args = args if args is not None else DataDietConfig(output_dir="tmp_trainer")
        if not isinstance(args, DataDietConfig):
            raise TypeError(f"args is a {type(args).__name__}, expected a DataDietConfig.")
        if processing_class is None:
            raise ValueError("processing_class is missing: the texts are scored with the model's tokenizer.")
        rows = PairedRows.read(train_dataset, args)
        if not rows.pairs.is_long:  # what was tokenized before does not hold for the counterfactuals
            rows = rows.without(processing_class.model_input_names).as_long()
        self.rows = replace(rows, dataset=self._tokenize(rows.dataset, processing_class, args))
        if isinstance(eval_dataset, dict):
            eval_dataset = {name: self._tokenize(part, processing_class, args) for name, part in eval_dataset.items()}
        elif isinstance(eval_dataset, Dataset):
            eval_dataset = self._tokenize(eval_dataset, processing_class, args)
        self.pruned: Pruned | None = None
        super().__init__(
            model=model,
            args=args,
            train_dataset=self.rows.dataset,
            eval_dataset=eval_dataset,
            processing_class=processing_class,
            **kwargs,
        )
        # Most classifiers take any keyword and ignore the number of items: their loss is the mean over a batch, which
        # Trainer would then multiply by the processes and not divide by the steps of accumulation.
        self.model_accepts_loss_kwargs = False
        check_classifier(self.model, self.rows, args, processing_class)

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        """Score, choose rows, and train on them.

        Args:
            resume_from_checkpoint: folder of a checkpoint, or True for the last one in ``output_dir``; then nothing
                is scored, and the rows of the checkpoint are kept.
            args: see `transformers.Trainer.train`.
            kwargs: see `transformers.Trainer.train`.

        Returns:
            What `transformers.Trainer.train` returns; its metrics also hold the counts of `pruned.report`, with
            ``data_diet_`` before their names.

        Raises:
            ValueError: there is no checkpoint, or it is of another run.
        """
        if resume_from_checkpoint is True:
            resume_from_checkpoint = last_whole_checkpoint(self.args.output_dir)
            if resume_from_checkpoint is None:
                raise ValueError(f"There is no checkpoint to resume from in {self.args.output_dir}.")
        self.pruned = self._load_pruned(resume_from_checkpoint) if resume_from_checkpoint else self.choose_rows()
        self.train_dataset = self.rows.dataset.select(self.pruned.rows)
        output = super().train(resume_from_checkpoint, *args, **kwargs)
        self.pruned.count_training(round(self.state.epoch * len(self.train_dataset)))
        output.metrics.update(self.pruned.numbers())
        return output

    def choose_rows(self) -> Pruned:
        """Score over short runs, without a trace in this trainer's model, and decide which rows to keep."""
        make_trainer = partial(
            short_trainer,
            self.model,
            model_init=None if self.model_init is None else self.call_model_init,
            accepts_loss_kwargs=self.model_accepts_loss_kwargs,
            train_dataset=take_rows(self.rows.dataset, self.rows, self.args),
            data_collator=self.data_collator,
            processing_class=self.processing_class,
        )
        runs = ShortRuns(self.args, self.args, make_trainer, self.processing_class)
        scores, cost = runs.scores(self.rows, seed=self.args.seed)
        pruned = self.rows.prune(self.args, scores, seed=self.args.seed, **cost)
        logger.info("%s", describe(pruned))
        return pruned

    def _load_pruned(self, folder: str) -> Pruned:
        """Kept rows of a checkpoint, if it is one of this run."""
        pruned = Pruned.load(folder)
        stored = {"data_key": pruned.report["data_key"], **pruned.report["settings"]}
        if other := differences(stored, {"data_key": self.rows.key, **self.args.diet()}):
            raise ValueError(f"{folder} was trained with {other}. Resume with the same data and settings.")
        return pruned

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Save the kept rows beside the model."""
        super()._save(output_dir, state_dict)
        if self.pruned is not None and self.args.should_save:
            self.pruned.save(output_dir if output_dir is not None else self.args.output_dir)

    @staticmethod
    def _tokenize(dataset: Dataset, tokenizer: Any, args: DataDietConfig) -> Dataset:
        """Add the inputs of the model, and call the labels as it does."""
        label = args.label_column
        if label not in ("label", "labels") and label in dataset.column_names:
            dataset = dataset.remove_columns([name for name in ("label", "labels") if name in dataset.column_names])
            dataset = dataset.add_column("labels", dataset.with_format(None)[label])
            label = "labels"
        if label in dataset.column_names and not str(dataset.features[label].dtype).startswith("int"):
            # A classifier takes labels that are floats, be they whole, for a task of several labels per text.
            numbers = class_numbers(column_values(dataset, label), f"column {label!r}")
            dataset = dataset.remove_columns(label).add_column(label, numbers.tolist())
        if "input_ids" in dataset.column_names or args.text_column not in dataset.column_names:
            return dataset
        options = {"truncation": True, "max_length": args.max_length}
        with args.main_process_first(desc="tokenizing"):
            return dataset.map(tokenizer, batched=True, input_columns=args.text_column, fn_kwargs=options)
