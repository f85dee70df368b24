"""The loss of debiasing contrastive learning against the formula written out, row by row and key by key."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy, normalize

from hf_fairness.losses import contrastive_rows, dct_loss


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def example(seed, n=6, n_keys=11, dim=4, classes=3):
    labels = torch.arange(n) % classes
    key_labels = torch.randint(classes, (n_keys,), generator=torch.Generator().manual_seed(seed))
    return (
        draw(seed, n, classes).requires_grad_(),
        labels,
        draw(seed + 1, n, dim),
        draw(seed + 2, n_keys, dim),
        key_labels,
    )


def direct(logits, labels, queries, keys, key_labels, weight, temperature, n_nearest, n_farthest):
    """Cross entropy and contrastive part of each row, by loops over lists of numbers."""
    plain, contrast = [], []
    for i, label in enumerate(labels.tolist()):
        similar = [(queries[i] * key).sum() / temperature for key in keys]
        mine = sorted(
            (s for s, other in zip(similar, key_labels.tolist(), strict=True) if other == label), reverse=True
        )
        others = [s for s, other in zip(similar, key_labels.tolist(), strict=True) if other != label]
        own = -logits[i].softmax(-1)[label].log()
        if not mine or not others:
            plain.append(own)
            contrast.append(own * 0)
            continue
        positives = [*mine[:n_nearest], *(mine[-n_farthest:] if n_farthest else [])]
        terms = [-(p.exp() / (p.exp() + sum(n.exp() for n in others))).log() for p in positives]
        plain.append((1 - weight) * own)
        contrast.append(weight * sum(terms) / len(terms))
    return torch.stack(plain), torch.stack(contrast)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10**6), st.floats(0, 1), st.floats(0.05, 2), st.integers(0, 3), st.integers(1, 5), st.integers(0, 12)
)
def test_parts_and_gradients_are_those_of_the_formula(seed, weight, temperature, n_nearest, n_farthest, n_keys):
    logits, labels, queries, keys, key_labels = example(seed, n_keys=max(n_keys, 1))
    how = {"weight": weight, "temperature": temperature, "n_nearest": n_nearest, "n_farthest": n_farthest}
    raw = queries.requires_grad_()
    arguments = (logits, labels, normalize(raw, dim=-1), normalize(keys, dim=-1), key_labels)
    ours = dct_loss(*arguments, **how, reduction="none")
    plain, contrast = direct(*arguments, **how)
    torch.testing.assert_close(ours["cross_entropy"], plain, rtol=1e-8, atol=1e-12)
    torch.testing.assert_close(ours["contrastive"], contrast, rtol=1e-8, atol=1e-12)
    total = sum(dct_loss(*arguments, **how).values())
    torch.testing.assert_close(total, (plain + contrast).mean(), rtol=1e-8, atol=1e-12)
    wanted = torch.autograd.grad((plain + contrast).mean(), [logits, raw], retain_graph=True, allow_unused=True)
    found = torch.autograd.grad(total, [logits, raw], allow_unused=True)
    for one, other, whole in zip(found, wanted, (logits, raw), strict=True):
        expected = torch.zeros_like(whole) if other is None else other
        torch.testing.assert_close(torch.zeros_like(whole) if one is None else one, expected, rtol=1e-7, atol=1e-11)


def test_numbers_on_paper():
    """One row, a key of its label at a right angle and one of another label upon it."""
    logits, labels = torch.zeros(1, 2), torch.tensor([0])
    keys, key_labels = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([0, 1])
    parts = dct_loss(logits, labels, torch.tensor([[1.0, 0.0]]), keys, key_labels, temperature=0.5)
    assert parts["cross_entropy"].item() == pytest.approx(0.9 * math.log(2))
    assert parts["contrastive"].item() == pytest.approx(0.1 * math.log(1 + math.exp(2)))


def test_the_least_similar_keys_of_the_label_are_drawn_nearer():
    """A step against the gradient turns the row towards the farthest key of its label, not towards the others."""
    query = normalize(torch.tensor([[1.0, 0.2, 0.0]]), dim=-1).requires_grad_()
    keys = normalize(torch.tensor([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), dim=-1)
    key_labels = torch.tensor([0, 0, 1])
    loss, _ = contrastive_rows(query, torch.tensor([0]), keys, key_labels, n_nearest=0, n_farthest=1, temperature=1.0)
    (gradient,) = torch.autograd.grad(loss.sum(), query)
    towards = -(gradient @ keys.T)[0]
    assert towards[1] > 0 > towards[2]
    assert towards[1] > towards[0]


def test_rows_without_a_partner_have_plain_cross_entropy():
    logits, labels, queries, keys, _ = example(3)
    for key_labels in (torch.zeros(11, dtype=torch.long), torch.full((11,), 7)):
        parts = dct_loss(logits, labels, queries, keys, key_labels, weight=0.5)
        assert parts["contrastive"] == 0
        torch.testing.assert_close(parts["cross_entropy"], cross_entropy(logits, labels))
    none = dct_loss(logits, labels, queries, keys[:0], torch.zeros(0, dtype=torch.long))
    torch.testing.assert_close(sum(none.values()), cross_entropy(logits, labels))


def test_keys_get_no_gradient_and_half_precision_is_computed_in_full():
    logits, labels, queries, keys, key_labels = (
        each.detach().to(torch.bfloat16) if each.is_floating_point() else each for each in example(1)
    )
    keys.requires_grad_()
    queries.requires_grad_()
    total = sum(dct_loss(logits, labels, queries, keys, key_labels).values())
    assert total.dtype == torch.float32
    assert torch.autograd.grad(total, [queries, keys], allow_unused=True)[1] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": 1.5}, "weight is 1.5, expected a number from 0 to 1"),
        ({"temperature": 0.0}, "temperature is 0.0, expected a number above 0"),
        ({"n_nearest": 0, "n_farthest": 0}, "one at least together"),
        ({"reduction": "max"}, "reduction is 'max'"),
    ],
)
def test_bad_numbers(change, message):
    with pytest.raises(ValueError, match=message):
        dct_loss(*example(0), **change)


def test_bad_shapes():
    logits, labels, queries, keys, key_labels = example(0)
    with pytest.raises(ValueError, match=r"queries have shape \(6, 4\) and keys \(11, 3\)"):
        dct_loss(logits, labels, queries, keys[:, :3], key_labels)
    with pytest.raises(ValueError, match=r"key_labels have shape \(10,\)"):
        dct_loss(logits, labels, queries, keys, key_labels[:-1])
