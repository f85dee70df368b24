"""The rewrites as callables for ``datasets.map``: batched or not, on a Dataset or a stream.

They are pure: the same row gives the same output whatever the batch, the process or the order. State is
what the constructor got, plus :data:`VERSION`, so that the cache of ``datasets`` is hit when nothing
changed and missed when the rules did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.augment.edits import dump_edits
from hf_fairness.augment.engine import engine_for
from hf_fairness.augment.rewrite import check_text, neutral_options, swap_targets, variants_with_edits

#: Part of the state of every transform. Raise it when the rules change: it renews the datasets cache.
VERSION = 1

Row = dict[str, Any]


class Transform:
    """What the transforms share: the columns, the checks, and one row or a batch.

    Args:
        column: column that holds the texts.
        attribute: name, file or object.
        names: whether given names count as terms; off by default.

    Raises:
        TypeError: ``column`` is no string, or a text is none (at the call, with the row's index).
        ValueError: unknown attribute, no column of that name, or a column that would be overwritten.
    """

    def __init__(self, column: str, *, attribute: str | Path | Attribute = "gender", names: bool = False) -> None:
        if not isinstance(column, str) or not column:
            raise TypeError(f"column must be the name of one text column, got {column!r}.")
        self.column = column
        self.names = names
        self.attribute = load_attribute(attribute)
        self.version = VERSION
        engine_for(self.attribute, names)  # fail now, not in the middle of a map

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types as ``datasets.Value`` names them."""
        raise NotImplementedError

    def rewrite(self, text: str) -> Row:
        """The added columns of one row."""
        raise NotImplementedError

    def features(self, features: Mapping[str, Any]) -> Any:
        """Features after the map: ``stream.map(f, batched=True, features=f.features(stream.features))``.

        Args:
            features: features of the data set before.

        Returns:
            ``datasets.Features`` with the added columns.
        """
        from datasets import Features, Value

        return Features({**features, **{name: Value(kind) for name, kind in self.outputs().items()}})

    def check(self, batch: Mapping[str, Any]) -> str | list[str]:
        """The text or texts of a row or a batch, after the checks that every transform makes."""
        columns = list(batch.keys())
        name = type(self).__name__
        if self.column not in columns:
            listed = ", ".join(map(str, columns)) or "none"
            raise ValueError(f"{name}: no column {self.column!r}. Columns: {listed}.")
        taken = [output for output in self.outputs() if output in columns]
        if taken:
            raise ValueError(
                f"{name}: would overwrite column {taken[0]!r}. Rename or remove it before the map, "
                f"for example dataset.rename_column({taken[0]!r}, ...)."
            )
        value = batch[self.column]
        if isinstance(value, str) or value is None or not isinstance(value, Iterable):
            return check_text(value, f" in column {self.column!r}")
        return [check_text(text, f" in row {i} of the batch, column {self.column!r}") for i, text in enumerate(value)]

    def __call__(self, batch: Mapping[str, Any]) -> Row:
        """Add the columns to a row or a batch, as ``datasets.map`` hands it over."""
        texts = self.check(batch)
        if isinstance(texts, str):
            return self.rewrite(texts)
        rows = [self.rewrite(text) for text in texts]
        return {output: [row[output] for row in rows] for output in self.outputs()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.column!r}, attribute={self.attribute.name!r})"


class CounterfactualSwap(Transform):
    """Add the counterfactual of a text column: every term of a group becomes its counterpart.

    Args:
        column: column that holds the texts.
        attribute: name, file or object.
        target: group to write for every term; needed where an attribute has more than two groups.
        names: whether given names are swapped too.

    Adds:
        ``<column>_counterfactual``: the rewritten text; equal to the text where it has no terms.
        ``edits``: JSON, read by :func:`parse_edits`; ``"[]"`` where nothing changed.

    Example:
        >>> from hf_fairness.augment import CounterfactualSwap
        >>> CounterfactualSwap("text")({"text": ["I saw her.", "Rain."]})["text_counterfactual"]
        ['I saw him.', 'Rain.']
    """

    def __init__(
        self,
        column: str,
        *,
        attribute: str | Path | Attribute = "gender",
        target: str | None = None,
        names: bool = False,
    ) -> None:
        super().__init__(column, attribute=attribute, names=names)
        self.target = target
        self._targets = swap_targets(self.attribute, target)

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {f"{self.column}_counterfactual": "string", "edits": "string"}

    def rewrite(self, text: str) -> Row:
        """The added columns of one row."""
        new, edits = engine_for(self.attribute, self.names).swap(text, self._targets)
        return {f"{self.column}_counterfactual": new, "edits": dump_edits(edits) if edits else "[]"}


