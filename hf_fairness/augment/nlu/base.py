"""What the generic augmentations share: one added row per row, marked with the name of the method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.augment.engine import engine_for
from hf_fairness.maps import Row, RowsFunction, Texts


class GenericAugmentation(RowsFunction):
    """After every row a copy of it with a text rewritten; no copy where the text stays as it is.

    Subclasses fill :attr:`method` and :meth:`rewrite_texts`.

    Adds:
        ``augmented``: True for the added rows.
        ``augmentation``: name of the method in the added rows, ``""`` in the others.
    """

    #: Value of the column ``augmentation``.
    method = ""

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {"augmented": "bool", "augmentation": "string"}

    def unchanged(self) -> Row:
        """Values of the added columns for a row of the source."""
        return {"augmented": False, "augmentation": ""}

    def rewrite_texts(self, texts: Sequence[str], keys: Sequence[str]) -> list[str]:
        """Every text rewritten, or as it is where nothing can be done."""
        raise NotImplementedError

    def process_additions(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[list[Row]]:
        """The copy to add after each of several rows."""
        sources = [row[0] for row in rows]
        added = self.rewrite_texts(sources, keys)
        return [
            [] if new == source else [{self.column: new, "augmented": True, "augmentation": self.method}]
            for source, new in zip(sources, added, strict=True)
        ]


def check_rate(rate: float) -> float:
    """A share in (0, 1].

    Raises:
        ValueError: it is not.
    """
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate <= 1:
        raise ValueError(f"rate must be in (0, 1], the share of a text's words to replace; got {rate!r}.")
    return float(rate)


def protected(attribute: str | Path | Attribute | None) -> Attribute | None:
    """The attribute whose terms stay, checked to have rules that find them."""
    if attribute is None:
        return None
    value = load_attribute(attribute)
    engine_for(value)
    return value
