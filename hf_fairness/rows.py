"""The one reader of rows and their columns, for what refines, measures and trains.

Most functions want a ``datasets.Dataset``; :func:`read_columns` takes dicts and columns as well. The one reader of
variants (a text column per group) is ``hf_fairness.measure.variants``.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.maps import check_on_missing
from hf_fairness.scores.statistics import Floats, as_values, plain
from hf_fairness.utils import FairnessWarning

Columns = str | Sequence[str]
#: Text columns that are looked for where none are named, in this order.
TEXT_COLUMNS = (("premise", "hypothesis"), ("text",))


def check_dataset(dataset: Any, what: str) -> None:
    """Raise unless it is one ``datasets.Dataset`` with rows.

    Raises:
        TypeError: several splits, a stream, or something else; the message says how to get a Dataset.
        ValueError: it has no rows.
    """
    from datasets import Dataset, IterableDataset

    tables = (Dataset, IterableDataset)
    if isinstance(dataset, Mapping) and all(isinstance(split, tables) for split in dataset.values()):
        splits = ", ".join(map(str, dataset)) or "none"
        first = next(iter(dataset), "train")
        raise TypeError(
            f"{what} takes one Dataset, got a {type(dataset).__name__} with splits {splits}. Select one, for "
            f"example dataset[{first!r}], or join them: datasets.concatenate_datasets(list(dataset.values()))."
        )
    if isinstance(dataset, IterableDataset):
        raise TypeError(
            f"{what} needs the whole corpus, and a stream shows one row at a time. Load it without "
            "streaming=True, or write it out first: Dataset.from_generator(lambda: iter(stream))."
        )
    if not isinstance(dataset, Dataset):
        raise TypeError(
            f"{what} takes a datasets.Dataset, got {type(dataset).__name__}. Make one with Dataset.from_dict, "
            "Dataset.from_list or Dataset.from_pandas."
        )
    if not len(dataset):
        raise ValueError(f"{what}: the data set has no rows.")


def column_names(dataset: Any, columns: object, what: str, role: str) -> tuple[str, ...]:
    """The names as a tuple, each of them a column.

    Args:
        dataset: where they must be.
        columns: a name or a list of names.
        what: the function, for messages.
        role: the argument, for messages.

    Raises:
        TypeError: no names.
        ValueError: a column that is not there, or is named twice.
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns) if isinstance(columns, Sequence) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what}: {role} must be the name of a column, or a list of names; got {columns!r}.")
    missing = [name for name in names if name not in dataset.column_names]
    if missing:
        listed = ", ".join(dataset.column_names) or "none"
        raise ValueError(f"{what}: no column {missing[0]!r} for {role}. Columns: {listed}.")
    if len(set(names)) < len(names):
        raise ValueError(f"{what}: {role} names a column twice: {', '.join(names)}.")
    return names


def column_values(dataset: Any, name: str) -> list[Any]:
    """The values of a column as Python objects, whatever the format of the data set."""
    return list(dataset.with_format(None)[name][:])


def check_lacking(lacking: NDArray[np.bool_], what: str, columns: Sequence[str], on_missing: str, how: str) -> None:
    """Say how many rows lack a cell, or refuse them.

    Args:
        lacking: which rows do, shape (n,).
        what: the function, for messages.
        columns: what they lack a cell of.
        on_missing: ``"skip"`` or ``"error"``.
        how: what becomes of them.

    Raises:
        ValueError: an unknown ``on_missing``, or such rows with ``"error"``.
    """
    check_on_missing(on_missing)
    rows = np.flatnonzero(lacking)
    if not len(rows):
        return
    where = f"{', '.join(columns)}, the first is row {rows[0]}"
    said = f"{what}: {len(rows)} of {len(lacking)} rows lack a value in {where}"
    if on_missing == "error":
        raise ValueError(f"{said}. Fill or leave out these rows, or pass on_missing='skip'.")
    warnings.warn(f"{said}; {how}.", FairnessWarning, stacklevel=3)


def labels(dataset: Any, name: str, what: str) -> list[Hashable]:
    """The values of a column by which rows are grouped.

    Raises:
        TypeError: the column holds lists or the like, which cannot be compared.
    """
    values: list[Hashable] = column_values(dataset, name)
    if not all(isinstance(value, Hashable) for value in values):
        raise TypeError(f"{what}: column {name!r} holds {dataset.features[name]}, wanted single values to group by.")
    return values


