"""Words of a text that may be replaced, which of them are drawn, and the text with other words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from hf_fairness.attributes import Attribute
from hf_fairness.augment import english
from hf_fairness.augment.agreement import takes_an
from hf_fairness.augment.engine import engine_for
from hf_fairness.maps import row_draw

#: English words that hold a sentence together. Another one in their place breaks the grammar, or (*not*, *all*,
#: *without*) turns the meaning, so they are neither replaced nor put in.
FUNCTION_WORDS = english.words(
    "a about above across after again against all almost along already also although always am among an and "
    "another any anybody anyone anything are around as at away be because been before behind being below beneath "
    "beside besides between beyond both but by can could did do does doing done down during each either else "
    "enough even ever every everybody everyone everything except few for forth from had has have having he hence "
    "her here hers herself him himself his how however i if in indeed inside instead into is it its itself just "
    "least less like many may maybe me might mine more moreover most much must my myself near neither never "
    "nevertheless no nobody none nonetheless nor not nothing notwithstanding now nowhere of off often on once one "
    "only onto or other others otherwise ought our ours ourselves out outside over own past per perhaps quite "
    "rather same shall she should since so some somebody someone something sometimes somewhere soon still such "
    "than that the their theirs them themselves then there therefore these they this those though through "
    "throughout thus till to together too toward towards under unless until up upon us very was we were what "
    "whatever when where whereas whether which while who whom whose why will with within without would yet you "
    "your yours yourself yourselves"
)

_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_ARTICLE = re.compile(r"\b([Aa][Nn]?)(\s+)$")


class Word(NamedTuple):
    """A word and its place in the text."""

    start: int
    end: int
    text: str


def words_of(text: str) -> list[Word]:
    """Every word of a text, with its inner hyphens and apostrophes."""
    return [Word(match.start(), match.end(), match[0]) for match in _WORD.finditer(text)]


def replaceable(text: str, words: Sequence[Word], protect: Attribute | None) -> list[Word]:
    """Content words in small letters that are no terms of a protected attribute.

    Capitals are left out: without a tagger nothing tells a name from the first word of a sentence.
    """
    kept = [word for word in words if word.text.islower() and word.text.isalpha() and len(word.text) > 1]
    kept = [word for word in kept if word.text not in FUNCTION_WORDS]
    if protect is None or not kept:
        return kept
    spans = [(hit.start, hit.end) for hit in engine_for(protect).find(text)[0]]
    return [word for word in kept if not any(word.start < end and start < word.end for start, end in spans)]


def is_term(word: str, protect: Attribute | None) -> bool:
    """Whether a word belongs to a group of a protected attribute, so that it may not be put in."""
    return protect is not None and (protect.group_of(word) is not None or bool(protect.inherent_in(word)))


def draw(words: Sequence[Word], total: int, rate: float, seed: int, key: str) -> list[Word]:
    """Some of the words, in the order of the text: a share ``rate`` of ``total``, at least one if there is one."""
    count = max(1, int(rate * total + 0.5))
    ranked = sorted(words, key=lambda word: row_draw(seed, f"{key}\x1f{word.start}"))
    return sorted(ranked[:count])


def replace(text: str, changes: Sequence[tuple[Word, str]]) -> str:
    """The text with other words; *a* or *an* before them follows."""
    pieces: list[str] = []
    done = 0
    for word, new in sorted(changes):
        between = text[done : word.start]
        article = _ARTICLE.search(between)
        if article and takes_an(word.text) != takes_an(new):
            wanted = article[1][0] + ("n" if takes_an(new) else "")
            between = between[: article.start()] + wanted + article[2]
        pieces += [between, new]
        done = word.end
    return "".join([*pieces, text[done:]])
