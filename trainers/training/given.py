"""What every method that changes an encoder begins with."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets import Dataset

from hf_fairness.attributes import Attribute
from hf_fairness.encoders import BaseEncoder
from hf_fairness.trainers.training.encoder import TrainableEncoder

#: Column of rows that hold it: the text that the versions of the row were made of.
SOURCE = "source_text"


@dataclass(frozen=True)
class Given:
    """What every method begins with.

    Attributes:
        encoder: the model as it is opened for training; stays as it is, see :meth:`copy`.
        original: the same for plain encoding; it remembers the vectors of texts that it has seen.
        rows: to fit or train on: a text column per group, and ``neutral``; and :data:`SOURCE` where the rows were made
            of texts and not given as versions.
        validation: the same, to choose a checkpoint by; None where nothing is held out for it.
        groups: the group columns.
        attribute: whose groups they are.
        config: settings of the run, with the seed of this trial; its ``output_dir`` is not the method's to write to.
        rows_key: what stands for model and rows among the keys of ``shared``.
        shared: what trainings of this process may share in memory.
        stop: the step at which a training ends whose twin kept the weights of that step; None for all others.
        base_name: the model, as a reader knows it; ``base_id``: its id on the Hub, where it has one.
    """

    encoder: TrainableEncoder
    original: BaseEncoder
    rows: Dataset
    validation: Dataset | None
    groups: tuple[str, ...]
    attribute: Attribute
    config: Any
    rows_key: str = ""
    shared: dict[str, Any] = field(default_factory=dict, repr=False)
    stop: int | None = None
    base_name: str = "model"
    base_id: str | None = None

    def copy(self) -> TrainableEncoder:
        """The model to train, on the CPU; the one that all begin with leaves the accelerator to it."""
        self.encoder.model.to("cpu")
        return copy.deepcopy(self.encoder)

    def settings(self, folder: Path) -> Any:
        """The settings to train with: their ``output_dir`` is a folder inside the given one, nothing is pushed."""
        own = copy.deepcopy(self.config)
        own.output_dir, own.push_to_hub = str(folder / "checkpoints"), False
        return own
