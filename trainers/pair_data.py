"""Rows of texts or pairs of texts with labels, and their tokens.

Rows have the text columns ``premise`` and ``hypothesis``, or ``text`` alone, or those that are named; and ``label``,
the number of the class. Columns of a bias model or a teacher, as `PoETrainer` and its like read them, stay beside the
tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from hf_fairness.refine.columns import column_values
from hf_fairness.scores import class_labels
from hf_fairness.utils import foreign_code_refused

#: Text columns that are looked for, in this order.
TEXT_COLUMNS = (("premise", "hypothesis"), ("text",))
#: Columns of numbers that methods read beside the tokens.
METHOD_COLUMNS = ("bias_log_probs", "teacher_log_probs")


def text_columns(dataset: Dataset, columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """The one or two text columns of the rows.

    Args:
        dataset: the rows.
        columns: their names; None looks for ``premise`` and ``hypothesis``, then for ``text``.

    Raises:
        ValueError: no such columns, or more than two.

    Example:
        >>> text_columns(Dataset.from_dict({"text": ["a"], "label": [0]}))
        ('text',)
    """
    present = dataset.column_names
    choices = TEXT_COLUMNS if columns is None else (tuple(columns),)
    found = next((names for names in choices if names and set(names) <= set(present)), None)
    if found is None or len(found) > 2:
        wanted = " or ".join(", ".join(names) for names in choices) or "one or two names"
        raise ValueError(f"The rows need the text columns {wanted}, one or two; they have {', '.join(present)}.")
    return found


def encode_rows(
    dataset: Dataset,
    tokenizer: Any,
    *,
    columns: Sequence[str] | None = None,
    label_column: str = "label",
    max_length: int | None = None,
) -> Dataset:
    """Tokens and ``labels`` of the rows, with the columns of methods where the rows have them.

    Args:
        dataset: texts and labels.
        tokenizer: of the model.
        columns: text columns; None as in :func:`text_columns`.
        label_column: numbers of classes.
        max_length: tokens of a row; None means what the tokenizer says. Longer rows are cut.

    Raises:
        ValueError: a column is missing, or labels are no numbers of classes.
    """
    names = text_columns(dataset, columns)
    labels = class_numbers(dataset, label_column)
    kept = [name for name in METHOD_COLUMNS if name in dataset.column_names]
    cut: dict[str, Any] = {"truncation": True} | ({} if max_length is None else {"max_length": max_length})
    if max_length is None and tokenizer.model_max_length > 10**6:
        cut = {}

    def encode(batch: Mapping[str, Any]) -> dict[str, Any]:
        return dict(tokenizer(*(list(batch[name]) for name in names), **cut))

    drop = [name for name in dataset.column_names if name not in kept]
    encoded = dataset.map(encode, batched=True, remove_columns=drop, desc="Tokenizing")
    return encoded.add_column("labels", labels.tolist())


def class_numbers(dataset: Dataset, label_column: str = "label") -> NDArray[np.int64]:
    """Labels of the rows as numbers of classes.

    Raises:
        ValueError: there are no rows or no such column, or it does not hold whole numbers from 0.
    """
    if label_column not in dataset.column_names or not len(dataset):
        raise ValueError(
            f"The rows need the column {label_column!r} and one row at least; got {len(dataset)} rows with "
            f"{', '.join(dataset.column_names)}."
        )
    return class_labels.class_numbers(column_values(dataset, label_column), f"column {label_column!r}")


def source_tokenizer(source: Any, tokenizer: Any = None) -> Any:
    """The tokenizer given, or the one from where a model comes from.

    Args:
        source: a Hub id or folder, a live model or a config.
        tokenizer: what was given; None looks.

    Raises:
        ValueError: none was given, and the source does not say where it came from.
    """
    from transformers import AutoTokenizer

    if tokenizer is not None:
        return tokenizer
    origin = str(source) if isinstance(source, (str, Path)) else getattr(source, "name_or_path", "")
    if not origin:
        raise ValueError(f"{type(source).__name__} does not say where it came from: pass its tokenizer.")
    with foreign_code_refused(origin):
        return AutoTokenizer.from_pretrained(origin, trust_remote_code=False)
