"""Rows of texts or pairs of texts with labels, and their tokens.

Rows have the text columns ``premise`` and ``hypothesis``, or ``text`` alone, or those that are named; and ``label``,
the number of the class. Columns of a bias model or a teacher, as `PoETrainer` and its like read them, stay beside the
tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from hf_fairness.rows import column_values, text_columns
from hf_fairness.scores import class_labels

#: Columns of numbers that methods read beside the tokens.
METHOD_COLUMNS = ("bias_log_probs", "teacher_log_probs")


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
