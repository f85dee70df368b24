"""Which counterfactuals to trust: rules that reject a bad swap, and a confidence for the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_fairness.attributes import Attribute, NameTable, load_attribute
from hf_fairness.attributes.names import with_names
from hf_fairness.augment.confidence import probability, risks
from hf_fairness.augment.edits import parse_edits
from hf_fairness.augment.engine import engine_for
from hf_fairness.augment.lexicon import Hit
from hf_fairness.augment.objections import REASONS, Swap, edits_by_column, objections
from hf_fairness.augment.perplexity import PerplexityRatio
from hf_fairness.augment.transforms import VERSION, counterfactual_names
from hf_fairness.maps import MapFunction, Row, Texts
from hf_fairness.utils import is_missing


class SwapQuality(MapFunction):
    """Judge counterfactuals: reject those whose grammar or sense a swap breaks, and say how sure the others are.

    A row is never dropped: filter by ``rejected_reason`` after the map. The rules look at words, not at who is
    meant, and reject rather too much: *he* beside *pregnant* is rejected though another person may be pregnant.

    Args:
        columns: name or names of the text columns.
        counterfactual_columns: columns with their counterfactuals; None means ``<column>_counterfactual``.
        edits_column: column with the edits that led there.
        attribute: name, file or object.
        names: given names that the rules know: True for those of the attribute, False for none, or a table of
            ``load_names`` or the path of one.
        ignore: rules that do not reject (of :data:`REASONS`), or kinds of inherent words that do not (their ``reason``
            in the attribute file, such as ``"animal"``).
        perplexity: a :class:`PerplexityRatio`, or the column that it added; None means no language model.
        max_ratio: perplexity of a counterfactual over that of its text from which it is rejected.
        on_missing: what to do about a row that lacks a text; as in :class:`CounterfactualSwap`.

    Adds:
        ``confidence``: chance, in [0, 1], that every change is right and none lacks; 0 for a rejected row. Every term
            that was changed or left alone lowers it by its risk (:data:`.confidence.RISKS`), a pronoun of several cases
            by the chance of another case; so a long text has less than its sentences. Where nothing changed it says
            how likely that is right. Calibrated for gender, on single sentences of news, captions, tweets and
            headlines (`benchmarks.swap_confidence`); other attributes have no judged sets and use the same risks.
        ``rejected_reason``: why the swap was judged bad: a key of :data:`REASONS`, a colon and what was found; ``""``
            if it was accepted or nothing was swapped, and ``"missing"`` where a text is.

    Raises:
        ValueError: a column is missing or taken, an unknown rule to ignore, ``max_ratio`` not above 0, or a value that
            no ``edits`` column holds.

    Source: the rules name errors of word-list swaps that Zayed et al. 2023 and Hall Maudslay et al. 2019 report.

    Example:
        >>> from hf_fairness.augment import CounterfactualSwap, SwapQuality
        >>> row = {"text": "She is pregnant."}
        >>> SwapQuality("text")({**row, **CounterfactualSwap("text")(row)})
        {'confidence': 0.0, 'rejected_reason': "inherent: 'pregnant' says female, which was taken out"}
    """

    version = VERSION

    def __init__(
        self,
        columns: str | Sequence[str],
        *,
        counterfactual_columns: str | Sequence[str] | None = None,
        edits_column: str = "edits",
        attribute: str | Path | Attribute = "gender",
        names: bool | str | Path | NameTable = True,
        ignore: str | Sequence[str] = (),
        perplexity: PerplexityRatio | str | None = None,
        max_ratio: float = 2.0,
        on_missing: str = "skip",
    ) -> None:
        super().__init__(columns)
        self.sources: Texts = self.columns
        counterfactuals = counterfactual_names(self.sources, counterfactual_columns)
        super().__init__((*self.sources, *counterfactuals, edits_column), on_missing=on_missing)
        self.attribute, use_names = with_names(load_attribute(attribute), names)
        self.use_names = use_names and bool(self.attribute.names)
        self.ignore = frozenset([ignore] if isinstance(ignore, str) else ignore)
        known = {*REASONS, *(term.reason for term in self.attribute.inherent)}
        if not self.ignore <= known:
            unknown = min(self.ignore - known)
            raise ValueError(f"ignore names {unknown!r}, which rejects nothing. Known: {', '.join(sorted(known))}.")
        if not max_ratio > 0:
            raise ValueError(f"max_ratio must be above 0, got {max_ratio!r}.")
        self.perplexity = perplexity
        self.max_ratio = max_ratio
        engine_for(self.attribute, self.use_names)

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {"confidence": "float64", "rejected_reason": "string"}

    def extra_column(self) -> str | None:
        """The column of the perplexity, where it is one."""
        return self.perplexity if isinstance(self.perplexity, str) else None

    def extras(self, values: Sequence[Any]) -> Sequence[str]:
        """The ratios as strings.

        Raises:
            ValueError: one is missing.
        """
        lacking = next((row for row, value in enumerate(values) if is_missing(value)), None)
        if lacking is not None:
            raise ValueError(
                f"SwapQuality: column {self.perplexity!r} has no number in row {lacking} of the batch. PerplexityRatio "
                "gives every row one: map it over these rows."
            )
        return [repr(float(value)) for value in values]

    def process(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[Row]:
        """The added columns of several rows."""
        n = len(self.sources)
        swaps = []
        for texts in rows:
            edits = parse_edits(texts[2 * n])
            swaps.append(Swap(texts[:n], texts[n : 2 * n], edits_by_column(edits, self.sources)))
        ratios = [float(texts[-1]) for texts in rows] if isinstance(self.perplexity, str) else None
        return self.judge(swaps, ratios)

    def judge(self, swaps: Sequence[Swap], ratios: Sequence[float] | None = None) -> list[Row]:
        """Confidence and reason of several swaps.

        Args:
            swaps: the swaps.
            ratios: their perplexity ratios, if they are known.
        """
        hits = [self._hits(swap) for swap in swaps]
        reasons = [self._reason(swap, terms) for swap, terms in zip(swaps, hits, strict=True)]
        if isinstance(self.perplexity, PerplexityRatio):
            pairs = [(swap.sources, swap.targets) for swap in swaps]
            open_ = [i for i, reason in enumerate(reasons) if not reason and list(pairs[i][0]) != list(pairs[i][1])]
            found = self.perplexity.ratios([pairs[i] for i in open_])
            by_row = dict(zip(open_, found, strict=True))
        else:
            by_row = dict(enumerate(ratios or ()))
        rows: list[Row] = []
        for i, (swap, reason) in enumerate(zip(swaps, reasons, strict=True)):
            if not reason and by_row.get(i, 0.0) > self.max_ratio and "perplexity" not in self.ignore:
                reason = f"perplexity: {by_row[i]:.2f} times that of the text, more than {self.max_ratio:g}"
            rows.append({"confidence": 0.0 if reason else self._confidence(swap, hits[i]), "rejected_reason": reason})
        return rows

    def _hits(self, swap: Swap) -> list[list[Hit]]:
        """The terms of each source; none where nothing was edited, which nobody asks about."""
        engine = engine_for(self.attribute, self.use_names)
        return [engine.find(source)[0] if any(swap.edits) else [] for source in swap.sources]

    def _confidence(self, swap: Swap, hits: Sequence[Sequence[Hit]]) -> float:
        counts: Counter[str] = Counter()
        certainty = 1.0
        for source, edits, terms in zip(swap.sources, swap.edits, hits, strict=True):
            spans = {edit.start: edit.end for edit in edits}
            changed = [hit for hit in terms if hit.start in spans]
            counts += risks(source, changed, list(spans.items()), self.attribute)
            certainty *= math.prod(hit.certainty for hit in changed)
        return round(probability(counts, certainty), 6)

    def _reason(self, swap: Swap, hits: Sequence[Sequence[Hit]]) -> str:
        """The first rule that rejects, with what it found; ``""`` if none does."""
        for code, found in objections(swap, self.attribute, hits, self.ignore):
            if code not in self.ignore:
                return f"{code}: {found}"
        return ""
