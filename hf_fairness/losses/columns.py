"""Embedding several text columns with as little padding as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


def embed_columns(model: nn.Module, columns: Sequence[dict[str, Any]], *, sort_by_length: bool = True) -> list[Tensor]:
    """Embed several tokenised columns of equal row count.

    Args:
        model: maps a feature dict to a dict with ``sentence_embedding``.
        columns: feature dicts as a data collator builds them, each with ``attention_mask`` (batch, length).
        sort_by_length: pool the rows of all columns, sort them by length and embed them in ``len(columns)``
            chunks. The number of forwards must not depend on the data: with several processes each makes
            the same number. Columns that cannot be pooled are embedded one by one.

    Returns:
        One tensor of shape (batch, dim) per column.
    """
    pooled = _pool_rows(columns) if sort_by_length else None
    if pooled is None:
        return [model(features)["sentence_embedding"] for features in columns]
    tensors, shared = pooled
    lengths, order = tensors["attention_mask"].sum(1).sort(stable=True)
    widths = lengths[len(order) // len(columns) - 1 :: len(order) // len(columns)].tolist()
    chunks = []
    for rows, width in zip(order.chunk(len(columns)), widths, strict=True):
        chunks.append(model({**shared, **{key: value[rows, :width] for key, value in tensors.items()}}))
    embedded = torch.cat([chunk["sentence_embedding"] for chunk in chunks])
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(len(order), device=order.device)
    return list(embedded[inverse].chunk(len(columns)))


def _pool_rows(columns: Sequence[dict[str, Any]]) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """All columns' token tensors padded to one width, and what else they share; None where that is unsafe.

    Safe means: every tensor is (batch, length) of integers or booleans, and padding stands on the right.
    """
    first = columns[0]
    mask = first.get("attention_mask")
    if mask is None or any(set(features) != set(first) for features in columns):
        return None
    shape = mask.shape
    tensors: dict[str, Tensor] = {}
    shared: dict[str, Any] = {}
    for key, value in first.items():
        values = [features[key] for features in columns]
        if not isinstance(value, Tensor):
            if any(other != value for other in values):
                return None
            shared[key] = value
            continue
        if any(
            other.ndim != 2 or other.is_floating_point() or other.shape != features["attention_mask"].shape
            for other, features in zip(values, columns, strict=True)
        ):
            return None
        width = max(other.shape[1] for other in values)
        # Zeros will do: the mask is 0 there too, so no model looks at the token.
        tensors[key] = torch.cat([nn.functional.pad(other, (0, width - other.shape[1])) for other in values])
    if len(tensors["attention_mask"]) != shape[0] * len(columns):
        return None
    mask = tensors["attention_mask"]
    if bool((mask[:, 1:] > mask[:, :-1]).any()):
        return None
    return tensors, shared
