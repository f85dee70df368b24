"""What the models of an IBADR run are measured on: validation, test and challenge sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from hf_fairness.measure.classifier.challenge import challenge_accuracy, challenge_rows
from hf_fairness.measure.classifier.challenge_sets import CHALLENGE_SETS, ChallengeSet
from hf_fairness.record import Measure
from hf_fairness.runs import content_key
from hf_fairness.scores.challenge import CHALLENGE_MEASURES, MEASURES
from hf_fairness.scores.compare import paired_comparison
from hf_fairness.trainers.experiment import EvalSet, Fitted, Scored
from hf_fairness.trainers.ibadr.data import LABEL, PairTask, read_rows

_CHOSEN = "Models are chosen by it on these rows: it is somewhat too high."
_ON_VALIDATION = replace(MEASURES["accuracy"], convention=f"{MEASURES['accuracy'].convention} {_CHOSEN}")


@dataclass
class LabelledSet(EvalSet):
    """Rows to measure on.

    A model's guesses are read from the folder of its scores, see :meth:`file`; two models are compared by whether they
    are right, row by row.

    Attributes:
        rules: what counts as right.
        rows: mappings with ``label`` (a name), the text columns of ``columns``, and what divides the rows.
        columns: the text columns in the order in which the models read them.
        label_names: names of the classes of the models.
        seed: of the resamples.
    """

    rules: ChallengeSet = field(default_factory=lambda: ChallengeSet(()))
    rows: list[dict[str, Any]] = field(default_factory=list, repr=False)
    columns: tuple[str, ...] = ()
    label_names: Sequence[str] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        clusters = [row.get("cluster") for row in self.rows]
        self.clusters = list(map(str, clusters)) if all(clusters) else None
        self.key = content_key(self.rules, self.rows, list(self.columns), list(self.label_names), self.seed)

    def texts(self, names: Sequence[str]) -> Dataset:
        """The texts, in columns of these names."""
        columns = zip(names, self.columns, strict=True)
        return Dataset.from_dict({name: [row[own] for row in self.rows] for name, own in columns})

    def file(self, folder: Path) -> Path:
        """Where the number of the class that a model gives to each row is kept."""
        return folder / f"{self.key}.npy"

    def right(self, guesses: NDArray[np.int64]) -> NDArray[np.float64]:
        """1 where a guess counts as right, shape (n,)."""
        names = [self.rules.read_label(name) for name in self.label_names]
        golds = [self.rules.read_label(row[LABEL]) for row in self.rows]
        pairs = zip((names[guess] for guess in guesses), golds, strict=True)
        return np.array([float(guess == gold or guess in self.rules.accepts.get(gold, ())) for guess, gold in pairs])

    def accuracy(self, guesses: Sequence[int], **options: Any) -> dict[str, Any]:
        """What `challenge_accuracy` says of guesses, by number."""
        given: dict[str, Any] = {"predictions": guesses, "label_names": list(self.label_names), "seed": self.seed}
        return challenge_accuracy(self.rows, dataset=self.rules, **given, **options)

    def score(self, fitted: Fitted, folder: Path) -> dict[str, Any]:
        """Accuracy over all rows, by gold label, and by what else the rows are divided by."""
        found = self.accuracy(np.load(self.file(folder)).tolist())
        found["meta"] |= {"dataset": self.name, "model": fitted.name}
        return found

    def compare(self, one: Scored, other: Scored) -> dict[str, Any]:
        """The paired comparison of two models, by whole clusters where the rows have them."""
        sides = [self.right(np.load(self.file(each.folder))) for each in (one, other)]
        return {"accuracy": paired_comparison(*sides, clusters=self.clusters, seed=self.seed)}

    def measures(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Measure]:
        """Accuracy on the set, then on each part of it."""
        yield from super().measures(results)
        for kind, values in _parts(next(iter(results.values()))).items():
            for value in values:
                found = {arm: _parts(result)[kind].get(value, {}) for arm, result in results.items()}
                title = f"{self.title}, {'gold label' if kind == 'label' else kind} {value}"
                part = EvalSet(f"{self.name}/{kind}/{value}", self.declared, title, self.path, self.part)
                yield from (replace(measure, detail=True) for measure in part.measures(found))

    def check(self, task: PairTask) -> None:
        """Look at the set before any model is trained: measure guesses.

        Raises:
            ValueError: it could not be measured, whatever a model says.
        """
        for name in self.label_names:
            try:
                self.rules.read_label(name)
            except ValueError as error:
                raise ValueError(
                    f"{self.name}: the data have the label {name!r}, which the set does not know; it has "
                    f"{', '.join(self.rules.labels)}. Say what the labels of the data are with --class_names, in the "
                    f"order of their numbers; now they are {', '.join(self.label_names)}."
                ) from error
        try:
            self.texts(task.columns)
            self.accuracy([0] * len(self.rows), n_bootstrap=0)
        except (ValueError, KeyError) as error:
            raise ValueError(f"{self.name}: {error}") from error


def _parts(result: Mapping[str, Any]) -> dict[str, Mapping[str, Mapping[str, Any]]]:
    """What a set is divided by, and the accuracies of its parts."""
    return {"label": result.get("labels", {}), **result.get("by", {})}


def labelled_sets(
    task: PairTask, challenge: Mapping[str, Any] | None, *, hypothesis_first: bool = False, label_column: str = LABEL
) -> list[LabelledSet]:
    """Validation, test and challenge sets.

    Args:
        task: the data.
        challenge: by title. A published set by its name (``hans``, or ``fever_symmetric:v2`` where there are two): the
            path of its file, or its rows. Any other title: rows with the columns and labels of the data.
        hypothesis_first: whether the first text column is the hypothesis or claim.
        label_column: column of the labels in rows of any other title, where they have it; else it is ``label``.

    Raises:
        ValueError: a set of pairs for single texts, a label that is not in the map, labels of the data that a
            published set does not know, no such file.
    """
    common: dict[str, Any] = {"label_names": task.label_names, "columns": task.columns}
    about: dict[str, Any] = {"title": "validation rows", "part": "validation", "declared": {"accuracy": _ON_VALIDATION}}
    found = [LabelledSet("validation", **about, **_in_form(task, task.validation), **common)]
    if task.test is not None:
        about = {"title": "test rows", "declared": MEASURES}
        found.append(LabelledSet("test", **about, **_in_form(task, task.test), **common))
    for title, given in (challenge or {}).items():
        about = {"title": f"challenge set {title}", "path": "challenge", "declared": CHALLENGE_MEASURES, **common}
        name, _, _ = title.partition(":")
        if name not in CHALLENGE_SETS:
            labels = label_column if label_column in given.column_names else LABEL
            rows, _ = read_rows(given, task.columns, task.label_names, title, label_column=labels)
            more = [column for column in ("heuristic", "subcase", "cluster") if column in given.column_names]
            for column in more if len(rows) == len(given) else []:
                rows = rows.add_column(column, [str(value) for value in given[column]])
            about |= _in_form(task, rows)
        elif len(task.columns) != 2:
            raise ValueError(f"{title} is a set of pairs; the data have the one text column {task.columns[0]!r}.")
        else:
            columns = ("hypothesis", "premise") if hypothesis_first else ("premise", "hypothesis")
            about |= {"rules": CHALLENGE_SETS[name], "rows": _published(title, given), "columns": columns}
        found.append(LabelledSet(title, **about))
    for each in found:
        each.check(task)
    return found


def _in_form(task: PairTask, rows: Dataset) -> dict[str, Any]:
    """Rules and rows of a set in the form of the data."""
    by = tuple(column for column in ("heuristic", "subcase") if column in rows.column_names)
    named = [{**row, LABEL: task.label_names[row[LABEL]]} for row in rows]
    return {"rules": ChallengeSet(labels=tuple(task.label_names), by=by), "rows": named}


def _published(title: str, given: Any) -> list[Mapping[str, Any]]:
    """Rows of a published set."""
    try:
        return challenge_rows(given, title.partition(":")[0])
    except ValueError as error:
        raise ValueError(f"{title}: {error}") from error
