"""Encoders that are made of one: every way to change it is an arm, on the same rows, measured alike.

Rows become variants (male, female, neutral ... of every text) in three parts: rows to train on, rows that choose, rows
for the audits alone. A subclass says which changes there are (:class:`hf_fairness.trainers.baselines.base.Baseline`):
one and its control, or as many as are to be compared. Within a process the original is opened once, and encodes each
text of the audits once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from datasets import Dataset, load_from_disk

from hf_fairness.arguments import (
    AuditArguments,
    BenchmarkArguments,
    DataArguments,
    ExperimentArguments,
    UtilityArguments,
)
from hf_fairness.attributes import load_attribute
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.augment import GroupVariants, summarize
from hf_fairness.encoders import BaseEncoder, RememberingEncoder, as_encoder
from hf_fairness.measure.audit import AuditResult, audit, built_in_variants
from hf_fairness.measure.held_out import frames_of, split_frames
from hf_fairness.measure.model_keys import source_key
from hf_fairness.measure.models import open_language_model
from hf_fairness.measure.variants import CLUSTER_COLUMN, Variants, read_variants
from hf_fairness.publishing import CARD, Artefact
from hf_fairness.record import Arm, Measure, Record
from hf_fairness.report import card_metadata
from hf_fairness.report.artefact_card import LOAD_ENCODER, About, from_record
from hf_fairness.report.audit_record import audit_changes, audit_drawn, audit_measures, audit_told
from hf_fairness.report.projection import pictures
from hf_fairness.report.text import LIMITS
from hf_fairness.runs import content_key
from hf_fairness.trainers.baselines.base import SOURCE, Baseline, Given
from hf_fairness.trainers.experiment import EvalSet, Fitted, Found, Method, Plan, Scored
from hf_fairness.trainers.training.benchmarks import Benchmark, Items, read_benchmarks
from hf_fairness.trainers.training.encoder import EncoderConfig, TrainableEncoder, open_encoder
from hf_fairness.trainers.training.glue import check_encoder, fine_tune_all
from hf_fairness.trainers.training.remembered import unpack_arrays
from hf_fairness.trainers.training.utility import FineTuned, Mteb, Transfer, UtilityTasks, read_utility

logger = logging.getLogger(__name__)

#: The original, as an arm.
BEFORE = "before"
#: What a run can be given, by name.
DATA = (
    *("rows", "text_column", "variants", "sts_pairs", "crows_pairs", "stereoset", "bias_ir"),
    *("senteval", "glue", "mteb"),
)
#: Settings that are no method's own.
_OF_EVERY_TRAINING = frozenset(each.name for each in fields(EncoderConfig))
#: Name of the set of variants that the data themselves give: rows of frames that no training and no choice has seen.
HELD_OUT = "held-out rows"
#: Parts of the data that are kept from training, in the order in which they are drawn.
_PARTS = ("audit", "validation")
#: Fewer rows than this cannot be trained on.
MIN_ROWS = 20
_EMBEDDINGS = "embeddings.npz"
#: What a report calls the counts of the rows.
COUNTS = {
    "n_rows": "rows",
    "n_train": "rows to train on",
    "n_validation": "rows that choose",
    "n_audit": "rows held out for the audits",
    "n_without_terms": "rows without terms",
    "n_in_evaluation": "rows too near to what is measured",
    "n_other_language": "rows in another language",
}


@dataclass(kw_only=True)
class EncoderArguments(ExperimentArguments, AuditArguments, BenchmarkArguments, UtilityArguments, DataArguments):
    """What commands that change an encoder are told beside the settings of the training."""

    model_name_or_path: str = field(metadata={"help": "Encoder to mitigate: id on the Hub, or a local folder."})
    base_model_name: str | None = field(
        default=None,
        metadata={"help": "How reports call the original model; default: its id or its folder's name."},
    )
    dataset: str = field(
        default="demo",
        metadata={
            "help": "Texts to train on: a csv, tsv, json, jsonl, parquet or text file, a folder of such files, a saved "
            "data set, an id on the Hub, or `demo` for the corpus of this package. Rows that hold variants already are "
            "taken as they are."
        },
    )
    max_rows: int | None = field(
        default=None,
        metadata={"help": "Train on the first so many rows that hold attribute terms; default: all."},
    )

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything."""
        DataArguments.__post_init__(self)
        BenchmarkArguments.__post_init__(self)
        UtilityArguments.__post_init__(self)
        self.check_experiment()
        if self.max_rows is not None and self.max_rows < 2:
            raise ValueError(f"max_rows is {self.max_rows}, expected 2 or more.")


