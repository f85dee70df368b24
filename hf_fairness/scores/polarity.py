"""Polarity accuracy: whether each version of a text speaks of the group it was written for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.intervals import FEW_CLUSTERS, METHOD, SMALL_N, rates_of, warn_of_few
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import N_BOOTSTRAP, as_values


def polarity_accuracy(
    counts: Mapping[str, ArrayLike],
    groups: Sequence[str],
    *,
    neutral: str = "neutral",
    clusters: Sequence[Hashable] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Share of texts whose every version has its own polarity.

    The polarity of a version is the group with most words in it; without such words, and where two groups tie for
    the most, it is ``neutral``.

    Args:
        counts: per version (each group, and ``neutral``) how many words of each group it has, shape
            (n, groups); row i of all versions is the same text.
        groups: names of the columns of each array.
        neutral: name of the version without a group; where ``counts`` has none, only the groups are judged.
        clusters: a label per text; its texts count together. None: each text is a cluster.
        n_bootstrap: 0: no intervals; nothing is drawn.
        seed: stated in ``meta``.

    Returns:
        ``polarity_accuracy`` in [0, 1], ideal 1, lower is worse, and ``polarity_accuracy_ci95``; ``versions``:
        per version its ``accuracy`` with ``accuracy_ci95``, ``n_neutral`` (versions of neutral polarity) and
        ``n_tied`` (of these, by a tie); ``n`` texts; ``meta``.

    Raises:
        ValueError: a group without counts, other shapes, values that are no counts, no rows.

    Source: Deng et al. 2024, equations 6 and 7 (there *union gender polarity accuracy*).

    Example:
        >>> counts = {"a": [[1, 0], [1, 1]], "b": [[0, 2], [0, 1]], "neutral": [[0, 0], [0, 0]]}
        >>> polarity_accuracy(counts, ["a", "b"])["polarity_accuracy"]
        0.5
    """
    if len(groups) < 2:
        raise ValueError(f"groups must name at least two groups; got {list(groups)}.")
    names = [*groups, *([neutral] if neutral in counts else [])]
    missing = [name for name in names if name not in counts]
    if missing:
        raise ValueError(f"counts needs an entry for each group; {missing[0]!r} is missing. Got {list(counts)}.")
    right: dict[str, Any] = {}
    versions: dict[str, dict[str, Any]] = {}
    for name in names:
        table = as_values(counts[name], f"counts[{name!r}]", ndim=2)
        first = next(iter(right.values()), table[:, 0])
        if table.shape != (len(first), len(groups)):
            raise ValueError(
                f"counts[{name!r}] must have shape ({len(first)}, {len(groups)}): one row per text, one column per "
                f"group; got {table.shape}."
            )
        if (table < 0).any() or (table != np.round(table)).any():
            raise ValueError(f"counts[{name!r}] must hold whole numbers of 0 or more.")
        top = table.max(axis=1)
        tied = (top > 0) & ((table == top[:, None]).sum(axis=1) > 1)
        polarity = np.where((top == 0) | tied, len(groups), table.argmax(axis=1))
        right[name] = (polarity == (len(groups) if name == neutral else list(groups).index(name))).astype(np.float64)
        versions[name] = {
            "n_neutral": int((polarity == len(groups)).sum()),
            "n_tied": int(tied.sum()),
        }
    union = np.min(list(right.values()), axis=0)
    columns = np.stack([union, *right.values()], axis=1)
    rates, wanted = rates_of(columns, np.ones_like(columns), clusters=clusters), n_bootstrap > 0
    if clusters is not None:
        warn_of_few(int(rates.freedom[0]) + 1, "clusters", FEW_CLUSTERS)
    elif wanted:
        warn_of_few(len(union), "texts", SMALL_N)
    versions = {
        name: rates.entry("accuracy", place, wanted=wanted) | versions[name]
        for place, name in enumerate(right, start=1)
    }
    return {
        **rates.entry("polarity_accuracy", 0, wanted=wanted),
        "versions": versions,
        "n": len(union),
        "meta": describe(
            n=len(union),
            convention=f"polarity is the group with most words; none and a tie are neutral; {METHOD}",
            ideal="1",
            direction="lower is worse",
            seed=seed,
        ),
    }
