"""The terms of an attribute as a table of surface forms, and a finder that looks the words of a text up in it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

from hf_fairness.attributes import Attribute, Concept
from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.augment.english import NAME_WORDS
from hf_fairness.augment.language import ELISION
from hf_fairness.augment.prose import NO_PROSE_SIGNS, has_entities_only, is_dotted, no_prose, touches, unescaped
from hf_fairness.augment.scan import lower_case

#: What stands for a given name in a neutral text.
NEUTRAL_NAME = "Alex"

_WORD = re.compile(r"\w+")
#: Between texts that are read together; what makes a text need a closer look; a sign that may mean it is no prose.
#: The last two part words as a blank does.
_BORDER, _ODD, _SIGN = "\0", "\x1d", "\x1f"


def _plain_letter(letter: str) -> str:
    if letter.isalnum():
        return letter.lower()
    odd = letter in "_\\"
    return letter if letter == _BORDER else _ODD if odd else _SIGN if letter in NO_PROSE_SIGNS else " "


#: ASCII letters and digits in lower case, the three above, blanks for all else.
_PLAIN = "".join(map(_plain_letter, map(chr, range(128)))).encode() + _ODD.encode() * 128
#: Marks that make one letter of themselves and the one before, where a text is decomposed (NFD).
_ACCENTS = "\u0300-\u036f"
#: An apostrophe after which a name goes on (*Ma'daan*), and no ending of a term.
_GOES_ON = r"['’](?!(?:s|d|ll|re|ve|m|em|n)\b)\w"
_NAME_GOES_ON = re.compile(_GOES_ON, re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One reading of a surface form.

    Attributes:
        group: group of the term.
        concept: what it means.
        slot: position of the form in the concept's forms.
        form: the form as the file spells it.
        rare: whether it is only recognised, never produced.
        cell: name of the slot: singular, plural, or a case.
        tail: what stands between the words when *s/he* is written out; ``""`` for all but a first part.
    """

    group: str
    concept: Concept
    slot: int
    form: str
    rare: bool
    cell: str
    tail: str = ""


def candidates(concepts: Iterable[Concept], groups: tuple[str, ...]) -> dict[str, tuple[Candidate, ...]]:
    """Readings of every surface form.

    Args:
        concepts: what the forms mean.
        groups: names of the groups.

    Returns:
        Surface in lower case (a name: as written) -> readings, those with a condition first.
    """
    found: dict[str, list[Candidate]] = {}
    for concept in concepts:
        for group in groups:
            rows = [] if group in concept.generic else [(concept.forms[group], False)]
            rows += [(row, True) for row in concept.variants.get(group, ())]
            for row, rare in rows:
                for slot, form in enumerate(row):
                    key = form if concept.category == "name" else form.lower()
                    options = found.setdefault(key, [])
                    if all(option.concept.id != concept.id for option in options):
                        options.append(Candidate(group, concept, slot, form, rare, concept.slots[slot]))
    return {
        surface: tuple(sorted(options, key=lambda option: not option.concept.when))
        for surface, options in found.items()
    }


def name_concepts(attribute: Attribute) -> tuple[Concept, ...]:
    """The given names of an attribute as concepts; their neutral form is a name of no group."""
    return tuple(
        Concept(
            id=f"name.{pair.rank}",
            category="name",
            forms={**{group: (name,) for group, name in pair.names.items()}, NEUTRAL: (NEUTRAL_NAME,)},
            slots=("name",),
            variants={},
            keep=() if NAME_WORDS.isdisjoint(name.lower() for name in pair.names.values()) else ("common_word",),
        )
        for pair in attribute.names
    )


@dataclass(frozen=True, eq=False)
class Reading:
    """What a term may mean where the context must choose.

    Attributes:
        options: the candidates, those with a condition first.
        cases: case -> candidate, for a pronoun of several cases; empty for other terms.
        cells: those cases.
    """

    options: tuple[Candidate, ...]
    cases: Mapping[str, Candidate]
    cells: frozenset[str]


@dataclass(frozen=True, eq=False)
class Combination:
    """What a spelling means that says two groups at once (*s/he*).

    Attributes:
        parts: number of letters and candidate of each part, in order.
    """

    parts: tuple[tuple[int, Candidate], ...]

    def hits(self, start: int) -> Iterator[Hit]:
        """The parts at a place of a text."""
        for length, candidate in self.parts:
            yield Hit(start, start + length, candidate)
            start += length


