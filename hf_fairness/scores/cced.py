"""CCED: whether an encoder keeps the groups' versions of a text equally far from the neutral version."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import N_BOOTSTRAP, Floats, bootstrap_means, percentile_interval
from hf_fairness.scores.vectors import embeddings as checked
from hf_fairness.scores.vectors import same_width

CONVENTION = (
    "mean over texts and unordered group pairs of | ||f(s_i)-f(s_n)|| - ||f(s_j)-f(s_n)|| | (the paper "
    "prints it without the absolute value); signed = first group of the pair minus second; relative = "
    "divided by the mean distance of the groups to the neutral text; intervals resample texts"
)


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


def _summary(distances: Floats, pairs: list[tuple[int, int]], **resampling: Any) -> dict[str, Any]:
    """Headline numbers of some group pairs; ``distances`` is (n, groups)."""
    gaps = np.stack([distances[:, i] - distances[:, j] for i, j in pairs], axis=1)
    used = sorted({group for pair in pairs for group in pair})
    columns = np.stack([np.abs(gaps).mean(axis=1), gaps.mean(axis=1), distances[:, used].mean(axis=1)], axis=1)
    absolute, signed, distance = columns.mean(axis=0)
    draws = bootstrap_means(columns, **resampling)
    # A resample of rows that are all at distance 0 has a gap of 0 as well: its ratio is 0.
    ratio = draws[:, 0] / np.where(draws[:, 2] > 0.0, draws[:, 2], 1.0)
    return {
        "cced": float(absolute),
        "cced_ci95": percentile_interval(draws[:, 0]),
        "cced_signed": float(signed),
        "cced_signed_ci95": percentile_interval(draws[:, 1]),
        "cced_relative": float(absolute / distance) if distance > 0.0 else 0.0,
        "cced_relative_ci95": percentile_interval(ratio),
        "mean_distance": float(distance),
        "mean_distance_ci95": percentile_interval(draws[:, 2]),
        "n": len(distances),
    }


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
        clusters: a label per text, for texts that resemble each other; intervals then resample clusters.
        n_bootstrap: resamples of texts behind the intervals.
        seed: of the resamples.

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
    resampling: dict[str, Any] = {"clusters": clusters, "n_bootstrap": n_bootstrap, "seed": seed}
    pairs = list(itertools.combinations(range(len(names)), 2))
    result = _summary(table, pairs, **resampling)
    result["pairs"] = {f"{names[i]}-{names[j]}": _summary(table, [(i, j)], **resampling) for i, j in pairs}
    result["distance"] = {name: float(distances[name].mean()) for name in names}
    result["meta"] = describe(
        n=len(table),
        convention=CONVENTION,
        ideal="cced 0, cced_signed 0, cced_relative 0",
        direction="more is worse; a falling mean_distance can fake an improvement of cced",
        seed=seed,
        groups=names,
        n_clusters=len(table) if clusters is None else len(set(clusters)),
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
        clusters: a label per text; intervals then resample clusters.
        n_bootstrap: resamples of texts; both encoders see the same ones.
        seed: of the resamples.

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
    draws = bootstrap_means(columns, clusters=clusters, n_bootstrap=n_bootstrap, seed=seed)
    table = np.vstack([columns.mean(axis=0), draws])
    table = np.vstack([table[:1], table[1:][(table[1:, [0, 1, 3]] > 0.0).all(axis=1)]])
    if not (table[0, [0, 1, 3]] > 0.0).all() or len(table) == 1:
        raise ValueError(
            f"A change cannot be given as a share: CCED before is {table[0, 0]:.3g}, mean distances are "
            f"{table[0, 1]:.3g} and {table[0, 3]:.3g}; none of them may be 0."
        )
    gap, distance, gap_after, distance_after = table.T
    changes = {
        "cced_change": gap_after - gap,
        "cced_relative_change": gap_after / distance_after - gap / distance,
        "mean_distance_change": distance_after - distance,
        "cced_change_share": gap_after / gap - 1.0,
        "cced_relative_change_share": (gap_after / distance_after) / (gap / distance) - 1.0,
    }
    result: dict[str, Any] = {"n": len(columns)}
    for name, values in changes.items():
        result |= {name: float(values[0]), f"{name}_ci95": percentile_interval(values[1:])}
    return result
