"""Several SEAT tests at once, two models on the same tests, and what a test of few words can see at all."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.compare import N_SWAPS, paired_comparison
from hf_fairness.scores.multiple_tests import benjamini_hochberg, holm
from hf_fairness.scores.statistics import Floats, as_values, cluster_index, cluster_sums

Words = Sequence[Hashable]
#: What each word adds to the effect size of one test.
Shares = Mapping[Hashable, float]


def adjust(results: Sequence[dict[str, Any]]) -> None:
    """Add Holm's and Benjamini and Hochberg's adjusted ``p_value_clustered`` to the results of the same suite.

    Args:
        results: of ``seat_test``, one per test that was asked for; changed in place: each gains
            ``p_value_clustered_holm`` and ``p_value_clustered_bh``.
    """
    raw = [result["p_value_clustered"] for result in results]
    for result, strict, loose in zip(results, holm(raw), benjamini_hochberg(raw), strict=True):
        result["p_value_clustered_holm"], result["p_value_clustered_bh"] = strict, loose


def minimal_detectable_effect_size(
    s_x: ArrayLike, s_y: ArrayLike, *, x_words: Words, y_words: Words, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Smallest positive effect size that a one-sided test of words finds with the given power.

    The gap of the means must reach (t_(1-alpha) + t_power) standard errors, t with as many degrees of freedom as
    there are words less two, the error taken over words; the gap is then divided by the standard deviation of s
    that goes with it, so that the number is a d and below about 2.

    Args:
        s_x: associations of X, shape (n_x,).
        s_y: associations of Y, shape (n_y,).
        x_words: word of each text of X.
        y_words: word of each text of Y.
        alpha: level of the test, between 0 and .5.
        power: chance of finding the effect, between .5 and 1.

    Returns:
        d > 0: the test is blind to most effects below it. None when a side has fewer than two words, or when
        nothing varies within the sides.

    Raises:
        ValueError: an empty side, NaN, not one word per text, alpha or power out of range.

    Source:
        Cohen 1988 for two means; the clusters are ours.

    Example:
        >>> words = list("abcdefgh")
        >>> s = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
        >>> round(minimal_detectable_effect_size(s, s, x_words=words, y_words=words), 2)
        1.11
    """
    from scipy.special import stdtrit

    if not 0.0 < alpha < 0.5 or not 0.5 < power < 1.0:
        raise ValueError(f"alpha must lie between 0 and .5 and power between .5 and 1; got {alpha} and {power}.")
    variance = squares = 0.0
    sizes, counts = [], []
    for values, words, name in ((s_x, x_words, "x_words"), (s_y, y_words, "y_words")):
        array = as_values(values, name.replace("_words", ""))
        residuals = array - array.mean()
        sums = cluster_sums(residuals, cluster_index(words, len(array), name))
        if len(sums) < 2:
            return None
        variance += float((sums**2).sum()) / len(array) ** 2 * len(sums) / (len(sums) - 1)
        squares += float((residuals**2).sum())
        sizes.append(len(array))
        counts.append(len(sums))
    if squares <= 1e-24 * sum(sizes):
        return None
    freedom = sum(counts) - 2
    gap = float(stdtrit(freedom, 1.0 - alpha) + stdtrit(freedom, power)) * math.sqrt(variance)
    total = squares + sizes[0] * sizes[1] / sum(sizes) * gap**2
    return gap / math.sqrt(total / (sum(sizes) - 1))


def word_shares(s_x: ArrayLike, s_y: ArrayLike, *, x_words: Words, y_words: Words) -> dict[Hashable, float]:
    """What each word adds to the effect size: the shares sum to d.

    Args:
        s_x: associations of X, shape (n_x,).
        s_y: associations of Y, shape (n_y,).
        x_words: word of each text of X.
        y_words: word of each text of Y.

    Returns:
        Word to share; all 0.0 where the associations are equal.

    Raises:
        ValueError: an empty side, NaN, not one word per text.
    """
    left, right = as_values(s_x, "s_x"), as_values(s_y, "s_y")
    both = np.concatenate([left, right])
    spread = both.std(ddof=1)
    scale = 1.0 / spread if spread > 1e-12 else 0.0
    shares: dict[Hashable, float] = {}
    for values, words, sign, name in ((left, x_words, 1.0, "x_words"), (right, y_words, -1.0, "y_words")):
        index = cluster_index(words, len(values), name)
        sums = cluster_sums((values - both.mean()) * (sign * scale / len(values)), index)
        for word, share in zip(dict.fromkeys(words), sums, strict=True):
            shares[word] = shares.get(word, 0.0) + float(share)
    return shares


def change_p_value(
    after: Sequence[Shares],
    before: Sequence[Shares],
    *,
    absolute: bool = True,
    n_samples: int = N_SWAPS,
    seed: int = 0,
) -> float:
    """Whether two models differ in mean |d| (or mean d) over some tests by more than chance.

    For each word a coin decides whose share in d counts as whose, in all tests that hold the word at once; see
    ``scores.compare.paired_comparison``. That speaks of other words, not of another training: seeds of one training
    differ too.

    Args:
        after: ``word_shares`` of each test under one model.
        before: the same under the other.
        absolute: |d| of each test, or d.
        n_samples: most combinations of swaps to look at.
        seed: of the random ones.

    Returns:
        Two-sided p-value.
    """
    words = list(dict.fromkeys(word for shares in (*after, *before) for word in shares))
    a, b = (np.array([[shares.get(word, 0.0) for shares in side] for word in words]) for side in (after, before))
    statistic = _mean_absolute if absolute else _mean
    found = paired_comparison(a, b, statistic=statistic, n_samples=n_samples, n_bootstrap=0, seed=seed)
    return float(found["p_value"])


def _mean(sums: Floats) -> Floats:
    return np.asarray(sums.mean(axis=1), dtype=np.float64)


def _mean_absolute(sums: Floats) -> Floats:
    return _mean(np.abs(sums))
