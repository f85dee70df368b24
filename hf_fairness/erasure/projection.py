"""Taking directions out of vectors: an orthogonal projection, and how SentenceDebias finds its directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Projection:
    """Removes the part of vectors that lies in a subspace.

    Attributes:
        directions: an orthonormal basis of the subspace, float32, shape (k, dim).
        explained: share of the variance between groups that each direction holds, shape (k,).

    Example:
        >>> Projection(np.array([[1.0, 0.0]]), np.ones(1))([[3.0, 4.0]]).tolist()
        [[0.0, 4.0]]
    """

    directions: NDArray[np.float32]
    explained: NDArray[np.float64]

    @property
    def matrix(self) -> NDArray[np.float32]:
        """The projection, symmetric and equal to its square, shape (dim, dim)."""
        wide = self.directions.astype(np.float64)
        return np.asarray(np.eye(wide.shape[1]) - wide.T @ wide, dtype=np.float32)

    def __call__(self, vectors: ArrayLike) -> NDArray[np.float64]:
        """Vectors without their part in the subspace, shape (n, dim)."""
        given = np.asarray(vectors, dtype=np.float64)
        return np.asarray(given - (given @ self.directions.T) @ self.directions)

    @classmethod
    def random(cls, k: int, dim: int, seed: int = 0) -> Projection:
        """One that removes k directions drawn at random: what any removal of that size does."""
        drawn = np.random.default_rng(seed).normal(size=(dim, k))
        return cls(np.linalg.qr(drawn)[0].T.astype(np.float32), np.zeros(k))


def sentence_debias(groups: Mapping[str, ArrayLike], *, k: int = 1) -> Projection:
    """The subspace in which the versions of a text about each group differ.

    The vectors of each text's versions are centred on their mean; the first k principal components of all of them are
    the subspace: h - sum over j of <h, v_j> v_j is what is left of a vector.

    Args:
        groups: vectors by group, row i of all groups being versions of the same text; shape (n, dim) each.
        k: how many directions to remove.

    Returns:
        The projection.

    Raises:
        ValueError: fewer than two groups, unequal shapes, numbers that are not finite, groups that do not differ, or
            more directions than the groups differ in.

    Source:
        Liang et al. 2020, *Towards Debiasing Sentence Representations*, algorithm 1. Their k is chosen by the user.
    """
    arrays = {name: np.asarray(rows, dtype=np.float64) for name, rows in groups.items()}
    shapes = {name: rows.shape for name, rows in arrays.items()}
    if len(arrays) < 2 or len(set(shapes.values())) > 1 or len(next(iter(shapes.values()))) != 2:
        raise ValueError(f"groups have the shapes {shapes}, expected two or more groups of the same shape (n, dim).")
    versions = np.stack(list(arrays.values()))
    if not np.isfinite(versions).all():
        raise ValueError("groups hold NaN or infinite numbers: check the encoder.")
    differences = (versions - versions.mean(axis=0)).reshape(-1, versions.shape[-1])
    _, sizes, directions = np.linalg.svd(differences, full_matrices=False)
    rank = int((sizes > sizes[0] * 1e-6).sum()) if len(sizes) and sizes[0] > 0.0 else 0
    if not 1 <= k <= rank:
        raise ValueError(
            f"k (--n_directions) is {k}, expected 1 to {rank}: the versions of the texts differ in {rank} directions."
        )
    return Projection(directions[:k].astype(np.float32), (sizes**2 / (sizes**2).sum())[:k])
