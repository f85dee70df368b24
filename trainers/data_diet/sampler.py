"""Showing a running Trainer fewer rows without changing the length of an epoch."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import BatchSampler, DataLoader, Sampler, SequentialSampler

from hf_fairness.scores.statistics import generator
from hf_fairness.utils import FairnessWarning


class KeptRowsSampler(Sampler[int]):
    """Walks permutations of the kept rows, one after the other, until an epoch of the whole data set is full.

    The order depends on seed and epoch alone: any process, and a resumed run, sees the same rows.

    Args:
        kept: whether each row of the data set is kept, shape (rows,).
        seed: of the permutations.
        shuffle: False walks the kept rows in their order.

    Raises:
        ValueError: no row is kept.

    Example:
        >>> sampler = KeptRowsSampler([True, False, True, False, False])
        >>> len(sampler), sorted(set(sampler))
        (5, [0, 2])
    """

    def __init__(self, kept: Any, *, seed: int = 0, shuffle: bool = True) -> None:
        mask: NDArray[np.bool_] = np.asarray(kept, dtype=bool)
        self.rows = np.flatnonzero(mask)
        if not len(self.rows):
            raise ValueError(f"None of the {len(mask)} rows is kept, so there is nothing to train on.")
        self.length, self.seed, self.shuffle, self.epoch = len(mask), seed, shuffle, 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the permutations of an epoch; it does not advance by itself."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        draws = generator(self.seed, "kept rows", self.epoch)
        left = self.length
        while left:
            walk = draws.permutation(self.rows) if self.shuffle else self.rows
            yield from walk[:left].tolist()
            left -= min(left, len(walk))


def install_sampler(dataloader: DataLoader[Any], kept: Any, *, seed: int = 0) -> KeptRowsSampler:
    """Put a `KeptRowsSampler` in the place of a training dataloader's sampler, unless it is there already.

    Steps per epoch, and so the learning-rate schedule and resuming, stay as they were.

    Args:
        dataloader: what `transformers.Trainer` trains on, prepared by accelerate for one process or many.
        kept: whether each row of its data set is kept, shape (rows,).
        seed: of the order of the rows.

    Returns:
        The sampler in place; call its ``set_epoch`` before each epoch.

    Raises:
        TypeError: a dataloader whose sampler cannot be replaced.
        ValueError: another number of rows.

    Warns:
        FairnessWarning: the sampler that was there ordered rows by their length.
    """
    owner = sampler_owner(dataloader)
    if isinstance(owner.sampler, KeptRowsSampler):
        return owner.sampler
    sampler = KeptRowsSampler(kept, seed=seed, shuffle=not isinstance(owner.sampler, SequentialSampler))
    if len(sampler) != len(owner.sampler):  # type: ignore[arg-type]
        raise ValueError(
            f"The mask of kept rows has {len(sampler)} entries, but the dataloader samples "
            f"{len(owner.sampler)} rows an epoch."  # type: ignore[arg-type]
        )
    if type(owner.sampler).__name__.endswith("LengthGroupedSampler"):
        warnings.warn(
            "train_sampling_strategy='group_by_length' has no effect on pruned epochs: the kept rows come in random "
            "order.",
            FairnessWarning,
            stacklevel=2,
        )
    owner.sampler = sampler
    return sampler


def sampler_owner(dataloader: DataLoader[Any]) -> BatchSampler:
    """The batch sampler whose ``sampler`` decides which rows an epoch shows.

    On one process it is ``dataloader.batch_sampler``; on several accelerate wraps it, and it is
    ``dataloader.batch_sampler.batch_sampler``.

    Raises:
        TypeError: there is none: a stream, or batches that are made in another way.
    """
    outer = getattr(dataloader, "batch_sampler", None)
    owner = getattr(outer, "batch_sampler", outer)
    if not isinstance(owner, BatchSampler) or not hasattr(getattr(owner, "sampler", None), "__len__"):
        found = "nothing" if owner is None else f"a {type(owner).__module__}.{type(owner).__qualname__}"
        raise TypeError(
            "Rows are pruned by replacing the sampler of the training dataloader, expected at batch_sampler.sampler "
            f"or, on several processes, at batch_sampler.batch_sampler.sampler; got {found} as batch sampler. Use a "
            "datasets.Dataset (no stream) with train_sampling_strategy 'random' or 'sequential', or prune before "
            "training with DataDietTrainer."
        )
    return owner
