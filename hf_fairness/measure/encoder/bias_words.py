"""The words of a text, which of them name a group, and what each gives to the vector of the text."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_fairness.attributes import Attribute, NameTable, load_attribute
from hf_fairness.encoders import WORD, BaseEncoder, StaticEncoder, TransformersEncoder, token_encoder
from hf_fairness.scores.bias_score import (
    check_width,
    cosines,
    max_pool_importance,
    mean_pool_contributions,
    mean_pool_importance,
)
from hf_fairness.scores.statistics import Floats

Places = NDArray[np.intp]

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


class WordBatch(NamedTuple):
    """The words of some texts as a model saw them, one text after the other.

    Attributes:
        places: place of each text.
        words: of each text, as written, in order; w in all.
        cosine: of each word with the direction, in [-1, 1], shape (w,); 0 for a word without a vector.
        importance: shape (w,), >= 0; 0 for a word without a vector.
        known: whether the word has a vector, shape (w,): words past the model's length have none.
    """

    places: list[int]
    words: list[list[str]]
    cosine: Floats
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


def _static(
    encoder: StaticEncoder, texts: Sequence[str], importance: str, direction: Floats | None
) -> Iterator[WordBatch]:
    for number, text in enumerate(texts):
        words = WORD.findall(text)
        found = [(place, vector) for place, word in enumerate(words) if (vector := encoder.lookup(word)) is not None]
        tokens = np.array([vector for _, vector in found], dtype=np.float64).reshape(len(found), -1 if found else 0)
        place = np.array([place for place, _ in found], dtype=np.intp)
        parts = mean_pool_contributions(tokens, place, len(words))
        if importance == "max":
            weights = max_pool_importance(tokens, place, len(words))
        else:
            weights = mean_pool_importance(parts, parts.sum(axis=0))
        try:
            lean = np.zeros(len(words)) if direction is None or not found else cosines(parts, direction)
        except ValueError as error:
            raise ValueError(f"Words of {text[:80]!r}: {error}") from error
        yield WordBatch([number], [words], lean, weights, np.isin(np.arange(len(words)), place))


def _owners(texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> tuple[list[list[str]], Places, Places]:
    """The words of texts; for each token that touches one its number and that of its first word, by word."""
    found = [[(match.group(), *match.span()) for match in WORD.finditer(text)] for text in texts]
    bases = np.cumsum([0, *(len(text) + 1 for text in texts[:-1])])  # no token or word crosses from text to text

    def ends(rows: Sequence[Sequence[tuple[int, int]]]) -> NDArray[np.intp]:
        flat = np.array(list(itertools.chain.from_iterable(rows)), dtype=np.intp).reshape(-1, 2)
        return np.asarray(flat + np.repeat(bases, list(map(len, rows)))[:, None])

    words, tokens = ends([[word[1:] for word in row] for row in found]), ends(spans)
    first = np.searchsorted(words[:, 1], tokens[:, 0], side="right")
    begins = np.append(words[:, 0], np.iinfo(np.intp).max)[first]
    owned = np.flatnonzero((begins < tokens[:, 1]) & (tokens[:, 0] < tokens[:, 1]))
    owned = owned[np.argsort(first[owned], kind="stable")]
    return [[word[0] for word in row] for row in found], owned, first[owned]


def _contextual(
    encoder: TransformersEncoder, texts: Sequence[str], importance: str, direction: Floats | None
) -> Iterator[WordBatch]:
    """What :mod:`hf_fairness.scores.bias_score` does to one text, for a batch of them and where the model is."""
    import torch

    for places, hidden, mask, spans in encoder.hidden_batches(list(texts), offsets=True):
        words, owned, owner = _owners([texts[place] for place in places], spans)
        sizes = torch.tensor(list(map(len, words)), device=hidden.device)
        n_words = int(sizes.sum())
        row_of = torch.repeat_interleave(sizes)  # of each word
        token = mask.flatten().nonzero()[:, 0][torch.from_numpy(owned).to(hidden.device)]  # padding left out
        bags = torch.from_numpy(np.searchsorted(owner, np.arange(n_words))).to(hidden.device)
        flat = hidden.flatten(0, 1)
        parts = torch.nn.functional.embedding_bag(token, flat, bags, mode="sum") if n_words else flat[:0]
        norms = parts.norm(dim=1)
        if importance == "max":
            word_of = torch.full((len(flat),), n_words, device=hidden.device)
            word_of[token] = torch.from_numpy(owner).to(hidden.device)
            winners = hidden.masked_fill(~mask[:, :, None], -torch.inf).argmax(dim=1)
            winners += torch.arange(len(places), device=hidden.device)[:, None] * mask.shape[1]
            wins = torch.bincount(word_of[winners.flatten()], minlength=n_words + 1)[:-1]
            weights = wins.cpu().double() / hidden.shape[2]
        else:
            total = torch.bmm(mask[:, None, :].to(hidden.dtype), hidden)[:, 0].norm(dim=1)
            weights = norms / torch.where(total > 0.0, total, torch.inf)[row_of]
        lean = torch.zeros_like(norms)
        if direction is not None:
            check_width(direction, hidden.shape[2])
            axis = torch.tensor(direction / np.linalg.norm(direction), dtype=hidden.dtype, device=hidden.device)
            lean = (parts @ axis / torch.where(norms > 0.0, norms, 1.0)).clamp(-1.0, 1.0)
        known = np.bincount(owner, minlength=n_words) > 0
        cosine, shares = (values.cpu().numpy().astype(np.float64) for values in (lean, weights))
        yield WordBatch(places, words, cosine, shares, known)


def iter_words(
    encoder: BaseEncoder, texts: Sequence[str], importance: str, direction: Floats | None = None
) -> Iterator[WordBatch]:
    """Words of texts with cosine and importance, in batches, in the order that is fastest to compute.

    A word is a run of letters and digits with inner hyphens and apostrophes; its vector in context is the mean of
    its tokens. Punctuation and special tokens are no words; they take part in the pooling.

    Args:
        encoder: from ``as_encoder``.
        texts: at least one string.
        importance: "max": share of the dimensions in which the word's tokens win the max-pooling. "mean": length
            of what its tokens add to the mean, relative to the mean.
        direction: what cosines are taken with, shape (d,); None leaves them at 0.

    Yields:
        The words of some of the texts. Every text comes once.

    Raises:
        ValueError: an encoder without token vectors, or one whose token and sentence vectors do not compare; a
            direction of another width.
    """
    if isinstance(encoder, StaticEncoder):
        return _static(encoder, texts, importance, direction)
    return _contextual(token_encoder(encoder), texts, importance, direction)
