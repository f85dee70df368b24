"""IBADR from labelled rows to a refined pool and a classifier trained on it, beside what it is compared with.

Stages: ``base`` (the classifier on the original rows) -> ``shallow-0`` -> for each round ``degrees-k`` (bias degree of
every row of the pool), ``generator-k``, ``samples-k`` (what the pool grows by, and what was left out), ``shallow-k``
-> ``pool`` -> ``probes`` (what one text gives away, what added rows share with other sets) -> ``ibadr`` (the classifier
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
from pathlib import Path
from typing import Any

import numpy as np
from datasets import ClassLabel, Dataset, concatenate_datasets
from transformers import AutoConfig, Trainer

from hf_fairness.augment.contrastive_claims import ORIGINAL as ORIGINAL_CLAIM
from hf_fairness.measure.classifier.leakage import ngram_overlap
from hf_fairness.measure.classifier.partial_input import partial_input
from hf_fairness.measure.model_keys import source_key
from hf_fairness.publishing import CARD, Artefact, is_hub_id, write_splits
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
from hf_fairness.report.dataset_card import Derivation, dataset_card
from hf_fairness.report.text import shown_settings
from hf_fairness.runs import atomic_write_text, content_key
from hf_fairness.scores.statistics import generator as random_generator
from hf_fairness.trainers.experiment import Fitted, Found, Method, Plan, run_experiment
from hf_fairness.trainers.ibadr import arms as recipes
from hf_fairness.trainers.ibadr.arguments import IBADRArguments
from hf_fairness.trainers.ibadr.arms import Recipe
from hf_fairness.trainers.ibadr.config import IBADRConfig
from hf_fairness.trainers.ibadr.data import LABEL, PairTask, read_pool, read_task, sources
from hf_fairness.trainers.ibadr.pool import ACCEPTED, added_rows, pool_counts, read_rows
from hf_fairness.trainers.ibadr.rounds import BASE, FIRST_SHALLOW, Rounds
from hf_fairness.trainers.ibadr.sets import LabelledSet, labelled_sets
from hf_fairness.trainers.ibadr.summary import CONVENTION, LIMITS, pictures, tell
from hf_fairness.trainers.training.bias_columns import BIAS_COLUMN, TEACHER_COLUMN, add_bias_log_probs
from hf_fairness.trainers.training.bias_trainers import ConfRegTrainer, PoETrainer, ReweightTrainer
from hf_fairness.trainers.training.dct import DCTTrainer, add_dct_columns, bias_features
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
#: What trains with a loss.
TRAINERS: dict[str, type[Trainer]] = {
    recipes.PLAIN: Trainer,
    recipes.POE: PoETrainer,
    recipes.REWEIGHT: ReweightTrainer,
    recipes.CONFREG: ConfRegTrainer,
    recipes.DCT: DCTTrainer,
}
#: Column in which augmentations mark the rows that they add -> what it holds for the others.
MARKS: dict[str, Any] = {"augmented": False, "contrast": ORIGINAL_CLAIM}
#: Folder of the output folder that keeps what models said of rows, for all models that learn from it.
SAID = ".log_probs"
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
    check_losses(arguments, config)
    task = read_task(arguments, train, validation=validation, test=test, seed=config.seed)
    check_augmentations(arguments, task.enough(arguments.max_rows, config, config.seed), config)
    made = {title: read_pool(task, rows, title, arguments.label_column) for title, rows in (pools or {}).items()}
    given = {"model": model, "generator": generator, "shallow": shallow}
    sources(arguments, config, given)
    sets = labelled_sets(
        task, challenge, hypothesis_first=arguments.hypothesis_first, label_column=arguments.label_column
    )
    data = {"task": task, "sets": sets, "given": given, "pools": made, "anti_artefact": anti_artefact}
    return run_experiment(IBADR, arguments, config, **data)


def check_losses(arguments: IBADRArguments, config: IBADRConfig) -> None:
    """Raise where a setting of the main models has no meaning for the loss of one that is asked for."""
    own = [name for name in arguments.chosen_arms if recipes.RECIPES[name].loss != recipes.PLAIN]
    if own and config.label_smoothing_factor:
        flag = "--poe" if arguments.poe else f"--arms {own[0]}"
        raise ValueError(f"{flag} has a loss of its own: leave out --label_smoothing_factor.")


def check_augmentations(arguments: IBADRArguments, task: PairTask, config: IBADRConfig) -> None:
    """Raise where an augmentation that is asked for cannot be made, or makes no row of the data.

    Those that ask a model are not tried: that takes long, and a model finds something to say.
    """
    for name in arguments.chosen_arms:
        recipe = recipes.RECIPES[name]
        if recipe.rows in (recipes.ORIGINAL, recipes.REFINED, recipes.Z_FILTERED):
            continue
        add = recipes.augmentation(name, arguments, task, config.seed, None)
        parts = (task.train[start : start + LOOKED_AT] for start in range(0, len(task.train), LOOKED_AT))
        if name in ("crossaug", "synonyms", "text_swap") and not any(
            len(add(part)[LABEL]) > len(part[LABEL]) for part in parts
        ):
            raise ValueError(
                f"--arms {name}: it makes no row of any of the {len(task.train)} training rows. Leave it out."
            )


class IBADR(Method):
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
        self.task = self.data["task"].enough(self.arguments.max_rows, self.config, self.data_seed)
        self.sources = sources(self.arguments, self.config, self.data["given"])
        self.rounds = Rounds(self.run, self.config, self.task, self.sources, self.data["anti_artefact"])
        self.labelled = [replace(each, seed=self.seed, guess=self.rounds.guess) for each in self.data["sets"]]
        self.made: dict[str, Any] = {"data": self.task.describe()}
        self.recipes = recipes.chosen(self.arguments, list(self.data["pools"]))
        self.variants: dict[str, Rounds] = {}
        self.filtered: tuple[Dataset, Any] | None = None

    @property
    def base_name(self) -> str:
        """The classifier, as a reader knows it."""
        return str(self.sources["model"].name)

    def asked(self) -> dict[str, Any]:
        """The settings as a reader sees them: no paths of this machine."""
        roles, pools = {"model_name_or_path": "model", "shallow_model": "shallow"}, self.data["pools"]
        asked = super().asked()
        if pools:
            del asked["generator_model"]  # it is not opened
        else:
            roles["generator_model"] = "generator"
        return {
            **asked,
            **shown_settings(self.config.shown()),
            "challenge": [text.partition("=")[0] for text in self.arguments.challenge or []],
            **({"pool": [title or "pool" for title in pools]} if pools else {}),
            **{name: self.sources[role].name for name, role in roles.items()},
        }

    def arms(self) -> list[Plan]:
        """The classifiers that are wanted."""
        return [recipe.plan for recipe in self.recipes.values()]

    def fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        """Train one classifier; before that come the rounds or whatever else makes its rows."""
        recipe = self.recipes[name]
        rows, key = self._rows(recipe)
        if recipe.rows == recipes.GIVEN and recipe.plan.arm.role == "method":
            counts = pool_counts(rows, self.task.label_names)
            self.made |= {"rounds": [], "pool": counts, **self._probes(rows, key)}
        elif recipe.plan.arm.role == "method":
            self._describe(rows, key)
        how: dict[str, Any] = {"trainer_class": TRAINERS[recipe.loss]}
        if name == "control":
            like = fitted[recipe.plan.needs[0]].training
            steps = {"max_steps": like["max_steps"], "eval_strategy": "steps", "eval_steps": like["eval_steps"]}
            how |= {"settings": steps, "stop_at": like["steps"]}
        if recipe.size is not None:
            n = len(self.task.train)
            added = random_generator(self.seed, "added", recipe.size).permutation(len(rows) - n)[: recipe.size] + n
            rows, key = rows.select([*range(n), *sorted(added)]), [*key, str(recipe.size)]
        told = self._told(recipe.loss)
        key = [*key, *map(self.run.key, told)]
        training = self.rounds.train(name, lambda: self._with_columns(rows, recipe.loss, told), inputs=key, **how)
        return Fitted(name, self.run.key(name), self.run.folder(name), training)

    def _rows(self, recipe: Recipe) -> tuple[Dataset, list[Any]]:
        """What a classifier is trained on, and what that depends on."""
        if recipe.rows == recipes.ORIGINAL:
            return self.rounds.pool(0), self.rounds.pool_key(0)
        if recipe.in_rounds:
            rounds = self._rounds(recipe)
            rows, key = rounds.pool(rounds.config.rounds), rounds.pool_key(rounds.config.rounds)
            return (rows, key) if recipe.rows == recipes.REFINED else self._z_filtered(rows, key)
        if recipe.rows == recipes.GIVEN:
            pool = added_rows(self.data["pools"][recipe.pool], self.task.columns, LABEL, "pool")
            return concatenate_datasets([self.rounds.pool(0), pool]), [*self.rounds.pool_key(0), content_key(pool)]
        return self._augmented(recipe.rows)

    def _rounds(self, recipe: Recipe) -> Rounds:
        """The rounds that make the rows of a model, carried out; those of the same settings are the same."""
        label = next(
            name for name, each in recipes.RECIPES.items() if each.in_rounds and each.changes == recipe.changes
        )
        if label not in self.variants:
            rounds = self.rounds
            if recipe.changes:
                config = copy.copy(self.config)
                vars(config).update(recipe.changes)
                rounds = replace(self.rounds, run=self.run.trial(label), config=config, trained={})
                rounds.base()
            self.variants[label] = rounds
            found = rounds()
            if recipe.changes:
                self.made.setdefault("ablations", {})[label] = found
            else:
                self.made["rounds"] = found
        return self.variants[label]

    def _z_filtered(self, rows: Dataset, key: Sequence[Any]) -> tuple[Dataset, list[Any]]:
        """The original rows, and those added ones that leave no feature with its label, given the original ones."""
        if self.filtered is None:
            n, columns = len(self.task.train), list(self.task.columns)
            columns = columns[::-1] if self.arguments.hypothesis_first else columns

            def work(folder: Path) -> dict[str, Any]:
                added = rows.select(range(n, len(rows)))
                kept = z_filter(added, text_columns=columns, label_column=LABEL, start=rows.select(range(n)))
                kept.to_parquet(folder / ACCEPTED)
                return {"n": len(added), "n_kept": len(kept)}

            counts = self.run.stage("z-filter", work, inputs=[key, columns])
            self.made.setdefault("added", {})["z-filter"] = counts
            kept = read_rows(self.run.folder("z-filter") / ACCEPTED)
            self.filtered = concatenate_datasets([rows.select(range(n)), kept]), [*key, self.run.key("z-filter")]
        return self.filtered

    def _augmented(self, name: str) -> tuple[Dataset, list[Any]]:
        """The original rows, and those that a generic augmentation adds."""
        a, rows, key = self.arguments, self.rounds.pool(0), self.rounds.pool_key(0)

        def work(folder: Path) -> dict[str, Any]:
            add = recipes.augmentation(name, a, self.task, self.seed, str(self.config.device))
            made = rows.map(add, batched=True, desc=self.recipes[name].plan.arm.title)
            marks, unchanged = next((made[mark], value) for mark, value in MARKS.items() if mark in made.column_names)
            new = made.select([place for place, mark in enumerate(marks) if mark != unchanged])
            added_rows(new, self.task.columns, LABEL, name).to_parquet(folder / ACCEPTED)
            return {"n": len(new), "n_kept": len(new)}

        models = [getattr(a, each) for each in ("wordnet", "masked_model", "forward_model", "backward_model")]
        inputs = [
            key,
            name,
            self.seed,
            self.task.label_names,
            a.hypothesis_first,
            [each and source_key(each) for each in models],
        ]
        counts = self.run.stage(f"rows-{name}", work, inputs=inputs)
        self.made.setdefault("added", {})[self.recipes[name].plan.arm.title] = counts
        kept = read_rows(self.run.folder(f"rows-{name}") / ACCEPTED)
        return concatenate_datasets([rows, kept]), [*key, self.run.key(f"rows-{name}")]

    def _told(self, loss: str) -> list[str]:
        """Stages of the models that a loss asks about the rows, the first shallow model first."""
        if loss == recipes.PLAIN:
            return []
        self.rounds.shallow()
        epochs = self.rounds.shallow_epochs() if loss == recipes.DCT else []
        return [FIRST_SHALLOW, *([BASE] if loss == recipes.CONFREG else []), *epochs[:-1]]

    def _with_columns(self, rows: Dataset, loss: str, told: Sequence[str]) -> Dataset:
        """Rows with what other models say of them, as far as a loss reads it."""
        if not told:
            return rows
        how: dict[str, Any] = {"columns": self.task.columns, "label_column": LABEL, "label_names": self.rounds.numbers}
        how |= {"device": self.config.device, "cache_dir": self.run.output_dir / SAID}
        found = add_bias_log_probs(rows, str(self.run.folder(FIRST_SHALLOW)), into=BIAS_COLUMN, **how)
        if loss == recipes.CONFREG:
            found = add_bias_log_probs(found, str(self.run.folder(BASE)), into=TEACHER_COLUMN, **how)
        if loss == recipes.DCT:
            places = [str(self.run.folder(stage)) for stage in (*told[1:], FIRST_SHALLOW)]
            device = self.config.device
            features = [bias_features(each, None, rows, columns=self.task.columns, device=device) for each in places]
            found = add_dct_columns(rows, features, list(found[BIAS_COLUMN]), label_column=LABEL)
        return found

    def _describe(self, pool: Dataset, key: Sequence[str]) -> None:
        """Write the pool as a data set with its card, and keep what the report says of it and of the rounds."""
        task, rounds = self.task, self.made["rounds"]

        def work(folder: Path) -> dict[str, Any]:
            counts = pool_counts(pool, task.label_names)
            write_splits(folder, {"train": pool.cast_column(LABEL, ClassLabel(names=task.label_names))})
            dataset_card(self._derivation(counts, rounds)).save(folder / CARD)
            return counts

        told = {name: self.asked().get(name) for name in ("dataset", "dataset_config", "dataset_split", *_SHOWN)}
        counts = self.run.stage("pool", work, inputs=[key, task.label_names, told, rounds])
        iterations = np.asarray(pool["iteration"][:])
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
            summary=f"A text classifier ({', '.join(self.task.label_names)}): {self.base_name}, trained on "
            + ("its data and a pool of added rows." if self.data["pools"] else "data that IBADR (Wang et al. 2023) ")
            + ("" if self.data["pools"] else "refined against biases that a shallow model learns."),
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
        """Beside the classifier: the generator of its samples, and the pool that it was trained on, if made here."""
        if self.data["pools"]:
            return {}
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
            licence=self.arguments.license,
            versions=package_versions(("hf-fairness", "torch", "transformers", "datasets")),
        )
