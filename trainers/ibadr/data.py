"""What the IBADR pipeline works on: labelled rows in one form, and models given in any."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from datasets import Dataset

from hf_fairness.measure.model_keys import tokenizer_key, weights_key
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


def label_counts(labels: Any, names: Sequence[str]) -> dict[str, int]:
    """Rows of each label, by name."""
    counts = Counter(int(label) for label in labels)
    return {name: counts[number] for number, name in enumerate(names)}


def prepare(
    arguments: IBADRArguments,
    config: IBADRConfig,
    train: Dataset,
    *,
    validation: Dataset | None = None,
    test: Dataset | None = None,
) -> PairTask:
    """Check rows and bring them into one form.

    Args:
        arguments: columns, names of labels, number of training rows.
        config: seed, and how many rows the method needs.
        train: rows to refine.
        validation: rows to stop on; None holds out a tenth of the training rows.
        test: rows to report on.

    Raises:
        ValueError: a column is missing, a row without text, a label that is not in the map, one class only, fewer rows
            than the shallow model or the indicators need.
    """
    try:
        columns = text_columns(train, arguments.text_column)
    except ValueError as error:
        raise ValueError(f"{error} Name them with --text_column.") from error
    names = _label_names(arguments, train)
    found, counts = {}, {}
    for title, rows in (("train", train), ("validation", validation), ("test", test)):
        if rows is not None:
            found[title], counts[f"n_{title}_unlabelled"] = _rows(rows, columns, arguments.label_column, names, title)
    rows = found["train"]
    if validation is None:
        order = generator(config.seed, "dev").permutation(len(rows))  # the word of the draw, which numbers hang on
        cut = max(1, len(rows) // 10)
        found["validation"], rows = rows.select(sorted(order[:cut])), rows.select(sorted(order[cut:]))
    if arguments.max_rows is not None and arguments.max_rows < len(rows):
        chosen = generator(config.seed, "train").permutation(len(rows))[: arguments.max_rows]
        rows = rows.select(sorted(chosen))
    _check_size(config, rows, names)
    counts = {name: value for name, value in counts.items() if value}
    counts["validation_held_out"] = validation is None
    return PairTask(_flat(rows), _flat(found["validation"]), found.get("test"), columns, names, counts)


def _flat(rows: Dataset) -> Dataset:
    """Rows without a mapping of indices."""
    return Dataset.from_dict(rows[:], features=rows.features)


def _check_size(config: IBADRConfig, rows: Dataset, names: Sequence[str]) -> None:
    """Raise unless the training rows have several classes and are enough."""
    present = sorted(set(rows[LABEL]))
    if len(present) < 2:
        raise ValueError(
            f"All {len(rows)} training rows have the label {names[present[0]] if present else '(none)'}: a classifier "
            "needs two classes."
        )
    if len(rows) < config.n_bias_indicators:
        raise ValueError(
            f"{len(rows)} training rows do not make --n_bias_indicators {config.n_bias_indicators} groups: take fewer."
        )
    if len(rows) < config.n_shallow:
        raise ValueError(
            f"{len(rows)} training rows are fewer than --n_shallow {config.n_shallow}: the shallow model is trained on "
            "a part of them. Set it to a small share of the rows."
        )


def _label_names(arguments: IBADRArguments, rows: Dataset) -> list[str]:
    """Names of the labels: those that were given, those of the data, or the values themselves."""
    column = arguments.label_column
    if column not in rows.column_names:
        raise ValueError(
            f"The training rows have no column {column!r}; they have {', '.join(rows.column_names)}. Name that of the "
            "labels with --label_column."
        )
    given = arguments.class_names or getattr(rows.features[column], "names", None)
    if given:
        return [str(name) for name in given]
    values = [value for value in column_values(rows, column) if value not in UNLABELLED]
    return class_names(read_labels(values, f"column {column!r} of the train rows"))


def _rows(
    rows: Dataset, columns: Sequence[str], label_column: str, names: Sequence[str], title: str
) -> tuple[Dataset, int]:
    """Rows with the text columns and ``label``, and how many had no label."""
    missing = [name for name in (*columns, label_column) if name not in rows.column_names]
    if missing:
        raise ValueError(f"The {title} rows have no column {missing[0]!r}; they have {', '.join(rows.column_names)}.")
    values, what = column_values(rows, label_column), f"column {label_column!r} of the {title} rows"
    kept = [place for place, value in enumerate(values) if value not in UNLABELLED]
    own = getattr(rows.features[label_column], "names", None)  # a split may number its labels in its own way
    found = read_labels([values[place] for place in kept], what, names=own, rows=kept)
    labels = places(found, names, f"{what} (--class_names says what the classes are)", rows=kept)
    dropped = len(rows) - len(kept)
    if dropped:
        text = f"{dropped} of {len(rows)} {title} rows have no label (-1 or -) and are left out."
        warnings.warn(text, FairnessWarning, stacklevel=4)
        rows = rows.select(kept)
    texts = {name: list(rows[name]) for name in columns}
    for name, column in texts.items():
        bad = next((place for place, text in enumerate(column) if not isinstance(text, str) or not text.strip()), None)
        if bad is not None:
            raise ValueError(f"Row {kept[bad]} of the {title} rows has no text in {name!r}: {column[bad]!r}.")
    return Dataset.from_dict({**texts, LABEL: labels}), dropped


def labelled_rows(rows: Dataset, task: PairTask, title: str, *, label_column: str | None = None) -> Dataset:
    """Other rows in the form of the task.

    Args:
        rows: with the text columns of the task and labels.
        task: the data.
        title: of the rows, in messages.
        label_column: column of the labels; None: ``label``.
    """
    return _rows(rows, task.columns, label_column or LABEL, task.label_names, title)[0]


@dataclass(frozen=True)
class Source:
    """Where a model comes from.

    Attributes:
        value: Hub id, folder, live model or config.
        tokenizer: of a live model or config.
        key: content key; of an id the id itself.
        name: for the reader.
    """

    value: Any
    tokenizer: Any
    key: Any
    name: str


def source(given: Any, name: str | None, what: str) -> Source:
    """A source from what a caller gave.

    Args:
        given: None, an id or folder, or a pair of (live model or config, tokenizer).
        name: id or folder where nothing was given.
        what: what it is for, in messages.

    Raises:
        ValueError: there is neither.
    """
    value, tokenizer = given if isinstance(given, tuple) else (given, None)
    value = name if value is None else value
    if value is None or value == "":
        raise ValueError(f"The {what} is missing: an id on the Hub, a folder, or a live model with its tokenizer.")
    if isinstance(value, (str, Path)):
        path = Path(value)
        if not path.exists():
            return Source(str(value), tokenizer, str(value), str(value))
        return Source(str(value), tokenizer, content_key(path), path.resolve().name)
    live = hasattr(value, "state_dict")
    config = (value.config if live else value).to_dict()
    state: list[Any] = [type(value).__qualname__, "" if tokenizer is None else tokenizer_key(tokenizer)]
    state.append(
        {key: str(item) for key, item in config.items() if key not in ("_name_or_path", "transformers_version")}
    )
    state.append(weights_key(value) if live else "")
    return Source(value, tokenizer, content_key(state), type(value).__name__)


def shown(arguments: IBADRArguments, config: IBADRConfig, sources: dict[str, Source]) -> dict[str, Any]:
    """The settings as a reader sees them: no paths of this machine."""
    found = {name: value for name, value in asdict(arguments).items() if name not in ("resume", "demo", "sweep")}
    found |= config.shown()
    for name in ("dataset", "validation_dataset", "test_dataset", "judge_model"):
        found[name] = shown_name(found[name])
    if config.confidence_from not in CONFIDENCES:
        found["confidence_from"] = shown_name(config.confidence_from)
    found["challenge"] = [text.partition("=")[0] for text in arguments.challenge or []]
    return found | {
        "model_name_or_path": sources["model"].name,
        "generator_model": sources["generator"].name,
        "shallow_model": sources["shallow"].name,
    }
