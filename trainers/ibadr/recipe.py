"""IBADR from labelled rows to a refined pool and a classifier trained on it, beside what it was compared to.

Stages: ``base`` (the classifier on the original rows) -> ``shallow-0`` -> for each round ``degrees-k`` (bias degree of
every row of the pool), ``generator-k``, ``samples-k`` (what the pool grows by, and what was left out), ``shallow-k``
-> ``pool`` -> ``ibadr`` (the classifier on the pool) -> ``control`` (as many steps on the original rows) -> ``poe`` and
``ibadr_poe`` where they are asked for -> ``evaluation`` -> ``report`` -> ``model`` (that of ``ibadr``, with the names
of the labels and a card). A killed run goes on at its first unfinished stage. All that is read is checked before the
first; what trains knows labels by number alone, so that other names, and other sets to measure on, train nothing anew.

Source: Wang et al. 2023, *IBADR: an Iterative Bias-Aware Dataset Refinement Framework for Debiasing NLU models*.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from datasets import ClassLabel, Dataset
from transformers import AutoConfig

from hf_fairness.publishing import CARD, Artefact, is_hub_id
from hf_fairness.record import Record
from hf_fairness.report import stage_report
from hf_fairness.report.artefact_card import (
    About,
    artefact_card,
    bias_section,
    from_record,
    load_classifier,
    load_generator,
)
from hf_fairness.report.card import card_metadata
from hf_fairness.report.dataset_card import Derivation, data_file, dataset_card
from hf_fairness.report.ibadr_record import ibadr_record
from hf_fairness.runs import Run, atomic_write_text, content_key
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import generator as random_generator
from hf_fairness.trainers.ibadr.arguments import IBADRArguments
from hf_fairness.trainers.ibadr.config import CONFIDENCES, IBADRConfig
from hf_fairness.trainers.ibadr.data import LABEL, label_counts, prepare, shown, source
from hf_fairness.trainers.ibadr.evaluation import EvaluationSet, evaluate, evaluation_sets, leakage, probe
from hf_fairness.trainers.ibadr.job import FIRST_SHALLOW, Job, named
from hf_fairness.trainers.ibadr.loop import BASE, Loop
from hf_fairness.trainers.ibadr.pool import write_rows
from hf_fairness.trainers.training.settings import training_settings
from hf_fairness.utils import REPORT, check_packages, package_versions

FORMAT = "hf-fairness/ibadr/1"
#: Settings that the card of the pool quotes.
QUOTED = ("n_bias_indicators", "n_iterations", "n_generated", "confidence_threshold", "confidence_from", "seed")
#: Of the generator and the rows that it wrote.
MADE_UP = (
    "Added rows (`iteration` above 0) were written by a language model: their texts can be false, odd or "
    "offensive, and their labels wrong. The counts, and the agreement with a judge, are in the report.",
    "What the generator learned from the data it can repeat: check for texts that must not be published.",
)
CONVENTION = (
    "accuracy over all rows of a set; a published challenge set counts labels as its authors do; models are chosen by "
    "the accuracy on the validation rows, so theirs there is somewhat too high; intervals and paired comparisons "
    "resample the rows (or whole clusters of them) and say nothing of another training; bias degree: probability that "
    "the shallow model gives to a row's label"
)


def run_ibadr(
    arguments: IBADRArguments,
    config: IBADRConfig,
    train: Dataset,
    *,
    validation: Dataset | None = None,
    test: Dataset | None = None,
    challenge: Mapping[str, Any] | None = None,
    model: Any = None,
    generator: Any = None,
    shallow: Any = None,
    anti_artefact: Callable[[Dataset], Sequence[bool]] | None = None,
) -> dict[str, Any]:
    """Refine a data set, train on it, and report.

    Call it on every process of a distributed launch: training, scoring and sampling run on all, the rest on the first.

    Args:
        arguments: models, columns, and what to run; its names of data sets are for the reader, see `train`.
        config: settings of the method and of the trainings; ``config.output_dir`` holds all stages.
        train: rows to refine.
        validation: rows to choose the best weights on; None holds out a tenth of the training rows.
        test: rows to report on.
        challenge: challenge sets by title; see ``ibadr_evaluation.evaluation_sets``.
        model: the classifier: an id or folder, or a pair of (live model or config, tokenizer); None: that of the
            arguments.
        generator: the same for the generator.
        shallow: the same for the shallow model; None: that of the arguments, or else the classifier.
        anti_artefact: from rows (text columns and ``label``) to whether the artefact of each speaks for another label,
            where an artefact is known; its share is reported.

    Returns:
        The report: ``data``, ``rounds``, ``pool``, ``arms``, ``results``, ``comparisons``, ``partial_input``,
        ``leakage``, ``meta``; ``record``: the same, as a :class:`hf_fairness.record.Record`; ``files``: paths of what
        was written; ``model``, ``generator``, ``pool_folder``: folders; ``artefacts``: what
        `hf_fairness.publishing.publish` takes.

    Raises:
        ImportError: the extra ``report`` is not installed.
        ValueError: bad data or settings, samples that are of no use; the rounds before are on disk.
        RunLockedError: another run works in the same folder.
    """
    check_packages(*REPORT)
    if arguments.poe and config.label_smoothing_factor:
        raise ValueError("--poe has a loss of its own: leave out --label_smoothing_factor.")
    task = prepare(arguments, config, train, validation=validation, test=test)
    config.label_shares(len(task.label_names))
    sources = {"model": source(model, arguments.model_name_or_path, "classifier (--model_name_or_path)")}
    sources["shallow"] = (
        source(shallow, arguments.shallow_model, "") if shallow or arguments.shallow_model else sources["model"]
    )
    sources["generator"] = source(generator, arguments.generator_model, "generator (--generator_model)")
    if arguments.judge_model:
        sources["judge"] = source(None, arguments.judge_model, "judge")
    if config.confidence_from not in CONFIDENCES:
        sources["filter"] = source(None, config.confidence_from, "filter")
    how: dict[str, Any] = {"hypothesis_first": arguments.hypothesis_first, "label_column": arguments.label_column}
    sets = evaluation_sets(task, challenge, **how)
    settings = {**asdict(arguments), "training": training_settings(config)}
    with Run(str(config.output_dir), settings, resume=arguments.resume) as run:
        pipeline = _Pipeline(Job(run, arguments, config, task, sources, anti_artefact))
        report = pipeline(sets)
        record = ibadr_record(report, name=arguments.name)
        files = stage_report(run, lambda: record, report, inputs=[report, arguments.name])
        about = pipeline.about(report, record)
        pipeline.model(about)
        return {
            **report,
            "record": record,
            "files": files,
            "model": run.folder("model"),
            "generator": run.folder(f"generator-{config.rounds}"),
            "pool_folder": run.folder("pool"),
            "artefacts": pipeline.artefacts(report, record, about),
        }


class _Pipeline:
    """The stages around the rounds."""

    def __init__(self, job: Job) -> None:
        self.job, self.loop = job, Loop(job)
        self.arms: dict[str, dict[str, Any]] = {}

    def __call__(self, sets: Sequence[EvaluationSet]) -> dict[str, Any]:
        a, c, job = self.job.arguments, self.job.config, self.job
        self.original(BASE)
        rounds = self.loop()
        pool = self.loop.pool(c.rounds)
        counts = self.pool(pool, rounds)
        self.refined("ibadr", pool)
        for size in a.added_sizes or []:
            self.refined(f"ibadr_{size}", pool, size=size)
        self.control()
        if a.poe:
            self.poe("poe", job.task.train, job.task.train_key)
            self.poe("ibadr_poe", pool, self.loop.pool_key(c.rounds))
        measured = self.evaluation(sets, pool)
        return {
            "format": FORMAT,
            "arguments": shown(a, c, job.sources),
            "data": job.task.describe(),
            "rounds": [{**each, "examples": self.examples(pool, each["round"])} for each in rounds],
            "pool": counts,
            "arms": self.arms,
            **measured,
            "meta": describe(
                n=len(sets[0].rows),
                convention=CONVENTION,
                ideal="accuracy 1, on challenge sets as on validation rows; partial-input gain 0; leakage 0",
                direction="accuracy: lower is worse; partial-input gain and leakage: higher is worse",
                seed=c.seed,
            ),
        }

    def examples(self, pool: Dataset, number: int) -> list[dict[str, Any]]:
        """A few rows that a round added, if they are to be shown: a generator can repeat texts of the data."""
        task = self.job.task
        places = np.flatnonzero(np.asarray(pool["iteration"]) == number)[: self.job.arguments.show_texts]
        rows = [pool[int(place)] for place in places]
        return [{**{name: row[name] for name in task.columns}, "label": task.label_names[row[LABEL]]} for row in rows]

    def original(self, name: str) -> None:
        """The classifier on the original rows."""
        task = self.job.task
        self.arms[name] = self.job.classifier(
            name, lambda: task.train, start="model", inputs=task.train_key, choose=True
        )

    def refined(self, name: str, pool: Dataset, size: int | None = None) -> None:
        """The classifier on the pool, or on the original and a number of added rows."""
        rounds, seed = self.job.config.rounds, self.job.config.seed

        def rows() -> Dataset:
            n = len(self.job.task.train)
            if size is None or size >= len(pool) - n:
                return pool
            chosen = random_generator(seed, "added", size).permutation(len(pool) - n)[:size] + n
            return pool.select([*range(n), *sorted(chosen)])

        inputs = [self.loop.pool_key(rounds), size]
        self.arms[name] = self.job.classifier(name, rows, start="model", inputs=inputs, choose=True)

    def control(self) -> None:
        """The classifier on the original rows for as many steps as on the pool, with the same schedule."""
        refined, task = self.arms["ibadr"], self.job.task
        steps = {"max_steps": refined["max_steps"], "eval_strategy": "steps", "eval_steps": refined["eval_steps"]}
        self.arms["control"] = self.job.classifier(
            "control",
            lambda: task.train,
            start="model",
            inputs=task.train_key,
            settings=steps,
            choose=True,
            stop_at=refined["steps"],
        )

    def model(self, about: About) -> None:
        """The classifier on the pool, its classes called as the labels are, with its card."""
        job = self.job

        def work(folder: Path) -> dict[str, Any]:
            shutil.copytree(job.run.folder("ibadr"), folder, dirs_exist_ok=True)
            config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
            named(config, job.task.label_names)
            config.save_pretrained(folder)
            atomic_write_text(folder / CARD, artefact_card(about))
            return {"label_names": job.task.label_names}

        inputs = [job.run.key("ibadr"), job.task.label_names, artefact_card(about)]
        job.run.stage("model", work, inputs=inputs, version=2)

    def about(self, report: Mapping[str, Any], record: Record) -> About:
        """What the card of the classifier says."""
        given, task = report["arguments"], self.job.task
        base = given["model_name_or_path"]
        texts = ("Two women play chess.", "People play a game.")[: len(task.columns)]
        return About(
            title=f"{base.split('/')[-1]}-ibadr",
            summary=f"A text classifier ({', '.join(task.label_names)}): {base}, trained on data that IBADR (Wang et "
            "al. 2023) refined against biases that a shallow model learns.",
            **from_record(record),
            load=load_classifier(*texts),
            metadata={
                "library_name": "transformers",
                "pipeline_tag": "text-classification",
                **self._base("model", record),
            },
        )

    def _base(self, name: str, record: Record | None = None) -> dict[str, Any]:
        """Front matter on the model that one was made from, which a card names only where it is on the Hub."""
        value = self.job.sources[name].value
        return card_metadata(record, base_model=value if is_hub_id(value) else None)

    def artefacts(self, report: Mapping[str, Any], record: Record, about: About) -> dict[str, Artefact]:
        """What can be published: the classifier, the generator of its samples, and the pool that it was trained on."""
        run, c = self.job.run, self.job.config
        generator = run.folder(f"generator-{c.rounds}")
        writer = self._about_generator(report, record)
        return {
            "model": Artefact("model", run.folder("model"), _card(about), "Add the model made with IBADR"),
            "generator": Artefact(
                "model",
                generator / "merged" if c.generator_use_peft else generator,
                _card(writer),
                "Add the generator of IBADR's samples",
            ),
            "pool": Artefact(
                "dataset",
                run.folder("pool"),
                lambda folder, repo: dataset_card(
                    self._card(
                        report["pool"]["n"],
                        report["pool"],
                        report["rounds"],
                        repo_id=repo,
                        bias=bias_section(record, of="the classifier that was trained on this pool"),
                    )
                ).save(folder / CARD),
                "Add the data refined by IBADR",
            ),
        }

    def _about_generator(self, report: Mapping[str, Any], record: Record) -> About:
        """What the card of the generator says."""
        given, task = report["arguments"], self.job.task
        base, low = given["generator_model"], "<|bias-1|>" if self.job.config.use_indicators else ""
        labels = ", ".join(f"<|label-{number}|> {name}" for number, name in enumerate(task.label_names))
        return About(
            title=f"{base.split('/')[-1]}-ibadr-generator",
            summary=f"A language model that writes rows for a text classifier: {base}, fine-tuned on the texts of the "
            "data with IBADR (Wang et al. 2023). It is no chat model. A row begins with its bias degree (<|bias-1|> is "
            f"the lowest of {given['n_bias_indicators']}) and its label ({labels}).",
            section=bias_section(record, of="the classifier that was trained on its samples"),
            load=load_generator(f"{low}<|label-0|>"),
            limits=MADE_UP,
            metadata={
                "library_name": "transformers",
                "pipeline_tag": "text-generation",
                **self._base("generator"),
            },
        )

    def poe(self, name: str, rows: Dataset, key: Any) -> None:
        """The classifier by product of experts with the first shallow model."""
        from hf_fairness.trainers.training.bias_columns import add_bias_log_probs
        from hf_fairness.trainers.training.bias_trainers import PoETrainer

        job = self.job

        def biased() -> Dataset:
            options: dict[str, Any] = {
                "columns": job.task.columns,
                "label_column": LABEL,
                "label_names": job.numbers,
            }
            return add_bias_log_probs(rows, str(job.run.folder(FIRST_SHALLOW)), **options, device=job.device)

        self.arms[name] = job.classifier(
            name,
            biased,
            start="model",
            inputs=[key, job.run.key(FIRST_SHALLOW)],
            choose=True,
            trainer_class=PoETrainer,
        )

    def pool(self, pool: Dataset, rounds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The pool as a data set with its card."""
        job, task = self.job, self.job.task

        def work(folder: Path) -> dict[str, Any]:
            rows = pool.cast_column(LABEL, ClassLabel(names=task.label_names))
            file = folder / data_file("train")
            file.parent.mkdir(parents=True)
            write_rows(rows, file)
            n, added = len(task.train), len(pool) - len(task.train)
            found: dict[str, Any] = {"n": len(pool), "n_original": n, "n_added": added}
            found["labels"] = label_counts(pool[LABEL], task.label_names)
            found["labels_added"] = label_counts(pool.select(range(n, len(pool)))[LABEL], task.label_names)
            dataset_card(self._card(len(pool), found, rounds)).save(folder / "README.md")
            return found

        told = shown(job.arguments, job.config, job.sources)
        card = [told[name] for name in ("dataset", "dataset_config", "dataset_split", "generator_model", *QUOTED)]
        inputs = [self.loop.pool_key(job.config.rounds), task.label_names, card, list(rounds)]
        result: dict[str, Any] = job.run.stage("pool", work, inputs=inputs)
        return result

    def _card(
        self,
        n: int,
        counts: Mapping[str, Any],
        rounds: Sequence[Mapping[str, Any]],
        *,
        repo_id: str = "",
        bias: str = "",
    ) -> Derivation:
        """What the card of the pool says."""
        a, task = self.job.arguments, self.job.task
        given = shown(a, self.job.config, self.job.sources)
        return Derivation(
            name=repo_id or f"{given['dataset'] or 'rows'} refined by IBADR",
            method="ibadr",
            summary="rows of low bias degree, written by a language model that learned from the data, are added to it",
            source=str(given["dataset"] or "rows"),
            split=a.dataset_split,
            columns=task.columns,
            options={name: given[name] for name in ("generator_model", *QUOTED)},
            counts={
                **counts,
                **{f"round {each['round']}": each["counts"] for each in rounds},
            },
            n_rows=n,
            reference="Wang et al. 2023, IBADR",
            limits=MADE_UP,
            versions=package_versions(("hf-fairness", "torch", "transformers", "datasets")),
            repo_id=repo_id,
            bias=bias,
        )

    def evaluation(self, sets: Sequence[EvaluationSet], pool: Dataset) -> dict[str, Any]:
        """All arms on all sets, the partial-input probe, and what added rows share with challenge sets."""
        job = self.job

        def work(folder: Path) -> dict[str, Any]:
            found = evaluate(job, list(self.arms), sets)
            added = pool.select(range(len(job.task.train), len(pool)))
            found["partial_input"] = probe(job, pool) if job.arguments.probe else {}
            return {**found, "leakage": leakage(job, added, sets)}

        keys = [content_key(each.title, each.kind, each.rows, list(each.columns)) for each in sets]
        inputs = [
            *([job.run.key(arm) for arm in self.arms], keys, self.loop.pool_key(job.config.rounds)),
            *(job.arguments.probe, job.arguments.hypothesis_first, job.task.label_names, job.config.seed),
        ]
        result: dict[str, Any] = job.run.stage("evaluation", work, inputs=inputs)
        order = [each.title for each in sets]  # JSON has them by the alphabet
        return {**result, **{key: {title: result[key][title] for title in order} for key in ("results", "comparisons")}}


def _card(about: About) -> Callable[[Path, str], Any]:
    """What writes the card of an artefact for a repository."""
    return lambda folder, repo_id: atomic_write_text(folder / CARD, artefact_card(about, repo_id))
