"""Raised dropout: training goes on with more of it, so that associations in the texts are learned less.

Source: Webster et al. 2020, *Measuring and Reducing Gendered Correlations in Pre-trained Models*. The paper itself
could not be read here, so no section is cited; the rates are those that its authors state with the checkpoints that
they published (github.com/google-research-datasets/Zari: hidden .20 and attention .15 for ``bert-dropout``, .05 and .05
for ``albert-dropout``). There training went on over Wikipedia; here it goes on over the given rows.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from hf_fairness.attributes import Attribute
from hf_fairness.trainers.baselines.continued import Continued
from hf_fairness.trainers.training.encoder import EncoderConfig, TrainableEncoder
from hf_fairness.trainers.training.preparation import dropout_rates

#: What configs of encoders call the rates.
HIDDEN = ("hidden_dropout_prob", "hidden_dropout", "dropout", "embedding_dropout", "mlp_dropout")
ATTENTION = ("attention_probs_dropout_prob", "attention_dropout")


@dataclass
class DropoutSettings:
    """What `dropout` reads beside the settings of `continued`."""

    RANGES: ClassVar = {"dropout_hidden": (0.0, 0.99), "dropout_attention": (0.0, 0.99)}

    dropout_hidden: float = field(
        default=0.20,
        metadata={"help": "Hidden dropout while training (Webster et al. 2020: .20 for BERT, .05 for ALBERT)."},
    )
    dropout_attention: float = field(
        default=0.15,
        metadata={"help": "Attention dropout while training (Webster et al. 2020: .15 for BERT, .05 for ALBERT)."},
    )


class Dropout(Continued):
    """Raised dropout: as `continued`, its control, on the same texts, with the model's dropout raised meanwhile.

    What is saved has the rates of the original again.
    """

    name: ClassVar[str] = "dropout"
    control: ClassVar[str] = "continued"
    is_control: ClassVar[bool] = False
    title: ClassVar[str] = "raised dropout (Webster et al. 2020)"
    about: ClassVar[str] = "trained on with what makes encoders, on the texts as they are, with dropout raised"
    options: ClassVar[tuple[str, ...]] = (*Continued.options, "dropout_hidden", "dropout_attention")

    def check(self, encoder: TrainableEncoder, config: EncoderConfig, attribute: Attribute) -> None:
        """Also refuse rates that are none, or that raise nothing."""
        own: Any = config
        for name in ("dropout_hidden", "dropout_attention"):
            if not 0 <= getattr(own, name) < 1:
                raise ValueError(f"{name} is {getattr(own, name)!r}, expected a rate in [0, 1).")
        model: Any = getattr(encoder.model[0], "model", None)
        known = getattr(model, "config", None)
        if known is None or not all(any(hasattr(known, name) for name in names) for names in (HIDDEN, ATTENTION)):
            rates = sorted(name for name in (known.to_dict() if known is not None else ()) if "drop" in name)
            raise ValueError(
                f"dropout needs a model whose config names its hidden and attention dropout, as BERT's does; that of "
                f"{type(model or encoder.model[0]).__name__} names {', '.join(rates) or 'no dropout'}. "
                "Leave dropout out of the methods."
            )
        before = [rate for *_, rate in dropout_rates(model)]
        with raised_dropout(model, own.dropout_hidden, own.dropout_attention):
            after = [rate for *_, rate in dropout_rates(model)]
        if not any(one > other for one, other in zip(after, before, strict=True)):
            raise ValueError(
                f"dropout_hidden={own.dropout_hidden} and dropout_attention={own.dropout_attention} raise nothing: the "
                f"model's own rates are up to {max(before, default=0.0)}. Give higher ones."
            )
        super().check(encoder, config, attribute)

    def training(self, encoder: TrainableEncoder, config: Any) -> AbstractContextManager[Any]:
        """The model with raised dropout."""
        return raised_dropout(encoder.transformer.model, config.dropout_hidden, config.dropout_attention)


@contextmanager
def raised_dropout(model: Any, hidden: float, attention: float) -> Iterator[None]:
    """Within the block a transformers model has the dropout that its config would give it with other rates.

    Which module takes which rate is read from an empty model of the same class, made with these rates: so it is right
    for every architecture. LoRA's own dropout stays.

    Args:
        model: weights and mode stay as they are.
        hidden: rate of what :data:`HIDDEN` names.
        attention: rate of what :data:`ATTENTION` names.
    """
    config, rates = model.config, dict.fromkeys(HIDDEN, hidden) | dict.fromkeys(ATTENTION, attention)
    own = {name: getattr(config, name) for name in rates if hasattr(config, name)}
    other = copy.deepcopy(config)
    for name in own:
        setattr(other, name, rates[name])
    with torch.device("meta"):
        empty = type(model)(other)
    wanted = {(path, name): rate for path, _, name, rate in dropout_rates(empty)}
    before = [(module, name, rate) for path, module, name, rate in dropout_rates(model) if (path, name) in wanted]
    after = [wanted[path, name] for path, _, name, _ in dropout_rates(model) if (path, name) in wanted]
    try:
        for (module, name, _), rate in zip(before, after, strict=True):
            setattr(module, name, rate)
        for name in own:  # some attention layers ask the config
            setattr(config, name, rates[name])
        yield
    finally:
        for module, name, rate in before:
            setattr(module, name, rate)
        for name, rate in own.items():
            setattr(config, name, rate)
