"""DPCE: neutral words are turned to right angles with what stands for the groups (Kaneko and Bollegala 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import torch
from torch import Tensor

from hf_fairness.attributes import Attribute
from hf_fairness.losses.dpce import dpce_loss
from hf_fairness.trainers.baselines.hidden_states import (
    LAYERS,
    Batch,
    HiddenStateMethod,
    HiddenStateTrainer,
    Sentences,
    group_states,
)
from hf_fairness.trainers.baselines.words import read_words
from hf_fairness.trainers.training.encoder import EncoderConfig, TrainableEncoder

_LEVELS = ("token", "sentence")


@dataclass
class DPCESettings:
    """What DPCE is told beside what every training is."""

    RANGES: ClassVar = {"dpce_alpha": (0.0, 1e6), "dpce_beta": (0.0, 1e6), "dpce_learning_rate": (0.0, 1.0)}

    dpce_level: str = field(
        default="token",
        metadata={
            "help": "DPCE: debias neutral words (token; best in the paper) or all tokens of sentences (sentence)."
        },
    )
    dpce_layers: str = field(
        default="all",
        metadata={"help": "DPCE: hidden states to debias: first (what the embeddings give), last, all (paper's best)."},
    )
    dpce_targets: str | None = field(
        default=None,
        metadata={
            "help": "DPCE: file of neutral words to debias, one a line. Default: occupations and the words of SEAT's "
            "tests 6 to 8, and where fewer than ten texts hold one, or at the level of sentences, all tokens."
        },
    )
    dpce_alpha: float = field(default=0.2, metadata={"help": "DPCE: weight of the right angles (its script: .2)."})
    dpce_beta: float = field(default=0.8, metadata={"help": "DPCE: weight of staying in place (its script: .8)."})
    dpce_learning_rate: float | None = field(
        default=None, metadata={"help": "DPCE: learning rate (its script: 5e-5); default: that of all methods."}
    )


class DPCE(HiddenStateMethod):
    r"""Fine-tuning so that neutral words have no component along the mean states of the groups' words.

    The mean state v_i(a) of an attribute word a in layer i is computed once with the original model, over all training
    rows' versions of a's group that hold it. The loss, and what its terms are means of, is that of
    :func:`hf_fairness.losses.dpce.dpce_loss`.

    - *Words.* A word of several pieces is the mean of its pieces. A word that the length limit cuts off, in whole or in
      part, is not taken. Capitals do not matter.
    - *Neutral words* are found in the neutral versions. Those of this package include the words of SEAT's tests 6 to 8,
      as published lists do: of these tests a gain says less than of others.
    - *Sentence level.* All tokens but special ones are debiased, of neutral texts with one of the words of
      ``dpce_targets`` where it is given, else of all.
    - *Layers* are the hidden states of the transformer inside the encoder, before any pooling; the first are the output
      of the embeddings, as in the released code. All layers of sentences with attribute words are kept in place.
    - *Differences from the released code.* It computes v anew at the start of each epoch with the model as it is then,
      has one v per group, trains with dropout (here: ``keep_dropout``), and takes three epochs (here: as set).
    - Groups may be any number: they enter by their words alone.

    Source: Kaneko and Bollegala 2021, *Debiasing Pre-trained Contextualised Embeddings*; weights and learning rate are
    those of their released script.
    """

    name = "dpce"
    control = "continued"
    prefix = "dpce"
    title = "DPCE (Kaneko and Bollegala 2021)"
    about = "trained to have neutral words at right angles to the mean hidden states of the groups' words (DPCE)"
    options = (*(each.name for each in fields(DPCESettings)), "keep_dropout")

    def check(self, encoder: TrainableEncoder, config: EncoderConfig, attribute: Attribute) -> None:
        """See the parent.

        Raises:
            ValueError: a model, setting or file that cannot be used.
        """
        if config.dpce_level not in _LEVELS:
            raise ValueError(f"dpce_level is {config.dpce_level!r}, expected one of {', '.join(_LEVELS)}.")
        for name in ("dpce_alpha", "dpce_beta"):
            weight = getattr(config, name)
            if not math.isfinite(weight) or weight < 0:
                raise ValueError(f"{name} is {weight!r}, expected a finite number, 0 or more.")
        super().check(encoder, config, attribute)

    def words(self, config: Any, attribute: Attribute) -> Sequence[str] | None:
        """See the parent."""
        if config.dpce_level == "sentence" and config.dpce_targets is None:
            return None
        return read_words(config.dpce_targets, attribute, "dpce_targets")

    def more_words(self) -> str:
        """See the parent."""
        return f"{super().more_words()} Or debias all words of neutral texts with --dpce_level sentence."

    def loss(
        self, model: Any, tokenizer: Any, rows: Sentences, config: Any
    ) -> tuple[Callable[[Batch, HiddenStateTrainer], dict[str, Tensor]], dict[str, Any]]:
        """See the parent."""
        groups = group_states(model, tokenizer, rows, config.per_device_eval_batch_size)
        vectors = [vector for means, _ in groups for vector in means.values()]
        attributes = torch.stack(vectors)[:, LAYERS[config.dpce_layers]]

        def parts(batch: Batch, trainer: HiddenStateTrainer) -> dict[str, Tensor]:
            return dpce_loss(
                batch.words,
                attributes,
                batch.states,
                batch.original,
                is_word=batch.is_word,
                is_token=batch.is_token,
                alpha=config.dpce_alpha,
                beta=config.dpce_beta,
            )

        return parts, {"n_attribute_words": len(vectors)}
