"""SentenceDebias as an experiment: the encoder, its embeddings without the directions of the groups, and a control.

Source: Liang et al. 2020, *Towards Debiasing Sentence Representations*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from datasets import Dataset

from hf_fairness.trainers.baselines.base import Baseline
from hf_fairness.trainers.baselines.sentence_debias import RandomDirections, SentenceDebias
from hf_fairness.trainers.experiment import run_experiment
from hf_fairness.trainers.training.encoder import EncoderConfig
from hf_fairness.trainers.training.encoder_method import EncoderArguments, EncoderMethod
from hf_fairness.trainers.training.settings import TRAINING, refuse


@dataclass(kw_only=True)
class SentenceDebiasArguments(EncoderArguments):
    """What `hf-fairness sentence-debias` is told beside its settings."""

    control: bool = field(
        default=True, metadata={"help": "Also measure the control: as many directions, drawn at random, are removed."}
    )


@dataclass
class SentenceDebiasConfig(EncoderConfig):
    """Settings of SentenceDebias; those of trainings are refused, for nothing is trained."""

    RANGES: ClassVar = {"n_directions": (1, 100_000)}

    n_directions: int = field(default=1, metadata={"help": "Directions to remove (k)."})
    eval_strategy: str = field(default="no", metadata={"help": "Nothing is chosen, so no rows are held out for it."})

    def __post_init__(self) -> None:
        """Check the fields, then let the parent do the same."""
        refuse(self, dict.fromkeys(TRAINING, "the directions are fitted in one pass, and nothing is trained"))
        super().__post_init__()


def run_sentence_debias(
    arguments: SentenceDebiasArguments, config: SentenceDebiasConfig, rows: Dataset, **data: Any
) -> dict[str, Any]:
    """Audit an encoder, take the directions of the groups out of it, and audit it again.

    Args:
        arguments: model, attribute and what to run.
        config: number of directions; ``config.output_dir`` holds all stages.
        rows: texts, or rows that hold variants already.
        data: see :func:`hf_fairness.trainers.run_ccd`.

    Returns:
        What :func:`hf_fairness.trainers.experiment.run_experiment` does.

    Raises:
        ValueError: bad data, or more directions than the groups differ in.
    """
    return run_experiment(SentenceDebiasMethod, arguments, config, rows=rows, **data)


class SentenceDebiasMethod(EncoderMethod):
    """The directions in which versions of a text differ are fitted on the training rows and removed by a layer."""

    command = "sentence-debias"
    source = "SentenceDebias: a projection of sentence embeddings (Liang et al. 2020)"
    quoted = ("n_directions", "seed")
    config: SentenceDebiasConfig

    @cached_property
    def changes(self) -> Mapping[str, Baseline]:
        """The projection, and as many directions drawn at random."""
        return self.with_control(SentenceDebias("n_directions"), RandomDirections("n_directions"))
