"""Which words of a text stand in a headline: there, a capital says nothing about a name.

A line, a sentence of it, or what stands before a colon, a dash or a bar is a headline if it is written in capitals, or
if nearly all of its words that headlines write with a capital have one. Function words apart, a single small verb or
pronoun speaks for a running sentence: *Prince Charles met Queen Camilla*.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

from hf_fairness.augment import english as en

if TYPE_CHECKING:
    from hf_fairness.augment.scan import Scan

#: Words that headlines write small or large as they like, and *I*.
_EITHER = (en.PREPOSITIONS | en.CONJUNCTIONS | en.SMALL_WORDS | {"a", "an", "the", "not", "i", "vs"}) - {"will"}
_OF_VERBS = en.VERBS | en.HEADLINE_VERBS | en.AUXILIARIES | en.FINITE_VERBS | en.PARTICIPLES
_NO_VERBS = frozenset({"united", "limited"})
#: Small words that no headline has, if its other words have capitals.
_RUNNING = en.AUXILIARIES | en.PRONOUNS | en.POSSESSIVES | en.FINITE_VERBS
#: Words with which headlines begin rather than running sentences with names; after them, *are* may be small.
_OPENERS = en.AMOUNTS | en.QUESTION_WORDS
#: Signs that part a headline from a source or a remark: everywhere, and with a space beside them.
_BARS = frozenset("|·•")
_SPACED = frozenset("-–—:([")
#: One small word of as many is borne.
_BORNE = 8

#: First token of a part and the one after its last.
Part = tuple[int, int]


def capitals_and_headlines(scan: Scan) -> tuple[bytearray, bytearray]:
    """For each token whether it stands in a part in capitals, and whether it stands in a headline of any kind."""
    capitals, headlines = bytearray(len(scan)), bytearray(len(scan))

    def mark(part: Part) -> bool:
        shouted, titled = _in_capitals(scan, *part), False
        if shouted:
            capitals[slice(*part)] = b"\1" * (part[1] - part[0])
        else:
            titled = _in_title_case(scan, *part)
        if shouted or titled:
            headlines[slice(*part)] = b"\1" * (part[1] - part[0])
        return shouted or titled

    if scan.text.isupper():
        return bytearray(b"\1" * len(scan)), bytearray(b"\1" * len(scan))
    for line in _lines(scan):
        if mark(line):
            continue
        for sentence in _sentences(scan, *line):
            if sentence != line and mark(sentence):
                continue
            for part in _parts(scan, *sentence):
                mark(part)
    return capitals, headlines


def _lines(scan: Scan) -> Iterator[Part]:
    """The lines of a text."""
    first = 0
    if "\n" in scan.read:
        for index in range(1, len(scan)):
            if "\n" in scan.read[scan.ends[index - 1] : scan.starts[index]]:
                yield first, index
                first = index
    yield first, len(scan)


def _sentences(scan: Scan, first: int, last: int) -> Iterator[Part]:
    """The sentences of a line; a full stop after a single letter ends none (*U.S. Women*)."""
    begin = first
    for index in range(first, last - 1):
        if scan.is_end(index) and scan.ends[index] < scan.starts[index + 1] and len(scan.low(index - 1)) > 1:
            yield begin, index + 1
            begin = index + 1
    yield begin, last


def _parts(scan: Scan, first: int, last: int) -> Iterator[Part]:
    """What stands between bars, and before the first other sign."""
    begin, open_ = first, True
    for index in range(first, last):
        sign = scan.lower[index]
        if sign in _BARS:
            if open_:
                yield begin, index
            begin, open_ = index + 1, True
        elif open_ and sign in _SPACED and index > begin and _spaced(scan, index):
            yield begin, index
            open_ = False
    if begin > first and open_:
        yield begin, last


def _spaced(scan: Scan, index: int) -> bool:
    after = scan.read[scan.ends[index] : scan.ends[index] + 1]
    return scan.lower[index] in "([" or after.isspace()


def _in_capitals(scan: Scan, first: int, last: int) -> bool:
    """Whether two words or more, and all letters, are capitals."""
    long = 0
    for start, end in zip(scan.starts[first:last], scan.ends[first:last], strict=True):
        if end - start > 1 and scan.text[start].isalpha():
            if not scan.text[start:end].isupper():
                return False
            long += 1
    return long > 1


def _in_title_case(scan: Scan, first: int, last: int) -> bool:
    """Whether the words that headlines write with a capital have one; the first says nothing, but must have it too."""
    if scan.low(last - 1) == ",":  # "Dear Sir or Madam,"
        return False
    large, small, head, tail = 0, 0, -1, -1
    either: Set[str] = _EITHER
    for k in range(first, last):
        low, letter = scan.lower[k], scan.text[scan.starts[k]]
        if not letter.isalnum() or (scan.no_prose and not scan.in_prose(scan.starts[k], scan.ends[k])):
            continue
        tail = k
        if head < 0:
            if letter.islower():
                return False
            head = k
            either = _EITHER | en.BE_FORMS if _opens_headline(low) else _EITHER
        elif low.partition("'")[0] in either or not letter.isalpha():
            continue
        elif letter.isupper():
            large += 1
        elif scan.text[scan.starts[k] : scan.ends[k]].islower():
            small += 1
            if low in _RUNNING or low.endswith("ed"):
                return False
    if large == 1:
        return not small and verb_like(scan, tail)
    return large > 1 and small * _BORNE <= large + small


def _opens_headline(word: str) -> bool:
    return word in _OPENERS or word[0].isdigit()


def verb_like(scan: Scan, index: int) -> bool:
    """Whether a word with a capital is more likely a verb than a name: *Women Lie*, *Queen Visits School*."""
    word = scan.low(index)
    if word in en.NAME_WORDS or word in en.GIVEN_NAMES or word in _NO_VERBS:
        return False
    if not _OF_VERBS.isdisjoint((word, word.removesuffix("s"), word.removesuffix("es"))):
        return True
    if word.endswith("ies"):
        return word[:-3] + "y" in _OF_VERBS
    return len(word) > 5 and (word.endswith("ed") or (word.endswith("ing") and word not in en.ING_NOUNS))
