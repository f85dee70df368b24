"""What is known of each language: its taggers, and its rules for the gender of a person in a translation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from hf_fairness.filters.apertium import ApertiumTagger
from hf_fairness.filters.arabic import ArabicTagger
from hf_fairness.filters.decide import Agreement, AnyFeminine, MajorityVote, NearestArticle, Rule
from hf_fairness.filters.german import ARTICLES, GermanTagger
from hf_fairness.filters.german_sentences import GermanSentenceTagger
from hf_fairness.filters.hebrew import HebrewTagger
from hf_fairness.filters.protocol import FEMALE, MALE, NEUTRAL, UNKNOWN, GenderTagger, word_set
from hf_fairness.filters.pymorphy import PymorphyTagger
from hf_fairness.filters.spacy_morph import SpacyMorphTagger


@dataclass(frozen=True)
class Language:
    """Taggers by kind, the default first; our rules, WinoMT's of 2019, and its of August 2020 where they differ."""

    taggers: Mapping[str, Callable[[], GenderTagger]]
    agreement: Rule
    original: Rule
    original_2020: Rule | None = None

    @property
    def rules(self) -> dict[str, Rule]:
        """The rules by name."""
        late = self.original_2020 or self.original
        return {"agreement": self.agreement, "original": self.original, "original_2020": late}


#: The table of the released code of Stanovsky et al. 2019 (words are facts; "den" is not in it). Possessives of a
#: woman and "das" count as neutral there.
_WINOMT_GERMAN = {
    **dict.fromkeys(word_set("der ein dem einen des er seiner ihn seinen ihm ihren seinem ihrem sein"), MALE),
    **dict.fromkeys(word_set("die eine einer sie seine ihrer"), FEMALE),
    **dict.fromkeys(word_set("ihr ihre das jemanden"), NEUTRAL),
}


def _slavic(lang: str, indefinite: str) -> Language:
    readings = {"pymorphy3": "best", "pymorphy3-all": "all", "pymorphy3-person": "person"}
    return Language(
        taggers={kind: partial(PymorphyTagger, lang, readings=which) for kind, which in readings.items()},
        agreement=Agreement("pymorphy3-person", indefinite=word_set(indefinite)),
        original=MajorityVote("pymorphy3-all", first=(FEMALE, MALE), neutral_votes=True),
    )


def _romance(lang: str, articles: str, indefinite: str, settled: Mapping[str, str] | None = None) -> Language:
    return Language(
        taggers={"apertium": partial(ApertiumTagger, lang), "spacy": partial(SpacyMorphTagger, lang)},
        agreement=Agreement(
            "apertium", articles=word_set(articles), indefinite=word_set(indefinite), settled=settled or {}
        ),
        original=MajorityVote("apertium"),
    )


#: By two-letter code.
LANGUAGE_TABLE: dict[str, Language] = {
    "ar": Language(
        taggers={"letters": ArabicTagger, "winomt": partial(ArabicTagger, "winomt")},
        agreement=Agreement("letters", indefinite=word_set("أحد أحدهم شخص شخصا")),
        original=AnyFeminine("winomt", unaligned=MALE),
        original_2020=AnyFeminine("winomt", unaligned=UNKNOWN),
    ),
    "de": Language(
        taggers={
            "articles": GermanTagger,
            "german-nouns": partial(GermanTagger, "german-nouns"),
            "sentences": GermanSentenceTagger,
            "spacy": partial(SpacyMorphTagger, "de"),
        },
        agreement=Agreement(
            "articles",
            articles=frozenset(ARTICLES),
            indefinite=word_set("jemand jemanden jemandem jemandes person kraft wache hilfe"),
            leaning={"der": MALE},
        ),
        original=NearestArticle(_WINOMT_GERMAN, ending="in", sources={"nurse": FEMALE, "the nurse": FEMALE}),
    ),
    "es": _romance("es", "el la un una al del este esta ese esa", "alguien persona víctima", {"ama": FEMALE}),
    "fr": _romance("fr", "le la un une au du ce cet cette", "quelqu'un quelqu’un personne victime"),
    "he": Language(
        taggers={
            kind: partial(HebrewTagger, rules)
            for kind, rules in {"letters": "words", "winomt": "winomt", "gfst": "gfst"}.items()
        },
        agreement=Agreement("letters", indefinite=word_set("מישהו")),
        # Before 2020 a word without a link counted as female; the published numbers include that.
        original=AnyFeminine("winomt", unaligned=FEMALE),
        original_2020=AnyFeminine("winomt", unaligned=UNKNOWN),
    ),
    "it": _romance(
        "it", "il lo la un uno una al allo alla del dello della dal dallo dalla", "qualcuno persona vittima"
    ),
    "ru": _slavic("ru", "кто-то кого-то кому-то кем-то ком-то кто-нибудь кого-нибудь кому-нибудь"),
    "uk": _slavic("uk", "хтось когось комусь кимось хто-небудь кого-небудь кому-небудь"),
}
