"""Any `Trainer`, with steps whose rows are of about the same length: less padding, so faster."""

from __future__ import annotations

from typing import Any

from transformers import Trainer

from hf_fairness.trainers.training.checkpoints import Resumable
from hf_fairness.trainers.training.hidden_token import HiddenToken
from hf_fairness.trainers.training.length_groups import LengthGroups, SetEpoch
from hf_fairness.trainers.training.stopping import stop_when_diverged

STRATEGY = "group_by_length"


class _LengthGrouped(Resumable, HiddenToken, Trainer):
    """What :func:`length_grouped` puts before a trainer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.set_epoch = SetEpoch()
        self.add_callback(self.set_epoch)
        stop_when_diverged(self)

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        """Group rows as `LengthGroups` does."""
        rows, args = self.train_dataset if train_dataset is None else train_dataset, self.args
        if args.train_sampling_strategy != STRATEGY or "input_ids" not in (getattr(rows, "column_names", None) or ()):
            return super()._get_train_sampler(rows)
        step_rows = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        seed = args.seed if args.data_seed is None else args.data_seed
        lengths = [len(ids) for ids in rows.with_format(None)["input_ids"]]
        self.set_epoch.sampler = LengthGroups(lengths, step_rows, seed=seed)
        return self.set_epoch.sampler


def length_grouped(trainer_class: type[Trainer]) -> type[Trainer]:
    """A subclass that, with ``train_sampling_strategy="group_by_length"``, groups rows as `LengthGroups` does.

    Rows are shuffled before and steps after, and a resumed run finds the order again; the sampler of `transformers`
    puts long steps first.

    Args:
        trainer_class: `Trainer` or a subclass; its training rows have ``input_ids``.
    """
    return type(trainer_class.__name__, (_LengthGrouped, trainer_class), {})
