"""The rounds of IBADR: the generator learns from bias degrees, it writes samples, the shallow model is updated.

The samples of a round are drawn, read, compared with the pool, judged, filtered and written.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from datasets import Dataset

from hf_fairness.runs import content_key
from hf_fairness.scores.statistics import generator as random_generator
from hf_fairness.scores.statistics import share_entry
from hf_fairness.trainers.experiment import Fitted
from hf_fairness.trainers.ibadr.classifiers import Classifiers
from hf_fairness.trainers.ibadr.data import as_pair
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
    LABEL,
    REASON,
    REJECTED,
    Pool,
    as_pool,
    bias_groups,
    known_before,
    pool_rows,
)
from hf_fairness.trainers.ibadr.sampling import sample
from hf_fairness.trainers.training.bias_columns import TEACHER_COLUMN
from hf_fairness.trainers.training.dct import NEGATIVES_COLUMN
from hf_fairness.utils import is_main_process

#: Bias degrees of the pool, beside the generator that learned from them; a name that is never pushed.
DEGREES = "_degrees.npy"
#: Stage of the classifier that is trained on the original rows.
BASE = "base"
#: Settings that decide what a generator learns, and which samples it writes and a round keeps.
_OF_GENERATOR = ("generator_lora_r", "generator_use_peft", "max_new_tokens", "n_bias_indicators", "use_indicators")
_OF_SAMPLES = (
    *("n_drawn", "temperature", "top_p", "label_distribution", "low_indicators", "confidence_from"),
    *("confidence_threshold", "check_agreement", "seed", "max_new_tokens"),
)


class Rounds(Classifiers):
    """The part of IBADR that refines the pool.

    Attributes:
        models: those that a run begins with, by role.
    """

    models: Mapping[str, Fitted]

    @cached_property
    def original(self) -> Pool:
        """The pool before the first round; names of labels are no part of its key."""
        rows, columns = self.task.train, self.task.columns
        key = content_key(rows, columns, len(self.task.label_names))
        return Pool(as_pool(rows, columns, "original", iteration=0, confidence=1.0), (key,))

    @cached_property
    def base(self) -> Fitted:
        """The classifier on the original rows."""
        return self.train(BASE, self.original, self.models["model"])

    @cached_property
    def first_shallow(self) -> Fitted:
        """The shallow model on random rows of the data."""
        return self._shallow(0, self.original, self.models["shallow"])

    def _shallow(self, number: int, pool: Pool, start: Fitted, stop_at: int | None = None) -> Fitted:
        """A model trained on random rows of the pool as it is after some rounds, to its end or to a step."""
        name, n = f"shallow-{number}" + (f"-step-{stop_at}" if stop_at else ""), self.config.n_shallow
        order = random_generator(self.seed, "shallow", number).permutation(len(pool.rows))
        part = Pool(pool.rows.select(order[:n]), (*pool.key, number, n))
        return self.train(name, part, start, kind="shallow", stop_at=stop_at)

    def told(self, column: str) -> list[Fitted]:
        """The models that are asked for a column that a loss reads; of DCT the shallow one after each of its epochs."""
        if column != NEGATIVES_COLUMN:
            return [self.base if column == TEACHER_COLUMN else self.first_shallow]
        total, epochs = self.first_shallow.training["steps"], max(1, math.ceil(self.config.shallow_num_train_epochs))
        cuts = sorted({max(1, round(total * epoch / epochs)) for epoch in range(1, epochs)} - {total})
        parts = [self._shallow(0, self.original, self.models["shallow"], steps) for steps in cuts]
        return [*parts, self.first_shallow]

    def refine(self) -> tuple[Pool, list[dict[str, Any]]]:
        """Carry out all rounds; returns the refined pool, and what each round found."""
        pool, shallow, writer, reports = self.original, self.first_shallow, self.models["generator"], []
        for number in range(1, self.config.rounds + 1):
            if number > 1 and self.config.update_shallow:  # USM
                shallow = self._shallow(number - 1, pool, shallow)
            writer = self._generator(number, pool, shallow, writer)
            samples = self._samples(number, pool, shallow, writer)
            n, pool = len(pool.rows), pool.grown(samples)
            labels = {  # the stage keeps their numbers
                side: dict(zip(self.task.label_names, counts, strict=True))
                for side, counts in samples.training["labels"].items()
            }
            shown = pool.rows.select(range(len(pool.rows))[n:][: self.arguments.show_texts])
            examples = self.task.named(shown.select_columns([*self.task.columns, LABEL]))
            found = {**writer.training, **samples.training, "labels": labels, "examples": examples}
            reports.append({"round": number, **found})
        return pool, reports

    def _open_generator(self, writer: Fitted) -> tuple[Any, Any]:
        """The generator as it was given, or as a round left it."""
        value, tokenizer = as_pair(self.models["generator"].model)
        return open_generator(
            value,
            tokenizer=tokenizer,
            n_labels=len(self.task.label_names),
            n_texts=len(self.task.columns),
            config=self.config,
            trained=None if writer is self.models["generator"] else writer.model,
        )

    def _generator(self, number: int, pool: Pool, shallow: Fitted, before: Fitted) -> Fitted:
        """Find the bias degree of every row of the pool, and fine-tune the generator on what they say."""
        c = self.config
        epochs = c.generator_num_train_epochs if number == 1 else c.generator_later_num_train_epochs
        merged = c.generator_use_peft and number == c.rounds

        def work(folder: Path) -> dict[str, Any]:
            same = number > 1 and not c.update_shallow  # the shallow model is that of the round before
            known = np.load(before.model / DEGREES) if same else np.zeros(0, dtype=np.float32)
            fresh = self.degrees(shallow, pool.rows.select(range(len(known), len(pool.rows))))
            degrees = np.concatenate([known, fresh])
            groups = bias_groups(degrees, c.n_bias_indicators)
            means = [float(degrees[groups == group].mean()) for group in range(1, groups.max() + 1)]
            model, layout = self._open_generator(before)
            rows = pool.rows.remove_columns("indicator").add_column("indicator", groups.tolist())
            found = train_generator(
                model,
                layout,
                rows,
                columns=self.task.columns,
                config=c,
                num_train_epochs=epochs,
                output_dir=folder / "checkpoints",
                **self.reporting(folder),
            )
            if is_main_process():
                np.save(folder / DEGREES, degrees)
                save_generator(model, layout, folder)
                if merged:
                    save_generator(model, layout, folder / "merged", merged=True)
            self.clear(folder)
            return {
                "pool": {**degree_histogram(degrees), "n_scored": len(fresh), "group_means": means},
                "generator": {**found, "labels": dict(Counter(map(str, rows[LABEL][:])))},
            }

        settings = [
            *(getattr(c, name) for name in _OF_GENERATOR),
            epochs,
            merged,
            self.matters(c.training("generator")),
        ]
        inputs = [before.key, shallow.key, pool.key, settings]
        return self.stage(f"generator-{number}", work, inputs, keep_partial=True)

    def _samples(self, number: int, pool: Pool, shallow: Fitted, writer: Fitted) -> Fitted:
        """Draw samples, leave out what is of no use, and write what the pool grows by."""
        c, own = self.config, {"generator": writer, "shallow": shallow, "main": self.base}
        asked: dict[str, Any] = {
            "shallow": shallow,
            "writer": writer,
            "judge": self.models.get("judge", self.base),
            "confident": own[c.confidence_from] if c.confidence_from in own else self.models["filter"],
        }
        settings = [*(getattr(c, name) for name in _OF_SAMPLES), self.data["anti_artefact"] is not None]
        inputs = [pool.key, self.task.validation, [model.key for model in asked.values()], settings]
        return self.stage(f"samples-{number}", partial(self.sampled, number=number, pool=pool, **asked), inputs)

    def sampled(
        self,
        folder: Path,
        *,
        number: int,
        pool: Pool,
        shallow: Fitted,
        writer: Fitted,
        judge: Fitted,
        confident: Fitted,
    ) -> dict[str, Any]:
        """Draw the samples of a round, write those that the pool grows by, and say what became of all.

        Args:
            folder: where the rows go.
            number: of the round.
            pool: before the round.
            shallow: says how biased a sample is.
            writer: the generator.
            judge: the classifier that says what label a sample has.
            confident: whose confidence the filter asks.

        Returns:
            ``counts``, ``labels`` (rows of each number), ``agreement`` before and after the filter, ``degrees``
            (histograms), ``diversity``, ``anti_artefact`` where it is defined.

        Raises:
            ValueError: no sample can be read, or none is left.
            LabelsAtChanceError: the labels of samples mean nothing to the judge.
        """
        c, task, where, first = self.config, self.task, f"Round {number}", self.first_shallow
        model, layout = self._open_generator(writer)
        samples = self._drawn(model.to(c.device), layout, number, pool)
        fresh = samples[samples[REASON] == ""]
        if fresh.empty:
            raise ValueError(nothing_left(where, samples[REASON].tolist(), c.max_new_tokens))
        rows = pool_rows(fresh, task.columns)
        asked = {each.key: each for each in (shallow, first, confident) if each is not writer}
        degrees = {key: self.degrees(each, rows) for key, each in asked.items()}
        if confident is writer:
            told = task.texts(rows), rows[LABEL][:], rows["indicator"][:]
            degrees[writer.key] = generator_confidence(model, layout, *told, config=c)
        said = pd.DataFrame({LABEL: fresh[LABEL], "judged": self.classes(judge, rows)})
        said["degrees"], said["confidence"] = degrees[shallow.key], degrees[confident.key]
        if self.data["anti_artefact"] is not None:
            said["anti_artefact"] = np.asarray(self.data["anti_artefact"](rows), dtype=bool)
        before = self._described(said)
        right = self.classes(judge, task.validation) == np.asarray(task.validation[LABEL][:])
        judged = judge_of_labels(right, self.degrees(first, task.validation), degrees[first.key], before["agreement"])
        caution = check_labels(where, before["agreement"], judged, stop=c.check_agreement)
        kept = said["confidence"] >= c.confidence_threshold
        if not kept.any():
            raise ValueError(
                f"{where}: none of {len(kept)} new samples reaches the confidence {c.confidence_threshold:g} of "
                f"{c.confidence_from}; the highest is {said['confidence'].max():.3f}. Lower --confidence_threshold, or "
                "ask another model (--confidence_from). The pool holds the earlier rounds."
            )
        samples.loc[said.index, "confidence"] = said["confidence"]
        samples.loc[said.index[~kept], REASON] = "low_confidence"
        added, after = samples[samples[REASON] == ""], self._described(said[kept])
        if is_main_process():
            pool_rows(added, task.columns).to_parquet(folder / ACCEPTED)
            left = samples.drop(added.index)
            pool_rows(left, task.columns).add_column(REASON, left[REASON].tolist()).to_parquet(folder / REJECTED)
        return {
            **{what: {"before": found, "after": after[what]} for what, found in before.items()},
            "counts": {"drawn": c.n_drawn, **Counter(samples[REASON].replace("", "accepted"))},
            "judge": judged,
            "caution": caution,
            "diversity": self._diversity(pool_rows(added, task.columns)),
        }

    def _drawn(self, model: Any, layout: Any, number: int, pool: Pool) -> pd.DataFrame:
        """All samples of a round in the form of a pool, with the reason for which one is left out; empty for new ones.

        The filter has seen none of them yet.
        """
        drawn = sample(model, layout, self.config.n_drawn, config=self.config, key=f"round-{number}")
        old = zip(zip(*self.task.texts(pool.rows), strict=True), pool.rows[LABEL][:], strict=True)
        known = known_before(old, zip(drawn.texts, drawn.labels.tolist(), strict=True))
        return pd.DataFrame(
            {
                **dict(zip(self.task.columns, zip(*drawn.texts, strict=True), strict=True)),
                **{LABEL: drawn.labels, "iteration": number, "indicator": drawn.indicators, "confidence": -1.0},
                "source_id": [f"round-{number}:{place}" for place in range(len(known))],
                REASON: [unread or seen for unread, seen in zip(drawn.reasons, known, strict=True)],
            }
        )

    def _described(self, said: pd.DataFrame) -> dict[str, Any]:
        """What models say of some samples, in numbers."""
        n_labels = len(self.task.label_names)
        found: dict[str, Any] = {
            "labels": np.bincount(said[LABEL], minlength=n_labels).tolist(),
            "agreement": label_agreement(said["judged"], said[LABEL], n_labels, seed=self.seed),
            **{name: degree_histogram(said[name]) for name in ("degrees", "confidence")},
        }
        if "anti_artefact" in said:
            share = share_entry("anti_artefact_share", int(said["anti_artefact"].sum()), len(said))
            found["anti_artefact"] = {**share, "n": len(said)}
        return found

    def _diversity(self, added: Dataset) -> dict[str, Any]:
        """How varied the added samples are, beside as many original rows."""
        train, limit = self.task.train, min(len(added), len(self.task.train))
        order = random_generator(self.seed, "diversity").permutation(len(train))[:limit]
        sides = {"original": train.select(order), "after": added}
        return {side: diversity(self.task.texts(rows), limit=limit) for side, rows in sides.items()}
