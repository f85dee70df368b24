"""Fill sentence frames from word lists: deterministic, and blind to the group that a sentence speaks of.

A frame is text with two kinds of slots. ``{tea/coffee}`` and ``{@job}`` (a word list of the frame's topic, or
a common one) are content. ``[he|she]`` holds one form for each group. Content is chosen first, from the
frame's id and the number of the filling alone; the group comes afterwards, so no content can depend on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any

CONTENT_SLOT = re.compile(r"\{([^{}]*)\}")
GROUP_SLOT = re.compile(r"\[([^\[\]]*)\]")
ARTICLE = re.compile(r"\b([Aa])~ (\w+)")
# Where the first letter and the first sound disagree.
CONSONANT_SOUND = re.compile(r"(?:uni(?!n|m)|use|usual|eu|one\b|once\b)", re.IGNORECASE)
VOWEL_SOUND = re.compile(r"(?:hour|honest|honor|heir|[aeiou])", re.IGNORECASE)
MAX_ATTEMPTS = 1000

WordLists = Mapping[str, Mapping[str, Sequence[str]]]


@dataclass(frozen=True)
class Frame:
    """One sentence pattern.

    Attributes:
        id: topic and number, for example ``"work-07"``; bootstrap intervals may cluster by it.
        topic: what it speaks of.
        text: the pattern, with ``{content}`` and, unless it is a plain sentence, ``[male|female]`` slots.
    """

    id: str
    topic: str
    text: str


def rank(*parts: object) -> int:
    """A reproducible pseudo-random number in [0, 2**64) that depends on the parts only."""
    digest = blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


@cache
def stored(name: str) -> Any:
    """What a JSON file of this folder holds; whoever changes it changes it for all."""
    return json.loads(files("hf_fairness.demo").joinpath(name).read_text(encoding="utf-8"))


@cache
def load_frames(name: str) -> tuple[tuple[Frame, ...], WordLists]:
    """Read a data file of this folder: its frames in file order, and its word lists by topic."""
    data = stored(name)
    return tuple(Frame(**frame) for frame in data["frames"]), data["lists"]


def slot_options(frame: Frame, lists: WordLists) -> list[tuple[str, list[str]]]:
    """The content slots of a frame, left to right: what is written in the slot, and its options.

    Raises:
        ValueError: a slot names a word list that neither the topic nor the common lists hold.
    """

    def look_up(name: str) -> list[str]:
        for owner in (frame.topic, "common"):
            if name in lists.get(owner, {}):
                return list(lists[owner][name])
        raise ValueError(f"Frame {frame.id}: no word list {name!r} for topic {frame.topic!r} or 'common'.")

    slots = []
    for slot in CONTENT_SLOT.findall(frame.text):
        options: list[str] = []
        for option in slot.split("/"):
            options += look_up(option[1:]) if option.startswith("@") else [option]
        slots.append((slot, options))
    return slots


def fillings(frame: Frame, lists: WordLists, number: int, *, seed: int = 0) -> list[str]:
    """Choose the content of a frame ``number`` times; the group slots stay open.

    Each slot walks through seeded permutations of its options, so options are used about equally often; a
    filling that repeats an earlier one, or one value in two slots of the same name, is drawn again.

    Args:
        frame: the pattern.
        lists: word lists by topic.
        number: how many different fillings.
        seed: changes every choice.

    Returns:
        ``number`` different strings that still hold their ``[..|..]`` slots.

    Raises:
        ValueError: the frame has fewer different fillings than asked for.
    """
    slots = slot_options(frame, lists)
    chosen: list[str] = []
    for index in range(number):
        for attempt in range(MAX_ATTEMPTS):
            words = []
            for position, (_, options) in enumerate(slots):
                cycle, step = divmod(index, len(options))
                key = (seed, frame.id, position, cycle, attempt)
                words.append(sorted(options, key=lambda word, key=key: rank(*key, word))[step])  # type: ignore[misc]
            names = [(slot, word) for (slot, _), word in zip(slots, words, strict=True)]
            rest = iter(words)
            text = CONTENT_SLOT.sub(lambda _, rest=rest: next(rest), frame.text)  # type: ignore[misc]
            if len(set(names)) == len(names) and text not in chosen:
                chosen.append(text)
                break
        else:
            raise ValueError(
                f"Frame {frame.id}: got {len(chosen)} different fillings, expected {number}; add options to its slots."
            )
    return chosen


def realize(text: str, group: int) -> str:
    """Write a filled frame for one group: pick its forms, settle a / an, start with a capital letter.

    Args:
        text: a filled frame.
        group: position of the group in every ``[..|..]`` slot.

    Returns:
        The finished sentence.
    """
    text = GROUP_SLOT.sub(lambda match: match.group(1).split("|")[group], text)
    text = ARTICLE.sub(lambda match: f"{indefinite_article(match[1], match[2])} {match[2]}", text)
    start = re.search(r"\w", text)
    assert start is not None
    return text[: start.start()] + text[start.start()].upper() + text[start.end() :]


def indefinite_article(article: str, word: str) -> str:
    """``a`` or ``an`` before a word, by its first sound; the case of the given article is kept."""
    vowel = VOWEL_SOUND.match(word) is not None and CONSONANT_SOUND.match(word) is None
    return article + ("n" if vowel else "")
