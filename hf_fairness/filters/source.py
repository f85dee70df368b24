"""The source filter of GFST: which group a sentence of the source language speaks of, by its pronouns and words."""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hf_fairness.attributes import Attribute, load_attribute
from hf_fairness.filters.protocol import FEMALE, MALE, word_set
from hf_fairness.filters.source_words import SourceWords, attribute_words, capitalised_words, letter_words
from hf_fairness.maps import MapFunction, Row, Texts

#: The words of the code that GFST's authors released, which follow most of the pairs of Zhao et al. 2018 (words are
#: facts). The sentences that the authors released were chosen by an earlier list, without the brides, grooms and the
#: spokeswoman: of 116,000 lines of news, 10 have one of these beside the pronoun of the other group, and are mixed.
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


#: Labels beside the names of the groups: words of several groups, and no pronoun of any.
MIXED, NONE = "mixed", "none"


class SourceGender(MapFunction):
    """Label each text with the one group that it speaks of, with ``"mixed"`` or with ``"none"``.

    A text speaks of a group when it has a pronoun of it, no pronoun of another group, and no word of another group.
    ``"none"``: no pronoun of any group, whatever other words there are. ``"mixed"``: a pronoun, and words of several
    groups.

    The default words are the pronouns and terms of the attribute, as runs of letters in any case: in "She's",
    "mother's", "“her”" and "mother-in-law" the pronoun and the noun are found. Everything that could be a word of
    another group counts, names and fixed phrases too ("Mother Teresa", "man-made"), so that a selected text has none;
    only a title that is spelled like a common word ("Miss") counts with a capital alone. A word that several groups of
    an attribute share fits each of them.

    ``wordlist="gfst"`` is the rule of the authors' code: their words, and how they cut texts.

    Args:
        text_column: column of the texts.
        wordlist: ``"default"`` or ``"gfst"``.
        attribute: name, file or object; each of its groups needs pronouns.
        output_column: the column that is added.
        on_missing: what to do about a row that lacks a text: ``"skip"`` gives it ``"none"``, ``"error"`` refuses it.

    Raises:
        TypeError: a text is none (at the call, with row and column).
        ValueError: unknown word list or attribute, a group without pronouns, or other groups than those of the
            authors' list; a column that is missing, or one that would be overwritten.

    Source:
        Choubey et al. 2021, section 2 (FilterSrc). Back-translation (section 6.3) uses it on the translations.

    Example:
        >>> from hf_fairness.filters import SourceGender
        >>> texts = ["She's late.", "He met the prince.", "He met his mother-in-law.", "The king left."]
        >>> SourceGender()({"text": texts})["source_gender"]
        ['female', 'male', 'mixed', 'none']
    """

    def __init__(
        self,
        text_column: str = "text",
        *,
        wordlist: str = "default",
        attribute: str | Path | Attribute = "gender",
        output_column: str = "source_gender",
        on_missing: str = "skip",
    ) -> None:
        super().__init__(text_column, on_missing=on_missing)
        if wordlist not in _WORDLISTS:
            raise ValueError(f"wordlist is one of {', '.join(_WORDLISTS)}; got {wordlist!r}.")
        self.wordlist = wordlist
        self.attribute = load_attribute(attribute)
        self.output_column = output_column
        _rule(wordlist, self.attribute)  # fail now, not in the middle of a map

    def outputs(self) -> dict[str, str]:
        """The column that is added, with its type."""
        return {self.output_column: "string"}

    def missing(self, texts: Texts) -> Row:
        """The label of a row that lacks a text."""
        return {self.output_column: NONE}

    def rewrite(self, texts: Texts, key: str) -> Row:
        """The label of one text."""
        return {self.output_column: _rule(self.wordlist, self.attribute)(texts[0])}

    def process_columns(self, rows: Sequence[Texts], keys: Sequence[str]) -> dict[str, list[Any]]:
        """The labels of many texts."""
        label = _rule(self.wordlist, self.attribute)
        return {self.output_column: [label(text) for (text,) in rows]}


class _WordList(NamedTuple):
    """Which words, and how they are found in a text."""

    words: Callable[[Attribute], SourceWords]
    split: Callable[[str], list[str]]
    in_capitals: Callable[[str], set[str]]


_WORDLISTS = {
    "default": _WordList(attribute_words, letter_words, capitalised_words),
    "gfst": _WordList(gfst_words, gfst_split, gfst_titles),
}


@functools.lru_cache(maxsize=8)
def _rule(wordlist: str, attribute: Attribute) -> Callable[[str], str]:
    """From a text to its label."""
    list_words, split, in_capitals = _WORDLISTS[wordlist]
    known = list_words(attribute)
    pronouns, everything = (frozenset().union(*by.values()) for by in (known.pronouns, known.words))
    own = list(known.words.items())
    phrases = [(group, phrase) for group, rows in known.phrases.items() for phrase in rows]
    capitalised = known.capitalised

    def label(text: str) -> str:
        words = split(text)
        found = everything.intersection(words)
        if pronouns.isdisjoint(found):
            return NONE
        if not capitalised.isdisjoint(found):
            found -= capitalised - in_capitals(text)
        fitting = [name for name, terms in own if found <= terms]
        group = fitting[0] if len(fitting) == 1 else MIXED
        if phrases and group != MIXED:
            joined = f" {' '.join(words)} "
            if any(other != group and phrase in joined for other, phrase in phrases):
                return MIXED
        return group

    return label
