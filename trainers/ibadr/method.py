"""IBADR from labelled rows to a refined pool and a classifier trained on it, beside what it is compared with.

Stages: ``base`` (the classifier on the original rows) -> ``shallow-0`` -> for each round ``generator-k`` (which learns
from the pool and its bias degrees), ``samples-k`` (what the pool grows by, and what was left out), ``shallow-k`` ->
``pool`` -> ``probes`` (what one text gives away, what added rows share with other sets) -> ``ibadr`` (the classifier
on the pool) -> ``control`` (as many steps on the original rows) and what else `hf_fairness.trainers.ibadr.arms` has;
after each model its ``scores``. All that is read is checked before the first. What trains knows labels by number alone,
so that other names, and other sets to measure on, train nothing anew. Rounds with other settings are trials of the run:
stages of theirs that differ in nothing are those of IBADR.

Source: Wang et al. 2023, *IBADR: an Iterative Bias-Aware Dataset Refinement Framework for Debiasing NLU models*.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from datasets import ClassLabel, Dataset
from transformers import AutoConfig, Trainer

from hf_fairness.measure.classifier.leakage import ngram_overlap
from hf_fairness.measure.classifier.partial_input import partial_input
from hf_fairness.measure.model_keys import source_key
from hf_fairness.publishing import CARD, Artefact
from hf_fairness.record import Record
from hf_fairness.refine import z_filter
from hf_fairness.report.artefact_card import (
    About,
    artefact_card,
    bias_section,
    from_record,
    load_classifier,
    load_generator,
)
from hf_fairness.report.card import card_metadata
from hf_fairness.report.text import shown_settings
from hf_fairness.runs import atomic_write_text
from hf_fairness.scores.statistics import generator as random_generator
from hf_fairness.trainers.experiment import Fitted, Found, Plan, run_experiment
from hf_fairness.trainers.ibadr import arms as recipes
from hf_fairness.trainers.ibadr.arguments import IBADRArguments
from hf_fairness.trainers.ibadr.arms import Recipe
from hf_fairness.trainers.ibadr.config import IBADRConfig
from hf_fairness.trainers.ibadr.data import PairTask, given_model, named_models, read_pool, read_task
from hf_fairness.trainers.ibadr.pool import ACCEPTED, LABEL, Pool, as_pool, pool_counts
from hf_fairness.trainers.ibadr.rounds import BASE, Rounds
from hf_fairness.trainers.ibadr.sets import LabelledSet, labelled_sets
from hf_fairness.trainers.ibadr.summary import CONVENTION, LIMITS, pictures, tell
from hf_fairness.utils import REPORT, check_packages

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
#: What the classifier was trained on, for its card; and what the generator is, for its own.
REFINED = "data that IBADR (Wang et al. 2023) refined against biases that a shallow model learns"
WRITER = (
    "A language model that writes rows for a text classifier: {base}, fine-tuned on the texts of the data with IBADR "
    "(Wang et al. 2023). It is no chat model. A row begins with its bias degree (<|bias-1|> is the lowest of {n}) and "
    "its label ({labels})."
)
#: Front matter of a model's card.
FRONT = {"library_name": "transformers", "pipeline_tag": "text-classification"}
#: Rows in which an augmentation is looked for at a time, before anything is trained.
LOOKED_AT = 1000
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
    pools: Mapping[str, Dataset] | None = None,
    anti_artefact: Callable[[Dataset], Sequence[bool]] | None = None,
) -> dict[str, Any]:
    """Refine a data set, train on it, and report.

    Call it on every process of a distributed launch: see :func:`hf_fairness.trainers.experiment.run_experiment`.

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
        pools: rows that were made before, by title (which may be empty), to train on in the place of the rounds; a
            pool of another run, or rows with the columns and labels of the data.
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
    task = read_task(arguments, train, validation=validation, test=test, seed=config.seed)
    check_arms(arguments, config, task.enough(arguments.max_rows, config, config.seed))
    named = {f"pool {title}".strip(): rows for title, rows in (pools or {}).items()}
    data: dict[str, Any] = {
        "task": task,
        "pools": {name: read_pool(task, rows, name) for name, rows in named.items()},
        "given": {"model": model, "generator": generator, "shallow": shallow},
        "sets": labelled_sets(task, challenge, hypothesis_first=arguments.hypothesis_first),
        "anti_artefact": anti_artefact,
    }
    named_models(arguments, config, data["given"])  # one that is missing is said at once
    return run_experiment(IBADR, arguments, config, **data)


