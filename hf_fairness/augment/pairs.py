"""Terms that depend on the others of their text: *guys and girls*, *gods and goddesses*."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.augment.lexicon import Candidate, Hit

_AND = r" ?(?:/|&|and|or) ?"
_AFTER = re.compile(rf"{_AND}(?:the |an? )?(\w+)(?!\w)", re.IGNORECASE)
_BEFORE = re.compile(rf"(?<!\w)(\w+){_AND}(?:the |an? )?$", re.IGNORECASE)
#: Characters beside a term that are looked at.
_REACH = 40


class Companion(NamedTuple):
    """What a term is where its companions of the other groups stand in the same text.

    Attributes:
        entry: the line of the attribute file.
        candidate: the term with the companions as its counterparts.
    """

    entry: int
    candidate: Candidate


#: Candidate -> what it may be beside its companions.
Together = Mapping[Candidate, Sequence[Companion]]


def together(
    entries: Sequence[Mapping[str, tuple[str, ...]]], candidates: Mapping[str, tuple[Candidate, ...]]
) -> Together:
    """The terms of the lines of an attribute file that are counterparts where all of a line are said.

    Args:
        entries: group -> forms, for each line.
        candidates: readings of every surface form.
    """
    found: dict[Candidate, list[Companion]] = {}
    for place, forms in enumerate(entries):
        for row in forms.values():
            for form in row:
                options = candidates[form.lower()]
                for option in options:
                    if option.concept.forms[NEUTRAL] != options[-1].concept.forms[NEUTRAL]:
                        continue  # another meaning: the Lady of a lord
                    concept = dataclasses.replace(option.concept, forms={**option.concept.forms, **forms})
                    found.setdefault(option, []).append(Companion(place, dataclasses.replace(option, concept=concept)))
    return found


def said_together(hits: list[Hit], known: Together, n_groups: int) -> list[Hit]:
    """The hits with the counterparts that their text itself says: beside *girls*, *guys* are not *gals*.

    Args:
        hits: the terms of a text.
        known: what :func:`together` gave.
        n_groups: number of groups that must be there.
    """
    paired = [hit for hit in hits if hit[2] in known]
    if len(paired) < n_groups:
        return hits
    groups: dict[int, set[str]] = {}
    for hit in paired:
        for companion in known[hit.candidate]:
            groups.setdefault(companion.entry, set()).add(hit.candidate.group)
    complete = {entry for entry, found in groups.items() if len(found) == n_groups}
    if not complete:
        return hits
    said = {hit.candidate for hit in hits}
    chosen: dict[Candidate, Candidate] = {}
    for old in said:
        usual = any(
            one.concept is old.concept and one.group != old.group and one not in known and not one.rare for one in said
        )
        new = next((one.candidate for one in known.get(old, ()) if one.entry in complete), None)
        if new and not usual:
            chosen[old] = new
    return [hit._replace(candidate=chosen.get(hit.candidate, hit.candidate)) for hit in hits]


def with_generic(text: str, hits: list[Hit]) -> list[Hit]:
    """The hits with words for everybody that one of them makes a term: *gods* of *gods and goddesses*."""
    found = [partner for hit in hits if hit.candidate.concept.generic for partner in _partners(text, hit)]
    by_start = {hit.start: hit for hit in (*found, *hits)}
    return [by_start[start] for start in sorted(by_start)]


def _partners(text: str, hit: Hit) -> list[Hit]:
    window = max(0, hit.start - _REACH)
    before = _BEFORE.search(text[window : hit.start])
    after = _AFTER.match(text, hit.end)
    places = [(before.start(1) + window, before.end(1) + window)] if before else []
    places += [after.span(1)] if after else []
    found = []
    for start, end in places:
        partner = _generic(hit.candidate, text[start:end].lower())
        if partner:
            found.append(Hit(start, end, partner))
    return found


@functools.lru_cache(maxsize=1 << 10)
def _generic(candidate: Candidate, word: str) -> Candidate | None:
    for group in candidate.concept.generic:
        form = candidate.concept.forms[group][candidate.slot]
        if form.lower() == word:
            return dataclasses.replace(candidate, group=group, form=form)
    return None
