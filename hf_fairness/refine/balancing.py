"""As many rows of every group: by leaving rows out, or by repeating some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.refine.counterfactuals import SOURCE, in_format, rows_of
from hf_fairness.rows import Columns, check_dataset, check_lacking, column_names
from hf_fairness.rows import labels as column_labels
from hf_fairness.scores.statistics import generator
from hf_fairness.utils import is_missing

METHODS = ("down", "up")

#: What rows are balanced by: the value of ``within``, and the group.
Cell = tuple[Hashable, Hashable]


def balance(
    dataset: Any,
    *,
    group_column: str | None = None,
    text_columns: Columns | None = None,
    attribute: str | Path | Attribute = "gender",
    groups: Sequence[Hashable] | None = None,
    within: str | None = None,
    method: str = "down",
    seed: int = 0,
    on_missing: str = "skip",
) -> Any:
    """Sample a corpus so that every group has as many rows, on request within each value of a label.

    The group of a row stands in a column, or is the polarity of its texts taken together: the group that most
    of their terms belong to. Rows of no balanced group, such as texts without terms, all stay, and so do rows that
    lack a group, a text or the value of ``within``: a warning says how many.

    Args:
        dataset: the corpus; one ``datasets.Dataset``.
        group_column: column that holds the group; or
        text_columns: column or columns of texts whose polarity is the group.
        attribute: name, file or object, for the polarity.
        groups: the groups to balance, any number; None means those of the attribute, or every value of
            ``group_column``.
        within: column whose values are balanced one by one, usually the label: then no label goes with a group
            more often than with another.
        method: ``"down"`` leaves out rows of the larger groups; ``"up"`` repeats rows of the smaller ones, each
            as often as any other of its group or once more.
        seed: of the choice.
        on_missing: what to do about rows that lack one of these: ``"skip"`` keeps them, ``"error"`` refuses them.

    Returns:
        With ``"down"`` the rows that stay, in their order. With ``"up"`` all rows in their order, then the
        copies in the order of their sources, with a column ``source_row`` by which :func:`split` keeps copies
        together.

    Raises:
        TypeError: no Dataset, or both or neither of ``group_column`` and ``text_columns``.
        ValueError: unknown method or ``on_missing``, an empty cell with ``"error"``, a missing column, fewer than two
            groups, or a group without rows (in one of the values of ``within``), which no sampling can balance.

    Source: after Dixon et al. 2018, who balance the labels of texts that name a group by adding texts.

    Example:
        >>> from datasets import Dataset
        >>> from hf_fairness.refine import balance
        >>> corpus = Dataset.from_dict({"text": ["He ran.", "He sat.", "She ran.", "Rain."]})
        >>> sorted(balance(corpus, text_columns="text", method="up")["text"][:])
        ['He ran.', 'He sat.', 'Rain.', 'She ran.', 'She ran.']
    """
    check_dataset(dataset, "balance")
    check_method(method)
    found = cells(dataset, group_column, text_columns, attribute, within, on_missing)
    rows = rows_of_cells(found)
    counts = Counter({cell: len(places) for cell, places in rows.items()})
    chosen = check_cells(counts, found.known if groups is None else groups, within)
    return taken(dataset, rows, draws(counts, chosen, method, seed), copies=method == "up")


def check_method(method: str) -> None:
    """Raise unless it is one of :data:`METHODS`."""
    if method not in METHODS:
        raise ValueError(f"balance: unknown method {method!r}. Known methods: {', '.join(METHODS)}.")


@dataclass(frozen=True)
class Cells:
    """What rows are balanced by.

    Attributes:
        labels: the group of each row.
        values: the value of ``within`` of each row, ``""`` without one.
        lacking: which rows lack one of these, shape (n,).
        known: all groups.
    """

    labels: list[Hashable]
    values: list[Hashable]
    lacking: NDArray[np.bool_]
    known: list[Hashable]


def cells(
    dataset: Any,
    group_column: str | None = None,
    text_columns: Columns | None = None,
    attribute: str | Path | Attribute = "gender",
    within: str | None = None,
    on_missing: str = "skip",
) -> Cells:
    """Read what :func:`balance` balances by; a part of a corpus gives the part of it."""
    labels, known = _row_groups(dataset, group_column, text_columns, attribute)
    values: list[Hashable] = [""] * len(dataset)
    if within is not None:
        values = column_labels(dataset, column_names(dataset, within, "balance", "within")[0], "balance")
    lacking = np.asarray([is_missing(label) or is_missing(value) for label, value in zip(labels, values, strict=True)])
    read = list(filter(None, (group_column, *_names(text_columns), within)))
    check_lacking(lacking, "balance", read, on_missing, "they all stay")
    return Cells(labels, values, lacking, known)


def rows_of_cells(found: Cells) -> dict[Cell, NDArray[np.intp]]:
    """The rows of each cell in their order, cells as they first occur; rows that lack something are in none."""
    rows: dict[Cell, list[int]] = {}
    for row in np.flatnonzero(~found.lacking).tolist():
        rows.setdefault((found.values[row], found.labels[row]), []).append(row)
    return {cell: np.asarray(places, dtype=np.intp) for cell, places in rows.items()}


def check_cells(counts: Counter[Cell], groups: Iterable[Hashable], within: str | None) -> list[Hashable]:
    """The groups to balance, each once.

    Raises:
        ValueError: no rows, fewer than two groups, or a group that has no row in one of the values.
    """
    chosen = list(dict.fromkeys(groups))
    if len(chosen) < 2:
        raise ValueError(f"balance: wanted at least two groups, got {chosen!r}.")
    if not counts:
        raise ValueError("balance: every row lacks a group, a text or the value of within. Fill these columns first.")
    for value in dict.fromkeys(value for value, _ in counts):
        empty = [group for group in chosen if not counts[value, group]]
        if empty:
            where = "" if within is None else f" where {within} is {value!r}"
            sizes = ", ".join(f"{group!r}: {counts[value, group]}" for group in chosen)
            all_groups = Counter[Hashable]()
            for (_, group), n in counts.items():
                all_groups[group] += n
            present = ", ".join(repr(name) for name, _ in all_groups.most_common(10))
            raise ValueError(
                f"balance: group {empty[0]!r} has no row{where} (rows per group: {sizes}), so no sampling "
                f"balances it. Groups of the rows: {present}. Name other groups, leave those rows out, or add "
                "counterfactuals first (hf_fairness.augment.CounterfactualAugmentation)."
            )
    return chosen


def draws(counts: Counter[Cell], groups: Sequence[Hashable], method: str, seed: int) -> dict[Cell, NDArray[Any]]:
    """How often each row of a cell is taken, so that the cells of a value end with as many rows.

    Args:
        counts: rows of each cell.
        groups: those to balance.
        method: ``"down"`` or ``"up"``.
        seed: of the choice.

    Returns:
        For each cell of these groups an array of whole numbers with an entry per row of the corpus that is in it.
    """
    rng = generator(seed)
    found: dict[Cell, NDArray[Any]] = {}
    for value in dict.fromkeys(value for value, _ in counts):
        sizes = [counts[value, group] for group in groups]
        wanted = min(sizes) if method == "down" else max(sizes)
        for group, size in zip(groups, sizes, strict=True):
            order = rng.permutation(size)
            often, rest = divmod(wanted, size)
            times = np.full(size, often, dtype=np.min_scalar_type(often + 1))
            times[order[:rest]] += 1
            found[value, group] = times
    return found


def taken(
    dataset: Any,
    rows: Mapping[Cell, NDArray[np.intp]],
    drawn: Mapping[Cell, NDArray[Any]],
    *,
    copies: bool,
    first: int = 0,
) -> Any:
    """The rows of a corpus, or of a part of it, each as often as it was drawn; those of no balanced group once.

    Args:
        dataset: the rows.
        rows: of each cell.
        drawn: how often each of them is taken; it may have cells that no row here is in.
        copies: whether rows are repeated; all of them are marked with the row that they are, then.
        first: number of the first row in the corpus.
    """
    times = np.ones(len(dataset), dtype=np.intp)
    for cell, often in drawn.items():
        times[rows.get(cell, [])] = often
    if copies:
        return _with_copies(dataset, np.repeat(np.arange(len(dataset)), times - 1), first)
    return dataset.select(np.flatnonzero(times))


def polarities(dataset: Any, names: Sequence[str], attribute: Attribute) -> list[str | None]:
    """Polarity of the texts of each row, taken together; None where a text is missing."""
    return [
        None if any(map(is_missing, texts)) else attribute.polarity("\n".join(texts))
        for texts in rows_of(dataset, tuple(names))
    ]


def _names(columns: Columns | None) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns or ())


def _row_groups(
    dataset: Any, group_column: str | None, text_columns: Columns | None, attribute: str | Path | Attribute
) -> tuple[list[Hashable], list[Hashable]]:
    """The group of each row, and all groups."""
    if (group_column is None) == (text_columns is None):
        raise TypeError("balance: give group_column or text_columns, and not both.")
    if group_column is not None:
        labels = column_labels(dataset, column_names(dataset, group_column, "balance", "group_column")[0], "balance")
        return labels, sorted({label for label in labels if not is_missing(label)}, key=str)
    value = load_attribute(attribute)
    names = column_names(dataset, text_columns, "balance", "text_columns")
    return list(polarities(dataset, names, value)), list(value.group_names)


def _with_copies(dataset: Any, copies: NDArray[np.intp], first: int) -> Any:
    from datasets import Value

    rows = dataset.with_format(None)
    if SOURCE not in rows.column_names:  # else it holds the source of each row already, and copies share it
        rows = rows.add_column(SOURCE, np.arange(first, first + len(rows)), feature=Value("int64"))
    chosen = rows.select(np.concatenate([np.arange(len(rows)), copies]))
    return in_format(chosen, dataset.format, dataset.column_names)
