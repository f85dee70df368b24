"""From a text data set and an encoder to a mitigated encoder with an honest card: content-conditional debiasing.

The original, the mitigated model and the control (see :data:`CONTROL`) are audited alike.

Source: Deng et al. 2024, *LLM-Assisted Content Conditional Debiasing for Fair Text Embedding*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers.trainer_utils import IntervalStrategy

from hf_fairness.attributes.model import NEUTRAL
from hf_fairness.record import Arm
from hf_fairness.runs import discard
from hf_fairness.trainers.ccd.config import CCDConfig
from hf_fairness.trainers.ccd.trainer import CCDTrainer
from hf_fairness.trainers.experiment import Fitted, Plan, run_experiment
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.training.encoder_method import EncoderArguments, EncoderMethod
from hf_fairness.trainers.training.given import Given
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


def run_ccd(
    arguments: CCDArguments,
    config: CCDConfig,
    rows: Dataset,
    *,
    text_column: str | None = None,
    variants: Mapping[str, Any] | None = None,
    sts_pairs: Any = None,
    **benchmarks: Any,
) -> dict[str, Any]:
    """Audit an encoder, mitigate it with CCD, audit it again, and write report, card and model.

    Call it on every process of a distributed launch: see :func:`hf_fairness.trainers.experiment.run_experiment`.

    Args:
        arguments: model, attribute and what to run; its file names are for the reader, see `rows`.
        config: settings of the training; ``config.output_dir`` holds all stages.
        rows: texts, or rows that hold variants already.
        text_column: column of the texts; None when `rows` hold one text column per group and ``neutral``.
        variants: sets of variants by name to measure CCED on, beside the one this package carries.
        sts_pairs: rows with ``sentence1``, ``sentence2``, ``score``.
        benchmarks: rows of ``crows_pairs``, ``stereoset`` and ``bias_ir``, as the functions of these names in
            `hf_fairness.measure` take them; the first two need a model with a masked-language-model head. And
            ``senteval`` and ``glue``: by name of a task its rows, as `hf_fairness.measure.read_transfer_task` takes
            them; ``mteb``: names of its tasks, or tasks (objects of its ``AbsTask``).

    Returns:
        What :func:`hf_fairness.trainers.experiment.run_experiment` does: the arms are ``before``, ``after`` and
        ``control``, the set ``audit``; and ``data``: how many rows came to which part.

    Raises:
        ValueError: bad data, or a model that is no encoder.
        RunLockedError: another run works in the same folder.
    """
    given = {"rows": rows, "text_column": text_column, "variants": dict(variants or {}), "sts_pairs": sts_pairs}
    if unknown := set(benchmarks) - {"crows_pairs", "stereoset", "bias_ir", "senteval", "glue", "mteb"}:
        raise TypeError(f"run_ccd has no data called {', '.join(sorted(unknown))}.")
    given |= benchmarks
    return run_experiment(CCDMethod, arguments, config, **given)


class CCDMethod(EncoderMethod):
    """CCD as an experiment: the original encoder, the mitigated one and its control, all audited."""

    command = "ccd"
    source = "CCD: content-conditional debiasing (Deng et al. 2024)"
    what = (
        "trained with content-conditional debiasing (CCD, Deng et al. 2024) to keep equal distances between the "
        "versions of a text about each group and its neutral version."
    )
    quoted = ("beta", "rho", "learning_rate", "num_train_epochs", "per_device_train_batch_size", "use_peft", "seed")
    config: CCDConfig

    def arms(self) -> Sequence[Plan]:
        """Before, control and after."""
        before = Plan(Arm("before", "before", "original", self.base_name))
        control = Plan(Arm("control", "control", "control", CONTROL), needs=("after",))
        after = Plan(Arm("after", "after", "method", self.model_name), against=("before", "control"))
        return [before, *([control] if self.arguments.control else []), after]

    def fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        """The original, or a training on all processes; the control ends where the kept checkpoint of CCD was."""
        if name == "before":
            return self.untouched(name)
        stop = fitted["after"].training["kept_step"] if name == "control" else None
        stage = "train" if stop is None else "control"

        def work(folder: Path) -> dict[str, Any]:
            return self._train(folder, stop)

        inputs = [self.base_key, self.run.key("variants"), self.settings, stop]
        return self.trained(name, stage, work, inputs=inputs, version=3, keep_partial=True)

    def _train(self, folder: Path, stop: int | None) -> dict[str, Any]:
        return train_ccd(self.given, folder, stop=stop)


def train_ccd(given: Given, folder: Path, *, stop: int | None = None) -> dict[str, Any]:
    """Train a copy of an encoder with CCD and save it as ``folder / "model"``; a killed training goes on.

    Args:
        given: the encoder, rows, groups and settings; trainings on the same rows share what the original says of them.
        folder: of its own.
        stop: number of steps of the control, which pulls at random instead of to 0; None trains CCD.

    Returns:
        What :meth:`CCDTrainer.describe_run` does, the validation losses, ``kept_step``, ``seconds`` and ``history``.
    """
    own = given.settings(folder)
    own.group_columns, own.neutral_column = list(given.groups), NEUTRAL
    callbacks = []
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
