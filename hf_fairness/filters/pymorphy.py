"""Russian and Ukrainian through pymorphy3: a dictionary of forms, with a guess for words that it does not hold."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hf_fairness.filters.protocol import FEMALE, MALE, NEUTRAL, Genders, bare
from hf_fairness.utils import package_versions, require

#: Grammemes of OpenCorpora.
_GENDERS = {"masc": MALE, "femn": FEMALE, "neut": NEUTRAL}
#: He and she: beside a verb in the past they show a person's gender, and no reading as a noun counts.
_PRONOUNS = {"ru": {"он": MALE, "она": FEMALE}, "uk": {"він": MALE, "вона": FEMALE}}
#: A noun for a living being.
_PERSON = frozenset({"NOUN", "anim"})
_DICTIONARIES = {"ru": "pymorphy3_dicts_ru", "uk": "pymorphy3_dicts_uk"}


@dataclass(frozen=True)
class PymorphyTagger:
    """Genders of the readings that pymorphy3 gives to a word; the sentence around it is not looked at.

    Args:
        lang: ``"ru"`` or ``"uk"``.
        readings: ``"best"`` takes the most probable reading, as the target filter of GFST does; ``"all"`` takes
            every reading, as WinoMT does; ``"person"`` takes the readings as a noun for a living being where there
            are any, else the best one (so that "механика" is the mechanic and not the science).

    Raises:
        ValueError: no such language or choice of readings.
        ImportError: pymorphy3 or the dictionary is not installed (at the first call).

    Source:
        Korobov 2015; grammemes of OpenCorpora.

    Example:
        >>> from hf_fairness.filters.pymorphy import PymorphyTagger
        >>> [sorted(genders) for genders in PymorphyTagger("ru").genders([["Врач", "сказала,"]])[0]]
        [['male'], ['female']]
    """

    lang: str
    readings: str = "best"

    def __post_init__(self) -> None:
        if self.lang not in _DICTIONARIES:
            raise ValueError(f"pymorphy3 knows {', '.join(_DICTIONARIES)}; got lang={self.lang!r}.")
        if self.readings not in _READINGS:
            raise ValueError(f"readings is one of {', '.join(_READINGS)}; got {self.readings!r}.")

    @property
    def name(self) -> str:
        """Package, version, language and readings."""
        installed = package_versions(["pymorphy3"]).get("pymorphy3", "(not installed)")
        return f"pymorphy3 {installed} ({self.lang}, {self.readings} readings)"

    def genders(self, sentences: Sequence[Sequence[str]]) -> list[list[Genders]]:
        """Genders of every token: see :class:`hf_fairness.filters.GenderTagger`."""
        return [[_word_genders(self.lang, self.readings, token) for token in sentence] for sentence in sentences]

    def persons(self, sentences: Sequence[Sequence[str]]) -> list[list[bool]]:
        """Whether each token is a noun for a living being in one of the readings that count, or *he* or *she*.

        The pronoun counts beside a verb in the past of its gender: "она сказала".
        """
        return [
            [_is_person(self.lang, self.readings, token) or self._speaks(sentence, place) for place, token in each]
            for sentence, each in ((sentence, list(enumerate(sentence))) for sentence in sentences)
        ]

    def _speaks(self, sentence: Sequence[str], place: int) -> bool:
        """Whether a token is a pronoun with a verb in the past of its gender beside it."""
        gender = _PRONOUNS[self.lang].get(bare(sentence[place]).lower())
        if gender is None:
            return False
        beside = (*sentence[max(place - 1, 0) : place], *sentence[place + 1 : place + 2])
        return any(_past(self.lang, token) == gender for token in beside)


@functools.lru_cache(maxsize=2)
def _analyzer(lang: str) -> Any:
    require(_DICTIONARIES[lang])
    return require("pymorphy3").MorphAnalyzer(lang=lang)


@functools.lru_cache(maxsize=1 << 16)
def _word_genders(lang: str, readings: str, token: str) -> Genders:
    pronoun = _PRONOUNS[lang].get(bare(token).lower())
    if pronoun is not None and readings != "all":
        return frozenset({pronoun})
    tags = _tags(lang, readings, token)
    return frozenset(_GENDERS[tag.gender] for tag in tags if tag.gender is not None)


@functools.lru_cache(maxsize=1 << 16)
def _is_person(lang: str, readings: str, token: str) -> bool:
    if bare(token).lower() in _PRONOUNS[lang]:
        return False
    return any(_PERSON in tag for tag in _tags(lang, readings, token))


@functools.lru_cache(maxsize=1 << 16)
def _past(lang: str, token: str) -> str | None:
    """The gender of a verb in the past; None for other words."""
    tag = next(iter(_tags(lang, "best", token)), None)
    return _GENDERS.get(tag.gender) if tag is not None and tag.POS == "VERB" and tag.tense == "past" else None


def _tags(lang: str, readings: str, token: str) -> list[Any]:
    word = bare(token)
    return _READINGS[readings]([parse.tag for parse in _analyzer(lang).parse(word)]) if word else []


def _person(tags: list[Any]) -> list[Any]:
    return [tag for tag in tags if _PERSON in tag and tag.gender is not None] or tags[:1]


_READINGS = {"best": lambda tags: tags[:1], "all": lambda tags: tags, "person": _person}
