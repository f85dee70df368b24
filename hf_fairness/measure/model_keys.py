"""Names of models and tokenizers by what they hold, for caches of what they computed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.encoders import BaseEncoder, SentenceTransformerEncoder, TransformersEncoder
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


def encoder_key(encoder: BaseEncoder, texts: Sequence[str]) -> str | None:
    """Content key of what an encoder makes of texts, without encoding more than four of them.

    Weights, tokenizer and lengths are named by their content; the vectors of a few texts, the longest among them,
    stand for everything else that decides a vector: pooling, prompts, an adapter that is switched off, a hook.

    Args:
        encoder: from ``as_encoder``.
        texts: at least one; they are no part of the key themselves.

    Returns:
        The key; None for an encoder without weights that can be read (a function).
    """
    if isinstance(encoder, SentenceTransformerEncoder):
        tokenizer, length = getattr(encoder.model, "tokenizer", None), encoder.model.max_seq_length
    elif isinstance(encoder, TransformersEncoder):
        tokenizer, length = encoder.tokenizer, None
    else:
        return None
    by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    probes = [texts[i] for i in dict.fromkeys([0, by_length[0], by_length[len(texts) // 2], by_length[-1]])]
    words = None if tokenizer is None else tokenizer_key(tokenizer)
    settings = [length, encoder.max_length, encoder.normalize, words]
    alone = [encoder.encode([text]) for text in probes]  # a batch of another size gives other last digits
    return content_key(weights_key(encoder.model), settings, alone)


def tokenizer_key(tokenizer: Any) -> str:
    """Content key of a tokenizer: its whole state where it can tell, else its class and vocabulary."""
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)  # of transformers, as word vectors of a model wrap it
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        state = json.loads(backend.to_str())
        return content_key({key: value for key, value in state.items() if key not in ("padding", "truncation")})
    return content_key(type(tokenizer).__qualname__, getattr(tokenizer, "get_vocab", dict)())


def source_key(value: Any, tokenizer: Any = None) -> str:
    """Content key of a model as it was given.

    Args:
        value: an id, which is its own key; a folder, by what it holds; a live model or a transformers config (random
            weights), with what decides how it computes.
        tokenizer: of a live model or config; None where it has none.
    """
    if isinstance(value, (str, Path)):
        return content_key(Path(value)) if Path(value).exists() else str(value)
    live = hasattr(value, "state_dict")
    settings = (value.config if live else value).to_dict()
    told = {name: str(item) for name, item in settings.items() if name not in ("_name_or_path", "transformers_version")}
    words, weights = "" if tokenizer is None else tokenizer_key(tokenizer), weights_key(value) if live else ""
    return content_key(type(value).__qualname__, words, told, weights)
