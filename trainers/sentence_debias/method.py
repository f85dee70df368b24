"""SentenceDebias as an experiment: the encoder, its embeddings without the directions of the groups, and a control.

Source: Liang et al. 2020, *Towards Debiasing Sentence Representations*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from datasets import Dataset

from hf_fairness._processes import rows_shared
from hf_fairness.erasure import Projection, with_eraser
from hf_fairness.record import Arm
from hf_fairness.trainers.baselines.sentence_debias import fitted_directions, told_of
from hf_fairness.trainers.experiment import Fitted, Plan, run_experiment
from hf_fairness.trainers.training.encoder import EncoderConfig
from hf_fairness.trainers.training.encoder_method import EncoderArguments, EncoderMethod
from hf_fairness.trainers.training.settings import TRAINING, refuse
from hf_fairness.utils import is_main_process

CONTROL = "as many directions are removed as by the method, drawn at random"


@dataclass(kw_only=True)
class SentenceDebiasArguments(EncoderArguments):
    """What `hf-fairness sentence-debias` is told beside its settings."""

    control: bool = field(default=True, metadata={"help": f"Also measure the control: {CONTROL}."})


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
        data: ``text_column``, ``variants``, ``sts_pairs``, ``bias_ir``, ``senteval``, ``glue``; see
            :func:`hf_fairness.trainers.run_ccd`.

    Returns:
        What :func:`hf_fairness.trainers.experiment.run_experiment` does.

    Raises:
        ValueError: bad data, or more directions than the groups differ in.
    """
    given = {"text_column": None, "sts_pairs": None, **data, "variants": dict(data.get("variants") or {})}
    return run_experiment(SentenceDebiasMethod, arguments, config, rows=rows, **given)


class SentenceDebiasMethod(EncoderMethod):
    """The directions in which versions of a text differ are fitted on the training rows and removed by a layer."""

    command = "sentence-debias"
    source = "SentenceDebias: a projection of sentence embeddings (Liang et al. 2020)"
    what = (
        "followed by a layer that takes out the directions in which versions of a text about each group differ "
        "(SentenceDebias, Liang et al. 2020)."
    )
    same_tokens = "the layer comes after the pooling, so that what a language model says of tokens is as before"
    quoted = ("n_directions", "seed")
    config: SentenceDebiasConfig

    def arms(self) -> Sequence[Plan]:
        """Before, control and after."""
        before = Plan(Arm("before", "before", "original", self.base_name))
        control = Plan(Arm("control", "control", "control", CONTROL))
        after = Plan(Arm("after", "after", "method", self.model_name), against=("before", "control"))
        return [before, *([control] if self.arguments.control else []), after]

    def fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        """Fit the projection, or draw one, and save the model with it."""
        if name == "before":
            return self.untouched(name)
        k, stage = self.config.n_directions, "project" if name == "after" else "control"

        def work(folder: Path) -> dict[str, Any]:
            given = self.given
            with rows_shared(cpu=self.config.use_cpu):
                projection = fitted_directions(given, k, option="n_directions")
            if name == "control":
                projection = Projection.random(k, projection.width, self.seed)
            told = {"n_train": len(given.rows), **told_of(projection)}
            if not is_main_process():
                return told
            model = with_eraser(self.opened.model, projection)
            model.model_card_data.base_model, model.model_card_data.first_save = self.base_id, False
            model.save(str(folder / "model"))
            return told

        inputs = [self.base_key, self.opened_as, self.run.key("variants"), k, self.seed if name == "control" else None]
        return self.trained(name, stage, work, inputs=inputs)
