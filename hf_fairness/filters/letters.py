"""What the taggers share that read the letters of each word by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hf_fairness.filters.protocol import Genders


@dataclass(frozen=True)
class LetterTagger:
    """Genders of words by one of several rules of a language; subclasses name the language and its rules.

    Args:
        rules: one of ``RULES``.

    Raises:
        ValueError: no such rules.
    """

    rules: str = "words"

    lang: ClassVar[str]
    RULES: ClassVar[Mapping[str, Callable[[str], Genders]]]

    def __post_init__(self) -> None:
        if self.rules not in self.RULES:
            raise ValueError(f"rules is one of {', '.join(self.RULES)}; got {self.rules!r}.")

    @property
    def name(self) -> str:
        """What results state."""
        return f"last letters ({self.lang}, {self.rules} rules)"

    def genders(self, sentences: Sequence[Sequence[str]]) -> list[list[Genders]]:
        """Genders of every token: see :class:`hf_fairness.filters.GenderTagger`."""
        rule = self.RULES[self.rules]
        return [[rule(token) for token in sentence] for sentence in sentences]
