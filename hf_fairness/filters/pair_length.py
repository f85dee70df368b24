"""Pairs that no translator should learn from: unreadable, empty, too long, or of unlike length."""

from __future__ import annotations

import functools
import re
from unicodedata import category

from hf_fairness.maps import MISSING, MapFunction, Row, Texts

#: Control characters of ASCII but tab and line ends.
_CONTROLS = "\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f"
#: Further controls but the line end, halves of surrogate pairs, codes that are no characters, the replacement sign.
_NO_TEXT = _CONTROLS + "\\x80-\\x84\\x86-\\x9f\\ud800-\\udfff\\ufdd0-\\ufdef\\ufffd-\\uffff"
#: The bytes 80 to BF as Windows-1252 shows them; what follows the first byte of a letter in UTF-8.
_TAIL = "".join(bytes([byte]).decode("cp1252", "ignore") for byte in range(0x80, 0xC0))
_UNREADABLE = re.compile(
    f"[{_NO_TEXT}]"
    f"|[ÂÃ][{_TAIL}]"  # accents and signs
    "|â€"  # quotes and dashes
    f"|(?:[ÐÑ][{_TAIL}]){{2}}"  # Cyrillic
    f"|(?:×[{_TAIL}]){{2}}"  # Hebrew
)
_UNREADABLE_ASCII = re.compile(f"[{_CONTROLS}]")


def readable(text: str) -> bool:
    r"""Whether nothing in a text says that it was decoded wrongly.

    Beside characters that no text has, this looks for UTF-8 that was read as Latin-1 or Windows-1252, by pairs of
    letters that no language writes. Another encoding that came out as ordinary letters is not seen.

    Example:
        >>> from hf_fairness.filters.pair_length import readable
        >>> [readable(text) for text in ("Très bien", "TrÃ¨s bien", "Tr\ufffds bien", "a\x00b")]
        [True, False, False, False]
    """
    return (_UNREADABLE_ASCII if text.isascii() else _UNREADABLE).search(text) is None


@functools.cache
def _tokens() -> re.Pattern[str]:
    """Words, and single signs; an elided word keeps its apostrophe: *l'* and *amica*.

    Part of a word though no letter: accents of decomposed texts, vowel signs (Hindi), joiners (Persian), hyphens that
    are not shown.
    """
    marks = "".join(sign for sign in map(chr, range(0x300, 0xFE30)) if category(sign)[0] == "M")
    return re.compile(rf"[\w\u00ad\u200c\u200d{marks}]+['’]?|[^\w\s]")


class PairLength(MapFunction):
    """Say of each pair why it is dropped, and ``""`` where it is kept.

    Tokens are runs of letters and digits, and single signs. The first reason that holds is given: ``"encoding"`` (a
    side was decoded wrongly: see :func:`readable`), ``"empty"`` (a side without tokens),
    ``"too_long"``, ``"length_ratio"``.

    Args:
        source_column: column of the source texts.
        target_column: column of the translations; None: texts that have none, which are looked at alone.
        max_tokens: most tokens of either side.
        max_ratio: most tokens of the longer side for each of the shorter one.
        output_column: the column that is added.
        on_missing: what to do about a row that lacks a text: ``"skip"`` gives it the reason
            ``"missing"``, ``"error"`` refuses it.

    Raises:
        TypeError: a text is none (at the call, with row and column).
        ValueError: a limit below 1, a column that is missing, or one that would be overwritten.

    Source:
        Choubey et al. 2021, appendix A: over 250 words, ratio over 1.5.

    Example:
        >>> from hf_fairness.filters import PairLength
        >>> rows = {"source": ["She left.", "Yes", ""], "target": ["Se n'è andata.", "Sì, certo!", "x"]}
        >>> PairLength(max_ratio=2.5)(rows)["length_reason"]
        ['', 'length_ratio', 'empty']
    """

    def __init__(
        self,
        source_column: str = "source",
        target_column: str | None = "target",
        *,
        max_tokens: int = 250,
        max_ratio: float = 1.5,
        output_column: str = "length_reason",
        on_missing: str = "skip",
    ) -> None:
        columns = (source_column,) if target_column is None else (source_column, target_column)
        super().__init__(columns, on_missing=on_missing)
        if not max_tokens >= 1 or not max_ratio >= 1:
            raise ValueError(f"max_tokens and max_ratio must be at least 1; got {max_tokens!r} and {max_ratio!r}.")
        self.max_tokens, self.max_ratio = max_tokens, max_ratio
        self.output_column = output_column

    def outputs(self) -> dict[str, str]:
        """The column that is added, with its type."""
        return {self.output_column: "string"}

    def missing(self, texts: Texts) -> Row:
        """The reason of a row that lacks a text."""
        return {self.output_column: MISSING}

    def rewrite(self, texts: Texts, key: str) -> Row:
        """The reason for one pair."""
        return {self.output_column: self._reason(texts)}

    def _reason(self, texts: Texts) -> str:
        if not all(map(readable, texts)):
            return "encoding"
        lengths = [len(_tokens().findall(text)) for text in texts]
        if not min(lengths):
            return "empty"
        if max(lengths) > self.max_tokens:
            return "too_long"
        return "length_ratio" if max(lengths) > self.max_ratio * min(lengths) else ""
