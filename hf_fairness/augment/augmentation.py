"""Counterfactuals for ``datasets.map``: beside their texts, in rows of their own (CDA), in place of some texts (CDS).

With ``quality`` every swap is judged, and by default one that is judged bad is not used: CDA adds no copy, the others
leave the text as it is. ``rejected_reason`` says why; it is ``""`` wherever there was nothing to judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hf_fairness.augment.edits import Edit
from hf_fairness.augment.engine import engine_for
from hf_fairness.augment.objections import Swap, edits_by_column
from hf_fairness.augment.quality import SwapQuality
from hf_fairness.augment.transforms import BESIDE, BaseSwap, SwapOptions
from hf_fairness.maps import Row, RowsFunction, Texts, row_draw

if TYPE_CHECKING:
    from typing_extensions import Unpack


class _Judged(BaseSwap):
    """A swap whose results are judged before they are used.

    Args:
        columns: name or names of the text columns.
        quality: whether swaps are judged: True, or a :class:`SwapQuality` for the same columns.
        keep_rejected: use the counterfactuals that it rejects all the same, with their reason.
        options: of all swaps.
    """

    def __init__(
        self,
        columns: str | Sequence[str],
        *,
        quality: bool | SwapQuality = False,
        keep_rejected: bool = False,
        **options: Unpack[SwapOptions],
    ) -> None:
        super().__init__(columns, **options)
        if not isinstance(quality, (bool, SwapQuality)):
            raise TypeError(f"quality must be True, False or a SwapQuality, got {quality!r}.")
        if quality is True:
            quality = SwapQuality(self.columns, attribute=self.attribute)
        self.quality = quality or None
        self.keep_rejected = keep_rejected
        if self.quality is None:
            return
        if self.quality.sources != self.columns or self.quality.attribute.group_names != self.attribute.group_names:
            raise ValueError(
                f"quality is for columns {', '.join(self.quality.sources)} and attribute "
                f"{self.quality.attribute.name!r}; {self!r} needs one for its own."
            )
        if isinstance(self.quality.perplexity, str):
            raise ValueError("Inside an augmentation, perplexity must be a PerplexityRatio: there is no column yet.")

    def quality_outputs(self) -> dict[str, str]:
        """Columns that the verdicts add."""
        return {} if self.quality is None else self.quality.outputs()

    def accepted(self) -> Row:
        """Values of these columns for a text that was not to be rewritten."""
        return {} if self.quality is None else {"confidence": 1.0, "rejected_reason": ""}

    @property
    def plain(self) -> bool:
        """Whether a single text column is swapped without labels and verdicts: :meth:`written` does many at once.

        A subclass that rewrites otherwise starts from :class:`BaseSwap`.
        """
        return len(self.columns) == 1 and self.guard is None and self.quality is None

    def written(self, rows: Sequence[Texts]) -> tuple[list[str], list[str]]:
        """The counterfactual of each row, and its edits as a column has them."""
        engine = engine_for(self.attribute, self.names)
        return engine.swap_all([text for (text,) in rows], self._targets, self.tagger)

    def judged(self, rows: Sequence[Texts]) -> list[tuple[list[str], list[Edit], Row]]:
        """The counterfactual of each column of several rows, all edits, and the verdict."""
        swapped = [self.swap(texts) for texts in rows]
        verdicts = [self.accepted() for _ in rows]
        if self.quality is not None:
            names = self.columns
            swaps = [
                Swap(texts[: len(names)], new, edits_by_column(edits, names))
                for texts, (new, edits) in zip(rows, swapped, strict=True)
            ]
            verdicts = self.quality.judge(swaps)
        return [(new, edits, verdict) for (new, edits), verdict in zip(swapped, verdicts, strict=True)]

    def used(self, rows: Sequence[Texts]) -> list[tuple[list[str], list[Edit], Row]]:
        """The same, with the text itself in the place of a counterfactual that was rejected, unless these are kept."""
        result = []
        for texts, (new, edits, verdict) in zip(rows, self.judged(rows), strict=True):
            if verdict.get("rejected_reason") and not self.keep_rejected:
                new, edits, verdict = list(texts[: len(self.columns)]), [], {**verdict, "confidence": 1.0}
            result.append((new, edits, verdict))
        return result


class CounterfactualSwap(_Judged):
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
        tagger: settles which case a pronoun has; None means that the words around decide.
        on_missing: what to do about a row that lacks a text (None, NaN): ``"skip"`` lets it pass with empty outputs and
            a warning, ``"error"`` refuses it.
        quality: whether swaps are judged: True, or a :class:`SwapQuality` for the same columns. The text itself stands
            in the place of a counterfactual that it rejects.
        keep_rejected: write the rejected ones all the same.

    Adds:
        ``<column>_counterfactual``: the rewritten text; equal to the text where it has no terms.
        ``edits``: JSON, read by :func:`parse_edits`; ``"[]"`` where nothing changed. With several columns each
        edit names its own.
        ``label_preserved``: with ``on_label="mark"``; False where the text changed and the label says a group.
        ``<label_column>_counterfactual``: with ``on_label="swap"``; the label of the rewritten text.
        ``confidence``, ``rejected_reason``: with ``quality``; the chance that ``<column>_counterfactual`` is right,
            also where it says what the text says (1.0 where the text stands for a counterfactual that was rejected),
            and why the counterfactual was judged bad.

    Raises:
        TypeError: ``columns`` holds no names, or a text or label is none (at the call).
        ValueError: unknown attribute or group, no ``target`` where one is needed, a missing or taken column, or
            a label that says the attribute.

    Example:
        >>> from hf_fairness.augment import CounterfactualSwap
        >>> CounterfactualSwap("text")({"text": ["I saw her.", "Rain."]})["text_counterfactual"]
        ['I saw him.', 'Rain.']
    """

    suffix = BESIDE

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {**super().outputs(), **self.quality_outputs()}

    def process(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[Row]:
        """The added columns of several rows."""
        result: list[Row] = []
        for texts, (new, edits, verdict) in zip(rows, self.used(rows), strict=True):
            label = self.label(texts, changed=bool(edits))
            result.append({**self.row(self.suffix, new, edits), **label, **verdict})
        return result

    def process_columns(self, rows: Sequence[Texts], keys: Sequence[str]) -> dict[str, list[Any]]:
        """The same by column."""
        if not self.plain:
            return super().process_columns(rows, keys)
        return dict(zip((f"{self.column}{self.suffix}", "edits"), self.written(rows), strict=True))


class CounterfactualAugmentation(_Judged, RowsFunction):
    """CDA: after every row whose text has terms, a copy of the row with the counterfactual text.

    Use it with ``batched=True``, since it adds rows. All columns are returned and the copy keeps their
    values; rows without terms are not copied, so that no text is trained on twice unchanged. Several columns are
    swapped together, into one copy.

    Args:
        columns: name or names of the text columns.
        quality: whether swaps are judged: True, or a :class:`SwapQuality` for the same columns. Copies that it rejects
            are not added.
        keep_rejected: add them all the same, with their reason.
        options: ``attribute``, ``target``, ``names``, ``label_column``, ``label_names``, ``on_label``, ``tagger``:
            those of :class:`CounterfactualSwap`. With ``on_label="swap"`` the copy gets the other group's label.

    Adds:
        ``counterfactual``: True for the added rows.
        ``edits``: JSON, read by :func:`parse_edits`; spans lie in the text of the row before.
        ``label_preserved``: with ``on_label="mark"``.
        ``confidence``, ``rejected_reason``: with ``quality``; the confidence in the row's own text (1.0 for a source),
            and why the counterfactual of its text was judged bad: on the source, or with ``keep_rejected`` on the copy.

    Source: Zayed et al. 2023, section 2 (CDA). The paper flips names too: ``names=True``.

    Example:
        >>> from hf_fairness.augment import CounterfactualAugmentation
        >>> batch = CounterfactualAugmentation("text")({"text": ["He ran.", "Rain."], "label": [1, 0]})
        >>> batch["text"], batch["label"], batch["counterfactual"]
        (['He ran.', 'She ran.', 'Rain.'], [1, 1, 0], [False, True, False])
    """

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {"counterfactual": "bool", "edits": "string", **self.label_outputs(), **self.quality_outputs()}

    def unchanged(self) -> Row:
        """Values of the added columns for a row of the source."""
        marks = dict.fromkeys(self.label_outputs(), True)
        return {"counterfactual": False, "edits": "[]", **marks, **self.accepted()}

    def process_rows(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[tuple[Row, list[Row]]]:
        """The values of each row, and its counterfactual row, if it has one."""
        if self.plain:
            own, mark = self.unchanged(), {"counterfactual": True}
            swapped = zip(*self.written(rows), strict=True)
            return [
                (own, [{self.column: new, "edits": edits, **mark}] if edits != "[]" else []) for new, edits in swapped
            ]
        result: list[tuple[Row, list[Row]]] = []
        for texts, (new, edits, verdict) in zip(rows, self.judged(rows), strict=True):
            own = self.unchanged()
            reason = verdict.get("rejected_reason")
            if edits and reason and not self.keep_rejected:
                result.append(({**own, "rejected_reason": reason}, []))
            elif edits:
                label = self.label(texts, changed=True)
                result.append((own, [{**self.row("", new, edits), "counterfactual": True, **verdict, **label}]))
            else:
                result.append((own, []))
        return result


class CounterfactualSubstitution(_Judged):
    """CDS: the counterfactual of a text in place of the text, with a fixed probability per row.

    Which rows change depends on the seed and the text alone (``blake2b``), so not on batch, order or
    process. With several columns it depends on all, and all change or none.

    Args:
        columns: name or names of the text columns.
        seed: part of the hash.
        probability: of a substitution, in [0, 1]; the paper's .5.
        id_column: column whose value is hashed in place of the text, where equal texts should differ.
        quality: whether swaps are judged: True, or a :class:`SwapQuality` for the same columns. The text stays where
            its counterfactual is rejected.
        keep_rejected: substitute the rejected ones all the same.
        options: ``attribute``, ``target``, ``names``, ``label_column``, ``label_names``, ``on_label``, ``tagger``:
            those of :class:`CounterfactualSwap`.

    Adds:
        ``<column>_substituted``: the text to train on.
        ``substituted``: whether it is the counterfactual; False where the text has no terms.
        ``edits``: JSON, read by :func:`parse_edits`.
        ``label_preserved`` or ``<label_column>_substituted``: with ``on_label="mark"`` or ``"swap"``.
        ``confidence``, ``rejected_reason``: with ``quality``; the chance that ``<column>_substituted`` is right (1.0
            for a row that was not drawn or was rejected), and why the counterfactual was judged bad; ``""`` for rows
            that were not drawn.

    Raises:
        ValueError: ``probability`` is outside [0, 1].

    Source: Hall Maudslay et al. 2019; Zayed et al. 2023, section 2 (CDS).

    Example:
        >>> from hf_fairness.augment import CounterfactualSubstitution
        >>> CounterfactualSubstitution("text", probability=1.0)({"text": "He ran."})["text_substituted"]
        'She ran.'
    """

    suffix = "_substituted"

    def __init__(
        self,
        columns: str | Sequence[str],
        *,
        seed: int = 0,
        probability: float = 0.5,
        id_column: str | None = None,
        quality: bool | SwapQuality = False,
        keep_rejected: bool = False,
        **options: Unpack[SwapOptions],
    ) -> None:
        if not 0 <= probability <= 1:
            raise ValueError(f"probability must be in [0, 1], got {probability!r}.")
        super().__init__(columns, quality=quality, keep_rejected=keep_rejected, **options)
        self.seed = seed
        self.probability = probability
        self.id_column = id_column

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {**super().outputs(), "substituted": "bool", **self.quality_outputs()}

    def process(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[Row]:
        """The added columns of several rows."""
        drawn = [i for i, key in enumerate(keys) if row_draw(self.seed, key) < self.probability]
        made = dict(zip(drawn, self.used([rows[i] for i in drawn]), strict=True))
        result: list[Row] = []
        for i, texts in enumerate(rows):
            new, edits, verdict = made.get(i, (list(texts[: len(self.columns)]), [], self.accepted()))
            label = self.label(texts, changed=bool(edits))
            result.append({**self.row(self.suffix, new, edits), "substituted": bool(edits), **label, **verdict})
        return result
