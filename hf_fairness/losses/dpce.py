"""The loss of DPCE: words at right angles to what stands for the groups, in sentences that otherwise stay as they were.

Source: Kaneko and Bollegala 2021, *Debiasing Pre-trained Contextualised Embeddings* (DPCE).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def dpce_loss(
    words: Tensor,
    attributes: Tensor,
    states: Tensor,
    original: Tensor,
    *,
    is_word: Tensor | None = None,
    is_token: Tensor | None = None,
    alpha: float = 0.2,
    beta: float = 0.8,
) -> dict[str, Tensor]:
    """The two parts of the loss; their sum is what to minimise.

    bias = alpha · mean over w, a of Σ_i (v_i(a)ᵀ E_i(w))², with the layers i, the words w of a sentence and the vectors
    v_i(a) of attribute words.
    rep = beta · mean over w of Σ_i ‖E_i(w) − E_i(w; original)‖², with the tokens w of a sentence with attribute words.

    The paper adds up sentences, words and attribute words. Here each is a mean (over the words of a sentence first),
    so that the weights mean the same whatever their numbers are; layers are added up as in the paper.

    Args:
        words: states of the words to debias in the layers to debias, shape (batch, words, layers, dim).
        attributes: v_i(a) in these layers, shape (attribute words, layers, dim); no gradient reaches them.
        states: states of all tokens in all layers, of sentences that are to stay, shape (batch, tokens, layers, dim).
        original: the same under the original model.
        is_word: which of ``words`` are some, shape (batch, words); None means all. A sentence needs at least one.
        is_token: which of ``states`` are tokens and no padding, shape (batch, tokens); None means all.
        alpha: weight of the first part, at least 0.
        beta: weight of the second part, at least 0.

    Returns:
        bias: scalar, at least 0, weight included; 0 where every word is at right angles to every attribute vector.
        rep: scalar, at least 0, weight included; 0 where no token has moved.

    Raises:
        ValueError: shapes that do not belong together, a sentence without words, or a weight out of range.

    Source:
        Kaneko and Bollegala 2021; weights of their released script. Their code squares the mean product of a
        batch where the paper means squares; this is the paper's. Their code and this keep all tokens of a sentence with
        attribute words in place, special tokens too.

    Example:
        >>> import torch
        >>> word, she = torch.tensor([[[[3.0, 4.0]]]]), torch.tensor([[[1.0, 0.5]]])
        >>> parts = dpce_loss(word, she, word, word - 1)
        >>> [round(part.item(), 4) for part in parts.values()]  # .2 · (3 + 2)² and .8 · (1 + 1)
        [5.0, 1.6]
    """
    for name, weight in (("alpha", alpha), ("beta", beta)):
        if not math.isfinite(weight) or weight < 0:
            raise ValueError(f"{name} is {weight!r}, expected a finite number, 0 or more.")
    if words.ndim != 4 or attributes.ndim != 3 or not len(attributes) or words.shape[2:] != attributes.shape[1:]:
        raise ValueError(
            f"words have shape {tuple(words.shape)} and attributes {tuple(attributes.shape)}, expected (batch, words, "
            "layers, dim) and (attribute words, layers, dim) with the same layers and dim, and one attribute word or "
            "more."
        )
    products = torch.einsum("bwld,ald->bwla", words, attributes.detach())
    bias = masked_mean(products.pow(2).sum(2).mean(-1), is_word, "word")
    return {"bias": alpha * bias, "rep": beta * moved(states, original, is_token)}


def moved(states: Tensor, original: Tensor, is_token: Tensor | None = None) -> Tensor:
    """Mean over tokens, then over sentences, of the squared way that a token went, added up over layers; a scalar.

    Args:
        states: shape (batch, tokens, layers, dim).
        original: where they were, of the same shape.
        is_token: shape (batch, tokens); None means all.

    Raises:
        ValueError: other shapes, or a sentence without tokens.
    """
    check_states(states, original)
    return masked_mean((states - original.detach()).pow(2).sum((2, 3)), is_token, "token")


def check_states(states: Tensor, original: Tensor) -> None:
    """Raise unless states of tokens and those under the original model belong together."""
    if states.ndim != 4 or states.shape != original.shape:
        raise ValueError(
            f"states have shape {tuple(states.shape)} and original {tuple(original.shape)}, expected (batch, tokens, "
            "layers, dim) for both."
        )


def masked_mean(values: Tensor, mask: Tensor | None, what: str) -> Tensor:
    """Mean over the values of each row that the mask names, then over rows; a scalar.

    Args:
        values: shape (batch, n).
        mask: of that shape, true where there is a value; None means everywhere.
        what: word for the values in the error.

    Raises:
        ValueError: a mask of another shape, or a row without values.
    """
    if mask is None:
        mask = torch.ones_like(values, dtype=torch.bool)
    if mask.shape != values.shape:
        raise ValueError(f"The mask of {what}s has shape {tuple(mask.shape)}, expected {tuple(values.shape)}.")
    counts = mask.sum(1)
    if not values.numel() or not bool((counts > 0).all()):
        raise ValueError(f"A sentence of {tuple(values.shape)} has no {what}: leave such sentences out.")
    return (torch.where(mask, values, torch.zeros_like(values)).sum(1) / counts).mean()
