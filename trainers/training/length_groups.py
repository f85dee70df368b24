"""Batches of rows of about the same length, in an order that a resumed run finds again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from torch.utils.data import Sampler
from transformers import TrainerCallback

#: Steps whose rows are sorted by length together: more make batches more even, and the order less random.
STEPS_SORTED = 50


class LengthGroups(Sampler):
    """Row numbers in a random order in which the rows of a step are of about the same length.

    Rows are shuffled, sorted by length within stretches of 50 steps, cut into steps, and the steps shuffled. Only
    lengths, sizes, seed and epoch decide: a run that is resumed in the middle of an epoch gets the same order again,
    on any number of processes. `transformers` draws its order from the global generator and puts long steps first.

    Args:
        lengths: of each row.
        step_rows: rows of a step, over all processes.
        seed: of the order.
    """

    def __init__(self, lengths: Sequence[int], step_rows: int, *, seed: int = 0) -> None:
        self.lengths = np.asarray(lengths, dtype=np.int64)
        self.step_rows, self.seed, self.epoch = step_rows, seed, 0

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng([self.seed, self.epoch])
        order = random.permutation(len(self.lengths))
        stretch = self.step_rows * STEPS_SORTED
        steps: list[Any] = []
        for start in range(0, len(order), stretch):
            rows = order[start : start + stretch]
            rows = rows[np.argsort(-self.lengths[rows], kind="stable")]
            steps += [rows[first : first + self.step_rows] for first in range(0, len(rows), self.step_rows)]
        # A step that is not full must be the last one, or those after it would be cut elsewhere.
        full = [step for step in steps if len(step) == self.step_rows]
        rest = [step for step in steps if len(step) < self.step_rows]
        for number in random.permutation(len(full)):
            yield from full[number].tolist()
        for step in rest:
            yield from step.tolist()

    def set_epoch(self, epoch: int) -> None:
        """Say which pass over the rows comes next."""
        self.epoch = epoch


class SetEpoch(TrainerCallback):
    """Tell a sampler the epoch, however deep the launcher has wrapped it."""

    def __init__(self) -> None:
        self.sampler: LengthGroups | None = None

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Set the epoch before its first row is drawn."""
        if self.sampler is not None:
            self.sampler.set_epoch(int(state.epoch or 0))
