"""What the models of an IBADR run are measured by: validation, test and challenge sets, the arms side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from hf_fairness.measure.classifier.challenge import challenge_accuracy
from hf_fairness.measure.classifier.challenge_sets import CHALLENGE_SETS, ChallengeSet, read_challenge_set
from hf_fairness.scores.compare import paired_comparison
from hf_fairness.trainers.ibadr.data import LABEL, PairTask
from hf_fairness.trainers.ibadr.job import Job

#: Which arms are held against which.
PAIRS = (("ibadr", "base"), ("ibadr", "control"), ("poe", "base"), ("ibadr_poe", "ibadr"))


@dataclass(frozen=True)
class EvaluationSet:
    """Rows to measure on.

    Attributes:
        title: name in tables.
        kind: what counts as right.
        rows: mappings with ``label`` (a name), the text columns of ``columns``, and what divides the rows.
        columns: the text columns in the order in which the models read them.
    """

    title: str
    kind: str | ChallengeSet
    rows: list[dict[str, Any]]
    columns: tuple[str, ...]

    @property
    def rules(self) -> ChallengeSet:
        """What counts as right."""
        return CHALLENGE_SETS[self.kind] if isinstance(self.kind, str) else self.kind

    def texts(self, names: Sequence[str]) -> Dataset:
        """The texts, in columns of these names."""
        columns = zip(names, self.columns, strict=True)
        return Dataset.from_dict({name: [row[own] for row in self.rows] for name, own in columns})

    def right(self, guesses: Sequence[str]) -> NDArray[np.float64]:
        """1 where a guess counts as right, shape (n,)."""
        rules = self.rules
        pairs = zip(guesses, self.rows, strict=True)
        golds = ((rules.read_label(guess), rules.read_label(row["label"])) for guess, row in pairs)
        return np.array([float(guess == gold or guess in rules.accepts.get(gold, ())) for guess, gold in golds])

    def clusters(self) -> list[str] | None:
        """Rows that resemble each other, where the set knows."""
        found = [row.get("cluster") for row in self.rows]
        return [str(value) for value in found] if all(found) else None


def own_rows(task: PairTask, rows: Dataset, title: str) -> EvaluationSet:
    """A set in the form of the data."""
    names = task.label_names
    by = tuple(name for name in ("heuristic", "subcase") if name in rows.column_names)
    kind = ChallengeSet(labels=tuple(names), by=by)
    return EvaluationSet(title, kind, [{**row, "label": names[row[LABEL]]} for row in rows], task.columns)


def evaluation_sets(
    task: PairTask, challenge: Mapping[str, Any] | None, *, hypothesis_first: bool, label_column: str = LABEL
) -> list[EvaluationSet]:
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
    from hf_fairness.trainers.ibadr.data import labelled_rows

    found = [own_rows(task, task.validation, "validation")]
    if task.test is not None:
        found.append(own_rows(task, task.test, "test"))
    for title, given in (challenge or {}).items():
        name, _, _ = title.partition(":")
        if name not in CHALLENGE_SETS:
            labels = label_column if label_column in given.column_names else LABEL
            rows = labelled_rows(given, task, title, label_column=labels)
            more = [column for column in ("heuristic", "subcase", "cluster") if column in given.column_names]
            for column in more if len(rows) == len(given) else []:
                rows = rows.add_column(column, [str(value) for value in given[column]])
            found.append(own_rows(task, rows, title))
            continue
        if len(task.columns) != 2:
            raise ValueError(f"{title} is a set of pairs; the data have the one text column {task.columns[0]!r}.")
        rows = read_challenge_set(name, given) if isinstance(given, (str, Path)) else _named_rows(given)
        columns = ("hypothesis", "premise") if hypothesis_first else ("premise", "hypothesis")
        found.append(EvaluationSet(title, name, list(rows), columns))
    for each in found:
        _check(each, task)
    return found


def _named_rows(given: Any) -> list[dict[str, Any]]:
    """Rows as mappings, numbers of a ClassLabel as names."""
    names = getattr((getattr(given, "features", None) or {}).get(LABEL), "names", None)
    rows = [dict(row) for row in given]
    return [{**row, LABEL: names[row[LABEL]]} for row in rows] if names else rows


def _check(each: EvaluationSet, task: PairTask) -> None:
    """Raise where the set could not be measured, whatever a model says: measured on guesses, before any is trained."""
    for name in task.label_names:
        try:
            each.rules.read_label(name)
        except ValueError as error:
            raise ValueError(
                f"{each.title}: the data have the label {name!r}, which the set does not know; it has "
                f"{', '.join(each.rules.labels)}. Say what the labels of the data are with --class_names, in the order "
                f"of their numbers; now they are {', '.join(task.label_names)}."
            ) from error
    try:
        each.texts(task.columns)
        options: dict[str, Any] = {"label_names": dict(enumerate(task.label_names)), "n_bootstrap": 0}
        challenge_accuracy(each.rows, dataset=each.kind, predictions=[0] * len(each.rows), **options)
    except (ValueError, KeyError) as error:
        raise ValueError(f"{each.title}: {error}") from error


def evaluate(job: Job, arms: Sequence[str], sets: Sequence[EvaluationSet]) -> dict[str, Any]:
    """Measure the models of stages on all sets, and compare them on the same rows.

    Args:
        job: the run.
        arms: stages with a trained classifier.
        sets: what to measure on.

    Returns:
        ``results``: set -> arm -> what ``challenge_accuracy`` returns; ``comparisons``: set -> ``"a - b"`` -> what
        ``paired_comparison`` returns.
    """
    results: dict[str, Any] = {}
    comparisons: dict[str, Any] = {}
    task, seed = job.task, job.config.seed
    for each in sets:
        texts = each.texts(task.columns)
        right, results[each.title] = {}, {}
        for arm in arms:
            classes = job.probabilities(arm, texts, distributed=False).argmax(axis=1)
            options = {"predictions": classes.tolist(), "label_names": dict(enumerate(task.label_names))}
            found = challenge_accuracy(each.rows, dataset=each.kind, seed=seed, **options)
            found["meta"] |= {"dataset": each.title, "model": arm}
            results[each.title][arm] = found
            right[arm] = each.right([task.label_names[number] for number in classes])
        comparisons[each.title] = {
            f"{a} - {b}": paired_comparison(right[a], right[b], clusters=each.clusters(), seed=seed)
            for a, b in PAIRS
            if a in right and b in right
        }
    return {"results": results, "comparisons": comparisons}


def probe(job: Job, pool: Dataset) -> dict[str, Any]:
    """How much of the label the second text alone gives away, in the original rows and in the pool.

    Args:
        job: the run.
        pool: rows after the last round.

    Returns:
        ``original`` and ``pool``: what ``partial_input`` returns, by cross-validation; empty for single texts.
    """
    from hf_fairness.measure.classifier.partial_input import partial_input

    columns = job.task.columns
    if len(columns) != 2:
        return {}
    part = columns[0] if job.arguments.hypothesis_first else columns[1]
    sides = {"original": job.task.train, "pool": pool}
    options: dict[str, Any] = {"column": part, "full_columns": None, "max_rows": PROBE_ROWS, "seed": job.config.seed}
    return {name: partial_input(rows, label_column=LABEL, **options) for name, rows in sides.items()}


#: Rows that the probe is trained and tested on, at most.
PROBE_ROWS = 20_000


def leakage(job: Job, added: Dataset, sets: Sequence[EvaluationSet]) -> dict[str, Any]:
    """What the added rows share with the challenge sets; empty where there are none of either.

    Args:
        job: the run.
        added: rows that the pool grew by.
        sets: validation, test and challenge sets.
    """
    from hf_fairness.measure.classifier.leakage import ngram_overlap

    columns = job.task.columns
    theirs = {each.title: each.texts(columns) for each in sets if each.title != "validation"}
    if not theirs or not len(added):
        return {}
    whole = columns[0] if job.arguments.hypothesis_first else columns[-1]
    return ngram_overlap(added, theirs, columns=columns, whole_column=whole)
