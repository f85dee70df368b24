"""German by its articles, pronouns and endings, with or without a dictionary of nouns."""

from __future__ import annotations

import csv
import functools
import importlib.util
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hf_fairness.filters.protocol import FEMALE, MALE, NEUTRAL, NONE, Genders, bare, word_set
from hf_fairness.utils import package_versions, require

_M, _F = frozenset({MALE}), frozenset({FEMALE})
_MN, _MF, _N = frozenset({MALE, NEUTRAL}), frozenset({MALE, FEMALE}), frozenset({NEUTRAL})

_EIN = {"": _MN, "e": _F, "en": _M, "em": _MN, "er": _F, "es": _MN}
_DIES = {"er": _MF, "e": _F, "es": _MN, "en": _M, "em": _MN}
_EIN_STEMS = ("ein", "kein", "mein", "dein", "sein", "unser")
_DIES_STEMS = ("dies", "jen", "jed", "welch", "manch")
#: Genders of the singular, by form. "der" is masculine, or feminine in the genitive and dative.
ARTICLES: dict[str, Genders] = {
    **{stem + ending: genders for stem in _EIN_STEMS for ending, genders in _EIN.items()},
    **{stem + ending: genders for stem in _DIES_STEMS for ending, genders in _DIES.items()},
    **{"der": _MF, "die": _F, "das": _N, "den": _M, "dem": _MN, "des": _MN},
    **{"zum": _MN, "beim": _MN, "vom": _MN, "im": _MN, "am": _MN, "zur": _F},
}
#: Of the third person.
PRONOUNS: dict[str, Genders] = {"er": _M, "ihn": _M, "ihm": _MN, "sie": _F, "es": _N}
#: Endings of nouns for women.
_FEMININE = tuple(word_set("in innen frau schwester mutter tochter dame kraft hilfe wache hebamme"))
#: Endings of nouns for men, with those of the other cases.
_MASCULINE = tuple(
    word_set(
        "er ers ern or ors eur eurs ist isten ent enten ant anten är ärs oge ogen ekt ekten ar ars mann mannes wirt "
        "koch arzt arztes chef chefs anwalt anwalts kunde kunden ling lings"
    )
)
#: Endings of nouns declined like adjectives, for men and women.
_OPEN = ("te", "ten", "de", "den")
#: Ends of nouns in -in and -er that mean no person.
_THINGS = tuple(
    word_set(
        "termin magazin medizin benzin berlin kamin ruin disziplin wein bein stein schein "
        "zimmer fenster messer wasser nummer oper feier leder papier klavier steuer"
    )
)


@dataclass(frozen=True)
class GermanTagger:
    """Genders of German words.

    An article has the genders of the singular that its form can have. The ending of the adjective after it, or of a
    noun declined like one, settles "der" (der Angestellte, der Angestellten) and shows that "die" is plural (die
    Angestellten), as a masculine noun does (die Lehrer); a plural article has no gender. Nouns go by their endings
    (-in, -frau; -er, -ist ...), which fits words for persons: take ``nouns="german-nouns"`` or spaCy to count the
    genders of whole sentences.

    Args:
        nouns: ``"endings"``, or ``"german-nouns"`` for the dictionary of that package, where a compound that it does
            not hold has the gender of its last part, and endings help for the rest.

    Raises:
        ValueError: no such ``nouns``.
        ImportError: german-nouns is not installed (at the first call).

    Source:
        The dictionary: Wiktionary (CC BY-SA), in the package german-nouns, which you install. The tables are ours.

    Example:
        >>> from hf_fairness.filters.german import GermanTagger
        >>> [sorted(genders) for genders in GermanTagger().genders([["der", "Ärztin", "und", "dem", "Designer"]])[0]]
        [['female', 'male'], ['female'], [], ['male', 'neutral'], ['male']]
    """

    nouns: str = "endings"

    def __post_init__(self) -> None:
        if self.nouns not in ("endings", "german-nouns"):
            raise ValueError(f"nouns is 'endings' or 'german-nouns'; got {self.nouns!r}.")

    @property
    def name(self) -> str:
        """What results state."""
        return " ".join(["articles and", self.nouns, *package_versions([self.nouns]).values(), "(de)"])

    def genders(self, sentences: Sequence[Sequence[str]]) -> list[list[Genders]]:
        """Genders of every token: see :class:`hf_fairness.filters.GenderTagger`."""
        return [self._sentence([bare(token) for token in sentence]) for sentence in sentences]

    def _sentence(self, words: list[str]) -> list[Genders]:
        return [self._word(word, words[place + 1 : place + 3]) for place, word in enumerate(words)]

    def _word(self, word: str, after: list[str]) -> Genders:
        lower = word.lower()
        if lower in ARTICLES:
            return self._article(lower, after)
        if lower in PRONOUNS:
            return PRONOUNS[lower]
        return self._noun(word)

    def _noun(self, word: str) -> Genders:
        if not word[:1].isupper():
            return NONE
        known = _in_dictionary(word.lower()) if self.nouns == "german-nouns" else NONE
        return known or by_ending(word.lower())

    def _article(self, article: str, after: list[str]) -> Genders:
        """Genders of an article before a noun, or an adjective and a noun; their endings settle "der" and "die"."""
        if article not in ("der", "die") or not after:
            return ARTICLES[article]
        adjective = len(after) > 1 and after[0].islower() and after[1][:1].isupper() and after[0] not in ARTICLES
        of_noun = self._noun(after[1] if adjective else after[0])
        ending = after[0][-2:] if adjective or (of_noun == _MF and after[0].endswith(_OPEN)) else ""
        if article == "der":
            return _M if ending.endswith("e") else _F if ending == "en" else _MF
        plural = ending == "en" or (of_noun and FEMALE not in of_noun)
        return NONE if plural else _F