class OpenedEncoder(Method):
    """A method that trains an encoder: the one it begins with, opened once, and the card of what comes out."""

    limits: ClassVar[tuple[str, ...]] = LIMITS
    measured_by_all = True

    @property
    def what(self) -> str:
        """What was done, for the card: "trained with ... to ..."."""
        raise NotImplementedError

    @cached_property
    def attribute(self) -> Any:
        """Whose groups are made equal."""
        return load_attribute(self.arguments.attribute, language=self.arguments.language)

    @property
    def base_name(self) -> str:
        """Its id, or the name of its folder."""
        return self.arguments.base_model_name or super().base_name

    @property
    def base_id(self) -> str | None:
        """Id of the base model on the Hub, where it has one."""
        return self.base_name if "/" in self.base_name else None

    @property
    def base_key(self) -> str:
        """What stands for the base model among the inputs of stages; its files are read once for all trials."""
        name = self.arguments.model_name_or_path
        return str(self.once(f"key of {name}", lambda: source_key(name)))

    @property
    def opened_as(self) -> list[Any]:
        """How the original is opened; trials that open it alike share it."""
        return [self.config.pooling, self.config.normalize, self.config.max_length]

    @cached_property
    def opened(self) -> TrainableEncoder:
        """The original as trainings begin with it, opened once; nothing trains this very object."""
        begins_with = [self.opened_as, self.config.keep_mlm_head, self.config.use_peft]
        return self.once(
            f"opened {self.base_key} {begins_with}",
            lambda: open_encoder(self.arguments.model_name_or_path, self.config),
        )

    @property
    def original(self) -> RememberingEncoder:
        """The original for audits: all of them ask for the same texts, which it encodes once in this process."""

        def make() -> RememberingEncoder:
            encoder = as_encoder(self.opened.model, device=str(self.config.device), show_progress=False)
            encoder.name = self.arguments.model_name_or_path
            return RememberingEncoder(encoder)

        return self.once(f"original {self.base_key} {self.opened_as}", make)

    def untouched(self, name: str) -> Fitted:
        """The original as an arm."""
        return Fitted(name, [self.base_key, self.opened_as])

    def about(self, record: Record) -> About:
        """What the card of the changed model says."""
        return About(
            title=self.model_name,
            summary=f"A text encoder: {self.base_name}, {self.what}",
            **from_record(record),
            load=LOAD_ENCODER,
            metadata={"library_name": "sentence-transformers", **card_metadata(record, base_model=self.base_id)},
        )

    def library_card(self, fitted: Fitted) -> str:
        """What sentence-transformers says of data, settings and losses."""
        path = Path(fitted.model) / CARD
        return path.read_text(encoding="utf-8") if path.is_file() else ""