def check_arms(arguments: IBADRArguments, config: IBADRConfig, task: PairTask) -> None:
    """Raise where a model that is asked for cannot be trained: its loss takes no such setting, or it has no row to add.

    Augmentations that ask a model are not tried: that takes long, and a model finds something to say.
    """
    for name in arguments.chosen_arms:
        recipe = recipes.RECIPES[name]
        if recipe.loss is not Trainer and config.label_smoothing_factor:
            flag = "--poe" if arguments.poe else f"--arms {name}"
            raise ValueError(f"{flag} has a loss of its own: leave out --label_smoothing_factor.")
        if name in recipes.AUGMENTATIONS:
            add, asks = recipes.augmentation(name, arguments, task, config.seed, None), name in ("mlm", "paraphrase")
            parts = task.train.iter(LOOKED_AT)
            if not asks and not any(len(add(part)[LABEL]) > len(part[LABEL]) for part in parts):
                raise ValueError(
                    f"--arms {name}: it makes no row of any of the {len(task.train)} training rows. Leave it out."
                )


class IBADR(Rounds):
    """One trial: the rounds, and all models."""

    command = "ibadr"
    source = "iterative bias-aware data set refinement (IBADR, Wang et al. 2023)"
    limits = LIMITS
    convention = CONVENTION
    ideal = "accuracy 1, on challenge sets as on validation rows; partial-input gain 0; leakage 0"
    direction = "accuracy: lower is worse; partial-input gain and leakage: higher is worse"
    measured_by_all = True

    def prepare(self) -> None:
        """What the models share; nothing is trained yet."""
        a, c = self.arguments, self.config
        self.task: PairTask = self.data["task"].enough(a.max_rows, c, self.data_seed)
        asked = dict.fromkeys(("judge", "filter"), self.task.label_names)
        named = named_models(a, c, self.data["given"])
        self.models = {role: given_model(source, asked.get(role, ())) for role, source in named.items()}
        self.labelled = [replace(each, seed=self.seed, device=c.device) for each in self.data["sets"]]
        self.recipes = recipes.chosen(a, list(self.data["pools"]))
        self.pools: dict[str, Pool] = {}
        self.made: dict[str, Any] = {"data": self.task.describe(), "rounds": [], "ablations": {}, "added": {}}

    @property
    def base_name(self) -> str:
        """The classifier, as a reader knows it."""
        return self.models["model"].name

    def asked(self) -> dict[str, Any]:
        """The settings as a reader sees them: no paths of this machine."""
        roles = {"model_name_or_path": "model", "shallow_model": "shallow", "generator_model": "generator"}
        asked = {**super().asked(), **shown_settings(self.config.shown())}
        asked |= {name: self.models[role].name for name, role in roles.items()}
        if self.data["pools"]:
            del asked["generator_model"]  # it is not opened
        return asked

    def arms(self) -> list[Plan]:
        """The classifiers that are wanted."""
        return [recipe.plan for recipe in self.recipes.values()]

    def sets(self) -> list[LabelledSet]:
        """Validation, test and challenge sets."""
        return self.labelled

    def fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        """Train one classifier; before that come the rounds or whatever else makes its rows."""
        recipe = self.recipes[name]
        pool = self.once(recipe.rows, partial(self._pool, recipe), self.pools)
        if recipe.plan.arm.role == "method":
            self._describe(pool)
        if name == BASE:
            return self.base
        if recipe.size is not None:
            order = random_generator(self.seed, "added", recipe.size).permutation(len(pool.added))
            some = pool.added.select(sorted(order[: recipe.size]))
            pool = self.original.plus(some, *pool.key, recipe.size)
        told = {column: self.told(column) for column in getattr(recipe.loss, "columns", ())}
        how: dict[str, Any] = {"trainer_class": recipe.loss, "told": told}
        if name == "control":
            like = fitted[recipe.plan.needs[0]].training
            steps = {"max_steps": like["max_steps"], "eval_strategy": "steps", "eval_steps": like["eval_steps"]}
            how |= {"settings": steps, "stop_at": like["steps"]}
        return self.train(name, pool, self.models["model"], **how)

    def _pool(self, recipe: Recipe) -> Pool:
        """What a classifier is trained on."""
        if recipe.rows in recipes.ROUNDS:
            pool = self._refined(recipe.rows)
            return self._filtered(pool) if recipe.rows == recipes.FILTERED else pool
        if recipe.rows in recipes.AUGMENTATIONS:
            return self._augmented(recipe)
        given = self.data["pools"].get(recipe.rows)
        return self.original if given is None else self.original.plus(given, given)

    def _refined(self, name: str) -> Pool:
        """The pool that rounds refine; those with other settings than IBADR's are a trial of their own."""
        if not recipes.ROUNDS[name]:
            pool, self.made["rounds"] = self.refine()
            return pool
        other = copy.copy(self)
        other.run, other.config = self.run.trial(name), copy.copy(self.config)
        vars(other.config).update(recipes.ROUNDS[name])
        pool, self.made["ablations"][name] = other.refine()
        return pool

    def _filtered(self, pool: Pool) -> Pool:
        """The original rows, and those added ones that leave no feature with its label, given the original ones."""
        columns, original = list(self.task.columns), self.original.rows
        columns = columns[::-1] if self.arguments.hypothesis_first else columns
        make = partial(z_filter, pool.added, text_columns=columns, start=original)
        return self._grown("z-filter", "z-filter", make, [pool.key, columns], len(pool.added))

    def _augmented(self, recipe: Recipe) -> Pool:
        """The original rows, and those that an augmentation makes of them."""
        a, name, title = self.arguments, recipe.rows, recipe.plan.arm.title

        def make() -> Dataset:
            add = recipes.augmentation(name, a, self.task, self.seed, str(self.config.device))
            made = self.original.rows.map(add, batched=True, desc=title)
            mark, unchanged = next(iter(add.unchanged().items()))
            new = made.filter(lambda value: value != unchanged, input_columns=mark)
            return as_pool(new, self.task.columns, name)

        asked = [each and source_key(each) for each in (a.wordnet, a.masked_model, a.forward_model, a.backward_model)]
        inputs = [self.original.key, self.seed, self.task.label_names, a.hypothesis_first, asked]
        return self._grown(f"rows-{name}", title, make, inputs)

    def _grown(self, stage: str, title: str, make: Callable[[], Dataset], inputs: Any, n: int | None = None) -> Pool:
        """The original rows and those that something else than rounds makes.

        Args:
            stage: in which they are made.
            title: of what makes them.
            make: makes them, in the form of a pool.
            inputs: what they depend on.
            n: how many they are chosen from; None: all are kept.
        """

        def work(folder: Path) -> dict[str, int]:
            rows = make()
            rows.to_parquet(folder / ACCEPTED)
            return {"n": len(rows) if n is None else n, "n_kept": len(rows)}

        made = self.stage(stage, work, inputs, collective=False)
        self.made["added"][title] = made.training
        return self.original.grown(made)

    def _describe(self, pool: Pool) -> None:
        """Write the pool as a data set with its card, where it was made here, and keep what the report says of it."""
        self.made["pool"] = pool_counts(pool.rows, self.task.label_names)
        if not self.data["pools"]:
            card = self._card_of_pool()

            def work(folder: Path) -> None:
                rows = pool.rows.cast_column(LABEL, ClassLabel(names=self.task.label_names))
                self.write_rows(folder, {"train": rows}, "", name=f"{card['source']} refined by IBADR", **card)

            self.run.stage("pool", work, inputs=[pool.key, card])
        self.made |= self._probes(pool)

    def _card_of_pool(self) -> dict[str, Any]:
        """What the card of the pool says."""
        asked, counts, rounds = self.asked(), self.made["pool"], self.made["rounds"]
        return {
            "summary": "rows of low bias degree, by a language model that learned from the data, are added to it",
            "source": str(asked.get("dataset") or "rows"),
            "split": self.arguments.dataset_split,
            "columns": self.task.columns,
            "options": {name: asked[name] for name in _SHOWN},
            "counts": {**counts, **{f"round {each['round']}": each["counts"] for each in rounds}},
            "limits": MADE_UP,
            "licence": self.arguments.license,
        }

    def _probes(self, pool: Pool) -> Any:
        """What one text of a pair gives away of the label, and what added rows share with test and challenge sets."""
        columns, part = self.task.columns, self.task.columns[0 if self.arguments.hypothesis_first else -1]
        theirs = {each.name: each.texts for each in self.labelled if each.name != "validation"}
        sides = {"original": self.task.train, "pool": pool.rows}
        sides = sides if self.arguments.probe and len(columns) == 2 else {}

        def work(folder: Path) -> dict[str, Any]:
            how: dict[str, Any] = {"column": part, "full_columns": None, "max_rows": PROBE_ROWS, "seed": self.seed}
            return {
                "partial_input": {side: partial_input(rows, **how) for side, rows in sides.items()},
                "leakage": ngram_overlap(pool.added, theirs, columns=columns, whole_column=part) if theirs else {},
            }

        return self.run.stage("probes", work, inputs=[pool.key, part, list(sides), self.seed, theirs])

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
        names = dict(enumerate(self.task.label_names))
        labels = {"id2label": names, "label2id": {name: number for number, name in names.items()}}
        AutoConfig.from_pretrained(folder, trust_remote_code=False, **labels).save_pretrained(folder)

    def about(self, record: Record) -> About:
        """What the card of the classifier says."""
        data = "its data and a pool of added rows" if self.data["pools"] else REFINED
        return About(
            title=self.model_name,
            summary=f"A text classifier ({', '.join(self.task.label_names)}): {self.base_name}, trained on {data}.",
            **from_record(record),
            load=load_classifier(*("Two women play chess.", "People play a game.")[: len(self.task.columns)]),
            metadata=FRONT | card_metadata(record, base_model=self.models["model"].model),
        )

    def artefacts(self, record: Record, found: Found) -> dict[str, Artefact]:
        """Beside the classifier: the generator of its samples, and the pool that it was trained on, if made here."""
        if self.data["pools"]:
            return {}
        folder, about = self.run.folder(f"generator-{self.config.rounds}"), self._about_generator(record)
        card = {**self._card_of_pool(), "bias": bias_section(record, of="the classifier that was trained on this pool")}
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
                lambda place, repo: self.write_card(place, self.made["pool"]["n"], repo, **card),
                "Add the data refined by IBADR",
            ),
        }

    def _about_generator(self, record: Record) -> About:
        """What the card of the generator says."""
        base, c = self.models["generator"], self.config
        labels = ", ".join(f"<|label-{number}|> {name}" for number, name in enumerate(self.task.label_names))
        return About(
            title=f"{base.name.split('/')[-1]}-ibadr-generator",
            summary=WRITER.format(base=base.name, n=c.n_bias_indicators, labels=labels),
            section=bias_section(record, of="the classifier that was trained on its samples"),
            load=load_generator(f"{'<|bias-1|>' if c.use_indicators else ''}<|label-0|>"),
            limits=MADE_UP,
            metadata=FRONT | card_metadata(None, base_model=base.model) | {"pipeline_tag": "text-generation"},
        )
