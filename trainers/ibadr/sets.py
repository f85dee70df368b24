"""What the models of an IBADR run are measured on: validation, test and challenge sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from hf_fairness.trainers.ibadr.data import LABEL, PairTask
from hf_fairness.trainers.training.pair_training import labelled_rows

_ON_VALIDATION = replace(
    MEASURES["accuracy"],
    convention=f"{MEASURES['accuracy'].convention} Models are chosen by it on these rows: it is somewhat too high.",
)
#: What rows of a challenge set of one's own may be divided by, and what says which resemble each other.
_PARTS = ("heuristic", "subcase", "cluster")


@dataclass
class LabelledSet(EvalSet):
    """Rows to measure on.

    Two models are compared by whether they are right, row by row.

    Attributes:
        task: the data that models are trained on: their text columns and classes.
        rules: what counts as right.
        rows: mappings with ``label`` (a name), the text columns of ``columns``, and what divides the rows.
        columns: the text columns of the rows in the order in which the models read them.
        guess: from the name of an arm and texts to the number of the class of each, shape (n,).
        seed: of the resamples.
    """

    rules: ChallengeSet = field(default_factory=lambda: ChallengeSet(()))
    rows: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    columns: tuple[str, ...] = ()
    task: PairTask | None = field(default=None, repr=False)
    guess: Callable[[str, Dataset], NDArray[np.int64]] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        clusters = [row.get("cluster") for row in self.rows]
        self.clusters = list(map(str, clusters)) if all(clusters) else None
        self.label_names = self.task.label_names if self.task else []
        self.key = content_key(self.rules, self.rows, list(self.columns), self.label_names, self.seed)

    def texts(self) -> Dataset:
        """The texts, in columns as those of the data."""
        columns = zip(self.task.columns if self.task else (), self.columns, strict=True)
        return Dataset.from_dict({name: [row[own] for row in self.rows] for name, own in columns})

    def right(self, guesses: NDArray[np.int64]) -> NDArray[np.float64]:
        """1 where a guess counts as right, shape (n,)."""
        names = [self.rules.read_label(name) for name in self.label_names]
        golds = (self.rules.read_label(row[LABEL]) for row in self.rows)
        pairs = zip((names[guess] for guess in guesses), golds, strict=True)
        return np.array([float(guess in (gold, *self.rules.accepts.get(gold, ()))) for guess, gold in pairs])

    def accuracy(self, guesses: NDArray[np.int64], **options: Any) -> dict[str, Any]:
        """What `challenge_accuracy` says of guesses, by number."""
        options |= {"predictions": guesses.tolist(), "label_names": self.label_names, "seed": self.seed}
        return challenge_accuracy(self.rows, dataset=self.rules, **options)

    def score(self, fitted: Fitted, folder: Path) -> dict[str, Any]:
        """Accuracy over all rows, by gold label, and by what else the rows are divided by."""
        assert self.guess is not None
        guesses = self.guess(fitted.name, self.texts())
        np.save(folder / f"{self.key}.npy", self.right(guesses))
        found = self.accuracy(guesses)
        found["meta"] |= {"dataset": self.name, "model": fitted.name}
        return found

    def compare(self, one: Scored, other: Scored) -> dict[str, Any]:
        """The paired comparison of two models, by whole clusters where the rows have them."""
        sides = [np.load(each.folder / f"{self.key}.npy") for each in (one, other)]
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
    about: dict[str, Any] = {"title": "validation rows", "part": "validation", "declared": {"accuracy": _ON_VALIDATION}}
    found = [_own(task, task.validation, "validation", about)]
    if task.test is not None:
        found.append(_own(task, task.test, "test", {"title": "test rows", "declared": MEASURES}))
    for title, given in (challenge or {}).items():
        about = {"title": f"challenge set {title}", "path": "challenge", "declared": CHALLENGE_MEASURES}
        if title.partition(":")[0] in CHALLENGE_SETS:
            columns = ("hypothesis", "premise") if hypothesis_first else ("premise", "hypothesis")
            found.append(_published(task, given, title, {**about, "columns": columns}))
        else:
            labels = label_column if label_column in given.column_names else LABEL
            how: dict[str, Any] = {"label_column": labels, "others": _PARTS, "stated": task.stated}
            rows, _ = labelled_rows(given, task.columns, task.label_names, title, **how)
            found.append(_own(task, rows, title, about))
    return found


def _own(task: PairTask, rows: Dataset, name: str, about: Mapping[str, Any]) -> LabelledSet:
    """A set in the form of the data."""
    by = tuple(part for part in _PARTS[:2] if part in rows.column_names)
    rules = ChallengeSet(tuple(task.label_names), by=by)
    return LabelledSet(name, **about, rules=rules, rows=list(map(task.named, rows)), columns=task.columns, task=task)


def _published(task: PairTask, given: Any, title: str, about: Mapping[str, Any]) -> LabelledSet:
    """A published set of pairs; guesses are measured before any model is trained."""
    name = title.partition(":")[0]
    if len(task.columns) != 2:
        raise ValueError(f"{title} is a set of pairs; the data have the one text column {task.columns[0]!r}.")
    try:
        found = LabelledSet(title, **about, rules=CHALLENGE_SETS[name], rows=challenge_rows(given, name), task=task)
        guesses = np.zeros(len(found.rows), dtype=np.int64)
        found.accuracy(guesses, n_bootstrap=0)
        found.right(guesses)
    except (ValueError, KeyError) as error:
        raise ValueError(
            f"{title}: {error} (The data have the labels {', '.join(task.label_names)}; see --class_names.)"
        ) from error
    return found
