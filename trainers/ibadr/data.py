"""What the IBADR pipeline works on: labelled rows in one form, and models given in any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from datasets import Dataset

from hf_fairness.measure.model_keys import source_key
from hf_fairness.report.text import shown_name
from hf_fairness.rows import text_columns
from hf_fairness.runs import content_key
from hf_fairness.scores.statistics import generator
from hf_fairness.trainers.ibadr.arguments import IBADRArguments
from hf_fairness.trainers.ibadr.config import CONFIDENCES, IBADRConfig
from hf_fairness.trainers.ibadr.pool import label_counts
from hf_fairness.trainers.training.pair_training import labelled_rows, order_is_stated
from hf_fairness.utils import refuse_any

LABEL = "label"


@dataclass(frozen=True)
class PairTask:
    """Rows with text columns and ``label``, a number of ``label_names``.

    Attributes:
        train: rows to refine.
        validation: rows to stop on.
        test: rows to report on, or None.
        columns: the one or two text columns.
        label_names: names of the labels in the order of their numbers.
        counts: what was left out, and where the validation rows are from.
        stated: whether somebody stated the order of the names; else it is that of the alphabet.
    """

    train: Dataset
    validation: Dataset
    test: Dataset | None
    columns: tuple[str, ...]
    label_names: list[str]
    counts: dict[str, Any] = field(default_factory=dict)
    stated: bool = True

    @cached_property
    def train_key(self) -> str:
        """Content key of the training rows, their labels by number: names of labels change nothing that is learned."""
        return content_key(self.train, list(self.columns), len(self.label_names))

    @cached_property
    def validation_key(self) -> str:
        """Content key of the validation rows."""
        return content_key(self.validation, list(self.columns))

    def texts(self, rows: Dataset) -> list[list[str]]:
        """Texts of rows, one list per column."""
        return [rows[name][:] for name in self.columns]

    def named(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row with the name of its label."""
        return {**row, LABEL: self.label_names[row[LABEL]]}

    def describe(self) -> dict[str, Any]:
        """Sizes and labels of the sets, for the report."""
        sets = {"train": self.train, "validation": self.validation, "test": self.test}
        found = {
            name: {"n": len(rows), "labels": label_counts(rows[LABEL][:], self.label_names)}
            for name, rows in sets.items()
            if rows is not None
        }
        return {**found, "columns": list(self.columns), "label_names": self.label_names, **self.counts}

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
        wrong = {
            f"All {n} training rows have the label {', '.join(present) or '(none)'}: a classifier needs two classes.": (
                len(present) < 2
            ),
            f"{n} training rows do not make --n_bias_indicators {config.n_bias_indicators} groups: take fewer.": (
                n < config.n_bias_indicators
            ),
            f"{n} training rows are fewer than --n_shallow {config.n_shallow}: the shallow model is trained on a part "
            "of them. Set it to a small share of the rows.": n < config.n_shallow,
        }
        refuse_any(wrong)
        config.label_shares(len(self.label_names))
        return replace(self, train=rows)


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
    columns, found, counts = text_columns(train, arguments.text_column), {}, {}
    names: Sequence[str] | None = arguments.class_names
    stated = order_is_stated(train, arguments.label_column, names)
    for title, rows in (("train", train), ("validation", validation), ("test", test)):
        if rows is not None:
            found[title], names = labelled_rows(
                rows, columns, names, title, label_column=arguments.label_column, stated=stated or title == "train"
            )
            counts[f"n_{title}_unlabelled"] = len(rows) - len(found[title])
    rows = found["train"]
    if validation is None:
        order = generator(seed, "dev").permutation(len(rows))  # the word of the draw, which numbers hang on
        cut = max(1, len(rows) // 10)
        found["validation"], rows = rows.select(sorted(order[:cut])), rows.select(sorted(order[cut:]))
    counts = {name: n for name, n in counts.items() if n} | {"validation_held_out": validation is None}
    return PairTask(rows, found["validation"], found.get("test"), columns, list(names or ()), counts, stated)


def read_pool(task: PairTask, rows: Dataset, title: str, label_column: str = LABEL) -> Dataset:
    """Rows of a pool that was made before, in the form of the task.

    Args:
        task: the data; its columns and labels are those of the pool.
        rows: all rows are taken; of a pool of IBADR, which has a column ``iteration``, those that were added.
        title: of the pool, in messages.
        label_column: column of the labels, if the pool has it; else it is ``label``.

    Raises:
        ValueError: as :func:`read_task`; there is no row.
    """
    if "iteration" in rows.column_names:
        rows = rows.select([place for place, number in enumerate(rows["iteration"][:]) if number])
    if not len(rows):
        raise ValueError(f"The pool {title} has no added row: what it holds are the original ones.".replace("  ", " "))
    labels = label_column if label_column in rows.column_names else LABEL
    what = f"pool {title}".strip()
    return labelled_rows(rows, task.columns, task.label_names, what, label_column=labels, stated=task.stated)[0]


@dataclass(frozen=True)
class Source:
    """Where a model comes from.

    Attributes:
        value: Hub id, folder, live model or config.
        tokenizer: of a live model or config.
    """

    value: Any
    tokenizer: Any = None

    @cached_property
    def key(self) -> Any:
        """What it holds, as a key; of an id the id itself."""
        return source_key(self.value, self.tokenizer)

    @property
    def name(self) -> str:
        """For the reader."""
        return str(shown_name(self.value)) if isinstance(self.value, (str, Path)) else type(self.value).__name__


def sources(arguments: IBADRArguments, config: IBADRConfig, given: Mapping[str, Any]) -> dict[str, Source]:
    """Where the models come from.

    Args:
        arguments: their ids or folders.
        config: names a classifier that filters samples, where that is one of its own.
        given: in their place by role: an id or folder, or a pair of (live model or config, tokenizer).

    Returns:
        By role: ``model``, ``generator``, ``shallow``; ``judge`` and ``filter`` where these are models of their own.

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
    wanted = {role: found for role, name in named.items() if (found := given.get(role) or name)}
    for role, what in (("model", "classifier (--model_name_or_path)"), ("generator", "generator (--generator_model)")):
        if role not in wanted:
            raise ValueError(f"The {what} is missing: an id on the Hub, a folder, or a live model with its tokenizer.")
    found = {role: Source(*each) if isinstance(each, tuple) else Source(each) for role, each in wanted.items()}
    return {"shallow": found["model"], **found}
