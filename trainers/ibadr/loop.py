"""The rounds of IBADR: bias degrees, generator, samples, update of the shallow model; each a stage of its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from hf_fairness.scores.statistics import generator as random_generator
from hf_fairness.trainers.ibadr.data import LABEL
from hf_fairness.trainers.ibadr.generator import open_generator, save_generator, train_generator
from hf_fairness.trainers.ibadr.guards import degree_histogram
from hf_fairness.trainers.ibadr.job import Job
from hf_fairness.trainers.ibadr.pool import ACCEPTED, bias_groups, original_rows, read_pool
from hf_fairness.trainers.ibadr.samples import draw_samples
from hf_fairness.utils import is_main_process

DEGREES = "degrees.npy"
#: Classifiers that stages of the loop need besides those of their round.
BASE = "base"


class Loop:
    """The rounds.

    Args:
        job: run, data, models and settings. The stage ``base``, a model trained on the original data, must be there.

    Attributes:
        original: the pool before the first round.
        reports: what each round found.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.original = original_rows(job.task.train, job.task.columns, LABEL)
        self.reports: list[dict[str, Any]] = []

    def __call__(self) -> list[dict[str, Any]]:
        """Run all rounds; returns what each found."""
        config = self.job.config
        self._shallow(0)
        for number in range(1, config.rounds + 1):
            shallow = f"shallow-{number - 1 if config.update_shallow else 0}"
            pool = self._degrees(number, shallow)
            trained = self._generator(number)
            found = self._with_names(self._samples(number, shallow))
            self.reports.append({"round": number, "pool": pool, "generator": trained, **found})
            if config.update_shallow and number < config.rounds:
                self._shallow(number)
        return self.reports

    def _with_names(self, found: dict[str, Any]) -> dict[str, Any]:
        """What a round found, its labels by name; the stage keeps their numbers."""
        names = self.job.task.label_names
        labels = {side: dict(zip(names, counts, strict=True)) for side, counts in found["labels"].items()}
        return {**found, "labels": labels}

    def pool(self, rounds: int) -> Dataset:
        """The pool after some rounds."""
        return read_pool(self.original, [self.job.run.folder(f"samples-{k}") / ACCEPTED for k in range(1, rounds + 1)])

    def pool_key(self, rounds: int) -> list[str]:
        """What the pool after some rounds depends on."""
        return [self.job.task.train_key, *(self.job.run.key(f"samples-{k}") for k in range(1, rounds + 1))]

    def _shallow(self, number: int) -> None:
        """The shallow model: fresh on random rows of the data, then fine-tuned on random rows of the pool (USM)."""
        config = self.job.config

        def rows() -> Dataset:
            pool = self.pool(number)
            drawn = random_generator(config.seed, "shallow", number).permutation(len(pool))[: config.n_shallow]
            return pool.select(drawn)

        self.job.classifier(
            f"shallow-{number}",
            rows,
            start="shallow" if number == 0 else f"shallow-{number - 1}",
            inputs=[self.pool_key(number), number, config.n_shallow],
            kind="shallow",
        )

    def _degrees(self, number: int, shallow: str) -> dict[str, Any]:
        """Bias degree of every row of the pool; of added rows only, where the shallow model is that of before."""
        job, name = self.job, f"degrees-{number}"

        def work(folder: Path) -> dict[str, Any]:
            pool = self.pool(number - 1)
            known = np.zeros(0, dtype=np.float32)
            if number > 1 and not job.config.update_shallow:
                known = np.load(job.run.folder(f"degrees-{number - 1}") / DEGREES)
            fresh = job.degrees(shallow, pool.select(range(len(known), len(pool))))
            values = np.concatenate([known, fresh])
            groups = bias_groups(values, job.config.n_bias_indicators)
            means = [float(values[groups == group].mean()) for group in range(1, groups.max() + 1)]
            if is_main_process():
                np.save(folder / DEGREES, values)
            return {**degree_histogram(values), "n_scored": len(fresh), "group_means": means}

        inputs = [job.run.key(shallow), self.pool_key(number - 1), job.config.n_bias_indicators]
        result: dict[str, Any] = job.run.stage(name, work, inputs=inputs, collective=True)
        return result

    def degrees(self, number: int) -> NDArray[np.float32]:
        """Bias degrees of the pool that a round began with."""
        return np.asarray(np.load(self.job.run.folder(f"degrees-{number}") / DEGREES))

    def _open_generator(self, trained: int) -> tuple[Any, Any]:
        """The generator as a round left it; 0: as it was given."""
        source, task = self.job.sources["generator"], self.job.task
        return open_generator(
            source.value,
            tokenizer=source.tokenizer,
            n_labels=len(task.label_names),
            n_texts=len(task.columns),
            config=self.job.config,
            trained=self.job.run.folder(f"generator-{trained}") if trained else None,
        )

    def _generator(self, number: int) -> dict[str, Any]:
        """Fine-tune the generator on the pool."""
        job, c = self.job, self.job.config
        epochs = c.generator_num_train_epochs if number == 1 else c.generator_later_num_train_epochs

        def work(folder: Path) -> dict[str, Any]:
            model, layout = self._open_generator(number - 1)
            groups = bias_groups(self.degrees(number), c.n_bias_indicators)
            pool = self.pool(number - 1).remove_columns("indicator").add_column("indicator", groups.tolist())
            found = train_generator(
                model,
                layout,
                pool,
                columns=job.task.columns,
                label_column=LABEL,
                config=c,
                num_train_epochs=epochs,
                output_dir=folder / "checkpoints",
                **job.reporting(f"generator-{number}"),
            )
            if is_main_process():
                save_generator(model, layout, folder)
                if c.generator_use_peft and number == c.rounds:
                    save_generator(model, layout, folder / "merged", merged=True)
                job.clear(folder)
            _barrier(job)
            return {**found, "labels": dict(Counter(map(str, pool[LABEL])))}

        before = job.sources["generator"].key if number == 1 else job.run.key(f"generator-{number - 1}")
        how: list[Any] = [epochs, job.matters(c.training("generator")), c.generator_use_peft, c.generator_lora_r]
        how += [c.max_new_tokens, c.n_bias_indicators, c.use_indicators, c.generator_use_peft and number == c.rounds]
        inputs = [before, self.pool_key(number - 1), job.run.key(f"degrees-{number}"), how]
        name = f"generator-{number}"
        result: dict[str, Any] = job.run.stage(name, work, inputs=inputs, collective=True, keep_partial=True)
        return result

    def _samples(self, number: int, shallow: str) -> dict[str, Any]:
        """Draw samples, leave out what is of no use, and write what the pool grows by."""
        job, c = self.job, self.job.config
        judge = "judge" if "judge" in job.sources else BASE
        confident = {"shallow": shallow, "main": BASE, "generator": None}.get(c.confidence_from, "filter")

        def work(folder: Path) -> dict[str, Any]:
            model, layout = self._open_generator(number)
            found = draw_samples(
                job,
                (model.to(job.device), layout),
                self.pool(number - 1),
                number=number,
                shallow=shallow,
                judge=judge,
                confident=confident,
                folder=folder,
            )
            _barrier(job)
            return found

        how: list[Any] = [c.n_drawn, c.temperature, c.top_p, c.label_distribution, c.low_indicators, c.confidence_from]
        how += [c.confidence_threshold, c.check_agreement, c.seed, c.max_new_tokens, job.task.validation_key]
        how += [job.task.label_names if each in job.sources else None for each in (judge, confident)]
        keys = [job.run.key(f"generator-{number}"), job.run.key(shallow), job.model_key(judge)]
        keys += [None if confident is None else job.model_key(confident), job.anti_artefact is not None]
        result: dict[str, Any] = job.run.stage(
            f"samples-{number}", work, inputs=[keys, self.pool_key(number - 1), how], collective=True
        )
        return result


def _barrier(job: Job) -> None:
    """Wait for the other processes of a launch."""
    if job.processes > 1:
        from accelerate import PartialState

        PartialState().wait_for_everyone()
