"""As many rows of every group: by leaving rows out, or by repeating some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
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
    if method not in METHODS:
        raise ValueError(f"balance: unknown method {method!r}. Known methods: {', '.join(METHODS)}.")
    labels, known = _row_groups(dataset, group_column, text_columns, attribute)
    chosen = list(dict.fromkeys(known if groups is None else groups))
    if len(chosen) < 2:
        raise ValueError(f"balance: wanted at least two groups, got {chosen!r}.")
    values: list[Hashable] = [""] * len(dataset)
    if within is not None:
        values = column_labels(dataset, column_names(dataset, within, "balance", "within")[0], "balance")
    lacking = np.asarray([is_missing(label) or is_missing(value) for label, value in zip(labels, values, strict=True)])
    read = list(filter(None, (group_column, *_names(text_columns), within)))
    check_lacking(lacking, "balance", read, on_missing, "they all stay")
    strata = _strata(labels, values, chosen, within, np.flatnonzero(~lacking))
    sizes = {value: [len(rows) for rows in cells] for value, cells in strata.items()}
    rng = generator(seed)
    if not strata:
        raise ValueError("balance: every row lacks a group, a text or the value of within. Fill these columns first.")
    if method == "down":
        gone = [rng.permutation(rows)[min(sizes[value]) :] for value, cells in strata.items() for rows in cells]
        keep = np.ones(len(dataset), dtype=bool)
        keep[np.concatenate(gone)] = False
        return dataset.select(np.flatnonzero(keep))
    copies = [_repeat(rows, max(sizes[value]), rng) for value, cells in strata.items() for rows in cells]
    return _with_copies(dataset, np.sort(np.concatenate(copies)))


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


def _strata(
    labels: list[Hashable],
    values: list[Hashable],
    groups: list[Hashable],
    within: str | None,
    rows: NDArray[np.intp],
) -> dict[Hashable, list[NDArray[np.intp]]]:
    """For each value of the label the rows of each group, in the order of the groups, of some rows.

    Raises:
        ValueError: one of them has none.
    """
    found: dict[Hashable, dict[Hashable, list[int]]] = {}
    for row in rows.tolist():
        label, value = labels[row], values[row]
        found.setdefault(value, {group: [] for group in groups})
        if label in found[value]:
            found[value][label].append(row)
    for value, cells in found.items():
        empty = [group for group, rows in cells.items() if not rows]
        if empty:
            where = "" if within is None else f" where {within} is {value!r}"
            counts = ", ".join(f"{group!r}: {len(rows)}" for group, rows in cells.items())
            present = ", ".join(repr(name) for name, _ in Counter(labels[row] for row in rows).most_common(10))
            raise ValueError(
                f"balance: group {empty[0]!r} has no row{where} (rows per group: {counts}), so no sampling "
                f"balances it. Groups of the rows: {present}. Name other groups, leave those rows out, or add "
                "counterfactuals first (hf_fairness.augment.CounterfactualAugmentation)."
            )
    return {value: [np.asarray(rows, dtype=np.intp) for rows in cells.values()] for value, cells in found.items()}


def _repeat(rows: NDArray[np.intp], size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows to add to reach ``size``: every row as often, then a random part once more."""
    times, rest = divmod(size - len(rows), len(rows))
    return np.concatenate([np.repeat(rows, times), rng.permutation(rows)[:rest]])


def _with_copies(dataset: Any, copies: NDArray[np.intp]) -> Any:
    from datasets import Value

    rows = dataset.with_format(None)
    if SOURCE not in rows.column_names:  # else it holds the source of each row already, and copies share it
        rows = rows.add_column(SOURCE, np.arange(len(rows)), feature=Value("int64"))
    chosen = rows.select(np.concatenate([np.arange(len(rows)), copies]))
    return in_format(chosen, dataset.format, dataset.column_names)
