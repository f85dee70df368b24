"""Ordinary English sentences without gendered terms, for measuring what a mitigation must leave alone.

They share no frame and no five words in a row with the training corpus, the audit triples, Winogender or
GrepBiasIR, and no recipe of this package trains on them.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, overload

from hf_fairness.demo._filling import Frame, fillings, load_frames, realize

FILLINGS_PER_FRAME = 8


def plain_frames() -> tuple[Frame, ...]:
    """The frames of the plain sentences, topic by topic.

    Returns:
        At least 130 frames on topics such as weather, traffic, law and cooking; none has a group slot.

    Example:
        >>> from hf_fairness.demo import plain_frames
        >>> plain_frames()[0].id
        'weather-01'
    """
    return load_frames("plain.json")[0]


@cache
def _rows() -> tuple[tuple[str, str], ...]:
    """Each sentence and the id of its frame, frame by frame."""
    patterns, lists = load_frames("plain.json")
    return tuple(
        (realize(text, 0), frame.id) for frame in patterns for text in fillings(frame, lists, FILLINGS_PER_FRAME)
    )


@overload
def plain_sentences(with_frame: Literal[False] = False) -> list[str]: ...
@overload
def plain_sentences(with_frame: Literal[True]) -> list[tuple[str, str]]: ...
def plain_sentences(with_frame: bool = False) -> list[str] | list[tuple[str, str]]:
    """Ordinary sentences without gendered terms that no training of this package uses.

    They speak of things, animals, places, or of people in the plural and the first or second person; singular
    "they" does not occur. The same sentences in the same order on every machine.

    Args:
        with_frame: return each sentence with the id of its frame. Sentences of one frame resemble each other.

    Returns:
        More than 1,000 different sentences of 5 to 30 words; pairs of (sentence, frame id) if ``with_frame``.

    Source:
        Written for this project; see ``plain.json``.

    Example:
        >>> from hf_fairness.attributes import load_attribute
        >>> from hf_fairness.demo import plain_sentences
        >>> sentences = plain_sentences()
        >>> len(sentences) >= 1000, len(set(sentences)) == len(sentences)
        (True, True)
        >>> any(any(found.values()) for found in load_attribute("gender").count_many(sentences))
        False
    """
    return list(_rows()) if with_frame else [text for text, _ in _rows()]
