"""Capitals of a word that takes the place of another one."""

from __future__ import annotations

import re

#: What stands before the first word of a sentence.
_BEFORE_SENTENCE = re.compile(r"(?:^|[.!?…][\"'”’)]*\s+|\n)[\s\"'“‘(\[*•-]*$")
_VOWELS = frozenset("aeiouy")
#: Characters before a word that are looked at.
_REACH = 12


def match_case(source: str, form: str, new: str) -> str:
    """Write a new form with the capitals of the source.

    Args:
        source: what stands in the text.
        form: the source as the attribute file spells it.
        new: the counterpart as the attribute file spells it.

    Returns:
        The counterpart: as the file spells it if the source was, in capitals if the source was, with a
        capital first letter if the source had one.

    Example:
        >>> from hf_fairness.augment.capitals import match_case
        >>> match_case("HER", "her", "his"), match_case("Aunt", "aunt", "uncle")
        ('HIS', 'Uncle')
    """
    if source == form or not new:
        return new
    if len(source) > 1 and source.isupper():
        short = _VOWELS.isdisjoint(form) and len(new) > len(form) + 1  # the capitals of GF are no shouting
        return new if short else new.upper()
    if source[0].isupper():
        if source[1:2].isupper() and _VOWELS.isdisjoint(form):  # GFs
            return new[:2].upper() + new[2:] if len(new) == len(form) else new
        if source[1:].islower() and not form[1:].islower():  # "Mr. president"
            return new[0].upper() + new[1:].lower()
        if source.istitle() and ("-" in new or " " in source):
            return "".join(part[:1].upper() + part[1:] for part in re.split(r"([- ])", new))
        return new[0].upper() + new[1:]
    return new.lower() if source.islower() and not form.islower() else new


def opens_sentence(text: str, start: int) -> bool:
    """Whether a sentence of a text begins at an offset."""
    window = text[max(0, start - _REACH) : start]
    return bool(_BEFORE_SENTENCE.search(window)) and (start <= _REACH or bool(window.strip()) or "\n" in window)
