"""Everything that turns a text into its bias score, checked and put together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_fairness._processes import of_all, turn
from hf_fairness.attributes import Attribute, NameTable, load_attribute
from hf_fairness.augment.rewrite import neutralize
from hf_fairness.encoders import WORD, BaseEncoder, StaticEncoder, as_encoder, own_word_vectors
from hf_fairness.measure.encoder.bias_direction import BiasDirection, bias_direction
from hf_fairness.measure.encoder.bias_pairs import two_groups
from hf_fairness.measure.encoder.bias_words import (
    ExclusionList,
    choose_importance,
    exclusion_list,
    iter_words,
)
from hf_fairness.scores.bias_score import WordBias, cosines, word_bias, word_biases
from hf_fairness.scores.statistics import Floats

#: What is scored: the text as it stands (the paper), or without its gendered words.
FORMS = ("raw", "neutral")
#: Texts of each process between two exchanges of what processes that share rows have scored.
SENT_TEXTS = 4096


class Scored(NamedTuple):
    """One text with its words and their bias.

    Attributes:
        text: as it was scored.
        words: as written, in order.
        importance: of each word, shape (w,), >= 0.
        known: whether the word has a vector, shape (w,).
        excluded: whether it is on the exclusion list, shape (w,).
        bias: what follows from them.
    """

    text: str
    words: list[str]
    importance: Floats
    known: NDArray[np.bool_]
    excluded: NDArray[np.bool_]
    bias: WordBias


@dataclass(frozen=True)
class Scorer:
    """Everything that turns a text into its bias score; made by :func:`make_scorer`.

    Attributes:
        encoder: gives the importance of the words, and their vectors unless ``vectors`` does.
        vectors: word vectors out of context, or None.
        direction: the direction.
        exclusion: words whose bias is 0.
        importance: "max" or "mean".
        form: "raw" or "neutral".
        attribute: the attribute.
    """

    encoder: BaseEncoder
    vectors: StaticEncoder | None
    direction: BiasDirection
    exclusion: ExclusionList
    importance: str
    form: str
    attribute: Attribute

    def _cosines(self, words: Sequence[str]) -> Floats:
        """Cosine of each word out of context with the direction; 0 for a word without a vector."""
        found = {word: self.vectors.lookup(word) for word in dict.fromkeys(words)} if self.vectors else {}
        vectors = {word: np.asarray(vector) for word, vector in found.items() if vector is not None}
        lean = cosines(np.stack(list(vectors.values())), self.direction.vector).tolist() if vectors else []
        known = dict(zip(vectors, lean, strict=True))
        return np.array([known.get(word, 0.0) for word in words])

    def score(self, texts: Sequence[str]) -> Iterator[tuple[int, Scored]]:
        """Score texts, one at a time, in the order that is fastest to compute.

        Processes that share rows take turns at them, some thousand texts at a time.

        Args:
            texts: any number of texts; one without words scores 0.

        Yields:
            Place of the text, and its score. Every text comes once.

        Raises:
            ValueError: vectors that hold NaN, or of another width than the direction.
        """
        read = [neutralize(text, attribute=self.attribute) if self.form == "neutral" else text for text in texts]
        full = [place for place, text in enumerate(read) if WORD.search(text)]
        nothing = np.zeros(0)
        for place in sorted(set(range(len(read))) - set(full)):
            yield place, Scored(read[place], [], nothing, nothing > 0, nothing > 0, word_bias([], [], []))
        rank, processes = turn()
        if processes == 1:
            yield from self._score(read, full)
            return
        for start in range(0, len(full), processes * SENT_TEXTS):
            mine = full[start + rank : start + processes * SENT_TEXTS : processes]
            yield from of_all([(place, (place, one)) for place, one in self._score(read, mine)])

    def _score(self, read: Sequence[str], places: Sequence[int]) -> Iterator[tuple[int, Scored]]:
        """Scores of some of the texts, which all have words."""
        if not places:
            return
        listed: dict[str, bool] = {}
        axis = None if self.vectors is not None else self.direction.vector
        for batch in iter_words(self.encoder, [read[place] for place in places], self.importance, axis):
            flat = [*itertools.chain.from_iterable(batch.words)]
            listed |= {word: self.exclusion.holds(word) for word in {*flat} if word not in listed}
            excluded, sizes = np.array([listed[word] for word in flat], dtype=bool), [*map(len, batch.words)]
            lean = batch.cosine if axis is not None else self._cosines(flat)
            try:
                biases = word_biases(lean, batch.importance, excluded, sizes)
            except ValueError as error:
                bad = np.repeat(batch.places, sizes)[~np.isfinite(lean + batch.importance)]
                raise ValueError(f"Words of {read[places[bad[0]]][:80]!r}: {error}" if len(bad) else error) from error
            ends = np.cumsum(sizes)[:-1]
            parts = (np.split(values, ends) for values in (batch.importance, batch.known, excluded))
            for number, *of_text in zip(batch.places, batch.words, *parts, biases, strict=True):
                yield places[number], Scored(read[places[number]], *of_text)

    def described(self) -> dict[str, Any]:
        """What ``meta`` says of the scorer."""
        return {
            "model": self.encoder.label,
            "word_vectors": self.encoder.label if self.vectors is None else self.vectors.label,
            "importance": self.importance,
            "form": self.form,
            "attribute": self.attribute.name,
            "direction_kind": self.direction.kind,
            "direction_pairs": self.direction.n_pairs,
            "direction_explained_variance": list(self.direction.explained_variance_ratio[:1]),
            "direction_stability": self.direction.stability,
        }


def make_scorer(
    model: Any,
    *,
    direction: BiasDirection | str | Path | None = None,
    pairs: Sequence[Any] | str | None = None,
    attribute: str | Path | Attribute = "gender",
    importance: str | None = None,
    form: str | None = None,
    names: bool | str | Path | NameTable | Iterable[str] = True,
    word_vectors: Any = None,
    use_cache: bool = True,
    **encoder_options: Any,
) -> Scorer:
    """Check what a bias score needs and put it together.

    Args:
        model: whatever ``as_encoder`` takes.
        direction: from ``bias_direction``, or the file it was saved to; None makes one of ``pairs``.
        pairs: what a direction is made of where none is given, as in ``bias_direction``; None means the package's own
            word pairs or sentences.
        attribute: name, file or object, with two groups.
        importance: "max" (published) or "mean"; None means the one that the model pools by.
        form: "raw" scores the text as it stands (published), "neutral" rewrites it without the attribute first,
            for in context every word takes on the gender of those around it; None means "neutral" for
            an encoder that reads context and "raw" for word vectors.
        names: given names on the exclusion list, see ``exclusion_list``.
        word_vectors: word vectors whose bias counts while ``model`` says how much (section 3 of the paper: GloVe
            and InferSent); None takes the word vectors of ``model`` itself: those that it is built on (a BiLSTM), or
            those in context.
        use_cache: of the direction, as in ``bias_direction``.
        **encoder_options: for ``as_encoder``: batch_size, device, pooling, tokenizer, max_length, ...

    Returns:
        The scorer.

    Raises:
        TypeError: a model that is no encoder.
        ValueError: an unknown form or importance, more than two groups, a direction between other groups, a direction
            and pairs.
    """
    if direction is not None and pairs is not None:
        raise ValueError("Give direction=... or pairs=... to make one of, not both.")
    value = load_attribute(attribute)
    groups = two_groups(value)
    encoder = as_encoder(model, **encoder_options)
    vectors = own_word_vectors(encoder) if word_vectors is None else as_encoder(word_vectors)
    if vectors is not None and not isinstance(vectors, StaticEncoder):
        raise ValueError(f"word_vectors must be a mapping of words to vectors; got {vectors.name}.")
    static = isinstance(encoder, StaticEncoder) or vectors is not None
    if form is None:
        form = "raw" if static else "neutral"
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, or None; got {form!r}.")
    chosen = choose_importance(encoder, importance)
    if direction is None:
        direction = bias_direction(encoder if vectors is None else vectors, pairs, attribute=value, use_cache=use_cache)
    elif isinstance(direction, (str, Path)):
        direction = BiasDirection.load(direction)
    if not isinstance(direction, BiasDirection):
        raise TypeError(f"direction must come from bias_direction; got {type(direction).__name__}.")
    if direction.groups != groups:
        raise ValueError(
            f"direction is one from {' to '.join(direction.groups)}, attribute {value.name!r} has the groups "
            f"{' and '.join(groups)}, in this order."
        )
    return Scorer(encoder, vectors, direction, exclusion_list(value, names), chosen, form, value)