def row_scores(dataset: Any, score_columns: Columns | None, scores: ArrayLike | None, what: str) -> Floats:
    """One score per row: the greatest absolute value among its scores.

    Args:
        dataset: the corpus.
        score_columns: columns of numbers, for example one per text of a pair; or
        scores: the numbers themselves, shape (n,) or (n, k).
        what: the function, for messages.

    Returns:
        Shape (n,), not negative.

    Raises:
        TypeError: both or neither given, or a column that holds no numbers.
        ValueError: a missing column, another number of scores than rows, NaN or a missing value.

    Source: Dolci et al. 2023, section 4.2.1: of each pair the higher of the two absolute scores.
    """
    if (score_columns is None) == (scores is None):
        raise TypeError(f"{what}: give score_columns or scores, and not both.")
    if scores is not None:
        given = np.asarray(scores)
        matrix = as_values(given, f"{what}: scores", ndim=2 if given.ndim == 2 else 1)
        if len(matrix) != len(dataset):
            raise ValueError(f"{what}: scores needs one entry per row; got {len(matrix)} for {len(dataset)} rows.")
    else:
        names = column_names(dataset, score_columns, what, "score_columns")
        matrix = np.stack([_numbers(dataset, name, what) for name in names], axis=1)
    greatest: Floats = np.abs(matrix).reshape(len(matrix), -1).max(axis=1)
    return greatest


def _numbers(dataset: Any, name: str, what: str) -> Floats:
    kind = str(getattr(dataset.features[name], "dtype", dataset.features[name]))
    if not kind.startswith(("float", "int", "uint")):
        raise TypeError(
            f"{what}: score_columns: {name!r} holds {kind}, wanted numbers. Scores are the columns that a "
            "measure adds, for example those ending in _bias_absolute of hf_fairness.measure.BiasScore."
        )
    column = dataset.select_columns([name]).with_format("arrow")[:].column(name)
    return as_values(column.to_numpy().astype(np.float64), f"{what}: score_columns: {name!r}")


def read_columns(
    rows: Any, wanted: Sequence[str], name: str, optional: Sequence[str] = (), *, as_names: bool = True
) -> dict[str, list[Any]]:
    """Columns of a Dataset in any format, of a DataFrame, of a mapping of columns, or of dicts, one per row.

    Args:
        rows: the rows.
        wanted: columns that must be there.
        name: how messages call them.
        optional: columns that are taken where they are there.
        as_names: whether class labels of a Dataset become their names.

    Returns:
        The columns asked for, all of the same length, at least one row.

    Raises:
        TypeError: something else.
        ValueError: no rows, a missing column, columns of different lengths.
    """
    names: Any = getattr(rows, "column_names", None)
    if isinstance(names, Mapping):
        raise TypeError(f"{name} is a DatasetDict; choose one split, for example {name}['validation'].")
    if names is None and hasattr(rows, "columns") and not isinstance(rows, Mapping):
        names = list(rows.columns)
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise TypeError(f"{name} must be a Dataset, dicts or a mapping of columns; got {type(rows).__name__}.")
    found: dict[str, list[Any]] = {}
    if isinstance(rows, Mapping) or names:
        present = list(rows) if isinstance(rows, Mapping) else list(names)
        table: Any = rows.with_format(None) if hasattr(rows, "with_format") else rows
        found = {column: list(plain(table[column])) for column in (*wanted, *optional) if column in present}
    else:
        items = list(rows)
        bad = next((place for place, item in enumerate(items) if not isinstance(item, Mapping)), None)
        if bad is not None:
            raise TypeError(f"{name}[{bad}] must be a dict; got {type(items[bad]).__name__}.")
        present = [column for column in (*wanted, *optional) if items and all(column in item for item in items)]
        found = {column: [item[column] for item in items] for column in present}
        if not items:
            raise ValueError(f"{name} is empty: there is no item to score.")
    missing = [column for column in wanted if column not in found]
    if missing:
        has = f" It has {', '.join(map(str, present))}." if present else ""
        raise ValueError(f"{name} needs {', '.join(wanted)} in every row; missing: {', '.join(missing)}.{has}")
    lengths = {column: len(values) for column, values in found.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"The columns of {name} have different lengths: {lengths}.")
    if lengths and not next(iter(lengths.values())):
        raise ValueError(f"{name} is empty: there is no item to score.")
    features = getattr(rows, "features", None) or {}
    for column, values in found.items():
        decode = getattr(features.get(column), "int2str", None)
        if decode is not None and as_names:
            found[column] = decode(values)
    return found


def text_columns(dataset: Any, columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """The one or two text columns of the rows.

    Args:
        dataset: the rows.
        columns: their names; None looks for ``premise`` and ``hypothesis``, then for ``text``.

    Raises:
        ValueError: no such columns, or more than two.

    Example:
        >>> from datasets import Dataset
        >>> text_columns(Dataset.from_dict({"text": ["a"], "label": [0]}))
        ('text',)
    """
    present = dataset.column_names
    choices = TEXT_COLUMNS if columns is None else (tuple(columns),)
    found = next((names for names in choices if names and set(names) <= set(present)), None)
    if found is None or len(found) > 2:
        wanted = " or ".join(", ".join(names) for names in choices) or "one or two names"
        raise ValueError(
            f"The rows need the text columns {wanted}, one or two; they have {', '.join(present)}. Say which they are "
            "(columns, --text_column)."
        )
    return found
