"""In which precision weights are trained: float32, whatever precision the checkpoint was saved in."""

from __future__ import annotations

import logging
from typing import Any

import torch

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
        names = ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in found))
        logger.info(
            "%s: weights come in %s; they are trained, and saved, in float32. bf16=True or fp16=True computes in mixed "
            "precision.",
            type(model).__name__,
            names,
        )
        model.float()
    return model
