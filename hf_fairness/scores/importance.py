"""How much an example matters: for fairness (GE), for the error (EL2N), by how often it is forgotten.

Arrays only: logits and gradients come from :mod:`hf_fairness.measure`. Every score averages over runs from different
initialisations where its input has a leading axis for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.scores.labels import Bools, as_labels, positives
from hf_fairness.scores.statistics import Floats, as_values


def ge(logits: ArrayLike, counterfactual_logits: ArrayLike, changed: Any = None) -> Floats:
    """Length of the change of the logits when the group words of a text are flipped (GE).

    GE = ||logits(text) - logits(counterfactual)||_2 on raw logits; 0 where nothing was flipped.

    Args:
        logits: of the examples, shape (n, classes) or (runs, n, classes).
        counterfactual_logits: of their counterfactuals, of the same shape.
        changed: which examples have a counterfactual, shape (n,); None: all. The logits of others are not read.

    Returns:
        Shape (n,), not negative; the mean over runs. Higher: the model relies more on the group words.

    Raises:
        ValueError: shapes that differ, fewer than two classes, NaN.

    Source:
        Zayed et al. 2023, equation 2.

    Example:
        >>> ge([[0.0, 1.0], [2.0, 0.0]], [[3.0, 5.0], [9.0, 9.0]], changed=[True, False]).tolist()
        [5.0, 0.0]
    """
    first, second, rows = _pair(logits, counterfactual_logits, changed)
    result = np.zeros(len(rows))
    if rows.any():
        one, other = _runs(first[..., rows, :], "logits"), _runs(second[..., rows, :], "counterfactual_logits")
        result[rows] = np.linalg.norm(one - other, axis=-1).mean(axis=0)
    return result


def el2n(logits: ArrayLike, labels: Any) -> Floats:
    """Length of the error of the probabilities (EL2N).

    EL2N = ||softmax(logits) - one-hot(label)||_2.

    Args:
        logits: shape (n, classes) or (runs, n, classes).
        labels: class of each example, shape (n,).

    Returns:
        Shape (n,), in [0, sqrt(2)]; the mean over runs. Higher: predicted worse.

    Raises:
        ValueError: no label per example, a label that is no class of the logits, NaN.

    Source:
        Paul, Ganguli and Dziugaite 2021; Zayed et al. 2023, section 2.

    Example:
        >>> el2n([[0.0, 0.0], [50.0, 0.0]], [1, 1]).round(3).tolist()
        [0.707, 1.414]
    """
    errors: Floats = _errors(logits, labels, "logits").mean(axis=0)
    return errors


def forgetting(correct: ArrayLike) -> Floats:
    """How often an example, predicted rightly after one epoch, is predicted wrongly after the next.

    An example that is never right counts 0, as in the authors' code. (Toneva et al. set it to infinity.)

    Args:
        correct: whether each example is predicted rightly after each epoch, shape (epochs, n) or (runs, epochs, n).

    Returns:
        Shape (n,), from 0 to epochs / 2; the mean over runs.

    Raises:
        ValueError: fewer than two epochs, or values that are not 0 and 1.

    Source:
        Toneva et al. 2019; Zayed et al. 2023, section 2.

    Example:
        >>> forgetting([[1, 0, 1], [0, 0, 1], [1, 0, 0]]).tolist()
        [1.0, 0.0, 1.0]
    """
    array = np.asarray(correct)
    if array.ndim not in (2, 3) or array.shape[-1] == 0:
        raise ValueError(f"correct must have the shape (epochs, n) or (runs, epochs, n); got {array.shape}.")
    if array.shape[-2] < 2:
        raise ValueError(f"correct must hold at least two epochs to forget between; got {array.shape[-2]}.")
    if not np.isin(array, (0, 1)).all():
        raise ValueError("correct must hold True or False for each epoch and example.")
    right = array.astype(bool).reshape(-1, *array.shape[-2:])
    forgotten: Floats = (right[:, :-1] & ~right[:, 1:]).sum(axis=1).mean(axis=0)
    return forgotten


def stereotype(
    logits: ArrayLike, counterfactual_logits: ArrayLike, labels: Any, changed: Any = None
) -> NDArray[np.int64]:
    """Which of the two texts the model predicts worse.

    The sign of EL2N(text) - EL2N(counterfactual): 1 where the text is predicted worse than its counterfactual, so that
    it goes against what the model has learned about the groups; -1 where the counterfactual does.

    Args:
        logits: of the examples, shape (n, classes) or (runs, n, classes).
        counterfactual_logits: of their counterfactuals, of the same shape.
        labels: class of each example, shape (n,).
        changed: which examples have a counterfactual, shape (n,); None: all.

    Returns:
        -1, 0 or 1 per example, shape (n,): the sign of the mean over runs; 0 where nothing was flipped.

    Raises:
        ValueError: shapes that differ, a label that is no class of the logits, NaN.

    Source:
        The code released with Zayed et al. 2023; the paper does not use it.

    Example:
        >>> stereotype([[0.0, 1.0]], [[0.0, 2.0]], [1]).tolist()
        [1]
    """
    first, second, rows = _pair(logits, counterfactual_logits, changed)
    second = np.where(rows[:, None], second, first)
    gap = _errors(first, labels, "logits") - _errors(second, labels, "counterfactual_logits")
    sides: NDArray[np.int64] = np.sign(gap.mean(axis=0)).astype(np.int64)
    return sides


def _errors(logits: ArrayLike, labels: Any, name: str) -> Floats:
    """EL2N of each run, shape (runs, n)."""
    array = _runs(logits, name)
    n, classes = array.shape[1:]
    wanted = as_labels(labels, "labels", n=n)
    if wanted.dtype.kind != "i" or wanted.min() < 0 or wanted.max() >= classes:
        raise ValueError(
            f"labels must be class numbers from 0 to {classes - 1}, as many as {name} has columns; got "
            f"{sorted(set(wanted.tolist()))[:5]}."
        )
    powers = np.exp(array - array.max(axis=-1, keepdims=True))
    errors: Floats = powers / powers.sum(axis=-1, keepdims=True)
    errors[:, np.arange(n), wanted] -= 1.0
    lengths: Floats = np.linalg.norm(errors, axis=-1)
    return lengths


def _examples(array: NDArray[Any], name: str) -> int:
    """Number of examples of logits."""
    if array.ndim not in (2, 3) or array.shape[-1] < 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must have the shape (n, classes) or (runs, n, classes), with two or more classes; got "
            f"{array.shape}. A regression head has no classes: these scores are not defined for it."
        )
    return int(array.shape[-2])


def _runs(logits: ArrayLike, name: str) -> Floats:
    """Finite logits with a leading axis of runs."""
    array = np.asarray(logits, dtype=np.float64)
    _examples(array, name)
    return as_values(array.reshape(-1, *array.shape[-2:]), name, ndim=3)


def _pair(logits: ArrayLike, counterfactual_logits: ArrayLike, changed: Any) -> tuple[Floats, Floats, Bools]:
    """Logits of examples and counterfactuals, of one shape, and which of the examples have one."""
    first, second = np.asarray(logits, dtype=np.float64), np.asarray(counterfactual_logits, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(f"logits and counterfactual_logits must have one shape; got {first.shape} and {second.shape}.")
    n = _examples(first, "logits")
    if changed is None:
        return first, second, np.ones(n, dtype=bool)
    return first, second, positives(as_labels(changed, "changed", n=n), "changed")
