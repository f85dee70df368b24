"""Continued training on the texts as they are: what mere training does, and so the control of `cda` and `dropout`."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from datasets import Dataset
from transformers import set_seed
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from hf_fairness.attributes import Attribute
from hf_fairness.measure.variants import Variants, read_variants
from hf_fairness.runs import discard
from hf_fairness.trainers.baselines.base import SOURCE, Baseline, Given
from hf_fairness.trainers.baselines.continued_training import (
    ROW,
    TEXT,
    ContinuedTrainer,
    Contrastive,
    MaskedWords,
    number_rows,
)
from hf_fairness.trainers.training.checkpoints import last_whole_checkpoint
from hf_fairness.trainers.training.encoder import EncoderConfig, TrainableEncoder, save_encoder
from hf_fairness.trainers.training.preparation import is_deterministic
from hf_fairness.trainers.training.settings import refuse
from hf_fairness.utils import is_main_process

logger = logging.getLogger(__name__)

OBJECTIVES = ("auto", "contrastive", "mlm")


@dataclass
class CDASettings:
    """What `cda`, `dropout` and `continued` read beside the settings of every training."""

    RANGES: ClassVar = {"cda_temperature": (1e-3, 100.0), "cda_learning_rate": (0.0, 1.0)}

    cda_objective: str = field(
        default="auto",
        metadata={
            "help": "What cda, dropout and continued train with: contrastive (unsupervised SimCSE), mlm (masked words, "
            "for models with that head), or auto: mlm where the model has the head."
        },
    )
    cda_temperature: float = field(
        default=0.05, metadata={"help": "Temperature of the contrastive objective (Gao et al. 2021: 0.05)."}
    )
    cda_learning_rate: float | None = field(
        default=None,
        metadata={"help": "Learning rate of cda, dropout and continued; default: that of the other trainings."},
    )


class Continued(Baseline):
    """Training goes on with what makes encoders, on the texts as they are: the twin of CDA and of raised dropout.

    Objective, number of texts, steps, order of rows, optimiser and seed are those of `cda`, and the texts of a batch
    are of the same rows; only the texts differ. It takes one text for each row, as often as `cda` takes a version of
    it: the text that the row came with where it is known (column ``source_text``), else one of its groups' versions,
    drawn by the seed. Where the rows hold no source, each row is thus of one group, and all groups are as frequent.

    The objective is masked language modelling (:class:`MaskedWords`) for a model with that head; else unsupervised
    SimCSE (:class:`Contrastive`), as sentence encoders have no head. A contrastive batch holds several versions of a
    row; these are no negatives of each other. SimCSE takes every other text of the batch, which for versions of one
    text would push the groups apart: the very thing to be reduced. The alternative is to take a text's counterfactual
    as its *positive*, which pulls the groups together; that is a method of its own (among others Cheng et al. 2021,
    FairFil) and no data augmentation, so it is not done here.

    A sentence encoder that tells texts apart as it is has little to learn from SimCSE: all-MiniLM-L6-v2 begins with a
    loss of .004 on the rows of the package's demo. Where nothing changes, that need not be the augmentation's fault.

    All three train to the last step; validation rows choose nothing, for they would end the three at different steps.
    """

    name: ClassVar[str] = "continued"
    is_control: ClassVar[bool] = True
    title: ClassVar[str] = "continued training (control of CDA and dropout)"
    about: ClassVar[str] = "trained on with what makes encoders, on the texts as they are"
    options: ClassVar[tuple[str, ...]] = ("cda_objective", "cda_temperature", "cda_learning_rate")

    def check(self, encoder: TrainableEncoder, config: EncoderConfig, attribute: Attribute) -> None:
        """Refuse an objective that the model or the settings do not allow."""
        refuse(config, {"prompts": f"{self.name} trains on texts alone"})
        own: Any = config
        if own.cda_objective not in OBJECTIVES:
            raise ValueError(f"cda_objective is {own.cda_objective!r}, expected one of {', '.join(OBJECTIVES)}.")
        if not 0 < own.cda_temperature < math.inf:
            raise ValueError(f"cda_temperature is {own.cda_temperature!r}, expected a finite number above 0.")
        if own.cda_learning_rate is not None and not 0 < own.cda_learning_rate < math.inf:
            raise ValueError(f"cda_learning_rate is {own.cda_learning_rate!r}, expected a finite number above 0.")
        if objective_of(encoder, own) == "mlm":
            self._check_masking(encoder)
        else:
            self._check_contrast(encoder, own)

    def _check_masking(self, encoder: TrainableEncoder) -> None:
        if encoder.head is None:
            raise ValueError(
                "cda_objective is mlm, but the model has no masked-language-model head (or keep_mlm_head=False left it "
                "out). Take cda_objective=contrastive, or start from the pretrained checkpoint that has the head."
            )
        if encoder.model.tokenizer.mask_token is None:
            raise ValueError("cda_objective is mlm, but the tokenizer has no mask token. Take contrastive.")

    def _check_contrast(self, encoder: TrainableEncoder, config: Any) -> None:
        if config.train_batch_size * config.world_size < 2:
            raise ValueError(
                "The contrastive objective compares the texts of a batch, and batches are of 1 text. Raise "
                "per_device_train_batch_size to 2 or more."
            )
        with self.training(encoder, config):
            if is_deterministic(encoder.model, ["A text.", "Another one, which is longer."]):
                raise ValueError(
                    f"{self.name} with the contrastive objective needs dropout, which makes two views of a text, and "
                    "this model has none. Take cda_objective=mlm if it has the head, or leave this method out."
                )

    def texts_of(self, variants: Variants, source: list[str], seed: int) -> list[list[str]]:
        """The texts of each row, as many for every row.

        Args:
            variants: of the rows.
            source: text of each row, see :meth:`fit`.
            seed: of this training.
        """
        return [[text] * len(variants.groups) for text in source]

    def training(self, encoder: TrainableEncoder, config: Any) -> AbstractContextManager[Any]:
        """What holds of the model while it is trained."""
        return nullcontext()

    def fit(self, given: Given, folder: Path) -> Mapping[str, Any]:
        """Train a copy of the encoder, head included, and save it; see :meth:`Baseline.fit`."""
        own, encoder = given.settings(folder), given.copy()
        variants = read_variants(given.rows, groups=given.groups)
        source, n_known = source_texts(given.rows, variants, own.seed)
        texts = to_train_on(self.texts_of(variants, source, own.seed), variants, source)
        _settle(own, len(texts))
        set_seed(own.seed)  # adapters are drawn before the trainer sets the seed
        if own.use_peft:
            encoder.add_lora(own)
        objective = objective_of(encoder, own)
        model = MaskedWords(encoder) if objective == "mlm" else Contrastive(encoder, own.cda_temperature)
        trainer = ContinuedTrainer(model, own, texts)
        with self.training(encoder, own):
            done = trainer.train(resume_from_checkpoint=last_whole_checkpoint(own.output_dir))
        if is_main_process():
            save_encoder(encoder, folder / "model")
        trainer.accelerator.wait_for_everyone()
        if is_main_process():
            discard(Path(str(own.output_dir)))
        return {
            "objective": objective,
            "n_rows": len(source),
            "n_texts": len(texts),
            "n_source_known": n_known,
            "steps": trainer.state.global_step,
            "loss": done.training_loss,
            "learning_rate": own.learning_rate,
            "lora": encoder.adapted,
            "mlm_head": encoder.head is not None,
            "processes": own.world_size,
            "seed": own.seed,
            "seconds": done.metrics.get("train_runtime"),
            "history": list(trainer.state.log_history),
        }


def objective_of(encoder: TrainableEncoder, config: Any) -> str:
    """Which objective trains a model: ``contrastive`` or ``mlm``."""
    if config.cda_objective != "auto":
        return str(config.cda_objective)
    return "contrastive" if encoder.head is None else "mlm"


def source_texts(rows: Dataset, variants: Variants, seed: int) -> tuple[list[str], int]:
    """The text that each row came with; where that is not known, the version of a group that is drawn by the seed.

    Args:
        rows: may have the column :data:`SOURCE`.
        variants: of the rows.
        seed: of the draw.

    Returns:
        A text per row of ``variants``, and of how many it is known.
    """
    names, random = list(variants.groups), np.random.default_rng(seed)
    drawn = [names[number] for number in random.integers(len(names), size=len(variants.neutral))]
    column = rows[SOURCE][:] if SOURCE in rows.column_names else None
    known = variants.keep(column) or [None] * len(drawn)
    texts = [text or variants.groups[name][row] for row, (text, name) in enumerate(zip(known, drawn, strict=True))]
    return texts, sum(bool(text) for text in known)


def to_train_on(texts: list[list[str]], variants: Variants, source: list[str]) -> Dataset:
    """All texts, each with the number of its row; rows that have a version or their source in common share it."""
    versions = [[*row, text] for *row, text in zip(*variants.groups.values(), source, strict=True)]
    numbers = number_rows(versions)
    pairs = [(text, number) for row, number in zip(texts, numbers, strict=True) for text in row]
    return Dataset.from_dict({TEXT: [text for text, _ in pairs], ROW: [number for _, number in pairs]})


def _settle(own: Any, n_texts: int) -> None:
    """Settings of a training to the last step; an error where they make no step."""
    own.eval_strategy, own.load_best_model_at_end, own.remove_unused_columns = IntervalStrategy.NO, False, False
    own.eval_on_start = False
    if own.cda_learning_rate is not None:
        own.learning_rate = own.cda_learning_rate
    batch = own.train_batch_size * own.world_size
    batches = n_texts // batch if own.dataloader_drop_last else math.ceil(n_texts / batch)
    if batches == 0:
        raise ValueError(
            f"{n_texts} texts do not fill one batch of {batch} ({own.world_size} process(es)), and incomplete batches "
            "are dropped. Lower per_device_train_batch_size or give more rows."
        )
    if own.save_strategy == SaveStrategy.BEST:
        own.save_strategy = SaveStrategy.STEPS
    if getattr(own, "derive_eval_steps", False):
        steps = math.ceil(math.ceil(batches / own.gradient_accumulation_steps) * own.num_train_epochs)
        own.save_steps = max(1, min(500, (own.max_steps if own.max_steps > 0 else steps) // 5))
