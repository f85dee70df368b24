"""A text cut into tokens with their offsets: what the grammar rules look at."""

from __future__ import annotations

import re
from bisect import bisect_right

from hf_fairness.augment import english as en

_TOKEN = re.compile(r"\w+(?:['’\-‑]\w+)*|[^\w\s]")
_ENDS = frozenset(".!?;…")
_OPENING = frozenset("\"“‘'([{«")
_CLOSING = frozenset("\"”’')]}»")


class Scan:
    """Tokens of one text. A token is a word with its inner hyphens and apostrophes, or one sign.

    Attributes:
        text: the text.
        words: tokens as written.
        lower: tokens in lower case with straight apostrophes.
        starts: offset of each token.
        ends: offset after each token.
    """

    __slots__ = ("_title_case", "ends", "lower", "starts", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        spans = [match.span() for match in _TOKEN.finditer(text)]
        self.words = [text[start:end] for start, end in spans]
        lower = text.lower().replace("’", "'")
        if len(lower) == len(text):
            self.lower = [lower[start:end] for start, end in spans]
        else:  # a few letters grow in lower case
            self.lower = [word.lower().replace("’", "'") for word in self.words]
        self.starts = [span[0] for span in spans]
        self.ends = [span[1] for span in spans]
        self._title_case: bool | None = None

    def __len__(self) -> int:
        return len(self.words)

    def at(self, position: int) -> int:
        """Index of the token that holds the character at a position."""
        return bisect_right(self.starts, position) - 1

    def low(self, index: int) -> str:
        """Lower-case token, ``""`` outside the text."""
        return self.lower[index] if 0 <= index < len(self.lower) else ""

    def is_word(self, index: int) -> bool:
        """Whether there is a token and it is a word or a number."""
        return 0 <= index < len(self.words) and (self.words[index][0].isalnum() or self.words[index][0] == "_")

    def is_end(self, index: int) -> bool:
        """Whether the sentence ends at this token, or the text before it; *Mr.* ends none."""
        if not 0 <= index < len(self.words):
            return True
        token = self.words[index]
        return token in _ENDS and not (token == "." and self.low(index - 1) in en.ABBREVIATED_TITLES)

    def opens(self, index: int) -> bool:
        """Whether the token is an opening quote or bracket (a space before it, none after)."""
        if not 0 <= index < len(self.words) - 1 or self.words[index] not in _OPENING:
            return False
        before = index == 0 or self.ends[index - 1] < self.starts[index]
        return before and self.ends[index] == self.starts[index + 1]

    def initial(self, index: int) -> bool:
        """Whether a sentence, a quotation or a line begins with this token."""
        k = index - 1
        while k >= 0 and (self.words[k] in _OPENING or self.words[k] in _CLOSING or self.words[k] in "-–—*•:#"):
            k -= 1
            if self.words[k + 1] in _OPENING | {":", "-", "–", "—", "*", "•", "#"}:
                return True
        return k < 0 or self.is_end(k) or "\n" in self.text[self.ends[k] : self.starts[index]]

    def capital(self, index: int) -> bool:
        """Whether the token begins with a capital letter."""
        return 0 <= index < len(self.words) and self.words[index][0].isupper()

    def adjacent(self, index: int) -> bool:
        """Whether only blanks (of one line) stand between this token and the next."""
        if not 0 <= index < len(self.words) - 1:
            return False
        gap = self.text[self.ends[index] : self.starts[index + 1]]
        return gap.isspace() and "\n" not in gap

    @property
    def title_case(self) -> bool:
        """Whether the text is a headline in capitals or in title case: there, a capital says nothing."""
        if self._title_case is None:
            long = [word for word in self.words if len(word) > 3 and word[0].isalpha() and word not in en.SMALL_WORDS]
            capital = sum(word[0].isupper() for word in long)
            self._title_case = (len(long) >= 3 and capital >= 0.9 * len(long)) or self.text.isupper()
        return self._title_case

    def sentence_has(self, index: int, sign: str) -> bool:
        """Whether the sentence that holds this token ends with a sign."""
        k = index
        while not self.is_end(k):
            k += 1
        return self.low(k) == sign
