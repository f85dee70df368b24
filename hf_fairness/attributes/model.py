"""What code sees of an attribute: frozen values, no behaviour beyond look-ups."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from unicodedata import normalize

#: Name of the variant that carries no group.
NEUTRAL = "neutral"
#: Column in which maps that make variants record, as a JSON list in every row, which columns are the groups.
GROUPS_COLUMN = "variant_groups"

#: Cells of a pronoun paradigm, in the order in which files and tests list them.
CASES = ("subject", "object", "possessive_determiner", "possessive_pronoun", "reflexive")

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@dataclass(frozen=True)
class Term:
    """One surface form of a group, for example *mothers* of the group *female*.

    Attributes:
        text: the form as the file spells it; lower case unless English writes it with a capital.
        group: name of the group.
        concept: id of the concept; terms of one concept are each other's counterparts.
        slot: ``"singular"``, ``"plural"``, or the case of a pronoun.
        primary: whether swaps produce it; False for a form that is only recognised (*Ms* beside *Mrs*).
        invertible: whether swapping it to any other group and back gives it again, whatever stands
            around it.
    """

    text: str
    group: str
    concept: str
    slot: str
    primary: bool
    invertible: bool


@dataclass(frozen=True)
class Group:
    """One group of an attribute and its terms."""

    name: str
    terms: tuple[Term, ...] = field(repr=False)


@dataclass(frozen=True)
class Concept:
    """What stays the same when the group changes: *parent* of *father* and *mother*.

    Attributes:
        id: unique within the attribute.
        category: kinship, person, profession, title, pronoun ...
        forms: per group (and per ``"neutral"``) the form in every slot; ``""`` is a word that is left out.
        slots: names of the slots, as long as each entry of ``forms``.
        variants: per group further forms that are recognised and never produced.
        generic: groups whose form is also used for everybody (*host* beside *hostess*): it is produced
            and not recognised.
        when: contexts of which one must hold for the concept to be read; empty means always.
        keep: contexts in which the word is left alone, because it is part of a name.
    """

    id: str
    category: str
    forms: Mapping[str, tuple[str, ...]]
    slots: tuple[str, ...]
    variants: Mapping[str, tuple[tuple[str, ...], ...]]
    generic: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paradigm:
    """The forms of one pronoun by case.

    Attributes:
        id: usually the subject form.
        group: the group it belongs to, ``"neutral"``, or ``""`` for pronouns of no group here (neopronouns).
        agreement: ``"singular"`` or ``"plural"``: what its verb looks like.
        forms: case -> form.
    """

    id: str
    group: str
    agreement: str
    forms: Mapping[str, str]


@dataclass(frozen=True)
class InherentTerm:
    """A word that belongs to one group by its meaning and has no counterpart: it is never swapped.

    Attributes:
        text: the word.
        group: the group it speaks of.
        reason: why it has no counterpart.
    """

    text: str
    group: str
    reason: str


@dataclass(frozen=True)
class NamePair:
    """Given names of equal popularity, one per group.

    Attributes:
        rank: position in the source's list, 1 is the most popular.
        names: group -> name.
    """

    rank: int
    names: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Attribute:
    """A protected attribute: its groups, terms, pronouns, and the words that must be left alone.

    Two attributes are equal when the files they come from say the same.

    Attributes:
        name: for example ``"gender"``.
        language: two-letter code.
        groups: the groups, in the order of the file.
        concepts: the nouns, adjectives and titles; pronouns are in ``paradigms``.
        paradigms: the pronouns.
        protected: phrases that are never touched (*mother tongue*), those with capitals only where a text has them
            too (*Our Father*).
        combined: spellings that say two groups at once, cut into their parts, with the term of each (*s/he*).
        together: per group forms that are counterparts where a text has all of them (*guys and girls*).
        inherent: words that belong to one group by meaning (*pregnant*).
        names: pairs of given names; used only where ``names=True`` is asked for.
        names_source: where the names come from, with the year, or ``""``.
        sources: where the terms come from, with the licence of each source.
        licence: licence of the file.
        digest: hash of the content; part of every cache key.
    """

    name: str
    language: str
    groups: tuple[Group, ...]
    concepts: tuple[Concept, ...] = field(repr=False)
    paradigms: tuple[Paradigm, ...] = field(repr=False)
    protected: tuple[str, ...] = field(repr=False)
    inherent: tuple[InherentTerm, ...] = field(repr=False)
    names: tuple[NamePair, ...] = field(repr=False)
    names_source: str = field(repr=False)
    sources: tuple[str, ...] = field(repr=False)
    licence: str = field(repr=False)
    digest: str = ""
    combined: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = field(default=(), repr=False)
    together: tuple[Mapping[str, tuple[str, ...]], ...] = field(default=(), repr=False)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attribute) and self.digest == other.digest

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups, in the order of the file."""
        return tuple(group.name for group in self.groups)

    def group(self, name: str) -> Group:
        """The group of that name.

        Raises:
            ValueError: there is no such group; the message lists those that exist.
        """
        for group in self.groups:
            if group.name == name:
                return group
        raise ValueError(
            f"Unknown group {name!r} of attribute {self.name!r}. Known groups: {', '.join(self.group_names)}."
        )

    def paradigm(self, name: str) -> Paradigm:
        """The pronoun paradigm of that id.

        Raises:
            ValueError: there is no such paradigm; the message lists those that exist.
        """
        for paradigm in self.paradigms:
            if paradigm.id == name:
                return paradigm
        known = ", ".join(paradigm.id for paradigm in self.paradigms) or "none"
        raise ValueError(f"Unknown pronoun {name!r} of attribute {self.name!r}. Known pronouns: {known}.")

    def group_of(self, word: str) -> str | None:
        """Name of the group that a word belongs to, in any capitalisation; None if it belongs to none.

        Given names and inherently gendered words do not count.

        Example:
            >>> from hf_fairness.attributes import load_attribute
            >>> gender = load_attribute("gender")
            >>> gender.group_of("Mothers"), gender.group_of("he"), gender.group_of("table")
            ('female', 'male', None)
        """
        return _group_lookup(self).get(word.lower().replace("’", "'"))

    def counts(self, text: str) -> dict[str, int]:
        """How many words of each group a text has; the polarity of a text is the group with most.

        Args:
            text: one text.

        Returns:
            group: number of words, for every group.

        Source: Deng et al. 2024, equation 6.

        Example:
            >>> from hf_fairness.attributes import load_attribute
            >>> load_attribute("gender").counts("She met her brother.")
            {'male': 1, 'female': 2}
        """
        lookup = _group_lookup(self)
        found = dict.fromkeys(self.group_names, 0)
        for word in _WORD.findall(normalize("NFC", text).lower().replace("’", "'")):
            group = lookup.get(word) or lookup.get(word.split("'")[0])
            if group is not None:
                found[group] += 1
        return found

    def polarity(self, text: str) -> str:
        """Group with the most words in a text; ``"neutral"`` for none and for a tie.

        Source: Deng et al. 2024, equation 6.
        """
        found = self.counts(text)
        top = max(found.values())
        leaders = [name for name, count in found.items() if count == top]
        return leaders[0] if top and len(leaders) == 1 else NEUTRAL

    def count_many(self, texts: Iterable[str]) -> list[dict[str, int]]:
        """:meth:`counts` of every text, in order."""
        return [self.counts(text) for text in texts]

    def inherent_in(self, text: str) -> list[InherentTerm]:
        """Words and phrases of a text that belong to one group by their meaning and that a swap leaves alone.

        Example:
            >>> from hf_fairness.attributes import load_attribute
            >>> [term.text for term in load_attribute("gender").inherent_in("He asked the pregnant patient.")]
            ['pregnant']
        """
        return [term for _, _, term in self.inherent_spans(text)]

    def inherent_spans(self, text: str) -> list[tuple[int, int, InherentTerm]]:
        """:meth:`inherent_in` with the first offset of each and the offset after its end."""
        pattern, lookup = _inherent_lookup(self)
        if pattern is None:
            return []
        lower = text.lower()
        lower = lower if len(lower) == len(text) else text  # a few letters grow in lower case
        return [(*match.span(), lookup[match[0]]) for match in pattern.finditer(lower)]

    def invertible_terms(self) -> tuple[Term, ...]:
        """Terms for which swapping to another group and back is the identity."""
        return tuple(term for group in self.groups for term in group.terms if term.invertible)


@functools.lru_cache(maxsize=32)
def _group_lookup(attribute: Attribute) -> dict[str, str]:
    """Lower-case word -> group, without the words that two groups share."""
    lookup: dict[str, str] = {}
    shared: set[str] = set()
    for group in attribute.groups:
        for term in group.terms:
            key = term.text.lower()
            if lookup.setdefault(key, group.name) != group.name:
                shared.add(key)
    return {word: name for word, name in lookup.items() if word not in shared}


@functools.lru_cache(maxsize=32)
def _inherent_lookup(attribute: Attribute) -> tuple[re.Pattern[str] | None, dict[str, InherentTerm]]:
    """An expression that finds the inherent terms, longest first, and what it finds in lower case -> the term."""
    lookup = {term.text.lower(): term for term in attribute.inherent}
    words = "|".join(re.escape(word) for word in sorted(lookup, key=len, reverse=True))
    return re.compile(rf"\b(?:{words})\b") if words else None, lookup
