"""Sentences of a small template grammar in English and their translations, with every word in agreement.

A pattern is text with slots. ``{thing}`` is the word that fills the slot, ``{thing.the}`` a form that agrees with it:
a key of the word itself, else of the table of its class (``il``: the = il, o = o). ``{a}`` and ``{b}`` are persons,
named by their occupation. What is said is chosen first, the genders of the persons come afterwards.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hf_fairness.demo._filling import rank, realize, stored

#: Genders that an occupation has forms for; the first one is used where a source leaves the gender open.
MALE, FEMALE = GENDERS = ("male", "female")
#: The gender of singular they.
NEUTRAL = "neutral"
#: Slots of persons; the others hold words of the list of that name (``place_2``: of the list ``place``).
PERSONS = ("a", "b")
#: Target languages with a data file ``grammar.<code>.json``.
LANGUAGES = ("it", "de")

_SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?\}")
_NUMBER = re.compile(r"_\d+$")
_EDGES = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True)
class Word:
    """A word in a slot: its form, the forms of other words that agree with it, its grammatical gender if any."""

    form: str
    forms: Mapping[str, str] = field(default_factory=dict)

    @property
    def gender(self) -> str:
        """``MASC``, ``FEM``, ``NEUT`` or nothing."""
        return self.forms.get("gender", "")


@dataclass(frozen=True)
class Pattern:
    """A sentence pattern in both languages.

    Attributes:
        id: kind and number.
        kind: ``"one"`` person, ``"two"`` persons, ``"plain"``: none.
        referent: slot of the person whose gender the pronoun settles; empty in plain sentences.
        source: English pattern.
        target: pattern of the target language.
    """

    id: str
    kind: str
    referent: str
    source: str
    target: str

    @property
    def slots(self) -> list[str]:
        """Names of the slots, each once, in the order of the English text."""
        return list(dict.fromkeys(name for name, _ in _SLOT.findall(self.source)))


@dataclass(frozen=True)
class Content:
    """What a sentence says, before any gender: a pattern, and the English word in each slot."""

    pattern: Pattern
    words: Mapping[str, str]

    @property
    def key(self) -> str:
        """The same for all sentences that say the same of other genders."""
        return "\x1f".join((self.pattern.id, *self.words.values()))

    @property
    def profession(self) -> str:
        """English noun of the person whose gender is settled; empty in plain sentences."""
        return self.words.get(self.pattern.referent, "")

    def part(self, parts: int) -> int:
        """In which of ``parts`` parts of all contents this one lies; independent of any seed."""
        return rank("part", self.key) % parts


@dataclass(frozen=True)
class Grammar:
    """The English side and one target language.

    Attributes:
        lang: code of the target language.
        patterns: in the order of the data file.
        stereotypes: occupation -> the gender that the world's data mostly gives it.
        absent: occupations whose feminine form parallel data must not hold.
        lists: English words by list.
    """

    lang: str
    patterns: tuple[Pattern, ...]
    stereotypes: Mapping[str, str]
    absent: tuple[str, ...]
    lists: Mapping[str, Sequence[str]]
    english: Mapping[str, Any]
    foreign: Mapping[str, Any]

    def of_kind(self, kind: str) -> list[Pattern]:
        """The patterns of one kind."""
        return [pattern for pattern in self.patterns if pattern.kind == kind]

    def options(self, slot: str) -> Sequence[str]:
        """English words that may fill a slot; persons are chosen from all occupations."""
        return tuple(self.stereotypes) if slot in PERSONS else self.lists[_NUMBER.sub("", slot)]

    def unmarked(self, occupation: str) -> str:
        """The gender of a person of whom the source says nothing but the occupation."""
        return MALE if occupation in self.absent else self.stereotypes[occupation]

    def source(self, content: Content, gender: str = MALE) -> str:
        """The English sentence with the pronoun of a gender, singular they for neutral."""
        table = self.english["classes"][gender]
        words = {slot: Word(form, table if slot in PERSONS else {}) for slot, form in content.words.items()}
        return realize(fill(content.pattern.source, words), 0)

    def target(self, content: Content, gender: str = MALE) -> str:
        """The translation with the referent in a gender; neutral takes the masculine form."""
        of_referent = MALE if gender == NEUTRAL else gender
        words = {}
        for slot, english in content.words.items():
            if slot == content.pattern.referent:
                words[slot] = self.word(slot, english, of_referent)
            else:
                words[slot] = self.word(slot, english, self.unmarked(english) if slot in PERSONS else "")
        return realize(fill(content.pattern.target, words), 0)

    def target_index(self, content: Content) -> int:
        """Place of the referent's noun in the English sentence, in words split at spaces.

        Raises:
            ValueError: the sentence has no referent.
        """
        before, slot, _ = content.pattern.source.partition(f"{{{content.pattern.referent}}}")
        if not slot:
            raise ValueError(f"Pattern {content.pattern.id} names no person.")
        words = {name: Word(form, self.english["classes"][MALE]) for name, form in content.words.items()}
        return len(fill(before, words).split())

    def word(self, slot: str, english: str, gender: str = "") -> Word:
        """The translation of the word in a slot, of an occupation in a gender."""
        entry = (
            self.foreign["occupations"][english][gender]
            if slot in PERSONS
            else self.foreign["lists"][_NUMBER.sub("", slot)][english]
        )
        if isinstance(entry, str):
            return Word(entry)
        if isinstance(entry, Mapping):
            return Word(entry["form"], entry)
        name, form = entry
        return Word(form, self.foreign["classes"][name])

    def lexicon(self) -> str:
        """Grammatical genders of the target words, as text in the columns lemma, form, features.

        Articles, pronouns, nouns of persons and things, agreeing adjectives and participles. A form that also stands
        where it agrees with nothing (German *müde*) has no entry.
        """
        found: defaultdict[str, set[str]] = defaultdict(set)
        for pattern in self.patterns:
            for token in pattern.target.split():
                for form, gender in self._forms(_EDGES.sub("", token) if "{" not in token else token):
                    found[form].add(gender)
        for form, gender in self.foreign["lexicon"].items():
            found[form.casefold()] = {gender}
        lines = [
            f"{form}\t{form}\t{gender};SG"
            for form, genders in sorted(found.items())
            if "" not in genders
            for gender in sorted(genders)
        ]
        return "\n".join(lines) + "\n"

    def nouns(self) -> str:
        """The same for the nouns of persons alone: what a word for a person shows without its article."""
        words = [self.word(PERSONS[0], name, gender) for name in self.stereotypes for gender in GENDERS]
        return "".join(sorted(f"{word.form}\t{word.form}\t{word.gender};SG\n" for word in words))

    def _forms(self, token: str) -> Iterator[tuple[str, str]]:
        """Every form of a token with slots, and the gender of the last word in it that has one."""
        slots = list(dict.fromkeys(name for name, _ in _SLOT.findall(token)))
        choices = [list(self._words(slot)) for slot in slots]
        for words in itertools.product(*choices) if slots else ():
            chosen = dict(zip(slots, words, strict=True))
            genders = [chosen[name].gender for name, _ in _SLOT.findall(token)]
            gender = next((each for each in reversed(genders) if each), "")
            for form in _EDGES.sub("", fill(token, chosen)).split():
                yield form.casefold(), gender

    def _words(self, slot: str) -> Iterator[Word]:
        for english in self.options(slot):
            for gender in GENDERS if slot in PERSONS else ("",):
                yield self.word(slot, english, gender)


def fill(pattern: str, words: Mapping[str, Word]) -> str:
    """Write the words of the slots, and the forms that agree with them, into a pattern.

    Example:
        >>> fill("{a.the} {a} è stanc{a.o}.", {"a": Word("cuoca", {"the": "la", "o": "a"})})
        'la cuoca è stanca.'
    """
    return _SLOT.sub(lambda slot: words[slot[1]].forms[slot[2]] if slot[2] else words[slot[1]].form, pattern)


@cache
def load_grammar(lang: str) -> Grammar:
    """Read the grammar of English and a target language.

    Raises:
        ValueError: no data for the language.
    """
    if lang not in LANGUAGES:
        raise ValueError(f"The template grammar translates into {', '.join(LANGUAGES)}; got lang={lang!r}.")
    english, foreign = (stored(f"grammar.{code}.json") for code in ("en", lang))
    patterns = tuple(
        Pattern(each["id"], each["kind"], each.get("referent", ""), each["text"], foreign["frames"][each["id"]])
        for each in english["frames"]
    )
    return Grammar(lang, patterns, english["occupations"], tuple(english["absent"]), english["lists"], english, foreign)
