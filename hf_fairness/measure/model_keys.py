"""Names of models and tokenizers by what they hold, for caches of what they computed."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from hf_fairness.runs import content_key

if TYPE_CHECKING:
    from torch import nn


def weights_key(model: nn.Module) -> str:
    """Content key of the weights and buffers of a model."""
    import torch

    digest = hashlib.blake2b(digest_size=16)
    for name, value in sorted(model.state_dict().items()):
        if isinstance(value, torch.Tensor):
            digest.update(f"{name}|{value.dtype}|{tuple(value.shape)}|".encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def tokenizer_key(tokenizer: Any) -> str:
    """Content key of a tokenizer: its whole state where it can tell, else its class and vocabulary."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        state = json.loads(backend.to_str())
        return content_key({key: value for key, value in state.items() if key not in ("padding", "truncation")})
    return content_key(type(tokenizer).__qualname__, getattr(tokenizer, "get_vocab", dict)())
