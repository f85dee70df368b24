"""Content-conditional debiasing of a sentence encoder: what it is to the commands that change one.

`hf-fairness ccd` measures the original, the model after CCD and the control (see :data:`CONTROL`) alike; in
`hf-fairness compare` both are methods among others.

Source: Deng et al. 2024, *LLM-Assisted Content Conditional Debiasing for Fair Text Embedding*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers.trainer_utils import IntervalStrategy

from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.runs import discard
from hf_fairness.trainers.baselines.base import Baseline, Given
from hf_fairness.trainers.ccd.config import CCDConfig
from hf_fairness.trainers.ccd.trainer import CCDTrainer
from hf_fairness.trainers.experiment import run_experiment
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.training.encoder_method import EncoderArguments, EncoderMethod
from hf_fairness.trainers.training.stopping import StopAt
from hf_fairness.utils import is_main_process

#: What the control is, as reports and cards say it.
CONTROL = (
    "the method's own training with one change: each text's gap between groups is pulled away from where it is by "
    "the gap of another text, up or down at random, and not to 0. Rows, order, steps up to the kept checkpoint, "
    "optimiser, weights of the loss, seed and dropout (as for the method) are the same"
)


@dataclass(kw_only=True)
class CCDArguments(EncoderArguments):
    """What `hf-fairness ccd` needs beside the settings of the training."""

    control: bool = field(
        default=True,
        metadata={
            "help": "Also train the control: same rows, steps, seed and loss, but each text's gap between groups is "
            "pulled up or down at random by the gap of another text, instead of to 0."
        },
    )


class CCD(Baseline):
    """Content-conditional debiasing, ours."""

    name = "ccd"
    control = "control"
    title = "CCD (Deng et al. 2024)"
    about = (
        "trained with content-conditional debiasing (CCD, Deng et al. 2024) to keep equal distances between the "
        "versions of a text about each group and its neutral version"
    )
    options = ("beta", "bias_weight", "rho", "keep_dropout", "card_examples")

    def fit(self, given: Given, folder: Path) -> Mapping[str, Any]:
        """Train it."""
        return train_ccd(given, folder)


class CCDControl(CCD):
    """Its twin, which pulls at random; it ends where the kept checkpoint of CCD was."""

    name = title = "control"
    control = ""
    is_control = True
    needs = "ccd"
    about = CONTROL


def run_ccd(arguments: CCDArguments, config: CCDConfig, rows: Dataset, **data: Any) -> dict[str, Any]:
    """Audit an encoder, mitigate it with CCD, audit it again, and write report, card and model.

    Call it on every process of a distributed launch: see :func:`hf_fairness.trainers.experiment.run_experiment`.

    Args:
        arguments: model, attribute and what to run; its file names are for the reader, see `rows`.
        config: settings of the training; ``config.output_dir`` holds all stages.
        rows: texts, or rows that hold variants already.
        data: what else it is measured with, see
            :class:`hf_fairness.trainers.training.encoder_method.EncoderMethod`: ``text_column``, ``variants``,
            ``sts_pairs``, ``crows_pairs``, ``stereoset``, ``bias_ir``, ``senteval``, ``glue``, ``mteb``.

    Returns:
        What :func:`hf_fairness.trainers.experiment.run_experiment` does: the arms are ``before``, ``after`` and
        ``control``, the set ``audit``; and ``data``: how many rows came to which part.

    Raises:
        ValueError: bad data, or a model that is no encoder.
        RunLockedError: another run works in the same folder.
    """
    return run_experiment(CCDMethod, arguments, config, rows=rows, **data)


class CCDMethod(EncoderMethod):
    """CCD as an experiment: the original encoder, the mitigated one and its control, all audited."""

    command = "ccd"
    source = "CCD: content-conditional debiasing (Deng et al. 2024)"
    quoted = ("beta", "rho", "learning_rate", "num_train_epochs", "per_device_train_batch_size", "use_peft", "seed")
    config: CCDConfig

    @cached_property
    def changes(self) -> Mapping[str, Baseline]:
        """CCD, and its control."""
        return self.with_control(CCD(), CCDControl())


def train_ccd(given: Given, folder: Path) -> dict[str, Any]:
    """Train a copy of an encoder with CCD and save it as ``folder / "model"``; a killed training goes on.

    Args:
        given: the encoder, rows, groups and settings; trainings on the same rows share what the original says of them.
            With ``stop`` it is the control, which pulls at random instead of to 0, and ends at that step.
        folder: of its own.

    Returns:
        What :meth:`CCDTrainer.describe_run` does, the validation losses, ``kept_step``, ``seconds`` and ``history``.
    """
    own = given.settings(folder)
    own.group_columns, own.neutral_column = list(given.groups), NEUTRAL
    callbacks, stop = [], given.stop
    if stop is not None:
        # It ends at a given step: nothing is chosen by how far it is from its targets, so it is not validated.
        own.random_gaps, own.load_best_model_at_end, own.eval_strategy = True, False, IntervalStrategy.NO
        callbacks = [StopAt(stop)]
    model, key = given.copy(), f"CCD references {given.rows_key}"
    rows, validation, references = given.rows, given.validation, given.shared.get(key)
    trainer = CCDTrainer(model, own, rows, validation, references=references, callbacks=callbacks)
    given.shared[key] = trainer.references
    card = trainer.model.model_card_data
    card.base_model = given.base_id
    card.first_save = False  # or a folder's name is looked up on the Hub as if it were an id
    trainer.train(resume_from_checkpoint=last_whole_checkpoint(own.output_dir))
    trainer.save_model(str(folder / "model"))
    history = list(trainer.state.log_history)
    best = trainer.state.best_model_checkpoint if own.load_best_model_at_end else None
    kept = int(best.rsplit("-", 1)[-1]) if best else trainer.state.global_step
    losses = _losses(trainer, kept) if validation is not None and stop is None else {}
    trainer.accelerator.wait_for_everyone()
    if is_main_process():
        discard(Path(str(own.output_dir)))
    told = {**trainer.describe_run(), "base_model": given.base_name, **losses, "kept_step": kept}
    return {**told, "seconds": history[-1].get("train_runtime") if history else None, "history": history}


def _losses(trainer: CCDTrainer, kept: int) -> dict[str, float]:
    """Both parts of the validation loss, unweighted, so that trainings with other weights can be compared.

    Those that were logged at the kept step are unweighted where both weights are 1.
    """
    known = (entry for entry in trainer.state.log_history if entry["step"] == kept and "eval_loss_bias" in entry)
    loss = trainer.loss
    weights, (loss.beta, loss.bias_weight) = (loss.beta, loss.bias_weight), (1.0, 1.0)
    found = (next(known, None) if weights == (1.0, 1.0) else None) or trainer.evaluate()
    loss.beta, loss.bias_weight = weights
    return {"loss_bias": found["eval_loss_bias"], "loss_rep": found["eval_loss_rep"]}
