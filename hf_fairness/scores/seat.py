"""SEAT and WEAT: whether one set of texts is nearer to one set of attributes than another set is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.record import Declared
from hf_fairness.scores.intervals import Z, combined_limits, correlations, distance_reach
from hf_fairness.scores.permutation import permutation_test
from hf_fairness.scores.seat_suite import Words, minimal_detectable_effect_size
from hf_fairness.scores.statistics import (
    N_BOOTSTRAP,
    N_SAMPLES,
    Floats,
    as_values,
    cluster_index,
    cluster_sums,
    read_keys,
)
from hf_fairness.scores.vectors import same_width, unit
from hf_fairness.utils import FairnessWarning

CONVENTION = (
    "d = (mean_X s - mean_Y s) / std of s over X and Y with ddof=1; p one-sided, ties counted, exact when "
    "there are at most n_samples partitions, else Monte Carlo with +1 in numerator and denominator; p_value "
    "permutes sentences (as published), p_value_clustered whole words (the one to quote), adjusted over the "
    "bias tests of a suite by Holm and by Benjamini and Hochberg; 95 % intervals over target words: non-central "
    "t of the gap between words (associations about normal; a skewed one with a large d is covered less often)"
)
#: Two training seeds differed by this much in mean |d| (measured on all-MiniLM-L6-v2): less is noise.
SEED_NOISE = 0.15
_READ = (
    "SEAT effect size d: difference of the mean association of two target sets, divided by the standard deviation "
    "(ddof = 1) over both; 0 is ideal for bias tests, while a high positive d is good for the retention tests. The "
    "p-value to quote is the word-clustered one; sentences made from one word are not independent."
)
MEASURES = {
    "mean_abs_effect_size": Declared(
        "association of groups with concepts, mean size over the bias tests (SEAT)",
        "bias",
        0.0,
        "lower",
        noise=SEED_NOISE,
        convention=_READ,
    ),
}
#: Of one test, by its purpose; its title is what the test is about.
TEST_MEASURES = {
    "bias": {"effect_size": Declared("SEAT", "bias", 0.0, "zero", noise=SEED_NOISE, convention=_READ)},
    "retention": {"effect_size": Declared("SEAT", "utility", None, "higher", noise=SEED_NOISE, convention=_READ)},
}

#: Standard errors beyond which the non-central distribution is taken as normal.
FAR = 30.0


class Effect(NamedTuple):
    """An effect size, its 95 % interval (None: not known) and what d loses when a word is left out, by word."""

    value: float
    interval: list[float] | None
    influence: dict[Hashable, float]


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


def effect(s_x: ArrayLike, s_y: ArrayLike, *, x_words: Words | None = None, y_words: Words | None = None) -> Effect:
    """The effect size with its interval over target words, each with all its sentences; attributes stay.

    The gap between the means, divided by its standard error between words, follows Student's non-central distribution;
    the limits of its non-centrality are turned into gaps and these into d, with the spread within the sides as it is.
    Where each text is a word, that is the exact interval of a standardised difference.

    Args:
        s_x: associations of X, shape (n_x,).
        s_y: associations of Y, shape (n_y,).
        x_words: word of each text of X; None means that each text is a word of its own.
        y_words: word of each text of Y.

    Returns:
        The effect; no interval when a side has fewer than two words, or where words do not vary.

    Raises:
        ValueError: an empty side, NaN, not one word per text.

    Source:
        Hedges and Olkin 1985, chapter 5 (non-central t); words as clusters are ours.
    """
    left, right = as_values(s_x, "s_x"), as_values(s_y, "s_y")
    value = effect_size(left, right)
    labels: list[Hashable] = []
    sums, rows = [], []
    for place, (values, words, name) in enumerate(((left, x_words, "x_words"), (right, y_words, "y_words"))):
        keys: Any = range(len(values)) if words is None else words
        index = cluster_index(keys, len(values), name)
        labels += list(dict.fromkeys(read_keys(keys, len(values), name)))
        table = np.zeros((int(index.max()) + 1, 2, 3))  # by word, for X and Y: count, sum, sum of squares
        table[:, place] = cluster_sums(np.stack([np.ones_like(values), values, values**2], axis=1), index)
        sums.append(table)
        rows.append(table[:, place])
    if min(len(table) for table in rows) < 2:
        return Effect(value, None, {})
    total = np.concatenate(sums)
    influence = value - _effects(total.sum(axis=0) - total)
    by_word: dict[Hashable, float] = {}
    for label, change in zip(labels, influence.tolist(), strict=True):
        by_word[label] = by_word.get(label, 0.0) + change
    return Effect(value, _effect_interval(left, right, rows), by_word)


def _effects(sums: Floats) -> Floats:
    """Effect sizes from counts, sums and sums of squares of both sides, shape (m, 2, 3); 0 where nothing varies."""
    n, total, squares = sums.sum(axis=1).T
    variance = np.maximum(squares - total**2 / n, 0.0) / np.maximum(n - 1.0, 1.0)
    gap = sums[:, 0, 1] / sums[:, 0, 0] - sums[:, 1, 1] / sums[:, 1, 0]
    flat = variance <= 1e-24
    return np.asarray(np.where(flat, 0.0, gap / np.sqrt(np.where(flat, 1.0, variance))), dtype=np.float64)


def _effect_interval(left: Floats, right: Floats, rows: Sequence[Floats]) -> list[float] | None:
    """Limits of d; ``rows``: per side count and sum of each word."""
    from scipy.special import nctdtrinc

    gap = float(left.mean() - right.mean())
    variance = within = 0.0
    for values, table in ((left, rows[0]), (right, rows[1])):
        words = len(table)
        parts = table[:, 1] - table[:, 0] * values.mean()
        variance += float(parts @ parts) / len(values) ** 2 * words / (words - 1)
        within += float(((values - values.mean()) ** 2).sum())
    if variance <= 1e-24 or within <= 1e-24:
        return None
    error, freedom = math.sqrt(variance), len(rows[0]) + len(rows[1]) - 2
    # nctdtrinc loses its way far out; there the distribution is as good as normal.
    centres = [float(nctdtrinc(freedom, tail, gap / error)) for tail in (0.975, 0.025)]
    n, weight = len(left) + len(right), len(left) * len(right) / (len(left) + len(right))
    ends = [centre * error for centre in centres]
    if not all(map(math.isfinite, ends)) or abs(gap / error) > FAR:
        ends = [
            gap - Z * error * math.sqrt(1 + (gap / error) ** 2 / (2 * freedom)),
            gap + Z * error * math.sqrt(1 + (gap / error) ** 2 / (2 * freedom)),
        ]
    low, high = (end / math.sqrt((within + weight * end**2) / (n - 1)) for end in ends)
    return [low, high]


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
        n_bootstrap: 0: no interval; nothing is drawn for it.
        seed: of all draws.

    Returns:
        ``effect_size``: d, ideal 0 for a bias test, about +-2 at most. ``effect_size_ci95``: over
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
    found = effect(s_x, s_y, x_words=labels_x, y_words=labels_y)
    return {
        "effect_size": found.value,
        "effect_size_ci95": found.interval if n_bootstrap else None,
        "p_value": sentences.p_value,
        "p_value_clustered": words.p_value,
        "minimal_detectable_effect_size": minimal_detectable_effect_size(s_x, s_y, x_words=labels_x, y_words=labels_y),
        "numerator": float(s_x.mean() - s_y.mean()),
        "n_words": len(set(labels_x)) + len(set(labels_y)),
        "n_sentences": len(s_x) + len(s_y),
        "method": sentences.method,
        "method_clustered": words.method,
    }


def mean_absolute(effects: Sequence[Effect], *, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0) -> dict[str, Any]:
    """Mean |d| over several tests, with the interval of that mean; signs would cancel in a plain mean.

    Args:
        effects: of the tests; those that share words vary together.
        n_bootstrap: draws behind the interval; 0: none.
        seed: of the draws.

    Returns:
        ``mean_abs_effect_size`` and ``mean_abs_effect_size_ci95``; both None without tests, the interval also when one
        of the tests has none. |d| is too large on average where the true one is near 0; the interval allows for that:
        it is on the safe side and holds 0 where chance explains all of the tests.
    """
    if not effects:
        return {"mean_abs_effect_size": None, "mean_abs_effect_size_ci95": None}
    value, interval = float(np.mean([abs(found.value) for found in effects])), None
    if n_bootstrap and all(found.interval for found in effects):
        _, low, high, influence = _tables(effects)
        errors = (high - low) / (2.0 * Z)
        reach = distance_reach(lambda noise: np.abs(noise).mean(axis=1), errors, influence, n_bootstrap, seed)
        interval = [max(0.0, value - reach), value + reach]
    return {"mean_abs_effect_size": value, "mean_abs_effect_size_ci95": interval}


def change_interval(after: Sequence[Effect], before: Sequence[Effect], *, absolute: bool) -> list[float] | None:
    """95 % interval of the change of mean |d| (or mean d) between two models on the same tests.

    Args:
        after: effects under one model.
        before: under the other, same tests and words.
        absolute: |d| of each test, or d.

    Returns:
        ``[low, high]``; None where a test has no interval.
    """
    if not all(found.interval for found in (*after, *before)):
        return None
    if list(after) == list(before):  # said here, as words without influence on d have no correlation
        return [0.0, 0.0]
    values, low, high, influence = _tables([*after, *before])
    weights = np.repeat([1.0, -1.0], len(after)) / len(after)
    if absolute:
        weights = weights * np.where(values < 0.0, -1.0, 1.0)
    ends = combined_limits(values, low, high, correlations(influence), weights)
    return [float(end) for end in ends]


def _tables(effects: Sequence[Effect]) -> tuple[Floats, Floats, Floats, Floats]:
    """Values, limits and influence by word, shape (words, tests)."""
    words = list(dict.fromkeys(word for found in effects for word in found.influence))
    influence = np.array([[found.influence.get(word, 0.0) for found in effects] for word in words])
    low, high = np.array([found.interval for found in effects], dtype=np.float64).T
    return np.array([found.value for found in effects]), low, high, influence
