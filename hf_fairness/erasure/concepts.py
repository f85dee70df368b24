"""Erasing what a linear probe could read: LEACE in closed form, and INLP, which takes out one probe after another."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.erasure.projection import Projection
from hf_fairness.utils import require


@dataclass(frozen=True)
class Eraser:
    """An affine map that no linear probe reads a label behind.

    Attributes:
        matrix: float32, shape (dim, dim); a vector x becomes matrix @ x + offset.
        offset: float32, shape (dim,).
        rank: dimensions that are lost.

    Example:
        >>> Eraser(np.diag([0.0, 1.0]), np.array([2.0, 0.0]), 1)([[3.0, 4.0]]).tolist()
        [[2.0, 4.0]]
    """

    matrix: NDArray[np.float32]
    offset: NDArray[np.float32]
    rank: int

    def __call__(self, vectors: ArrayLike) -> NDArray[np.float64]:
        """Vectors without the label, shape (n, dim)."""
        given = np.asarray(vectors, dtype=np.float64)
        return np.asarray(given @ self.matrix.T.astype(np.float64) + self.offset)


@dataclass(frozen=True)
class Nullspace:
    """What INLP found.

    Attributes:
        projection: removes the directions of all probes.
        accuracies: of the probe of each round, on the rows that it did not see; the last one ended the search.
        majority: share of the most frequent label on these rows: what a probe has that reads nothing.
    """

    projection: Projection
    accuracies: tuple[float, ...]
    majority: float

    @property
    def reached(self) -> bool:
        """Whether the last probe was no better than the majority; else the rounds ran out."""
        return self.accuracies[-1] <= self.majority


def leace(vectors: ArrayLike, labels: Sequence[object]) -> Eraser:
    """The affine map after which no linear probe beats the majority, and which moves vectors least.

    It makes the covariance of vectors and labels 0 on the vectors that it is fitted on.

    Args:
        vectors: shape (n, dim).
        labels: one per vector; two or more different ones.

    Returns:
        The map.

    Raises:
        ImportError: `concept-erasure` is not installed (extra ``erasure``).
        ValueError: not one label per vector, one label only, numbers that are not finite.

    Source:
        Belrose et al. 2023, *LEACE: Perfect linear concept erasure in closed form*, theorem 4.3.
    """
    rows, codes, n_labels = _checked(vectors, labels)
    with warnings.catch_warnings():  # concept-erasure 0.2.4 asks for a compiler that torch 2.13 deprecates
        warnings.filterwarnings("ignore", message="`torch.jit.script", category=DeprecationWarning)
        fitter = require("concept_erasure").LeaceFitter
    import torch

    found = fitter.fit(torch.from_numpy(rows), torch.from_numpy(np.eye(n_labels)[codes]), shrinkage=False).eraser
    matrix = found.P.numpy()
    offset = found.bias.numpy() - matrix @ found.bias.numpy()
    rank = int(np.linalg.matrix_rank(found.proj_left.numpy(), tol=1e-9))
    return Eraser(matrix.astype(np.float32), offset.astype(np.float32), rank)


def inlp(
    vectors: ArrayLike, labels: Sequence[object], *, max_rounds: int = 100, held_out: float = 0.2, seed: int = 0
) -> Nullspace:
    """Project onto the null space of a linear probe, train the next one on what is left, until one reads nothing.

    The probes are logistic regressions. Their directions are taken out together, so that what one round removed stays
    removed.

    Args:
        vectors: shape (n, dim).
        labels: one per vector; two or more different ones.
        max_rounds: probes at most.
        held_out: share of the rows, of each label, on which probes are judged; 0: on the rows that they saw.
        seed: of the rows that are held out.

    Returns:
        The projection, with the accuracy of each probe.

    Raises:
        ValueError: as :func:`leace`; fewer than one round; no share from 0 to below 1, or one that leaves a label out.

    Source:
        Ravfogel et al. 2020, *Null It Out*, algorithm 1.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    rows, codes, _ = _checked(vectors, labels)
    if max_rounds < 1:
        raise ValueError(f"max_rounds is {max_rounds}, expected 1 or more.")
    if not 0.0 <= held_out < 1.0:
        raise ValueError(f"held_out is {held_out}, expected a share from 0 to below 1.")
    train = judged = np.arange(len(rows))
    if held_out:
        train, judged = train_test_split(train, test_size=held_out, random_state=seed, stratify=codes)
    majority = float(np.bincount(codes[judged]).max() / len(judged))
    basis = np.zeros((0, rows.shape[1]))
    accuracies: list[float] = []
    for _ in range(max_rounds):
        left = rows - (rows @ basis.T) @ basis
        probe = LogisticRegression(max_iter=1000).fit(left[train], codes[train])
        accuracies.append(float(probe.score(left[judged], codes[judged])))
        if accuracies[-1] <= majority or len(basis) == rows.shape[1]:
            break
        spanned = np.vstack([basis, probe.coef_])
        _, sizes, directions = np.linalg.svd(spanned / np.linalg.norm(spanned, axis=1, keepdims=True), False)
        basis = directions[sizes > 1e-6]
    return Nullspace(Projection(basis.astype(np.float32), np.zeros(len(basis))), tuple(accuracies), majority)


def _checked(vectors: ArrayLike, labels: Sequence[object]) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """Vectors, labels as numbers from 0, and how many labels there are."""
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(labels):
        raise ValueError(f"vectors have the shape {rows.shape}, expected one row for each of {len(labels)} labels.")
    if not np.isfinite(rows).all():
        raise ValueError("vectors hold NaN or infinite numbers: check the encoder.")
    names = sorted({str(label) for label in labels})
    if len(names) < 2:
        raise ValueError(f"All labels are {', '.join(names) or 'missing'}: there is nothing to erase.")
    place = {name: code for code, name in enumerate(names)}
    return rows, np.array([place[str(label)] for label in labels]), len(names)
