"""ADEPT-F: neutral words lie from one group's prototype as from another's (Yang et al. 2023), by full fine-tuning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import torch
from torch import Tensor

from hf_fairness.attributes import Attribute
from hf_fairness.losses.adept import adept_loss, squared_distances
from hf_fairness.trainers.baselines.hidden_states import (
    LAYERS,
    Batch,
    HiddenStateMethod,
    HiddenStateTrainer,
    Sentences,
    group_states,
)
from hf_fairness.trainers.baselines.words import iter_word_states, read_words
from hf_fairness.trainers.training.encoder import EncoderConfig, TrainableEncoder


@dataclass
class ADEPTSettings:
    """What ADEPT-F is told beside what every training is."""

    RANGES: ClassVar = {"adept_weight": (0.0, 1e6), "adept_learning_rate": (0.0, 1.0)}

    adept_layers: str = field(
        default="all",
        metadata={
            "help": "ADEPT: hidden states to compare: first (what the embeddings give), last, all (its script's)."
        },
    )
    adept_targets: str | None = field(
        default=None,
        metadata={
            "help": "ADEPT: file of neutral words, one a line. Default: occupations and the words of SEAT's tests 6 to "
            "8; where fewer than ten texts hold one, all tokens."
        },
    )
    adept_rho: str = field(
        default="spread",
        metadata={
            "help": "ADEPT: width of the kernel: a number (its script: 15, for bert-large), or 'spread': the one at "
            "which the exponents have the standard deviation 1 over the training set's neutral words."
        },
    )
    adept_weight: float = field(
        default=7 / 3, metadata={"help": "ADEPT: weight of staying the same (its script: 7/3)."}
    )
    adept_learning_rate: float | None = field(
        default=None, metadata={"help": "ADEPT: learning rate; default: that of all methods."}
    )


class ADEPTF(HiddenStateMethod):
    r"""Fine-tuning of all weights so that the neighbours of each group's prototype are the same neutral words.

    The prototype of a group is the mean state of all its words in the training rows' versions of the group, computed
    once with the original model. In each step the shares are over the neutral words of the batch, of all processes
    together; micro-batches that are accumulated have each its own. The loss is that of
    :func:`hf_fairness.losses.adept.adept_loss`.

    - *Words.* As for DPCE: pieces are averaged, words that are cut off are not taken, capitals do not matter, and the
      words of this package include those of SEAT's tests 6 to 8, as the authors' list does.
    - *Layers* are the hidden states of the transformer inside the encoder, all in one distance, before any pooling.
      No head is needed, and one that is there is kept.
    - *Width.* The 15 of its released script is for states of bert-large. Where states are shorter it makes all words
      equally near; ``spread`` depends on the states. A batch of one neutral word has no other to compare, and gives 0.
    - *Differences from the released code.* It computes prototypes anew at the start of each epoch with the model as it
      is then, takes only groups' words that have counterparts and 30 sentences each (here each row has a version for
      every group, whatever the number), trains with dropout (here: ``keep_dropout``) and takes ten epochs (here: as
      set). What it takes for a divergence of hidden states is none; see the loss.

    Source: Yang et al. 2023, *ADEPT: A DEbiasing PrompT Framework*; as a rival of CCD: Deng et al. 2024, section 4.
    """

    name = "adept"
    control = "continued"
    prefix = "adept"
    title = "ADEPT-F (Yang et al. 2023)"
    about = "trained to have neutral words as near to the prototype of one group as of another (ADEPT-F)"
    options = (*(each.name for each in fields(ADEPTSettings)), "keep_dropout")

    def check(self, encoder: TrainableEncoder, config: EncoderConfig, attribute: Attribute) -> None:
        """See the parent.

        Raises:
            ValueError: a model, setting or file that cannot be used.
        """
        weight = config.adept_weight
        if not math.isfinite(weight) or weight < 0:
            raise ValueError(f"adept_weight is {weight!r}, expected a finite number, 0 or more.")
        _rho(config.adept_rho)
        super().check(encoder, config, attribute)

    def words(self, config: Any, attribute: Attribute) -> Sequence[str] | None:
        """See the parent."""
        return read_words(config.adept_targets, attribute, "adept_targets")

    def loss(
        self, model: Any, tokenizer: Any, rows: Sentences, config: Any
    ) -> tuple[Callable[[Batch, HiddenStateTrainer], dict[str, Tensor]], dict[str, Any]]:
        """See the parent."""
        layers, size = LAYERS[config.adept_layers], config.per_device_eval_batch_size
        groups = group_states(model, tokenizer, rows, size)
        weighed = [[means[word] * (counts[word] / counts.total()) for word in means] for means, counts in groups]
        prototypes = torch.stack([torch.stack(each).sum(0) for each in weighed])[:, layers]
        rho = _rho(config.adept_rho)
        if rho is None:
            batches = iter_word_states(model, tokenizer, rows.neutral, batch_size=size)
            apart = torch.cat([squared_distances(states[:, layers], prototypes) for _, states in batches])
            rho = math.sqrt((apart - apart.mean(0)).double().pow(2).mean().sqrt().item() / 2)
            if not rho:
                raise ValueError(
                    "All neutral words are equally far from the prototypes: give other words, or adept_rho."
                )

        def parts(batch: Batch, trainer: HiddenStateTrainer) -> dict[str, Tensor]:
            mine = squared_distances(batch.words[batch.is_word], prototypes)
            distances = trainer.of_all_processes(mine)
            if len(distances) == 1:
                distances = distances.repeat(2, 1)  # no other word to compare: each group has the same share
            made = adept_loss(
                distances,
                batch.states,
                batch.original,
                rho=rho,
                is_token=batch.is_token,
                representation_weight=config.adept_weight,
            )
            return {**made, "bias": trainer.spread(made["bias"])}

        return parts, {"rho": rho}


def _rho(given: str | float) -> float | None:
    """The width as a number; None where it is to be found from the data."""
    if given == "spread":
        return None
    try:
        width = float(given)
    except ValueError:
        width = math.nan
    if not 0 < width < math.inf:
        raise ValueError(f"adept_rho is {given!r}, expected 'spread' or a number above 0.")
    return width
