"""SEAT and WEAT: whether one set of texts is nearer to one set of attributes than another set is."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.permutation import permutation_test
from hf_fairness.scores.seat_suite import Words, minimal_detectable_effect_size
from hf_fairness.scores.statistics import (
    N_BOOTSTRAP,
    N_SAMPLES,
    Floats,
    as_values,
    bootstrap_weights,
    cluster_index,
    cluster_sums,
    generator,
    percentile_interval,
)
from hf_fairness.scores.vectors import same_width, unit
from hf_fairness.utils import FairnessWarning

CONVENTION = (
    "d = (mean_X s - mean_Y s) / std of s over X and Y with ddof=1; p one-sided, ties counted, exact when "
    "there are at most n_samples partitions, else Monte Carlo with +1 in numerator and denominator; p_value "
    "permutes sentences (as published), p_value_clustered whole words (the one to quote), adjusted over the "
    "bias tests of a suite by Holm and by Benjamini and Hochberg; intervals resample target words"
)


class _Side(NamedTuple):
    """One target set, summed up by word: count, sum and sum of squares of s."""

    counts: Floats
    sums: Floats
    squares: Floats
    words: tuple[Hashable, ...]


def associations(texts: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """How much nearer each text is to A than to B: s(w) = mean cos(w, A) - mean cos(w, B).

    Args:
        texts: embeddings, shape (n, d).
        a: embeddings of attribute set A, shape (n_a, d).
        b: embeddings of attribute set B, shape (n_b, d).

    Returns:
        Shape (n,), in [-2, 2], float64.

    Raises:
        ValueError: an empty set, NaN, a vector of zeros, vectors of different lengths.

    Source:
        Caliskan et al. 2017.
    """
    targets, first, second = unit(texts, "texts"), unit(a, "a"), unit(b, "b")
    same_width({"texts": targets, "a": first, "b": second})
    # The mean of cosines is the product with the mean of unit vectors.
    return np.asarray(targets @ (first.mean(axis=0) - second.mean(axis=0)), dtype=np.float64)


def effect_size(s_x: ArrayLike, s_y: ArrayLike, *, ddof: int = 1) -> float:
    """Effect size d of two sets of associations.

    Args:
        s_x: associations of target set X, shape (n_x,).
        s_y: associations of target set Y, shape (n_y,).
        ddof: 1 as in May et al.'s code; 0 as in WEFE.

    Returns:
        d; ideal 0 for a bias test. 0.0, with a FairnessWarning, where all associations are equal.

    Raises:
        ValueError: an empty side or NaN.

    Example:
        >>> round(effect_size([1.0, 2.0], [0.0, 1.0]), 4)  # 1 / std([1, 2, 0, 1])
        1.2247
    """
    left, right = as_values(s_x, "s_x"), as_values(s_y, "s_y")
    both = np.concatenate([left, right])
    spread = both.std(ddof=ddof)
    if spread <= 1e-12:
        warnings.warn(
            f"All {len(both)} associations are equal (spread {spread:.1e}): the effect size has no scale and "
            "is given as 0.0. An encoder that tells these texts apart would not do this.",
            FairnessWarning,
            stacklevel=2,
        )
        return 0.0
    return float((left.mean() - right.mean()) / spread)


def _side(values: Floats, words: Words | None, name: str) -> _Side:
    labels: Words = range(len(values)) if words is None else words
    index = cluster_index(labels, len(values), name)
    counts, sums, squares = (cluster_sums(v, index) for v in (np.ones_like(values), values, values**2))
    return _Side(counts, sums, squares, tuple(dict.fromkeys(labels)))


def _draws(side: _Side, n_bootstrap: int, seed: int) -> Floats:
    """Resampled (count, sum, sum of squares), shape (n_bootstrap, 3); the same words give the same draws."""
    table = np.stack([side.counts, side.sums, side.squares], axis=1)
    rng = generator(seed, *side.words)
    return np.concatenate([weights @ table for weights in bootstrap_weights(len(table), n_bootstrap, rng)])


def bootstrap_effect_sizes(
    s_x: ArrayLike,
    s_y: ArrayLike,
    *,
    x_words: Words | None = None,
    y_words: Words | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> Floats:
    """Effect sizes under resampling of target words, each with all its sentences; attributes stay.

    Two tests with the same target words get the same draws, so that a mean over tests is resampled as one.

    Args:
        s_x: associations of X, shape (n_x,).
        s_y: associations of Y, shape (n_y,).
        x_words: word of each text of X; None means that each text is a word of its own.
        y_words: word of each text of Y.
        n_bootstrap: number of resamples; 0 for none.
        seed: of the draws.

    Returns:
        Shape (n_bootstrap,); empty when a side has fewer than two words (nothing to resample).

    Raises:
        ValueError: an empty side, NaN, not one word per text.
    """
    left, right = as_values(s_x, "s_x"), as_values(s_y, "s_y")
    centre = np.concatenate([left, right]).mean()
    sides = _side(left - centre, x_words, "x_words"), _side(right - centre, y_words, "y_words")
    if n_bootstrap < 1 or min(len(side.counts) for side in sides) < 2:
        return np.empty(0)
    x, y = (_draws(side, n_bootstrap, seed) for side in sides)
    n, total, squares = (x + y).T
    variance = np.maximum(squares - total**2 / n, 0.0) / (n - 1.0)
    gap = x[:, 1] / x[:, 0] - y[:, 1] / y[:, 0]
    flat = variance <= 1e-24
    return np.asarray(np.where(flat, 0.0, gap / np.sqrt(np.where(flat, 1.0, variance))), dtype=np.float64)


def seat_test(
    x: ArrayLike,
    y: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    *,
    x_words: Words | None = None,
    y_words: Words | None = None,
    n_samples: int = N_SAMPLES,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Association test of May et al. 2019 (WEAT of Caliskan et al. 2017 when the texts are words).

    d = (mean_X s - mean_Y s) / std(s over X and Y, ddof=1) with s(w) = mean cos(w, A) - mean cos(w, B).
    The p-value is one-sided; see ``permutation_test``. Sentences built from one word are not independent:
    ``p_value`` permutes sentences, as published, and rejects a true null far too often; ``p_value_clustered``
    permutes words with all their sentences. Unequal target sets are allowed: partitions then keep both sizes.

    Args:
        x: embeddings of target set X, shape (n_x, d).
        y: embeddings of target set Y, shape (n_y, d).
        a: embeddings of attribute set A, shape (n_a, d).
        b: embeddings of attribute set B, shape (n_b, d).
        x_words: word from which each text of X was built, length n_x; None: each text is a word.
        y_words: the same for Y.
        n_samples: most partitions looked at.
        n_bootstrap: resamples behind the interval; 0: no interval.
        seed: of all draws.

    Returns:
        ``effect_size``: d, ideal 0 for a bias test, about +-2 at most. ``effect_size_ci95``: resampling
        target words, attributes fixed; None when a side has fewer than two words. ``p_value``,
        ``p_value_clustered``. ``minimal_detectable_effect_size``: the d that the test of words finds four times in
        five, at .05; None where it has no answer.
        ``numerator``: mean_X s - mean_Y s, which no shrinking spread can hide. ``n_words`` and
        ``n_sentences``: of X, Y, A, B (words of X and Y only). ``method``: "exact" or "monte_carlo" for
        ``p_value``, ``method_clustered`` for the other.

    Raises:
        ValueError: an empty set, NaN, a vector of zeros, vectors of different lengths, not one word per text.

    Source:
        Caliskan et al. 2017; May et al. 2019, section 2. The clustered test and the interval are ours.
    """
    s_x, s_y = associations(x, a, b), associations(y, a, b)
    labels_x: Words = range(len(s_x)) if x_words is None else x_words
    labels_y: Words = range(len(s_y)) if y_words is None else y_words
    sentences = permutation_test(s_x, s_y, n_samples=n_samples, seed=seed)
    words = permutation_test(s_x, s_y, x_clusters=labels_x, y_clusters=labels_y, n_samples=n_samples, seed=seed)
    draws = bootstrap_effect_sizes(s_x, s_y, x_words=labels_x, y_words=labels_y, n_bootstrap=n_bootstrap, seed=seed)
    return {
        "effect_size": effect_size(s_x, s_y),
        "effect_size_ci95": percentile_interval(draws) if len(draws) else None,
        "p_value": sentences.p_value,
        "p_value_clustered": words.p_value,
        "minimal_detectable_effect_size": minimal_detectable_effect_size(s_x, s_y, x_words=labels_x, y_words=labels_y),
        "numerator": float(s_x.mean() - s_y.mean()),
        "n_words": len(set(labels_x)) + len(set(labels_y)),
        "n_sentences": len(s_x) + len(s_y),
        "method": sentences.method,
        "method_clustered": words.method,
    }


