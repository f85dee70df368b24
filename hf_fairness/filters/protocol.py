"""What every tagger of grammatical gender shares: the three genders, the protocol, words without their punctuation."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Protocol, runtime_checkable
from unicodedata import normalize

MALE, FEMALE, NEUTRAL, UNKNOWN = "male", "female", "neutral", "unknown"

#: Genders that a reading of a word can have; grammatical neuter is called neutral, as in WinoMT.
GENDERS: tuple[str, ...] = (MALE, FEMALE, NEUTRAL)

Genders = frozenset[str]
NONE: Genders = frozenset()

#: A word with the hyphens and apostrophes inside it, or one mark of punctuation.
_PIECE = re.compile(r"\w+(?:[-'’\"״׳]\w+)*|[^\w\s]")
_EDGES = re.compile(r"^\W+|\W+$")


@runtime_checkable
class GenderTagger(Protocol):
    """Gives the tokens of sentences their grammatical genders; equal sentences get equal answers, in any batch."""

    @property
    def name(self) -> str:
        """What results state: program or package, version, language."""

    def genders(self, sentences: Sequence[Sequence[str]]) -> list[list[Genders]]:
        """Genders of the readings of every token.

        Args:
            sentences: tokens of each sentence, as split at spaces; punctuation may be attached or apart.

        Returns:
            Per sentence and token a subset of ``GENDERS``: several where the form leaves the gender open, none
            where the tagger knows no gender of the token.
        """


class PersonTagger(GenderTagger, Protocol):
    """A tagger that also tells which nouns name persons."""

    def persons(self, sentences: Sequence[Sequence[str]]) -> list[list[bool]]:
        """Whether each token is a noun for a person (or another living being, where the tagger knows no closer)."""


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written with spaces."""
    return frozenset(text.split())


def spaced(text: str) -> list[str]:
    """The tokens of a text, split at spaces, with each letter and its accents as one character (NFC).

    Example:
        >>> from hf_fairness.filters.protocol import spaced
        >>> spaced("E\u0301l sabe") == ["Él", "sabe"]
        True
    """
    return normalize("NFC", text).split()


def pieces(token: str) -> list[str]:
    """Split punctuation off a token.

    Example:
        >>> from hf_fairness.filters.protocol import pieces
        >>> pieces("Designer,"), pieces("l'enfant")
        (['Designer', ','], ["l'enfant"])
    """
    return _PIECE.findall(token)


def bare(token: str) -> str:
    """The token without punctuation around it, as written otherwise; empty when it is punctuation only.

    Example:
        >>> from hf_fairness.filters.protocol import bare
        >>> bare("«Designer,»")
        'Designer'
    """
    return _EDGES.sub("", token)


def agreement(units: Iterable[Genders]) -> Genders:
    """The genders that words said of one person can have together.

    Words are read from left to right, each narrows the set; one that contradicts all before it is left out, and one
    without a gender says nothing. So an article settles a noun that is spelled alike for both genders.

    Example:
        >>> from hf_fairness.filters.protocol import agreement
        >>> sorted(agreement([frozenset({"female", "male"}), frozenset({"female"}), frozenset()]))
        ['female']
    """
    found = NONE
    for genders in units:
        found = (found & genders or found) if found else genders
    return found


def spread(tokens: Sequence[str], units: Iterable[tuple[int, int, Genders]]) -> list[Genders]:
    """Give each token the genders of the units of an analyser that lie in it or over it.

    Args:
        tokens: of one sentence.
        units: start, end (characters of ``" ".join(tokens)``) and genders, in the order of the text. A unit over
            several tokens counts for each; several units in one token (article and noun at an apostrophe) agree.

    Example:
        >>> from hf_fairness.filters.protocol import spread
        >>> [sorted(genders) for genders in spread(["l'amica", "va"], [(2, 7, frozenset({"female"}))])]
        [['female'], []]
    """
    found: list[list[Genders]] = [[] for _ in tokens]
    ends = list(accumulate(len(token) + 1 for token in tokens))  # of each token and the space after it
    for start, end, genders in units:
        for index in range(bisect_right(ends, start), bisect_right(ends, end - 1) + 1):
            found[index].append(genders)
    return [agreement(genders) for genders in found]
