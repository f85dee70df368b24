"""Texts and labels of a corpus, checked and numbered."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.rows import Columns, check_dataset, check_lacking, column_names, column_values
from hf_fairness.scores.class_labels import read_labels
from hf_fairness.utils import is_missing


def read_corpus(
    dataset: Any, text_columns: Columns, label_column: str, what: str, on_missing: str = "error"
) -> tuple[tuple[Hashable, ...], list[tuple[str, ...]], NDArray[np.intp], list[Hashable]]:
    """Texts and labels of a corpus.

    Args:
        dataset: the corpus.
        text_columns: column or columns of texts.
        label_column: column of the labels, names or numbers from 0.
        what: the function, for messages.
        on_missing: ``"skip"`` lets rows pass that lack a text, with a warning.

    Returns:
        Names of the labels that occur; texts of each row, none for one that lacks a text; the place of each row's label
        among the names; and the labels as they stand in the column.

    Raises:
        TypeError: no Dataset, or names of columns that are none.
        ValueError: no rows, a missing column, a row without a text or a label, labels that are not whole numbers or
            names.
    """
    check_dataset(dataset, what)
    columns = column_names(dataset, text_columns, what, "text_columns")
    column_names(dataset, label_column, what, "label_column")
    texts = list(zip(*(column_values(dataset, name) for name in columns), strict=True))
    lacking = np.asarray([any(map(is_missing, row)) for row in texts])
    check_lacking(lacking, what, columns, on_missing, "they count for nothing")
    texts = [() if gone else row for row, gone in zip(texts, lacking.tolist(), strict=True)]
    bad = next((i for i, row in enumerate(texts) if not all(isinstance(text, str) for text in row)), None)
    if bad is not None:
        raise ValueError(f"{what}: row {bad} has no text in {', '.join(columns)}: {texts[bad]!r}. Leave such rows out.")
    values = read_labels(column_values(dataset, label_column), f"{what}: column {label_column!r}")
    kinds = sorted(set(values), key=lambda value: (isinstance(value, str), value))
    words = getattr(dataset.features[label_column], "names", None)
    numbers = {value: place for place, value in enumerate(kinds)}
    codes = np.asarray([numbers[value] for value in values], dtype=np.intp)
    return tuple(words[int(kind)] if words else kind for kind in kinds), texts, codes, list(values)
