"""CCED: whether an encoder keeps the groups' versions of a text equally far from the neutral version."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.record import Declared
from hf_fairness.scores.intervals import FEW_CLUSTERS, warn_of_few
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, cluster_index, mean_statistic_interval
from hf_fairness.scores.vectors import embeddings as checked
from hf_fairness.scores.vectors import same_width

CONVENTION = (
    "mean over texts and unordered group pairs of | ||f(s_i)-f(s_n)|| - ||f(s_j)-f(s_n)|| | (the paper "
    "prints it without the absolute value); signed = first group of the pair minus second; relative = "
    "divided by the mean distance of the groups to the neutral text; 95 % intervals: Student's on the logarithm (of "
    "cced_signed and of changes: on the number itself), variance from leaving out each text or cluster"
)
MEASURES = {
    "cced": Declared(
        "gap between the groups' distances to the neutral text (CCED)",
        "bias",
        0.0,
        "lower",
        convention="CCED: mean over texts and group pairs of the absolute difference of the distances of the two group "
        "versions of a text to its neutral version. Texts without group terms are left out and counted as skipped.",
    ),
    "cced_relative": Declared(
        "the same gap, as a share of the mean distance (CCED / mean distance)",
        "bias",
        0.0,
        "lower",
        convention="CCED / mean distance: the same, divided by the mean distance to the neutral text, so that an "
        "encoder that merely draws all embeddings together gains nothing.",
    ),
    "cced_signed": Declared("gap with its sign (CCED, signed mean)", "context", 0.0, "none"),
    "mean_distance": Declared("mean distance to the neutral text", "context", None, "none"),
}


def neutral_distances(embeddings: Mapping[str, ArrayLike], *, neutral: str = "neutral") -> dict[str, Floats]:
    """Distance of every group's version of a text to its neutral version.

    Args:
        embeddings: shape (n, d) per group and for ``neutral``; row i of all of them is the same text.
        neutral: key of the neutral texts.

    Returns:
        Shape (n,) per group, in the units of the embeddings, float64.

    Raises:
        ValueError: no neutral embeddings, fewer than two groups, different shapes, no rows, NaN.
    """
    if neutral not in embeddings:
        raise ValueError(f"CCED needs embeddings of the neutral texts under {neutral!r}; got {sorted(embeddings)}.")
    arrays = {name: checked(value, f"embeddings[{name!r}]") for name, value in embeddings.items()}
    centre = arrays.pop(neutral)
    if len(arrays) < 2:
        raise ValueError(f"CCED compares groups: at least two are needed beside {neutral!r}; got {sorted(arrays)}.")
    same_width({**arrays, neutral: centre})
    rows = {name: len(array) for name, array in arrays.items()} | {neutral: len(centre)}
    if len(set(rows.values())) > 1:
        raise ValueError(f"Row i must be the same text for every group; got different numbers of rows: {rows}.")
    return {name: np.linalg.norm(array - centre, axis=1) for name, array in arrays.items()}


def _summary(distances: Floats, pairs: list[tuple[int, int]], *, clusters: Any, wanted: bool) -> dict[str, Any]:
    """Headline numbers of some group pairs; ``distances`` is (n, groups)."""
    gaps = np.stack([distances[:, i] - distances[:, j] for i, j in pairs], axis=1)
    used = sorted({group for pair in pairs for group in pair})
    columns = np.stack([np.abs(gaps).mean(axis=1), gaps.mean(axis=1), distances[:, used].mean(axis=1)], axis=1)
    absolute, signed, distance = columns.mean(axis=0)
    values = {
        "cced": (float(absolute), lambda means: means[:, 0], 0.0),
        "cced_signed": (float(signed), lambda means: means[:, 1], -np.inf),
        "cced_relative": (float(absolute / distance) if distance > 0.0 else 0.0, _ratio, 0.0),
        "mean_distance": (float(distance), lambda means: means[:, 2], 0.0),
    }
    result: dict[str, Any] = {}
    for key, (value, statistic, low) in values.items():
        interval = (
            mean_statistic_interval(columns, statistic, clusters=clusters, positive=low == 0.0) if wanted else None
        )
        result |= {key: value, f"{key}_ci95": interval and [max(low, interval[0]), interval[1]]}
    return {**result, "n": len(distances)}


def _ratio(means: Floats) -> Floats:
    """Mean gap by mean distance; rows that are all at distance 0 have a gap of 0 as well."""
    return np.asarray(means[:, 0] / np.where(means[:, 2] > 0.0, means[:, 2], 1.0))


def cced(
    embeddings: Mapping[str, ArrayLike],
    *,
    neutral: str = "neutral",
    clusters: Sequence[Hashable] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """Content-conditional equal distance: how unequally far the groups' texts lie from the neutral text.

    CCED = mean over texts and group pairs of | ||f(s_i) - f(s_n)|| - ||f(s_j) - f(s_n)|| |. An encoder that
    collapses scores well: read ``cced_relative`` and ``mean_distance`` beside it. Leave out texts without
    attribute terms, whose versions are identical.

    Args:
        embeddings: shape (n, d) per group and for ``neutral``; row i of all of them is the same text.
        neutral: key of the neutral texts.
        clusters: a label per text, for texts that resemble each other; texts of a cluster count together.
        n_bootstrap: 0: no intervals; nothing is drawn.
        seed: stated in ``meta``.

    Returns:
        ``cced`` (>= 0, ideal 0, more is worse), ``cced_signed`` (ideal 0; positive: the first group of a pair
        lies further from neutral; averaged over pairs), ``cced_relative`` (cced / mean_distance, ideal 0),
        ``mean_distance``, each with ``_ci95``; ``n`` texts; ``pairs``: the same keys per "first-second";
        ``distance``: mean per group; ``meta``.

    Raises:
        ValueError: no neutral embeddings, fewer than two groups, different shapes, no rows, NaN, or every
            embedding equal to the neutral one.

    Source:
        Deng et al. 2024, equation of CCED, with an absolute value; ``cced_relative`` is ours.

    Example:
        >>> result = cced({"male": [[2.0, 0.0]], "female": [[0.0, 1.0]], "neutral": [[0.0, 0.0]]})
        >>> result["cced"], result["cced_signed"], round(result["cced_relative"], 4)
        (1.0, 1.0, 0.6667)
    """
    distances = neutral_distances(embeddings, neutral=neutral)
    names = list(distances)
    table = np.stack([distances[name] for name in names], axis=1)
    if not table.any():
        raise ValueError(
            "Every group's embedding equals the neutral one: the texts have no attribute terms, or the "
            "encoder has collapsed. CCED would read 0 (no bias) and mean nothing."
        )
    if n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be 0 or more; got {n_bootstrap}.")
    units = np.arange(len(table)) if clusters is None else cluster_index(clusters, len(table))
    n_units = int(units.max()) + 1
    options: dict[str, Any] = {"clusters": units, "wanted": n_bootstrap > 0}
    if n_bootstrap:
        warn_of_few(n_units, "texts" if clusters is None else "clusters", FEW_CLUSTERS)
    pairs = list(itertools.combinations(range(len(names)), 2))
    result = _summary(table, pairs, **options)
    result["pairs"] = {f"{names[i]}-{names[j]}": _summary(table, [(i, j)], **options) for i, j in pairs}
    result["distance"] = {name: float(distances[name].mean()) for name in names}
    result["meta"] = describe(
        n=len(table),
        convention=CONVENTION,
        ideal="cced 0, cced_signed 0, cced_relative 0",
        direction="more is worse; a falling mean_distance can fake an improvement of cced",
        seed=seed,
        groups=names,
        n_clusters=n_units,
    )
    return result


def _columns(embeddings: Mapping[str, ArrayLike], neutral: str) -> tuple[list[str], Floats]:
    """Groups in a fixed order, and per text the mean absolute gap and the mean distance."""
    distances = neutral_distances(embeddings, neutral=neutral)
    groups = sorted(distances)
    gaps = [np.abs(distances[i] - distances[j]) for i, j in itertools.combinations(groups, 2)]
    means = np.mean(gaps, axis=0), np.mean([distances[group] for group in groups], axis=0)
    return groups, np.stack(means, axis=1)


def cced_change(
    before: Mapping[str, ArrayLike],
    after: Mapping[str, ArrayLike],
    *,
    neutral: str = "neutral",
    clusters: Sequence[Hashable] | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> dict[str, Any]:
    """How CCED changed between two encoders, on the same texts: paired, so far sharper than two intervals.

    Args:
        before: embeddings under the first encoder, as in ``cced``.
        after: embeddings of the same texts under the second, same groups; the dimension may differ.
        neutral: key of the neutral texts.
        clusters: a label per text; texts of a cluster count together.
        n_bootstrap: 0: no intervals; nothing is drawn.
        seed: unused.

    Returns:
        ``cced_change``, ``cced_relative_change``, ``mean_distance_change``: after - before, ideal below 0 for
        the first two; ``cced_change_share``, ``cced_relative_change_share``: (after - before) / before, so
        -0.6 is a fall by 60 %; each with ``_ci95``; ``n``.

    Raises:
        ValueError: as ``cced``; different groups or texts; a CCED of 0 before, of which nothing is a share.
    """
    (groups, first), (other_groups, second) = _columns(before, neutral), _columns(after, neutral)
    if groups != other_groups or len(first) != len(second):
        raise ValueError(
            f"before and after must be the same texts and groups; got {len(first)} texts of {groups} and "
            f"{len(second)} of {other_groups}."
        )
    columns = np.concatenate([first, second], axis=1)
    means = columns.mean(axis=0)
    if not (means[[0, 1, 3]] > 0.0).all():
        raise ValueError(
            f"A change cannot be given as a share: CCED before is {means[0]:.3g}, mean distances are "
            f"{means[1]:.3g} and {means[3]:.3g}; none of them may be 0."
        )
    if clusters is not None:
        warn_of_few(int(cluster_index(clusters, len(columns)).max()) + 1, "clusters", FEW_CLUSTERS)
    result: dict[str, Any] = {"n": len(columns)}
    for name, statistic in CHANGES.items():
        interval = mean_statistic_interval(columns, statistic, clusters=clusters) if n_bootstrap else None
        result |= {name: float(statistic(means[None])[0]), f"{name}_ci95": interval}
    return result


#: From means of (gap, distance) before and after, shape (m, 4), to each change, shape (m,).
CHANGES: dict[str, Callable[[Floats], Floats]] = {
    "cced_change": lambda m: m[:, 2] - m[:, 0],
    "cced_relative_change": lambda m: m[:, 2] / m[:, 3] - m[:, 0] / m[:, 1],
    "mean_distance_change": lambda m: m[:, 3] - m[:, 1],
    "cced_change_share": lambda m: m[:, 2] / m[:, 0] - 1.0,
    "cced_relative_change_share": lambda m: (m[:, 2] / m[:, 3]) / (m[:, 0] / m[:, 1]) - 1.0,
}
