"""From labelled texts to a classifier trained on a healthy data diet, with everything that it was compared to.

Stages: ``features`` (fast mode: every text encoded once) -> ``scores`` (GE, EL2N, GraNd, forgetting of the factual
examples, averaged over short runs) -> ``grid`` (both experiments and the baselines, every cell for every seed) ->
``model`` (the chosen cell) -> ``report``. A killed run goes on where it stopped, in the grid at the first cell that is
not finished.

Source: Zayed et al. 2023, *Deep Learning on a Healthy Data Diet: Finding Important Examples for Fairness*.
"""

from __future__ import annotations

import json
import logging
import time
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from datasets import ClassLabel, Dataset, Features, Value
from numpy.typing import NDArray

from hf_fairness.publishing import CARD, Artefact, is_hub_id, write_splits
from hf_fairness.record import Record
from hf_fairness.report import stage_report
from hf_fairness.report.artefact_card import About, artefact_card, bias_section, from_record, load_classifier, load_head
from hf_fairness.report.card import card_metadata
from hf_fairness.report.data_diet_record import data_diet_record
from hf_fairness.report.dataset_card import Derivation, dataset_card
from hf_fairness.report.text import shown_name
from hf_fairness.runs import Run, atomic_write_json, atomic_write_text, content_key
from hf_fairness.scores.meta import describe
from hf_fairness.trainers.data_diet.arguments import DataDietArguments
from hf_fairness.trainers.data_diet.choice import cautions, stability, summarize
from hf_fairness.trainers.data_diet.data import DietData, prepare
from hf_fairness.trainers.data_diet.features import HEAD, HeadLearner, distinct_texts, encode
from hf_fairness.trainers.data_diet.features import Features as TextFeatures
from hf_fairness.trainers.data_diet.grid import Cell, all_cells, rows_of, run_grid
from hf_fairness.trainers.data_diet.pruned import Pruned
from hf_fairness.utils import REPORT, FairnessWarning, check_packages, package_versions

if TYPE_CHECKING:
    from huggingface_hub import DatasetCard

logger = logging.getLogger(__name__)

FORMAT = "hf-fairness/data-diet/1"
SCORES = "scores.npz"
#: What the card of a model shows it on.
EXAMPLE = "She was kind."
#: Arguments that change where or whether something is computed, not what.
PLACES = ("output_dir", "resume", "use_cpu", "features_cache", "show_texts")

CONVENTION = (
    "paired: the same texts with their group words flipped, changed texts only, 1 - |difference of positive rates| "
    "between the versions about one group and about the other (kept/flipped: between texts as they are and flipped, "
    "which is equation 3 of the paper); "
    "group: different texts of different groups; fractions chosen on validation texts by the mean over seeds, test "
    "numbers reported; intervals: Student's over seeds, on these texts; p: exact sign-flip test over seeds, two-sided, "
    "not corrected for the number of comparisons"
)


def run_data_diet(
    arguments: DataDietArguments,
    train: Dataset,
    *,
    text_column: str = "text",
    validation: Dataset | None = None,
    test: Dataset | None = None,
    group_dataset: Dataset | None = None,
) -> dict[str, Any]:
    """Score, search, choose, train and report.

    Args:
        arguments: model, columns, grid and seeds; ``output_dir`` holds all stages.
        train: training texts with labels.
        text_column: column of the texts, in all sets.
        validation: texts to choose fractions on; None holds out a tenth of the training texts.
        test: texts to report on; None likewise.
        group_dataset: texts of different groups with labels, for group metrics.

    Returns:
        The report: ``data``, ``table``, ``choices``, ``best``, ``cautions``, ``curves``, ``trade_off``, ``stability``,
        ``cost``, ``meta``; ``record``: the same as a :class:`hf_fairness.record.Record`; ``files``: paths of what was
        written; ``model``: its folder, or None; ``artefacts``: what
        `hf_fairness.publishing.publish` takes.

    Raises:
        ImportError: the extra ``report`` is not installed.
        ValueError: bad data; see :func:`~hf_fairness.trainers.data_diet.data.prepare`.
        RunLockedError: another run works in the same folder.
    """
    check_packages(*REPORT)
    sets = {"validation": validation, "test": test, "group_dataset": group_dataset}
    data = prepare(arguments, train, text_column=text_column, **sets)
    with Run(arguments.output_dir, arguments, resume=arguments.resume) as run:
        search = _Search(run, arguments, data)
        scores = search.scores()
        results = search.grid(scores)
        report = search.report(scores, results)
        record = data_diet_record(report, name=arguments.name)
        model = search.model(scores, report, record)
        shown = replace(record, texts=search.texts(scores))  # of the report alone: cards are public
        files = stage_report(run, lambda: shown, report, inputs=[report, arguments.name, shown.texts])
        return {
            **report,
            "record": shown,
            "files": files,
            "model": model,
            "artefacts": {} if model is None else search.artefacts(scores, report, record),
        }


