"""What the models of an IBADR run are measured on: validation, test and challenge sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from hf_fairness._processes import turn
from hf_fairness.measure.classifier.challenge import challenge_accuracy, challenge_rows
from hf_fairness.measure.classifier.challenge_sets import CHALLENGE_SETS, ChallengeSet
from hf_fairness.record import Measure
from hf_fairness.rows import read_columns
from hf_fairness.runs import content_key
from hf_fairness.scores.challenge import CHALLENGE_MEASURES, MEASURES
from hf_fairness.scores.compare import paired_comparison
from hf_fairness.trainers.experiment import EvalSet, Fitted, Scored
from hf_fairness.trainers.ibadr.data import PairTask
from hf_fairness.trainers.ibadr.pool import LABEL
from hf_fairness.trainers.training.pair_training import class_log_probabilities

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
        rules: what counts as right.
        rows: mappings with ``label`` (a name), and what divides the rows.
        texts: what the models read, in columns as those of the data that they are trained on.
        label_names: what the numbers of the models' classes stand for.
        device: where models run.
        seed: of the resamples.
    """

    rules: ChallengeSet = field(default_factory=lambda: ChallengeSet(()))
    rows: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    texts: Dataset = field(default_factory=lambda: Dataset.from_dict({}), repr=False)
    label_names: Sequence[str] = ()
    device: Any = None
    seed: int = 0

    def __post_init__(self) -> None:
        clusters = [row.get("cluster") for row in self.rows]
        self.clusters = list(map(str, clusters)) if all(clusters) else None
        self.key = content_key(self.rules, self.rows, self.texts, self.label_names, self.seed)

    def judge(self, guesses: NDArray[np.int64], **options: Any) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """What guesses, numbers of classes, are worth.

        Args:
            guesses: one per row.
            options: of `challenge_accuracy`.

        Returns:
            1 where a guess counts as right, shape (n,); and what `challenge_accuracy` says of them.
        """
        told = {"label_names": list(self.label_names), "seed": self.seed, **options}
        found = challenge_accuracy(self.rows, dataset=self.rules, predictions=guesses.tolist(), **told)
        names = [self.rules.read_label(name) for name in self.label_names]
        golds = [self.rules.read_label(row[LABEL]) for row in self.rows]
        counted = [(gold, *self.rules.accepts.get(gold, ())) for gold in golds]
        right = [float(names[guess] in known) for guess, known in zip(guesses, counted, strict=True)]
        return np.array(right), found

    def score(self, fitted: Fitted, folder: Path) -> dict[str, Any]:
        """Accuracy over all rows, by gold label, and by what else the rows are divided by."""
        how: dict[str, Any] = {"columns": self.texts.column_names, "device": self.device, "distributed": turn()[1] > 1}
        log_probs = class_log_probabilities(fitted.model, None, self.texts, **how)
        right, found = self.judge(log_probs.argmax(axis=1))
        np.save(folder / f"{self.key}.npy", right)
        found["meta"] |= {"dataset": self.name, "model": fitted.name}
        return found

    def compare(self, one: Scored, other: Scored) -> dict[str, Any]:
        """The paired comparison of two models, by whole clusters where the rows have them."""
        sides = [np.load(each.folder / f"{self.key}.npy") for each in (one, other)]
        return {"accuracy": paired_comparison(*sides, clusters=self.clusters, seed=self.seed)}

    def measures(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Measure]:
        """Accuracy on the set, then on each part of it."""
        yield from super().measures(results)
        by_arm = {arm: {"label": result["labels"], **result.get("by", {})} for arm, result in results.items()}
        for kind, values in next(iter(by_arm.values())).items():
            for value in values:
                found = {arm: parts[kind].get(value, {}) for arm, parts in by_arm.items()}
                title = f"{self.title}, {'gold label' if kind == 'label' else kind} {value}"
                part = EvalSet(f"{self.name}/{kind}/{value}", self.declared, title, self.path, self.part)
                yield from (replace(measure, detail=True) for measure in part.measures(found))


def labelled_sets(
    task: PairTask, challenge: Mapping[str, Any] | None, *, hypothesis_first: bool = False
) -> list[LabelledSet]:
    """Validation, test and challenge sets.

    Args:
        task: the data.
        challenge: by title. A published set by its name (``hans``, or ``fever_symmetric:v2`` where there are two): the
            path of its file, or its rows. Any other title: rows with the columns and labels of the data.
        hypothesis_first: whether the first text column is the hypothesis or claim.

    Raises:
        ValueError: a set of pairs for single texts, a label that is not in the map, labels of the data that a
            published set does not know, no such file.
    """
    declared = {"validation": {"accuracy": _ON_VALIDATION}, "test": MEASURES}
    found = [
        _labelled_set(task, name, task.sets[name], task.columns, title=f"{name} rows", part=name, declared=measures)
        for name, measures in declared.items()
        if name in task.sets
    ]
    pair = ("hypothesis", "premise") if hypothesis_first else ("premise", "hypothesis")
    for title, given in (challenge or {}).items():
        published = title.partition(":")[0] in CHALLENGE_SETS
        if published and len(task.columns) != 2:
            raise ValueError(f"{title} is a set of pairs; the data have the one text column {task.columns[0]!r}.")
        rows = given if published else task.read(given, title, _PARTS)
        about: dict[str, Any] = {"title": f"challenge set {title}", "path": "challenge", "declared": CHALLENGE_MEASURES}
        found.append(_labelled_set(task, title, rows, pair if published else task.columns, **about))
    return found


def _labelled_set(task: PairTask, name: str, given: Any, columns: Sequence[str], **about: Any) -> LabelledSet:
    """A set; guesses are measured before any model is trained.

    Args:
        task: the data.
        name: of the set.
        given: rows in the form of the data; of a published set its rows, or the path of its file.
        columns: its text columns in the order of those of the data.
        about: what else a set says of itself.
    """
    published, names = name.partition(":")[0], task.label_names
    rules = CHALLENGE_SETS.get(published)
    if rules is None:
        rules = ChallengeSet(tuple(names), by=tuple(part for part in _PARTS[:2] if part in given.column_names))
        given = task.named(given)
    try:
        rows = challenge_rows(given, published)
        texts = dict(zip(task.columns, read_columns(rows, columns, name).values(), strict=True))
        how = {"rules": rules, "rows": rows, "texts": Dataset.from_dict(texts), "label_names": names}
        found = LabelledSet(name, **about, **how)
        found.judge(np.arange(len(rows)) % len(names), n_bootstrap=0)
    except ValueError as error:
        raise ValueError(
            f"{name}: {error} (The data have the labels {', '.join(names)}; see --class_names.)"
        ) from error
    return found
