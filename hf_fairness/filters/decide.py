"""From the genders of tokens to one gender of the person that they name: our rule, and those of WinoMT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hf_fairness.filters.protocol import FEMALE, MALE, NEUTRAL, UNKNOWN, Genders, agreement, bare, pieces


@dataclass(frozen=True)
class Mention:
    """A person in a translation.

    Attributes:
        words: tokens of the sentence.
        aligned: indices of the tokens aligned to the English words for the person, in the order of the links; an
            index is there twice where both article and noun are linked to it.
        source: the English noun, in lower case; empty when it was not given.
    """

    words: Sequence[str]
    aligned: Sequence[int]
    source: str = ""

    @property
    def phrase(self) -> list[str]:
        """The aligned tokens with punctuation split off, as WinoMT passes them to its taggers."""
        return [piece for index in self.aligned for piece in pieces(self.words[index])]


class Rule(Protocol):
    """Which tokens of a mention are tagged, by which tagger, and what follows from their genders."""

    @property
    def kind(self) -> str | None:
        """Kind of tagger; None when the rule reads the words itself."""

    def tokens(self, mention: Mention) -> Sequence[str]:
        """What the tagger gets."""

    def decide(self, mention: Mention, genders: Sequence[Genders]) -> str:
        """One of male, female, neutral, unknown; ``genders`` are those of :meth:`tokens`."""


@dataclass(frozen=True)
class Agreement:
    """Our rule: the words for the person, read together, narrow each other's genders.

    Aligned words that stand together are read from left to right, with an article in front of them; the longest
    such group comes first, since a word linked to by mistake mostly stands alone. A word that contradicts all before
    it is left out. What leaves male and female open is neutral, as is grammatical neuter alone; nothing aligned, or
    no word of known gender, is unknown.

    Args:
        kind: of tagger.
        articles: words that are read too when they stand in front of the aligned ones, in lower case.
        indefinite: ends of words for anybody (somebody, person, victim), in lower case: their grammatical gender says
            nothing of the person, so they are neutral.
        settled: gender by noun, in lower case, where the article misleads ("el ama" is feminine).
        leaning: gender by article, in lower case, where a noun that says nothing leaves it open: "der" can be
            feminine, but only before nouns that show it.
    """

    kind: str | None
    articles: frozenset[str] = frozenset()
    indefinite: frozenset[str] = frozenset()
    settled: Mapping[str, str] = field(default_factory=dict)
    leaning: Mapping[str, str] = field(default_factory=dict)

    def tokens(self, mention: Mention) -> Sequence[str]:
        """The words to read, in the order of reading."""
        return [mention.words[place] for place in self._places(mention)]

    def decide(self, mention: Mention, genders: Sequence[Genders]) -> str:
        """The one gender that remains."""
        words = [bare(token).lower() for token in self.tokens(mention)]
        if any(word.endswith(tuple(self.indefinite)) for word in words):
            return NEUTRAL
        for word in words:
            if word in self.settled:
                return self.settled[word]
        remaining = agreement(genders)
        if not remaining:
            return UNKNOWN
        persons = remaining - {NEUTRAL}
        if len(persons) == 1:
            return next(iter(persons))
        leans = (self.leaning[word] for word in words if word in self.leaning)
        return next(leans, NEUTRAL) if persons else NEUTRAL

    def _places(self, mention: Mention) -> list[int]:
        wanted = set(mention.aligned)
        for place in mention.aligned:
            if place and bare(mention.words[place - 1]).lower() in self.articles:
                wanted.add(place - 1)
        groups: list[list[int]] = []
        for place in sorted(wanted):
            if groups and groups[-1][-1] == place - 1:
                groups[-1].append(place)
            else:
                groups.append([place])
        return [place for group in sorted(groups, key=len, reverse=True) for place in group]


@dataclass(frozen=True)
class MajorityVote:
    """WinoMT for Russian, Ukrainian, Spanish, French and Italian: every aligned token has one vote, ties to the first.

    Nothing aligned is unknown.

    Args:
        kind: of tagger.
        first: a token with several genders votes for the first of these that it has; empty: it does not vote.
        neutral_votes: whether a token without a gender, punctuation too, votes neutral; else only a phrase without
            any vote is neutral.
    """

    kind: str | None
    first: tuple[str, ...] = ()
    neutral_votes: bool = False

    def tokens(self, mention: Mention) -> Sequence[str]:
        """The aligned tokens, out of their sentence."""
        return mention.phrase

    def decide(self, mention: Mention, genders: Sequence[Genders]) -> str:
        """The gender with the most votes."""
        if not mention.aligned:
            return UNKNOWN
        votes = Counter(vote for vote in map(self._vote, genders) if vote)
        return votes.most_common(1)[0][0] if votes else NEUTRAL

    def _vote(self, genders: Genders) -> str:
        if not genders:
            return NEUTRAL if self.neutral_votes else ""
        if len(genders) == 1:
            return next(iter(genders))
        return next((gender for gender in self.first if gender in genders), "")


@dataclass(frozen=True)
class AnyFeminine:
    """WinoMT for Hebrew and Arabic: female if any aligned token is, else male.

    Args:
        kind: of tagger.
        unaligned: answer when nothing is aligned.
    """

    kind: str | None
    unaligned: str

    def tokens(self, mention: Mention) -> Sequence[str]:
        """The aligned tokens."""
        return mention.phrase

    def decide(self, mention: Mention, genders: Sequence[Genders]) -> str:
        """Female or male."""
        if not mention.aligned:
            return self.unaligned
        return FEMALE if any(FEMALE in found for found in genders) else MALE


@dataclass(frozen=True)
class NearestArticle:
    """WinoMT for German: a feminine ending, else the article nearest to the first aligned token.

    Distances are those of the original: from the index among tokens split at spaces, in a list of tokens whose
    punctuation is split off. Nothing aligned, and no article in the sentence, is male.

    Args:
        articles: gender by article or pronoun, in lower case.
        ending: of feminine nouns.
        sources: gender by English noun where the original does not look at the translation.
        kind: none, the rule reads the words.
    """

    articles: Mapping[str, str]
    ending: str
    sources: Mapping[str, str] = field(default_factory=dict)
    kind: str | None = None

    def tokens(self, mention: Mention) -> Sequence[str]:
        """None."""
        return ()

    def decide(self, mention: Mention, genders: Sequence[Genders]) -> str:
        """The gender of ending or article."""
        if mention.source in self.sources:
            return self.sources[mention.source]
        if not mention.aligned:
            return MALE
        if any(piece.endswith(self.ending) for piece in mention.phrase):
            return FEMALE
        words = [piece.lower() for word in mention.words for piece in pieces(word)]
        found = [(abs(at - min(mention.aligned)), at) for at, word in enumerate(words) if word in self.articles]
        return self.articles[words[min(found)[1]]] if found else MALE
