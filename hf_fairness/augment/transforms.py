"""Swaps as callables for ``datasets.map``, batched or not, on a Dataset or a stream, and what all rewrites share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
VERSION = 2


def counterfactual_names(columns: Sequence[str], given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Columns with the counterfactuals of text columns: those given, else as :class:`CounterfactualSwap` names them.

    Raises:
        ValueError: not as many as text columns.
    """
    if given is None:
        return tuple(f"{name}{CounterfactualSwap.suffix}" for name in columns)
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
        tagger: settles what the rules leave open about pronouns; None means the rules alone.
        id_column: column with the key of a row, where equal texts should be drawn differently.

    Raises:
        TypeError: ``columns`` holds no names, or a text is none (at the call, with the row's index).
        ValueError: unknown attribute, no column of that name, or a column that would be overwritten.
    """

    version = VERSION

    def __init__(
        self,
        columns: str | Sequence[str],
        *,
        attribute: str | Path | Attribute = "gender",
        names: bool | str | Path | NameTable = False,
        tagger: Tagger | None = None,
        id_column: str | None = None,
    ) -> None:
        super().__init__(columns, id_column=id_column)
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

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, attribute={self.attribute.name!r})"


class SwapOptions(TypedDict, total=False):
    """The options that all swaps share; :class:`CounterfactualSwap` explains them."""

    attribute: str | Path | Attribute
    target: str | None
    names: bool | str | Path | NameTable
    label_column: str | None
    label_names: LabelNames | None
    on_label: str
    tagger: Tagger | None


class BaseSwap(Transform):
    """What all swaps share: the group to write for each group, and the guard of the labels.

    The arguments are those of :class:`CounterfactualSwap`. Subclasses fill :meth:`rewrite` or :meth:`process`.
    """

    #: Of the columns that hold the new texts; ``""`` where these are put into added rows.
    suffix: str

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
    ) -> None:
        super().__init__(columns, attribute=attribute, names=names, tagger=tagger)
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
        """Columns of the label guard, for the label that :meth:`read` put behind the texts."""
        return {} if self.guard is None else self.guard.check(texts[-1], self.suffix, changed=changed)

    def check_columns(self, names: Iterable[str]) -> None:
        """Raise unless the columns that are read are there, the label's too, and none that is added."""
        present = list(names)
        super().check_columns(present)
        if self.guard is not None and self.guard.column not in present:
            raise ValueError(
                f"{type(self).__name__}: no label_column {self.guard.column!r}. Columns: {', '.join(present)}."
            )

    def read(self, batch: Mapping[str, Any]) -> tuple[list[Texts], list[str], bool]:
        """Texts and keys of a row or a batch; with a guard, the label of a row stands behind its texts."""
        rows, keys, batched = super().read(batch)
        if self.guard is not None:
            labels = batch[self.guard.column] if batched else [batch[self.guard.column]]
            codes = map(self.guard.encode, labels)
            rows = [(*texts, code) for texts, code in zip(rows, codes, strict=True)]
        return rows, keys, batched


class CounterfactualSwap(BaseSwap):
    """Add the counterfactual of text columns: every term of a group becomes its counterpart.

    Several columns (premise and hypothesis) are swapped together.

    Args:
        columns: name or names of the text columns.
        attribute: name, file or object.
        target: group to write for every term; needed where an attribute has more than two groups.
        names: whether given names are swapped too: False, True for those of the attribute, or a table of
            ``load_names`` or the path of one.
        label_column: column of the labels, where these may say the attribute itself (*male*, *she*): beside a
            swapped text such a label is wrong.
        label_names: words of labels that are none: ``dataset.features[label_column].names``, or a mapping such
            as ``{"F": "female", "M": "male"}``.
        on_label: what to do about such a row: ``"refuse"`` (an error), ``"mark"`` (column ``label_preserved``),
            or ``"swap"`` (the label of the other group).
        tagger: settles what the rules leave open about pronouns; None means the rules alone.

    Adds:
        ``<column>_counterfactual``: the rewritten text; equal to the text where it has no terms.
        ``edits``: JSON, read by :func:`parse_edits`; ``"[]"`` where nothing changed. With several columns each
        edit names its own.
        ``label_preserved``: with ``on_label="mark"``; False where the text changed and the label says a group.
        ``<label_column>_counterfactual``: with ``on_label="swap"``; the label of the rewritten text.

    Raises:
        TypeError: ``columns`` holds no names, or a text or label is none (at the call).
        ValueError: unknown attribute or group, no ``target`` where one is needed, a missing or taken column, or
            a label that says the attribute.

    Example:
        >>> from hf_fairness.augment import CounterfactualSwap
        >>> CounterfactualSwap("text")({"text": ["I saw her.", "Rain."]})["text_counterfactual"]
        ['I saw him.', 'Rain.']
    """

    suffix = "_counterfactual"

    def rewrite(self, texts: Texts, key: str) -> Row:
        """The added columns of one row."""
        new, edits = self.swap(texts)
        return {**self.row(self.suffix, new, edits), **self.label(texts, changed=bool(edits))}

    def process_columns(self, rows: Sequence[Texts], keys: Sequence[str]) -> dict[str, list[Any]]:
        """The same by column; for a single text column without labels the engine writes whole columns.

        A subclass that rewrites otherwise starts from :class:`BaseSwap`.
        """
        if len(self.columns) > 1 or self.guard is not None:
            return super().process_columns(rows, keys)
        engine = engine_for(self.attribute, self.names)
        texts, edits = engine.swap_all([text for (text,) in rows], self._targets, self.tagger)
        return {f"{self.column}{self.suffix}": texts, "edits": edits}
