"""Find the terms of an attribute in a text and write the text with other ones.

One compiled regular expression finds every term; what a term means is decided by its candidates
(:class:`.lexicon.Candidate`) and the contexts around it. Nothing here knows which attribute it works on.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from hf_fairness.attributes import Attribute
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.attributes.terms import pronoun_concepts
from hf_fairness.augment import agreement, contexts, pronouns
from hf_fairness.augment.edits import Edit
from hf_fairness.augment.language import looks_english
from hf_fairness.augment.lexicon import Candidate, candidates, compile_terms, name_concepts
from hf_fairness.augment.scan import Scan

#: Languages that have a rule engine, with the check that a text is in it.
LANGUAGES: dict[str, Callable[[str], bool]] = {"en": looks_english}

_LINK = re.compile(r"(?:['’]s?)? ?(?:/|\b(?:and|or)\b) ?")


_ARTICLE = re.compile(r"\b[Aa][Nn]?\s+$")
_URL = re.compile(r"\w+://[^\s\"'<>]+")


class Hit(NamedTuple):
    """A term at a place of a text, with the reading that the context chose."""

    start: int
    end: int
    candidate: Candidate


class Engine:
    """The terms of one attribute, ready to be found and replaced.

    Args:
        attribute: whose terms.
        names: whether given names count as terms.

    Raises:
        ValueError: there are no rules for the attribute's language.
    """

    def __init__(self, attribute: Attribute, *, names: bool = False) -> None:
        if attribute.language not in LANGUAGES:
            raise ValueError(
                f"No rule engine for language {attribute.language!r} (attribute {attribute.name!r}). "
                f"Languages with rules: {', '.join(LANGUAGES)}."
            )
        if names and not attribute.names:
            raise ValueError(f"names=True, but attribute {attribute.name!r} lists no names. Add them to its file.")
        self.attribute = attribute
        self._in_language = LANGUAGES[attribute.language]
        concepts = attribute.concepts + pronoun_concepts(attribute.paradigms, attribute.group_names)
        if names:
            concepts += name_concepts(attribute)
        self._candidates = candidates(concepts, attribute.group_names)
        self._protected = frozenset(phrase.replace("’", "'") for phrase in attribute.protected)
        self._pattern = compile_terms([*self._candidates, *self._protected])
        self._cells = {
            surface: frozenset(option.cell for option in options)
            for surface, options in self._candidates.items()
            if len(options) > 1 and all(option.concept.category == "pronoun" for option in options)
        }
        self._small = {  # in small letters no name, so without a condition
            surface: options[0]
            for surface, options in self._candidates.items()
            if len(options) == 1
            and not options[0].concept.when
            and contexts.CAPITAL.issuperset(options[0].concept.keep)
            and not any(phrase[0] == surface[0] and surface in phrase for phrase in self._protected)
        }
        self._simple = {
            surface: options[0]
            for surface, options in self._candidates.items()
            if len(options) == 1 and not options[0].concept.when and not options[0].concept.keep
        }

    def find(self, text: str) -> tuple[list[Hit], Scan | None]:
        """Terms of a text, in order, without those that are protected or part of a name.

        Args:
            text: one text.

        Returns:
            The hits, and the tokens of the text if they were needed to find them.
        """
        lower = text.lower()
        if len(lower) != len(text):  # a few letters grow in lower case: give up on those letters only
            lower = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
        matches = list(self._pattern.finditer(lower))
        if not matches or not self._in_language(text):
            return [], None
        if "://" in text:
            links = [link.span() for link in _URL.finditer(text)]
            matches = [match for match in matches if not any(a <= match.start() < b for a, b in links)]
        hits: list[Hit] = []
        scan: Scan | None = None
        for match in matches:
            start, end = match.span()
            term = lower[start:end]
            candidate = self._simple.get(term)
            if candidate is None and text[start] == lower[start]:
                candidate = self._small.get(term)
            if candidate is None and term in self._cells:
                candidate = self._read_quickly(term, lower, start, end)
            if candidate is None:
                surface = text[start:end].replace("’", "'")
                if surface in self._protected:
                    continue
                if scan is None:
                    scan = Scan(text)
                candidate = self._choose(surface, scan, start, end)
            if candidate is not None:
                hits.append(Hit(start, end, candidate))
        return hits, scan

    def _read_quickly(self, term: str, lower: str, start: int, end: int) -> Candidate | None:
        cell = pronouns.resolve_quickly(lower, start, end, self._cells[term])
        if cell is None:
            return None
        return next(option for option in self._candidates[term] if option.cell == cell)

    def _choose(self, surface: str, scan: Scan, start: int, end: int) -> Candidate | None:
        options = self._candidates.get(surface) or self._candidates.get(surface.lower(), ())
        cells = self._cells.get(surface.lower())
        if cells is not None:
            cell = pronouns.resolve(scan, scan.at(start), end, cells)
            return next(option for option in options if option.cell == cell)
        for option in options:
            concept = option.concept
            if concept.when and not any(contexts.WHEN[name](scan, start, end) for name in concept.when):
                continue
            kept = any(contexts.CHECKS[name](scan, start, end) for name in concept.keep)
            return None if kept else option
        return None

    def render(
        self,
        text: str,
        found: tuple[list[Hit], Scan | None],
        target: Mapping[str, str],
        pronouns_as: Mapping[str, str] | None = None,
        plural: bool = True,
    ) -> tuple[str, list[Edit]]:
        """Write a text with the terms of other groups.

        Args:
            text: the source text.
            found: what :meth:`find` gave for it.
            target: group of a term -> group (or ``"neutral"``) to write.
            pronouns_as: forms by case that replace those of the neutral paradigm.
            plural: whether verbs of a neutral subject pronoun become plural.

        Returns:
            The new text and its edits, in order and without overlap.
        """
        hits, scan = found
        changes: list[tuple[int, int, str, str]] = []
        for hit in hits:
            group = target.get(hit.candidate.group)
            if group is None or group == hit.candidate.group:
                continue
            source = text[hit.start : hit.end]
            form = hit.candidate.concept.forms[group][hit.candidate.slot]
            if pronouns_as and group == NEUTRAL and hit.candidate.concept.category == "pronoun":
                form = pronouns_as[hit.candidate.cell]
            direction = f"{hit.candidate.group}->{group}"
            new = match_case(source, hit.candidate.form, form)
            verbs = plural and group == NEUTRAL and hit.candidate.cell == "subject"
            if verbs or _ARTICLE.search(text, max(0, hit.start - 4), hit.start):
                scan = scan or Scan(text)
                changes += [(*change, direction) for change in _follow_ups(scan, hit, new, verbs=verbs)]
            changes.append((hit.start, _deletion_end(text, hit.end) if not new else hit.end, new, direction))
        if len(hits) > 1:
            changes = _collapse(text, hits, changes, target)
        return _apply(text, changes)

    def swap(self, text: str, target: Mapping[str, str]) -> tuple[str, list[Edit]]:
        """Find and render in one go."""
        found = self.find(text)
        return self.render(text, found, target) if found[0] else (text, [])


@functools.lru_cache(maxsize=32)
def engine_for(attribute: Attribute, names: bool = False) -> Engine:
    """The engine of an attribute, built once per process."""
    return Engine(attribute, names=names)


def match_case(source: str, form: str, new: str) -> str:
    """Write a new form with the capitals of the source.

    Args:
        source: what stands in the text.
        form: the source as the attribute file spells it.
        new: the counterpart as the attribute file spells it.

    Returns:
        The counterpart: as the file spells it if the source was, in capitals if the source was, with a
        capital first letter if the source had one.

    Example:
        >>> from hf_fairness.augment.engine import match_case
        >>> match_case("HER", "her", "his"), match_case("Aunt", "aunt", "uncle")
        ('HIS', 'Uncle')
    """
    if source == form or not new:
        return new
    if len(source) > 1 and source.isupper():
        return new.upper()
    if source[0].isupper():
        if source.istitle() and ("-" in new or " " in source):
            return "".join(part[:1].upper() + part[1:] for part in re.split(r"([- ])", new))
        return new[0].upper() + new[1:]
    return new.lower() if source.islower() and not form.islower() else new


def _follow_ups(scan: Scan, hit: Hit, new: str, *, verbs: bool) -> list[tuple[int, int, str]]:
    """Verbs after a pronoun that becomes plural, and the article before a word whose first sound changes."""
    index = scan.at(hit.start)
    changes = agreement.plural_verbs(scan, index, hit.end) if verbs else []
    if hit.start == scan.starts[index]:
        onset = new or scan.text[hit.end :].lstrip()
        article = agreement.article_change(scan, index, scan.text[hit.start : hit.end], onset)
        if article:
            changes.append(article)
    return changes


def _deletion_end(text: str, end: int) -> int:
    return end + 1 if text[end : end + 1] in (" ", "-") else end


def _apply(text: str, changes: Iterable[tuple[int, int, str, str]]) -> tuple[str, list[Edit]]:
    pieces: list[str] = []
    edits: list[Edit] = []
    done = 0
    for start, end, new, direction in sorted(changes):
        if start < done or text[start:end] == new:
            continue
        if not new and not text[:start].strip():  # a deleted first word hands on its capital
            follower = text[end : end + 1]
            if follower.islower() and text[start : start + 1].isupper():
                new, end = follower.upper(), end + 1
        pieces += [text[done:start], new]
        edits.append(Edit(start, end, text[start:end], new, direction))
        done = end
    return "".join([*pieces, text[done:]]), edits


def _collapse(
    text: str, hits: list[Hit], changes: list[tuple[int, int, str, str]], target: Mapping[str, str]
) -> list[tuple[int, int, str, str]]:
    """Join *he or she* -> *they*, *men and women* -> *people* where both sides come out the same."""
    written = {change[0]: change for change in changes}
    for first, second in itertools.pairwise(hits):
        between = text[first.end : second.start]
        if not _LINK.fullmatch(between) or first.candidate.group == second.candidate.group:
            continue
        left = written.get(first.start, (first.start, first.end, text[first.start : first.end], ""))
        right = written.get(second.start, (second.start, second.end, text[second.start : second.end], ""))
        if left[2].lower() != right[2].lower() or not (left[3] or right[3]):
            continue
        new, cell = left[2], first.candidate.cell
        if "and" in between and cell == "singular":
            group = target.get(first.candidate.group, first.candidate.group)
            form = first.candidate.concept.forms[group][1]
            if text[: first.start].lower().endswith((" a ", " an ", " one ", " each ", " every ")) or not form:
                continue
            new = match_case(text[first.start : first.end], first.candidate.form, form)
        elif "and" in between and cell == "any" and new:
            continue
        for start in (first.start, second.start):
            written.pop(start, None)
        end = max(right[1], second.end)
        merged = (first.start, end, new, left[3] or right[3])
        changes = [c for c in changes if not (first.start <= c[0] < end and c is not merged)]
        changes.append(merged)
        written[first.start] = merged
    return changes
