"""Erasing what a linear probe could read: LEACE in closed form, and INLP, which takes out one probe after another."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hf_fairness.erasure.projection import LinearMap, Projection, unit_rows
from hf_fairness.utils import require


@dataclass(frozen=True, eq=False)
class Eraser(LinearMap):
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

    @property
    def shift(self) -> NDArray[np.float32]:
        """The offset."""
        return self.offset

    @property
    def width(self) -> int:
        """Dimensions of the vectors that it takes."""
        return len(self.offset)

    def apply(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Vectors without the label, shape (..., dim)."""
        return np.asarray(vectors @ self.matrix.T.astype(np.float64) + self.offset)


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

    It makes the covariance of vectors and labels 0 on the vectors that it is fitted on. That needs the theorem's own
    map: `concept-erasure` by default shrinks the covariance, leaves labels in that it finds weak, and mixes in another
    projection where rounding makes the variance grow; all three are off here. Directions in which the vectors differ
    by no more than float32 rounds off are left as they are.

    The guarantee is for the vectors that come out. Brought to length 1 afterwards, they may say the label again: where
    its groups differ in length, unequal division shifts their means.

    Args:
        vectors: shape (n, dim); a vector of zeros is a point like any other.
        labels: one per vector; two or more different ones.

    Returns:
        The map.

    Raises:
        ImportError: `concept-erasure` is not installed (extra ``erasure``).
        ValueError: not one label per vector, one label only, vectors that are all the same (zeros, for one), numbers
            that are not finite.

    Source:
        Belrose et al. 2023, *LEACE: Perfect linear concept erasure in closed form*, theorem 4.3.
    """
    rows, codes, names = _checked(vectors, labels)
    with warnings.catch_warnings():  # concept-erasure 0.2.4 asks for a compiler that torch 2.13 deprecates
        warnings.filterwarnings("ignore", message="`torch.jit.script", category=DeprecationWarning)
        fitter = require("concept_erasure").LeaceFitter
    import torch

    mean = rows.mean(axis=0)
    _, sizes, axes = np.linalg.svd(rows - mean, full_matrices=False)
    axes = axes[sizes > _rounding(rows)]
    one_hot = torch.from_numpy(np.eye(len(names))[codes])
    inside = torch.from_numpy((rows - mean) @ axes.T)
    found = fitter.fit(inside, one_hot, shrinkage=False, constrain_cov_trace=False, svd_tol=1e-8).eraser
    matrix = np.eye(rows.shape[1]) - axes.T @ (found.proj_left @ found.proj_right).numpy() @ axes
    offset = mean - matrix @ mean
    rank = int(np.linalg.matrix_rank(found.proj_left.numpy(), tol=1e-9))
    return Eraser(matrix.astype(np.float32), offset.astype(np.float32), rank)


def inlp(
    vectors: ArrayLike,
    labels: Sequence[object],
    *,
    max_rounds: int = 100,
    held_out: float = 0.2,
    seed: int = 0,
    clusters: Sequence[object] | None = None,
    unit_length: bool = False,
) -> Nullspace:
    """Project onto the null space of a linear probe, train the next one on what is left, until one reads nothing.

    The probes are logistic regressions. Their directions are taken out together, so that what one round removed stays
    removed.

    Args:
        vectors: shape (n, dim).
        labels: one per vector; two or more different ones.
        max_rounds: probes at most.
        held_out: share of the rows, of each label, on which probes are judged; 0: on the rows that they saw. With
            clusters: share of these.
        seed: of the rows that are held out.
        clusters: one per vector: those of one cluster, such as the versions of one text, are held out together. Else a
            probe that has seen a text about one group takes its other version for that group too, is wrong more often
            than chance, and the search ends before it should.
        unit_length: whether what is left of a vector is brought to length 1 before a probe sees it, as a model does
            whose last layer is a ``Normalize``; what lay wholly in the subspace stays 0. The accuracies are then those
            of the vectors that such a model gives behind the projection.

    Returns:
        The projection, with the accuracy of each probe.

    Raises:
        ValueError: as :func:`leace`; fewer than one round; no share from 0 to below 1, or one that leaves a label out;
            not one cluster per vector, or a single one.

    Source:
        Ravfogel et al. 2020, *Null It Out*, algorithm 1.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    rows, codes, names = _checked(vectors, labels)
    if max_rounds < 1:
        raise ValueError(f"max_rounds is {max_rounds}, expected 1 or more.")
    if not 0.0 <= held_out < 1.0:
        raise ValueError(f"held_out is {held_out}, expected a share from 0 to below 1.")
    train = judged = np.arange(len(rows))
    if clusters is not None and len(clusters) != len(rows):
        raise ValueError(f"clusters has {len(clusters)} values, expected one for each of {len(rows)} vectors.")
    if held_out and clusters is not None:
        train, judged = _by_cluster([str(cluster) for cluster in clusters], held_out, seed)
    elif held_out:
        train, judged = train_test_split(train, test_size=held_out, random_state=seed, stratify=codes)
    for part in (train, judged):
        if missing := set(names) - {names[code] for code in codes[part]}:
            raise ValueError(
                f"No vector of {', '.join(sorted(missing))} is among those to {'train' if part is train else 'judge'} "
                f"probes on: give more vectors, or another held_out than {held_out} (0 holds none out)."
            )
    majority = float(np.bincount(codes[judged]).max() / len(judged))
    basis = np.zeros((0, rows.shape[1]))
    accuracies: list[float] = []
    for _ in range(max_rounds):
        left = rows - (rows @ basis.T) @ basis
        if unit_length:
            left = unit_rows(left)
        probe = LogisticRegression(max_iter=1000).fit(left[train], codes[train])
        accuracies.append(float(probe.score(left[judged], codes[judged])))
        if accuracies[-1] <= majority or len(basis) == rows.shape[1]:
            break
        spanned = np.vstack([basis, probe.coef_])
        _, sizes, directions = np.linalg.svd(spanned / np.linalg.norm(spanned, axis=1, keepdims=True), False)
        basis = directions[sizes > 1e-6]
    return Nullspace(Projection(basis.astype(np.float32), np.zeros(len(basis))), tuple(accuracies), majority)


