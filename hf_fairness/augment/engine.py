"""Find the terms of an attribute in a text and write the text with other ones.

The words of a text are looked up among the terms, with a regular expression for what words alone do not settle
(:class:`.lexicon.TermFinder`); what a term means is decided by its candidates (:class:`.lexicon.Candidate`) and the
contexts around it. Nothing here knows which attribute it works on.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from unicodedata import normalize

from hf_fairness.attributes import Attribute
from hf_fairness.attributes.terms import pronoun_concepts
from hf_fairness.augment import contexts, pronouns
from hf_fairness.augment.edits import Edit
from hf_fairness.augment.language import DOUBTS, looks_english
from hf_fairness.augment.lexicon import (
    Candidate,
    Combination,
    Hit,
    Reading,
    TermFinder,
    candidates,
    name_concepts,
    new_hit,
)
from hf_fairness.augment.pairs import said_together, together, with_generic
from hf_fairness.augment.rendering import render, write
from hf_fairness.augment.scan import Scan

#: Languages that have a rule engine, with the check that a text is in it.
LANGUAGES: dict[str, Callable[..., bool]] = {"en": looks_english}
#: Words beside which the check must be asked.
_DOUBTS = {"en": DOUBTS}

_CANDIDATE = operator.itemgetter(2)
#: Texts whose letters are made plain in one go: enough for speed, and little beside them in memory.
TOGETHER = 32

#: Gives (start, end, Penn tag) of the words of a text.
Tagger = Callable[[str], Iterable[tuple[int, int, str]]]


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
        self._combined = {
            "".join(parts).lower(): self._combination(parts, words) for parts, words in attribute.combined
        }
        self._n_groups = len(attribute.groups)
        self._together = together(attribute.together, self._candidates)
        self._with_companions = frozenset(self._together)
        surfaces = [*self._candidates, *self._protected, *self._combined]
        surfaces += [apart for surface in surfaces if (apart := normalize("NFD", surface)) != surface]
        with_capitals = [phrase for phrase in self._protected if phrase.lower() not in self._protected]
        self._terms = TermFinder(
            surfaces, contexts.FUNCTION_WORDS, _DOUBTS[attribute.language], self._read, with_capitals
        )

    def _combination(self, parts: Sequence[str], words: Sequence[str]) -> Combination:
        found = [self._candidates[word.lower()][-1] for word in words]
        found[0] = dataclasses.replace(found[0], tail="/")
        return Combination(tuple(zip(map(len, parts), found, strict=True)))

    def _read(self, source: str) -> Candidate | Reading | Combination | None:
        """What a spelling may mean; None for a protected phrase, or a word that needs a capital and has none."""
        surface = normalize("NFC", source).replace("’", "'")
        if surface in self._protected or surface.lower() in self._protected:
            return None
        if surface.lower() in self._combined:
            return self._combined[surface.lower()]
        options = self._candidates.get(surface) or self._candidates.get(surface.lower(), ())
        conditions = {name for option in options for name in (*option.concept.when, *option.concept.keep)}
        conditions = {name for name in conditions if surface.lower() in contexts.ONLY.get(name, (surface.lower(),))}
        if not source[0].isupper():  # neither name nor title
            conditions -= contexts.CAPITAL
            options = tuple(o for o in options if not o.concept.when or not conditions.isdisjoint(o.concept.when))
        if not options:
            return None
        cases: dict[str, Candidate] = {}
        if len(options) > 1 and all(option.concept.category == "pronoun" for option in options):
            cases = {option.cell: option for option in options}
        if not conditions and not cases and not options[0].concept.generic:
            return options[0]
        return Reading(options, cases, frozenset(cases))

    def find(self, text: str, tagger: Tagger | None = None, plain: str | None = None) -> tuple[list[Hit], Scan | None]:
        """Terms of a text, in order, without those that are protected or part of a name.

        Args:
            text: one text.
            tagger: gives (start, end, Penn tag) of the words of a text; where it has an opinion about an ambiguous
                pronoun, it is followed. None means the words around decide.
            plain: what :meth:`.lexicon.TermFinder.plain` gave for the text, where that is known.

        Returns:
            The hits, and the tokens of the text if they were needed to find them.
        """
        hits, is_open, words, doubtful = self._terms.find(text, plain)
        if not hits or (doubtful and not self._in_language(text, words)):
            return [], None
        hits, scan = _decide(text, hits, tagger) if is_open else (hits, None)
        if len(hits) > 1 and not self._with_companions.isdisjoint(map(_CANDIDATE, hits)):
            hits = said_together(hits, self._together, self._n_groups)
        return hits, scan

    def kept(self, text: str, hits: Sequence[Hit] | None = None) -> list[str]:
        """What a text has of terms that are left alone, because they are idioms, things or parts of names.

        Args:
            text: one text.
            hits: its terms, where they are known already.

        Returns:
            The phrases and words in lower case, in order.

        Example:
            >>> from hf_fairness.attributes import load_attribute
            >>> engine_for(load_attribute("gender")).kept("Her mother tongue is Welsh.")
            ['mother tongue']
        """
        if not self._in_language(text):
            return []
        found: list[str] = []
        for source in self._terms.kept(text, self.find(text)[0] if hits is None else hits):
            phrase = source.lower().replace("’", "'")
            if phrase not in self._candidates or self._read(source) is not None:
                found.append(phrase)
        return found

    def render(
        self,
        text: str,
        found: tuple[Sequence[Hit], Scan | None],
        target: Mapping[str, str],
        pronouns_as: Mapping[str, str] | None = None,
        plural: bool = True,
    ) -> tuple[str, list[Edit]]:
        """Write a text with the terms of other groups; :func:`.rendering.render` explains the arguments."""
        return render(text, *found, target, pronouns_as, plural)

    def swap(self, text: str, target: Mapping[str, str], tagger: Tagger | None = None) -> tuple[str, list[Edit]]:
        """Find and render in one go."""
        hits, scan = self.find(text, tagger)
        return render(text, hits, scan, target) if hits else (text, [])

    def swap_all(
        self, texts: Sequence[str], target: Mapping[str, str], tagger: Tagger | None = None
    ) -> tuple[list[str], list[str]]:
        """The same for many texts, with the values of an ``edits`` column."""
        rewritten: list[str] = []
        records: list[str] = []
        for start in range(0, len(texts), TOGETHER):
            some = texts[start : start + TOGETHER]
            for text, plain in zip(some, self._terms.plain(some), strict=True):
                hits, scan = self.find(text, tagger, plain)
                new, record = write(text, hits, scan, target) if hits else (text, "[]")
                rewritten.append(new)
                records.append(record)
        return rewritten, records


def _decide(text: str, found: list[Hit], tagger: Tagger | None) -> tuple[list[Hit], Scan | None]:
    """Let the context settle the open terms; gives the hits, and the tokens of the text if they were needed."""
    scan: Scan | None = None
    tags: dict[tuple[int, int], str] | None = None
    hits: list[Hit] = []
    generic = False
    for hit in found:
        start, end, reading, _ = hit
        if type(reading) is Candidate:
            hits.append(hit)
            continue
        if type(reading) is Combination:
            hits += reading.hits(start)
            continue
        if reading.cases:
            case, certainty = "", pronouns.TAGGED
            if tagger:
                tags = {(a, b): tag for a, b, tag in tagger(text)} if tags is None else tags
                case = pronouns.tagged(tags.get((start, end), ""), reading.cells)
            if not case:
                case, certainty = pronouns.resolve(text, start, end, reading.cells)
            hits.append(new_hit((start, end, reading.cases[case], certainty)))
            continue
        scan = scan or Scan(text)
        candidate = _read_in_context(reading, scan, start, end)
        if candidate is not None:
            hits.append(Hit(start, end, candidate))
            generic = generic or bool(candidate.concept.generic)
    return with_generic(text, hits) if generic else hits, scan


def _read_in_context(reading: Reading, scan: Scan, start: int, end: int) -> Candidate | None:
    """The candidate that the context chooses, None where it leaves the word alone."""
    for option in reading.options:
        concept = option.concept
        if concept.when and not any(contexts.WHEN[name](scan, start, end) for name in concept.when):
            continue
        kept = any(contexts.CHECKS[name](scan, start, end) for name in concept.keep)
        return None if kept else option
    return None


@functools.lru_cache(maxsize=32)
def engine_for(attribute: Attribute, names: bool = False) -> Engine:
    """The engine of an attribute, built once per process."""
    return Engine(attribute, names=names)
