"""A text cut into tokens with their offsets: what the grammar rules look at."""

from __future__ import annotations

import functools
import itertools
import re
from bisect import bisect_right

from hf_fairness.augment import english as en
from hf_fairness.augment.headlines import capitals_and_headlines
from hf_fairness.augment.prose import Span, blanked, no_prose, touches

TOKEN = re.compile(r"(\w++(?:['’\-‑]\w++)*+|[^\w\s])")
_ENDS = frozenset(".!?;…")
_OPENING = frozenset("\"“‘'([{«")
_LEADING = frozenset("-–—*•·|:#")
_CLOSING = frozenset("\"”’')]}»")


def lower_case(text: str) -> str:
    """The text in lower case, as long as it was: the few letters that grow are left as they are."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)


class Scan:
    """Tokens of one text. A token is a word with its inner hyphens and apostrophes, or one sign.

    Tags and signs of emphasis are read as blanks, so that *<b>her</b> book* is read as *her book* is.

    Attributes:
        text: the text.
        read: the text with blanks for tags and signs of emphasis.
        lower: tokens in lower case with straight apostrophes.
        starts: offset of each token.
        ends: offset after each token.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.read = blanked(text)
        lower = lower_case(self.read).replace("’", "'")
        pieces = TOKEN.split(lower)  # gap, token, gap, ..., gap
        places = list(itertools.accumulate(map(len, pieces)))
        self.lower = pieces[1::2]
        self.starts = places[:-1:2]
        self.ends = places[1::2]

    @functools.cached_property
    def words(self) -> list[str]:
        """Tokens as written."""
        return [self.text[start:end] for start, end in zip(self.starts, self.ends, strict=True)]

    def __len__(self) -> int:
        return len(self.lower)

    @functools.cached_property
    def no_prose(self) -> list[Span]:
        """The places of the text that are no prose."""
        return no_prose(self.text)

    def in_prose(self, start: int, end: int) -> bool:
        """Whether a place lies in prose."""
        return not touches(self.no_prose, start, end)

    def at(self, position: int) -> int:
        """Index of the token that holds the character at a position."""
        return bisect_right(self.starts, position) - 1

    def low(self, index: int) -> str:
        """Lower-case token, ``""`` outside the text."""
        return self.lower[index] if 0 <= index < len(self.lower) else ""

    def is_word(self, index: int) -> bool:
        """Whether there is a token and it is a word or a number."""
        return 0 <= index < len(self.lower) and (self.lower[index][0].isalnum() or self.lower[index][0] == "_")

    @functools.cached_property
    def sentence_ends(self) -> list[int]:
        """For each token the first one, from it on, at which its sentence ends; the number of tokens if none does."""
        ends = [len(self.lower)] * (len(self.lower) + 1)
        for index in range(len(self.lower) - 1, -1, -1):
            ends[index] = index if self.is_end(index) else ends[index + 1]
        return ends

    def is_end(self, index: int) -> bool:
        """Whether the sentence ends at this token, or the text before it; *Mr.* ends none."""
        if not 0 <= index < len(self.lower):
            return True
        token = self.lower[index]
        return token in _ENDS and not (token == "." and self.low(index - 1) in en.ABBREVIATED_TITLES)

    def opens(self, index: int) -> bool:
        """Whether the token is an opening quote or bracket (a space before it, none after)."""
        if not 0 <= index < len(self.lower) - 1 or self.lower[index] not in _OPENING:
            return False
        before = index == 0 or self.ends[index - 1] < self.starts[index]
        return before and self.ends[index] == self.starts[index + 1]

    def initial(self, index: int) -> bool:
        """Whether a sentence, a quotation or a line begins with this token."""
        k = index - 1
        while k >= 0 and (self.lower[k] in _OPENING or self.lower[k] in _CLOSING or self.lower[k] in _LEADING):
            k -= 1
            if self.lower[k + 1] in _OPENING | _LEADING:
                return True
        return k < 0 or self.is_end(k) or "\n" in self.read[self.ends[k] : self.starts[index]]

    def capital(self, index: int) -> bool:
        """Whether the token begins with a capital letter."""
        return 0 <= index < len(self.lower) and self.text[self.starts[index]].isupper()

    def adjacent(self, index: int) -> bool:
        """Whether only blanks (of one line) stand between this token and the next."""
        if not 0 <= index < len(self.lower) - 1:
            return False
        gap = self.read[self.ends[index] : self.starts[index + 1]]
        return gap.isspace() and "\n" not in gap

    @functools.cached_property
    def _headlines(self) -> tuple[bytearray, bytearray]:
        return capitals_and_headlines(self)

    def in_capitals(self, index: int) -> bool:
        """Whether the token stands in a text, a line or a sentence in capitals."""
        return bool(self._headlines[0][index])

    def in_headline(self, index: int) -> bool:
        """Whether the token stands in a headline in capitals or in title case: there, a capital says nothing."""
        return bool(self._headlines[1][index])

    def sentence_has(self, index: int, sign: str) -> bool:
        """Whether the sentence that holds this token ends with a sign."""
        return self.low(self.sentence_ends[index] if 0 <= index < len(self.lower) else index) == sign
