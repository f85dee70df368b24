"""What a head on frozen embeddings, or a fine-tuned model, gets right: accuracy, F1, and agreement with scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.record import Declared
from hf_fairness.scores.compare import Statistic, paired_comparisons
from hf_fairness.scores.meta import describe
from hf_fairness.scores.rates import ratio
from hf_fairness.scores.statistics import (
    N_BOOTSTRAP,
    Floats,
    as_values,
    mean_statistic_interval,
    share_interval,
)
from hf_fairness.scores.structure import spearman_draws, spearman_interval

#: Numbers of classes; F1 is that of one class, where the task has such a one.
CLASS_MEASURES = {
    "accuracy": Declared("accuracy", "utility", 1.0, "higher"),
    "f1": Declared("F1", "utility", 1.0, "higher"),
}
#: Numbers of scores on a scale, the first one that papers quote.
SCORE_MEASURES = {
    "pearson": Declared("agreement of predicted scores with people's (Pearson)", "utility", 1.0, "higher"),
    "cosine_spearman": Declared("agreement of cosines with people's scores (Spearman)", "utility", 1.0, "higher"),
    "spearman": Declared("agreement of predicted scores with people's (Spearman)", "utility", 1.0, "higher"),
    "mse": Declared("squared error of predicted scores (MSE)", "utility", 0.0, "lower"),
}


def class_scores(predicted: ArrayLike, gold: ArrayLike, *, positive: int | None = None) -> dict[str, Any]:
    """How often the class was told.

    Args:
        predicted: number of the class of each item, shape (n,).
        gold: the right one, same items.
        positive: the class whose F1 is wanted; None: no F1.

    Returns:
        ``accuracy`` in [0, 1] with ``accuracy_ci95`` (Wilson, over items: the head is not trained anew); ``majority``:
        share of the most frequent class, which needs no model; with ``positive`` also ``f1`` and its ``_ci95``; ``n``;
        ``meta``. Ideal 1, lower is worse.

    Raises:
        ValueError: no items, different numbers of items, NaN.

    Example:
        >>> found = class_scores([1, 1, 0, 0], [1, 1, 1, 0], positive=1)
        >>> found["accuracy"], found["majority"], round(found["f1"], 6)
        (0.75, 0.75, 0.8)
    """
    told, right = _same_items(predicted, gold)
    n, hits = len(told), int((told == right).sum())
    result: dict[str, Any] = {
        "accuracy": hits / n,
        "accuracy_ci95": share_interval(hits, n),
        "majority": float(np.unique(right, return_counts=True)[1].max() / n),
    }
    if positive is not None:
        columns = _class_columns(told, right, positive)
        result["f1"] = float(_f1(columns.sum(axis=0, keepdims=True))[0])
        ends = mean_statistic_interval(columns, _f1)
        result["f1_ci95"] = None if ends is None else [max(0.0, ends[0]), min(1.0, ends[1])]
    convention = "accuracy over items; 95 % intervals over items (Wilson; F1: leaving out each item)"
    meta = describe(n=n, convention=convention, ideal="1", direction="lower is worse", seed=0)
    return {**result, "n": n, "meta": meta}


def class_changes(
    predicted: ArrayLike, other: ArrayLike, gold: ArrayLike, *, positive: int | None = None, seed: int = 0
) -> dict[str, Any]:
    """How accuracy and F1 differ from another model's on the same items.

    Args:
        predicted: classes that the model told, shape (n,).
        other: those of the other one.
        gold: the right ones.
        positive: as in :func:`class_scores`.
        seed: of the swaps, where there are too many to look at all.

    Returns:
        ``accuracy_change`` (model minus other), its ``_ci95`` and ``_p_value``: McNemar's exact test, as
        :func:`hf_fairness.scores.compare.paired_comparison` does it; the same for ``f1``.
    """
    (told, right), (before, _) = _same_items(predicted, gold), _same_items(other, gold)
    statistics: dict[str, Statistic] = {"accuracy": _accuracy}
    if positive is not None:
        statistics["f1"] = _f1
    one, two = (_class_columns(each, right, positive) for each in (told, before))
    return _changes(one, two, statistics, seed)


def relatedness_scores(
    predicted: ArrayLike, cosines: ArrayLike, gold: ArrayLike, *, n_bootstrap: int = N_BOOTSTRAP, seed: int = 0
) -> dict[str, Any]:
    """How near predicted scores of how alike two texts are come to people's.

    Args:
        predicted: of a regression on the embeddings, shape (n,), on the scale of ``gold``.
        cosines: of the embeddings, shape (n,): what nothing was trained for.
        gold: scores of people.
        n_bootstrap: resamples of pairs behind the intervals of the rank correlations.
        seed: of the resamples.

    Returns:
        ``pearson``, ``spearman`` and ``mse`` of the predictions, ``cosine_spearman``, each with ``_ci95`` over pairs;
        ``n``; ``meta``. A correlation is 0 where all predictions are equal. Ideal 1; 0 for ``mse``.

    Raises:
        ValueError: fewer than three pairs, different numbers of pairs, NaN, equal gold scores or cosines.
    """
    told, right = _same_items(predicted, gold)
    columns = _score_columns(told, right)
    value = _pearson(columns.sum(axis=0, keepdims=True))
    error = mean_statistic_interval(columns, _mse, positive=True)
    result: dict[str, Any] = {
        "pearson": float(value[0]),
        "pearson_ci95": _within(mean_statistic_interval(columns, _pearson)),
        "mse": float(_mse(columns.sum(axis=0, keepdims=True))[0]),
        "mse_ci95": error,
    }
    draws: dict[str, Any] = {"y_name": "gold scores", "n_bootstrap": n_bootstrap, "seed": seed}
    for key, values in (("spearman", told), ("cosine_spearman", as_values(cosines, "cosines"))):
        if key == "spearman" and np.ptp(values) == 0.0:
            result |= {key: 0.0, f"{key}_ci95": None}
            continue
        found, drawn = spearman_draws(values, right, x_name=key, **draws)
        result |= {key: found, f"{key}_ci95": spearman_interval(drawn)}
    convention = "predictions on pairs that no head was trained on; 95 % intervals over pairs"
    meta = describe(n=len(told), convention=convention, ideal="1 (mse: 0)", direction="lower is worse", seed=seed)
    return {**result, "n": len(told), "meta": meta}


def relatedness_changes(
    predicted: ArrayLike,
    cosines: ArrayLike,
    other: ArrayLike,
    other_cosines: ArrayLike,
    gold: ArrayLike,
    *,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """How the numbers of :func:`relatedness_scores` differ from another model's on the same pairs.

    Args:
        predicted: by the model, shape (n,).
        cosines: under the model.
        other: predicted by the other one.
        other_cosines: under the other one.
        gold: scores of people.
        n_bootstrap: resamples of pairs; both models are resampled together.
        seed: of resamples and swaps.

    Returns:
        ``<key>_change`` (model minus other) with ``_ci95`` and ``_p_value``; rank correlations have no p-value, since
        swapping two models' outputs pair by pair would swap ranks of different orders.
    """
    (told, right), (before, _) = _same_items(predicted, gold), _same_items(other, gold)
    sides = [_score_columns(each, right) for each in (told, before)]
    found = _changes(sides[0], sides[1], {"pearson": _pearson, "mse": _mse}, seed)
    draws: dict[str, Any] = {"y_name": "gold scores", "n_bootstrap": n_bootstrap, "seed": seed}
    pairs = {"spearman": (told, before), "cosine_spearman": (cosines, other_cosines)}
    for key, (one, two) in pairs.items():
        if key == "spearman" and (np.ptp(told) == 0.0 or np.ptp(before) == 0.0):
            continue
        (value, drawn), (old, old_drawn) = (spearman_draws(each, right, x_name=key, **draws) for each in (one, two))
        ends = spearman_interval(drawn - old_drawn)
        found |= {f"{key}_change": value - old, f"{key}_change_ci95": ends, f"{key}_change_p_value": None}
    return found


def _same_items(predicted: ArrayLike, gold: ArrayLike) -> tuple[Floats, Floats]:
    told, right = as_values(predicted, "predictions"), as_values(gold, "gold")
    if told.shape != right.shape:
        raise ValueError(f"predictions and gold must be of the same items; got {len(told)} and {len(right)}.")
    return told, right


def _changes(one: Floats, other: Floats, statistics: dict[str, Statistic], seed: int) -> dict[str, Any]:
    tests = paired_comparisons(one, other, statistics, seed=seed)
    return {
        f"{key}_change{end}": test[name]
        for key, test in tests.items()
        for end, name in (("", "difference"), ("_ci95", "difference_ci95"), ("_p_value", "p_value"))
    }


def _class_columns(told: Floats, right: Floats, positive: int | None) -> Floats:
    """Right, one of the items, and for F1 true positives, told positives and positives; shape (n, 5)."""
    said, so = told == positive, right == positive
    return np.stack([told == right, np.ones(len(told)), said & so, said, so], axis=1).astype(np.float64)


def _accuracy(sums: Floats) -> Floats:
    return ratio(sums[:, 0], sums[:, 1])


def _f1(sums: Floats) -> Floats:
    """2 tp / (told + there); 0 where neither is."""
    total = sums[:, 3] + sums[:, 4]
    return np.asarray(2.0 * sums[:, 2] / np.where(total > 0.0, total, 1.0), dtype=np.float64)


def _score_columns(told: Floats, right: Floats) -> Floats:
    """Moments about the mean of the gold scores, and the squared error; shape (n, 7)."""
    centre = right.mean()
    x, y = told - centre, right - centre
    return np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y, (x - y) ** 2], axis=1)


def _pearson(sums: Floats) -> Floats:
    """Correlation from sums; 0 where a side does not vary."""
    n, x, y, xx, yy, xy, _ = sums.T
    product = (xx - x * x / n) * (yy - y * y / n)
    flat = product <= 1e-18 * np.maximum(xx * yy, 1e-300)
    return np.asarray(np.where(flat, 0.0, (xy - x * y / n) / np.sqrt(np.where(flat, 1.0, product))), dtype=np.float64)


def _mse(sums: Floats) -> Floats:
    return ratio(sums[:, 6], sums[:, 0])


def _within(ends: list[float] | None) -> list[float] | None:
    """An interval of a correlation, cut at its ends."""
    return None if ends is None else [max(-1.0, ends[0]), min(1.0, ends[1])]
