"""From a text data set and an encoder to a mitigated encoder with an honest card.

Stages: ``variants`` (male, female, neutral ... of every text, in three parts: rows to train on, rows that choose the
checkpoint, rows for the audits alone) -> ``audit_before`` -> ``train`` -> ``control`` (see :data:`CONTROL`) ->
``audit_after`` and ``audit_control`` -> ``report`` -> ``model`` (a folder ready to publish). Each is kept in a folder
of the output directory; a killed run goes on where it stopped. Within a process the original is opened once, and
encodes each text of the audits once; a run that is taken up again does both anew.

Source: Deng et al. 2024, *LLM-Assisted Content Conditional Debiasing for Fair Text Embedding*.
"""

from __future__ import annotations

import copy
import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, load_from_disk

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.augment import GroupVariants, summarize
from hf_fairness.encoders import RememberingEncoder, as_encoder
from hf_fairness.measure.audit import audit, built_in_variants
from hf_fairness.measure.held_out import frames_of, split_frames
from hf_fairness.measure.variants import CLUSTER_COLUMN, Variants, read_variants
from hf_fairness.publishing import CARD, Artefact, write_splits
from hf_fairness.record import Record
from hf_fairness.report import audit_record, card_metadata, stage_report
from hf_fairness.report.artefact_card import LOAD_ENCODER, About, artefact_card, from_record
from hf_fairness.report.dataset_card import Derivation, dataset_card
from hf_fairness.report.projection import pictures
from hf_fairness.report.text import shown_settings
from hf_fairness.runs import Run, atomic_write_text, discard
from hf_fairness.trainers.ccd.arguments import CCDArguments
from hf_fairness.trainers.ccd.config import CCDConfig
from hf_fairness.trainers.ccd.data import CCDReferences
from hf_fairness.trainers.ccd.model import CCDEncoder, open_encoder
from hf_fairness.trainers.ccd.sweep import sweep_beta
from hf_fairness.trainers.ccd.trainer import CCDTrainer
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.training.settings import training_settings
from hf_fairness.trainers.training.stopping import StopAt
from hf_fairness.utils import is_main_process, package_versions

logger = logging.getLogger(__name__)

#: Name of the set of variants that the data themselves give: rows of frames that no training and no choice has seen.
HELD_OUT = "held-out rows"
#: Parts of the data that are kept from training, in the order in which they are drawn.
_PARTS = ("audit", "validation")
#: Fewer rows than this cannot be trained on.
MIN_ROWS = 20
#: What the control is, as reports and cards say it.
CONTROL = (
    "the method's own training with one change: each text's gap between groups is pulled away from where it is by "
    "the gap of another text, up or down at random, and not to 0. Rows, order, steps up to the kept checkpoint, "
    "optimiser, weights of the loss, seed and dropout (as for the method) are the same"
)
#: What comes out of the stages that train.
_TRAINED = {"train": "the mitigated model", "control": "the control"}
_EMBEDDINGS = "embeddings.npz"


