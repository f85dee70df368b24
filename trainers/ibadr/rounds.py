"""The rounds of IBADR: bias degrees, generator, samples, update of the shallow model; each a stage of its own.

The samples of a round are drawn, read, compared with the pool, judged, filtered and written.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, concatenate_datasets
from numpy.typing import NDArray

from hf_fairness.scores.statistics import generator as random_generator
from hf_fairness.scores.statistics import share_entry
from hf_fairness.trainers.ibadr.classifiers import Classifiers
from hf_fairness.trainers.ibadr.data import LABEL
from hf_fairness.trainers.ibadr.generator import generator_confidence, open_generator, save_generator, train_generator
from hf_fairness.trainers.ibadr.guards import (
    check_labels,
    degree_histogram,
    diversity,
    judge_of_labels,
    label_agreement,
    nothing_left,
)
from hf_fairness.trainers.ibadr.pool import (
    ACCEPTED,
    REJECTED,
    bias_groups,
    known_before,
    original_rows,
    pool_rows,
    read_rows,
)
from hf_fairness.trainers.ibadr.sampling import sample
from hf_fairness.utils import is_main_process

DEGREES = "degrees.npy"
#: Stages of classifiers that the rounds need: one trained on the original data, and its first shallow model.
BASE, FIRST_SHALLOW = "base", "shallow-0"


@dataclass
class Rounds(Classifiers):
    """The rounds of one trial, by its classifiers. The stage ``base`` must be there before they begin.

    Attributes:
        anti_artefact: from rows to whether the artefact of each speaks for another label, or None.
        trained: what trainings of shallow models returned, by stage.
    """

    anti_artefact: Callable[[Dataset], Sequence[bool]] | None = None
    trained: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def original(self) -> Dataset:
        """The pool before the first round."""
        return original_rows(self.task.train, self.task.columns, LABEL)

    def __call__(self) -> list[dict[str, Any]]:
        """Carry out all rounds; returns what each found."""
        reports = []
        for number in range(1, self.config.rounds + 1):
            if number == 1 or self.config.update_shallow:
                self.shallow(number - 1)
            shallow = f"shallow-{number - 1 if self.config.update_shallow else 0}"
            found = {"round": number, "pool": self._degrees(number, shallow), "generator": self._generator(number)}
            found |= self._samples(number, shallow)
            names = self.task.label_names  # the stage keeps their numbers
            labels = {side: dict(zip(names, n, strict=True)) for side, n in found["labels"].items()}
            reports.append({**found, "labels": labels})
        return reports

    def pool(self, rounds: int) -> Dataset:
        """The pool after some rounds."""
        files = [self.run.folder(f"samples-{k}") / ACCEPTED for k in range(1, rounds + 1)]
        return concatenate_datasets([self.original, *map(read_rows, files)])

    def pool_key(self, rounds: int) -> list[str]:
        """What the pool after some rounds depends on."""
        return [self.task.train_key, *(self.run.key(f"samples-{k}") for k in range(1, rounds + 1))]

    def base(self) -> Any:
        """The classifier on the original rows."""
        return self.train(BASE, lambda: self.pool(0), inputs=self.pool_key(0))

    def shallow(self, number: int = 0, steps: int | None = None) -> Any:
        """The shallow model: fresh on random rows of the data, then fine-tuned on random rows of the pool (USM).

        Args:
            number: rounds that were before it.
            steps: leave it as it was after so many; None trains it to the end.

        Returns:
            What :meth:`train` does; it is trained once.
        """
        name = f"shallow-{number}" if steps is None else f"shallow-{number}-step-{steps}"
        if name in self.trained:
            return self.trained[name]

        def rows() -> Dataset:
            pool = self.pool(number)
            order = random_generator(self.config.seed, "shallow", number).permutation(len(pool))
            return pool.select(order[: self.config.n_shallow])

        self.trained[name] = self.train(
            name,
            rows,
            start="shallow" if number == 0 else f"shallow-{number - 1}",
            inputs=[self.pool_key(number), number, self.config.n_shallow],
            kind="shallow",
            stop_at=steps,
        )
        return self.trained[name]

    def shallow_epochs(self) -> list[str]:
        """Stages of the first shallow model as it was after each of its epochs."""
        total, epochs = self.shallow()["steps"], max(1, math.ceil(self.config.shallow_num_train_epochs))
        cuts = sorted({max(1, round(total * epoch / epochs)) for epoch in range(1, epochs)} - {total})
        for steps in cuts:
            self.shallow(0, steps)
        return [*(f"{FIRST_SHALLOW}-step-{steps}" for steps in cuts), FIRST_SHALLOW]

    def _degrees(self, number: int, shallow: str) -> Any:
        """Bias degree of every row of the pool; of added rows only, where the shallow model is that of before."""

        def work(folder: Path) -> dict[str, Any]:
            pool = self.pool(number - 1)
            known = np.zeros(0, dtype=np.float32)
            if number > 1 and not self.config.update_shallow:
                known = np.load(self.run.folder(f"degrees-{number - 1}") / DEGREES)
            fresh = self.degrees(shallow, pool.select(range(len(known), len(pool))))
            values = np.concatenate([known, fresh])
            groups = bias_groups(values, self.config.n_bias_indicators)
            means = [float(values[groups == group].mean()) for group in range(1, groups.max() + 1)]
            if is_main_process():
                np.save(folder / DEGREES, values)
            return {**degree_histogram(values), "n_scored": len(fresh), "group_means": means}

        inputs = [self.run.key(shallow), self.pool_key(number - 1), self.config.n_bias_indicators]
        return self.run.stage(f"degrees-{number}", work, inputs=inputs, collective=True)

    def _open_generator(self, trained: int) -> tuple[Any, Any]:
        """The generator as a round left it; 0: as it was given."""
        source = self.sources["generator"]
        return open_generator(
            source.value,
            tokenizer=source.tokenizer,
            n_labels=len(self.task.label_names),
            n_texts=len(self.task.columns),
            config=self.config,
            trained=self.run.folder(f"generator-{trained}") if trained else None,
        )

    def _generator(self, number: int) -> Any:
        """Fine-tune the generator on the pool."""
        c = self.config
        epochs = c.generator_num_train_epochs if number == 1 else c.generator_later_num_train_epochs
        merged = c.generator_use_peft and number == c.rounds

        def work(folder: Path) -> dict[str, Any]:
            model, layout = self._open_generator(number - 1)
            groups = bias_groups(np.load(self.run.folder(f"degrees-{number}") / DEGREES), c.n_bias_indicators)
            pool = self.pool(number - 1).remove_columns("indicator").add_column("indicator", groups.tolist())
            found = train_generator(
                model,
                layout,
                pool,
                columns=self.task.columns,
                label_column=LABEL,
                config=c,
                num_train_epochs=epochs,
                output_dir=folder / "checkpoints",
                **self.reporting(folder),
            )
            if is_main_process():
                save_generator(model, layout, folder)
                if merged:
                    save_generator(model, layout, folder / "merged", merged=True)
            self.clear(folder)
            return {**found, "labels": dict(Counter(map(str, pool[LABEL][:])))}

        names = ("generator_lora_r", "generator_use_peft", "max_new_tokens", "n_bias_indicators", "use_indicators")
        how = [*(getattr(c, name) for name in names), epochs, self.matters(c.training("generator")), merged]
        before = self.model_key("generator" if number == 1 else f"generator-{number - 1}")
        inputs = [before, self.pool_key(number - 1), self.run.key(f"degrees-{number}"), how]
        return self.run.stage(f"generator-{number}", work, inputs=inputs, collective=True, keep_partial=True)

    def _samples(self, number: int, shallow: str) -> Any:
        """Draw samples, leave out what is of no use, and write what the pool grows by."""
        c, judge = self.config, "judge" if "judge" in self.sources else BASE
        own = {"shallow": shallow, "main": BASE, "generator": f"generator-{number}"}
        confident = own.get(c.confidence_from, "filter")
        names = (
            *("n_drawn", "temperature", "top_p", "label_distribution", "low_indicators", "confidence_from"),
            *("confidence_threshold", "check_agreement", "seed", "max_new_tokens"),
        )
        how = [*(getattr(c, name) for name in names), self.task.validation_key, self.anti_artefact is not None]
        how += [self.task.label_names if name in self.sources else None for name in (judge, confident)]
        keys = [self.model_key(name) for name in (f"generator-{number}", shallow, judge, confident)]
        return self.run.stage(
            f"samples-{number}",
            partial(self.draw, number=number, shallow=shallow, judge=judge, confident=confident),
            inputs=[keys, self.pool_key(number - 1), how],
            collective=True,
        )

    def draw(self, folder: Path, *, number: int, shallow: str, judge: str, confident: str) -> dict[str, Any]:
        """Draw the samples of a round, write those that the pool grows by, and say what became of all.

        Args:
            folder: where the rows go.
            number: of the round.
            shallow: stage of the shallow model.
            judge: stage or source of the classifier that says what label a sample has.
            confident: stage or source whose confidence the filter asks.

        Returns:
            ``counts``, ``labels`` (rows of each number), ``agreement`` before and after the filter, ``degrees``
            (histograms), ``diversity``, ``anti_artefact`` where it is defined.

        Raises:
            ValueError: no sample can be read, or none is left.
            LabelsAtChanceError: the labels of samples mean nothing to the judge.
        """
        c, task, pool = self.config, self.task, self.pool(number - 1)
        model, layout = self._open_generator(number)
        drawn = sample(model.to(c.device), layout, c.n_drawn, config=c, key=f"round-{number}")
        reasons = np.array(drawn.reasons, dtype=object)
        readable = np.flatnonzero(reasons == "")
        samples = [(drawn.texts[place], int(drawn.labels[place])) for place in readable]
        reasons[readable] = known_before(zip(zip(*task.texts(pool), strict=True), pool[LABEL][:], strict=True), samples)
        fresh = np.flatnonzero(reasons == "")
        if not len(fresh):
            raise ValueError(nothing_left(f"Round {number}", reasons.tolist(), c.max_new_tokens))
        every = pool_rows(
            list(zip(*drawn.texts, strict=True)),
            drawn.labels,
            columns=task.columns,
            label_column=LABEL,
            iteration=number,
            indicators=drawn.indicators,
            confidences=np.full(len(reasons), -1.0),
            source_ids=[f"round-{number}:{place}" for place in range(len(reasons))],
        )
        rows = every.select(fresh)
        writer = f"generator-{number}"
        given = {name: self.degrees(name, rows) for name in sorted({shallow, FIRST_SHALLOW, confident} - {writer})}
        if confident == writer:
            given[writer] = generator_confidence(
                model, layout, task.texts(rows), rows[LABEL][:], rows["indicator"][:], config=c
            )
        degrees, confidence = given[shallow], given[confident]
        kept = confidence >= c.confidence_threshold
        reasons[fresh[~kept]] = "low_confidence"
        report = self._describe(rows, confidence, degrees, self.probabilities(judge, rows).argmax(axis=1), kept)
        report["counts"] = {"drawn": c.n_drawn, **Counter(reason or "accepted" for reason in reasons)}
        validation, agreement = task.validation, report["agreement"]["before"]
        right = self.probabilities(judge, validation).argmax(axis=1) == np.asarray(validation[LABEL][:])
        report["judge"] = judge_of_labels(
            right, self.degrees(FIRST_SHALLOW, validation), given[FIRST_SHALLOW], agreement
        )
        check_labels(f"Round {number}", agreement, report["judge"], stop=c.check_agreement)
        if not kept.any():
            raise ValueError(
                f"Round {number}: none of {len(kept)} new samples reaches the confidence {c.confidence_threshold:g} of "
                f"{c.confidence_from}; the highest is {confidence.max():.3f}. Lower --confidence_threshold, or ask "
                "another model (--confidence_from). The pool holds the earlier rounds."
            )
        if is_main_process():
            values = np.full(len(reasons), -1.0, dtype=np.float32)
            values[fresh] = confidence
            every = every.remove_columns("confidence").add_column("confidence", values)
            every.select(np.flatnonzero(reasons == "")).to_parquet(folder / ACCEPTED)
            left = every.add_column("reason", reasons.tolist()).select(np.flatnonzero(reasons != ""))
            left.to_parquet(folder / REJECTED)
        return report

    def _describe(
        self,
        rows: Dataset,
        confidence: NDArray[Any],
        degrees: NDArray[Any],
        judged: NDArray[Any],
        kept: NDArray[np.bool_],
    ) -> dict[str, Any]:
        """What the filter did: everything before and after it."""
        task, seed = self.task, self.config.seed
        labels = np.asarray(rows[LABEL][:])
        sides = {"before": np.arange(len(rows)), "after": np.flatnonzero(kept)}
        limit = max(1, min(len(sides["after"]), len(task.train)))
        order = random_generator(seed, "diversity").permutation(len(task.train))[:limit]
        found: dict[str, Any] = {
            "labels": {
                side: np.bincount(labels[places], minlength=len(task.label_names)).tolist()
                for side, places in sides.items()
            },
            "agreement": {
                side: label_agreement(judged[places], labels[places], len(task.label_names), seed=seed)
                for side, places in sides.items()
                if len(places)
            },
            "degrees": {side: degree_histogram(degrees[places]) for side, places in sides.items()},
            "confidence": {side: degree_histogram(confidence[places]) for side, places in sides.items()},
            "diversity": {
                "original": diversity(task.texts(task.train.select(order))),
                "after": diversity(task.texts(rows.select(sides["after"])), limit=limit),
            },
        }
        if self.anti_artefact is not None:
            flags = np.asarray(self.anti_artefact(rows), dtype=bool)
            found["anti_artefact"] = {
                side: {**share_entry("anti_artefact_share", int(flags[places].sum()), len(places)), "n": len(places)}
                for side, places in sides.items()
            }
        return found