class EncoderMethod(OpenedEncoder):
    """Changes of one encoder with variants of texts, each an arm beside the original, which is called ``before``.

    A subclass names them in ``changes``.

    Args:
        data: ``rows``: texts, or rows that hold variants already; ``text_column``: column of the texts, None when the
            rows hold one text column per group and ``neutral``; ``variants``: sets of variants by name to measure CCED
            on, beside the one this package carries; ``sts_pairs``: rows with ``sentence1``, ``sentence2``, ``score``.
            Rows of ``crows_pairs``, ``stereoset`` and ``bias_ir``, as the functions of these names in
            `hf_fairness.measure` take them; the first two need a model with a masked-language-model head. ``senteval``
            and ``glue``: by name of a task its rows, as `hf_fairness.measure.read_transfer_task` takes them; ``mteb``:
            names of its tasks, or tasks (objects of its ``AbsTask``).

    Attributes:
        main: the arm that the report is about.
        in_pairs: whether every arm is compared item by item with those that it is held against, or with the original
            alone; the others are compared by their intervals then.
    """

    main: str = "after"
    in_pairs: ClassVar[bool] = False
    arguments: EncoderArguments
    config: EncoderConfig

    def __init__(self, run: Any, arguments: Any, config: Any, data: Mapping[str, Any], *given: Any) -> None:
        if unknown := set(data) - set(DATA):
            raise TypeError(f"{self.command} has no data called {', '.join(sorted(unknown))}.")
        data = {"text_column": None, "sts_pairs": None, **data, "variants": dict(data.get("variants") or {})}
        super().__init__(run, arguments, config, data, *given)
        self.fitted: dict[str, Fitted] = {}
        self._open: dict[str, Any] = {}  # models of the arm that is at hand

    @property
    def changes(self) -> Mapping[str, Baseline]:
        """What is made of the original, by name of the arm, in the order of the report."""
        raise NotImplementedError

    def with_control(self, method: Baseline, control: Baseline) -> dict[str, Baseline]:
        """One method and its control, where that is wanted."""
        return {**({"control": control} if self.arguments.control else {}), "after": method}

    @property
    def what(self) -> str:
        """What the method of the report did."""
        return f"{self.changes[self.main].about}." if self.main in self.changes else ""

    def needed(self, change: Baseline) -> tuple[str, ...]:
        """The arm that must be there before another one, if any."""
        return tuple(name for name, each in self.changes.items() if each.name == change.needs)

    def arms(self) -> Sequence[Plan]:
        """Before, control and after."""
        plans = [Plan(Arm(BEFORE, BEFORE, "original", self.base_name))]
        for name, change in self.changes.items():
            if change.is_control:
                plans.append(Plan(Arm(name, name, "control", change.about), self.needed(change)))
            else:
                others = tuple(each for each in self.changes if each != name)
                plans.append(Plan(Arm(name, name, "method", self.model_name), against=(BEFORE, *others)))
        return plans

    def fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        """The original, a model as it is, or what a change makes of the original."""
        self.fitted[name] = self.untouched(name) if name == BEFORE else self._changed(name, fitted)
        return self.fitted[name]

    def _changed(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        change = self.changes[name]
        if change.model is not None:
            model = change.model
            return Fitted(name, [self.once(f"key of {model}", lambda: source_key(model))], model)
        stop = next((fitted[each].training["kept_step"] for each in self.needed(change)), None)
        shared = {key: value for key, value in self.settings.items() if key in _OF_EVERY_TRAINING}
        inputs = [
            *(self.base_key, self.opened_as, self.run.key("variants"), stop, type(change).__qualname__),
            *({option: getattr(self.config, option) for option in change.options}, change.files(self.config)),
            *([shared] if change.trains else []),
            *([self.seed] if change.seeded else []),
        ]

        def work(folder: Path) -> dict[str, Any]:
            return self.make(change, replace(self.given, stop=stop), folder)

        return self.trained(name, work, inputs=inputs, keep_partial=True)

    def make(self, change: Baseline, given: Given, folder: Path) -> dict[str, Any]:
        """Change the encoder; returns how that was done."""
        return dict(change.fit(given, folder))

    def measure(self, fitted: Fitted, sets: Sequence[EvalSet], folder: Path) -> dict[str, Mapping[str, Any]]:
        """All sets that the arm can be asked, which share the opened model."""
        of_tokens = [each for each in sets if isinstance(each, Benchmark) and each.items.needs_head]
        if of_tokens and not self.speaks(fitted):
            sets = [each for each in sets if each not in of_tokens]
        try:
            return super().measure(fitted, sets, folder)
        finally:
            self._open.clear()

    def speaks(self, fitted: Fitted) -> bool:
        """Whether an arm has a masked-language-model head that says something of its own."""
        change = self.changes.get(fitted.name)
        if change is not None and change.model is not None:
            try:
                self.language_model(fitted)
            except (ValueError, TypeError, OSError):
                logger.warning(
                    "%s has no masked-language-model head: CrowS-Pairs and StereoSet leave it out.", fitted.name
                )
                return False
        return change is None or not change.same_tokens

    def encoder(self, fitted: Fitted) -> RememberingEncoder:
        """An arm as an encoder. Its vectors stay for the comparisons, the model does not."""
        if fitted.model is None:
            return self.original
        closed = _Closed(str(fitted.model), str(self.config.device), self._open)
        return self.once(f"vectors {content_key(fitted.key)}", lambda: RememberingEncoder(closed))

    def language_model(self, fitted: Fitted) -> Any:
        """An arm as a masked language model: its encoder under the original head."""
        own = fitted.model is None
        source: Any = (self.opened.head, self.opened.model.tokenizer) if own else str(fitted.model)
        opening = partial(open_language_model, source, device=str(self.config.device))
        return self.once("language model", opening, self._open)

    @cached_property
    def benchmarks(self) -> list[Items]:
        """The published benchmarks that were given, whether or not this model can be asked them."""
        return self.once(
            f"benchmarks {self.attribute.digest}",
            lambda: read_benchmarks(self.arguments, self.attribute, self.data),
        )

    @cached_property
    def utility_tasks(self) -> UtilityTasks:
        """The tasks for heads on frozen embeddings, for fine-tuning and of MTEB that were given."""
        return self.once("utility tasks", lambda: read_utility(self.arguments, self.data))

    def train_to_measure(self, fitted: Fitted) -> None:
        """A copy of an arm learns each task of GLUE, with the seed of the trial."""
        tasks, a = self.utility_tasks.fine_tuned, self.arguments
        if not tasks:
            return
        settings = {
            "num_train_epochs": a.glue_epochs,
            "learning_rate": a.glue_learning_rate,
            "per_device_train_batch_size": a.glue_batch_size,
            **{name: getattr(self.config, name) for name in ("seed", "use_cpu", "bf16", "fp16")},
        }

        def work(folder: Path) -> dict[str, int]:
            opened = self.opened if fitted.model is None else open_encoder(str(fitted.model), self.config)
            return fine_tune_all(opened.model, tasks, folder, settings, max_rows=a.glue_max_rows)

        inputs = [fitted.key, [task.key for task in tasks], settings, a.glue_max_rows, self.config.world_size]
        self.run.stage(f"glue_{fitted.name}", work, inputs=inputs, collective=True, keep_partial=True)

    def unasked(self) -> dict[str, str]:
        """Benchmarks that were given and cannot be measured, with the reason."""
        of_tokens, why = [items.title for items in self.benchmarks if items.needs_head], ""
        if of_tokens and all(change.same_tokens for change in self.changes.values()):
            why = "a layer after the pooling changes no token, so that what a language model says of them is as before"
        elif of_tokens and self.opened.head is None:
            why = (
                f"{self.base_name} holds no masked-language-model head (or --keep_mlm_head false left it out), and the "
                "encoder alone says nothing of how likely a sentence is"
            )
        return dict.fromkeys(of_tokens, why) if why else {}

    def prepare(self) -> None:
        """Rows with one text per group and a neutral one, saved in parts; and how many are in each."""
        rows, column, given = self.data["rows"], self.data["text_column"], self.data["variants"]
        for title, why in self.unasked().items():
            logger.warning("%s is not measured: %s.", title, why)
        for change in self.changes.values():
            change.check(self.opened, self.config, self.attribute)
        if self.utility_tasks.fine_tuned:
            check_encoder(self.opened.model)

        def work(folder: Path) -> dict[str, int]:
            logger.info("Variants: reading %s rows of %s", f"{len(rows):,}", self.arguments.dataset)
            made, other_language = rows, 0
            if column is not None:
                other_language = summarize(rows[column], attribute=self.attribute)["other_language"]
                function = GroupVariants(column, attribute=self.attribute)
                read = [name for name in rows.column_names if name in (column, CLUSTER_COLUMN)]
                texts = rows.select_columns(read)  # another column may be called like a group
                made = texts.map(function, batched=True, desc="Making variants").rename_column(column, SOURCE)
            kept, counts = self._rows(made, ready=column is None)
            frames = kept[CLUSTER_COLUMN][:]
            counts |= {"n_rows": len(rows), "n_other_language": other_language, "n_frames": len(set(frames))}
            parts = self._split(frames, others=bool(given) or built_in_variants(self.attribute) is not None)
            held_out = {row for part in parts.values() for row in part.tolist()}
            parts["train"] = np.array([row for row in range(len(kept)) if row not in held_out], dtype=np.intp)
            for name, part in parts.items():
                if len(part):  # a folder of no rows cannot be read back
                    kept.select(part).save_to_disk(folder / name)
            return {**counts, **{f"n_{name}": len(part) for name, part in parts.items()}}

        inputs = [
            *(rows, column, self.attribute.digest, self.arguments.max_rows, _content(given)),
            *(self.config.group_columns, self.config.neutral_column, self.config.validation_rows),
            *(self.data_seed, self._evaluates),
            *(items.key for items in self.benchmarks),
        ]
        self.counts: dict[str, int] = self.run.stage("variants", work, inputs=inputs, version=3)

    @property
    def _evaluates(self) -> bool:
        return str(getattr(self.config.eval_strategy, "value", self.config.eval_strategy)) != "no"

    def _rows(self, made: Dataset, *, ready: bool) -> tuple[Dataset, dict[str, int]]:
        """Rows with terms, their groups, neutral text and frame; and how many were left out for what reason."""
        groups = (self.config.group_columns if ready else None) or list(self.attribute.group_names)
        neutral = self.config.neutral_column if ready else NEUTRAL
        read = read_variants(made, groups=groups, neutral=neutral)
        known = [SOURCE] if not ready else []
        kept = made.select(np.flatnonzero(read.kept)).select_columns([*groups, neutral, *known])
        if neutral != NEUTRAL:
            kept = kept.rename_column(neutral, NEUTRAL)
        limit = min(len(kept), self.arguments.max_rows or len(kept))
        sets = [*self.data["variants"].values(), built_in_variants(self.attribute)]
        names = self.attribute.group_names
        tests = [text for rows in sets if rows is not None for text in read_variants(rows, groups=names).neutral]
        tests += [text for items in self.benchmarks for text in items.texts]
        texts = read.neutral[:limit]
        clusters = [None] * limit if read.clusters is None else list(read.clusters[:limit])
        frames = frames_of(texts + tests, clusters + [None] * len(tests))
        tested = set(frames[limit:])
        rows = [row for row in range(limit) if frames[row] not in tested]
        if len(rows) < limit:
            logger.warning("%d rows are near-duplicates of texts that the audits measure: left out.", limit - len(rows))
        if len(rows) < MIN_ROWS:
            raise ValueError(
                f"{len(rows)} of the {len(made)} rows of {self.arguments.dataset} can be trained on (they hold a term "
                f"of {self.attribute.name} and are no near-duplicates of a text that is measured), expected at least "
                f"{MIN_ROWS}. Give texts about the groups ({', '.join(groups)}) with --dataset."
            )
        chosen = kept.select(rows).add_column(CLUSTER_COLUMN, [frames[row] for row in rows])
        return chosen, {"n_without_terms": read.n_skipped, "n_in_evaluation": limit - len(rows)}

    def _split(self, frames: list[int], *, others: bool) -> dict[str, np.ndarray]:
        """Rows of each part that is held out; an error where the audits would have nothing to measure on."""
        tenth = min(1000, max(2, len(frames) // 10))
        validation = (self.config.validation_rows or tenth) if self._evaluates else 0
        sizes = dict(zip(_PARTS, (tenth, validation), strict=True))
        parts = split_frames(frames, sizes, seed=self.data_seed)
        short = [name for name, size in sizes.items() if size and not len(parts[name])]
        if not short:
            return parts
        message = (
            f"The {len(frames)} rows are near-duplicates of {len(set(frames))} text(s), so no {' and no '.join(short)} "
            "rows from other texts than those trained on can be held out."
        )
        if "validation" in short or not others:
            raise ValueError(
                f"{message} Give more varied texts; or texts to measure on with --variants and, to train without "
                "validation, --eval_strategy no."
            )
        logger.warning("%s The audits measure on the other sets alone.", message)
        return parts

    def part(self, name: str) -> Dataset | None:
        """One part of the rows, None if it is empty."""
        folder = self.run.folder("variants") / name
        return load_from_disk(folder) if folder.is_dir() else None

    @property
    def groups(self) -> list[str]:
        """The group columns of the rows as the first stage saved them."""
        rows = self.part("train")
        others = (NEUTRAL, CLUSTER_COLUMN, SOURCE)
        return [] if rows is None else [name for name in rows.column_names if name not in others]

    @property
    def given(self) -> Given:
        """What a method begins with."""
        rows = self.part("train")
        assert rows is not None
        return Given(
            encoder=self.opened,
            original=self.original,
            rows=rows,
            validation=self.part("validation"),
            groups=tuple(self.groups),
            attribute=self.attribute,
            config=self.config,
            rows_key=content_key(self.run.key("variants"), self.base_key, self.opened_as),
            shared=self.shared,
            base_name=self.base_name,
            base_id=self.base_id,
        )

    def sets(self) -> Sequence[EvalSet]:
        """One audit, the benchmarks that the model can be asked, and the tasks that it must still be good for."""
        unasked = self.unasked()
        benchmarks = (Benchmark(self, items) for items in self.benchmarks if items.title not in unasked)
        tasks = self.utility_tasks
        heads = (Transfer(self, task) for task in tasks.frozen)
        copies = (FineTuned(self, task) for task in tasks.fine_tuned)
        return [Audit(self), *benchmarks, *heads, *copies, *(Mteb(self, task) for task in tasks.mteb)]

    def asked(self) -> dict[str, Any]:
        """What was asked for, without settings of heads and fine-tunings where there are none."""
        without = [name for name in ("senteval", "glue_tasks") if not getattr(self.arguments, name)]
        unused = tuple(f"{name.removesuffix('_tasks')}_" for name in without)
        return {name: value for name, value in super().asked().items() if not (unused and name.startswith(unused))}

    def extras(self, found: Found) -> dict[str, Any]:
        """How many rows came to which part."""
        return {"data": self.counts}

    def tell(self, found: Found) -> dict[str, Any]:
        """Beside what an audit says, which rows were used."""
        told = audit_told(found.results["audit"][self.main], found.measures, found.gaps)
        dataset = self.arguments.dataset
        told["subject"]["data"] = Path(dataset).name if Path(dataset).exists() else dataset
        told["subject"] |= {words: self.counts[key] for key, words in COUNTS.items() if self.counts[key]}
        unasked = self.unasked()
        told["not_measured"] = (*(f"{title}: {why}" for title, why in unasked.items()), *told["not_measured"])
        defects = (items.defects for items in self.benchmarks if items.title not in unasked)
        return {**told, "limits": (*self.limits, *filter(None, defects))}

    def draw(self, found: Found) -> dict[str, Any]:
        """Pictures of the embeddings before and after, the losses, and texts where they were asked for."""
        arms = {"before": BEFORE, "after": self.main}
        folders = (self.run.folder(f"scores_{arm}") for arm in arms.values())
        drawn = pictures(*(unpack_arrays((folder / _EMBEDDINGS).read_bytes()) for folder in folders))
        sides = {s: {**found.results["audit"][arm], "projection": drawn.get(s)} for s, arm in arms.items()}
        return audit_drawn(sides, found.fitted[self.main].training.get("history"))

    def artefacts(self, record: Record, found: Found) -> dict[str, Artefact]:
        """The variants: the rows that were trained on, validated on and audited on."""
        return {
            "variants": Artefact("dataset", None, self._write_variants, f"Add the variants used for {self.command}")
        }

    def _write_variants(self, folder: Path, repo_id: str) -> None:
        columns = [*self.groups, NEUTRAL, CLUSTER_COLUMN]
        names = (("train", "train"), ("validation", "validation"), ("test", "audit"))
        self.write_rows(
            folder,
            {split: rows.select_columns(columns) for split, name in names if (rows := self.part(name)) is not None},
            repo_id,
            summary="each text in a version for every group and a neutral one, as a model was changed with them "
            f"({self.source})",
            source=Path(self.arguments.dataset).name,
            columns=[*self.groups, NEUTRAL],
            options={"max_rows": self.arguments.max_rows, "seed": self.data_seed},
            counts=self.counts,
            attribute=self.attribute,
            limits=(
                "The split `test` was kept for the audits: a model that is trained on it cannot be measured on it.",
            ),
            meanings={
                **{group: f"the text as it is about the group {group}" for group in self.groups},
                NEUTRAL: "the text without a group",
                CLUSTER_COLUMN: "rows of one number are near-duplicates of each other: they count together",
            },
        )


class Audit(EvalSet):
    """The audit of an encoder; what changed since the original is measured with it, pair by pair."""

    def __init__(self, method: EncoderMethod) -> None:
        self.method, a = method, method.arguments
        self.resamples: dict[str, Any] = {"n_samples": a.n_samples, "n_bootstrap": a.n_bootstrap}
        given = [_content(method.data["variants"]), _content(method.data["sts_pairs"])]
        keys = [method.base_key, method.opened_as, method.run.key("variants"), method.attribute.digest]
        super().__init__("audit", key=[*keys, *given, self.resamples])

    @property
    def variants(self) -> dict[str, Any]:
        """The sets of variants: those given, and the rows that were held out."""
        rows = self.method.part("audit")
        held_out: dict[str, Variants] = {}
        if rows is not None:
            held_out[HELD_OUT] = read_variants(rows, groups=self.method.groups)
        return {**self.method.data["variants"], **held_out}

    def key_for(self, arm: str) -> Any:
        """The texts with the largest gaps are those of the changed model."""
        return [self.key, self.method.arguments.show_texts if arm == self.method.main else 0]

    def audit(self, fitted: Fitted, reference: BaseEncoder | None, **more: Any) -> AuditResult:
        """An arm audited beside another encoder, on all texts."""
        method = self.method
        return audit(
            method.encoder(fitted),
            reference=reference,
            attribute=method.attribute,
            variants=self.variants,
            sts_pairs=method.data["sts_pairs"],
            device=str(method.config.device),
            **self.resamples,
            **more,
        )

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """The audit of the original, or of the very folder that is published, beside the original."""
        method, original = self.method, fitted.model is None
        n_texts = method.arguments.show_texts if fitted.name == method.main else 0
        found = self.audit(fitted, None if original else method.original, n_texts=n_texts)
        arrays: dict[str, Any] = dict(next(iter(found.embeddings.values())))
        np.savez(folder / _EMBEDDINGS, **arrays)
        return {**found.report, "model": method.base_name if original else method.model_name}

    def measures(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Measure]:
        """Every number of the audits."""
        yield from audit_measures(results)

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """What changed since the original, as it was audited; beside another arm, by an audit that refers to that."""
        if other.arm == BEFORE or not self.method.in_pairs:
            return audit_changes(one.result) if other.arm == BEFORE else {}
        ours, theirs = (self.method.fitted[each.arm] for each in (one, other))
        return audit_changes(self.audit(ours, self.method.encoder(theirs), probes=False).report)

    def id(self, key: str) -> str:
        """The changes come by id."""
        return key


class _Closed(BaseEncoder):
    """An encoder that is opened when it is asked for something; of all that share a drawer the last one stays open."""

    shares = False

    def __init__(self, model: str, device: str, drawer: dict[str, Any]) -> None:
        self.name, self.device, self.drawer = model, device, drawer

    def _encode(self, texts: list[str]) -> Any:
        if self.name not in self.drawer:
            self.drawer.clear()
            self.drawer[self.name] = as_encoder(self.name, device=self.device, show_progress=False)
        return self.drawer[self.name].encode(texts)


def _content(data: Any) -> Any:
    """Something `content_key` takes, for variants and pairs in any of the forms that audits take."""
    if isinstance(data, Mapping):
        return {str(name): _content(value) for name, value in data.items()}
    return data if data is None or isinstance(data, (Dataset, str)) else list(data)