def run_ccd(
    arguments: CCDArguments,
    config: CCDConfig,
    rows: Dataset,
    *,
    text_column: str | None = None,
    variants: Mapping[str, Any] | None = None,
    sts_pairs: Any = None,
) -> dict[str, Any]:
    """Audit an encoder, mitigate it with CCD, audit it again, and write report, card and model.

    Call it on every process of a distributed launch: training runs on all, the rest on the first.

    Args:
        arguments: model, attribute and what to run; its file names are for the reader, see `rows`.
        config: settings of the training; ``config.output_dir`` holds all stages.
        rows: texts, or rows that hold variants already.
        text_column: column of the texts; None when `rows` hold one text column per group and ``neutral``.
        variants: sets of variants by name to measure CCED on, beside the one this package carries.
        sts_pairs: rows with ``sentence1``, ``sentence2``, ``score``.

    Returns:
        model: folder of the mitigated model; record: what was found, as a :class:`hf_fairness.record.Record`; files:
        paths of the report by kind; before, after, control (or None): audits; training: how it was trained; sweep: list
        or None; artefacts: what `hf_fairness.publishing.publish` takes.

    Raises:
        ValueError: bad data, or a model that is no encoder.
        RunLockedError: another run works in the same folder.
    """
    attribute = load_attribute(arguments.attribute, language=arguments.language)
    settings = training_settings(config)
    with Run(config.output_dir, {**asdict(arguments), "training": settings}, resume=arguments.resume) as run:
        pipeline = _Pipeline(run, arguments, config, attribute, settings)
        sets = dict(variants or {})
        counts = pipeline.variants(rows, text_column, sets)
        before = pipeline.audit("audit_before", sets, sts_pairs, None)
        training = pipeline.train("train")
        control_training = pipeline.train("control", stop=training["kept_step"]) if arguments.control else None
        sweep = pipeline.sweep() if arguments.sweep else None
        after = pipeline.audit("audit_after", sets, sts_pairs, "train")
        control = pipeline.audit("audit_control", sets, sts_pairs, "control") if control_training else None
        training = _describe(training, counts, arguments, config) | ({"sweep": sweep} if sweep else {})
        sides = {"before": before, "control": control, "training": training}
        inputs = [after, sides]
        drawn = lambda: pipeline.record(after, sides, drawn=True)  # noqa: E731
        files = stage_report(run, drawn, {"after": after, **sides}, inputs=[inputs, arguments.name])
        record = pipeline.record(after, sides)
        about = pipeline.about(record)
        model = lambda folder: pipeline.publishable(folder, about)  # noqa: E731
        run.stage("model", model, inputs=[run.key("train"), inputs, arguments.name], version=2)
        return {
            "model": run.folder("model"),
            "record": record,
            "files": files,
            "before": before,
            "after": after,
            "control": control,
            "training": training,
            "sweep": sweep,
            "artefacts": {
                "model": Artefact("model", run.folder("model"), pipeline.card(about), "Add the model made with CCD"),
                "variants": Artefact("dataset", None, pipeline.variant_rows(counts), "Add the variants used for CCD"),
            },
        }


