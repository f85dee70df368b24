"""Steps whose rows are of about the same length, in an order that a resumed run finds again.

Such steps have less padding, so training is faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from torch.utils.data import Sampler
from transformers import Trainer, TrainerCallback

from hf_fairness.trainers.training.guarded import Guarded

#: Steps whose rows are sorted by length together: more make batches more even, and the order less random.
STEPS_SORTED = 50
#: Value of ``train_sampling_strategy`` that asks for it.
STRATEGY = "group_by_length"


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


class LengthGrouped(Guarded):
    """What stands before a `Trainer` that groups rows as `LengthGroups` does.

    It does so with ``train_sampling_strategy="group_by_length"``, where rows have the column ``length_column_name`` of
    the arguments, or ``input_ids``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.set_epoch = SetEpoch()
        self.add_callback(self.set_epoch)

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        args, name = self.args, self.args.length_column_name
        rows = self.train_dataset if train_dataset is None else train_dataset
        if name in (getattr(self.train_dataset, "column_names", None) or ()):
            rows = self.train_dataset  # the Trainer hands over rows without the columns that the model does not take
        columns = getattr(rows, "column_names", None) or ()
        if args.train_sampling_strategy != STRATEGY or not {name, "input_ids"} & set(columns):
            return super()._get_train_sampler(rows)
        known = name in columns
        lengths = rows.with_format(None)[name if known else "input_ids"][:]
        step_rows = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        seed = args.seed if args.data_seed is None else args.data_seed
        self.set_epoch.sampler = LengthGroups(lengths if known else list(map(len, lengths)), step_rows, seed=seed)
        return self.set_epoch.sampler


def length_grouped(trainer_class: type[Trainer]) -> type[Trainer]:
    """A subclass of a trainer that is `LengthGrouped`.

    Args:
        trainer_class: `Trainer` or a subclass.
    """
    return type(trainer_class.__name__, (LengthGrouped, trainer_class), {})
