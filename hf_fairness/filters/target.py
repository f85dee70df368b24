"""The target filter of GFST: pairs whose translation has words of the wanted gender, and of no other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

from hf_fairness.filters.grammatical import SHOWN, sentence_genders
from hf_fairness.filters.protocol import FEMALE, MALE, Genders, GenderTagger, bare, spaced
from hf_fairness.filters.source import MIXED, NONE
from hf_fairness.filters.source_words import letter_words
from hf_fairness.maps import MISSING, MapFunction, Row, Texts

#: By language and gender, in lower case. Forms that also stand for things, for several people or for the person
#: addressed ("sie", "lei") are in, for the genders of the other words are checked beside them. Possessives are in
#: where they go by the owner: every German text that the authors released has a pronoun of this table.
PRONOUNS: dict[str, dict[str, str]] = {
    "de": {
        MALE: "er ihn ihm sein seine seinen seinem seiner seines",
        FEMALE: "sie ihr ihre ihren ihrem ihrer ihres",
    },
    "es": {MALE: "él", FEMALE: "ella"},
    "fr": {MALE: "il lui", FEMALE: "elle"},
    "he": {MALE: "הוא והוא שהוא", FEMALE: "היא והיא שהיא"},
    "it": {MALE: "lui egli", FEMALE: "lei ella"},
    "ru": {MALE: "он него ему нему им ним нём нем", FEMALE: "она её ее неё нее ей ней ею нею"},
    "uk": {MALE: "він нього йому ним ньому", FEMALE: "вона її неї їй ній нею"},
}


def person_pronouns(
    lang: str | None, pronouns: bool | Mapping[str, Iterable[str]]
) -> dict[str, tuple[str, ...]] | None:
    """The pronouns that a text must have one of, by gender; None where none is wanted.

    Raises:
        ValueError: no pronouns known for the language, or a gender without any.
    """
    if pronouns is False:
        return None
    if pronouns is True:
        if lang not in PRONOUNS:
            raise ValueError(
                f"No pronouns known for lang={lang!r}; known: {', '.join(PRONOUNS)}. Pass them: "
                f"pronouns={{{', '.join(f'{gender!r}: [...]' for gender in SHOWN)}}}."
            )
        return {gender: tuple(words.split()) for gender, words in PRONOUNS[lang].items()}
    found = {gender: tuple(normalize("NFC", word).casefold() for word in pronouns.get(gender, ())) for gender in SHOWN}
    if lacking := [gender for gender, words in found.items() if not words]:
        raise ValueError(f"pronouns has none for {', '.join(lacking)}; got {dict(pronouns)!r}.")
    return found


#: Reason to drop a pair: a word shows another gender.
OPPOSITE = "opposite_gender"
#: Column of the words that do.
WORDS = "target_words"


class TargetGender(MapFunction):
    """Say of each translation why it is dropped, and ``""`` where it is kept.

    Kept: at least one word shows the gender of the source, none another one; neuter says nothing. The reasons:
    ``"source_mixed"``, ``"source_none"`` (the source has no one gender, see :class:`SourceGender`), ``"empty"``,
    ``"opposite_gender"`` (a word shows another gender, whatever the other words show), ``"no_word_of_gender"``.

    A word whose form leaves the gender open (French *l'artiste*, Italian *insegnante*, German *dem*) is by default of
    neither gender: it proves nothing of the person and contradicts nothing. The gender is that of grammar, so that a
    noun for a thing drops a pair too; ``human_nouns_only`` looks at nouns for persons alone.

    Args:
        text_column: column of the translations.
        lang: their language, one of ``LANGUAGES``; its default tagger for whole sentences is taken.
        tagger: in place of that; any object with ``genders(sentences)``.
        gender_column: column with the wanted gender.
        human_nouns_only: count only nouns that name persons: those of ``nouns``, or those that the tagger tells apart
            (Russian and Ukrainian: nouns for living beings).
        nouns: their forms, in any case: words, or the path of a file with one form per line or of a UniMorph file.
        ambiguous: ``"neither"`` as above, or ``"each"``: an open form counts for every gender that it can have.
        output_column: the column of reasons that is added.
        words_column: the column that is added with the words that show another gender, in lower case and each once,
            with spaces between; :func:`drops` counts which dropped most pairs.
        on_missing: what to do about a row that lacks a text: ``"skip"`` gives it the reason
            ``"missing"``, ``"error"`` refuses it.

    Raises:
        TypeError: a text is none (at the call, with row and column).
        ValueError: neither ``lang`` nor ``tagger``, an unknown language, no nouns where the tagger knows none, a
            column that is missing or would be overwritten, or a gender that no word can show (at the call).
        ImportError, FileNotFoundError: the tagger needs something that is not installed (at the call; named).

    Source:
        Choubey et al. 2021, section 2 (FilterTrg) and appendix D. The authors' taggers were spaCy 2 (fr, it),
        pymorphy2 (ru), a German dictionary and the rules of ``HebrewTagger("gfst")``.

    Example:
        >>> from hf_fairness.filters import TargetGender
        >>> rows = {"target": ["Die Ärztin ging.", "Der Arzt ging."], "source_gender": ["female", "female"]}
        >>> TargetGender(lang="de")(rows)["target_reason"]
        ['', 'opposite_gender']
    """

    def __init__(
        self,
        text_column: str = "target",
        *,
        lang: str | None = None,
        tagger: GenderTagger | None = None,
        gender_column: str = "source_gender",
        human_nouns_only: bool = False,
        nouns: str | Path | Iterable[str] | None = None,
        ambiguous: str = "neither",
        output_column: str = "target_reason",
        words_column: str = WORDS,
        on_missing: str = "skip",
    ) -> None:
        super().__init__((text_column, gender_column), on_missing=on_missing)
        self.words = sentence_genders(lang, tagger, human_nouns_only=human_nouns_only, nouns=nouns, ambiguous=ambiguous)
        self.output_column, self.words_column = output_column, words_column

    def outputs(self) -> dict[str, str]:
        """The columns that are added, with their types."""
        return {self.output_column: "string", self.words_column: "string"}

    def missing(self, texts: Texts) -> Row:
        """The reason of a row that lacks a text."""
        return {self.output_column: MISSING, self.words_column: ""}

    def process_columns(self, rows: Sequence[Texts], keys: Sequence[str]) -> dict[str, list[Any]]:
        """The reasons for many pairs; the tagger gets all their translations at once."""
        reasons = [self._before(text, wanted) for text, wanted in rows]
        open_rows = [place for place, reason in enumerate(reasons) if reason is None]
        sentences = [spaced(rows[place][0]) for place in open_rows]
        words = [""] * len(rows)
        for place, tokens, tagged in zip(open_rows, sentences, self.words.tagged(sentences), strict=True):
            wanted = rows[place][1]
            reasons[place] = reason = _reason(self.words.together(tagged), wanted)
            if reason == OPPOSITE:
                others = (token for token, each in zip(tokens, tagged, strict=True) if self._blocks(each, wanted))
                words[place] = " ".join(dict.fromkeys(bare(token).lower() for token in others))
        return {self.output_column: reasons, self.words_column: words}

    def process(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[Row]:
        """The same by row."""
        columns = self.process_columns(rows, keys)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _blocks(self, genders: Genders, wanted: str) -> bool:
        """Whether a word shows another gender."""
        return bool(self.words.together([genders]) - {wanted})

    def _before(self, text: str, wanted: str) -> str | None:
        """A reason that needs no tagger."""
        if wanted in (MIXED, NONE):
            return f"source_{wanted}"
        if wanted not in SHOWN:
            raise ValueError(
                f"TargetGender: column {self.columns[1]!r} says {wanted!r}; words show {', '.join(SHOWN)} (or the "
                f"column says {MIXED}, {NONE}). Rename the groups first."
            )
        return "empty" if not text or text.isspace() else None


def _reason(shown: Genders, wanted: str) -> str:
    if shown == {wanted}:
        return ""
    return OPPOSITE if shown - {wanted} else "no_word_of_gender"


class GrammaticalGender(MapFunction):
    """Label each text of a target language with the one gender that its words show, with ``"mixed"`` or ``"none"``.

    This is the target filter of back-translation, where the texts come first and have no source yet: label them,
    translate those of one gender, and keep the pairs of which :class:`SourceGender` says the same.

    Args:
        text_column: column of the texts.
        lang: as in :class:`TargetGender`; also the language of the pronouns.
        tagger: as there.
        pronouns: True wants a pronoun of the third person and of the gender in the text too, so that the gender is
            likely that of a person; a mapping from genders to pronouns does so for any language.
        human_nouns_only: as there.
        nouns: as there.
        ambiguous: as there.
        output_column: the column that is added.
        on_missing: what to do about a row that lacks a text: ``"skip"`` gives it ``"none"``, ``"error"`` refuses it.

    Raises:
        TypeError: a text is none (at the call, with row and column).
        ValueError: as in :class:`TargetGender`; no pronouns known for the language.
        ImportError, FileNotFoundError: as there.

    Source:
        Choubey et al. 2021, section 6.3, with its footnote on pronouns.

    Example:
        >>> from hf_fairness.filters import GrammaticalGender
        >>> texts = ["Die Ärztin sagt, sie geht.", "Die Ärztin geht.", "Der Arzt und die Ärztin gehen."]
        >>> GrammaticalGender(lang="de", pronouns=True)({"text": texts})["target_gender"]
        ['female', 'none', 'mixed']
    """

    def __init__(
        self,
        text_column: str = "text",
        *,
        lang: str | None = None,
        tagger: GenderTagger | None = None,
        pronouns: bool | Mapping[str, Iterable[str]] = False,
        human_nouns_only: bool = False,
        nouns: str | Path | Iterable[str] | None = None,
        ambiguous: str = "neither",
        output_column: str = "target_gender",
        on_missing: str = "skip",
    ) -> None:
        super().__init__(text_column, on_missing=on_missing)
        self.words = sentence_genders(lang, tagger, human_nouns_only=human_nouns_only, nouns=nouns, ambiguous=ambiguous)
        self.pronouns = person_pronouns(lang, pronouns)
        self.output_column = output_column

    def outputs(self) -> dict[str, str]:
        """The column that is added, with its type."""
        return {self.output_column: "string"}

    def missing(self, texts: Texts) -> Row:
        """The label of a row that lacks a text."""
        return {self.output_column: NONE}

    def process(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[Row]:
        """The labels of many texts; the tagger gets all at once."""
        texts = [text for (text,) in rows]
        found = zip(texts, self.words.of(texts), strict=True)
        return [{self.output_column: self._label(text, shown)} for text, shown in found]

    def _label(self, text: str, shown: Genders) -> str:
        if len(shown) != 1:
            return MIXED if shown else NONE
        (gender,) = shown
        if self.pronouns is not None and set(letter_words(text)).isdisjoint(self.pronouns[gender]):
            return NONE
        return gender
