"""Arabic by its letters: tāʾ marbūṭa and short lists."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from hf_fairness.filters.letters import LetterTagger
from hf_fairness.filters.protocol import FEMALE, MALE, NONE, Genders, bare, word_set

#: tāʾ marbūṭa, and its presentation forms.
_TA_MARBUTA = "ةﺓﺔ"
#: Short vowels, tanwīn, shadda and the stretching stroke.
_MARKS = re.compile("[\u064b-\u0652\u0640]")
#: The feminine plural.
_PLURAL = "ات"
#: Particles and relative words without a gender.
_PARTICLES = word_set("في من إلى على عن أن إن أو ثم لأن مع لم لا ما كما حتى قد بعد قبل عند كي لكي بأن لكن")
#: Nouns that end in tāʾ marbūṭa and mean a man.
_MASCULINE = word_set("خليفة علامة")
#: Pronouns, and feminine nouns without an ending: she, this, who, sister, mother, bride, daughter.
_FEMININE = word_set("هي هذه تلك التي أخت الأخت أم الأم بنت البنت ابنة")


def _by_words(token: str) -> Genders:
    word = _MARKS.sub("", bare(token))
    if not word or not "\u0600" <= word[-1] <= "\ufeff" or word in _PARTICLES:
        return NONE
    if word.removeprefix("ال") in _MASCULINE:
        return frozenset({MALE})
    if word in _FEMININE or word[-1] in _TA_MARBUTA or (word.endswith(_PLURAL) and len(word) > 4):
        return frozenset({FEMALE})
    return frozenset({MALE})


def _as_winomt(token: str) -> Genders:
    if not bare(token):
        return NONE
    return frozenset({FEMALE if set(token) & set(_TA_MARBUTA) else MALE})


@dataclass(frozen=True)
class ArabicTagger(LetterTagger):
    """Genders of Arabic words by tāʾ marbūṭa.

    Verbs count as masculine unless they end like feminine nouns: use it on the words for a person, not to count
    the genders of a whole sentence.

    Args:
        rules: ``"words"`` reads the ending and knows particles, a few feminine words without the ending and masculine
            ones with it. ``"winomt"`` is the rule of WinoMT: feminine when the token holds tāʾ marbūṭa, else masculine.

    Raises:
        ValueError: no such rules.

    Source:
        The ending: Stanovsky et al. 2019, released code. The lists are ours.

    Example:
        >>> from hf_fairness.filters.arabic import ArabicTagger
        >>> [sorted(genders) for genders in ArabicTagger().genders([["المعلمة", "مع", "المهندس."]])[0]]
        [['female'], [], ['male']]
    """

    lang = "ar"
    RULES: ClassVar = {"words": _by_words, "winomt": _as_winomt}