def by_ending(lower: str) -> Genders:
    """Genders of a noun, in lower case, by its ending: fits nouns for persons."""
    if len(lower) < 4 or lower.endswith(_THINGS):
        return NONE
    if lower.endswith(_FEMININE):
        return _F
    if lower.endswith(_MASCULINE):
        return _M
    return _MF if lower.endswith(_OPEN) else NONE


@functools.lru_cache(maxsize=1 << 16)
def _in_dictionary(lower: str) -> Genders:
    """Genders of the longest end of the word, of five letters or more, that the dictionary holds."""
    nouns = dictionary()
    ends = [lower] + [lower[start:] for start in range(1, len(lower) - 4)]
    found = (nouns.singular.get(end, NONE) | nouns.plural.get(end, NONE) for end in ends)
    return next(filter(None, found), NONE)


@dataclass(frozen=True)
class Nouns:
    """What the dictionary holds, in lower case.

    Attributes:
        singular: genders by form of the singular.
        plural: the same by form of the plural.
        names: of persons and places, which are spelled like nouns of any gender.
        first_names: those that stand before another name.
    """

    singular: dict[str, Genders]
    plural: dict[str, Genders]
    names: frozenset[str]
    first_names: frozenset[str]


#: Kinds of entries of the dictionary that are names.
_NAMES = frozenset({"Vorname", "Nachname", "Familienname", "Straßenname", "Toponym"})


@functools.lru_cache(maxsize=1)
def dictionary() -> Nouns:
    """Every form of every noun; the columns of a second gender are numbered like its forms.

    Raises:
        ImportError: german-nouns is not installed.
    """
    require("german_nouns.config")
    spec = importlib.util.find_spec("german_nouns")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("german_nouns has no folder: install it anew.")
    codes = {"m": MALE, "f": FEMALE, "n": NEUTRAL}
    singular, plural = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    names: dict[str, set[str]] = {}
    path = Path(next(iter(spec.submodule_search_locations))) / "nouns.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        header = next(rows)
        gender_of = [
            (
                index,
                header.index(f"genus {column[-1]}" if column[-1].isdigit() else "genus"),
                plural if "plural" in column else singular,
            )
            for index, column in enumerate(header)
            if column.startswith(("nominativ", "genitiv", "dativ", "akkusativ"))
        ]
        lemma, kinds, first = (header.index(column) for column in ("lemma", "pos", "genus"))
        for row in rows:
            if named := _NAMES.intersection(row[kinds].split(",")):
                names.setdefault(row[lemma].lower(), set()).update(named)
                continue
            if row[first] in codes:
                singular[row[lemma].lower()].add(codes[row[first]])
            for index, gender, forms in gender_of:
                if row[index] and row[gender] in codes:
                    forms[row[index].lower()].add(codes[row[gender]])
    return Nouns(
        singular={form: frozenset(genders) for form, genders in singular.items()},
        plural={form: frozenset(genders) for form, genders in plural.items()},
        names=frozenset(names),
        first_names=frozenset(name for name, sorts in names.items() if "Vorname" in sorts),
    )
