"""Whether a text can be read: no replacement signs, control characters, halves of surrogate pairs or mojibake."""

from __future__ import annotations

import re

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
        >>> from hf_fairness.filters.encoding import readable
        >>> [readable(text) for text in ("Très bien", "TrÃ¨s bien", "Tr\ufffds bien", "a\x00b")]
        [True, False, False, False]
    """
    return (_UNREADABLE_ASCII if text.isascii() else _UNREADABLE).search(text) is None
