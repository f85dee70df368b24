"""The rule of the source filter in the code that GFST's authors released: their words, and how they cut texts.

Words are facts: those of the code, which follow most of the pairs of Zhao et al. 2018. The sentences that the authors
released were chosen by an earlier list, without the brides, grooms and the spokeswoman: of 116,000 lines of news, 10
have one of these beside the pronoun of the other group, and are mixed here.
"""

from __future__ import annotations

import string

from hf_fairness.attributes import Attribute
from hf_fairness.filters.protocol import FEMALE, MALE, word_set
from hf_fairness.filters.source_words import SourceWords

_PRONOUNS = {FEMALE: word_set("she her hers herself"), MALE: word_set("he him his himself")}
#: Not as in the pairs: "airman", "airmen", "prince" and "miss" are on no side, and "sir" and "madam" are in.
_NOUNS = {
    FEMALE: word_set(
        "actress actresses airwoman airwomen aunt aunts bride brides businesswoman businesswomen chairwoman chairwomen "
        "chick chicks daughter daughters female females gal gals girl girls granddaughter granddaughters ladies lady "
        "madam mom mommies mommy moms mother mothers policewoman policewomen princess princesses queen queens sister "
        "sisters spokeswoman spokeswomen wife wives woman women"
    ),
    MALE: word_set(
        "actor actors boy boys brother brothers businessman businessmen chairman chairmen dad daddies daddy dads dude "
        "dudes father fathers gentleman gentlemen grandson grandsons groom grooms guy guys husband husbands king kings "
        "lord lords male males man men policeman policemen princes sir son sons spokesman spokesmen uncle uncles"
    ),
}
#: They count as written here only, not as "mr" or "MR".
_TITLES = {FEMALE: word_set("mrs ms"), MALE: word_set("mr")}
_DELETE = str.maketrans("", "", string.punctuation)


def gfst_words(attribute: Attribute) -> SourceWords:
    """The authors' words, for an attribute with their two groups.

    Raises:
        ValueError: the attribute has other groups.
    """
    if set(attribute.group_names) != set(_PRONOUNS):
        raise ValueError(
            f"wordlist='gfst' knows the groups {', '.join(sorted(_PRONOUNS))}; attribute {attribute.name!r} has "
            f"{', '.join(attribute.group_names)}. Use the default word list."
        )
    words = {group: _PRONOUNS[group] | _NOUNS[group] | _TITLES[group] for group in attribute.group_names}
    phrases = dict.fromkeys(attribute.group_names, ())
    return SourceWords(_PRONOUNS, words, phrases, frozenset().union(*_TITLES.values()))


def gfst_split(text: str) -> list[str]:
    """The words of a text in lower case: ASCII punctuation is deleted, then blanks separate.

    So "She's" becomes *shes* and "mother-in-law" *motherinlaw*, which are in no list, and "H.E." becomes *he*.
    """
    return text.translate(_DELETE).lower().split()


def gfst_titles(text: str) -> set[str]:
    """Those of the words that are written in title case, in lower case."""
    return {word.lower() for word in text.translate(_DELETE).split() if word.istitle()}
