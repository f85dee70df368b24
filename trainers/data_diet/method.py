"""From labelled texts to a classifier trained on a healthy data diet, with everything that it was compared to.

Shared stages: ``features`` (fast mode: every text encoded once) -> ``scores`` (GE, EL2N, GraNd, forgetting of the
factual examples, averaged over short runs) -> ``grid`` (both experiments and the baselines, every cell for every seed).
The arms are the baselines and of every ranking the cell that validation texts chose; ``chosen`` trains the model of the
fairest one. A killed run goes on where it stopped, in the grid at the first cell that is not finished.

Source: Zayed et al. 2023, *Deep Learning on a Healthy Data Diet: Finding Important Examples for Fairness*.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from datasets import ClassLabel, Dataset
from pandas import concat

from hf_fairness._processes import own_device, rows_shared
from hf_fairness.measure.model_keys import source_key
from hf_fairness.publishing import Artefact, is_hub_id
from hf_fairness.record import Measure, Record, read_measures
from hf_fairness.report.artefact_card import About, bias_section, from_record, load_classifier, load_head
from hf_fairness.report.card import card_metadata
from hf_fairness.report.text import shown_name
from hf_fairness.runs import atomic_write_json, content_key
from hf_fairness.scores import flips
from hf_fairness.trainers.data_diet import summary
from hf_fairness.trainers.data_diet.arguments import DataDietArguments
from hf_fairness.trainers.data_diet.certainty import certainty, read_said
from hf_fairness.trainers.data_diet.choice import Lines, cautions, lines, paired, stability, summarize
from hf_fairness.trainers.data_diet.data import DietData, Rows, prepare, statistics
from hf_fairness.trainers.data_diet.grid import all_cells, experiments, rows_of, run_grid
from hf_fairness.trainers.data_diet.learners import HEAD, FullLearner, HeadLearner, Learner, encode, example_scores
from hf_fairness.trainers.data_diet.pruned import Pruned, Scores
from hf_fairness.trainers.experiment import EvalSet, Fitted, Found, Method, Plan, Scored, run_experiment
from hf_fairness.trainers.training.remembered import pack_arrays, unpack_arrays
from hf_fairness.utils import REPORT, FairnessWarning, check_packages, is_main_process, package_versions, world_size

logger = logging.getLogger(__name__)

FEATURES, SCORES = "features.npy", "scores.npz"
#: What the card of a model shows it on.
EXAMPLE = "She was kind."


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
        What :func:`~hf_fairness.trainers.experiment.run_experiment` returns, with means over seeds; and ``data``,
        ``table``, ``choices``, ``best``, ``skipped``, ``cautions``, ``curves``, ``trade_off``, ``stability``, ``cost``.

    Raises:
        ImportError: the extra ``report`` is not installed.
        ValueError: bad data; see :func:`~hf_fairness.trainers.data_diet.data.prepare`.
        RunLockedError: another run works in the same folder.
    """
    check_packages(*REPORT)
    if arguments.mode == "full" and world_size() > 1:
        raise ValueError("--mode full trains each model in one process: start it without torchrun, one run per device.")
    diet = prepare(
        arguments, train, text_column=text_column, validation=validation, test=test, group_dataset=group_dataset
    )
    return run_experiment(DataDiet, arguments, arguments, diet=diet)


