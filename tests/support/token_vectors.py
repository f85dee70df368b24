"""Token vectors of texts, one text at a time: what tests hold the scores of words against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hf_fairness.encoders import TransformersEncoder, Vectors


class Tokens(NamedTuple):
    """The tokens of one text as an encoder saw them, special ones included.

    Attributes:
        vectors: hidden states, float32 (tokens, dim).
        spans: first character and the one after the last of each token; equal for special tokens.
    """

    vectors: Vectors
    spans: list[tuple[int, int]]


def iter_tokens(encoder: TransformersEncoder, texts: Sequence[str]) -> Iterator[tuple[int, Tokens]]:
    """Place and tokens of each text, in the order of the batches of an encoder that ``token_encoder`` opened."""
    for places, hidden, mask, spans in encoder.hidden_batches(list(texts), offsets=True):
        arrays, lengths = hidden.cpu().numpy(), mask.sum(dim=1).tolist()
        for row, place in enumerate(places):
            yield place, Tokens(arrays[row, : lengths[row]], spans[row])
