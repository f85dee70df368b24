"""The words by which the source filter tells groups apart, from an attribute."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from unicodedata import normalize

from hf_fairness.attributes import Attribute

_LETTERS = re.compile(r"[^\W\d_]+")
#: ASCII letters in lower case, blanks for all else.
_PLAIN = bytes(ord(chr(i).lower()) if chr(i).isalpha() else ord(" ") for i in range(128)) + bytes(128)


def letter_words(text: str) -> list[str]:
    """The runs of letters of a text, in lower case: "She's" is *she* and *s*, "mother-in-law" is three words.

    Example:
        >>> from hf_fairness.filters.source_words import letter_words
        >>> letter_words("“She’s” her mother-in-law.")
        ['she', 's', 'her', 'mother', 'in', 'law']
    """
    if text.isascii():
        return text.encode().translate(_PLAIN).decode().split()
    return _LETTERS.findall(normalize("NFC", text).lower())


def capitalised_words(text: str) -> set[str]:
    """The runs of letters that begin with a capital, in lower case."""
    return {word.lower() for word in _LETTERS.findall(text) if word[0].isupper()}


@dataclass(frozen=True)
class SourceWords:
    """What speaks of each group, in lower case.

    Attributes:
        pronouns: group -> its pronouns.
        words: group -> its terms of one word, the pronouns too.
        phrases: group -> its terms of several words that hold none of those words, between blanks.
        capitalised: words that count only where they are written with a capital (*Miss*, not *miss*).
    """

    pronouns: Mapping[str, frozenset[str]]
    words: Mapping[str, frozenset[str]]
    phrases: Mapping[str, tuple[str, ...]]
    capitalised: frozenset[str]


def attribute_words(attribute: Attribute) -> SourceWords:
    """Collect the pronouns and terms of each group; what ``keep`` and ``protected`` leave alone counts too.

    A term that the file spells with a capital and ties to a context counts only with a capital.

    Raises:
        ValueError: a group has no pronouns: without them the filter can select nothing.
    """
    pronouns = {
        group: frozenset(
            form.lower() for row in attribute.paradigms if row.group == group for form in row.forms.values()
        )
        for group in attribute.group_names
    }
    if lacking := [group for group, forms in pronouns.items() if not forms]:
        raise ValueError(
            f"The source filter goes by pronouns, and attribute {attribute.name!r} has none for {', '.join(lacking)}. "
            "Add paradigms of these groups to a copy of its file, and pass the path as attribute=."
        )
    tied = {concept.id for concept in attribute.concepts if concept.when}
    words: dict[str, frozenset[str]] = {}
    phrases: dict[str, tuple[str, ...]] = {}
    free, capitalised = set().union(*pronouns.values()), set[str]()
    for group in attribute.groups:
        parts = {tuple(letter_words(term.text)) for term in group.terms} - {()}
        words[group.name] = pronouns[group.name] | {part[0] for part in parts if len(part) == 1}
        longer = [part for part in parts if words[group.name].isdisjoint(part)]
        phrases[group.name] = tuple(sorted(f" {' '.join(part)} " for part in longer))
        for term in group.terms:
            needs_capital = term.concept in tied and term.text[:1].isupper()
            (capitalised if needs_capital else free).add(term.text.lower())
    return SourceWords(pronouns, words, phrases, frozenset(capitalised - free))
