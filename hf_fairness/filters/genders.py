"""The grammatical gender of words, and of the person that words of a translation name, by language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hf_fairness.filters.apertium import ApertiumTagger
from hf_fairness.filters.arabic import ArabicTagger
from hf_fairness.filters.decide import Agreement, AnyFeminine, MajorityVote, Mention, NearestArticle, Rule
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


#: Languages with taggers and rules.
LANGUAGES: tuple[str, ...] = tuple(LANGUAGE_TABLE)


def gender_tagger(lang: str, kind: str | None = None) -> GenderTagger:
    """The tagger of a language.

    Args:
        lang: one of ``LANGUAGES``.
        kind: which of the taggers of the language; None means the default.

    Returns:
        A small object; dictionaries, models and programs are looked up when it is first used.

    Raises:
        ValueError: no such language or kind; the message lists those that exist.

    Example:
        >>> from hf_fairness.filters import gender_tagger
        >>> gender_tagger("he").name
        'last letters (he, words rules)'
    """
    if lang not in LANGUAGE_TABLE:
        raise ValueError(
            f"No tagger for lang={lang!r}. Known languages: {', '.join(LANGUAGES)}. For another one, give a "
            "LexiconTagger(path, lang) with a UniMorph file or a SpacyMorphTagger(lang, model)."
        )
    taggers = LANGUAGE_TABLE[lang].taggers
    if kind is None:
        return next(iter(taggers.values()))()
    if kind not in taggers:
        raise ValueError(f"No tagger of kind {kind!r} for {lang!r}; there are {', '.join(taggers)}.")
    return taggers[kind]()


def rule_tagger(lang: str, rules: str = "agreement") -> GenderTagger | None:
    """The tagger that the rules of a language ask for; None when they read the words themselves (original German)."""
    kind = _rule(lang, rules).kind
    return gender_tagger(lang, kind) if kind else None


def predict_genders(
    sentences: Sequence[Sequence[str]],
    targets: Sequence[Sequence[int]],
    lang: str,
    *,
    tagger: GenderTagger | None = None,
    rules: str = "agreement",
    source_words: Sequence[str] | None = None,
) -> list[str]:
    """The gender that each translation gives to a person.

    ``"agreement"``: the aligned words, and an article in front of them, narrow each other's genders; what leaves male
    and female open, or is neuter, is neutral. ``"original"``: the rules of WinoMT's released code,
    language by language (see :mod:`hf_fairness.filters.genders`), with Apertium in place of the spaCy models of
    2019 for Spanish, French and Italian. ``"original_2020"``: that code since August 2020, where nothing aligned is
    unknown in Hebrew and Arabic too; the other languages are as before.

    Args:
        sentences: tokens of each translation, split at spaces as WinoMT does.
        targets: per sentence the indices of the tokens aligned to the person's English article and noun; empty when
            nothing is aligned. The original rules count an index as often as it is given, and in that order.
        lang: one of ``LANGUAGES``; any other code with a ``tagger`` and these rules.
        tagger: in place of the one that the rules ask for.
        rules: ``"agreement"``, ``"original"`` or ``"original_2020"``.
        source_words: English noun per sentence; some original rules know one ("nurse" in German). None leaves these
            exceptions out.

    Returns:
        Per sentence ``"male"``, ``"female"``, ``"neutral"`` or ``"unknown"`` (not aligned, or of no known gender).

    Raises:
        ValueError: lengths differ, an index is outside its sentence, or language or rules are unknown.
        ImportError, FileNotFoundError: the tagger needs something that is not installed; the message names it.

    Source:
        Stanovsky et al. 2019, section 3, and the released code.

    Example:
        >>> from hf_fairness.filters import predict_genders
        >>> predict_genders([["Die", "Ärztin", "ging."], ["Der", "Arzt", "ging."]], [[0, 1], []], "de")
        ['female', 'unknown']
    """
    rule = (
        Agreement(None) if tagger is not None and lang not in LANGUAGES and rules == "agreement" else _rule(lang, rules)
    )
    mentions = _mentions(sentences, targets, source_words)
    wanted = [rule.tokens(mention) for mention in mentions]
    tagged = (tagger or gender_tagger(lang, rule.kind)).genders(wanted) if any(wanted) else [[] for _ in wanted]
    return [rule.decide(mention, genders) for mention, genders in zip(mentions, tagged, strict=True)]


def _rule(lang: str, rules: str) -> Rule:
    if lang not in LANGUAGE_TABLE:
        raise ValueError(
            f"No rules for lang={lang!r}. Known languages: {', '.join(LANGUAGES)}; another one needs a tagger= and "
            "the agreement rules."
        )
    known = LANGUAGE_TABLE[lang].rules
    if rules not in known:
        raise ValueError(f"rules is one of {', '.join(known)}; got {rules!r}.")
    return known[rules]


def _mentions(
    sentences: Sequence[Sequence[str]], targets: Sequence[Sequence[int]], source_words: Sequence[str] | None
) -> list[Mention]:
    sources = [""] * len(sentences) if source_words is None else source_words
    if not len(sentences) == len(targets) == len(sources):
        raise ValueError(
            f"Got {len(sentences)} sentences, {len(targets)} targets and {len(sources)} source words; "
            "each sentence needs one of each."
        )
    for row, (words, aligned) in enumerate(zip(sentences, targets, strict=True)):
        if isinstance(words, str):
            raise ValueError(f"Sentence {row} is a text, expected a list of tokens: text.split().")
        if aligned and not 0 <= min(aligned) <= max(aligned) < len(words):
            raise ValueError(f"Sentence {row} has {len(words)} tokens, but targets {list(aligned)}.")
    return [
        Mention(words, aligned, source.lower())
        for words, aligned, source in zip(sentences, targets, sources, strict=True)
    ]