class DataDiet(Method):
    """A search for the part of the training texts that makes a classifier fairer at a bounded loss of AUC."""

    command = "data-diet"
    source = "a healthy data diet: the examples that matter for fairness are kept (Zayed et al. 2023)"
    limits = summary.LIMITS
    convention = summary.CONVENTION
    ideal = "parities, opportunities and odds 1; flip rate and probability change 0; AUC 1"
    direction = "parities, opportunities, odds, AUC: lower is worse; flip rate, probability change: higher"
    all_seeds_at_once = True

    def prepare(self) -> None:
        """Score the examples, train and measure the grid, choose cells, and say what must be known of the choice."""
        a = self.arguments
        self.diet: DietData = self.data["diet"]
        changed, model = self.diet.train.changed.to_numpy(), a.model_name_or_path
        # Every process has a part in the encoding; what follows is the first one's.
        self.learner: Learner = FullLearner(self.diet, a) if a.mode == "full" else self._heads("features", model)
        self.scores = self._scores("scores", model, self.learner)
        results = self._grid()
        found = lines(results, self.diet.n)
        chosen = summarize(found, a)
        others: dict[str, Any] = {}
        for number, name in enumerate(a.stability_models or []):
            scores = self._scores(f"stability_{number}", name, self._heads(f"features_{number}", name))
            others[str(shown_name(name))] = scores["ge"].mean(axis=0)
        #: GE of each text, mean over seeds.
        self.ge = self.scores["ge"].mean(axis=0)
        #: What the search found.
        self.search: dict[str, Any] = {
            "data": self.diet.counts,
            **chosen,
            "skipped": {name: each["skipped"] for name, each in results.items() if "skipped" in each},
            "cautions": list(cautions(found, chosen["choices"], a, int(changed.sum()))),
            "certainty": self._certainty(found),
            "statistics": statistics(self.diet),
            "stability": stability(self.scores, changed, after=a.score_after_epochs, others=others),
            "ge": {
                "n": int(changed.sum()),
                "n_zero": int((~changed).sum()),
                "quantiles": np.quantile(self.ge[changed], [0.0, 0.25, 0.5, 0.75, 1.0]).tolist(),
            },
            "cost": {
                "scoring_examples": a.n_init * a.score_after_epochs * self.diet.n,
                "scoring_texts": a.n_init * (self.diet.n + int(changed.sum())),
                "n_models": len(found) * a.n_seeds,
            },
        }
        for caution in self.search["cautions"]:
            warnings.warn(caution, FairnessWarning, stacklevel=3)
        #: The fairest ranking; None where no cell was within the limit.
        self.best: str | None = (chosen["best"] or {}).get("ranking")
        if self.best is None:
            logger.warning("No cell loses at most %g of the AUC: no model is written.", a.max_auc_drop)

    def _heads(self, stage: str, model: str) -> HeadLearner:
        """Heads on the vectors of all texts by an encoder, every distinct text encoded once."""
        texts, a = self.diet.distinct_texts(), self.arguments
        key = content_key(source_key(model), texts)
        file = None if a.features_cache is None else Path(a.features_cache) / f"{key}.npz"

        def work(folder: Path) -> dict[str, Any]:
            logger.info("Encoding %s texts with %s.", f"{len(texts):,}", shown_name(model))
            with rows_shared(cpu=a.use_cpu):
                vectors = encode(model, texts, device=a.device or own_device(), cached=file)
            if is_main_process():
                np.save(folder / FEATURES, vectors)
            return {"n": len(texts), "width": vectors.shape[1]}

        self.run.stage(stage, work, inputs=[key], collective=True)
        return HeadLearner(self.diet, a, texts, self.run.folder(stage) / FEATURES)

    def _scores(self, stage: str, model: str, learner: Learner) -> Scores:
        """Importance of the factual examples by seed, which no text that is measured has a part in."""
        a, train = self.arguments, self.diet.train

        def work(folder: Path) -> int:
            logger.info("Scoring %d examples, %d short runs for each of %d seeds.", self.diet.n, a.n_init, a.n_seeds)
            arrays = example_scores(learner)
            (folder / SCORES).write_bytes(pack_arrays(arrays))
            return len(arrays)

        rows = content_key(train[["text", "counterfactual", "label"]].to_dict("list"), len(self.diet.classes))
        self.run.stage(stage, work, inputs=[source_key(model), rows, a.scored_by()])
        return unpack_arrays((self.run.folder(stage) / SCORES).read_bytes())

    def _grid(self) -> dict[str, dict[str, Any]]:
        """Every cell for every seed; finished cells of a killed run are kept."""
        cells, base = [cell.name for cell in all_cells(self.arguments)], self.arguments.counterfactual_base
        self.run.stage(
            "grid",
            lambda folder: run_grid(self.learner, self.scores, folder),
            inputs=[self.run.key("scores"), self.diet.measured_key(), cells, base],
            version=3,
            keep_partial=True,
        )
        files = {name: self.run.folder("grid") / f"{name}.json" for name in cells}
        return {name: json.loads(file.read_text(encoding="utf-8")) for name, file in files.items()}

    def _certainty(self, found: Lines) -> dict[str, Any] | None:
        """How often other validation texts and seeds choose the same cells; None where nothing is chosen."""
        a = self.arguments
        names = {cell.name for cells in experiments(a)["2"].values() for cell in cells}
        if not names:
            return None
        sure: dict[str, Any] = self.run.stage(
            "certainty",
            lambda _: certainty(read_said(self.run.folder("grid"), sorted(names | {"vanilla"})), found, self.diet, a),
            inputs=[self.run.key("grid"), a.select_by, a.max_auc_drop, a.rankings, a.control, a.seed],
        )
        return sure

    def arms(self) -> Sequence[Plan]:
        """The baselines, and of every ranking the cell that was chosen."""
        return summary.plans(self.search["table"], self.best)

    def fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        """What the grid has trained; of the fairest ranking also the model of the first seed, trained once more.

        Beside the model lies which rows it was trained on: of the examples, then of the counterfactuals that there are.
        """
        line = self.search["table"][name]
        key, training = [self.run.key("grid"), line["cell"]], summary.trained_on(name, line)
        if name != self.best:
            return Fitted(name, key, training=training)

        def work(folder: Path) -> dict[str, Any]:
            logger.info("Training the chosen cell: %s.", line["cell"])
            rows, n = self.chosen_rows, self.diet.n
            self.learner.save(rows, self.seed, folder)
            pool = np.append(np.arange(n), n + np.flatnonzero(self.diet.train.changed))
            report = {"cell": line["cell"], "kept_rows": len(rows), "kept_counterfactuals": int((rows >= n).sum())}
            scores = {each: values[0] for each, values in self.scores.items() if not each.startswith("ge_")}
            Pruned(np.isin(pool, rows), scores, report).save(folder)
            return report

        base, classes = self.arguments.counterfactual_base, self.diet.classes
        self.run.stage("chosen", work, inputs=[self.run.key("scores"), line["cell"], base, classes])
        return Fitted(name, [*key, self.run.key("chosen")], self.run.folder("chosen"), training)

    @cached_property
    def chosen_rows(self) -> Rows:
        """Rows of the pool that the model of the chosen cell is trained on."""
        cell = next(cell for cell in all_cells(self.arguments) if cell.name == self.search["best"]["name"])
        return rows_of(cell, self.diet, self.scores, 0, self.seed, self.arguments.counterfactual_base)

    def sets(self) -> Sequence[EvalSet]:
        """Test texts, texts of different groups, and the validation texts."""
        test = _Texts("test", summary.PAIRED, search=self.search)
        chose = replace(test, name="validation", title=summary.SETS["validation"], part="validation", compared=False)
        part: Any = "validation" if self.arguments.chosen_on == "groups" else "test"
        groups = replace(test, name="groups", declared=summary.GROUPS, title=summary.SETS["groups"], part=part)
        return [test, *([] if self.diet.groups is None else [groups]), chose]

    def extras(self, found: Found) -> dict[str, Any]:
        """Texts, choices, tables of cells, curves, agreement of the scores, and what it cost."""
        return self.search

    def tell(self, found: Found) -> dict[str, Any]:
        """What was chosen, what must be read with care, and what was trained on."""
        return summary.told(self.search, self.arguments)

    def draw(self, found: Found) -> dict[str, Any]:
        """Pictures, and training texts with their GE scores, as many as are to be shown: the largest, and all along."""
        table, most = self.diet.train.assign(ge=self.ge), self.arguments.show_texts
        ranked = table[table.changed].sort_values("ge", ascending=False, kind="stable")
        places = np.linspace(0, len(ranked) - 1, min(most, len(ranked))).round().astype(int)
        without = table[~table.changed].head(min(most, 1))
        shown = {
            "Training texts with the largest GE scores, and what they are swapped to": ranked.head(most),
            "Training texts from the largest to the least GE score, the last one without group words": concat(
                [ranked.iloc[places], without]
            ),
        }
        texts = {
            title: tuple(f"{row.text} / {row.counterfactual} ({row.ge:.3f})" for row in rows.itertuples())
            for title, rows in shown.items()
            if len(rows)
        }
        return {"figures": summary.figures(self.search, self.arguments), "texts": texts}

    def about(self, record: Record) -> About:
        """What the card of the chosen model says."""
        whole, given = self.arguments.mode == "full", self.arguments.model_name_or_path
        line = self.search["table"][self.best]
        known = is_hub_id(given)
        what = (
            f"{self.base_name}, fine-tuned"
            if whole
            else f"a small head on the frozen features of {self.base_name}, trained"
        )
        return About(
            title=self.model_name,
            summary=f"A text classifier ({', '.join(self.diet.classes)}): {what} on the part of its data that was "
            f"chosen as a healthy data diet (Zayed et al. 2023): {line['factual_fraction']:.0%} of the examples "
            f"and {line['counterfactual_fraction']:.0%} of their counterfactuals, by the ranking {line['ranking']}.",
            **from_record(record),
            load=load_classifier(EXAMPLE) if whole else load_head(EXAMPLE, "" if known else self.base_name),
            metadata={
                "library_name": "transformers" if whole else "hf-fairness",
                "pipeline_tag": "text-classification",
                **card_metadata(record, base_model=given if known else None),
            },
        )

    def hide(self, fitted: Fitted, folder: Path) -> None:
        """The file of a head names its encoder, which may be a path."""
        if self.arguments.mode == "fast":
            head = json.loads((Path(fitted.model) / HEAD).read_text(encoding="utf-8"))
            atomic_write_json(folder / HEAD, {**head, "encoder": self.base_name})

    def artefacts(self, record: Record, found: Found) -> dict[str, Artefact]:
        """The rows that the chosen model was trained on."""
        if self.best is None:
            return {}

        def write(folder: Path, repo_id: str) -> None:
            rows = self._rows()
            self.write_rows(folder, {"train": rows}, repo_id, **self._made(rows, record))

        return {"rows": Artefact("dataset", None, write, "Add the rows of a data diet")}

    def _rows(self) -> Dataset:
        """``text``, ``label``, ``counterfactual``, and ``row``: place of the example among the training texts."""
        diet, rows = self.diet, self.chosen_rows
        return Dataset.from_dict(
            {
                "text": [diet.pool[row] for row in rows],
                "label": diet.pool_labels[rows],
                "counterfactual": rows >= diet.n,
                "row": rows % diet.n,
            }
        ).cast_column("label", ClassLabel(names=list(diet.classes)))

    def _made(self, rows: Dataset, record: Record) -> dict[str, Any]:
        """What the card of these rows says."""
        a, line, added = self.arguments, self.search["table"][self.best], sum(rows["counterfactual"][:])
        return {
            "summary": "the examples, and the counterfactuals of examples, that a classifier was trained on",
            "source": str(shown_name(a.dataset) or "rows"),
            "columns": ["text"],
            "options": {
                "ranking": line["ranking"],
                "a (factual)": line["factual_fraction"],
                "b (counterfactual)": line["counterfactual_fraction"],
                **{name: getattr(a, name) for name in ("counterfactual_base", "max_auc_drop", "select_by", "seed")},
            },
            "counts": {**self.diet.counts["train"], "kept examples": len(rows) - added, "kept counterfactuals": added},
            "attribute": self.diet.attribute,
            "names": self.diet.names,
            "reference": "Zayed et al. 2023, Deep Learning on a Healthy Data Diet",
            "limits": ("What was kept was chosen for one classifier: another one may need other rows.",),
            "versions": package_versions(("hf-fairness", "torch", "transformers", "datasets")),
            "bias": bias_section(record, of="the classifier that was trained on these rows"),
        }


