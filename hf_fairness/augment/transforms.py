"""What all rewrites share as callables for ``datasets.map``: an attribute and its engine, groups, labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypedDict

from hf_fairness.attributes import Attribute, NameTable, load_attribute
from hf_fairness.attributes.names import with_names
from hf_fairness.augment.edits import Edit, dump_edits
from hf_fairness.augment.engine import Tagger, engine_for
from hf_fairness.augment.labels import LabelGuard, LabelNames
from hf_fairness.augment.rewrite import swap_targets
from hf_fairness.maps import MapFunction, Row, Texts

#: Part of the state of every transform. Raise it when the rules change: it renews the datasets cache.
VERSION = 3


#: Of the columns in which counterfactuals stand beside their texts.
BESIDE = "_counterfactual"


def counterfactual_names(columns: Sequence[str], given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Columns with the counterfactuals of text columns: those given, else as ``CounterfactualSwap`` names them.

    Raises:
        ValueError: not as many as text columns.
    """
    if given is None:
        return tuple(f"{name}{BESIDE}" for name in columns)
    names = (given,) if isinstance(given, str) else tuple(given)
    if len(names) != len(columns):
        raise ValueError(f"{len(columns)} columns need as many counterfactual_columns, got {len(names)}: {names}.")
    return names


class Transform(MapFunction):
    """What the rewrites share: an attribute with its engine, its names, and a tagger.

    Args:
        columns: name or names of the text columns.
        attribute: name, file or object.
        names: whether given names count as terms: False, True for those of the attribute, or a table of
            ``load_names`` or the path of one.
        tagger: settles which case a pronoun has; None means that the words around decide.
        id_column: column with the key of a row, where equal texts should be drawn differently.
        on_missing: what to do about a row that lacks a text: as in :class:`hf_fairness.maps.MapFunction`.

    Raises:
        TypeError: ``columns`` holds no names, or a text is none (at the call, with the row's index).
        ValueError: unknown attribute, no column of that name, or a column that would be overwritten.
    """

    version = VERSION
    #: Of the columns that hold the new texts; ``""`` where there are none beside the old ones.
    suffix = ""

    def __init__(
        self,
        columns: str | Sequence[str],
        *,
        attribute: str | Path | Attribute = "gender",
        names: bool | str | Path | NameTable = False,
        tagger: Tagger | None = None,
        id_column: str | None = None,
        on_missing: str = "skip",
    ) -> None:
        super().__init__(columns, id_column=id_column, on_missing=on_missing)
        self.attribute, self.names = with_names(load_attribute(attribute), names)
        self.tagger = tagger
        engine_for(self.attribute, self.names)  # fail now, not in the middle of a map

    def each(self, texts: Texts, rewrite: Callable[[str], tuple[str, list[Edit]]]) -> tuple[list[str], list[Edit]]:
        """Rewrite one text per column; with several columns the edits say which they belong to."""
        if len(texts) == 1:
            new, edits = rewrite(texts[0])
            return [new], edits
        rewritten = [rewrite(text) for text in texts]
        edits = [
            edit._replace(column=column)
            for column, (_, changed) in zip(self.columns, rewritten, strict=True)
            for edit in changed
        ]
        return [new for new, _ in rewritten], edits

    def row(self, suffix: str, texts: Iterable[str], edits: Sequence[Edit]) -> Row:
        """The added columns of one row: the new text of each column, and the edits."""
        added = {f"{column}{suffix}": text for column, text in zip(self.columns, texts, strict=True)}
        return {**added, "edits": dump_edits(edits) if edits else "[]"}

    def missing(self, texts: Texts) -> Row:
        """The added columns of a row that lacks a text: no text of it is rewritten."""
        row = super().missing(texts)
        return {**row, **self.row(self.suffix, texts[: len(self.columns)], [])} if self.suffix else row

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, attribute={self.attribute.name!r})"


class SwapOptions(TypedDict, total=False):
    """The options that all swaps share; ``CounterfactualSwap`` explains them."""

    attribute: str | Path | Attribute
    target: str | None
    names: bool | str | Path | NameTable
    label_column: str | None
    label_names: LabelNames | None
    on_label: str
    tagger: Tagger | None
    on_missing: str


class BaseSwap(Transform):
    """What all swaps share: the group to write for each group, and the guard of the labels.

    The arguments are those of ``CounterfactualSwap``. Subclasses fill :meth:`rewrite` or :meth:`process`.
    """

    def __init__(
        self,
        columns: str | Sequence[str],
        *,
        attribute: str | Path | Attribute = "gender",
        target: str | None = None,
        names: bool | str | Path | NameTable = False,
        label_column: str | None = None,
        label_names: LabelNames | None = None,
        on_label: str = "refuse",
        tagger: Tagger | None = None,
        on_missing: str = "skip",
    ) -> None:
        super().__init__(columns, attribute=attribute, names=names, tagger=tagger, on_missing=on_missing)
        self.target = target
        self._targets = swap_targets(self.attribute, target)
        self.guard: LabelGuard | None = None
        if label_column is not None:
            self.guard = LabelGuard(label_column, label_names, on_label, self.attribute, self._targets)

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        texts = {f"{column}{self.suffix}": "string" for column in self.columns}
        return {**texts, "edits": "string", **self.label_outputs()}

    def label_outputs(self) -> dict[str, str]:
        """Columns that the label guard adds."""
        return {} if self.guard is None else self.guard.outputs(self.suffix)

    def swap(self, texts: Texts) -> tuple[list[str], list[Edit]]:
        """The counterfactual of each column, and all edits."""
        engine, targets = engine_for(self.attribute, self.names), self._targets
        return self.each(texts[: len(self.columns)], lambda text: engine.swap(text, targets, self.tagger))

    def label(self, texts: Texts, *, changed: bool) -> Row:
        """Columns of the label guard, for the label that stands behind the texts."""
        return {} if self.guard is None else self.guard.check(texts[-1], self.suffix, changed=changed)

    def missing(self, texts: Texts) -> Row:
        """The added columns of a row that lacks a text; its label stays."""
        return {**super().missing(texts), **self.label(texts, changed=False)}

    def extra_column(self) -> str | None:
        """The column of the label, which the guard checks."""
        return None if self.guard is None else self.guard.column

    def extras(self, values: Sequence[Any]) -> Sequence[str]:
        """The labels as strings."""
        return [self.guard.encode(label) for label in values] if self.guard is not None else []
