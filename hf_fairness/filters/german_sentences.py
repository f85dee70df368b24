"""German for the target filter: which words of a whole sentence show a gender, and which leave it open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hf_fairness.filters.german import ARTICLES, PRONOUNS, GermanTagger, by_ending, dictionary
from hf_fairness.filters.protocol import FEMALE, MALE, NONE, Genders, bare, word_set
from hf_fairness.utils import package_versions

_M, _F = frozenset({MALE}), frozenset({FEMALE})
_BOTH = _M | _F
#: With "her" and "your", which are no articles in WinoMT's phrases: they go by their owner too.
_ENDINGS = ("", "e", "en", "em", "er", "es")
_ARTICLES = {
    **ARTICLES,
    **{f"ihr{ending}": ARTICLES[f"ein{ending}"] for ending in _ENDINGS},
    **{f"eur{ending}" if ending else "euer": ARTICLES[f"ein{ending}"] for ending in _ENDINGS},
}
#: Words before a name; "Frau" and "Herr" themselves show the person's gender.
_CALLED = word_set("frau herr herrn familie ehepaar fräulein dr prof professor")
#: Abbreviations that the dictionary takes for nouns.
_TITLES = word_set("dr prof mag ing dipl phil med jur")
#: Articles that are of the singular alone; the others are of the plural too, where German has no gender.
_SINGULAR = word_set("dem des das zum beim vom im am zur ein eine einen einem einer eines")
#: Ends of the plurals of nouns for persons that differ from the singular.
_PLURALS = {
    FEMALE: tuple(word_set("innen frauen schwestern töchter mütter damen tanten omas hebammen")),
    MALE: tuple(
        word_set("männer söhne väter brüder ärzte herren onkel opas köche könige prinzen burschen kerle wirte")
    ),
}
#: Ends of nouns for women, and for men, that no name is likely to have.
_SURE = {
    FEMALE: tuple(word_set("erin istin orin entin antin ärztin anwältin innen frau schwester mutter tochter")),
    MALE: tuple(word_set("mann bruder vater sohn arzt anwalt")),
}
_ADJECTIVE = ("e", "en", "er", "em", "es")
#: Verbs beside "sie": she, or they.
_ONE = word_set(
    "ist war hat wird kann will soll muss mag darf weiß sei habe könne wolle solle müsse dürfe werde möge ging kam sah "
    "gab nahm fand ließ lag stand rief hielt blieb schrieb trug gewann verlor begann sprach starb wuchs zog"
)
_MANY = word_set("sind tun seien")
_SUBJECTS = word_set("ich du er es wir ihr man wer")
#: Words that send the verb to the end of the clause.
_CLAUSES = word_set(
    "dass daß weil ob wenn als da obwohl damit bevor nachdem während bis wie wo warum sodass indem sobald solange falls"
)
_ENDS = re.compile(r"[.!?…:;]+[\"»«“”'’)]*$")
_PAUSES = re.compile(r"[,.!?…:;–—)]+[\"»«“”'’)]*$")
_QUOTES = "\"„“»«‚‘'("


@dataclass(frozen=True)
class GermanSentenceTagger:
    """Genders that the words of German sentences show, with the dictionary of german-nouns.

    What leaves the gender open shows none: names of persons and places that are spelled like a noun (Müller, Weber;
    with an article they are the noun), nouns in the plural but those for persons (die Minuten; die Frauen), articles
    that can be of the plural, unless their noun is a singular (seine Hände), and *sie* for several people or for the
    person addressed. *Sie* inside a sentence is polite; elsewhere the verb beside it tells (sie sagt, sagte sie; sie
    sagen), in clauses like "dass sie ..." the one at the end; without such a verb it is open.

    Other words are read as by ``GermanTagger("german-nouns")``; a noun that the dictionary lacks has the gender of its
    last part, but not at the beginning of a sentence, where anything has a capital letter.

    Raises:
        ImportError: german-nouns is not installed (at the first call).

    Source:
        As :class:`hf_fairness.filters.GermanTagger`. The tables are ours.

    Example:
        >>> from hf_fairness.filters.german_sentences import GermanSentenceTagger
        >>> words = "Frau Müller fragt: Kommen Sie mit den Kindern?".split()
        >>> [sorted(genders) for genders in GermanSentenceTagger().genders([words])[0]]
        [['female'], [], [], [], [], [], [], []]
    """

    @property
    def name(self) -> str:
        """What results state."""
        return " ".join(["sentences by german-nouns", *package_versions(["german-nouns"]).values(), "(de)"])

    def genders(self, sentences: Sequence[Sequence[str]]) -> list[list[Genders]]:
        """Genders of every token: see :class:`hf_fairness.filters.GenderTagger`."""
        return [_Sentence(tokens).genders() for tokens in sentences]


class _Sentence:
    """The tokens of one sentence, with what stands around each."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tokens
        self.words = [bare(token) for token in tokens]
        self.lower = [word.lower() for word in self.words]

    def genders(self) -> list[Genders]:
        """Of every token."""
        return [self._word(place) for place in range(len(self.tokens))]

    def _word(self, place: int) -> Genders:
        word, lower = self.words[place], self.lower[place]
        if not word:
            return NONE
        if lower == "sie":
            return self._sie(place)
        if lower in PRONOUNS:
            return PRONOUNS[lower]
        if lower in _ARTICLES:
            return self._article(place)
        return self._noun(place)[0] if word[0].isupper() else NONE

    def _begins(self, place: int) -> bool:
        """Whether a sentence or a quotation begins here."""
        return place == 0 or self.tokens[place][0] in _QUOTES or bool(_ENDS.search(self.tokens[place - 1]))

    def _pauses(self, place: int) -> bool:
        """Whether a clause ends with this token."""
        return bool(_PAUSES.search(self.tokens[place]))

    def _determined(self, place: int) -> bool:
        """Whether an article stands before a noun, with adjectives between them or none."""
        for before in range(place - 1, max(place - 5, -1), -1):
            if self._pauses(before):
                return False
            if self.lower[before] in _ARTICLES:
                return True
            if not (self.words[before][:1].islower() and self.words[before].endswith(_ADJECTIVE)):
                return False
        return False

    def _noun(self, place: int) -> tuple[Genders, bool]:
        """Genders of a word with a capital letter, and whether it is known in the plural only."""
        word, lower, nouns = self.words[place], self.lower[place], dictionary()
        if (word.isupper() and len(word) > 1) or lower in _TITLES:
            return NONE, False
        determined = self._determined(place)
        if not determined and (lower in nouns.names or self._follows_a_name(place)):
            return NONE, False
        ends = [lower]
        if determined or not self._begins(place):
            ends += [lower[start:] for start in range(3, len(lower) - 4)]
        for end in ends:
            if end in nouns.singular:
                return nouns.singular[end], False
            if end in nouns.plural:
                return _of_plural(lower) & nouns.plural[end], True
        if determined:
            return by_ending(lower), False
        return next((frozenset({gender}) for gender, sure in _SURE.items() if lower.endswith(sure)), NONE), False

    def _follows_a_name(self, place: int) -> bool:
        """Whether it is the second part of a name: after "Frau", or after a first name."""
        if place == 0 or (self._pauses(place - 1) and self.lower[place - 1] not in _TITLES):
            return False
        before = self.lower[place - 1]
        return before in _CALLED or (self.words[place - 1][:1].isupper() and before in dictionary().first_names)

    def _article(self, place: int) -> Genders:
        article = self.lower[place]
        head = self._head(place)
        if head is None:
            return NONE
        genders, plural = self._noun(head)
        if plural:
            return NONE
        if genders == _BOTH:  # declined like an adjective: die Angestellte, der Angestellten
            return GermanTagger("german-nouns").genders([self.words[place : head + 1]])[0][0]
        if genders:
            return _ARTICLES[article] & genders
        return _ARTICLES[article] if article in _SINGULAR else NONE

    def _head(self, place: int) -> int | None:
        """The noun of an article: adjectives may stand between them."""
        for at in range(place + 1, min(place + 5, len(self.words))):
            if self._pauses(at - 1) or not self.words[at]:
                return None
            if self.words[at].lstrip("0123456789-–.,")[:1].isupper():  # die 27-Jährige
                return at
            if self.lower[at] in _ARTICLES or not self.words[at].endswith(_ADJECTIVE):
                return None
        return None

    def _sie(self, place: int) -> Genders:
        """She, or they, or you: by the verbs beside it."""
        if self.words[place][0].isupper() and not self._begins(place):
            return NONE
        after = self._verb(place + 1) if not self._pauses(place) else None
        before = None
        if place and not self._pauses(place - 1) and self._subject(place - 2) is None:
            before = self._verb(place - 1)
        clause = self._clause_end(place) if place and self.lower[place - 1] in _CLAUSES else None
        found = clause if clause is not None else before if before is not None else after
        return _F if found else NONE

    def _subject(self, place: int) -> str | None:
        """A pronoun that is a subject already: in "er liebt sie" it may be her or them."""
        return self.lower[place] if place >= 0 and self.lower[place] in _SUBJECTS else None

    def _clause_end(self, place: int) -> bool | None:
        """The number of the verb before the next pause."""
        ends = (at for at in range(place + 1, len(self.tokens)) if self._pauses(at))
        return self._verb(next(ends, len(self.tokens) - 1))

    def _verb(self, place: int) -> bool | None:
        """Whether a word is a verb of the singular; None where it does not tell."""
        word = self.words[place] if 0 <= place < len(self.words) else ""
        if not word[:1].islower() and not (word and self._begins(place)):
            return None
        lower = word.lower()
        if lower in _ONE or (lower.endswith(("t", "te")) and len(lower) > 2 and lower not in _NO_VERBS):
            return True
        return False if lower in _MANY or lower.endswith(("en", "ern", "eln")) else None


#: Words that end like a verb of the singular.
_NO_VERBS = word_set(
    "nicht mit seit jetzt erst fast sonst oft selbst dort heute gestern bereits weit statt laut heut zuerst"
)


def _of_plural(lower: str) -> Genders:
    """What the plural of a noun shows: the gender of persons."""
    named = next((frozenset({gender}) for gender, ends in _PLURALS.items() if lower.endswith(ends)), NONE)
    return named or (by_ending(lower) if len(by_ending(lower)) == 1 else NONE)
