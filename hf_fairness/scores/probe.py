"""Accuracy of a probe from its out-of-fold predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import N_BOOTSTRAP, as_values, bootstrap_ci


def probe_accuracy(
    correct: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """How often a probe named the group.

    Args:
        correct: 1 where the prediction was right, shape (texts, groups); every text has one version per
            group.
        clusters: a label per text; clusters are resampled as a whole. None: each text is a cluster.
        n_bootstrap: resamples behind the interval.
        seed: of the resamples.

    Returns:
        ``accuracy`` in [0, 1], ``accuracy_ci95`` (of these predictions: the probe is not trained anew),
        ``chance`` = 1 / groups, ``n`` texts, ``meta``. Ideal: chance, if the group shall not be readable.

    Raises:
        ValueError: not two-dimensional, fewer than two groups, values other than 0 and 1.

    Example:
        >>> probe_accuracy([[1, 1], [1, 0]])["accuracy"]
        0.75
    """
    table = as_values(correct, "correct", ndim=2)
    if table.shape[1] < 2 or not np.isin(table, (0.0, 1.0)).all():
        raise ValueError(f"correct must hold 0 and 1 for at least two groups; got shape {table.shape}.")
    labels = None if clusters is None else np.asarray(clusters)
    rows = table.mean(axis=1)
    return {
        "accuracy": float(rows.mean()),
        "accuracy_ci95": bootstrap_ci(rows, clusters=labels, n_bootstrap=n_bootstrap, seed=seed),
        "chance": 1.0 / table.shape[1],
        "n": len(table),
        "meta": describe(
            n=len(table),
            convention="out-of-fold accuracy; versions of a text share a fold; interval resamples texts",
            ideal="chance, where the group shall not be readable",
            direction="further above chance: more information about the group is kept",
            seed=seed,
        ),
    }