def _by_cluster(clusters: Sequence[str], held_out: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of the clusters to train on and of those that are held out, drawn by the seed."""
    names = sorted(set(clusters))
    if len(names) < 2:
        raise ValueError("All vectors are of one cluster: none can be held out. Give more texts, or held_out=0.")
    n_judged = min(len(names) - 1, max(1, round(held_out * len(names))))
    drawn = {names[place] for place in np.random.default_rng(seed).permutation(len(names))[:n_judged]}
    inside = np.array([cluster in drawn for cluster in clusters])
    return np.flatnonzero(~inside), np.flatnonzero(inside)


def _rounding(rows: NDArray[np.float64]) -> float:
    """A singular value that differences of float32 rounding do not reach."""
    return float(np.finfo(np.float32).eps * np.abs(rows).max() * np.sqrt(max(rows.shape)))


def _checked(vectors: ArrayLike, labels: Sequence[object]) -> tuple[NDArray[np.float64], NDArray[np.int64], list[str]]:
    """Vectors, labels as numbers from 0, and what each number stands for."""
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(labels):
        raise ValueError(f"vectors have the shape {rows.shape}, expected one row for each of {len(labels)} labels.")
    if not np.isfinite(rows).all():
        raise ValueError("vectors hold NaN or infinite numbers: check the encoder.")
    if len(rows) and (np.ptp(rows, axis=0) <= np.finfo(np.float32).eps * np.abs(rows).max()).all():
        kind = "zeros alone" if not rows.any() else "the same numbers"
        raise ValueError(f"All vectors hold {kind}: there is nothing to erase. Check texts and encoder.")
    names = sorted({str(label) for label in labels})
    if len(names) < 2:
        raise ValueError(f"All labels are {', '.join(names) or 'missing'}: there is nothing to erase.")
    place = {name: code for code, name in enumerate(names)}
    return rows, np.array([place[str(label)] for label in labels]), names
