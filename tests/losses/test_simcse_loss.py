"""The contrastive loss of two views, against numbers small enough for paper."""

from __future__ import annotations

import math

import pytest
import torch

from hf_fairness.losses import simcse_loss

#: Unit vectors at 0, 90 and 60 degrees: cosines 0, .5 and sqrt(3) / 2.
FIRST = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, math.sqrt(0.75)]])
SECOND = torch.tensor([[2.0, 0.0], [0.0, 3.0], [1.0, math.sqrt(3.0)]])  # the same directions: lengths do not count


def by_hand(rows: list[int], temperature: float) -> float:
    cosine = [[1.0, 0.0, 0.5], [0.0, 1.0, math.sqrt(0.75)], [0.5, math.sqrt(0.75), 1.0]]
    losses = []
    for i, row in enumerate(rows):
        kept = [j for j, other in enumerate(rows) if j == i or other != row]
        total = sum(math.exp(cosine[i][j] / temperature) for j in kept)
        losses.append(-math.log(math.exp(1.0 / temperature) / total))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("rows", [[0, 1, 2], [0, 0, 1], [4, 7, 4]])
@pytest.mark.parametrize("temperature", [0.05, 1.0])
def test_the_loss_is_that_of_the_equation(rows, temperature):
    numbers = torch.tensor(rows)
    found = simcse_loss(FIRST, SECOND, numbers, temperature=temperature)
    assert found.item() == pytest.approx(by_hand(rows, temperature), rel=1e-5)


def test_other_versions_of_a_row_are_no_negatives():
    """Texts 0 and 1 are of one row: neither has a part in the loss of the other, and text 2 has in both."""
    rows = torch.tensor([5, 5, 6])
    found = []
    for moved in range(3):
        second = SECOND.clone()
        second[moved] = second[moved] @ torch.tensor([[0.8, 0.6], [-0.6, 0.8]])
        losses = [by_row(FIRST, other, rows) for other in (SECOND, second)]
        found.append([bool(change) for change in (losses[0] - losses[1]).abs() > 1e-4])
    assert found == [[True, False, True], [False, True, True], [True, True, True]]


def by_row(first: torch.Tensor, second: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The part of each text in the loss, by its gradient: that of a text's own part alone reaches its first view."""
    parts = []
    for i in range(len(first)):
        view = first.clone().requires_grad_(True)
        simcse_loss(view, second, rows, temperature=0.5).backward()
        assert view.grad is not None
        parts.append(view.grad[i])
    return torch.stack(parts).norm(dim=1)


def test_without_negatives_nothing_pulls():
    rows, first = torch.tensor([3, 3]), torch.randn(2, 4, requires_grad=True)
    loss = simcse_loss(first, torch.randn(2, 4), rows)
    loss.backward()
    assert loss.item() == 0.0
    assert first.grad is not None
    assert not first.grad.any()


def test_half_precision_is_computed_in_full():
    rows = torch.arange(3)
    found = simcse_loss(FIRST.bfloat16(), SECOND.bfloat16(), rows)
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(by_hand([0, 1, 2], 0.05), abs=0.02)