class Neutralize(Transform):
    """Add the neutral form of a text column: *they* with plural verbs, *parent* for *mother*.

    Args:
        column: column that holds the texts.
        attribute: name, file or object.
        pronouns: id of another paradigm (``"xe"``); ``""`` means the neutral one of the attribute.
        reflexive: another reflexive pronoun (``"themself"``).
        names: whether given names are replaced too.

    Adds:
        ``<column>_neutral``: the rewritten text; equal to the text where it has no terms.
        ``edits``: JSON, read by :func:`parse_edits`.

    Example:
        >>> from hf_fairness.augment import Neutralize
        >>> Neutralize("text")({"text": "Is he an uncle?"})["text_neutral"]
        "Are they a parent's sibling?"
    """

    def __init__(
        self,
        column: str,
        *,
        attribute: str | Path | Attribute = "gender",
        pronouns: str = "",
        reflexive: str | None = None,
        names: bool = False,
    ) -> None:
        super().__init__(column, attribute=attribute, names=names)
        self.pronouns = pronouns
        self.reflexive = reflexive
        self._forms, self._plural = neutral_options(self.attribute, pronouns, reflexive)

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {f"{self.column}_neutral": "string", "edits": "string"}

    def rewrite(self, text: str) -> Row:
        """The added columns of one row."""
        engine = engine_for(self.attribute, self.names)
        targets = dict.fromkeys(self.attribute.group_names, NEUTRAL)
        new, edits = engine.render(text, engine.find(text), targets, self._forms, self._plural)
        return {f"{self.column}_neutral": new, "edits": dump_edits(edits) if edits else "[]"}


class GroupVariants(Transform):
    """Add one column per group and one without any: the triples of CCED and CCD.

    Args:
        column: column that holds the texts.
        attribute: name, file or object; any number of groups.
        prefix: put before the names of the added columns, where these are taken.
        names: whether given names count as terms.

    Adds:
        one column per group: the text with every term in that group's form.
        ``neutral``: the text without a group.
        ``has_terms``: False where the text has no terms or is not English; all variants are then the text.
        ``edits``: JSON, read by :func:`parse_edits`; :func:`apply_edits` with ``to=`` rebuilds a variant.

    Source: Deng et al. 2024, section 3.1.

    Example:
        >>> from hf_fairness.augment import GroupVariants
        >>> row = GroupVariants("text")({"text": "She has a brother."})
        >>> row["male"], row["female"], row["neutral"], row["has_terms"]
        ('He has a brother.', 'She has a sister.', 'They have a sibling.', True)
    """

    def __init__(
        self,
        column: str,
        *,
        attribute: str | Path | Attribute = "gender",
        prefix: str = "",
        names: bool = False,
    ) -> None:
        super().__init__(column, attribute=attribute, names=names)
        self.prefix = prefix

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        texts = {f"{self.prefix}{name}": "string" for name in (*self.attribute.group_names, NEUTRAL)}
        return {**texts, f"{self.prefix}has_terms": "bool", f"{self.prefix}edits": "string"}

    def rewrite(self, text: str) -> Row:
        """The added columns of one row."""
        variants, edits = variants_with_edits(text, self.attribute, names=self.names)
        row: Row = {f"{self.prefix}{name}": variant for name, variant in variants.items()}
        row[f"{self.prefix}has_terms"] = bool(edits)
        row[f"{self.prefix}edits"] = dump_edits(edits) if edits else "[]"
        return row
