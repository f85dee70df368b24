"""IBADR from labelled rows to a refined pool and a classifier trained on it, beside what it is compared with.

Stages: ``base`` (the classifier on the original rows) -> ``shallow-0`` -> for each round ``degrees-k`` (bias degree of
every row of the pool), ``generator-k``, ``samples-k`` (what the pool grows by, and what was left out), ``shallow-k``
-> ``pool`` -> ``probes`` (what one text gives away, what added rows share with other sets) -> ``ibadr`` (the classifier
on the pool) -> ``control`` (as many steps on the original rows), ``poe`` and ``ibadr_poe``; after each model its
``scores``. All that is read is checked before the first. What trains knows labels by number alone, so that other names,
and other sets to measure on, train nothing anew.

Source: Wang et al. 2023, *IBADR: an Iterative Bias-Aware Dataset Refinement Framework for Debiasing NLU models*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from datasets import ClassLabel, Dataset
from transformers import AutoConfig

from hf_fairness.measure.classifier.leakage import ngram_overlap
from hf_fairness.measure.classifier.partial_input import partial_input
from hf_fairness.publishing import CARD, Artefact, is_hub_id, write_splits
from hf_fairness.record import Record
from hf_fairness.report.artefact_card import (
    About,
    artefact_card,
    bias_section,
    from_record,
    load_classifier,
    load_generator,
)
from hf_fairness.report.card import card_metadata
from hf_fairness.report.dataset_card import Derivation, dataset_card
from hf_fairness.report.text import shown_settings
from hf_fairness.runs import atomic_write_text
from hf_fairness.scores.statistics import generator as random_generator
from hf_fairness.trainers.experiment import Fitted, Found, Method, Plan, run_experiment
from hf_fairness.trainers.ibadr.arguments import IBADRArguments
from hf_fairness.trainers.ibadr.config import IBADRConfig
from hf_fairness.trainers.ibadr.data import LABEL, read_task, sources
from hf_fairness.trainers.ibadr.pool import pool_counts
from hf_fairness.trainers.ibadr.rounds import FIRST_SHALLOW, Rounds
from hf_fairness.trainers.ibadr.sets import LabelledSet, labelled_sets
from hf_fairness.trainers.ibadr.summary import ARMS, CONVENTION, LIMITS, pictures, smaller, tell
from hf_fairness.trainers.training.bias_columns import add_bias_log_probs
from hf_fairness.trainers.training.bias_trainers import PoETrainer
from hf_fairness.utils import REPORT, check_packages, package_versions

#: Settings that the card of the pool quotes.
_SHOWN = (
    *("generator_model", "n_bias_indicators", "n_iterations", "n_generated"),
    *("confidence_threshold", "confidence_from", "seed"),
)
#: Of the generator and the rows that it wrote.
MADE_UP = (
    "Added rows (`iteration` above 0) were written by a language model: their texts can be false, odd or "
    "offensive, and their labels wrong. The counts, and the agreement with a judge, are in the report.",
    "What the generator learned from the data it can repeat: check for texts that must not be published.",
)
#: Rows that the partial-input probe is trained and tested on, at most.
PROBE_ROWS = 20_000


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
        validation: rows to choose the best weights on; None holds out a tenth of the training rows, the same for all
            seeds.
        test: rows to report on.
        challenge: challenge sets by title; see `hf_fairness.trainers.ibadr.sets.labelled_sets`.
        model: the classifier: an id or folder, or a pair of (live model or config, tokenizer); None: that of the
            arguments.
        generator: the same for the generator.
        shallow: the same for the shallow model; None: that of the arguments, or else the classifier.
        anti_artefact: from rows (text columns and ``label``) to whether the artefact of each speaks for another label,
            where an artefact is known; its share is reported.

    Returns:
        What `hf_fairness.trainers.experiment.run_experiment` returns, and ``data``, ``rounds``, ``pool`` (counts),
        ``partial_input``, ``leakage``. Artefacts beside the model: ``generator``, ``pool``.

    Raises:
        ImportError: the extra ``report`` is not installed.
        ValueError: bad data or settings, samples that are of no use; the rounds before are on disk.
        RunLockedError: another run works in the same folder.
    """
    check_packages(*REPORT)
    if arguments.poe and config.label_smoothing_factor:
        raise ValueError("--poe has a loss of its own: leave out --label_smoothing_factor.")
    task = read_task(arguments, train, validation=validation, test=test, seed=config.seed)
    task.enough(arguments.max_rows, config, config.seed)
    given = {"model": model, "generator": generator, "shallow": shallow}
    sources(arguments, config, given)
    sets = labelled_sets(
        task, challenge, hypothesis_first=arguments.hypothesis_first, label_column=arguments.label_column
    )
    return run_experiment(IBADR, arguments, config, task=task, sets=sets, given=given, anti_artefact=anti_artefact)


