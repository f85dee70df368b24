"""Accuracy of a probe from its out-of-fold predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.record import Declared
from hf_fairness.scores.intervals import FEW_CLUSTERS, METHOD, rates_of, warn_of_few
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import N_BOOTSTRAP, as_values

MEASURES = {
    "accuracy": Declared(
        "how well a probe reads the group from the embedding (probe accuracy)",
        "information",
        None,
        "chance",
        convention="Probe: accuracy of a classifier that reads the group from the embedding; at chance it reads "
        "nothing. The texts name the group, so a high value alone is no harm; it says what the embedding still tells.",
    ),
}


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
        clusters: a label per text; its texts count together. None: each text is a cluster.
        n_bootstrap: 0: no interval; nothing is drawn.
        seed: stated in ``meta``.

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
    right, all_of = table.sum(axis=1, keepdims=True), np.full((len(table), 1), float(table.shape[1]))
    rate = rates_of(right, all_of, clusters=range(len(table)) if clusters is None else clusters)
    warn_of_few(len(table) if clusters is None else int(rate.freedom[0]) + 1, "texts or clusters", FEW_CLUSTERS)
    return {
        **rate.entry("accuracy", 0, wanted=n_bootstrap > 0),
        "chance": 1.0 / table.shape[1],
        "n": len(table),
        "meta": describe(
            n=len(table),
            convention=f"out-of-fold accuracy; versions of a text share a fold and are one cluster; {METHOD}",
            ideal="chance, where the group shall not be readable",
            direction="further above chance: more information about the group is kept",
            seed=seed,
        ),
    }
