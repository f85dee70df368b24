"""The rows that a refinement adds, and the columns that say where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.augment import CounterfactualAugmentation
from hf_fairness.rows import Columns, column_names, column_values

if TYPE_CHECKING:
    from hf_fairness.augment.transforms import SwapOptions

#: Number of the row that a row is, or was made from.
SOURCE = "source_row"

Rows = NDArray[np.intp]
Texts = tuple[str, ...]


def refined(
    dataset: Any,
    chosen: Rows,
    kept: Rows,
    text_columns: Columns,
    options: SwapOptions,
    what: str,
    *,
    first: int = 0,
    accepted: Rows | None = None,
) -> Any:
    """The kept rows of a corpus, or of a part of it, then the counterfactuals of the chosen ones, with their sources.

    Args:
        dataset: the rows.
        chosen: places of the rows to swap.
        kept: places of the rows to keep.
        text_columns: swapped together.
        options: for ``CounterfactualAugmentation``.
        what: the function, for messages.
        first: number of the first row in the corpus.
        accepted: numbers, in the corpus, of the rows whose counterfactual is added; None: those whose counterfactual
            the rows do not hold, and of equal ones the first.

    Returns:
        The rows in the format of the data set.

    Raises:
        TypeError: columns of another type.
        ValueError: a missing column, or one that would be overwritten.
    """
    from datasets import Value, concatenate_datasets

    names = column_names(dataset, text_columns, what, "text_columns")
    function = CounterfactualAugmentation(list(names), **options)
    added = {**function.outputs(), SOURCE: "int64"}
    check_unrefined(dataset.column_names, added, what)
    plain, n = dataset.with_format(None), len(dataset)
    values = {
        **{name: [value] * n for name, value in function.unchanged().items()},
        SOURCE: np.arange(first, first + n),
    }
    rows = plain
    for name, kind in added.items():
        rows = rows.add_column(name, values[name], feature=Value(kind))
    rows = rows if len(kept) == n else rows.select(kept)
    made = swapped(plain, chosen, function, first)
    if accepted is None:
        made = made.select(unseen(rows_of(made, names), set(rows_of(plain, names))))
    else:
        made = made.select(np.flatnonzero(np.isin(column_values(made, SOURCE), accepted)))
    if len(made):
        others = plain.select(np.subtract(column_values(made, SOURCE), first)).remove_columns(_read(function))
        made = concatenate_datasets([others, made], axis=1) if others.column_names else made
        made = made.select_columns(rows.column_names)
        rows = concatenate_datasets([rows, made])
    return in_format(rows, dataset.format, dataset.column_names)


def check_unrefined(names: Iterable[str], added: Iterable[str], what: str) -> None:
    """Raise where a data set has one of the columns that a refinement adds.

    Raises:
        ValueError: says which.
    """
    taken = sorted({*names} & {*added})
    if taken:
        raise ValueError(
            f"{what}: the data set already has the column {taken[0]!r}, as after an earlier refinement. A row is "
            "swapped once only: refine the original data set, or rename the column if it is something else."
        )


def swapped(dataset: Any, chosen: Rows, function: CounterfactualAugmentation, first: int = 0) -> Any:
    """The counterfactuals of those of the chosen rows that have terms: the columns that are read and added."""
    from datasets import Value

    rows = dataset.with_format(None).select_columns(_read(function)).select(chosen)
    rows = rows.add_column(SOURCE, chosen + first, feature=Value("int64"))
    made = rows.map(function, batched=True, features=function.features(rows.features), desc="Swapping")
    return made.select(np.flatnonzero(column_values(made, "counterfactual"))) if len(chosen) else made


def _read(function: CounterfactualAugmentation) -> list[str]:
    """Columns that the function reads and writes; the others are copied as they are, images and audio too."""
    return [*function.columns, *([] if function.guard is None else [function.guard.column])]


def rows_of(dataset: Any, names: Sequence[str]) -> list[Texts]:
    """The values of some columns, row by row."""
    return list(zip(*(column_values(dataset, name) for name in names), strict=True))


def unseen(texts: Sequence[Texts], seen: set[Texts]) -> Rows:
    """Places of the texts that are new, and of equal ones the first."""
    first: dict[Texts, int] = {}
    for place, text in enumerate(texts):
        if text not in seen:
            first.setdefault(text, place)
    return np.asarray(list(first.values()), dtype=np.intp)


def in_format(rows: Any, form: Mapping[str, Any], before: list[str]) -> Any:
    """Rows in the format of the data set that they were made from; columns that were added are formatted too.

    Args:
        rows: what to format.
        form: ``dataset.format`` of the data set.
        before: its columns.
    """
    columns = None if set(form["columns"]) == set(before) else form["columns"]
    if form["type"] is None and columns is None:
        return rows
    more = {"output_all_columns": form["output_all_columns"], **form["format_kwargs"]}
    return rows.with_format(form["type"], columns, **more)
