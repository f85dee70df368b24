"""The neutral form of a text, and one variant per group, as callables for ``datasets.map``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from hf_fairness.attributes import Attribute, NameTable
from hf_fairness.attributes.model import GROUPS_COLUMN, NEUTRAL
from hf_fairness.augment.edits import Edit, dump_edits
from hf_fairness.augment.engine import Tagger, engine_for
from hf_fairness.augment.rewrite import neutral_options, variants_with_edits
from hf_fairness.augment.transforms import Transform
from hf_fairness.maps import Row, Texts


class Neutralize(Transform):
    """Add the neutral form of text columns: *they* with plural verbs, *parent* for *mother*.

    Args:
        columns: name or names of the text columns.
        attribute: name, file or object.
        pronouns: id of another paradigm (``"xe"``); ``""`` means the neutral one of the attribute.
        reflexive: another reflexive pronoun (``"themself"``).
        names: whether given names are replaced too; as in :class:`CounterfactualSwap`.
        tagger: settles which case a pronoun has; None means that the words around decide.
        on_missing: what to do about a row that lacks a text; as in :class:`CounterfactualSwap`.

    Adds:
        ``<column>_neutral``: the rewritten text; equal to the text where it has no terms.
        ``edits``: JSON, read by :func:`parse_edits`.

    Example:
        >>> from hf_fairness.augment import Neutralize
        >>> Neutralize("text")({"text": "Is he an uncle?"})["text_neutral"]
        "Are they a parent's sibling?"
    """

    suffix = "_neutral"

    def __init__(
        self,
        columns: str | Sequence[str],
        *,
        attribute: str | Path | Attribute = "gender",
        pronouns: str = "",
        reflexive: str | None = None,
        names: bool | str | Path | NameTable = False,
        tagger: Tagger | None = None,
        on_missing: str = "skip",
    ) -> None:
        super().__init__(columns, attribute=attribute, names=names, tagger=tagger, on_missing=on_missing)
        self.pronouns = pronouns
        self.reflexive = reflexive
        self._forms, self._plural = neutral_options(self.attribute, pronouns, reflexive)

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {**{f"{column}{self.suffix}": "string" for column in self.columns}, "edits": "string"}

    def rewrite(self, texts: Texts, key: str) -> Row:
        """The added columns of one row."""
        engine = engine_for(self.attribute, self.names)
        targets = dict.fromkeys(self.attribute.group_names, NEUTRAL)

        def neutral(text: str) -> tuple[str, list[Edit]]:
            return engine.render(text, engine.find(text, self.tagger), targets, self._forms, self._plural)

        return self.row(self.suffix, *self.each(texts, neutral))


class GroupVariants(Transform):
    """Add one column per group and one without any: the triples of CCED and CCD.

    Args:
        columns: name of the text column.
        attribute: name, file or object; any number of groups.
        prefix: put before the names of the added columns, where these are taken.
        names: whether given names count as terms; as in :class:`CounterfactualSwap`.
        tagger: settles which case a pronoun has; None means that the words around decide.
        on_missing: what to do about a row that lacks a text; as in :class:`CounterfactualSwap`.

    Adds:
        one column per group: the text with every term in that group's form.
        ``neutral``: the text without a group.
        ``has_terms``: False where the text has no terms or is not English; all variants are then the text.
        ``edits``: JSON, read by :func:`parse_edits`; :func:`apply_edits` with ``to=`` rebuilds a variant.
        ``variant_groups``: JSON list of the columns that are groups, the same in every row; training and measuring
        read it and ignore all other columns.

    Source: Deng et al. 2024, section 3.1.

    Example:
        >>> from hf_fairness.augment import GroupVariants
        >>> row = GroupVariants("text")({"text": "She has a brother."})
        >>> row["male"], row["female"], row["neutral"], row["has_terms"]
        ('He has a brother.', 'She has a sister.', 'They have a sibling.', True)
    """

    version = 2

    def __init__(
        self,
        columns: str | Sequence[str],
        *,
        attribute: str | Path | Attribute = "gender",
        prefix: str = "",
        names: bool | str | Path | NameTable = False,
        tagger: Tagger | None = None,
        on_missing: str = "skip",
    ) -> None:
        super().__init__(columns, attribute=attribute, names=names, tagger=tagger, on_missing=on_missing)
        if len(self.columns) > 1:
            raise ValueError(
                f"GroupVariants takes one column, got {', '.join(self.columns)}. Map one column after the other, "
                "each with a prefix= of its own."
            )
        self.prefix = prefix

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        texts = dict.fromkeys((*self.attribute.group_names, NEUTRAL), "string")
        marks = {"has_terms": "bool", "edits": "string", GROUPS_COLUMN: "string"}
        return {f"{self.prefix}{name}": kind for name, kind in (texts | marks).items()}

    def constants(self) -> Row:
        """The record of what is a group."""
        groups = [f"{self.prefix}{name}" for name in self.attribute.group_names]
        return {f"{self.prefix}{GROUPS_COLUMN}": json.dumps(groups)}

    def process(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[Row]:
        """The added columns of several rows."""
        constants, added = self.constants(), list[Row]()
        for texts in rows:
            variants, edits = variants_with_edits(texts[0], self.attribute, names=self.names, tagger=self.tagger)
            row: Row = {f"{self.prefix}{name}": variant for name, variant in variants.items()}
            row[f"{self.prefix}has_terms"] = bool(edits)
            row[f"{self.prefix}edits"] = dump_edits(edits) if edits else "[]"
            added.append({**row, **constants})
        return added
