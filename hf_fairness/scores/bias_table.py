"""A bias score without a model: what each word adds on average, fitted to exact scores (arrays only)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.scores.statistics import (
    N_BOOTSTRAP,
    Floats,
    as_values,
    bootstrap_weights,
    generator,
    percentile_interval,
)
from hf_fairness.scores.structure import spearman_draws

#: How far a word's own values are believed beside what its vector tells: as if seen so often before.
SEEN_BEFORE = 1.0
#: Occurrences beyond which a word counts no more where vectors are related to words, and the ridge there.
ENOUGH, FLAT = 20, 100.0
#: Ridge of the influence of words on the whole text; how freely their vectors and a constant take part in it; steps of
#: the solver. On 5,000 news sentences with MiniLM, half or twice of either changed little on other sentences.
RIDGE, BY_VECTOR, FREE, STEPS = 0.15, 0.3, 3.0, 200
#: Share of the texts with the highest scores that a fidelity looks for, as the 95th percentile takes them.
TOP = 0.05


@dataclass(frozen=True)
class Words:
    """The words of texts by number, one text after the other.

    Attributes:
        number: of each word, shape (w,).
        weighted: bias x importance of each word, NaN where it is not known, shape (w,).
        sizes: words of each text, shape (n,).
        net: sum of both scores of each text, shape (n,).
        absolute: absolute score of each text, shape (n,).
    """

    number: NDArray[np.intp]
    weighted: Floats
    sizes: NDArray[np.intp]
    net: Floats
    absolute: Floats


@dataclass(frozen=True)
class Columns:
    """What a table says of each word, and how a text is scored from it.

    Attributes:
        load: what the word adds to the absolute score, >= 0, shape (v,).
        lean: what it adds to the sum of both scores, itself and through the words around it, shape (v,).
        growth: a sum over n words is their mean times n to this power.
        mix: weights of load and of |lean| in the absolute score.
    """

    load: Floats
    lean: Floats
    growth: float
    mix: tuple[float, float] = (1.0, 0.0)

    def sums(self, number: NDArray[np.intp], sizes: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Load and lean of texts, shape (n,) each; 0 for a text without words."""
        text, grown = np.repeat(np.arange(len(sizes)), sizes), np.maximum(sizes, 1) ** (self.growth - 1.0)
        load, lean = (np.bincount(text, column[number], len(sizes)) * grown for column in (self.load, self.lean))
        return load, lean

    def scores(self, number: NDArray[np.intp], sizes: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Positive and negative scores of texts, shape (n,) each.

        Args:
            number: of each word of the texts, shape (w,).
            sizes: words of each text, shape (n,).
        """
        load, lean = self.sums(number, sizes)
        absolute = self.mix[0] * load + self.mix[1] * np.abs(lean)
        lean = np.clip(lean, -absolute, absolute)
        return (absolute + lean) / 2.0, (lean - absolute) / 2.0


def fit_columns(words: Words, vectors: Floats, excluded: NDArray[np.bool_]) -> Columns:
    """Means of words in context, and a ridge regression of what they leave of the texts' scores.

    A word's load is its mean |bias x importance| over the texts that hold it. Its lean is the mean of bias x
    importance, and what a text's sum of both has beyond these means where the word stands, for in context every word
    takes on something of its neighbours. Both are drawn to what a linear map makes of the word's vector, the more the
    rarer it is; a word that no text holds has that alone.

    Args:
        words: of the texts to learn from.
        vectors: of the words out of context, zeros where there is none, shape (v, d); d may be 0.
        excluded: whether the word is on the exclusion list, shape (v,).

    Returns:
        The columns with two more rows, for a word that is not among them, and for one that is on the exclusion list:
        the mean over the words that were met once. ``mix`` is to be fitted yet.
    """
    from scipy.sparse import csr_array, hstack
    from scipy.sparse.linalg import lsqr

    growth = _growth(words)
    n_texts, n_words = len(words.sizes), len(vectors)
    sizes = np.maximum(words.sizes, 1)
    text = np.repeat(np.arange(n_texts), words.sizes)
    values = words.weighted * sizes[text] ** (1.0 - growth)
    known = np.isfinite(values)
    count = np.bincount(words.number[known], minlength=n_words)
    there = vectors.any(axis=1)
    features = np.zeros((n_words, 1 + vectors.shape[1]))
    features[:, 0] = 1.0
    if there.any():
        features[there, 1:] = (vectors[there] - vectors[there].mean(axis=0)) / (vectors[there].std() or 1.0)
    belief = np.minimum(count, ENOUGH)[:, None] * features
    gram = features.T @ belief + FLAT * np.eye(features.shape[1])

    def means(of: Floats) -> Floats:
        total = np.bincount(words.number[known], of[known], n_words)
        prior = features @ np.linalg.solve(gram, belief.T @ (total / np.maximum(count, 1)))
        return np.asarray((total + SEEN_BEFORE * prior) / (count + SEEN_BEFORE))

    load, lean = means(np.abs(values)).clip(min=0.0), means(values)
    share = csr_array(((1.0 / sizes)[text], (text, words.number)), shape=(n_texts, n_words))
    scale = np.array([FREE, *[BY_VECTOR] * vectors.shape[1]])
    design = hstack([share, csr_array(share @ features * scale)]).tocsr()
    found = lsqr(design, words.net / sizes**growth - share @ lean, damp=RIDGE, iter_lim=STEPS)[0]
    lean = lean + found[:n_words] + features @ (found[n_words:] * scale)
    for kind in (False, True):
        once = (count == 1) & (excluded == kind)
        load, lean = (np.append(each, each[:n_words][once].mean() if once.any() else 0.0) for each in (load, lean))
    return Columns(load, lean, growth)


def _growth(words: Words) -> float:
    """Slope of the logarithm of the mean absolute score over that of the number of words, in [0, 1]."""
    size, group = np.unique(words.sizes, return_inverse=True)
    count = np.bincount(group)
    mean = np.bincount(group, words.absolute) / count
    some = (size > 0) & (mean > 0.0)
    if some.sum() < 2:
        return 0.0
    slope = np.polyfit(np.log(size[some]), np.log(mean[some]), 1, w=np.sqrt(count[some]))[0]
    return float(np.clip(slope, 0.0, 1.0))


def mixed(columns: Columns, words: Words) -> Columns:
    """The columns with the mix of load and |lean| that is nearest to absolute scores of texts not learned from.

    Nearest in proportion to the load, or the highest scores alone would decide and the order of the others suffer.
    """
    from scipy.optimize import nnls

    load, lean = columns.sums(words.number, words.sizes)
    some = load > 0.0
    ratios = np.abs(lean[some]) / load[some]
    mix = nnls(np.stack([np.ones_like(ratios), ratios], axis=1), words.absolute[some] / load[some])[0]
    return replace(columns, mix=(float(mix[0]), float(mix[1])))


def fidelity(
    exact: ArrayLike, other: ArrayLike, *, top: float = TOP, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0
) -> dict[str, Any]:
    """How well other scores of the same texts put them in the order of the exact ones.

    Args:
        exact: shape (n,), n >= 3.
        other: shape (n,).
        top: share of the texts that are looked for, in (0, 1).
        n_bootstrap: resamples of texts behind the intervals; at least one.
        seed: of the resamples.

    Returns:
        ``spearman`` in [-1, 1] and ``top_found``, the share of the texts with the highest exact scores that are among
        as many with the highest other ones; both ideal 1, each with ``_ci95``; at random ``top_found`` is ``top``.
        ``n`` texts.

    Raises:
        ValueError: as ``spearman_draws``; ``top`` out of its range.

    Example:
        >>> found = fidelity([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0], top=0.25, n_bootstrap=10)
        >>> round(found["spearman"], 3), found["top_found"]
        (0.8, 0.0)
    """
    value, draws = spearman_draws(exact, other, x_name="exact", y_name="other", n_bootstrap=n_bootstrap, seed=seed)
    if not 0.0 < top < 1.0:
        raise ValueError(f"top must lie between 0 and 1; got {top}.")
    left, right = as_values(exact, "exact"), as_values(other, "other")
    n = len(left)
    orders = [np.argsort(-values, kind="stable") for values in (left, right)]

    def found(weights: Floats) -> float:
        k, kept = max(1, round(top * n)), np.zeros((2, n))
        for row, order in zip(kept, orders, strict=True):  # the first k drawn; a text may be drawn several times
            counts = weights[order]
            row[order] = np.clip(k - (np.cumsum(counts) - counts), 0.0, counts)
        return float(kept.min(axis=0).sum() / k)

    weights = bootstrap_weights(n, n_bootstrap, generator(seed))
    tops = [found(row) for rows in weights for row in rows]
    return {
        "spearman": value,
        "spearman_ci95": percentile_interval(draws),
        "top_found": found(np.ones(n)),
        "top_found_ci95": percentile_interval(tops),
        "top": top,
        "n": n,
    }
