"""Any language through a table of forms in the format of UniMorph."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

from hf_fairness.filters.protocol import FEMALE, MALE, NEUTRAL, NONE, Genders, bare

#: Features of the UniMorph schema.
_GENDERS = {"MASC": MALE, "FEM": FEMALE, "NEUT": NEUTRAL}


@dataclass(frozen=True)
class LexiconTagger:
    """Genders of a form in a TSV file with the columns lemma, form, features (``N;FEM;SG``).

    Case is ignored; forms that are not in the file have no gender. UniMorph files of nouns often leave the gender
    out: the file is refused when no line has one.

    Args:
        path: the file, in UTF-8.
        lang: code of the language, stated in the name.

    Raises:
        FileNotFoundError: no such file (at the first call).
        ValueError: a line without three columns, or no gender in the whole file.
    """

    path: str
    lang: str = ""

    @property
    def name(self) -> str:
        """File and language."""
        return f"lexicon {Path(self.path).name} ({self.lang or 'unnamed language'})"

    def genders(self, sentences: Sequence[Sequence[str]]) -> list[list[Genders]]:
        """Genders of every token: see :class:`hf_fairness.filters.GenderTagger`."""
        path = Path(self.path)
        if not path.is_file():
            raise FileNotFoundError(f"Lexicon {path} does not exist (looked from {Path.cwd()}).")
        table = _table(str(path.resolve()), path.stat().st_mtime_ns)
        return [[table.get(bare(token).casefold(), NONE) for token in sentence] for sentence in sentences]


@functools.lru_cache(maxsize=4)
def _table(path: str, _changed: int) -> dict[str, Genders]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    with Path(path).open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            columns = normalize("NFC", line.rstrip("\r\n")).split("\t")
            if columns == [""]:
                continue
            if len(columns) < 3:
                raise ValueError(f"{path}, line {number}: expected lemma, form and features with tabs, got {line!r}.")
            found[columns[1].casefold()].update(
                _GENDERS[feature] for feature in columns[2].split(";") if feature in _GENDERS
            )
    if not any(found.values()):
        raise ValueError(f"{path} has no line with {', '.join(_GENDERS)}: it says nothing about gender.")
    return {form: frozenset(genders) for form, genders in found.items()}