@dataclass
class _Pipeline:
    """The stages of one run."""

    run: Run
    arguments: CCDArguments
    config: CCDConfig
    attribute: Attribute
    settings: dict[str, Any]
    references: dict[str, CCDReferences] = field(default_factory=dict)

    @cached_property
    def opened(self) -> CCDEncoder:
        """The original as trainings begin with it, opened once; nothing trains this very object."""
        return open_encoder(self.base_model, self.config)

    @cached_property
    def original(self) -> RememberingEncoder:
        """The original for audits: all of them ask for the same texts, which it encodes once in this process."""
        encoder = as_encoder(self.opened.model, device=str(self.config.device), show_progress=False)
        encoder.name = self.base_model
        return RememberingEncoder(encoder)

    def copy_of_original(self) -> CCDEncoder:
        """One to train; the original itself leaves the accelerator to it."""
        self.opened.model.to("cpu")
        return copy.deepcopy(self.opened)

    def say(self, stage: str, what: str) -> None:
        """Log which stage begins, and how many there are."""
        asked = self.arguments
        control, sweep = ["control"] if asked.control else [], ["sweep"] if asked.sweep else []
        audits = ["audit_after", *(f"audit_{name}" for name in control)]
        stages = ["variants", "audit_before", "train", *control, *sweep, *audits, "report", "model"]
        logger.info("Stage %d of %d, %s: %s", stages.index(stage) + 1, len(stages), stage, what)

    @property
    def base_model(self) -> str:
        return self.arguments.model_name_or_path

    @property
    def base_name(self) -> str:
        """The base model as a reader knows it: its id, or the name of its folder."""
        path = Path(self.base_model)
        default = path.resolve().name if path.exists() else self.base_model
        return self.arguments.base_model_name or default

    def _base_id(self) -> str | None:
        """Id of the base model on the Hub, where it has one."""
        return self.base_name if "/" in self.base_name else None

    @property
    def model_name(self) -> str:
        """The mitigated model as a reader knows it."""
        return self.config.hub_model_id or f"{self.base_name.split('/')[-1]}-ccd"

    def _resamples(self) -> dict[str, Any]:
        return {"n_samples": self.arguments.n_samples, "n_bootstrap": self.arguments.n_bootstrap}

    def _base_key(self) -> Path | str:
        path = Path(self.base_model)
        return path if path.exists() else self.base_model

    def variants(self, rows: Dataset, column: str | None, given: Mapping[str, Any]) -> dict[str, int]:
        """Rows with one text per group and a neutral one, saved in parts; and how many are in each."""

        def work(folder: Path) -> dict[str, int]:
            self.say("variants", f"reading {len(rows):,} rows of {self.arguments.dataset}")
            made, other_language = rows, 0
            if column is not None:
                other_language = summarize(rows[column], attribute=self.attribute)["other_language"]
                function = GroupVariants(column, attribute=self.attribute)
                others = [name for name in rows.column_names if name != CLUSTER_COLUMN]
                made = rows.map(function, batched=True, remove_columns=others, desc="Making variants")
            kept, counts = self._rows(made, ready=column is None, given=given)
            frames = list(kept[CLUSTER_COLUMN])
            counts |= {"n_rows": len(rows), "n_other_language": other_language, "n_frames": len(set(frames))}
            parts = self._split(frames, others=bool(given) or built_in_variants(self.attribute) is not None)
            held_out = {row for part in parts.values() for row in part.tolist()}
            parts["train"] = np.array([row for row in range(len(kept)) if row not in held_out], dtype=np.intp)
            for name, part in parts.items():
                if len(part):  # a folder of no rows cannot be read back
                    kept.select(part).save_to_disk(folder / name)
            return {**counts, **{f"n_{name}": len(part) for name, part in parts.items()}}

        strategy = str(getattr(self.config.eval_strategy, "value", self.config.eval_strategy))
        inputs = [
            *(rows, column, self.attribute.digest, self.arguments.max_rows, _content(given)),
            *(self.config.group_columns, self.config.neutral_column, self.config.validation_rows),
            *(self.config.seed, strategy == "no"),
        ]
        counts: dict[str, int] = self.run.stage("variants", work, inputs=inputs, version=2)
        return counts

    def _rows(self, made: Dataset, *, ready: bool, given: Mapping[str, Any]) -> tuple[Dataset, dict[str, int]]:
        """Rows with terms, their groups, neutral text and frame; and how many were left out for what reason."""
        groups = (self.config.group_columns if ready else None) or list(self.attribute.group_names)
        neutral = self.config.neutral_column if ready else NEUTRAL
        read = read_variants(made, groups=groups, neutral=neutral)
        kept = made.select(np.flatnonzero(read.kept)).select_columns([*groups, neutral])
        if neutral != NEUTRAL:
            kept = kept.rename_column(neutral, NEUTRAL)
        limit = min(len(kept), self.arguments.max_rows or len(kept))
        sets = [*given.values(), built_in_variants(self.attribute)]
        names = self.attribute.group_names
        tests = [text for rows in sets if rows is not None for text in read_variants(rows, groups=names).neutral]
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
        evaluates = getattr(self.config.eval_strategy, "value", self.config.eval_strategy) != "no"
        sizes = dict(zip(_PARTS, (tenth, (self.config.validation_rows or tenth) if evaluates else 0), strict=True))
        parts = split_frames(frames, sizes, seed=self.config.seed)
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

    def audit(self, name: str, given: dict[str, Any], sts_pairs: Any, trained: str | None) -> dict[str, Any]:
        """Audit of the base model (``trained=None``) or of what a training stage left."""
        n_texts = self.arguments.show_texts if name == "audit_after" else 0

        def work(folder: Path) -> dict[str, Any]:
            self.say(name, f"measuring {self.base_name if trained is None else _TRAINED[trained]}")
            # What is published is what is measured, so a trained model is read back from the folder that is copied.
            model = self.original if trained is None else str(self.run.folder(trained) / "model")
            found = audit(
                model,
                reference=None if trained is None else self.original,
                attribute=self.attribute,
                variants={**given, **self._held_out()},
                sts_pairs=sts_pairs,
                device=str(self.config.device),
                n_texts=n_texts,
                **self._resamples(),
            )
            first = next(iter(found.embeddings))
            arrays: dict[str, Any] = dict(found.embeddings[first])
            np.savez(folder / _EMBEDDINGS, **arrays)
            return found.report

        source = self._base_key() if trained is None else self.run.key(trained)
        inputs = [
            source,
            self.run.key("variants"),
            self.attribute.digest,
            [self.config.pooling, self.config.normalize, self.config.max_length],
            _content(given),
            _content(sts_pairs),
            *([n_texts] if n_texts else []),
        ]
        report: dict[str, Any] = self.run.stage(name, work, inputs=inputs)
        return {**report, "model": self.base_name if trained is None else self.model_name}

    def _held_out(self) -> dict[str, Variants]:
        """Rows of the data that no training and no choice of a checkpoint sees."""
        rows = self.part("audit")
        return {} if rows is None else {HELD_OUT: read_variants(rows, groups=self._groups())}

    def train(self, name: str, *, stop: int | None = None) -> dict[str, Any]:
        """Train on all processes; returns what the run was made of, its losses and the step that was kept.

        Args:
            name: of the stage.
            stop: makes it the control, see :data:`CONTROL`, which ends at this step.
        """

        def work(folder: Path) -> dict[str, Any]:
            own = self._config(folder / "checkpoints")
            callbacks = []
            if stop is not None:
                own.random_gaps, own.load_best_model_at_end = True, False
                callbacks = [StopAt(stop)]
            rows, validation = self.part("train"), self.part("validation")
            self.say(name, f"training {_TRAINED[name]}")
            model = self.copy_of_original()
            trainer = CCDTrainer(model, own, rows, validation, references=self.references, callbacks=callbacks)
            self.references = trainer.references
            card = trainer.model.model_card_data
            card.base_model = self._base_id()
            card.first_save = False  # or a folder's name is looked up on the Hub as if it were an id
            trainer.train(resume_from_checkpoint=last_whole_checkpoint(own.output_dir))
            trainer.save_model(str(folder / "model"))
            trainer.accelerator.wait_for_everyone()
            best = trainer.state.best_model_checkpoint if own.load_best_model_at_end else None
            kept = int(best.rsplit("-", 1)[-1]) if best else trainer.state.global_step
            if is_main_process():
                discard(Path(str(own.output_dir)))
            run = {**trainer.describe_run(), "base_model": self.base_name}
            return {"run": run, "history": trainer.state.log_history, "kept_step": kept}

        inputs = [self._base_key(), self.run.key("variants"), self.settings, stop]
        result: dict[str, Any] = self.run.stage(
            name, work, inputs=inputs, version=2, collective=True, keep_partial=True
        )
        return result

    def sweep(self) -> list[dict[str, Any]]:
        """One training per beta, and CCED and similarity structure of each."""
        betas = self.arguments.betas

        def work(folder: Path) -> list[dict[str, Any]]:
            rows, validation = self.part("train"), self.part("validation")
            self.say("sweep", f"training with beta {', '.join(f'{beta:g}' for beta in betas)}")
            own, model = self._config(folder), self.copy_of_original()
            found = sweep_beta(model, own, rows, validation, betas=betas, references=self.references)
            table = []
            for entry in found if is_main_process() else []:
                path = entry.pop("output_dir")
                result = audit(
                    path,
                    reference=self.original,
                    attribute=self.attribute,
                    variants=self._held_out(),
                    seat_tests=[],
                    device=str(self.config.device),
                    **self._resamples(),
                ).report
                first = next(iter(result["cced"].values()))
                keys = ("cced", "cced_ci95", "cced_relative", "cced_relative_ci95", "mean_distance")
                structure = result["utility"]["similarity_structure"]
                table.append({**entry, **{key: first[key] for key in keys}, "similarity_structure": structure})
            return table

        inputs = [self._base_key(), self.run.key("variants"), self.settings, betas]
        result: list[dict[str, Any]] = self.run.stage("sweep", work, inputs=inputs, collective=True, keep_partial=True)
        return result

    def _config(self, output_dir: Path) -> CCDConfig:
        own = copy.deepcopy(self.config)
        own.output_dir, own.push_to_hub = str(output_dir), False
        own.group_columns, own.neutral_column = self._groups(), NEUTRAL
        return own

    def _groups(self) -> list[str]:
        """The group columns of the rows as the first stage saved them."""
        rows = self.part("train")
        return [] if rows is None else [name for name in rows.column_names if name not in (NEUTRAL, CLUSTER_COLUMN)]

    def record(self, after: Mapping[str, Any], sides: Mapping[str, Any], *, drawn: bool = False) -> Record:
        """What was found; with pictures of the embeddings before and after where asked."""
        if drawn:
            self.say("report", "drawing, and writing")
            pair = pictures(self._embeddings("audit_before"), self._embeddings("audit_after"))
            after = {**after, "projection": pair["after"]}
            sides = {**sides, "before": {**sides["before"], "projection": pair["before"]}}
        name = self.arguments.name or self.model_name
        asked = shown_settings(asdict(self.arguments), without=("resume", "name", "show_texts"))
        return audit_record(after, **sides, name=name, command="ccd", asked=asked)

    def _embeddings(self, stage: str) -> dict[str, np.ndarray]:
        with np.load(self.run.folder(stage) / _EMBEDDINGS) as arrays:
            return {name: arrays[name] for name in arrays.files}

    def about(self, record: Record) -> About:
        """What the card of the mitigated model says."""
        return About(
            title=self.model_name,
            summary=f"A text encoder: {self.base_name}, trained with content-conditional debiasing (CCD, Deng et al. "
            f"2024) to keep equal distances between the versions of a text about each group and its neutral version.",
            **from_record(record),
            load=LOAD_ENCODER,
            metadata={"library_name": "sentence-transformers", **card_metadata(record, base_model=self._base_id())},
        )

    def card(self, about: About) -> Callable[[Path, str], None]:
        """What writes the card of the model, for a repository or, without a name, for its own folder."""

        def write(folder: Path, repo_id: str) -> None:
            path = self.run.folder("train") / "model" / CARD
            base = path.read_text(encoding="utf-8") if path.is_file() else ""
            atomic_write_text(folder / CARD, artefact_card(about, repo_id, base=base))

        return write

    def publishable(self, folder: Path, about: About) -> dict[str, str]:
        """The mitigated model with its card."""
        # training_args.bin is a pickle with paths of this machine; nobody needs it to use the model.
        private = shutil.ignore_patterns("training_args.bin")
        shutil.copytree(self.run.folder("train") / "model", folder, dirs_exist_ok=True, ignore=private)
        self.card(about)(folder, "")
        return {"name": self.model_name}

    def variant_rows(self, counts: Mapping[str, int]) -> Callable[[Path, str], None]:
        """What writes the variants as a data set: the rows that were trained on, validated on and audited on."""
        parts = {"train": "train", "validation": "validation", "test": "audit"}

        def write(folder: Path, repo_id: str) -> None:
            splits = {split: rows for split, name in parts.items() if (rows := self.part(name)) is not None}
            write_splits(folder, splits)
            made = Derivation(
                name=repo_id,
                method="ccd",
                summary="each text in a version for every group and a neutral one, as a model was trained on them with "
                "content-conditional debiasing",
                source=Path(self.arguments.dataset).name,
                split=self.arguments.dataset_split,
                columns=[*self._groups(), NEUTRAL],
                options={"max_rows": self.arguments.max_rows, "seed": self.config.seed},
                counts=counts,
                n_rows=sum(map(len, splits.values())),
                attribute=self.attribute,
                reference="Deng et al. 2024, CCD",
                limits=("The split `test` was kept for the audits: a model that is trained on it cannot be measured "
                        "on it.",),
                versions=package_versions(("hf-fairness", "datasets")),
                repo_id=repo_id,
            )  # fmt: skip
            dataset_card(made).save(folder / CARD)

        return write


