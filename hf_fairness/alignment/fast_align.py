"""fast_align in numpy: the word aligner of the published WinoMT numbers, without a compiler."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_fairness.utils import FairnessWarning

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Probability of a pair of words before the first iteration; any constant would do.
START = 1e-9
#: Longest side of a pair, in words: the limit of GFST's training data, too.
MAX_WORDS = 250
#: Steps, step size and bounds of the search for the tension after each iteration.
TENSION_STEPS, TENSION_RATE, TENSION_RANGE = 8, 20.0, (0.1, 14.0)


class _Cells(NamedTuple):
    """Every (target word, source word) pair of the corpus; a target word's pairs stand together, null word first."""

    starts: Ints  # (words,) first cell of each target word
    word: Ints  # (cells,) the target word of a cell
    position: Ints  # (cells,) 1-based position of the source word, 0 for the null word
    place: Ints  # (words,) 0-based position of each target word
    lengths: tuple[Ints, Ints]  # (words,) source and target length of its sentence pair
    pair: Ints  # (cells,) number of the (source type, target type) pair
    pair_source: Ints  # (pairs,) source type of a pair


def fast_align(
    source: Sequence[Sequence[str]],
    target: Sequence[Sequence[str]],
    *,
    iterations: int = 5,
    null_probability: float = 0.08,
    tension: float = 4.0,
    alpha: float = 0.01,
    max_words: int = MAX_WORDS,
) -> list[list[tuple[int, int]]]:
    """Word alignments as ``fast_align -d -o -v`` makes them: each target word is linked to one source word or to none.

    IBM model 2 with a prior that favours the diagonal, whose tension is fitted from the second iteration on, and
    with a Dirichlet prior on the translation probabilities (variational Bayes); forward direction. Two oddities of
    the released program are kept, because published WinoMT numbers rest on them: expected distances from the
    diagonal count target words from 0, and in the slope of the tension the normaliser takes the two lengths the
    other way round. The links equal the program's own on the WinoMT translations.

    The program weighs every (source word, target word) pair of a sentence pair, in time and here in memory too (about
    100 bytes each), so that one text of thousands of words costs more than a corpus. A pair with more words than
    ``max_words`` on a side is therefore left out, which the program does not do: it gets no links, and nothing is
    learned from it. Time and memory then grow as the number of words does.

    Args:
        source: words of each source sentence; no sentence is empty.
        target: words of each target sentence, in the same order; none is empty.
        iterations: passes over the corpus, at least 1; the last one reads the links.
        null_probability: prior probability that a target word has no source word, in [0, 1).
        tension: how strongly the diagonal is favoured at the start, above 0.
        alpha: concentration of the Dirichlet prior, above 0.
        max_words: most words of a side.

    Returns:
        Per sentence pair its links (source index, target index), ordered by target index.

    Raises:
        ValueError: an option out of its range.

    Warns:
        FairnessWarning: pairs that are too long, with their number.

    Source:
        Dyer, Chahuneau, Smith 2013, *A Simple, Fast, and Effective Reparameterization of IBM Model 2*.

    Example:
        >>> fast_align([["a", "b"], ["b", "c"], ["c"]], [["A", "B"], ["B", "C"], ["C"]])
        [[(0, 0), (1, 1)], [(0, 0), (1, 1)], [(0, 0)]]
    """
    if min(iterations, max_words) < 1 or not 0.0 <= null_probability < 1.0 or not (tension > 0.0 and alpha > 0.0):
        raise ValueError(
            "fast_align needs iterations >= 1, null_probability in [0, 1), tension > 0, alpha > 0 and max_words >= 1; "
            f"got {iterations}, {null_probability}, {tension}, {alpha} and {max_words}."
        )
    short = _short_enough(source, target, max_words)
    found: list[list[tuple[int, int]]] = [[] for _ in source]
    if short:
        sides = [source[row] for row in short], [target[row] for row in short]
        learned = _learned(*sides, iterations, null_probability, tension, alpha)
        for row, links in zip(short, learned, strict=True):
            found[row] = links
    return found


def _short_enough(source: Sequence[Sequence[str]], target: Sequence[Sequence[str]], max_words: int) -> list[int]:
    """Rows of the pairs that are not too long; says how many are."""
    longest = [max(len(words), len(others)) for words, others in zip(source, target, strict=True)]
    short = [row for row, length in enumerate(longest) if length <= max_words]
    if len(short) < len(longest):
        warnings.warn(
            f"{len(longest) - len(short)} of {len(longest)} pairs have more than {max_words} words on a side (up to "
            f"{max(longest)}): they are not aligned. Split them into sentences, or raise max_words of fast_align.",
            FairnessWarning,
            stacklevel=3,
        )
    return short


