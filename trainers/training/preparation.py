"""How a model is prepared for training: in float32, whatever precision it was saved in, and without dropout."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from hf_fairness.utils import in_mode

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

logger = logging.getLogger(__name__)

HALF = (torch.float16, torch.bfloat16)


def full_precision(model: Any) -> Any:
    """Bring the weights of a model that is to be trained to float32, in place.

    transformers opens a checkpoint in the precision that it was saved in. In half precision an update that is small
    beside its weight is rounded away: at a learning rate of 1e-6 97 % of the weights of a bfloat16 classifier never
    move. Mixed precision is for the flags of the Trainer (``bf16``, ``fp16``): these compute in half precision and
    keep the weights in float32. What is trained is saved in float32 too, as a Trainer with these flags saves it; for a
    smaller file, open it with ``dtype=torch.bfloat16`` and save it again.

    Frozen weights below adapters are brought to float32 as well: without ``bf16`` or ``fp16`` layers of two
    precisions do not compute together. A quantized model stays as it is: of such, adapters are trained.

    Args:
        model: a live torch module, or None.

    Returns:
        The same model.
    """
    if model is None or getattr(model, "is_quantized", False) or getattr(model, "hf_quantizer", None) is not None:
        return model
    found = {weight.dtype for weight in model.parameters()} & set(HALF)
    if found:
        logger.info(
            "%s: weights come in %s; they are trained, and saved, in float32. bf16=True or fp16=True computes in mixed "
            "precision.",
            type(model).__name__,
            ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in found)),
        )
        model.float()
    return model


@contextmanager
def dropout_off(model: nn.Module) -> Iterator[None]:
    """Within the block no dropout is drawn, though the model is in training mode. LoRA's own dropout stays.

    Switching to eval mode would do it too, but it also switches off gradient checkpointing. Configs, and so
    what is saved, are not touched.
    """
    changed = [(module, name, rate) for _, module, name, rate in dropout_rates(model) if rate > 0]
    try:
        for module, name, _ in changed:
            setattr(module, name, 0.0)
        yield
    finally:
        for module, name, rate in changed:
            setattr(module, name, rate)


def dropout_rates(model: nn.Module) -> Iterator[tuple[str, nn.Module, str, float]]:
    """Where a model keeps the rates of its dropout: path of the module, the module, the attribute and the rate.

    LoRA's own are left out.
    """
    for path, module in model.named_modules():
        if "lora_" in path:
            continue
        for name, value in list(vars(module).items()):
            # nn.Dropout calls it p; attention layers keep a number such as `attention_dropout`.
            is_rate = name == "p" and isinstance(module, nn.modules.dropout._DropoutNd)
            if (is_rate or "drop" in name) and isinstance(value, float):
                yield path, module, name, value


@torch.no_grad()
def is_deterministic(model: SentenceTransformer, texts: list[str]) -> bool:
    """Whether the model in training mode gives the same embeddings twice."""
    features = {
        key: value.to(model.device) if isinstance(value, torch.Tensor) else value
        for key, value in model.preprocess(texts).items()
    }
    with in_mode(model, training=True), torch.random.fork_rng():
        first, second = (model(dict(features))["sentence_embedding"] for _ in range(2))
    return bool(torch.allclose(first, second, atol=1e-5))
