"""Which rows of a training set are examples, and which are their counterfactuals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_fairness.augment import CounterfactualSwap
from hf_fairness.rows import check_dataset, column_names, column_values
from hf_fairness.scores.class_labels import class_numbers
from hf_fairness.scores.labels import Bools

Indices = NDArray[np.intp]
#: What messages call the reader.
WHAT = "read_pairs"
#: What ``CounterfactualSwap`` adds to the name of a column.
SUFFIX = CounterfactualSwap.suffix
#: A swap leaves most words of a text alone, or at least their number. A column that is out of order does neither.
LEAST_SHARED = 0.5
#: Fewest words of a text by which its counterfactual is recognised.
LEAST_WORDS = 4


@dataclass(frozen=True, eq=False)
class Pairs:
    """Examples of a data set and their counterfactuals, by row.

    Attributes:
        factual: row of each example, shape (n,).
        counterfactual: row that holds its counterfactual, shape (n,); -1 where there is none to use: the swap changed
            nothing, or was rejected. In the wide layout the row of the example itself.
        changed: whether there is one, shape (n,).
        text_column: column of the texts.
        counterfactual_column: column of the counterfactuals; in the long layout that of the texts.
        label_column: column of the labels; None: it was not asked for.
    """

    factual: Indices
    counterfactual: Indices
    changed: Bools
    text_column: str
    counterfactual_column: str
    label_column: str | None

    @property
    def n(self) -> int:
        """Number of examples."""
        return len(self.factual)

    @property
    def is_long(self) -> bool:
        """Whether counterfactuals are rows of their own."""
        return self.text_column == self.counterfactual_column

    def texts(self, dataset: Any) -> list[str]:
        """Text of each example."""
        return _take(column_values(dataset, self.text_column), self.factual)

    def counterfactual_texts(self, dataset: Any) -> list[str]:
        """Counterfactual of each example that has one, in their order: as many as ``changed`` is True."""
        return _take(column_values(dataset, self.counterfactual_column), self.counterfactual[self.changed])

    def labels(self, dataset: Any) -> NDArray[np.int64]:
        """Class of each example, shape (n,).

        Raises:
            ValueError: no label column was read, a missing label, or labels that are no whole numbers.
        """
        if self.label_column is None:
            raise ValueError("These pairs were read without labels: read_pairs(..., label_column=...).")
        values = _take(column_values(dataset, self.label_column), self.factual)
        return class_numbers(values, self.label_column, rows=self.factual)


def read_pairs(
    dataset: Any,
    *,
    text_column: str = "text",
    counterfactual_column: str | None = None,
    flag_column: str = "counterfactual",
    label_column: str | None = "label",
) -> Pairs:
    """Find the examples of a data set and their counterfactuals, in either layout.

    *Wide*, as :class:`~hf_fairness.augment.CounterfactualSwap` leaves it: one row per example, the counterfactual in a
    column beside the text. *Long*, as :class:`~hf_fairness.augment.CounterfactualAugmentation` leaves it: the
    counterfactual in a row of its own, right after its example. A counterfactual counts if its text differs and its
    ``rejected_reason``, where that column is there, is empty.

    Args:
        dataset: a ``datasets.Dataset`` in either layout.
        text_column: column of the texts.
        counterfactual_column: column of the counterfactuals of the wide layout; None means
            ``<text_column>_counterfactual``, or the long layout where only ``flag_column`` is there.
        flag_column: column of the long layout that is True for counterfactual rows.
        label_column: column of the labels; None: there need be none.

    Returns:
        The pairs, in the order of the rows.

    Raises:
        TypeError: no single data set, or texts that are none.
        ValueError: no rows, a missing column, both layouts at once, no counterfactual at all, a missing label, or
            counterfactuals that do not belong to their texts.

    Source:
        Zayed et al. 2023, section 4. The authors keep an identical copy as the counterfactual of a text without
        gender words; here it has none.

    Example:
        >>> from datasets import Dataset
        >>> from hf_fairness.augment import CounterfactualSwap
        >>> texts = Dataset.from_dict({"text": ["He ran.", "It rained."], "label": [1, 0]})
        >>> read_pairs(texts.map(CounterfactualSwap("text"))).changed.tolist()
        [True, False]
    """
    check_dataset(dataset, WHAT)
    column_names(dataset, text_column, WHAT, "text_column")
    if counterfactual_column is None:
        counterfactual_column = _counterfactual_column(dataset, text_column, flag_column)
    texts = _texts(dataset, text_column)
    if counterfactual_column == text_column:
        factual, partner = _long(dataset, flag_column)
        others = [texts[place] for place in partner]
    else:
        column_names(dataset, counterfactual_column, WHAT, "counterfactual_column")
        factual = partner = np.arange(len(texts), dtype=np.intp)
        others = _texts(dataset, counterfactual_column)
    sources = [texts[place] for place in factual]
    differs = np.array([one != other for one, other in zip(sources, others, strict=True)], dtype=bool)
    if counterfactual_column == f"{text_column}{SUFFIX}" and "edits" in dataset.column_names:
        _check_edits(column_values(dataset, "edits"), differs)
    _check_alignment(sources, others, differs, counterfactual_column)
    rejected = np.zeros(len(factual), dtype=bool)
    if "rejected_reason" in dataset.column_names:
        rejected = np.array(column_values(dataset, "rejected_reason"), dtype=object)[partner].astype(bool)
    changed = differs & ~rejected
    if not changed.any():
        raise ValueError(
            f"read_pairs: none of the {len(factual)} examples has a counterfactual to use. "
            f"{int((~differs & ~rejected).sum())} have no attribute terms, so that no swap changed them, and "
            f"{int(rejected.sum())} swaps were rejected. Check the language of the texts and the "
            "attribute of the swap."
        )
    pairs = Pairs(factual, np.where(changed, partner, -1), changed, text_column, counterfactual_column, label_column)
    if label_column is not None:
        column_names(dataset, label_column, WHAT, "label_column")
        pairs.labels(dataset)
    return pairs


def _take(values: Sequence[Any], places: Indices) -> list[Any]:
    return [values[place] for place in places]


def _counterfactual_column(dataset: Any, text_column: str, flag_column: str) -> str:
    """Where the counterfactuals are: the column of the wide layout, or that of the texts in the long one."""
    default = f"{text_column}{SUFFIX}"
    found = [name for name in (default, flag_column) if name in dataset.column_names]
    if len(found) != 1:
        raise ValueError(
            f"{WHAT}: expected counterfactuals in a column {default!r} (CounterfactualSwap), or in rows marked by a "
            f"column {flag_column!r} (CounterfactualAugmentation); found {' and '.join(found) or 'neither'}. Columns: "
            f"{', '.join(dataset.column_names)}. Say which with counterfactual_column or flag_column, or make them: "
            f'dataset.map(CounterfactualSwap("{text_column}"), batched=True).'
        )
    return default if found == [default] else text_column


def _texts(dataset: Any, name: str) -> list[str]:
    texts: list[str] = column_values(dataset, name)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"read_pairs: column {name!r} must hold texts; row {row} holds {text!r}.")
    return texts


def _long(dataset: Any, flag_column: str) -> tuple[Indices, Indices]:
    """Rows of the examples, and of the counterfactual after each: the example itself where there is none."""
    column_names(dataset, flag_column, WHAT, "flag_column")
    flags = column_values(dataset, flag_column)
    wrong = next((row for row, flag in enumerate(flags) if not isinstance(flag, bool)), None)
    if wrong is not None:
        raise TypeError(f"{WHAT}: column {flag_column!r} must hold True or False; row {wrong} holds {flags[wrong]!r}.")
    marked = np.array(flags, dtype=bool)
    orphans = np.flatnonzero(marked & np.concatenate([[True], marked[:-1]]))
    if len(orphans):
        raise ValueError(
            f"{WHAT}: {len(orphans)} counterfactual rows, the first in row {int(orphans[0])}, do not stand right after "
            f"their example. Was the data set shuffled, filtered or sorted after CounterfactualAugmentation? Use the "
            "order that it left."
        )
    factual = np.flatnonzero(~marked)
    followed = np.append(marked[1:], False)[factual]
    return factual, factual + followed


def _check_edits(edits: Sequence[str], differs: Bools) -> None:
    """Raise where a text without edits has another counterfactual."""
    wrong = [
        row for row, (edit, different) in enumerate(zip(edits, differs, strict=True)) if edit == "[]" and different
    ]
    if wrong:
        raise ValueError(
            f"read_pairs: {len(wrong)} rows, the first is row {wrong[0]}, have no edits and yet a counterfactual that "
            "differs from the text: the columns are misaligned, or belong to different swaps. Swap the texts anew, or "
            "remove the column 'edits'."
        )


def _check_alignment(texts: Sequence[str], others: Sequence[str], differs: Bools, column: str) -> None:
    """Raise if most counterfactuals have other words than their texts, and another number of them."""
    compared, strange = 0, []
    for row in np.flatnonzero(differs).tolist():
        words, other = texts[row].split(), others[row].split()
        longer = max(len(words), len(other))
        if longer >= LEAST_WORDS:
            compared += 1
            shared = (Counter(words) & Counter(other)).total() / longer
            if shared < LEAST_SHARED and len(words) != len(other):
                strange.append(row)
    if 2 * len(strange) > compared:
        first = strange[0]
        raise ValueError(
            f"read_pairs: {len(strange)} of {compared} counterfactuals in column {column!r} share less than "
            f"{LEAST_SHARED:.0%} of their words with their texts, the first is example {first}: {texts[first][:80]!r} "
            f"and {others[first][:80]!r}. The columns are misaligned: a counterfactual changes the words of the "
            "attribute only."
        )
