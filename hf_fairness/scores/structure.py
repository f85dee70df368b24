"""What an encoder is still good for: rank correlations of cosine similarities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.record import Declared
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import (
    N_BOOTSTRAP,
    Floats,
    as_values,
    bootstrap_weights,
    generator,
    percentile_interval,
)
from hf_fairness.scores.vectors import pair_cosines

MEASURES = {
    "sts_spearman": Declared(
        "agreement with people on how alike sentences are (STS, Spearman)", "utility", 1.0, "higher"
    ),
    "similarity_structure": Declared(
        "similarities between sentences kept as they were (similarity structure, Spearman)",
        "utility",
        1.0,
        "none",  # no training can raise it
        convention="Similarity structure: Spearman correlation of the cosine similarities of unrelated sentence pairs "
        "under this encoder and under the original one; 1 means that nothing moved. It can only fall, so no verdict is "
        "given: compare it with the control's.",
    ),
}


class _Ranker:
    """Mid-ranks of fixed values under any weights, without sorting again."""

    def __init__(self, values: Floats) -> None:
        self.order = np.argsort(values, kind="stable")
        _, self.starts = np.unique(values[self.order], return_index=True)
        _, self.group = np.unique(values, return_inverse=True)

    def ranks(self, weights: Floats) -> Floats:
        """Ranks of shape (m, n) for weights of shape (m, n): tied values share the mean of their ranks."""
        sizes = np.add.reduceat(weights[:, self.order], self.starts, axis=1)
        middle = np.cumsum(sizes, axis=1) - (sizes - 1.0) / 2.0
        return np.asarray(middle[:, self.group], dtype=np.float64)


def _correlate(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Weighted correlation of matching rows of (m, n) arrays; 0 where one side does not vary."""
    total = weights.sum(axis=1, keepdims=True)
    left = x - (weights * x).sum(axis=1, keepdims=True) / total
    right = y - (weights * y).sum(axis=1, keepdims=True) / total
    weighted = weights * left
    product = (weighted * right).sum(axis=1)
    scale = np.sqrt((weighted * left).sum(axis=1) * (weights * right**2).sum(axis=1))
    return np.asarray(np.where(scale > 0.0, product / np.where(scale > 0.0, scale, 1.0), 0.0), dtype=np.float64)


