"""What a method is to `hf-fairness compare`: one class that makes a changed encoder of the one that all begin with.

A baseline is given the model, the rows and the settings of the run, and writes a model that opens with plain
``SentenceTransformer``. What is shared by all (rows, seeds, resume, control, measuring, report) is the command's.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from datasets import Dataset

from hf_fairness.attributes import Attribute
from hf_fairness.encoders import BaseEncoder
from hf_fairness.trainers.training.encoder import EncoderConfig, TrainableEncoder

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


class Baseline(ABC):
    """A method: a name, what it reads of the settings, and how it makes a model.

    Attributes:
        name: what ``--methods`` calls it.
        title: its name in reports, with the publication in brackets.
        about: how the model is made, in a sentence without a subject: "trained with ...".
        options: settings of the config that it reads beside those of every training.
        trains: whether it trains with the settings of every training; else those are no input of it.
        seeded: whether another seed gives another model.
        same_tokens: whether it changes embeddings of texts alone, so that a masked-language-model head says of tokens
            what it said before.
        control: the arm that it is held against beside the original: the same without what the method is for, or as
            near to that as there is; empty for none.
        is_control: whether it is such an arm, of which nothing is claimed.
        needs: name of the method that must be trained before it, since it ends where that one did.
        model: id or folder of a model that is measured as it is, where nothing is made.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()
    trains: ClassVar[bool] = True
    seeded: ClassVar[bool] = True
    same_tokens: ClassVar[bool] = False
    control: ClassVar[str] = ""
    is_control: ClassVar[bool] = False
    needs: ClassVar[str] = ""
    model: str | None = None

    def check(self, encoder: TrainableEncoder, config: EncoderConfig, attribute: Attribute) -> None:  # noqa: B027
        """Refuse a model, settings or groups that it cannot work with, before anything is trained.

        Raises:
            ValueError: says what came, what was wanted, and what to do.
        """

    def files(self, config: Any) -> list[Path]:
        """Files that it reads beside model and rows: what is in them decides what it makes."""
        return []

    @abstractmethod
    def fit(self, given: Given, folder: Path) -> Mapping[str, Any]:
        """Make the model and save it as ``folder / "model"``; on all processes of a launch, which saves on one.

        Args:
            given: what it begins with.
            folder: of its own; a killed training may find its checkpoints in it.

        Returns:
            How it was made: ``steps``, ``loss`` and what else a reader wants to know; JSON-able.
        """
