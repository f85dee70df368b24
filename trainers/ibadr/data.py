"""What the IBADR pipeline works on: labelled rows in one form, and models given in any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from datasets import Dataset

from hf_fairness.measure.model_keys import source_key
from hf_fairness.report.text import shown_name
from hf_fairness.rows import text_columns
from hf_fairness.scores.statistics import generator
from hf_fairness.trainers.experiment import Fitted
from hf_fairness.trainers.ibadr.arguments import IBADRArguments
from hf_fairness.trainers.ibadr.config import CONFIDENCES, IBADRConfig
from hf_fairness.trainers.ibadr.pool import LABEL, as_pool, label_counts
from hf_fairness.trainers.training.pair_training import labelled_rows, order_is_stated
from hf_fairness.utils import refuse_any


@dataclass(frozen=True)
class PairTask:
    """Rows with text columns and ``label``, a number of ``label_names``.

    Attributes:
        columns: the one or two text columns.
        label_names: names of the labels in the order of their numbers.
        label_column: column of the labels in the data as they were given.
        stated: whether somebody stated the order of the names; else it is that of the alphabet.
        sets: ``train``: rows to refine; ``validation``: rows to stop on; and if there are any ``test``: rows to report
            on.
        counts: what was left out, and where the validation rows are from.
    """

    columns: tuple[str, ...]
    label_names: list[str]
    label_column: str
    stated: bool
    sets: Mapping[str, Dataset]
    counts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def train(self) -> Dataset:
        """Rows to refine."""
        return self.sets["train"]

    @property
    def validation(self) -> Dataset:
        """Rows to stop on."""
        return self.sets["validation"]

    def texts(self, rows: Dataset) -> list[list[str]]:
        """Texts of rows, one list per column."""
        return [rows[name][:] for name in self.columns]

    def named(self, rows: Dataset) -> list[dict[str, Any]]:
        """Rows with the names of their labels."""
        return [{**row, LABEL: self.label_names[row[LABEL]]} for row in rows]

    def read(self, rows: Dataset, title: str, others: Sequence[str] = ()) -> Dataset:
        """Further rows in the form of the training rows; their labels may be called as there, or ``label``.

        Args:
            rows: with the columns and labels of the training rows.
            title: of the rows, in messages.
            others: columns to keep beside these, where the rows have them.

        Raises:
            ValueError: as :func:`read_task`.
        """
        own = LABEL in rows.column_names and self.label_column not in rows.column_names
        how: dict[str, Any] = {"label_column": LABEL if own else self.label_column, "stated": self.stated}
        return labelled_rows(rows, self.columns, self.label_names, title, others=others, **how)[0]

    def describe(self) -> dict[str, Any]:
        """Sizes and labels of the sets, for the report."""
        sizes = {
            name: {"n": len(rows), "labels": label_counts(rows[LABEL][:], self.label_names)}
            for name, rows in self.sets.items()
        }
        return {**sizes, "columns": list(self.columns), "label_names": self.label_names, **self.counts}

    def enough(self, max_rows: int | None, config: IBADRConfig, seed: int) -> PairTask:
        """The task with as many random training rows as asked for.

        Args:
            max_rows: at most so many; None takes all.
            config: says how many rows the method needs.
            seed: of the draw.

        Raises:
            ValueError: one class only, or fewer rows than the shallow model or the indicators need.
        """
        rows, n = self.train, len(self.train)
        if max_rows is not None and max_rows < n:
            rows = rows.select(sorted(generator(seed, "train").permutation(n)[:max_rows]))
        n, present = len(rows), [self.label_names[label] for label in sorted(set(rows[LABEL][:]))]
        refuse_any(
            {
                f"All {n} training rows have the label {', '.join(present) or '(none)'}: a classifier needs two "
                "classes.": len(present) < 2,
                f"{n} training rows do not make --n_bias_indicators {config.n_bias_indicators} groups: take fewer.": (
                    n < config.n_bias_indicators
                ),
                f"{n} training rows are fewer than --n_shallow {config.n_shallow}: the shallow model is trained on a "
                "part of them. Set it to a small share of the rows.": n < config.n_shallow,
            }
        )
        config.label_shares(len(self.label_names))
        return replace(self, sets={**self.sets, "train": rows})


def read_task(
    arguments: IBADRArguments,
    train: Dataset,
    *,
    validation: Dataset | None = None,
    test: Dataset | None = None,
    seed: int = 0,
) -> PairTask:
    """Check rows and bring them into one form.

    Args:
        arguments: columns and names of labels.
        train: rows to refine.
        validation: rows to stop on; None holds out a tenth of the training rows.
        test: rows to report on.
        seed: of the rows that are held out.

    Raises:
        ValueError: a column is missing, a row without text, a label that is not in the map.
    """
    columns, labels, names = text_columns(train, arguments.text_column), arguments.label_column, arguments.class_names
    rows, known = labelled_rows(train, columns, names, "train", label_column=labels)
    task = PairTask(columns, known, labels, order_is_stated(train, labels, names), {"train": rows})
    given = {"train": train, "validation": validation, "test": test}
    others = {title: each for title, each in given.items() if each is not None and title != "train"}
    sets = {"train": rows, **{title: task.read(each, title) for title, each in others.items()}}
    left_out = {f"n_{title}_unlabelled": len(given[title]) - len(part) for title, part in sets.items()}
    if validation is None:
        order = generator(seed, "dev").permutation(len(rows))  # the word of the draw, which numbers hang on
        cut = max(1, len(rows) // 10)
        sets |= {"validation": rows.select(sorted(order[:cut])), "train": rows.select(sorted(order[cut:]))}
    counts = {name: n for name, n in left_out.items() if n}
    return replace(task, sets=sets, counts={**counts, "validation_held_out": validation is None})


def read_pool(task: PairTask, rows: Dataset, name: str) -> Dataset:
    """Rows of a pool that was made before, in the form of a pool.

    Args:
        task: the data; its columns and labels are those of the pool.
        rows: all rows are taken; of a pool of IBADR, which has a column ``iteration``, those that were added.
        name: of the pool, in messages.

    Raises:
        ValueError: as :func:`read_task`; there is no row.
    """
    if "iteration" in rows.column_names:
        rows = rows.select([place for place, number in enumerate(rows["iteration"][:]) if number])
    if not len(rows):
        raise ValueError(f"The {name} has no added row: what it holds are the original ones.")
    return as_pool(task.read(rows, name), task.columns, "pool")


def named_models(arguments: IBADRArguments, config: IBADRConfig, given: Mapping[str, Any]) -> dict[str, Any]:
    """The models that a run begins with, by role.

    Args:
        arguments: their ids or folders.
        config: names a classifier that filters samples, where that is one of its own.
        given: in their place by role: an id or folder, or a pair of (live model or config, tokenizer).

    Returns:
        ``model``, ``generator``, ``shallow``; ``judge`` and ``filter`` where these are models of their own.

    Raises:
        ValueError: there is no classifier, or no generator.
    """
    named = {
        "model": arguments.model_name_or_path,
        "generator": arguments.generator_model,
        "shallow": arguments.shallow_model,
        "judge": arguments.judge_model,
        "filter": "" if config.confidence_from in CONFIDENCES else config.confidence_from,
    }
    found = {role: source for role, name in named.items() if (source := given.get(role) or name)}
    lacking = {"model": "classifier (--model_name_or_path)", "generator": "generator (--generator_model)"}
    how = "an id on the Hub, a folder, or a live model with its tokenizer"
    refuse_any({f"The {what} is missing: {how}.": role not in found for role, what in lacking.items()})
    return {"shallow": found["model"], **found}


def given_model(source: Any, label_names: Sequence[str] = ()) -> Fitted:
    """A model that was not trained here, called as a reader knows it.

    Args:
        source: an id or folder, or a pair of model and tokenizer.
        label_names: those that it must know, where it is asked for labels.
    """
    model, tokenizer = as_pair(source)
    name = str(shown_name(model)) if isinstance(model, (str, Path)) else type(model).__name__
    return Fitted(name, (source_key(model, tokenizer), *label_names), source)


def as_pair(source: Any) -> tuple[Any, Any]:
    """What opens a model, and the tokenizer that was given with it."""
    return source if isinstance(source, tuple) else (source, None)
