"""Two-dimensional pictures of the embeddings of group versions and neutral texts, before and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.utils import refuse_any

Groups: TypeAlias = dict[str, NDArray[np.float64]]
Method: TypeAlias = Literal["tsne", "pca"]

CENTRED = "mean of the versions of each text subtracted"
#: How to read what is left then.
WITHOUT_CONTENT = "The content is taken out: what is left is how versions of a text differ."
#: Method -> its name, and how its maps are to be read.
READ = {
    "pca": (
        "PCA",
        "Maps of one method share their axes. Groups that overlap in two dimensions may still be told apart.",
    ),
    "tsne": (
        "t-SNE",
        "Only neighbourhood has a meaning here, not distance or size. Groups that mix may still be told apart by a "
        "probe.",
    ),
}


def _checked(embeddings: Mapping[str, ArrayLike], name: str) -> Groups:
    """Float arrays of one width by group, or an error that says what is wrong."""
    groups = {str(group): np.asarray(rows, dtype=np.float64) for group, rows in embeddings.items()}
    shapes = {group: rows.shape for group, rows in groups.items()}
    refuse_any(
        {
            f"{name}: got no groups, expected arrays (n, d) by group, for example male and neutral.": not groups,
            f"{name}: got shapes {shapes}, expected (n, d) with the same d >= 1. Encode all groups alike.": (
                any(len(shape) != 2 or shape[1] == 0 for shape in shapes.values())
                or len({shape[1:] for shape in shapes.values()}) > 1
            ),
            **{
                f"{name}: group {group!r} has no rows. Leave the group out or give it texts.": rows.size == 0
                for group, rows in groups.items()
            },
            **{
                f"{name}: group {group!r} holds NaN or infinite numbers. Check the encoder.": (
                    not np.isfinite(rows).all()
                )
                for group, rows in groups.items()
            },
        }
    )
    return groups


def _tsne(spaces: list[NDArray[np.float64]], seed: int) -> list[NDArray[np.float64]]:
    """t-SNE of each space; the first starts from its principal components, the next from the layout of the first."""
    from sklearn.manifold import TSNE

    layouts: list[NDArray[np.float64]] = []
    for rows in spaces:
        model = TSNE(
            2,
            perplexity=min(30.0, max(1.0, (len(rows) - 1) / 3)),
            init=layouts[0] if layouts else "pca",
            early_exaggeration=1.0 if layouts else 12.0,  # would draw the given layout together and lose it
            random_state=seed,
            method="exact" if len(rows) < 32 else "barnes_hut",
            n_jobs=1,
        )
        layouts.append(model.fit_transform(rows).astype(np.float64))
    return layouts


def _pca(spaces: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """The first two principal components of all rows together; embeddings of one number have 0 as the second."""
    stacked = np.concatenate(spaces)
    mean = stacked.mean(axis=0)
    axes = np.linalg.svd(stacked - mean, full_matrices=False)[2][:2]
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]  # a sign that no solver chooses
    return [np.pad((rows - mean) @ axes.T, ((0, 0), (0, 2 - len(axes)))) for rows in spaces]


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
    given = {"before": before} if after is None else {"before": before, "after": after}
    sides = [_checked(side, name) for name, side in given.items()]
    counts = [{group: len(rows) for group, rows in side.items()} for side in sides]
    widths = {next(iter(side.values())).shape[1] for side in sides}
    refuse_any(
        {
            f"method: got {method!r}, expected 'tsne' or 'pca'.": method not in ("tsne", "pca"),
            f"max_points: got {max_points}, expected at least 1.": max_points < 1,
            f"after: got rows {counts[-1]}, expected those of before, {counts[0]}. Encode the same texts twice.": (
                counts[0] != counts[-1]
            ),
            "after: the embeddings have another width than before, so there are no common axes. Use method='tsne'.": (
                method == "pca" and len(widths) > 1
            ),
            f"center: needs groups with equal numbers of rows, got {counts[0]}. Use center=False.": (
                center and len(set(counts[0].values())) > 1
            ),
        }
    )
    sizes = list(counts[0].values())
    # groups of equal length keep the same rows: versions match
    kept = {n: np.sort(np.random.default_rng(seed).permutation(n)[:max_points]) for n in sizes}
    drawn = [[rows[kept[len(rows)]] for rows in side.values()] for side in sides]
    spaces = [np.concatenate(np.array(rows) - np.mean(rows, axis=0) if center else rows) for rows in drawn]
    if len(spaces[0]) < 3:
        raise ValueError(f"before: got {len(spaces[0])} rows in all, expected at least 3 for a picture.")
    layouts = _pca(spaces) if method == "pca" else _tsne(spaces, seed)
    ends = np.cumsum([len(kept[n]) for n in sizes])[:-1]
    return {
        name: {
            "method": method,
            "points": {
                group: part.tolist() for group, part in zip(sides[0], np.split(points.round(5), ends), strict=True)
            },
            "n": len(points),
            "note": CENTRED if center else "",
        }
        for name, points in zip(given, layouts, strict=True)
    }


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
    widths = {np.shape(rows)[-1] for side in (before, after or {}) for rows in side.values()}
    drawn = [project(before, after, seed=seed)]
    drawn += [project(before, after, "pca", center=True, seed=seed)] if len(widths) == 1 else []
    return {side: [picture[side] for picture in drawn] for side in drawn[0]}


def map_figures(drawn: Mapping[str, Any], titles: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Maps of the models of a report as data of pictures; those with common axes get the same limits.

    Args:
        drawn: what :func:`project` returned for a model, or a list of it, by name of the model.
        titles: of the models, by name.

    Returns:
        Figures by name, ``map-0-before`` and so on; a map without points is left out.

    Source:
        After Deng et al. 2024, figure 2.
    """
    sides = {arm: drawn[arm] if isinstance(drawn[arm], list) else [drawn[arm]] for arm in titles if arm in drawn}
    found = {}
    for place in range(max(map(len, sides.values()), default=0)):
        parts = {arm: each[place] for arm, each in sides.items() if place < len(each) and each[place].get("points")}
        limits = _limits(parts.values()) if all(part.get("method") == "pca" for part in parts.values()) else None
        for arm, part in parts.items():
            found[f"map-{place}-{arm}"] = _map(part) | {"title": f"Embeddings, {titles[arm]}", "limits": limits}
    return found


def _limits(parts: Iterable[Mapping[str, Any]]) -> list[float]:
    """Common ends of both axes with a margin, so that two maps compare."""
    points = np.array([point for part in parts for rows in part["points"].values() for point in rows] or [[0.0, 0.0]])
    low, high = points.min(axis=0), points.max(axis=0)
    pad = np.where(high > low, (high - low) * 0.05, 1.0)
    return [float(end) for axis in zip(low - pad, high + pad, strict=True) for end in axis]


def _map(part: Mapping[str, Any]) -> dict[str, Any]:
    """What a map shows, and how it is to be read."""
    method, read = READ.get(part.get("method", ""), READ["tsne"])
    counts = ", ".join(f"{len(rows)} {group}" for group, rows in part["points"].items())
    if part.get("note"):
        method, read = f"{method} ({part['note']})", f"{WITHOUT_CONTENT} {read}"
    caption = f"{method}, {counts} texts. {read}"
    return {"kind": "projection", "caption": caption, "series": part["points"], "grey": ["neutral"]}