def _content(data: Any) -> Any:
    """Something `content_key` takes, for variants and pairs in any of the forms that audits take."""
    if isinstance(data, Mapping):
        return {str(name): _content(value) for name, value in data.items()}
    return data if data is None or isinstance(data, (Dataset, str)) else list(data)


def _describe(
    training: Mapping[str, Any], counts: Mapping[str, int], arguments: CCDArguments, config: CCDConfig
) -> dict[str, Any]:
    """The training as reports show it."""
    run, history = training["run"], training["history"]
    last = history[-1] if history else {}
    return {
        "method": "CCD: content-conditional debiasing (Deng et al. 2024)",
        "data": Path(arguments.dataset).name if Path(arguments.dataset).exists() else arguments.dataset,
        "n": run["n_train"],
        "n_validation": run["n_eval"],
        "n_held_out": counts["n_audit"],
        "n_in_evaluation": counts["n_in_evaluation"],
        "n_skipped": counts["n_without_terms"] + run["n_skipped"],
        "n_other_language": counts["n_other_language"],
        "rho": run["rho"],
        "seconds": last.get("train_runtime"),
        "hyperparameters": {
            "beta": run["beta"],
            "rho": run["rho_mode"],
            "learning_rate": config.learning_rate,
            "epochs": config.num_train_epochs,
            "batch_size": config.per_device_train_batch_size * config.world_size,
            "seed": run["seed"],
            "lora": run["lora"],
            "dropout": run["dropout"],
            "kept_step": training["kept_step"],
        },
        **({"control": CONTROL} if arguments.control else {}),
        "loss_curve": history,
    }