class Hit(NamedTuple):
    """A term at a place of a text, with the candidate that its spelling or the context chose.

    Attributes:
        start: offset of the term.
        end: offset after it.
        candidate: what it means.
        certainty: chance, in [0, 1], that a pronoun of several cases has the case of the candidate; 1 for all else.
    """

    start: int
    end: int
    candidate: Any
    certainty: float = 1.0


#: A hit of its four parts, in half the time of `Hit`.
new_hit: Callable[[tuple[int, int, Any, float]], Hit] = functools.partial(tuple.__new__, Hit)

#: What a spelling means: settled, to be settled by the context, or no term.
Read = Callable[[str], "Candidate | Reading | Combination | None"]


class TermFinder:
    """Finds the longest surface at every word of a text, with its candidate or its reading.

    A regular expression knows every surface. Most texts do without it: their plain words are looked up in a set, and
    only those with a word of a longer surface (*in-law*, *tongue* of *mother tongue*) take it. What is no prose (an
    address, markup, code) has no terms.

    Args:
        surfaces: the terms and phrases, without regard to capitals.
        common: words that say nothing about whether a phrase is there.
        doubts: words beside which a text may be in another language.
        read: spelling of a term -> its candidate, its reading where one spelling has several, None to leave it alone.
        names: those of the surfaces that count only with the capitals that they have here (*Our Father*).
    """

    def __init__(
        self, surfaces: Iterable[str], common: Set[str], doubts: Set[str], read: Read, names: Iterable[str] = ()
    ) -> None:
        lowered = {surface.lower() for surface in surfaces}
        self._names = {name.lower(): name for name in names}
        self._pattern = compile_terms(lowered)
        self._without_names = compile_terms(lowered - self._names.keys()) if self._names else self._pattern
        longer: dict[str, list[str]] = {}
        for surface in lowered:
            words = _WORD.findall(surface)
            if words != [surface]:
                longer.setdefault(_rarest(words, common, lowered), []).append(surface)
        lettered = [surface for word in list(longer) if len(word) == 1 for surface in longer.pop(word)]
        self._lettered = re.compile(_branch(_trie(lettered))) if lettered else None  # s/he, which a text's 's is not
        self._longer = {word: re.compile(_branch(_trie(surfaces))) for word, surfaces in longer.items()}
        self._is_head = frozenset(lowered | self._longer.keys() | doubts).__contains__
        self._rare = frozenset(self._longer)
        self._doubts, self._special = doubts, self._rare | doubts
        self._read = functools.lru_cache(maxsize=1 << 14)(read)

    @staticmethod
    def plain(texts: Sequence[str]) -> list[str]:
        """The texts as :meth:`find` looks words up in them: small letters between blanks, in one go for speed."""
        letters = f" {f' {_BORDER} '.join(texts)} ".encode(errors="surrogatepass")
        found = letters.translate(_PLAIN).decode().split(_BORDER)
        if len(found) == len(texts):
            return found
        return [TermFinder.plain([text.replace(_BORDER, " ")])[0] for text in texts]

    def find(self, text: str, plain: str | None = None) -> tuple[list[Hit], bool, list[str], bool]:
        """Find the terms of a text.

        Args:
            text: one text.
            plain: what :meth:`plain` gave for it, where that is known.

        Returns:
            The terms in order, and whether some may be open, which have a :class:`Reading` or a :class:`Combination`
            for a candidate; the words of the text in lower case, if it has terms; and whether it may be in another
            language.
        """
        hits: list[Hit] = []
        plain = self.plain([text])[0] if plain is None else plain
        if _ODD in plain:
            if not text.isascii() or "_" in text or unescaped(text) != text:
                hits = self._search(text)
                return hits, True, _WORD.findall(text.lower()) if hits else [], True
            plain = plain.replace(_ODD, _SIGN)
        words = plain.split()
        found = list(filter(self._is_head, words))
        if not found:
            return [], False, words, False
        apostrophe = "'" in text
        doubtful = apostrophe and ELISION.search(text) is not None
        if not self._special.isdisjoint(found):
            doubtful = doubtful or not self._doubts.isdisjoint(found)
            if not self._rare.isdisjoint(found) and self._may_hold_longer(text, found):
                return self._search(text), True, words, doubtful
        brackets = "(" in text
        if (brackets or "/" in text) and self._lettered and self._lettered.search(text.lower()):
            return self._search(text), True, words, doubtful
        signs = plain.count(_SIGN) if _SIGN in plain else 0
        if signs:
            plain = plain.replace(_SIGN, " ")
        end, read, is_open = 0, self._read, False
        for word in found:
            start = plain.find(f" {word} ", end)
            end = start + len(word)
            reading = read(text[start:end])
            if reading is not None:
                hits.append(new_hit((start, end, reading, 1.0)))
                if type(reading) is not Candidate:
                    is_open = True
        if apostrophe and _NAME_GOES_ON.search(text):
            hits = [hit for hit in hits if not _NAME_GOES_ON.match(text, hit.end)]
        odd = signs and (signs > text.count("&") or _after_ampersand(text, hits))
        if odd or (brackets and "()" in text) or is_dotted(text):
            hits = _in_prose(text, hits)
        return hits, is_open, words, doubtful

    def _may_hold_longer(self, text: str, words: Sequence[str]) -> bool:
        lower = text.lower()
        return any(self._longer[word].search(lower) for word in self._rare.intersection(words))

    def _search(self, text: str) -> list[Hit]:
        hits = [Hit(start, end, self._read(text[start:end])) for start, end in self.spans(text)]
        return _in_prose(text, [hit for hit in hits if hit.candidate is not None])

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of every surface of a text, whether it is read or left alone."""
        lower, place = lower_case(unescaped(text)), 0
        while match := self._pattern.search(lower, place):
            name = self._names.get(match.group().replace("’", "'"))
            if name and not _has_capitals_of(text[match.start() : match.end()], name):
                match = self._without_names.search(lower, match.start())
                if not match:
                    return
            yield match.span()
            place = match.end()

    def kept(self, text: str, hits: Iterable[Hit]) -> list[str]:
        """The surfaces of a text, as written, that are not among its hits."""
        taken = {hit.start for hit in hits}
        left = [Hit(start, end, None) for start, end in self.spans(text) if start not in taken]
        return [text[hit.start : hit.end] for hit in _in_prose(text, left)]


def _in_prose(text: str, hits: list[Hit]) -> list[Hit]:
    """The hits without those in what is no prose."""
    if has_entities_only(text) and not _after_ampersand(text, hits):
        return hits
    spans = no_prose(text)
    return [hit for hit in hits if not touches(spans, hit.start, hit.end)] if spans else hits


def _after_ampersand(text: str, hits: Iterable[Hit]) -> bool:
    """Whether a hit may be part of an entity."""
    return any(text[max(0, hit.start - 1)] == "&" for hit in hits)


def _has_capitals_of(source: str, name: str) -> bool:
    return all(letter.isupper() or not wanted.isupper() for letter, wanted in zip(source, name, strict=True))


def _rarest(words: Sequence[str], common: Set[str], terms: Set[str]) -> str:
    """The word by which a phrase is found: the longest that is not common, a term if there is one."""
    return max([word for word in words if word not in common] or words, key=lambda word: (word in terms, len(word)))


def compile_terms(surfaces: Iterable[str]) -> re.Pattern[str]:
    """A regular expression that finds the longest surface at every word, in a text in lower case."""
    trie = _trie(surfaces)
    before = rf"(?<![^\W_])(?<![^\W_]_)(?<![^\W_]__)(?<![{_ACCENTS}])"
    return re.compile(rf"{before}{_branch(trie)}(?![^\W_]|[{_ACCENTS}]|{_GOES_ON})(?!_{{1,2}}[^\W_])")


def _trie(surfaces: Iterable[str]) -> dict[str, dict]:  # type: ignore[type-arg]
    trie: dict[str, dict] = {}  # type: ignore[type-arg]
    for surface in surfaces:
        node = trie
        for letter in surface.lower():
            node = node.setdefault(letter, {})
        node[""] = {}
    return trie


def _branch(node: dict[str, dict]) -> str:  # type: ignore[type-arg]
    """The trie as an expression; longer alternatives come first."""
    optional = "" in node
    parts = []
    for letter, rest in sorted(node.items()):
        if letter:
            shown = "['’]" if letter == "'" else re.escape(letter)
            parts.append(shown + _branch(rest))
    if not parts:
        return ""
    body = parts[0] if len(parts) == 1 and not optional else f"(?:{'|'.join(parts)})"
    return body + ("?" if optional else "")
