"""Two-dimensional pictures of the embeddings of group versions and neutral texts, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Groups: TypeAlias = dict[str, NDArray[np.float64]]
Method: TypeAlias = Literal["tsne", "pca"]


def _checked(embeddings: Mapping[str, ArrayLike], name: str) -> Groups:
    """Float arrays of one width by group, or an error that says what is wrong."""
    groups = {str(group): np.asarray(rows, dtype=np.float64) for group, rows in embeddings.items()}
    if not groups:
        raise ValueError(f"{name}: got no groups, expected arrays (n, d) by group, for example male and neutral.")
    widths = {rows.shape[1] if rows.ndim == 2 else -1 for rows in groups.values()}
    if len(widths) != 1 or -1 in widths or 0 in widths:
        shapes = {group: rows.shape for group, rows in groups.items()}
        raise ValueError(f"{name}: got shapes {shapes}, expected (n, d) with the same d >= 1. Encode all groups alike.")
    for group, rows in groups.items():
        if len(rows) == 0:
            raise ValueError(f"{name}: group {group!r} has no rows. Leave the group out or give it texts.")
        if not np.isfinite(rows).all():
            raise ValueError(f"{name}: group {group!r} holds NaN or infinite numbers. Check the encoder.")
    return groups


def _sampled(groups: Groups, max_points: int, seed: int) -> Groups:
    """At most ``max_points`` rows a group; groups of equal length keep the same rows: versions match."""
    generator = np.random.default_rng(seed)
    chosen: dict[int, NDArray[np.intp]] = {}
    for rows in groups.values():
        n = len(rows)
        if n not in chosen:
            chosen[n] = np.sort(generator.permutation(n)[:max_points])
    return {group: rows[chosen[len(rows)]] for group, rows in groups.items()}


def _split(points: NDArray[np.float64], groups: Groups) -> dict[str, list[list[float]]]:
    ends = np.cumsum([len(rows) for rows in groups.values()])[:-1]
    parts = np.split(points, ends)
    return {
        group: [[round(float(x), 5), round(float(y), 5)] for x, y in part]
        for group, part in zip(groups, parts, strict=True)
    }


def _tsne(rows: NDArray[np.float64], start: NDArray[np.float64] | None, seed: int) -> NDArray[np.float64]:
    """t-SNE of one space, started from a given layout or from the first two principal components."""
    from sklearn.manifold import TSNE

    first = start is None
    perplexity = min(30.0, max(1.0, (len(rows) - 1) / 3))
    method = "exact" if len(rows) < 32 else "barnes_hut"
    model = TSNE(
        2,
        perplexity=perplexity,
        init="pca" if first else start,
        early_exaggeration=12.0 if first else 1.0,  # would draw the given layout together and lose it
        random_state=seed,
        method=method,
        n_jobs=1,
    )
    points: NDArray[np.float64] = model.fit_transform(rows).astype(np.float64)
    return points


def _pca(spaces: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """The first two principal components of all rows together; their sign does not depend on the solver."""
    stacked = np.concatenate(spaces)
    mean = stacked.mean(axis=0)
    _, _, components = np.linalg.svd(stacked - mean, full_matrices=False)
    axes = np.zeros((2, stacked.shape[1]))
    axes[: min(2, len(components))] = components[:2]
    largest = axes[np.arange(2), np.abs(axes).argmax(axis=1)]
    axes *= np.where(largest < 0, -1.0, 1.0)[:, None]
    return [(rows - mean) @ axes.T for rows in spaces]


def project(
    before: Mapping[str, ArrayLike],
    after: Mapping[str, ArrayLike] | None = None,
    method: Method = "tsne",
    *,
    max_points: int = 250,
    center: bool = False,
    seed: int = 0,
) -> dict[str, dict[str, Any]]:
    """Coordinates for the picture of male, female and neutral embeddings before and after mitigation.

    With ``"pca"`` both models share one pair of axes, fitted on all rows together, so the distances in the
    two panels compare. With ``"tsne"`` each model gets a map of its own, as in the paper; the second starts
    from the layout of the first, so that texts keep their place unless the embeddings moved. Distances and
    the sizes of clusters in a t-SNE map mean nothing.

    A sentence encoder sorts by content first: on all-MiniLM-L6-v2 a plain t-SNE shows topics, with the
    versions of a text side by side. ``method="pca", center=True`` shows what CCED measures instead.

    Args:
        before: embeddings (n, d) by group, for example ``{"male": ..., "female": ..., "neutral": ...}``.
        after: the same texts under the mitigated model, with the same groups and numbers of rows; None
            for the picture of one model.
        method: ``"tsne"`` or ``"pca"``.
        max_points: largest number of points a group; the same texts are drawn for every group and model.
        center: subtract from each text the mean of its versions, which takes out the content and leaves what
            separates the groups; needs groups with equal numbers of rows.
        seed: of the draw and of t-SNE.

    Returns:
        ``{"before": {"method", "points": {group: [[x, y], ...]}, "n", "note"}}``, and ``"after"`` alike
        when it was given: sections for the ``projection`` key of the two audits.

    Raises:
        ValueError: unknown method, fewer than three rows in all, shapes that do not fit, NaN.

    Source:
        Deng et al. 2024, figure 2. Deviation: the second t-SNE map starts from the first.
    """
    if method not in ("tsne", "pca"):
        raise ValueError(f"method: got {method!r}, expected 'tsne' or 'pca'.")
    if max_points < 1:
        raise ValueError(f"max_points: got {max_points}, expected at least 1.")
    old = _checked(before, "before")
    sides = [old] if after is None else [old, _checked(after, "after")]
    counts = [{group: len(rows) for group, rows in side.items()} for side in sides]
    if counts[0] != counts[-1]:
        raise ValueError(
            f"after: got rows {counts[-1]}, expected those of before, {counts[0]}. Encode the same texts twice."
        )
    if method == "pca" and len({next(iter(side.values())).shape[1] for side in sides}) > 1:
        raise ValueError(
            "after: the embeddings have another width than before, so there are no common axes. Use method='tsne'."
        )
    if center and len(set(counts[0].values())) > 1:
        raise ValueError(f"center: needs groups with equal numbers of rows, got {counts[0]}. Use center=False.")
    sides = [_sampled(side, max_points, seed) for side in sides]
    if center:
        sides = [_centered(side) for side in sides]
    spaces = [np.concatenate(list(side.values())) for side in sides]
    if len(spaces[0]) < 3:
        raise ValueError(f"before: got {len(spaces[0])} rows in all, expected at least 3 for a picture.")
    if method == "pca":
        layouts = _pca(spaces)
    else:
        layouts = []
        for rows in spaces:
            layouts.append(_tsne(rows, layouts[0] if layouts else None, seed))
    note = "mean of the versions of each text subtracted" if center else ""
    return {
        name: dict[str, Any](method=method, points=_split(points, side), n=len(points), note=note)
        for name, points, side in zip(("before", "after"), layouts, sides, strict=False)
    }


def _centered(groups: Groups) -> Groups:
    mean = np.mean(list(groups.values()), axis=0)
    return {group: rows - mean for group, rows in groups.items()}


def pictures(
    before: Mapping[str, ArrayLike], after: Mapping[str, ArrayLike] | None = None, *, seed: int = 0
) -> dict[str, list[dict[str, Any]]]:
    """The two pictures that a report shows: a t-SNE map as in the paper, and centred principal components.

    t-SNE of sentence embeddings shows topics first. With every text's versions centred on their mean, the
    principal components show what the versions of one text differ in, which is the group.

    Args:
        before: embeddings (n, d) by group, row i of all groups being the same text.
        after: the same under the mitigated model; None for one model.
        seed: of the choice of points and of t-SNE.

    Returns:
        ``"before"`` and, where given, ``"after"``: a list of two projections each; of models whose embeddings have
        different widths, which have no axes in common, the t-SNE map alone.
    """
    drawn = [project(before, after, seed=seed)]
    widths = {np.shape(rows)[-1] for side in (before, after) for rows in (side or {}).values()}
    if len(widths) == 1:
        drawn.append(project(before, after, "pca", center=True, seed=seed))
    return {side: [picture[side] for picture in drawn] for side in drawn[0]}
