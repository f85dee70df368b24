"""What the IBADR pipeline works on: labelled rows in one form, and models given in any."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from datasets import Dataset

from hf_fairness.measure.model_keys import source_key
from hf_fairness.report.text import shown_name
from hf_fairness.rows import column_values, text_columns
from hf_fairness.runs import content_key
from hf_fairness.scores.class_labels import class_names, places, read_labels
from hf_fairness.scores.statistics import generator
from hf_fairness.trainers.ibadr.arguments import IBADRArguments
from hf_fairness.trainers.ibadr.config import CONFIDENCES, IBADRConfig
from hf_fairness.utils import FairnessWarning

LABEL = "label"
#: What data sets write where annotators did not agree on a label (SNLI, MNLI).
UNLABELLED = (-1, "-1", "-")


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
    """

    train: Dataset
    validation: Dataset
    test: Dataset | None
    columns: tuple[str, ...]
    label_names: list[str]
    counts: dict[str, Any] = field(default_factory=dict)

    @property
    def train_key(self) -> str:
        """Content key of the training rows, their labels by number: names of labels change nothing that is learned."""
        return content_key(self.train, list(self.columns), len(self.label_names))

    @property
    def validation_key(self) -> str:
        """Content key of the validation rows."""
        return content_key(self.validation, list(self.columns))

    def texts(self, rows: Dataset) -> list[list[str]]:
        """Texts of rows, one list per column."""
        return [list(rows[name]) for name in self.columns]

    def describe(self) -> dict[str, Any]:
        """Sizes and labels of the sets, for the report."""
        sets = {"train": self.train, "validation": self.validation, "test": self.test}
        found: dict[str, Any] = {
            name: {"n": len(rows), "labels": label_counts(rows[LABEL], self.label_names)}
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
        n, present = len(rows), sorted(set(rows[LABEL]))
        if len(present) < 2:
            name = self.label_names[present[0]] if present else "(none)"
            raise ValueError(f"All {n} training rows have the label {name}: a classifier needs two classes.")
        if n < config.n_bias_indicators:
            raise ValueError(
                f"{n} training rows do not make --n_bias_indicators {config.n_bias_indicators} groups: take fewer."
            )
        if n < config.n_shallow:
            raise ValueError(
                f"{n} training rows are fewer than --n_shallow {config.n_shallow}: the shallow model is trained on a "
                "part of them. Set it to a small share of the rows."
            )
        config.label_shares(len(self.label_names))
        return replace(self, train=_flat(rows))


def label_counts(labels: Any, names: Sequence[str]) -> dict[str, int]:
    """Rows of each label, by name."""
    counts = Counter(int(label) for label in labels)
    return {name: counts[number] for number, name in enumerate(names)}


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
    for title, rows in (("train", train), ("validation", validation), ("test", test)):
        if rows is not None:
            found[title], names = read_rows(rows, columns, names, title, label_column=arguments.label_column)
            counts[f"n_{title}_unlabelled"] = len(rows) - len(found[title])
    rows = found["train"]
    if validation is None:
        order = generator(seed, "dev").permutation(len(rows))  # the word of the draw, which numbers hang on
        cut = max(1, len(rows) // 10)
        found["validation"], rows = rows.select(sorted(order[:cut])), rows.select(sorted(order[cut:]))
    counts = {name: n for name, n in counts.items() if n} | {"validation_held_out": validation is None}
    return PairTask(rows, _flat(found["validation"]), found.get("test"), columns, list(names or ()), counts)


def _flat(rows: Dataset) -> Dataset:
    """Rows without a mapping of indices."""
    return Dataset.from_dict(rows[:], features=rows.features)


def read_rows(
    rows: Dataset, columns: Sequence[str], names: Sequence[str] | None, title: str, *, label_column: str = LABEL
) -> tuple[Dataset, list[str]]:
    """Rows with the text columns and ``label``, those without a label left out with a warning; and names of the labels.

    Args:
        rows: with text columns and labels.
        columns: text columns.
        names: of the labels in the order of their numbers; None: those of the rows, or else the labels themselves.
        title: of the rows, in messages.
        label_column: column of the labels.

    Raises:
        ValueError: a column is missing, a row without text, a label that is not in the map.
    """
    missing = [name for name in (*columns, label_column) if name not in rows.column_names]
    if missing:
        raise ValueError(
            f"The {title} rows have no column {missing[0]!r}; they have {', '.join(rows.column_names)}. Say which they "
            "are with --text_column and --label_column."
        )
    values, what = column_values(rows, label_column), f"column {label_column!r} of the {title} rows"
    kept = [place for place, value in enumerate(values) if value not in UNLABELLED]
    own = getattr(rows.features[label_column], "names", None)  # a split may number its labels in its own way
    found = read_labels([values[place] for place in kept], what, names=own, rows=kept)
    names = list(names or own or class_names(found))
    labels = places(found, names, f"{what} (--class_names says what the classes are)", rows=kept)
    if len(kept) < len(rows):
        text = f"{len(rows) - len(kept)} of {len(rows)} {title} rows have no label (-1 or -) and are left out."
        warnings.warn(text, FairnessWarning, stacklevel=4)
        rows = rows.select(kept)
    texts = {name: list(rows[name]) for name in columns}
    for name, column in texts.items():
        bad = next((place for place, text in enumerate(column) if not isinstance(text, str) or not text.strip()), None)
        if bad is not None:
            raise ValueError(f"Row {kept[bad]} of the {title} rows has no text in {name!r}: {column[bad]!r}.")
    return Dataset.from_dict({**texts, LABEL: labels}), names


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
