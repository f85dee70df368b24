"""Taking directions out of vectors: an orthogonal projection, and how SentenceDebias finds its directions."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


class RankError(ValueError):
    """More directions are to be removed than there are, or none."""


class LinearMap(ABC):
    """What every fitted eraser is: a vector x becomes matrix @ x + offset. Its fields are arrays and numbers.

    Attributes:
        matrix: float32, shape (dim, dim).
    """

    matrix: NDArray[np.float32]

    @property
    def shift(self) -> NDArray[np.float32] | None:
        """What is added to every vector, shape (dim,); None where the zero vector stays."""
        return None

    @property
    @abstractmethod
    def width(self) -> int:
        """Dimensions of the vectors that it takes."""

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that are those of its content alone, before and after it was saved."""
        found = hashlib.sha256(type(self).__name__.encode())
        for each in fields(self):  # type: ignore[arg-type]
            values = np.asarray(getattr(self, each.name))
            found.update(f"{each.name} {values.dtype} {values.shape} ".encode() + values.tobytes())
        return found.hexdigest()[:16]

    def __getstate__(self) -> dict[str, Any]:
        """Its content in one memory layout, so that the cache of `datasets` knows it again wherever it came from."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {name: np.array(value, order="C") if np.ndim(value) else value for name, value in values.items()}

    @abstractmethod
    def apply(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """The map of vectors of the right width, shape (..., dim)."""

    def __call__(self, vectors: ArrayLike) -> NDArray[np.float64]:
        """Vectors without what is erased, shape (n, dim).

        Raises:
            ValueError: vectors of another width.
        """
        given = np.asarray(vectors, dtype=np.float64)
        if not given.ndim or given.shape[-1] != self.width:
            raise ValueError(
                f"vectors have the shape {given.shape}, expected {self.width} numbers each, as those that the eraser "
                "was fitted on: take vectors of the same encoder, or fit again."
            )
        return self.apply(given)


@dataclass(frozen=True, eq=False)
class Projection(LinearMap):
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
    def matrix(self) -> NDArray[np.float32]:  # type: ignore[override]
        """The projection, symmetric and equal to its square, shape (dim, dim)."""
        wide = self.directions.astype(np.float64)
        return np.asarray(np.eye(wide.shape[1]) - wide.T @ wide, dtype=np.float32)

    @property
    def width(self) -> int:
        """Dimensions of the vectors that it takes."""
        return int(self.directions.shape[1])

    def apply(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Vectors without their part in the subspace, shape (..., dim)."""
        return np.asarray(vectors - (vectors @ self.directions.T) @ self.directions)

    @classmethod
    def random(cls, k: int, dim: int, seed: int = 0) -> Projection:
        """One that removes k directions drawn at random: what any removal of that size does.

        Raises:
            RankError: k is not from 1 to dim.
        """
        if not 1 <= k <= dim:
            raise RankError(f"k (directions to remove) is {k}, expected 1 to {dim}: vectors have {dim} dimensions.")
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
        ValueError: fewer than two groups, unequal shapes, numbers that are not finite.
        RankError: more directions than the groups differ in; of groups that do not differ, any.

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
        raise RankError(
            f"k (directions to remove) is {k}, expected 1 to {rank}: the versions of the texts differ in {rank} "
            "directions."
        )
    return Projection(directions[:k].astype(np.float32), (sizes**2 / (sizes**2).sum())[:k])


def unit_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows at length 1; a row of zeros, which lay in the subspace wholly, stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 1e-12, lengths, 1.0))
