"""What a data diet reads and what it decides: pairs of texts in, a mask over rows with its scores out."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from hf_fairness.measure.classifier.pairs import Pairs, read_pairs
from hf_fairness.runs import atomic_write_bytes, atomic_write_json, content_key
from hf_fairness.scores.rankings import RANKINGS, keep
from hf_fairness.trainers.data_diet.config import DataDietSettings
from hf_fairness.trainers.training.remembered import pack_arrays, unpack_arrays
from hf_fairness.utils import warned_elsewhere

Mask = NDArray[np.bool_]
Scores = dict[str, NDArray[np.float64]]
#: Beside a saved model: the mask and the scores, and what they mean in numbers.
PRUNED_FILE = "data_diet.npz"
REPORT_FILE = "data_diet.json"


def score_names(settings: DataDietSettings) -> tuple[str, ...]:
    """Scores to compute: none where the ranking needs none, else those that it needs and those that cost nothing."""
    needed = RANKINGS[settings.ranking].scores
    return tuple(dict.fromkeys(["ge", "el2n", *needed])) if needed else ()


@dataclass(frozen=True, eq=False)
class PairedRows:
    """A training set with its examples and their counterfactuals.

    Attributes:
        dataset: the rows, with their texts.
        pairs: which rows belong together.
        key: content key of the texts, labels and pairs.
    """

    dataset: Dataset
    pairs: Pairs
    key: str

    @classmethod
    def read(cls, dataset: Any, settings: DataDietSettings) -> PairedRows:
        """Find the pairs of a data set and check that the settings can be applied to them.

        Raises:
            TypeError: no `datasets.Dataset`.
            ValueError: see `hf_fairness.measure.classifier.pairs.read_pairs` and `hf_fairness.scores.rankings.keep`.
        """
        pairs = read_pairs(
            dataset,
            text_column=settings.text_column,
            counterfactual_column=settings.counterfactual_column,
            flag_column=settings.flag_column,
            label_column=settings.label_column,
        )
        columns = dict.fromkeys([pairs.text_column, pairs.counterfactual_column, settings.label_column])
        texts = dataset.select_columns(list(columns)).with_format(None)
        rows = cls(dataset, pairs, content_key(texts, pairs.factual, pairs.counterfactual))
        if settings.ranking in RANKINGS:  # a rehearsal, so that what is wrong is said before anything is trained
            with warned_elsewhere():  # of scores that are none yet
                rows.prune(settings, dict.fromkeys(RANKINGS[settings.ranking].scores, np.zeros(pairs.n)), seed=0)
        else:
            raise ValueError(f"ranking is {settings.ranking!r}, expected one of {', '.join(RANKINGS)}.")
        if "forgetting" in score_names(settings) and settings.score_after_epochs < 2:
            raise ValueError(
                f"The ranking {settings.ranking!r} counts what is forgotten from one epoch to the next, but "
                f"score_after_epochs is {settings.score_after_epochs}: set it to 2 or more."
            )
        return rows

    def prune(
        self, settings: DataDietSettings, scores: Mapping[str, NDArray[np.float64]], *, seed: int, **counts: int
    ) -> Pruned:
        """Decide which rows to keep.

        Args:
            settings: ranking and fractions.
            scores: what the ranking needs, one entry per example.
            seed: of random ranks.
            counts: what scoring cost, for the report.
        """
        kept = keep(
            settings.ranking,
            scores,
            self.pairs.changed,
            factual_fraction=settings.factual_fraction,
            counterfactual_fraction=settings.counterfactual_fraction,
            seed=seed,
            order=settings.order,
            counterfactual_base=settings.counterfactual_base,
        )
        mask = np.zeros(len(self.dataset), dtype=bool)
        mask[self.pairs.factual[kept.factual]] = True
        if self.pairs.is_long:
            mask[self.pairs.counterfactual[kept.counterfactual]] = True
        report = {
            "data_key": self.key,
            "settings": settings.diet(),
            "examples": self.pairs.n,
            "counterfactuals": int(self.pairs.changed.sum()),
            "rows": len(mask),
            "kept_factuals": int(kept.factual.sum()),
            "kept_counterfactuals": int(kept.counterfactual.sum()) if self.pairs.is_long else 0,
            "kept_rows": int(mask.sum()),
            **counts,
        }
        return Pruned(mask, dict(scores), report)

    def without(self, columns: Sequence[str]) -> PairedRows:
        """The same rows without those of the columns that they have."""
        there = set(columns) & set(self.dataset.column_names)
        return replace(self, dataset=self.dataset.remove_columns(sorted(there)))

    def as_long(self) -> PairedRows:
        """The same examples with every usable counterfactual in a row of its own, after all examples.

        The rows of the long layout stay as they are. Columns other than that of the texts are copied to the
        counterfactual rows, and the column of the counterfactual texts is dropped.
        """
        if self.pairs.is_long:
            return self
        from datasets import concatenate_datasets

        pairs = self.pairs
        text, other = pairs.text_column, pairs.counterfactual_column
        factual = self.dataset.remove_columns(other)
        added = self.dataset.select(np.flatnonzero(pairs.changed)).remove_columns(text).rename_column(other, text)
        added = added.select_columns(factual.column_names).cast(factual.features)
        places = np.where(pairs.changed, pairs.n - 1 + np.cumsum(pairs.changed), -1)
        long = Pairs(pairs.factual, places, pairs.changed, text, text, pairs.label_column)
        return PairedRows(concatenate_datasets([factual, added]), long, self.key)


@dataclass(frozen=True, eq=False)
class Pruned:
    """Which rows are kept, and why.

    Attributes:
        kept: per row of the training set, whether it is kept.
        scores: per name, the score of each example.
        report: counts of rows kept and of what scoring and training cost; see `PairedRows.prune`, `count_training`.
    """

    kept: Mask
    scores: Scores = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> NDArray[np.intp]:
        """Numbers of the rows that are kept, in their order."""
        return np.flatnonzero(self.kept)

    def count_training(self, rows: int) -> None:
        """Complete the report at the end of training.

        Args:
            rows: rows trained on, with repetition; with those of the short runs and the texts that were scored they
                are ``rows_used``, every pass through a model.
        """
        self.report["training_rows"] = rows
        self.report["rows_used"] = rows + self.report["scoring_training_rows"] + self.report["scoring_texts"]

    def numbers(self) -> dict[str, int]:
        """The counts of the report, named for a log."""
        return {f"data_diet_{name}": value for name, value in self.report.items() if isinstance(value, int)}

    def to_bytes(self) -> bytes:
        """The whole of it as an npz archive."""
        return pack_arrays({"kept": self.kept, **{f"score_{name}": value for name, value in self.scores.items()}})

    def save(self, folder: str | Path) -> None:
        """Write ``data_diet.npz`` and ``data_diet.json`` into a folder, each whole or not at all."""
        atomic_write_bytes(Path(folder, PRUNED_FILE), self.to_bytes())
        atomic_write_json(Path(folder, REPORT_FILE), self.report)

    @classmethod
    def load(cls, folder: str | Path) -> Pruned:
        """Read what `save` wrote.

        Raises:
            ValueError: the files are not there, or damaged.
        """
        try:
            arrays = unpack_arrays(Path(folder, PRUNED_FILE).read_bytes())
            return cls._of(arrays, json.loads(Path(folder, REPORT_FILE).read_text(encoding="utf-8")))
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(
                f"{folder} holds no {PRUNED_FILE} and {REPORT_FILE} that can be read ({error}): it is no checkpoint of "
                "a DataDietTrainer, or a damaged one."
            ) from error

    def to_record(self) -> dict[str, Any]:
        """The same as plain JSON, for the state of a Trainer; `from_record` reads it."""
        return {"arrays": base64.b64encode(zlib.compress(self.to_bytes())).decode("ascii"), "report": self.report}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Pruned:
        """Read what `to_record` gave."""
        return cls._of(unpack_arrays(zlib.decompress(base64.b64decode(record["arrays"]))), dict(record["report"]))

    @classmethod
    def _of(cls, arrays: Scores, report: dict[str, Any]) -> Pruned:
        scores = {name.removeprefix("score_"): value for name, value in arrays.items() if name != "kept"}
        return cls(arrays["kept"].astype(bool), scores, report)


def differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Settings in which a checkpoint differs from the run that is resumed, in words; empty where there are none."""
    return ", ".join(
        f"{key} = {stored.get(key)!r} (now {now.get(key)!r})"
        for key in {**stored, **now}
        if stored.get(key) != now.get(key)
    )


def describe(pruned: Pruned) -> str:
    """One sentence on what is kept and what it cost."""
    report = pruned.report
    return (
        f"Ranking {report['settings']['ranking']} keeps {report['kept_rows']} of {report['rows']} rows "
        f"({report['kept_factuals']} of {report['examples']} examples, {report['kept_counterfactuals']} of "
        f"{report['counterfactuals']} counterfactuals). Scoring trained on {report['scoring_training_rows']} rows in "
        f"{report['scoring_runs']} short run(s) and passed {report['scoring_texts']} texts through a model."
    )
