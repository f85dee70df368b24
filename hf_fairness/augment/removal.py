"""Attribute blindness: texts without the terms of an attribute."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.attributes import Attribute, NameTable
from hf_fairness.augment.edits import Edit
from hf_fairness.augment.engine import Tagger, engine_for
from hf_fairness.augment.english import ABBREVIATED_TITLES
from hf_fairness.augment.lexicon import Hit
from hf_fairness.augment.transforms import Transform
from hf_fairness.maps import Row, Texts

#: What the direction of an edit says in place of a group.
REMOVED = "removed"

#: After these a space may go with the term that it follows; before those (or at the end) the space before the term.
_OPENING = frozenset(' \n\t([{"“‘-')
_CLOSING = frozenset(("", *'.,;:!?…)]}"”\n'))


class RemoveTerms(Transform):
    """Add text columns without the terms of an attribute: pronouns, titles, gendered nouns.

    A baseline, not a rewrite: the result is seldom grammatical, and other words still tell the group.
    :class:`Neutralize` writes whole sentences.

    Args:
        columns: name or names of the text columns.
        attribute: name, file or object.
        names: whether given names are removed too; as in :class:`CounterfactualSwap`.
        placeholder: what stands in place of a term; ``""`` takes the term out, with a space beside it, and a
            possessive *'s* with a noun.
        tagger: settles which case a pronoun has; None means that the words around decide.
        on_missing: what to do about a row that lacks a text; as in :class:`CounterfactualSwap`.

    Adds:
        ``<column>_blind``: the text without terms; equal to the text where it has none.
        ``edits``: JSON, read by :func:`parse_edits`; the direction is ``"female->removed"``.

    Source: De-Arteaga et al. 2019, Bias in Bios, section 3 (scrubbed bios); a baseline in Zayed et al. 2023.

    Example:
        >>> from hf_fairness.augment import RemoveTerms
        >>> RemoveTerms("text")({"text": "She lives with her sister's cat."})["text_blind"]
        'lives with cat.'
        >>> RemoveTerms("text", placeholder="_")({"text": "Her name is Ann."})["text_blind"]
        '_ name is Ann.'
    """

    suffix = "_blind"

    def __init__(
        self,
        columns: str | Sequence[str],
        *,
        attribute: str | Path | Attribute = "gender",
        names: bool | str | Path | NameTable = False,
        placeholder: str = "",
        tagger: Tagger | None = None,
        on_missing: str = "skip",
    ) -> None:
        super().__init__(columns, attribute=attribute, names=names, tagger=tagger, on_missing=on_missing)
        if not isinstance(placeholder, str):
            raise TypeError(f"placeholder must be a string, got {placeholder!r}.")
        self.placeholder = placeholder

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types."""
        return {**{f"{column}{self.suffix}": "string" for column in self.columns}, "edits": "string"}

    def rewrite(self, texts: Texts, key: str) -> Row:
        """The added columns of one row."""
        return self.row(self.suffix, *self.each(texts, self._remove))

    def _remove(self, text: str) -> tuple[str, list[Edit]]:
        hits, _ = engine_for(self.attribute, self.names).find(text, self.tagger)
        spans = [(hit.start, hit.end) for hit in hits] if self.placeholder else _spans(text, hits)
        pieces, edits, done = [], [], 0
        for hit, (start, end) in zip(hits, spans, strict=True):
            edits.append(Edit(start, end, text[start:end], self.placeholder, f"{hit.candidate.group}->{REMOVED}"))
            pieces += [text[done:start], self.placeholder]
            done = end
        return "".join([*pieces, text[done:]]), edits


def _spans(text: str, hits: Sequence[Hit]) -> list[tuple[int, int]]:
    """What to take out for each term, so that neither two spaces nor one before a full stop are left."""
    spans: list[tuple[int, int]] = []
    run = 0  # index of the first of the terms that stand side by side
    for i, hit in enumerate(hits):
        end = _end(text, hit)
        if i + 1 < len(hits) and text[end : hits[i + 1].start].isspace():
            spans.append((hit.start, hits[i + 1].start))
            continue
        spans.append((hit.start, end))
        start = spans[run][0]
        if text[end : end + 1] in (" ", "-"):
            if start == 0 or text[start - 1] in _OPENING:
                spans[-1] = (spans[-1][0], end + 1)
        elif start and text[start - 1] == " " and text[end : end + 1] in _CLOSING:
            spans[run] = (start - 1, spans[run][1])
        run = i + 1
    return spans


def _end(text: str, hit: Hit) -> int:
    """Where a term ends, with the full stop of *Mr.* and the possessive ending of a noun."""
    end = hit.end
    if hit.candidate.concept.category == "pronoun":
        return end
    if text[end : end + 1] == "." and text[hit.start : end].lower() in ABBREVIATED_TITLES:
        return end + 1
    if text[end : end + 1] in ("'", "’"):
        if text[end + 1 : end + 2] == "s" and not text[end + 2 : end + 3].isalpha():
            return end + 2
        if text[end - 1] == "s" and text[end + 1 : end + 2] == " ":
            return end + 1
    return end