@dataclass
class _Search:
    """The stages of one search."""

    run: Run
    arguments: DataDietArguments
    data: DietData

    def __post_init__(self) -> None:
        self._learner: Any = None
        groups = self.data.groups
        train, *measured = (
            [split.texts, split.counterfactuals, split.labels]
            for split in (self.data.train, self.data.validation, self.data.test)
        )
        #: Of what is trained on, and of everything that is read.
        self.train_key = content_key(train, len(self.data.classes))
        self.data_key = content_key(
            train,
            *measured,
            [] if groups is None else [groups.texts, [str(group) for group in groups.groups], groups.labels],
            [self.data.attribute.digest, self.data.names, self.data.positive],
        )

    def _model_key(self, name: str) -> Path | str:
        path = Path(name)
        return path if path.exists() else name

    def features(self, stage: str, model: str) -> TextFeatures:
        """Vectors of all texts by an encoder."""
        texts = distinct_texts(self.data)

        def work(folder: Path) -> dict[str, Any]:
            start, cache = time.perf_counter(), self.arguments.features_cache
            logger.info("Encoding %s texts with %s.", f"{len(texts):,}", shown_name(model))
            file = None if cache is None else Path(cache) / f"{content_key(self._model_key(model))}.npz"
            return {**encode(model, texts, folder, device=self.arguments.device, cache=file), "seconds": _since(start)}

        self.run.stage(stage, work, inputs=[self._model_key(model), content_key(texts)])
        return TextFeatures.load(self.run.folder(stage), texts)

    def learner(self) -> Any:
        """Small heads, or whole models; made when the first stage needs it."""
        if self._learner is None:
            name = self.arguments.model_name_or_path
            if self.arguments.mode == "fast":
                settings = self.arguments.heads(len(self.data.classes))
                self._learner = HeadLearner(self.data, self.features("features", name), settings, name=name)
            else:
                from hf_fairness.trainers.data_diet.full import FullLearner

                self._learner = FullLearner(self.data, self.arguments)
        return self._learner

    def scores(self) -> dict[str, NDArray[np.float64]]:
        """Importance of the factual examples, by seed."""
        learner, arguments = self.learner(), self.arguments

        def work(folder: Path) -> dict[str, Any]:
            start = time.perf_counter()
            logger.info(
                "Scoring %s examples over %d short runs for each of %d seeds.",
                f"{self.data.n:,}",
                arguments.n_init,
                len(arguments.seeds),
            )
            found = learner.example_scores(arguments.seeds, n_init=arguments.n_init, after=arguments.score_after_epochs)
            _save_arrays(folder / SCORES, found)
            return {"seconds": _since(start)}

        self.run.stage("scores", work, inputs=self._training_inputs())
        return _load_arrays(self.run.folder("scores") / SCORES)

    def _training_inputs(self) -> list[Any]:
        """What scores depend on: not on the texts that are measured, nor on which label is the positive one."""
        a = self.arguments
        how = [
            a.mode,
            [a.use_peft, a.lora_r, a.lora_alpha, a.lora_dropout],
            a.seeds,
            a.n_init,
            a.score_after_epochs,
            a.num_train_epochs,
            a.per_device_train_batch_size,
            a.learning_rate,
            a.hidden,
        ]
        return [self._model_key(a.model_name_or_path), self.train_key, how]

    def grid(self, scores: dict[str, NDArray[np.float64]]) -> dict[str, dict[str, Any]]:
        """Every cell for every seed; finished cells of a killed run are kept."""
        cells = [cell.name for cell in all_cells(self.arguments)]

        def work(folder: Path) -> dict[str, Any]:
            start = time.perf_counter()
            logger.info("Training %d cells for each of %d seeds.", len(cells), len(self.arguments.seeds))
            run_grid(self.learner(), self.data, scores, self.arguments, folder)
            return {"seconds": _since(start)}

        inputs = [self.run.key("scores"), self.data_key, cells, self.arguments.counterfactual_base]
        self.run.stage("grid", work, inputs=inputs, keep_partial=True)
        return run_grid(self.learner(), self.data, scores, self.arguments, self.run.folder("grid"), show_progress=False)

    def model(self, scores: dict[str, NDArray[np.float64]], report: dict[str, Any], record: Record) -> Path | None:
        """The chosen cell trained with the first seed and saved; None where no cell was within the limit."""
        if report["best"] is None:
            logger.warning("No cell loses at most %g of the AUC: no model is written.", self.arguments.max_auc_drop)
            return None
        chosen, card = self.chosen(report), artefact_card(self.about(report, record))

        def work(folder: Path) -> dict[str, Any]:
            logger.info("Training the chosen cell: %s.", chosen.name)
            found = self._final(chosen, scores, folder)
            atomic_write_text(folder / CARD, card)
            return found

        inputs = [self.run.key("grid"), asdict(chosen), self.arguments.seed, self.data.classes, card]
        self.run.stage("model", work, inputs=inputs, version=2)
        return self.run.folder("model")

    def texts(self, scores: dict[str, NDArray[np.float64]]) -> dict[str, tuple[str, ...]]:
        """The training texts with the largest GE scores beside what they are swapped to, as many as are to be shown."""
        train, means = self.data.train, scores["ge"].mean(axis=0)
        rows = np.flatnonzero(train.changed)
        rows = rows[np.argsort(-means[rows], kind="stable")][: self.arguments.show_texts]
        shown = tuple(f"{train.texts[row]} / {train.counterfactuals[row]} ({means[row]:.3f})" for row in rows)
        return {"Training texts with the largest GE scores, and what they are swapped to": shown} if shown else {}

    def chosen(self, report: dict[str, Any]) -> Cell:
        """The cell that was chosen."""
        return next(cell for cell in all_cells(self.arguments) if cell.name == report["best"]["name"])

    def about(self, report: dict[str, Any], record: Record) -> About:
        """What the card of the chosen model says."""
        a, base = self.arguments, report["arguments"]["model_name_or_path"]
        whole, cell = a.mode == "full", self.chosen(report)
        what = f"{base}, fine-tuned" if whole else f"a small head on the frozen features of {base}, trained"
        known = is_hub_id(a.model_name_or_path)
        return About(
            title=f"{base.split('/')[-1]}-data-diet",
            summary=f"A text classifier ({', '.join(self.data.classes)}): {what} on the part of its data that was "
            f"chosen as a healthy data diet (Zayed et al. 2023): {cell.factual:.0%} of the examples and "
            f"{cell.counterfactual:.0%} of their counterfactuals, by the ranking {cell.ranking}.",
            **from_record(record),
            load=load_classifier(EXAMPLE) if whole else load_head(EXAMPLE, "" if known else base),
            metadata={
                "library_name": "transformers" if whole else "hf-fairness",
                "pipeline_tag": "text-classification",
                **card_metadata(record, base_model=a.model_name_or_path if known else None),
            },
        )

    def artefacts(
        self, scores: dict[str, NDArray[np.float64]], report: dict[str, Any], record: Record
    ) -> dict[str, Artefact]:
        """What can be published: the chosen model, and the rows that it was trained on."""
        about = self.about(report, record)

        def model(folder: Path, repo_id: str) -> None:
            atomic_write_text(folder / CARD, artefact_card(about, repo_id))
            if self.arguments.mode == "fast":  # the file names the encoder, which may be a path
                head = json.loads((self.run.folder("model") / HEAD).read_text(encoding="utf-8"))
                atomic_write_json(folder / HEAD, {**head, "encoder": report["arguments"]["model_name_or_path"]})

        def rows(folder: Path, repo_id: str) -> None:
            kept = self.kept_rows(scores, report)
            write_splits(folder, {"train": kept})
            self._rows_card(kept, report, record, repo_id).save(folder / CARD)

        return {
            "model": Artefact("model", self.run.folder("model"), model, "Add the model trained on a data diet"),
            "rows": Artefact("dataset", None, rows, "Add the rows of a data diet"),
        }

    def kept_rows(self, scores: dict[str, NDArray[np.float64]], report: dict[str, Any]) -> Dataset:
        """The texts that the chosen model was trained on, with their labels, and which are counterfactuals.

        Returns:
            ``text``, ``label``, ``counterfactual``, and ``row``: place of the example among the training texts.
        """
        data, a, n = self.data, self.arguments, self.data.n
        if a.mode == "full":  # examples, then the counterfactuals that there are
            pool = np.concatenate([np.arange(n), n + np.flatnonzero(data.train.changed)])
            places = pool[Pruned.load(self.run.folder("model")).rows]
        else:
            places = rows_of(self.chosen(report), data, scores, 0, a.seed, a.counterfactual_base)
        columns = {
            "text": [data.pool[place] for place in places],
            "label": data.pool_labels[places].tolist(),
            "counterfactual": [bool(place >= n) for place in places],
            "row": [int(place % n) for place in places],
        }
        kinds = {"text": Value("string"), "label": ClassLabel(names=list(data.classes))}
        features = Features({**kinds, "counterfactual": Value("bool"), "row": Value("int64")})
        return Dataset.from_dict(columns, features=features)

    def _rows_card(self, kept: Dataset, report: dict[str, Any], record: Record, repo_id: str) -> DatasetCard:
        given, cell = report["arguments"], self.chosen(report)
        added = sum(kept["counterfactual"])
        return dataset_card(
            Derivation(
                name=repo_id,
                method="data-diet",
                summary="the examples, and the counterfactuals of examples, that a classifier was trained on",
                source=str(given["dataset"] or "rows"),
                split=self.arguments.dataset_split,
                columns=["text"],
                options={
                    "ranking": cell.ranking,
                    "a (factual)": cell.factual,
                    "b (counterfactual)": cell.counterfactual,
                    **{name: given[name] for name in ("counterfactual_base", "max_auc_drop", "select_by", "seed")},
                },
                counts={**report["data"]["train"], "kept examples": len(kept) - added, "kept counterfactuals": added},
                n_rows=len(kept),
                attribute=self.data.attribute,
                names=self.data.names,
                reference="Zayed et al. 2023, Deep Learning on a Healthy Data Diet",
                limits=("What was kept was chosen for one classifier: another one may need other rows.",),
                versions=package_versions(("hf-fairness", "torch", "transformers", "datasets")),
                repo_id=repo_id,
                bias=bias_section(record, of="the classifier that was trained on these rows"),
            )
        )

    def _final(self, chosen: Cell, scores: dict[str, NDArray[np.float64]], folder: Path) -> dict[str, Any]:
        learner = self.learner()
        if self.arguments.mode == "full":
            return dict(learner.final(chosen, folder))
        seed = self.arguments.seed
        rows = rows_of(chosen, self.data, scores, 0, seed, self.arguments.counterfactual_base)
        learner.save(learner.fit([rows], [seed]), 0, folder)
        return {"n_rows": len(rows)}

    def report(self, scores: dict[str, NDArray[np.float64]], results: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Everything that was found, as plain values."""
        arguments, data = self.arguments, self.data
        found = summarize(results, arguments, data.n)
        found["cautions"] = cautions(results, found["choices"], arguments, data.n, int(data.train.changed.sum()))
        for caution in found["cautions"]:
            warnings.warn(caution, FairnessWarning, stacklevel=3)
        shown = {key: value for key, value in asdict(arguments).items() if key not in PLACES}
        for key in ("model_name_or_path", "dataset", "validation_dataset", "test_dataset", "group_dataset", "names"):
            shown[key] = shown_name(shown[key])
        shown["stability_models"] = [shown_name(name) for name in arguments.stability_models or []]
        seeds = len(arguments.seeds)
        return {
            "format": FORMAT,
            "arguments": shown,
            "data": {
                "train": data.train.counts(),
                "validation": data.validation.counts(),
                "test": data.test.counts(),
                "groups": None if data.groups is None else {"n": len(data.groups.texts)},
                "classes": data.classes,
                "positive_label": data.classes[data.positive],
            },
            **found,
            "stability": stability(
                scores, data.train.changed, after=arguments.score_after_epochs, others=self._other_models()
            ),
            "cost": {
                "scoring_examples": arguments.n_init * arguments.score_after_epochs * data.n,
                "scoring_texts": arguments.n_init * (data.n + int(data.train.changed.sum())),
                "n_models": sum("skipped" not in each for each in results.values()) * seeds,
            },
            "meta": describe(
                n=int(data.test.changed.sum()),
                convention=CONVENTION,
                ideal="parities, opportunities and odds 1; flip rate and probability change 0; AUC 1",
                direction="parities, opportunities, odds, AUC: lower is worse; flip rate, probability change: higher",
                seed=arguments.seed,
                n_seeds=seeds,
            ),
        }

    def _other_models(self) -> dict[str, NDArray[np.float64]]:
        """GE of the examples by heads on other encoders, for the first seed."""
        arguments, found = self.arguments, {}
        for number, name in enumerate(arguments.stability_models or []):
            features = self.features(f"features_{number}", name)
            learner = HeadLearner(self.data, features, arguments.heads(len(self.data.classes)))

            def work(folder: Path, learner: HeadLearner = learner) -> dict[str, Any]:
                scores = learner.example_scores(
                    arguments.seeds, n_init=arguments.n_init, after=arguments.score_after_epochs
                )
                _save_arrays(folder / SCORES, {"ge": scores["ge"]})
                return {}

            inputs = [self._model_key(name), *self._training_inputs()[1:]]
            self.run.stage(f"scores_{number}", work, inputs=inputs)
            arrays = _load_arrays(self.run.folder(f"scores_{number}") / SCORES)
            found[shown_name(name) or name] = arrays["ge"].mean(axis=0)
        return found


def _since(start: float) -> float:
    return round(time.perf_counter() - start, 3)


def _save_arrays(path: Path, arrays: dict[str, NDArray[np.float64]]) -> None:
    values: dict[str, Any] = dict(arrays)
    np.savez(path, **values)


def _load_arrays(path: Path) -> dict[str, NDArray[np.float64]]:
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}
