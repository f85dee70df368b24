"""Pronouns of the third person by gender, for the texts that back-translation starts from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hf_fairness.filters.grammatical import SHOWN
from hf_fairness.filters.protocol import FEMALE, MALE

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
    found = {gender: tuple(word.casefold() for word in pronouns.get(gender, ())) for gender in SHOWN}
    if lacking := [gender for gender, words in found.items() if not words]:
        raise ValueError(f"pronouns has none for {', '.join(lacking)}; got {dict(pronouns)!r}.")
    return found
