"""The words of a text, which of them name a group, and what each gives to the vector of the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_fairness.attributes import Attribute, NameTable, load_attribute
from hf_fairness.encoders import WORD, BaseEncoder, StaticEncoder, TransformersEncoder, iter_tokens, token_encoder
from hf_fairness.scores.bias_score import max_pool_importance, mean_pool_contributions, mean_pool_importance
from hf_fairness.scores.statistics import Floats

#: Importances that are defined; "cls" pooling has none, see :func:`choose_importance`.
IMPORTANCES = ("max", "mean")


@dataclass(frozen=True)
class ExclusionList:
    """Words that name a group and therefore carry no bias: their gender is meant.

    Attributes:
        words: in small letters, left out however they are written.
        capitalised: in small letters, left out where they begin with a capital: given names (*Mark*), and titles
            that are another word otherwise (*Miss*).
    """

    words: frozenset[str]
    capitalised: frozenset[str]

    def holds(self, word: str) -> bool:
        """Whether a word, or a part of it before or after a hyphen or an apostrophe, is on the list."""
        lower = word.lower().replace("’", "'")
        parts = {lower, lower.replace("-", "")}
        if not word.isalnum():
            parts |= set(lower.replace("-", "'").split("'")) | set(lower.split("'"))
        if parts & self.words:
            return True
        return bool(parts & self.capitalised) and word[0].isupper()


def _listed(names: str | Path | NameTable | Iterable[str]) -> list[str]:
    """Words of a list, or of a file with one word a line, before a comma or a tab; a heading is passed over."""
    if isinstance(names, NameTable):
        return [name for pair in names.pairs for name in pair.names.values()]
    if isinstance(names, (str, Path)):
        path = Path(names)
        if not path.is_file():
            raise FileNotFoundError(f"names: there is no file {path}. Give a file with one name a line, or a list.")
        lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if not line.startswith("#")]
        names = [line.replace("\t", ",").split(",")[0].strip() for line in lines]
        names = names[1:] if names and names[0].lower() == "name" else names
    found = list(names)
    wrong = next((name for name in found if not isinstance(name, str)), None)
    if wrong is not None:
        raise TypeError(f"names must be texts; got {type(wrong).__name__}: {wrong!r}.")
    return [name for name in found if name.strip()]


def exclusion_list(
    attribute: str | Path | Attribute = "gender", names: bool | str | Path | NameTable | Iterable[str] = True
) -> ExclusionList:
    """The exclusion list L: every term of every group, and given names.

    It is not the list of swaps: words are on it that have no counterpart, and names are on it by default, since
    they are read and not changed. Words that belong to a group by their meaning alone (*bikini*, *pregnant*) are
    not on it: in the paper they carry the bias that the score is after.

    Args:
        attribute: name, file or object.
        names: True for the attribute's given names, False for none; or more words beside them: a list, what
            ``load_names`` gave, or a file with one word a line (what follows a comma or tab is not read). A word
            that is given in small letters is left out however it is written, one with a capital only where it has
            one.

    Returns:
        The list.

    Raises:
        ValueError: unknown attribute.
        FileNotFoundError: there is no such file of names.
        TypeError: a name that is no text.

    Source:
        Dolci et al. 2023, section 3.3 (there 797 common nouns and 5,765 names).

    Example:
        >>> found = exclusion_list("gender", ["Dana", "damsel"])
        >>> [found.holds(word) for word in ("Mother's", "Dana", "dana", "DAMSEL", "nurse")]
        [True, True, False, True, False]
    """
    value = load_attribute(attribute)
    conditional = {concept.id for concept in value.concepts if concept.when}
    words: set[str] = set()
    capitalised: set[str] = set()
    for group in value.groups:
        for term in group.terms:
            only_capital = term.concept in conditional and term.text[0].isupper()
            (capitalised if only_capital else words).add(term.text.lower().replace("’", "'"))
    words |= {form.lower() for row in value.paradigms if row.group in value.group_names for form in row.forms.values()}
    if names is not False:
        capitalised |= {name.lower() for pair in value.names for name in pair.names.values()}
        for name in [] if names is True else _listed(names):
            (words if name.islower() else capitalised).add(name.strip().lower())
    return ExclusionList(frozenset(words), frozenset(capitalised))


class TextWords(NamedTuple):
    """The words of one text as a model saw them.

    Attributes:
        words: as written, in order.
        vectors: vector of each word, shape (w, d); zeros for a word without one.
        importance: shape (w,), >= 0; 0 for a word without a vector.
        known: whether the word has a vector, shape (w,): words past the model's length have none.
    """

    words: list[str]
    vectors: Floats
    importance: Floats
    known: NDArray[np.bool_]


def choose_importance(encoder: BaseEncoder, importance: str | None = None) -> str:
    """The importance that fits how an encoder pools: "max" or "mean".

    Args:
        encoder: from ``as_encoder``.
        importance: "max" or "mean" where another one is wanted; None means the encoder's own.

    Returns:
        "max" or "mean".

    Raises:
        ValueError: an unknown importance, or None for an encoder that takes the vector of the first token: what a
            word gives to that is not in the pooling.
    """
    if importance is None:
        importance = "mean" if isinstance(encoder, StaticEncoder) else token_encoder(encoder).pooling
        if importance not in IMPORTANCES:
            raise ValueError(
                f"{encoder.name} takes the vector of the first token as that of the text ({importance!r} pooling), of "
                "which no word has a share. Ask for importance='max' or 'mean' over its token vectors."
            )
    if importance not in IMPORTANCES:
        raise ValueError(f"importance must be one of {', '.join(IMPORTANCES)}, or None; got {importance!r}.")
    return importance


def _weigh(words: list[str], tokens: NDArray[Any], place: NDArray[np.intp], importance: str) -> TextWords:
    """From the pooled vectors of a text and the word of each of them."""
    contributions = mean_pool_contributions(tokens, place, len(words))
    if importance == "max":
        weights = max_pool_importance(tokens, place, len(words))
    else:
        pooled = tokens.mean(axis=0, dtype=np.float64) if len(tokens) else np.zeros(tokens.shape[1])
        weights = mean_pool_importance(contributions, pooled)
    known = np.isin(np.arange(len(words)), place)
    return TextWords(words, contributions, weights, known)


def _static(encoder: StaticEncoder, texts: Sequence[str], importance: str) -> Iterator[tuple[int, TextWords]]:
    for number, text in enumerate(texts):
        words = WORD.findall(text)
        found = [(place, vector) for place, word in enumerate(words) if (vector := encoder.lookup(word)) is not None]
        tokens = np.array([vector for _, vector in found], dtype=np.float64).reshape(len(found), -1 if found else 0)
        yield number, _weigh(words, tokens, np.array([place for place, _ in found], dtype=np.intp), importance)


def _contextual(encoder: TransformersEncoder, texts: Sequence[str], importance: str) -> Iterator[tuple[int, TextWords]]:
    for number, tokens in iter_tokens(encoder, texts):
        text = texts[number]
        matches = list(WORD.finditer(text))
        owner = np.full(len(text) + 1, -1, dtype=np.intp)
        for place, match in enumerate(matches):
            owner[match.start() : match.end()] = place
        places = [owner[start:end] for start, end in tokens.spans]
        word_of = np.array([next((w for w in inside if w >= 0), -1) for inside in places], dtype=np.intp)
        yield number, _weigh([match.group() for match in matches], tokens.vectors, word_of, importance)


def iter_words(encoder: BaseEncoder, texts: Sequence[str], importance: str) -> Iterator[tuple[int, TextWords]]:
    """Words of texts with vector and importance, one text at a time, in the order that is fastest to compute.

    A word is a run of letters and digits with inner hyphens and apostrophes; its vector in context is the mean of
    its tokens. Punctuation and special tokens are no words; they take part in the pooling.

    Args:
        encoder: from ``as_encoder``.
        texts: at least one string.
        importance: "max": share of the dimensions in which the word's tokens win the max-pooling. "mean": length
            of what its tokens add to the mean, relative to the mean.

    Yields:
        Place of the text, and its words. Every text comes once.

    Raises:
        ValueError: an encoder without token vectors, or one whose token and sentence vectors do not compare.
    """
    if isinstance(encoder, StaticEncoder):
        return _static(encoder, texts, importance)
    return _contextual(token_encoder(encoder), texts, importance)
