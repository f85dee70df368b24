"""What a rewrite changed, found word by word, in the layout of an ``edits`` column."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping

from hf_fairness.attributes import Attribute
from hf_fairness.attributes.model import NEUTRAL

#: Words (with their apostrophes), spaces, and single other characters: together every character of a text.
_TOKEN = re.compile(r"\w+(?:['’]\w+)*|\s+|[^\w\s]")
#: Longer texts are compared from both ends only: exact matching takes time quadratic in the length.
MOST_TOKENS = 4000


def tokens(text: str) -> list[str]:
    """Words, spaces and marks of a text; joined they are the text."""
    return _TOKEN.findall(text)


def changes(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """Ranges of tokens that differ, as (start, end) in the old and (start, end) in the new list."""
    if max(len(old), len(new)) <= MOST_TOKENS:
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        return [(a, b, c, d) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal"]
    shortest, head = min(len(old), len(new)), 0
    while head < shortest and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shortest - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    span = (head, len(old) - tail, head, len(new) - tail)
    return [] if span[0] == span[1] and span[2] == span[3] else [span]


def kept_words(old: list[str], new: list[str]) -> float:
    """Share of the words of the old text that stand in the new one, in order; 1 for a text without words."""
    total = sum(map(_is_word, old))
    lost = sum(_is_word(token) for a, b, _, _ in changes(old, new) for token in old[a:b])
    return 1.0 - lost / total if total else 1.0


def variant_edits(text: str, variants: Mapping[str, str], attribute: Attribute) -> str:
    """The edits that lead from a text to its variants, as the JSON string of an ``edits`` column.

    Args:
        text: the source.
        variants: name of a group, or ``"neutral"`` -> variant.
        attribute: tells the group of what was replaced.

    Returns:
        A list of span, from, to and direction; ``"[]"`` where nothing changed. What replaced no word of the
        attribute (a verb, a name) carries the polarity of the text.

    Example:
        >>> from hf_fairness.attributes import load_attribute
        >>> variant_edits("She left.", {"male": "He left."}, load_attribute("gender"))
        '[{"span": [0, 3], "from": "She", "to": "He", "direction": "female->male"}]'
    """
    old = tokens(text)
    offsets = [0]
    for token in old:
        offsets.append(offsets[-1] + len(token))
    polarity, items = attribute.polarity(text), []
    for name, variant in variants.items():
        new = tokens(variant)
        for a, b, c, d in changes(old, new):
            start, end = offsets[a], offsets[b]
            source = text[start:end]
            group = attribute.polarity(source)
            way = f"{polarity if group == NEUTRAL else group}->{name}"
            items.append({"span": [start, end], "from": source, "to": "".join(new[c:d]), "direction": way})
    return json.dumps(items, ensure_ascii=False)


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"