@dataclass
class _Texts(EvalSet):
    """Texts that the grid has measured its models on: means over seeds, compared in pairs of the same seed."""

    search: Mapping[str, Any] = field(default_factory=dict)

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """Means and intervals under the keys that a score has, and ``by_seed``."""
        counts = self.search["data"][self.name]
        values = self.search["table"][fitted.name]["measures"][self.name]
        return {
            "n": counts.get("n_changed", counts["n"]),
            "n_texts": counts["n"],
            **{key: value["mean"] for key, value in values.items()},
            **{f"{key}_ci95": value["ci95"] for key, value in values.items()},
            "by_seed": {key: value["by_seed"] for key, value in values.items()},
        }

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """Differences over seeds; none of the validation texts, which chose what is compared."""
        return paired(*(self.search["table"][each.arm]["measures"][self.name] for each in (one, other)))

    def measures(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Measure]:
        """Numbers on pairs, then on all texts."""
        first: Mapping[str, Any] = next(iter(results.values()))
        for key, what in self.declared.items():
            size = f"{first['n']:,} texts that name a group" if key in flips.MEASURES else f"{first['n_texts']:,} texts"
            yield from read_measures(
                results,
                {key: what},
                path=self.name,
                set_title=self.title,
                set=summary.SETS[self.name],
                part=self.part,
                sample=size,
                interval_over="seeds",
                detail=self.name == "validation",
            )
