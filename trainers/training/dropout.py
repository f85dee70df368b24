"""Training without dropout, whatever the config of the model says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from sentence_transformers import SentenceTransformer
from torch import nn


@contextmanager
def dropout_off(model: nn.Module) -> Iterator[None]:
    """Within the block no dropout is drawn, though the model is in training mode. LoRA's own dropout stays.

    Switching to eval mode would do it too, but it also switches off gradient checkpointing. Configs, and so
    what is saved, are not touched.
    """
    changed: list[tuple[nn.Module, str, float]] = []
    for path, module in model.named_modules():
        if "lora_" in path:
            continue
        for name, value in vars(module).items():
            # nn.Dropout calls it p; attention layers keep a number such as `attention_dropout`.
            is_rate = name == "p" and isinstance(module, nn.modules.dropout._DropoutNd)
            if (is_rate or "drop" in name) and isinstance(value, float) and value > 0:
                changed.append((module, name, value))
    try:
        for module, name, _ in changed:
            setattr(module, name, 0.0)
        yield
    finally:
        for module, name, value in changed:
            setattr(module, name, value)


@torch.no_grad()
def is_deterministic(model: SentenceTransformer, texts: list[str]) -> bool:
    """Whether the model in training mode gives the same embeddings twice."""
    features = {
        key: value.to(model.device) if isinstance(value, torch.Tensor) else value
        for key, value in model.preprocess(texts).items()
    }
    was_training = model.training
    model.train()
    with torch.random.fork_rng():
        first, second = (model(dict(features))["sentence_embedding"] for _ in range(2))
    model.train(was_training)
    return bool(torch.allclose(first, second, atol=1e-5))
