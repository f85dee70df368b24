"""The loss of ADEPT against its equations written out with plain loops."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_fairness.losses import adept_loss, squared_distances


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def by_hand(words, prototypes, states, original, is_token, rho, weight):
    """Both parts, term by term."""
    shares = []
    for prototype in prototypes:
        near = [math.exp(-((word - prototype) ** 2).sum() / (2 * rho**2)) for word in words]
        shares.append([value / sum(near) for value in near])
    bias = 0.0
    for one, other in combinations(shares, 2):
        for p, q in zip(one, other, strict=True):
            m = (p + q) / 2
            bias += 0.5 * p * math.log(p / m) + 0.5 * q * math.log(q / m)
    rep = 0.0
    for sentence in range(len(states)):
        tokens = [t for t in range(states.shape[1]) if is_token[sentence, t]]
        for t in tokens:
            for layer in range(states.shape[2]):
                p, q = (np.exp(each[sentence, t, layer]) for each in (states, original))
                p, q = p / p.sum(), q / q.sum()
                terms = [a * math.log(a / b) for a, b in zip(p, q, strict=True)]
                rep += sum(terms) / states.shape[2] / len(tokens) / len(states)
    return bias, weight * rep


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.floats(0.5, 5), st.floats(0, 3))
def test_parts_are_those_of_the_equations(seed, n_groups, rho, weight):
    words, prototypes = draw(seed, 5, 2, 3), draw(seed + 1, n_groups, 2, 3)
    states, original = draw(seed + 2, 2, 3, 2, 4), draw(seed + 3, 2, 3, 2, 4)
    is_token = np.array([[True, True, False], [True, True, True]])
    expected = by_hand(words, prototypes, states, original, is_token, rho, weight)
    distances = squared_distances(torch.from_numpy(words), torch.from_numpy(prototypes))
    for i, j in ((0, 1), (4, 0)):
        assert distances[i, j].item() == pytest.approx(((words[i] - prototypes[j]) ** 2).sum())
    parts = adept_loss(
        distances,
        torch.from_numpy(states),
        torch.from_numpy(original),
        rho=rho,
        is_token=torch.from_numpy(is_token),
        representation_weight=weight,
    )
    assert list(parts) == ["bias", "rep"]
    assert [part.item() for part in parts.values()] == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_gradient_reaches_words_and_states_and_nothing_else():
    shapes = [(4, 1, 3), (2, 1, 3), (2, 2, 2, 3), (2, 2, 2, 3)]
    words, prototypes, states, original = (
        torch.from_numpy(draw(i, *shape)).requires_grad_() for i, shape in enumerate(shapes)
    )

    def total(given):
        parts = adept_loss(squared_distances(given, prototypes), states, original, rho=1.5)
        return parts["bias"] + parts["rep"]

    total(words).backward()
    assert prototypes.grad is None
    assert original.grad is None
    assert states.grad.abs().min() > 0
    step = torch.zeros_like(words)
    step[2, 0, 1] = 1e-5
    with torch.no_grad():
        slope = (total(words + step) - total(words - step)) / 2e-5
    assert words.grad[2, 0, 1].item() == pytest.approx(slope.item(), rel=1e-6)


def test_it_is_0_where_groups_see_words_alike_and_ln_2_where_they_share_none():
    states = torch.zeros(1, 1, 1, 2)
    alike = torch.tensor([[1.0, 5.0], [2.0, 6.0], [4.0, 8.0]])  # one more for each word: the same shares
    assert adept_loss(alike, states, states, rho=1.0)["bias"].item() == pytest.approx(0, abs=1e-7)
    apart = torch.tensor([[0.0, 1e6], [1e6, 0.0]])
    assert adept_loss(apart, states, states, rho=1.0)["bias"].item() == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"distances": torch.ones(1, 2)}, "two or more of each"),
        ({"distances": torch.ones(3, 1)}, "two or more of each"),
        ({"original": torch.ones(1, 2, 2, 4)}, "original"),
        ({"rho": 0.0}, "rho is 0.0"),
        ({"representation_weight": -0.1}, "representation_weight is -0.1"),
    ],
)
def test_what_does_not_belong_together_is_refused(change, message):
    states = torch.ones(1, 2, 2, 3)
    given = {"distances": torch.ones(3, 2), "states": states, "original": states, "rho": 1.0}
    with pytest.raises(ValueError, match=message):
        adept_loss(**{**given, **change})
    with pytest.raises(ValueError, match="prototypes"):
        squared_distances(torch.ones(3, 1, 2), torch.ones(2, 1, 4))
