"""What speaks against a counterfactual: rules over the text, its edits, and the attribute's own words."""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hf_fairness.attributes import Attribute
from hf_fairness.augment.edits import Edit, apply_edits
from hf_fairness.augment.lexicon import Hit
from hf_fairness.augment.prose import Span, no_prose, touches
from hf_fairness.augment.scan import Scan

#: Code of a rule -> what it means.
REASONS = {
    "edits": "the edits do not lead from the text to its counterfactual",
    "inherent": "a word that belongs to one group by meaning stands in a sentence that this group was taken out of",
    "title": "a title or another term stands before a given name of another group",
    "name": "a given name stands in a sentence that its group was taken out of",
    "coreference": "one column keeps a term, a name or an inherent word of the group taken out of another column",
    "perplexity": "a language model finds the counterfactual much less likely than the text",
}

_TITLE_GAP = re.compile(r"\.?[ \t]+")


class Swap(NamedTuple):
    """One row to be judged.

    Attributes:
        sources: the text of each column.
        targets: its counterfactual.
        edits: the edits of each column.
    """

    sources: Sequence[str]
    targets: Sequence[str]
    edits: Sequence[Sequence[Edit]]


class _Kept(NamedTuple):
    """A word of one group that a swap left alone: a given name or an inherent word."""

    start: int
    group: str
    code: str
    word: str
    kind: str


def objections(
    swap: Swap, attribute: Attribute, hits: Sequence[Sequence[Hit]], ignore: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """Rules that reject a swap, with what they found, the gravest first.

    Args:
        swap: the row.
        attribute: the attribute that was swapped.
        hits: the terms of each source; none are needed where there are no edits.
        ignore: kinds of inherent words that are passed over.
    """
    for source, target, edits in zip(*swap, strict=True):
        if not _lead_to(source, edits, target):
            yield "edits", f"they do not turn {_short(source)!r} into {_short(target)!r}"
    if all(source == target for source, target in zip(swap.sources, swap.targets, strict=True)):
        return  # nothing was swapped, so there is no swap to judge
    views = [_View(*each, attribute) for each in zip(swap.sources, swap.edits, hits, strict=True)]
    kept = [[word for word in view.kept() if word.kind not in ignore] for view in views]
    for view, words in zip(views, kept, strict=True):
        for title, name in view.mismatches():
            yield "title", f"{title!r} before {name!r}"
        for word in words:
            if word.group in view.gone_around(word.start):
                yield word.code, f"{word.word!r} says {word.group}, which was taken out"
    for (i, view), j in itertools.product(enumerate(views), range(len(views))):
        if i == j:
            continue
        for word in kept[j]:
            if word.group in view.gone:
                yield "coreference", f"{word.word!r} says {word.group}, which was taken out of another column"
        for term in view.replaced - views[j].replaced:
            if not view.leaves(term) and views[j].leaves(term):
                yield "coreference", f"{term!r} was swapped in one column and kept in another"


class _View:
    """One column of a swap: what was taken out where, and what stayed."""

    def __init__(self, source: str, edits: Sequence[Edit], hits: Sequence[Hit], attribute: Attribute) -> None:
        self.source = source
        self.edits = edits
        self.attribute = attribute
        self.gone = {group_from(edit) for edit in edits}
        self.hits = hits
        self._at = {edit.start: edit for edit in edits}
        self._ordered = sorted(edits, key=lambda edit: edit.start)
        self._starts = [edit.start for edit in self._ordered]
        #: Terms that were swapped, in lower case; not the articles that followed them.
        self.replaced = {source[hit.start : hit.end].lower() for hit in self.hits if hit.start in self._at}

    @functools.cached_property
    def _scan(self) -> Scan:
        return Scan(self.source)

    @functools.cached_property
    def _no_prose(self) -> list[Span]:
        return no_prose(self.source)

    def gone_around(self, place: int) -> set[str]:
        """Groups that were taken out of the sentence that holds a place."""
        return self._gone.get(self._sentence(place), set())

    @functools.cached_property
    def _ends(self) -> list[int]:
        """Offsets at which sentences end."""
        return [self._scan.ends[i] for i in range(len(self._scan)) if self._scan.is_end(i)]

    def _sentence(self, place: int) -> int:
        """Number of the sentence that holds a place."""
        return bisect.bisect_left(self._ends, place)

    @functools.cached_property
    def _gone(self) -> dict[int, set[str]]:
        """Sentence -> groups that were taken out of it."""
        groups: dict[int, set[str]] = {}
        for edit in self.edits:
            groups.setdefault(self._sentence(edit.start), set()).add(group_from(edit))
        return groups

    def kept(self) -> Iterator[_Kept]:
        """Inherent words and given names that no edit touches."""
        for start, end, term in self.attribute.inherent_spans(self.source):
            word = self.source[start:end]
            if touches(self._no_prose, start, end) or self._edited(start, end):
                continue
            if not (word[0].isupper() and self._name(start)):
                yield _Kept(start, term.group, "inherent", word, term.reason)
        for hit in self.hits:
            if hit.candidate.concept.category == "name" and not self._edited(hit.start, hit.end):
                yield _Kept(hit.start, hit.candidate.group, "name", self.source[hit.start : hit.end], "name")

    def _name(self, start: int) -> bool:
        """Whether a capital at this place says that the word is part of a name (Chicago Bulls)."""
        index = self._scan.at(start)
        return not self._scan.in_headline(index) and not self._scan.initial(index)

    def _edited(self, start: int, end: int) -> bool:
        place = bisect.bisect_left(self._starts, end)  # edits do not overlap: of those that begin before, the last
        return place > 0 and start < self._ordered[place - 1].end

    def mismatches(self) -> Iterator[tuple[str, str]]:
        """Terms that a swap brought before a given name of another group, with the name."""
        for term, name in itertools.pairwise(self.hits):
            if name.candidate.concept.category != "name" or term.candidate.concept.category in ("name", "pronoun"):
                continue
            if not _TITLE_GAP.fullmatch(self.source[term.end : name.start]):
                continue
            (group, word), (other, given) = self._written(term), self._written(name)
            if term.candidate.group == name.candidate.group and group != other:
                yield word, given

    def _written(self, hit: Hit) -> tuple[str, str]:
        """Group and form of a term after the swap."""
        edit = self._at.get(hit.start)
        if edit is None:
            return hit.candidate.group, self.source[hit.start : hit.end]
        return edit.to, edit.target

    def leaves(self, term: str) -> bool:
        """Whether a term stands in the prose of the text outside the edits, in any capitals."""
        places = re.finditer(rf"(?<!\w){re.escape(term)}(?!\w)", self.source, re.IGNORECASE)
        return any(not self._edited(*p.span()) and not touches(self._no_prose, *p.span()) for p in places)


def edits_by_column(edits: Sequence[Edit], columns: Sequence[str]) -> list[list[Edit]]:
    """The edits of each column; edits that name none are those of the only column."""
    unnamed = "" if len(columns) == 1 else None
    return [[edit for edit in edits if edit.column in (name, unnamed)] for name in columns]


def group_from(edit: Edit) -> str:
    """The group that an edit takes out."""
    return edit.direction.partition("->")[0]


def _lead_to(source: str, edits: Sequence[Edit], target: str) -> bool:
    try:
        return apply_edits(source, edits) == target
    except ValueError:
        return False


def _short(text: str, size: int = 40) -> str:
    return text if len(text) <= size else f"{text[: size - 3]}..."
