"""The genders that the words of a sentence show: what both target filters read off a tagger."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

from hf_fairness.filters.genders import gender_tagger
from hf_fairness.filters.protocol import GENDERS, NEUTRAL, NONE, Genders, GenderTagger, PersonTagger, bare, spaced

#: Genders that a text can be selected for; grammatical neuter says nothing.
SHOWN: tuple[str, ...] = tuple(gender for gender in GENDERS if gender != NEUTRAL)
#: What a word shows whose form leaves its gender open.
AMBIGUOUS: tuple[str, ...] = ("neither", "each")
#: Kind of tagger for whole sentences, where it is not the first of the language: taggers made for words that name
#: persons take every other word as masculine (Hebrew), or know no other nouns (German).
_KINDS = {"de": "sentences", "he": "gfst"}


@dataclass(frozen=True)
class SentenceGenders:
    """Finds the genders that the words of sentences show.

    Attributes:
        tagger: of grammatical gender.
        ambiguous: ``"neither"``: a word shows a gender only when all its readings have it (neuter counts as a
            reading); ``"each"``: it shows the gender of every reading.
        persons: whether only nouns for persons count, those that the tagger tells apart.
        nouns: forms in lower case that count in their place, sorted: a set would be another value for the cache of
            ``datasets`` in every process. None leaves it to the tagger.
    """

    tagger: GenderTagger
    ambiguous: str = "neither"
    persons: bool = False
    nouns: tuple[str, ...] | None = None

    def of(self, texts: Sequence[str]) -> list[Genders]:
        """The genders of :data:`SHOWN` that each text shows; one call of the tagger for all texts."""
        return [self.together(row) for row in self.tagged([*map(spaced, texts)])]

    def tagged(self, sentences: Sequence[Sequence[str]]) -> list[list[Genders]]:
        """What the tagger says of each token; nothing of those that do not count."""
        found = self.tagger.genders(sentences)
        if not self.persons:
            return found
        return [
            [genders if counts else NONE for genders, counts in zip(row, chosen, strict=True)]
            for row, chosen in zip(found, self._chosen(sentences), strict=True)
        ]

    def together(self, genders: Sequence[Genders]) -> Genders:
        """What the readings of some words show together."""
        return _shown(self.ambiguous, frozenset(genders))

    def _chosen(self, sentences: Sequence[Sequence[str]]) -> list[list[bool]]:
        """Whether each token is a noun for a person."""
        if self.nouns is None:
            tagger: PersonTagger = self.tagger  # type: ignore[assignment]  # checked by sentence_genders
            return tagger.persons(sentences)
        nouns = _as_set(self.nouns)
        return [[not nouns.isdisjoint(noun_forms(token)) for token in sentence] for sentence in sentences]


@functools.lru_cache(maxsize=8)
def _as_set(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(words)


@functools.lru_cache(maxsize=1024)
def _shown(ambiguous: str, readings: frozenset[Genders]) -> Genders:
    """What the different readings of the words of a sentence show together."""
    chosen = [genders for genders in readings if ambiguous == "each" or len(genders) == 1]
    return NONE.union(*chosen) - {NEUTRAL}


def noun_forms(token: str) -> tuple[str, str]:
    """What a token is looked up as: the word, and its part after an apostrophe, in lower case.

    Example:
        >>> from hf_fairness.filters.grammatical import noun_forms
        >>> noun_forms("L’amica,")
        ('l’amica', 'amica')
    """
    word = bare(token).casefold()
    return word, word.replace("’", "'").rpartition("'")[2]


def sentence_genders(
    lang: str | None,
    tagger: GenderTagger | None,
    *,
    human_nouns_only: bool,
    nouns: str | Path | Iterable[str] | None,
    ambiguous: str,
) -> SentenceGenders:
    """Check the arguments of a target filter and put them together.

    Raises:
        ValueError: neither language nor tagger; an unknown value; nouns without ``human_nouns_only``, or
            that without nouns where the tagger does not tell persons apart.
    """
    if tagger is None:
        if lang is None:
            raise ValueError("Give lang=, or a tagger= such as gender_tagger('it', 'spacy'); got neither.")
        tagger = gender_tagger(lang, _KINDS.get(lang))
    if not callable(getattr(tagger, "genders", None)):
        raise ValueError(f"tagger must have a method genders(sentences); got {tagger!r}.")
    if ambiguous not in AMBIGUOUS:
        raise ValueError(f"ambiguous is one of {', '.join(AMBIGUOUS)}; got {ambiguous!r}.")
    if nouns is not None and not human_nouns_only:
        raise ValueError("nouns= says which words name persons: it needs human_nouns_only=True.")
    if human_nouns_only and nouns is None and not callable(getattr(tagger, "persons", None)):
        raise ValueError(
            f"{tagger!r} does not tell nouns for persons from others. Give a list of them as nouns=: "
            "words, a file with one form per line, or a UniMorph file."
        )
    return SentenceGenders(tagger, ambiguous, human_nouns_only, None if nouns is None else read_nouns(nouns))


def read_nouns(nouns: str | Path | Iterable[str]) -> tuple[str, ...]:
    """Forms of nouns in lower case, each once and sorted, from a file or an iterable.

    Args:
        nouns: words; or the path of a UTF-8 file with one form per line, or with lemma, form and features between
            tabs, of which the forms are taken. Empty lines and those that begin with ``#`` are passed over.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not UTF-8, or no word at all.
    """
    if isinstance(nouns, (str, Path)):
        path = Path(nouns)
        if not path.is_file():
            raise FileNotFoundError(f"Noun list {path} does not exist (looked from {Path.cwd()}).")
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise ValueError(f"Noun list {path} is not UTF-8: {error}. Convert it first.") from error
        columns = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
        nouns = [row[min(1, len(row) - 1)] for row in columns]
    found = {normalize("NFC", word).strip().casefold() for word in nouns} - {""}
    if not found:
        raise ValueError("nouns holds no word; expected the forms of nouns that name persons.")
    return tuple(sorted(found))
