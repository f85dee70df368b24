"""Counterfactual data augmentation (adds rows) and substitution (changes some), for ``datasets.map``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hf_fairness.augment.edits import Edit
from hf_fairness.augment.objections import Swap, edits_by_column
from hf_fairness.augment.quality import SwapQuality
from hf_fairness.augment.transforms import BaseSwap, SwapOptions
from hf_fairness.maps import Row, RowsFunction, Texts, row_draw

if TYPE_CHECKING:
    from typing_extensions import Unpack


class _Judged(BaseSwap):
    """A swap whose results are judged before they are used."""

    def __init__(
        self, columns: str | Sequence[str], *, quality: bool | SwapQuality = False, **options: Unpack[SwapOptions]
    ) -> None:
        super().__init__(columns, **options)
        if not isinstance(quality, (bool, SwapQuality)):
            raise TypeError(f"quality must be True, False or a SwapQuality, got {quality!r}.")
        if quality is True:
            quality = SwapQuality(self.columns, attribute=self.attribute)
        self.quality = quality or None
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
        """Values of these columns for a text that was not rewritten."""
        return {} if self.quality is None else {"confidence": 1.0, "rejected_reason": ""}

    def judged(self, rows: Sequence[Texts]) -> list[tuple[list[str], list[Edit], Row]]:
        """The counterfactual of each column of several rows, all edits, and the verdict."""
        swapped = [self.swap(texts) for texts in rows]
        verdicts = [self.accepted() for _ in rows]
        if self.quality is not None:
            changed = [i for i, (_, edits) in enumerate(swapped) if edits]
            swaps = [
                Swap(rows[i][: len(self.columns)], swapped[i][0], edits_by_column(swapped[i][1], self.columns))
                for i in changed
            ]
            for i, verdict in zip(changed, self.quality.judge(swaps), strict=True):
                verdicts[i] = verdict
        return [(new, edits, verdict) for (new, edits), verdict in zip(swapped, verdicts, strict=True)]


class CounterfactualAugmentation(_Judged, RowsFunction):
    """CDA: after every row whose text has terms, a copy of the row with the counterfactual text.

    Use it with ``batched=True``, since it adds rows. All columns are returned and the copy keeps their
    values; rows without terms are not copied, so that no text is trained on twice unchanged. Several columns are
    swapped together, into one copy.

    Args:
        columns: name or names of the text columns.
        quality: True, or a :class:`SwapQuality` for the same columns: copies that it rejects are not added.
        keep_rejected: add them all the same, with their reason.
        options: ``attribute``, ``target``, ``names``, ``label_column``, ``label_names``, ``on_label``, ``tagger``:
            those of :class:`CounterfactualSwap`. With ``on_label="swap"`` the copy gets the other group's label.

    Adds:
        ``counterfactual``: True for the added rows.
        ``edits``: JSON, read by :func:`parse_edits`; spans lie in the text of the row before.
        ``label_preserved``: with ``on_label="mark"``.
        ``confidence``, ``rejected_reason``: with ``quality``; the confidence in the row's own text (1.0 for a source),
            and why a copy was rejected: on the source, or with ``keep_rejected`` on the copy.

    Source: Zayed et al. 2023, section 2 (CDA). The paper flips names too: ``names=True``.

    Example:
        >>> from hf_fairness.augment import CounterfactualAugmentation
        >>> batch = CounterfactualAugmentation("text")({"text": ["He ran.", "Rain."], "label": [1, 0]})
        >>> batch["text"], batch["label"], batch["counterfactual"]
        (['He ran.', 'She ran.', 'Rain.'], [1, 1, 0], [False, True, False])
    """

    suffix = ""

    def __init__(
        self,
        columns: str | Sequence[str],
        *,
        quality: bool | SwapQuality = False,
        keep_rejected: bool = False,
        **options: Unpack[SwapOptions],
    ) -> None:
        super().__init__(columns, quality=quality, **options)
        self.keep_rejected = keep_rejected

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {"counterfactual": "bool", "edits": "string", **self.label_outputs(), **self.quality_outputs()}

    def unchanged(self) -> Row:
        """Values of the added columns for a row of the source."""
        marks = dict.fromkeys(self.label_outputs(), True)
        return {"counterfactual": False, "edits": "[]", **marks, **self.accepted()}

    def process_additions(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[list[Row]]:
        """The counterfactual row of each row, if it has one; a rejected one too, for :meth:`__call__` to take out."""
        result: list[list[Row]] = []
        for texts, (new, edits, verdict) in zip(rows, self.judged(rows), strict=True):
            added = {**self.row("", new, edits), "counterfactual": True, **verdict}
            if edits and (self.keep_rejected or not verdict.get("rejected_reason")):
                added |= self.label(texts, changed=True)
            result.append([added] if edits else [])
        return result

    def __call__(self, batch: Mapping[str, Any]) -> Row:
        """Add the rows to a batch."""
        result = super().__call__(batch)
        if self.quality is None or self.keep_rejected:
            return result
        reasons = result["rejected_reason"]
        rejected = {i for i, reason in enumerate(reasons) if reason}
        for i in rejected:
            reasons[i - 1] = reasons[i]  # the row before is its source
        return {name: [v for i, v in enumerate(values) if i not in rejected] for name, values in result.items()}


class CounterfactualSubstitution(_Judged):
    """CDS: the counterfactual of a text in place of the text, with a fixed probability per row.

    Which rows change depends on the seed and the text alone (``blake2b``), so not on batch, order or
    process. With several columns it depends on all, and all change or none.

    Args:
        columns: name or names of the text columns.
        seed: part of the hash.
        probability: of a substitution, in [0, 1]; the paper's .5.
        id_column: column whose value is hashed in place of the text, where equal texts should differ.
        quality: True, or a :class:`SwapQuality` for the same columns: a counterfactual that it rejects is not used.
        options: ``attribute``, ``target``, ``names``, ``label_column``, ``label_names``, ``on_label``, ``tagger``:
            those of :class:`CounterfactualSwap`.

    Adds:
        ``<column>_substituted``: the text to train on.
        ``substituted``: whether it is the counterfactual; False where the text has no terms.
        ``edits``: JSON, read by :func:`parse_edits`.
        ``label_preserved`` or ``<label_column>_substituted``: with ``on_label="mark"`` or ``"swap"``.
        ``confidence``, ``rejected_reason``: with ``quality``; the confidence in ``<column>_substituted`` (1.0 for the
            text itself), and why a counterfactual was not used.

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
        **options: Unpack[SwapOptions],
    ) -> None:
        if not 0 <= probability <= 1:
            raise ValueError(f"probability must be in [0, 1], got {probability!r}.")
        super().__init__(columns, quality=quality, **options)
        self.seed = seed
        self.probability = probability
        self.id_column = id_column

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {**super().outputs(), "substituted": "bool", **self.quality_outputs()}

    def process(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[Row]:
        """The added columns of several rows."""
        drawn = [i for i, key in enumerate(keys) if row_draw(self.seed, key) < self.probability]
        made = dict(zip(drawn, self.judged([rows[i] for i in drawn]), strict=True))
        result: list[Row] = []
        for i, texts in enumerate(rows):
            new, edits, verdict = made.get(i, (list(texts[: len(self.columns)]), [], self.accepted()))
            if verdict.get("rejected_reason"):
                new, edits, verdict = list(texts[: len(self.columns)]), [], {**verdict, "confidence": 1.0}
            label = self.label(texts, changed=bool(edits))
            result.append({**self.row(self.suffix, new, edits), "substituted": bool(edits), **label, **verdict})
        return result
