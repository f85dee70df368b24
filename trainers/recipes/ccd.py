"""From a text data set and an encoder to a mitigated encoder with an honest card.

Stages: ``variants`` (male, female, neutral ... of every text) -> ``audit_before`` -> ``train`` -> ``control`` (the
same training without the bias part) -> ``audit_after`` and ``audit_control`` -> ``report`` -> ``model`` (a folder
ready to publish). Each is kept in a folder of the output directory; a killed run goes on where it stopped.

Source: Deng et al. 2024, *LLM-Assisted Content Conditional Debiasing for Fair Text Embedding*.
"""

from __future__ import annotations

import copy
import logging
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, load_from_disk

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.augment import GroupVariants, summarize
from hf_fairness.measure.audit import audit
from hf_fairness.report import card_metadata, card_section, update_card, write_report
from hf_fairness.report.projection import pictures
from hf_fairness.runs import Run, atomic_write_text
from hf_fairness.trainers.ccd_config import CCDConfig
from hf_fairness.trainers.ccd_sweep import BETAS, sweep_beta, training_settings
from hf_fairness.trainers.ccd_trainer import CCDTrainer
from hf_fairness.trainers.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.recipes.ccd_arguments import CCDArguments
from hf_fairness.utils import is_main_process

logger = logging.getLogger(__name__)

#: Name of the set of variants that the training data themselves give where the package carries none.
VALIDATION = "validation rows"
_EMBEDDINGS = "embeddings.npz"


def run_ccd(
    arguments: CCDArguments,
    config: CCDConfig,
    rows: Dataset,
    *,
    text_column: str | None = None,
    evaluation: Mapping[str, Any] | None = None,
    sts_pairs: Any = None,
) -> dict[str, Any]:
    """Audit an encoder, mitigate it with CCD, audit it again, and write report, card and model.

    Call it on every process of a distributed launch: training runs on all, the rest on the first.

    Args:
        arguments: model, attribute and what to run; its file names are for the reader, see `rows`.
        config: settings of the training; ``config.output_dir`` holds all stages.
        rows: texts, or rows that hold variants already.
        text_column: column of the texts; None when `rows` hold one text column per group and ``neutral``.
        evaluation: sets of variants by name to measure CCED on, beside the one this package carries.
        sts_pairs: rows with ``sentence1``, ``sentence2``, ``score``.

    Returns:
        model: folder of the mitigated model; report: paths by kind; before, after, control (or None): audits;
        training: how it was trained; sweep: list or None.

    Raises:
        ValueError: bad data, or a model that is no encoder.
        RunLockedError: another run works in the same folder.
    """
    attribute = load_attribute(arguments.attribute, language=arguments.language)
    settings = training_settings(config)
    with Run(config.output_dir, {**asdict(arguments), "training": settings}, resume=arguments.resume) as run:
        pipeline = _Pipeline(run, arguments, config, attribute, settings)
        counts = pipeline.variants(rows, text_column)
        evaluation = dict(evaluation or {})
        before = pipeline.audit("audit_before", evaluation, sts_pairs, None)
        training = pipeline.train("train", bias=True)
        control_training = pipeline.train("control", bias=False) if arguments.control else None
        sweep = pipeline.sweep() if arguments.sweep else None
        after = pipeline.audit("audit_after", evaluation, sts_pairs, "train")
        control = pipeline.audit("audit_control", evaluation, sts_pairs, "control") if control_training else None
        training = _describe(training, counts, arguments, config) | ({"sweep": sweep} if sweep else {})
        sides = {"before": before, "control": control, "training": training}
        inputs = [after, sides]
        run.stage("report", lambda folder: pipeline.report(folder, after, sides), inputs=inputs)
        run.stage("model", lambda folder: pipeline.publishable(folder, after, sides), inputs=[run.key("train"), inputs])
        report = run.folder("report")
        return {
            "model": run.folder("model"),
            "report": {path.name: path for path in sorted(report.iterdir())} if report.is_dir() else {},
            "before": before,
            "after": after,
            "control": control,
            "training": training,
            "sweep": sweep,
        }


