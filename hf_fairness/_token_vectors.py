"""Below the sentence: the tokens of a text, with their vectors in context and their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hf_fairness._encoder_adapters import (
    BaseEncoder,
    SentenceTransformerEncoder,
    TransformersEncoder,
    Vectors,
    check_texts,
)

#: Modules of a SentenceTransformer that leave a sentence vector in the space of its token vectors.
_HARMLESS = frozenset({"Dropout", "Normalize"})


class Tokens(NamedTuple):
    """The tokens of one text as an encoder saw them, special ones included.

    Attributes:
        vectors: hidden states, float32 (tokens, dim).
        spans: first character and the one after the last of each token; equal for special tokens.
    """

    vectors: Vectors
    spans: list[tuple[int, int]]


def token_encoder(encoder: BaseEncoder) -> TransformersEncoder:
    """The encoder as a transformers model with pooling, whose hidden states can be looked at.

    Args:
        encoder: what ``as_encoder`` returned.

    Returns:
        An encoder that gives the same sentence vectors.

    Raises:
        ValueError: an encoder without tokens (word vectors, a function), or one that changes the vectors after
            the pooling (a Dense module, a prompt), so that token and sentence vectors do not compare.
    """
    if isinstance(encoder, TransformersEncoder):
        found = encoder
    elif isinstance(encoder, SentenceTransformerEncoder):
        found = _open_up(encoder)
    else:
        raise ValueError(f"{encoder.name} has no token vectors: a SentenceTransformer or a transformers model has.")
    if not getattr(found.tokenizer, "is_fast", False):
        raise ValueError(
            f"{encoder.name}: the tokenizer ({type(found.tokenizer).__name__}) does not say which characters a token "
            "stands for. Load the fast one, for example AutoTokenizer.from_pretrained(...)."
        )
    return found


def _open_up(encoder: SentenceTransformerEncoder) -> TransformersEncoder:
    model = encoder.model
    kinds = [type(module).__name__ for module in model]
    prompt = (model.prompts or {}).get(model.default_prompt_name) if model.default_prompt_name else None
    if kinds[:2] != ["Transformer", "Pooling"] or not _HARMLESS.issuperset(kinds[2:]) or prompt:
        why = f"puts {prompt!r} before every text" if prompt else f"is made of {', '.join(kinds)}"
        raise ValueError(
            f"{encoder.name} {why}: its token vectors and its sentence vectors do not compare. A Transformer with "
            "Pooling (and Normalize) is needed; for other models take hf_fairness.encoders.input_embeddings(model)."
        )
    pooling = model[1].pooling_mode
    if pooling not in ("mean", "cls", "max"):
        raise ValueError(f"{encoder.name} pools by {pooling!r}; mean, cls and max are known here.")
    return TransformersEncoder(
        model.transformers_model,
        model.tokenizer,
        batch_size=encoder.batch_size,
        device=encoder.device,
        pooling=pooling,
        normalize=encoder.normalize or "Normalize" in kinds,
        max_length=encoder.max_length or model.max_seq_length,
        show_progress=encoder.show_progress,
    )


def iter_tokens(encoder: TransformersEncoder, texts: Sequence[str]) -> Iterator[tuple[int, Tokens]]:
    """Token vectors of texts, one text at a time, in the order that is fastest to compute.

    Args:
        encoder: from ``token_encoder``.
        texts: at least one string.

    Yields:
        Place of the text in ``texts``, and its tokens. Every text comes once; a batch is held in memory.
    """
    for places, hidden, mask, spans in encoder.hidden_batches(check_texts(texts), offsets=True):
        arrays, lengths = hidden.cpu().numpy(), mask.sum(dim=1).tolist()
        for row, place in enumerate(places):
            yield place, Tokens(arrays[row, : lengths[row]], spans[row])