def spearman_draws(
    x: ArrayLike,
    y: ArrayLike,
    *,
    x_name: str = "x",
    y_name: str = "y",
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> tuple[float, Floats]:
    """Spearman's rank correlation, and its values when rows are resampled.

    Tied values share the mean of their ranks; ranks are taken anew in each resample. The same seed and number
    of rows give the same resamples, so that draws of two correlations over the same rows are paired.

    Args:
        x: shape (n,), n >= 3.
        y: shape (n,), row i belongs to row i of x.
        x_name: how messages call x.
        y_name: how messages call y.
        n_bootstrap: number of resamples.
        seed: of the resamples.

    Returns:
        The correlation in [-1, 1], and draws of shape (n_bootstrap,).

    Raises:
        ValueError: fewer than three rows, different lengths, NaN, or values that are all equal.

    Example:
        >>> round(spearman_draws([1, 2, 3, 4], [1, 3, 2, 4])[0], 6)
        0.8
    """
    left, right = as_values(x, x_name, minimum=3), as_values(y, y_name, minimum=3)
    if left.shape != right.shape:
        raise ValueError(f"{x_name} and {y_name} must have the same length; got {len(left)} and {len(right)}.")
    for values, name in ((left, x_name), (right, y_name)):
        if np.ptp(values) <= 1e-12 * np.abs(values).max():
            raise ValueError(f"{name} are all equal ({values[0]:.6g}): they have no order, so no rank correlation.")
    by_left, by_right = _Ranker(left), _Ranker(right)

    def correlation(weights: Floats) -> Floats:
        values = _correlate(by_left.ranks(weights), by_right.ranks(weights), weights)
        return np.clip(values, -1.0, 1.0)

    drawn = [correlation(weights) for weights in bootstrap_weights(len(left), n_bootstrap, generator(seed))]
    return float(correlation(np.ones((1, len(left))))[0]), np.concatenate([np.empty(0), *drawn])


def spearman_interval(draws: Floats) -> list[float] | None:
    """95 % interval from draws of :func:`spearman_draws`; None without draws."""
    return percentile_interval(draws) if len(draws) else None


def similarity_structure(
    original_left: ArrayLike,
    original_right: ArrayLike,
    mitigated_left: ArrayLike,
    mitigated_right: ArrayLike,
    *,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Spearman correlation between the cosines of the same text pairs under two encoders.

    The encoders may have different dimensions; only their similarities are compared.

    Args:
        original_left: left texts of the pairs under the original encoder, shape (n, d).
        original_right: right texts under the original encoder, shape (n, d).
        mitigated_left: left texts under the other encoder, shape (n, d').
        mitigated_right: right texts under the other encoder, shape (n, d').
        n_bootstrap: resamples of pairs behind the interval; 0: no interval.
        seed: of the resamples.

    Returns:
        ``similarity_structure`` in [-1, 1], ideal 1, lower is worse; ``similarity_structure_ci95``; ``n``
        pairs; ``meta``.

    Raises:
        ValueError: fewer than three pairs, shapes that do not match, NaN, a vector of zeros, equal
            similarities.
    """
    before = pair_cosines(original_left, original_right, left_name="original_left", right_name="original_right")
    after = pair_cosines(mitigated_left, mitigated_right, left_name="mitigated_left", right_name="mitigated_right")
    value, draws = spearman_draws(
        before,
        after,
        x_name="similarities under the original encoder",
        y_name="similarities under the mitigated encoder",
        n_bootstrap=n_bootstrap,
        seed=seed,
    )
    return {
        "similarity_structure": value,
        "similarity_structure_ci95": spearman_interval(draws),
        "n": len(before),
        "meta": describe(
            n=len(before),
            convention="Spearman correlation of the cosines of the same pairs; interval resamples pairs",
            ideal="1",
            direction="lower is worse",
            seed=seed,
        ),
    }


def sts(
    left: ArrayLike,
    right: ArrayLike,
    gold: ArrayLike,
    *,
    reference: tuple[ArrayLike, ArrayLike] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Spearman correlation between cosine similarity and human scores of similarity.

    Args:
        left: first texts, shape (n, d).
        right: second texts, shape (n, d).
        gold: human scores, shape (n,), on any scale.
        reference: left and right embeddings under another encoder, for instance the one before mitigation.
        n_bootstrap: resamples of pairs behind the interval; 0: no interval.
        seed: of the resamples.

    Returns:
        ``sts_spearman`` in [-1, 1], ideal 1, lower is worse; ``sts_spearman_ci95``; with ``reference``, the
        paired ``sts_spearman_change`` (this encoder minus reference, below 0 is a loss) and its ``_ci95``;
        ``n`` pairs; ``meta``.

    Raises:
        ValueError: fewer than three pairs, shapes that do not match, NaN, a vector of zeros, equal scores.

    Source:
        Cer et al. 2017 (the benchmark); the papers print it times 100.
    """
    names: dict[str, Any] = {"x_name": "cosine similarities", "y_name": "gold scores"}
    resampling: dict[str, Any] = {"n_bootstrap": n_bootstrap, "seed": seed}
    cosines = pair_cosines(left, right)
    value, draws = spearman_draws(cosines, gold, **names, **resampling)
    result: dict[str, Any] = {"sts_spearman": value, "sts_spearman_ci95": spearman_interval(draws)}
    if reference is not None:
        other, other_draws = spearman_draws(pair_cosines(*reference), gold, **names, **resampling)
        result["sts_spearman_change"] = value - other
        result["sts_spearman_change_ci95"] = spearman_interval(draws - other_draws)
    return {
        **result,
        "n": len(cosines),
        "meta": describe(
            n=len(cosines),
            convention="Spearman correlation of cosine similarity with gold scores; interval resamples pairs",
            ideal="1",
            direction="lower is worse",
            seed=seed,
        ),
    }