@dataclass
class _Pipeline:
    """The stages of one run."""

    run: Run
    arguments: CCDArguments
    config: CCDConfig
    attribute: Attribute
    settings: dict[str, Any]

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

    def variants(self, rows: Dataset, column: str | None) -> dict[str, int]:
        """Rows with one text per group and a neutral one, saved; and how many were kept and left out."""

        def work(folder: Path) -> dict[str, int]:
            made, other_language = rows, 0
            if column is not None:
                other_language = summarize(rows[column], attribute=self.attribute)["other_language"]
                function = GroupVariants(column, attribute=self.attribute)
                made = rows.map(function, batched=True, remove_columns=rows.column_names, desc="Making variants")
            kept = made.filter(lambda flag: flag, input_columns="has_terms") if "has_terms" in made.features else made
            if len(kept) == 0:
                raise ValueError(
                    f"None of the {len(rows)} rows holds a term of {self.attribute.name} "
                    f"({self.attribute.language}): "
                    "check the column, the attribute and the language of the texts."
                )
            limit = min(len(kept), self.arguments.max_rows or len(kept))
            kept.select(range(limit)).save_to_disk(folder)
            return {
                "n_rows": len(rows),
                "n_without_terms": len(rows) - len(kept),
                "n_other_language": other_language,
                "n": limit,
            }

        inputs = [rows, column, self.attribute.digest, self.arguments.max_rows]
        counts: dict[str, int] = self.run.stage("variants", work, inputs=inputs)
        return counts

    def audit(self, name: str, evaluation: dict[str, Any], sts_pairs: Any, trained: str | None) -> dict[str, Any]:
        """Audit of the base model (``trained=None``) or of what a training stage left."""

        def work(folder: Path) -> dict[str, Any]:
            sets = evaluation or self._validation_rows()
            model = self.base_model if trained is None else str(self.run.folder(trained) / "model")
            found = audit(
                model,
                reference=None if trained is None else self.base_model,
                attribute=self.attribute,
                variants=sets,
                sts_pairs=sts_pairs,
                device=str(self.config.device),
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
            _content(evaluation),
            _content(sts_pairs),
        ]
        report: dict[str, Any] = self.run.stage(name, work, inputs=inputs)
        return {**report, "model": self.base_name if trained is None else self.model_name}

    def _validation_rows(self) -> dict[str, Any]:
        """Held-out rows of the training data, for an attribute without texts of its own."""
        from hf_fairness.measure.audit import built_in_variants

        if built_in_variants(self.attribute) is not None:
            return {}
        rows = load_from_disk(self.run.folder("variants"))
        held_out = min(1000, max(2, len(rows) // 10))
        return {VALIDATION: rows.select(range(len(rows) - held_out, len(rows)))}

    def train(self, name: str, *, bias: bool) -> dict[str, Any]:
        """Train on all processes; returns what the run was made of and its losses."""

        def work(folder: Path) -> dict[str, Any]:
            own = self._config(folder / "checkpoints")
            if not bias:
                own.bias_weight, own.dropout = 0.0, True
            trainer = CCDTrainer(self.base_model, own, load_from_disk(self.run.folder("variants")))
            card = trainer.model.model_card_data
            card.base_model = self._base_id()
            card.first_save = False  # or a folder's name is looked up on the Hub as if it were an id
            trainer.train(resume_from_checkpoint=last_whole_checkpoint(own.output_dir))
            trainer.save_model(str(folder / "model"))
            trainer.accelerator.wait_for_everyone()
            if is_main_process():
                shutil.rmtree(own.output_dir, ignore_errors=True)
            run = {**trainer.describe_run(), "base_model": self.base_name}
            return {"run": run, "history": trainer.state.log_history}

        inputs = [self._base_key(), self.run.key("variants"), self.settings, bias]
        result: dict[str, Any] = self.run.stage(name, work, inputs=inputs, collective=True, keep_partial=True)
        return result

    def sweep(self) -> list[dict[str, Any]]:
        """One training per beta, and CCED and similarity structure of each."""

        def work(folder: Path) -> list[dict[str, Any]]:
            rows = load_from_disk(self.run.folder("variants"))
            found = sweep_beta(self.base_model, self._config(folder), rows, betas=BETAS)
            table = []
            for entry in found if is_main_process() else []:
                path = entry.pop("output_dir")
                result = audit(
                    path,
                    reference=self.base_model,
                    attribute=self.attribute,
                    variants=self._validation_rows(),
                    seat_tests=[],
                    device=str(self.config.device),
                    **self._resamples(),
                ).report
                first = next(iter(result["cced"].values()))
                keys = ("cced", "cced_ci95", "cced_relative", "cced_relative_ci95", "mean_distance")
                structure = result["utility"]["similarity_structure"]
                table.append({**entry, **{key: first[key] for key in keys}, "similarity_structure": structure})
            return table

        inputs = [self._base_key(), self.run.key("variants"), self.settings, list(BETAS)]
        result: list[dict[str, Any]] = self.run.stage("sweep", work, inputs=inputs, collective=True, keep_partial=True)
        return result

    def _config(self, output_dir: Path) -> CCDConfig:
        own = copy.deepcopy(self.config)
        own.output_dir, own.push_to_hub = str(output_dir), False
        return own

    def report(self, folder: Path, after: dict[str, Any], sides: Mapping[str, Any]) -> list[str]:
        """Report files, with a picture of the embeddings before and after."""
        drawn = pictures(self._embeddings("audit_before"), self._embeddings("audit_after"))
        shown = {**after, "projection": drawn["after"]}
        before = {**sides["before"], "projection": drawn["before"]}
        paths = write_report(shown, folder, **{**sides, "before": before})
        return sorted(path.name for path in paths.values())

    def _embeddings(self, stage: str) -> dict[str, np.ndarray]:
        with np.load(self.run.folder(stage) / _EMBEDDINGS) as arrays:
            return {name: arrays[name] for name in arrays.files}

    def publishable(self, folder: Path, after: dict[str, Any], sides: Mapping[str, Any]) -> dict[str, str]:
        """The mitigated model with its card."""
        # training_args.bin is a pickle with paths of this machine; nobody needs it to use the model.
        private = shutil.ignore_patterns("training_args.bin")
        shutil.copytree(self.run.folder("train") / "model", folder, dirs_exist_ok=True, ignore=private)
        card = folder / "README.md"
        text = card.read_text(encoding="utf-8") if card.is_file() else ""
        metadata = card_metadata(after, base_model=self._base_id())
        atomic_write_text(card, update_card(text, card_section(after, **sides), metadata))
        return {"name": self.model_name}


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
        },
        "control": "the same texts, steps and seed with dropout, trained on the representation part alone",
        "loss_curve": history,
    }
