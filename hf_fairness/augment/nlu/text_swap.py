"""Text swapping: premise and hypothesis change places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hf_fairness.augment.labels import label_text
from hf_fairness.augment.nlu.base import GenericAugmentation
from hf_fairness.maps import Row, Texts


class TextSwap(GenericAugmentation):
    """After every row a copy of it in which two text columns have changed places.

    As IBADR describes the baseline, every row is swapped and keeps its label. Contradiction is symmetric and
    neutral mostly is; entailment is not (*a dog runs* entails *an animal runs*, not the other way round):
    ``labels`` names the label values whose rows may be swapped. Use it with ``batched=True``. Rows with two
    equal texts are not copied.

    Args:
        first: column of the premise.
        second: column of the hypothesis.
        label_column: column that holds the label; needed with ``labels``.
        labels: label values, as the column holds them, whose rows are swapped, for example the numbers of
            neutral and contradiction; None means all rows.
        on_missing: what to do about a row that lacks a text: ``"skip"`` keeps it and adds none, ``"error"`` refuses it.

    Adds:
        ``augmented``: True for the added rows.
        ``augmentation``: ``"text-swap"`` in the added rows, ``""`` in the others.

    Raises:
        ValueError: one column given twice, or only one of ``label_column`` and ``labels``.

    Source: Liu et al. 2020 (text swap), as described in Wang et al. 2023, section 3.6.

    Example:
        >>> from hf_fairness.augment.nlu import TextSwap
        >>> batch = {"premise": ["A dog runs."], "hypothesis": ["A cat runs."], "label": [2]}
        >>> TextSwap("premise", "hypothesis")(batch)["premise"]
        ['A dog runs.', 'A cat runs.']
    """

    method = "text-swap"

    def __init__(
        self,
        first: str,
        second: str,
        *,
        label_column: str | None = None,
        labels: Iterable[Any] | None = None,
        on_missing: str = "skip",
    ) -> None:
        super().__init__((first, second), on_missing=on_missing)
        if (label_column is None) != (labels is None):
            raise ValueError("label_column and labels go together: say which values of which column may be swapped.")
        if isinstance(labels, str):
            raise TypeError(f"labels must be a list of label values; got the text {labels!r}. Put it in a list.")
        self.label_column = label_column
        self.labels = None if labels is None else tuple(sorted({*map(label_text, labels)}))
        if self.labels == ():
            raise ValueError("labels is empty: no row could be swapped. Name the label values, or leave it out.")

    def extra_column(self) -> str | None:
        """The column of the label, where it decides."""
        return self.label_column

    def extras(self, values: Sequence[Any]) -> Sequence[str]:
        """The labels as strings."""
        return [*map(label_text, values)]

    def process_additions(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[list[Row]]:
        """The row with its texts exchanged, or nothing, for each of several rows."""
        one, two = self.columns
        marks = {"augmented": True, "augmentation": self.method}
        return [[{one: row[1], two: row[0], **marks}] if self._chosen(*row) else [] for row in rows]

    def _chosen(self, first: str, second: str, label: str = "") -> bool:
        return first != second and (self.labels is None or label in self.labels)
