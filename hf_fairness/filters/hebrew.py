"""Hebrew by its letters: what the last letter of a word and short lists tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hf_fairness.filters.letters import LetterTagger
from hf_fairness.filters.protocol import FEMALE, MALE, NONE, Genders, bare, word_set

#: Feminine endings of nouns, adjectives and verbs in the past.
_FEMININE_ENDINGS = ("ת", "ה")
#: The mark of a definite object; it has no gender.
_OBJECT_MARK = "את"
#: Last letters that the target filter of GFST counts as masculine; the other ones say nothing there.
_GFST_MASCULINE = tuple("קדרשטבאךלס")

#: Letters written in one with the word after them: and, the, in, as, to, from, that.
_PREFIXES = "והבכלמש"
#: Particles and question words without a gender.
_PARTICLES = frozenset(
    f"{_OBJECT_MARK} של על עם אל כי אם או גם לא כל כדי אבל אשר אחרי לפני עוד רק אך מה כמה הנה".split()
)
#: Participles and nouns that are written alike for a man (-e) and a woman (-a): baker, teacher, seeing (the first word
#: of accountant), in charge, cleaner, onlooker, buyer, escort, host.
_OPEN = word_set("אופה מורה רואה ממונה מנקה צופה קונה מלווה מנחה")
#: Nouns whose last letter belongs to the root (janitor, servant, programmer, house, team, expert), the masculine
#: "this", and masculine verbs in the past (was, made, saw, wanted, bought, tried, hoped, waited, changed, found out,
#: showed, built, answered, went up, turned, happened, won).
_MASCULINE = word_set(
    "שרת משרת מתכנת בית צוות מומחה זה כזה היה עשה ראה רצה קנה ניסה קיווה חיכה שינה גילה הראה בנה ענה עלה פנה קרה זכה"
)


def _by_words(token: str) -> Genders:
    word = bare(token)
    if not word or not "א" <= word[-1] <= "ת" or word in _PARTICLES:
        return NONE
    stems = {word} | {word[n:] for n in (1, 2) if len(word) > n + 1 and set(word[:n]) <= set(_PREFIXES)}
    if stems & _OPEN:
        return frozenset({FEMALE, MALE})
    if stems & _MASCULINE or not word.endswith(_FEMININE_ENDINGS):
        return frozenset({MALE})
    return frozenset({FEMALE})


def _as_winomt(token: str) -> Genders:
    word = bare(token)
    if not word or word == _OBJECT_MARK:
        return NONE
    return frozenset({FEMALE if word.endswith(_FEMININE_ENDINGS) else MALE})


def _as_gfst(token: str) -> Genders:
    if token == _OBJECT_MARK:
        return NONE
    if token.endswith(_FEMININE_ENDINGS):
        return frozenset({FEMALE})
    return frozenset({MALE}) if token.endswith(_GFST_MASCULINE) else NONE


@dataclass(frozen=True)
class HebrewTagger(LetterTagger):
    """Genders of Hebrew words by their last letter.

    Args:
        rules: ``"words"`` reads feminine endings, and knows particles, words written alike for both genders and
            masculine words that end like feminine ones. ``"winomt"`` is the rule of WinoMT: feminine when the last
            letter is ת or ה, else masculine. ``"gfst"`` is the rule of the target filter of GFST: ten last letters
            are masculine, the rest says nothing, and punctuation stays part of the token.

    Raises:
        ValueError: no such rules.

    Source:
        Letters: Stanovsky et al. 2019 and Choubey et al. 2021, released code. The lists are ours.

    Example:
        >>> from hf_fairness.filters.hebrew import HebrewTagger
        >>> [sorted(genders) for genders in HebrewTagger().genders([["המנהלת", "ראתה", "את", "המורה."]])[0]]
        [['female'], ['female'], [], ['female', 'male']]
    """

    lang = "he"
    RULES: ClassVar = {"words": _by_words, "winomt": _as_winomt, "gfst": _as_gfst}