class IBADR(Method):
    """One trial: the rounds, and all models."""

    command = "ibadr"
    source = "iterative bias-aware data set refinement (IBADR, Wang et al. 2023)"
    limits = LIMITS
    convention = CONVENTION
    ideal = "accuracy 1, on challenge sets as on validation rows; partial-input gain 0; leakage 0"
    direction = "accuracy: lower is worse; partial-input gain and leakage: higher is worse"

    def prepare(self) -> None:
        """What the models share; nothing is trained yet."""
        self.task = self.data["task"].enough(self.arguments.max_rows, self.config, self.data_seed)
        self.sources = sources(self.arguments, self.config, self.data["given"])
        self.rounds = Rounds(self.run, self.config, self.task, self.sources, self.data["anti_artefact"])
        self.labelled = [replace(each, seed=self.seed, guess=self.rounds.guess) for each in self.data["sets"]]
        self.made: dict[str, Any] = {"data": self.task.describe()}

    @property
    def base_name(self) -> str:
        """The classifier, as a reader knows it."""
        return str(self.sources["model"].name)

    def asked(self) -> dict[str, Any]:
        """The settings as a reader sees them: no paths of this machine."""
        roles = {"model_name_or_path": "model", "generator_model": "generator", "shallow_model": "shallow"}
        return {
            **super().asked(),
            **shown_settings(self.config.shown()),
            "challenge": [text.partition("=")[0] for text in self.arguments.challenge or []],
            **{name: self.sources[role].name for name, role in roles.items()},
        }

    def arms(self) -> list[Plan]:
        """The classifiers that are wanted."""
        a = self.arguments
        wanted = {"control": a.control, "poe": a.poe, "ibadr_poe": a.poe}
        base, refined, *others = (plan for plan in ARMS if wanted.get(plan.arm.name, True))
        return [base, refined, *map(smaller, a.added_sizes or ()), *others]

    def fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        """Train one classifier; before that of the method come the rounds."""
        if name == "ibadr":
            self._refine()
        rounds = self.config.rounds if name.startswith("ibadr") else 0
        rows, key = self.rounds.pool(rounds), self.rounds.pool_key(rounds)
        how: dict[str, Any] = {}
        if name == "control":
            like = fitted["ibadr"].training
            steps = {"max_steps": like["max_steps"], "eval_strategy": "steps", "eval_steps": like["eval_steps"]}
            how = {"settings": steps, "stop_at": like["steps"]}
        elif name.endswith("poe"):
            key, how = [*key, self.run.key(FIRST_SHALLOW)], {"trainer_class": PoETrainer}
        elif name not in ("base", "ibadr"):
            n, size = len(self.task.train), int(name.rpartition("_")[2])
            added = random_generator(self.seed, "added", size).permutation(len(rows) - n)[:size] + n
            rows, key = rows.select([*range(n), *sorted(added)]), [*key, str(size)]
        training = self.rounds.train(
            name, lambda: self._biased(rows) if name.endswith("poe") else rows, inputs=key, **how
        )
        return Fitted(name, self.run.key(name), self.run.folder(name), training)

    def _biased(self, rows: Dataset) -> Dataset:
        """Rows with what the first shallow model says of them, for a product of experts with it."""
        return add_bias_log_probs(
            rows,
            str(self.run.folder(FIRST_SHALLOW)),
            columns=self.task.columns,
            label_column=LABEL,
            label_names=self.rounds.numbers,
            device=self.config.device,
        )

    def _refine(self) -> None:
        """Carry out the rounds, write the pool as a data set with its card, and keep what the report says of both."""
        task, rounds = self.task, self.rounds()
        pool, key = self.rounds.pool(self.config.rounds), self.rounds.pool_key(self.config.rounds)

        def work(folder: Path) -> dict[str, Any]:
            counts = pool_counts(pool, task.label_names)
            write_splits(folder, {"train": pool.cast_column(LABEL, ClassLabel(names=task.label_names))})
            dataset_card(self._derivation(counts, rounds)).save(folder / CARD)
            return counts

        told = {name: self.asked().get(name) for name in ("dataset", "dataset_config", "dataset_split", *_SHOWN)}
        counts = self.run.stage("pool", work, inputs=[key, task.label_names, told, rounds])
        iterations = np.asarray(pool["iteration"])
        for each in rounds:
            shown = pool.select(np.flatnonzero(iterations == each["round"])[: self.arguments.show_texts])
            each["examples"] = [{name: row[name] for name in (*task.columns, LABEL)} for row in map(task.named, shown)]
        self.made |= {"rounds": rounds, "pool": counts, **self._probes(pool, key)}

    def _probes(self, pool: Dataset, key: Sequence[str]) -> Any:
        """What one text of a pair gives away of the label, and what added rows share with test and challenge sets."""
        task, part = self.task, self.task.columns[0 if self.arguments.hypothesis_first else -1]
        others = [each for each in self.labelled if each.name != "validation"]
        probed = self.arguments.probe and len(task.columns) == 2

        def work(folder: Path) -> dict[str, Any]:
            how: dict[str, Any] = {"column": part, "full_columns": None, "max_rows": PROBE_ROWS, "seed": self.seed}
            sides = {"original": task.train, "pool": pool} if probed else {}
            theirs = {each.name: each.texts() for each in others}
            added = pool.select(range(len(task.train), len(pool)))
            return {
                "partial_input": {side: partial_input(rows, label_column=LABEL, **how) for side, rows in sides.items()},
                "leakage": ngram_overlap(added, theirs, columns=task.columns, whole_column=part) if theirs else {},
            }

        inputs = [key, part, probed, self.seed, [[each.name, each.key] for each in others]]
        return self.run.stage("probes", work, inputs=inputs)

    def sets(self) -> list[LabelledSet]:
        """Validation, test and challenge sets."""
        return self.labelled

    def extras(self, found: Found) -> dict[str, Any]:
        """Rows, rounds, pool, and what the probes found."""
        return self.made

    def tell(self, found: Found) -> dict[str, Any]:
        """See `hf_fairness.trainers.ibadr.summary.tell`."""
        return tell(self.made, found.results)

    def draw(self, found: Found) -> dict[str, Any]:
        """Pictures, and where they are to be shown the first rows that each round added."""
        rounds = self.made["rounds"]
        texts = {
            f"Rows added in round {each['round']}, the first ones": tuple(
                "; ".join(f"{name}: {text}" for name, text in row.items()) for row in each["examples"]
            )
            for each in rounds
            if each["examples"]
        }
        return {"figures": pictures(rounds), "texts": texts}

    def save(self, fitted: Fitted, folder: Path) -> None:
        """The classifier, its classes called as the labels are."""
        super().save(fitted, folder)
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        config.id2label = dict(enumerate(self.task.label_names))
        config.label2id = {name: number for number, name in config.id2label.items()}
        config.save_pretrained(folder)

    def about(self, record: Record) -> About:
        """What the card of the classifier says."""
        texts = ("Two women play chess.", "People play a game.")[: len(self.task.columns)]
        return About(
            title=self.model_name,
            summary=f"A text classifier ({', '.join(self.task.label_names)}): {self.base_name}, trained on data that "
            "IBADR (Wang et al. 2023) refined against biases that a shallow model learns.",
            **from_record(record),
            load=load_classifier(*texts),
            metadata=self._metadata("model", "text-classification", record),
        )

    def _metadata(self, role: str, task: str, record: Record | None = None) -> dict[str, Any]:
        """Front matter; it names the model that one was made from only where that is on the Hub."""
        value = self.sources[role].value
        base = card_metadata(record, base_model=value if is_hub_id(value) else None)
        return {"library_name": "transformers", "pipeline_tag": task, **base}

    def artefacts(self, record: Record, found: Found) -> dict[str, Artefact]:
        """Beside the classifier: the generator of its samples, and the pool that it was trained on."""
        folder, about = self.run.folder(f"generator-{self.config.rounds}"), self._about_generator(record)
        bias = bias_section(record, of="the classifier that was trained on this pool")
        made = self._derivation(self.made["pool"], self.made["rounds"])
        return {
            "generator": Artefact(
                "model",
                folder / "merged" if self.config.generator_use_peft else folder,
                lambda place, repo: atomic_write_text(place / CARD, artefact_card(about, repo)),
                "Add the generator of IBADR's samples",
            ),
            "pool": Artefact(
                "dataset",
                self.run.folder("pool"),
                lambda place, repo: dataset_card(replace(made, name=repo, repo_id=repo, bias=bias)).save(place / CARD),
                "Add the data refined by IBADR",
            ),
        }

    def _about_generator(self, record: Record) -> About:
        """What the card of the generator says."""
        base, c = self.sources["generator"].name, self.config
        labels = ", ".join(f"<|label-{number}|> {name}" for number, name in enumerate(self.task.label_names))
        return About(
            title=f"{base.split('/')[-1]}-ibadr-generator",
            summary=f"A language model that writes rows for a text classifier: {base}, fine-tuned on the texts of the "
            "data with IBADR (Wang et al. 2023). It is no chat model. A row begins with its bias degree (<|bias-1|> is "
            f"the lowest of {c.n_bias_indicators}) and its label ({labels}).",
            section=bias_section(record, of="the classifier that was trained on its samples"),
            load=load_generator(f"{'<|bias-1|>' if c.use_indicators else ''}<|label-0|>"),
            limits=MADE_UP,
            metadata=self._metadata("generator", "text-generation"),
        )

    def _derivation(self, counts: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]]) -> Derivation:
        """What the card of the pool says."""
        asked = self.asked()
        source = str(asked.get("dataset") or "rows")
        return Derivation(
            name=f"{source} refined by IBADR",
            method="ibadr",
            summary="rows of low bias degree, written by a language model that learned from the data, are added to it",
            source=source,
            split=self.arguments.dataset_split,
            columns=self.task.columns,
            options={name: asked[name] for name in _SHOWN},
            counts={**counts, **{f"round {each['round']}": each["counts"] for each in rounds}},
            n_rows=counts["n"],
            reference="Wang et al. 2023, IBADR",
            limits=MADE_UP,
            versions=package_versions(("hf-fairness", "torch", "transformers", "datasets")),
        )
