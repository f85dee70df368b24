"""The loss of DPCE against its equations written out with plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.losses import dpce_loss


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def by_hand(words, attributes, states, original, is_word, is_token, alpha, beta):
    """Both parts, term by term."""
    bias = rep = 0.0
    for sentence in range(len(words)):
        there = [w for w in range(words.shape[1]) if is_word[sentence, w]]
        for w in there:
            for vector in attributes:
                for layer in range(words.shape[2]):
                    product = sum(v * e for v, e in zip(vector[layer], words[sentence, w, layer], strict=True))
                    bias += product**2 / len(attributes) / len(there) / len(words)
        tokens = [t for t in range(states.shape[1]) if is_token[sentence, t]]
        for t in tokens:
            for layer in range(states.shape[2]):
                for now, before in zip(states[sentence, t, layer], original[sentence, t, layer], strict=True):
                    rep += (now - before) ** 2 / len(tokens) / len(states)
    return alpha * bias, beta * rep


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 2), st.floats(0, 2))
def test_parts_are_those_of_the_equations(seed, alpha, beta):
    words, attributes = draw(seed, 3, 2, 2, 4), draw(seed + 1, 5, 2, 4)
    states, original = draw(seed + 2, 3, 4, 3, 4), draw(seed + 3, 3, 4, 3, 4)
    is_word = np.array([[True, False], [True, True], [False, True]])
    is_token = np.array([[True, True, False, False], [True, True, True, True], [True, False, False, False]])
    expected = by_hand(words, attributes, states, original, is_word, is_token, alpha, beta)
    tensors = [torch.from_numpy(each) for each in (words, attributes, states, original)]
    masks = {"is_word": torch.from_numpy(is_word), "is_token": torch.from_numpy(is_token)}
    parts = dpce_loss(*tensors, **masks, alpha=alpha, beta=beta)
    assert list(parts) == ["bias", "rep"]
    assert [part.item() for part in parts.values()] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_gradient_reaches_words_and_states_and_nothing_else():
    words, attributes, states, original = (
        torch.from_numpy(draw(i, *shape)).requires_grad_()
        for i, shape in enumerate([(2, 1, 1, 3), (2, 1, 3), (2, 2, 2, 3), (2, 2, 2, 3)])
    )
    parts = dpce_loss(words, attributes, states, original)
    (parts["bias"] + parts["rep"]).backward()
    assert attributes.grad is None
    assert original.grad is None
    vectors = attributes.detach()[:, 0]
    expected = 0.2 / 2 * torch.stack([2 * (vectors @ word) @ vectors / 2 for word in words.detach()[:, 0, 0]])
    assert torch.allclose(words.grad[:, 0, 0], expected)
    assert torch.allclose(states.grad, 0.8 * 2 * (states - original).detach() / 4)


def test_it_is_0_at_right_angles_and_in_place():
    word, vector = torch.tensor([[[[0.0, 3.0]]]]), torch.tensor([[[2.0, 0.0]]])
    states = torch.ones(1, 2, 1, 2)
    assert [part.item() for part in dpce_loss(word, vector, states, states).values()] == [0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attributes": torch.ones(2, 2, 3)}, "attributes"),
        ({"attributes": torch.ones(0, 1, 3)}, "one attribute word or more"),
        ({"original": torch.ones(1, 2, 2, 4)}, "original"),
        ({"is_word": torch.tensor([[False, False]])}, "has no word"),
        ({"is_token": torch.tensor([[True]])}, "mask of tokens"),
        ({"alpha": -1.0}, "alpha is -1.0"),
        ({"beta": float("nan")}, "beta is nan"),
    ],
)
def test_what_does_not_belong_together_is_refused(change, message):
    given = {
        "words": torch.ones(1, 2, 1, 3),
        "attributes": torch.ones(2, 1, 3),
        "states": torch.ones(1, 2, 2, 3),
        "original": torch.ones(1, 2, 2, 3),
    }
    with pytest.raises(ValueError, match=message):
        dpce_loss(**{**given, **change})
