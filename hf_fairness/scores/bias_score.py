"""Bias score: how much stereotype the words of a text carry along one direction (Dolci et al. 2023).

Arrays only: word vectors, their importance and the words to leave out come from :mod:`hf_fairness.measure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.record import Declared
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, as_values, generator, mean_interval
from hf_fairness.scores.vectors import embeddings

#: Components whose share of the variance is kept (figures 2 and 7 of the paper).
COMPONENTS = 10
#: Random halvings behind the stability of a direction.
HALVINGS = 20

CONVENTION = (
    "sum over words outside the exclusion list of cos(word, direction) x importance, positive and negative "
    "terms apart; absolute = sum of the absolute values; 95 % intervals of means: Student's over texts"
)

#: Of the texts of a set.
MEASURES = {
    "absolute_mean": Declared(
        "stereotype that the words of texts carry, mean over texts (bias score)",
        "bias",
        0.0,
        "lower",
        convention="Bias score: sum over the words of a text, without those that name a group, of |cosine with the "
        "direction of the groups| x importance of the word for the embedding. Each model has a direction of its own.",
    )
}


class Direction(NamedTuple):
    """The first principal direction of pair differences.

    Attributes:
        vector: unit length, shape (d,); the second member of a pair lies on its positive side.
        explained_variance_ratio: share of the variance of the first components, at most ten, descending.
    """

    vector: Floats
    explained_variance_ratio: Floats


def direction_of(differences: ArrayLike) -> Direction:
    """First principal direction of the differences of pairs, by an *uncentred* PCA.

    Uncentred means that the differences are decomposed as they are. This equals the usual PCA of all vectors
    after each pair was moved to its own mean. Moving all differences to their common mean would take away
    what they share, which is the direction that is looked for.

    Args:
        differences: second member minus first member of each pair, shape (n, d).

    Returns:
        The direction, of unit length, with its sign fixed so that the mean difference projects on the positive
        side; and the share of variance of the first ten components.

    Raises:
        ValueError: no pairs, NaN, or pairs whose members are all equal.

    Source:
        Dolci et al. 2023, section 3.2; Bolukbasi et al. 2016.

    Example:
        >>> found = direction_of([[2.0, 0.0], [2.0, 1.0], [2.0, -1.0]])
        >>> found.vector.round(3).tolist(), found.explained_variance_ratio.round(3).tolist()
        ([1.0, 0.0], [0.857, 0.143])
    """
    array = embeddings(differences, "differences")
    scale = float(np.abs(array).max())
    if scale == 0.0:
        raise ValueError("All pairs have equal members: they differ in no direction. Check pairs and vectors.")
    _, sizes, axes = np.linalg.svd(array / scale, full_matrices=False)
    shares = sizes**2 / (sizes**2).sum()
    vector = axes[0] / np.linalg.norm(axes[0])
    lean = float((array / scale).mean(axis=0) @ vector)
    return Direction(-vector if lean < 0.0 else vector, shares[:COMPONENTS])


def halves_stability(differences: ArrayLike, *, n_draws: int = HALVINGS, seed: int = 0) -> Floats:
    """|cos| between the directions of two random halves of the pairs, for several halvings.

    Args:
        differences: shape (n, d).
        n_draws: number of halvings.
        seed: of the halvings.

    Returns:
        Shape (n_draws,), each in [0, 1], ideal 1; empty where there are fewer than four pairs or a half holds
        no difference.
    """
    array = embeddings(differences, "differences")
    rng = generator(seed, "halves")
    found: list[float] = []
    for _ in range(n_draws if len(array) >= 4 else 0):
        order = rng.permutation(len(array))
        halves = [array[order[: len(order) // 2]], array[order[len(order) // 2 :]]]
        if all(half.any() for half in halves):
            first, second = (direction_of(half).vector for half in halves)
            found.append(min(abs(float(first @ second)), 1.0))
    return np.array(found)


def check_width(direction: Floats, width: int) -> None:
    """Raise unless a direction has as many dimensions as the vectors."""
    if len(direction) != width:
        raise ValueError(
            f"direction has {len(direction)} dimensions, the word vectors have {width}: they must come from the same "
            "model."
        )


def cosines(vectors: ArrayLike, direction: ArrayLike) -> Floats:
    """Cosine of each vector with the direction; 0 for a vector of zeros, in which nothing leans anywhere.

    Args:
        vectors: shape (n, d); n may be 0.
        direction: shape (d,), not zero.

    Returns:
        Shape (n,), in [-1, 1].

    Raises:
        ValueError: widths differ, a direction of zeros, NaN.
    """
    axis = as_values(direction, "direction")
    array = as_values(vectors, "vectors", minimum=0, ndim=2)
    check_width(axis, array.shape[1])
    scale = float(np.abs(axis).max())
    if scale == 0.0:
        raise ValueError("The direction is a vector of zeros: no cosine is defined. Make one with bias_direction.")
    axis = axis / scale
    largest = np.abs(array).max(axis=1, initial=0.0, keepdims=True)
    array = array / np.where(largest > 0.0, largest, 1.0)
    lengths = np.linalg.norm(array, axis=1)
    return np.asarray(np.clip(array @ (axis / np.linalg.norm(axis)) / np.where(lengths > 0.0, lengths, 1.0), -1.0, 1.0))


def max_pool_importance(tokens: ArrayLike, words: ArrayLike, n_words: int) -> Floats:
    """Share of the dimensions in which each word gives the maximum over all tokens.

    Args:
        tokens: vectors of all tokens that are pooled, special ones included, shape (t, d).
        words: word of each token, -1 for a token that belongs to no word, shape (t,).
        n_words: number of words.

    Returns:
        Shape (n_words,), in [0, 1]; sums to 1 minus the share of the tokens without a word. A tie goes to the
        first token.

    Source:
        Dolci et al. 2023, sections 3.4 and 6; Conneau et al. 2017.
    """
    array, place = np.asarray(tokens), np.asarray(words, dtype=np.intp)
    winners = place[array.argmax(axis=0)] if len(array) else np.empty(0, dtype=np.intp)
    counts = np.bincount(winners[winners >= 0], minlength=n_words)
    return np.asarray(counts / max(array.shape[1], 1), dtype=np.float64)


def mean_pool_contributions(tokens: ArrayLike, words: ArrayLike, n_words: int) -> Floats:
    """What each word adds to the mean over all tokens; with the tokens without a word, it adds up to the mean.

    Args:
        tokens: shape (t, d).
        words: word of each token, -1 for none, shape (t,).
        n_words: number of words.

    Returns:
        Shape (n_words, d), float64: sum of the word's tokens divided by the number of all tokens. Memory and time
        grow with the tokens, not with tokens x words.
    """
    from scipy.sparse import csr_array

    array, place = np.asarray(tokens, dtype=np.float64), np.asarray(words, dtype=np.intp)
    owned = np.flatnonzero(place >= 0)
    belongs = csr_array((np.ones(len(owned)), (place[owned], owned)), shape=(n_words, len(array)))
    return np.asarray(belongs @ array / max(len(array), 1))


def mean_pool_importance(contributions: ArrayLike, pooled: ArrayLike) -> Floats:
    """Length of each word's contribution, relative to the length of the pooled vector.

    With it the bias score is exact: cos(word, g) x importance is what the word adds to the cosine of the
    sentence vector with g, and over all tokens it adds up to that cosine. Contributions point in different
    directions, so that the importances add up to 1 or more.

    Args:
        contributions: from :func:`mean_pool_contributions`, shape (n_words, d).
        pooled: mean over all tokens, shape (d,).

    Returns:
        Shape (n_words,), >= 0; zeros where the pooled vector is zero.
    """
    length = float(np.linalg.norm(np.asarray(pooled, dtype=np.float64)))
    lengths = np.linalg.norm(np.asarray(contributions, dtype=np.float64), axis=1)
    return np.asarray(lengths / length if length > 0.0 else np.zeros_like(lengths))


class WordBias(NamedTuple):
    """Equations 1 to 3 for one text, word by word.

    Attributes:
        bias: cosine with the direction, 0 for words that are left out.
        weighted: bias x importance.
        positive: sum of the positive weighted terms (equation 1; the second group).
        negative: sum of the negative ones, <= 0 (equation 2; the first group).
        absolute: sum of the absolute values (equation 3).
    """

    bias: Floats
    weighted: Floats
    positive: float
    negative: float
    absolute: float


def word_biases(cosine: ArrayLike, importance: ArrayLike, excluded: ArrayLike, sizes: Sequence[int]) -> list[WordBias]:
    """Bias scores of texts from their words.

    Args:
        cosine: cosine of each word with the direction, one text after the other, shape (w,); w may be 0.
        importance: weight of each word, >= 0, shape (w,).
        excluded: whether the word is on the exclusion list, so that its bias is 0, shape (w,).
        sizes: words of each text.

    Returns:
        Per text the words' numbers and the three sums; a text without words has sums of 0.

    Raises:
        ValueError: different lengths, NaN, a negative importance.

    Source:
        Dolci et al. 2023, equations 1 to 3.
    """
    first = as_values(cosine, "cosine", minimum=0)
    weights = as_values(importance, "importance", minimum=0)
    out: NDArray[np.bool_] = np.asarray(excluded, dtype=bool)
    if not first.shape == weights.shape == out.shape == (sum(sizes),):
        raise ValueError(
            "cosine, importance and excluded must have one value per word; got shapes "
            f"{first.shape}, {weights.shape}, {out.shape} for {sum(sizes)} words."
        )
    if (weights < 0.0).any():
        raise ValueError(f"importance must not be negative; got {weights.min()}.")
    bias = np.where(out, 0.0, first)
    weighted, text = bias * weights, np.repeat(np.arange(len(sizes)), sizes)
    up, down = (np.bincount(text, part, len(sizes)) for part in (weighted.clip(min=0.0), weighted.clip(max=0.0)))
    ends = np.cumsum(sizes)[:-1]
    parts = zip(np.split(bias, ends), np.split(weighted, ends), up.tolist(), down.tolist(), strict=True)
    return [WordBias(*part, part[2] - part[3]) for part in parts]


def word_bias(cosine: ArrayLike, importance: ArrayLike, excluded: ArrayLike) -> WordBias:
    """Bias score of one text from its words; see :func:`word_biases`.

    Example:
        >>> found = word_bias([0.9, -0.05, 0.25], [0.25, 0.25, 0.5], [True, False, False])
        >>> found.positive, found.negative, found.absolute
        (0.125, -0.0125, 0.1375)
    """
    return word_biases(cosine, importance, excluded, [np.size(cosine)])[0]


def summarize_scores(
    positive: ArrayLike,
    negative: ArrayLike,
    *,
    groups: Sequence[str],
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    **more: Any,
) -> dict[str, Any]:
    """Per-text scores with their means and intervals.

    Args:
        positive: score towards the second group per text, shape (n,), >= 0.
        negative: score towards the first group per text, shape (n,), <= 0.
        groups: names of the two groups, the negative one first.
        n_bootstrap: 0: no intervals (Student's over texts, cut at 0; nothing is drawn).
        seed: stated in ``meta``.
        **more: further entries of ``meta``.

    Returns:
        per group and for ``absolute`` the scores of the texts as a list, ``<key>_mean`` and ``<key>_mean_ci95``;
        ``n``; ``meta``. Ideal 0 in all; further from 0 is more stereotype.

    Raises:
        ValueError: no texts, different lengths, NaN, not two groups.
    """
    if len(groups) != 2:
        raise ValueError(f"The bias score is defined for two groups; got {len(groups)}: {', '.join(groups)}.")
    up, down = as_values(positive, "positive"), as_values(negative, "negative")
    if len(up) != len(down):
        raise ValueError(f"positive and negative must be scores of the same texts; got {len(up)} and {len(down)}.")
    columns = {groups[1]: up, groups[0]: down, "absolute": up - down}
    ends: dict[str, dict[str, float]] = {groups[1]: {"low": 0.0}, groups[0]: {"high": 0.0}, "absolute": {"low": 0.0}}
    result: dict[str, Any] = {}
    for name, values in columns.items():
        interval = mean_interval(values, **ends[name]) if n_bootstrap else None
        result |= {name: values.tolist(), f"{name}_mean": float(values.mean()), f"{name}_mean_ci95": interval}
    result["n"] = len(up)
    result["meta"] = describe(
        n=len(up),
        convention=CONVENTION,
        ideal="0 in every key",
        direction=f"further from 0 is more stereotype; {groups[0]} is negative, {groups[1]} positive",
        seed=seed,
        groups=list(groups),
        **more,
    )
    return result