def mean_draws(draws: Sequence[Floats]) -> Floats:
    """Resampled mean |d| over several tests; empty when one of them could not be resampled.

    Args:
        draws: ``bootstrap_effect_sizes`` of each test, drawn with one seed.

    Returns:
        Shape (n_bootstrap,) or (0,).
    """
    if not draws or not all(len(draw) for draw in draws):
        return np.empty(0)
    return np.asarray(np.abs(np.stack(list(draws))).mean(axis=0), dtype=np.float64)


def mean_absolute(results: Sequence[dict[str, Any]], draws: Sequence[Floats]) -> dict[str, Any]:
    """Mean |d| over several tests, with the interval of that mean; signs would cancel in a plain mean.

    Args:
        results: one result of ``seat_test`` per test.
        draws: ``bootstrap_effect_sizes`` of the same tests, drawn with one seed.

    Returns:
        ``mean_abs_effect_size`` and ``mean_abs_effect_size_ci95``; both None without tests, the interval also
        when one of the tests has none. |d| of resamples is biased upwards near 0: the interval never holds 0.
    """
    if not results:
        return {"mean_abs_effect_size": None, "mean_abs_effect_size_ci95": None}
    value = float(np.mean([abs(result["effect_size"]) for result in results]))
    resampled = mean_draws(draws)
    interval = percentile_interval(resampled) if len(resampled) else None
    return {"mean_abs_effect_size": value, "mean_abs_effect_size_ci95": interval}