def _learned(
    source: Sequence[Sequence[str]],
    target: Sequence[Sequence[str]],
    iterations: int,
    null_probability: float,
    tension: float,
    alpha: float,
) -> list[list[tuple[int, int]]]:
    """The links after some passes over the corpus."""
    from scipy.special import digamma

    cells = _cells(source, target)
    kinds = _kinds(cells)
    null, (n, m) = cells.position == 0, cells.lengths
    prior_distance = _distance(cells.position, cells.place + 1, n, m, cells.word)
    counted_distance = np.where(null, 0.0, _distance(cells.position, cells.place, n, m, cells.word))
    table = np.full(len(cells.pair_source), START)
    for iteration in range(iterations):
        weight = np.where(null, 0.0, np.exp(-tension * prior_distance))
        share = (1.0 - null_probability) / np.add.reduceat(weight, cells.starts)
        joint = np.where(null, null_probability, weight * share[cells.word]) * table[cells.pair]
        if iteration == iterations - 1:
            break
        posterior = joint / np.add.reduceat(joint, cells.starts)[cells.word]
        if iteration > 0:
            tension = _fit_tension(tension, float(posterior @ counted_distance) / len(cells.place), kinds)
        counts = np.bincount(cells.pair, posterior) + alpha
        table = np.exp(digamma(counts) - digamma(np.bincount(cells.pair_source, counts))[cells.pair_source])
    return _links(joint, cells, [len(words) for words in target])


def _numbers(sentences: Sequence[Sequence[str]]) -> tuple[Ints, Ints, int]:
    """All words as numbers of their types, the length of each sentence, the number of types."""
    types: dict[str, int] = {}
    words = np.array([types.setdefault(word, len(types)) for words in sentences for word in words], dtype=np.int64)
    return words, np.array([len(words) for words in sentences], dtype=np.int64), len(types)


def _cells(source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]) -> _Cells:
    """Lay out all pairs; source type 0 is the null word."""
    (source_words, source_lengths, _), (target_words, target_lengths, n_types) = _numbers(source), _numbers(target)
    n, m = np.repeat(source_lengths, target_lengths), np.repeat(target_lengths, target_lengths)
    place = np.arange(len(target_words)) - np.repeat(np.cumsum(target_lengths) - target_lengths, target_lengths)
    width = n + 1
    starts = np.cumsum(width) - width
    word = np.repeat(np.arange(len(target_words)), width)
    position = np.arange(len(word)) - starts[word]
    first = np.repeat(np.cumsum(source_lengths) - source_lengths, target_lengths)
    source_type = np.where(position == 0, 0, source_words[first[word] + np.maximum(position - 1, 0)] + 1)
    pairs, pair = np.unique(source_type * n_types + target_words[word], return_inverse=True)
    return _Cells(starts, word, position, place, (n, m), pair, pairs // n_types)


def _distance(position: Ints, place: Ints, n: Ints, m: Ints, word: Ints) -> Floats:
    """How far a cell lies from the diagonal, as a share of the sentences' lengths."""
    return np.asarray(np.abs(position / n[word] - (place / m)[word]), dtype=np.float64)


def _kinds(cells: _Cells) -> tuple[Ints, Ints, Ints, Ints]:
    """The different (source length, target length, 1-based place) of target words, and how often each occurs."""
    n, m = cells.lengths
    base = int(m.max()) + 1
    codes, times = np.unique((n * base + m) * base + cells.place + 1, return_counts=True)
    return codes // base**2, codes // base % base, codes % base, times


def _fit_tension(tension: float, seen: float, kinds: tuple[Ints, Ints, Ints, Ints]) -> float:
    """Move the tension so that the mean distance from the diagonal expected of the prior comes near the seen one."""
    n, m, place, times = kinds
    word = np.repeat(np.arange(len(n)), n)
    starts = np.cumsum(n) - n
    distance = _distance(np.arange(len(word)) - starts[word] + 1, place, n, m, word)
    for _ in range(TENSION_STEPS):
        mass = np.add.reduceat(distance * np.exp(-tension * distance), starts)
        expected = float(times @ (mass / _swapped_normaliser(place, n, m, tension))) / int(times.sum())
        tension = float(np.clip(tension + (expected - seen) * TENSION_RATE, *TENSION_RANGE))
    return tension


def _swapped_normaliser(place: Ints, n: Ints, m: Ints, tension: float) -> Floats:
    """Sum of the prior's weights by the program's two geometric series, with source and target length exchanged.

    The upper series starts above the diagonal; where the exchanged diagonal lies beyond the sentence its number of
    terms wraps around in the program, which makes it the whole series.
    """
    split = place * m / n
    below = np.floor(split)
    ratio = np.exp(-tension / m)
    terms = np.where(below > m, np.inf, m - below)
    upper = np.exp(-tension * np.abs((below + 1) / m - place / n)) * (1 - ratio**terms)
    lower = np.exp(-tension * np.abs(below / m - place / n)) * (1 - ratio**below)
    return np.asarray((upper + lower) / (1 - ratio), dtype=np.float64)


def _links(joint: Floats, cells: _Cells, target_lengths: Sequence[int]) -> list[list[tuple[int, int]]]:
    """The best cell of each target word, the first of equals; the null word makes no link."""
    best = np.flatnonzero(joint == np.maximum.reduceat(joint, cells.starts)[cells.word])
    _, first = np.unique(cells.word[best], return_index=True)
    chosen = cells.position[best[first]]
    ends = np.cumsum(target_lengths)
    return [
        [(int(position) - 1, place) for place, position in enumerate(chosen[end - length : end]) if position]
        for length, end in zip(target_lengths, ends, strict=True)
    ]
