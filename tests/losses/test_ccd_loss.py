"""The CCD loss against numbers worked out by hand, its gradients, and the kernel's width."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hf_fairness import FairnessWarning
from hf_fairness.losses import CCDLoss, ccd_loss, embedding_distance, gaussian_kernel, kernel_width
from hf_fairness.losses.columns import embed_columns

ZERO = torch.zeros(1, 2)


def at(*distances: float) -> list[torch.Tensor]:
    """One group per distance, each one text that far from the origin."""
    return [torch.tensor([[distance, 0.0]]) for distance in distances]


def test_two_groups_count_each_ordered_pair():
    parts = ccd_loss(at(1, 2), ZERO, ZERO, rho=1.0)
    assert parts["bias"].item() == pytest.approx(2 * (math.exp(-0.5) - math.exp(-2)))
    assert parts["rep"].item() == 0


def test_three_groups_sum_all_six_ordered_pairs():
    a, b, c = (math.exp(-(d**2) / 8) for d in (1, 2, 3))
    parts = ccd_loss(at(1, 2, 3), ZERO, ZERO, rho=2.0)
    assert parts["bias"].item() == pytest.approx(2 * ((a - b) + (a - c) + (b - c)), rel=1e-5)


def test_rep_is_a_distance_and_not_its_square():
    neutral = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    parts = ccd_loss([neutral, neutral], neutral, torch.zeros(2, 2), rho=1.0, beta=2.0)
    assert parts["rep"].item() == pytest.approx(2.0 * (5 + 0) / 2)


def test_bias_weight_scales_the_bias_part_only():
    whole = ccd_loss(at(1, 2), ZERO, ZERO + 1, rho=1.0)
    none = ccd_loss(at(1, 2), ZERO, ZERO + 1, rho=1.0, bias_weight=0.0)
    assert whole["bias"] > 0
    assert none["bias"] == 0
    assert none["rep"] == whole["rep"]


def test_both_parts_are_means_over_the_batch():
    groups = [torch.tensor([[1.0], [1.0]]), torch.tensor([[2.0], [1.0]])]
    neutral = torch.zeros(2, 1)
    both = ccd_loss(groups, neutral, neutral + 1, rho=1.0)
    first = ccd_loss([g[:1] for g in groups], neutral[:1], neutral[:1] + 1, rho=1.0)
    assert both["bias"].item() == pytest.approx(first["bias"].item() / 2)
    assert both["rep"].item() == pytest.approx(1)


def test_gradients_are_finite_and_zero_at_the_start():
    neutral = torch.zeros(4, 3, requires_grad=True)
    group = torch.zeros(4, 3, requires_grad=True)
    parts = ccd_loss([group, group * 1], neutral, neutral.detach().clone(), rho=0.5)
    (parts["bias"] + parts["rep"]).backward()
    assert torch.equal(neutral.grad, torch.zeros(4, 3))
    assert torch.equal(group.grad, torch.zeros(4, 3))


def test_rounding_noise_gets_no_gradient_but_a_real_step_gets_a_unit_one():
    reference = torch.nn.functional.normalize(torch.ones(2, 8), dim=1)
    moved = reference.clone()
    moved[0, 0] += 3e-7  # what another padding does to an embedding
    moved[1, 0] += 1e-3
    moved.requires_grad_()
    embedding_distance(moved, reference).sum().backward()
    assert moved.grad[0].norm() == 0
    assert moved.grad[1].norm().item() == pytest.approx(1)


def test_gradient_closes_the_gap():
    torch.manual_seed(0)
    neutral = torch.randn(8, 5)
    near, far = (neutral + scale * torch.randn(8, 5) for scale in (0.3, 1.0))
    far.requires_grad_()
    start = ccd_loss([near, far], neutral, neutral, rho=1.0)["bias"]
    start.backward()
    assert far.grad.norm() > 1e-3
    after = ccd_loss([near, far.detach() - 0.1 * far.grad], neutral, neutral, rho=1.0)["bias"]
    assert after < start


@settings(max_examples=50)
@given(hnp.arrays("float64", (3, 4, 2), elements=st.floats(-3, 3)), st.permutations(range(4)))
def test_loss_is_never_negative_and_ignores_order(values, order):
    groups, neutral = [torch.from_numpy(v) for v in values[:2]], torch.from_numpy(values[2])
    reference = neutral + 0.5
    one = ccd_loss(groups, neutral, reference, rho=0.7)
    other = ccd_loss([groups[1][order], groups[0][order]], neutral[order], reference[order], rho=0.7)
    for part in ("bias", "rep"):
        assert one[part] >= 0
        assert one[part].item() == pytest.approx(other[part].item(), abs=1e-12)


@settings(max_examples=30)
@given(st.floats(0.1, 10), st.integers(0, 100))
def test_mean_width_makes_the_bias_part_free_of_scale(scale, seed):
    generator = torch.Generator().manual_seed(seed)
    groups = [torch.randn(6, 3, generator=generator, dtype=torch.float64) for _ in range(2)]
    neutral = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    losses = []
    for factor in (1.0, scale):
        distances = torch.stack([(g - neutral).norm(dim=1) * factor for g in groups])
        rho = kernel_width(distances, "mean").rho
        parts = ccd_loss([g * factor for g in groups], neutral * factor, None, rho=rho, beta=0)
        losses.append(parts["bias"].item())
    assert losses[0] == pytest.approx(losses[1], abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": at(1)}, "at least 2"),
        ({"groups": [torch.zeros(1, 2), torch.zeros(2, 2)]}, r"group 1 is \(2, 2\)"),
        ({"reference": torch.zeros(1, 3)}, "reference is"),
        ({"reference": None}, "beta > 0 needs `reference`"),
        ({"rho": 0.0}, "rho is 0.0"),
        ({"rho": math.nan}, "rho is nan"),
        ({"beta": -1.0}, "beta is -1.0"),
        ({"bias_weight": -1.0}, "bias_weight is -1.0"),
    ],
)
def test_errors_say_what_is_wrong(arguments, message):
    arguments = {"groups": at(1, 2), "neutral": ZERO, "reference": ZERO, "rho": 1.0, **arguments}
    with pytest.raises(ValueError, match=message):
        ccd_loss(arguments.pop("groups"), arguments.pop("neutral"), arguments.pop("reference"), **arguments)


def test_kernel_width_modes():
    distances = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert kernel_width(distances).rho == pytest.approx(2.5)
    assert kernel_width(distances, "variance").rho == pytest.approx(5 / 3)
    found = kernel_width(distances, 2.0)
    assert (found.rho, found.mode, found.n) == (2.0, "number", 4)


def test_kernel_width_warns_with_shares_when_the_kernel_underflows():
    torch.manual_seed(0)
    distances = 0.49 + 0.17 * torch.randn(2, 500)  # unit vectors: variance .03
    with pytest.warns(FairnessWarning, match=r"9\d\.\d% of the kernel values are under 1e-06") as caught:
        found = kernel_width(distances.abs(), "variance")
    assert found.share_low > 0.9
    assert "rho='mean'" in str(caught[0].message)


def test_kernel_width_warns_when_the_kernel_sees_no_distance():
    with pytest.warns(FairnessWarning, match=r"100.0% over 0.99"):
        assert kernel_width(torch.tensor([0.1, 0.2]), 100.0).share_high == 1


@pytest.mark.parametrize(
    ("distances", "rho", "message"),
    [
        (torch.zeros(4), "mean", "nothing to mitigate"),
        (torch.ones(4), "variance", "nothing to mitigate"),
        (torch.ones(4), "median", "'median', expected one of mean, variance"),
        (torch.tensor([1.0, math.nan]), "mean", "1 of them not finite"),
        (torch.ones(1), "mean", "Got 1 distances"),
        (torch.ones(4), -1.0, "rho is -1.0"),
    ],
)
def test_kernel_width_errors(distances, rho, message):
    with pytest.raises(ValueError, match=message):
        kernel_width(distances, rho)


def test_kernel_is_one_at_zero():
    assert gaussian_kernel(torch.zeros(3), 0.1).tolist() == [1, 1, 1]


class BagOfTokens(torch.nn.Module):
    """Mean of token vectors: a small encoder that reads the mask."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(50, 6)
        self.widths: list[int] = []

    def forward(self, features):
        self.widths.append(features["input_ids"].shape[1])
        mask = features["attention_mask"].unsqueeze(-1).float()
        return {"sentence_embedding": (self.table(features["input_ids"]) * mask).sum(1) / mask.sum(1)}


def column(lengths, seed):
    generator = torch.Generator().manual_seed(seed)
    width = max(lengths)
    ids = torch.randint(1, 50, (len(lengths), width), generator=generator)
    mask = (torch.arange(width) < torch.tensor(lengths)[:, None]).long()
    return {"input_ids": ids * mask, "attention_mask": mask, "modality": "text"}


def test_sorting_by_length_changes_the_work_and_not_the_result():
    columns = [column([3, 9, 1, 4], 0), column([3, 10, 1, 4], 1), column([2, 9, 1, 3], 2)]
    model = BagOfTokens()
    plain = embed_columns(model, columns, sort_by_length=False)
    separate, model.widths = model.widths, []
    pooled = embed_columns(model, columns)
    for one, other in zip(plain, pooled, strict=True):
        assert torch.allclose(one, other, atol=1e-6)
    assert separate == [9, 10, 9]
    assert model.widths == [2, 4, 10]  # as many forwards, less padding


@pytest.mark.parametrize(
    "spoil",
    [
        lambda c: {**c, "prompt_length": torch.tensor([2])},
        lambda c: {**c, "modality": object()},
        lambda c: {**c, "attention_mask": c["attention_mask"].flip(1), "input_ids": c["input_ids"].flip(1)},
    ],
    ids=["odd tensor", "metadata that differs", "left padding"],
)
def test_columns_that_cannot_be_pooled_are_embedded_one_by_one(spoil):
    columns = [spoil(column([3, 5], seed)) for seed in range(3)]
    model = BagOfTokens()
    embed_columns(model, columns)
    assert model.widths == [5, 5, 5]


def test_loss_module_names_parts_and_reaches_the_weights():
    columns = [column([3, 5], seed) for seed in range(3)]
    model = BagOfTokens()
    reference = embed_columns(model, columns)[2].detach() + 0.1
    loss = CCDLoss(model, rho=1.0, beta=0.5)
    parts = loss(columns, reference)
    assert set(parts) == {"loss_bias", "loss_rep"}
    assert parts["loss_rep"].item() == pytest.approx(0.5 * 0.1 * math.sqrt(6), rel=1e-5)
    sum(parts.values()).backward()
    assert model.table.weight.grad.norm() > 1e-4
    assert loss.get_config_dict() == {"rho": 1.0, "beta": 0.5, "bias_weight": 1.0}
    assert "2024" in loss.citation


def test_loss_module_says_how_to_get_references():
    columns = [column([3, 5], seed) for seed in range(3)]
    loss = CCDLoss(BagOfTokens(), rho=1.0)
    with pytest.raises(ValueError, match=r"no label column.*add_reference_embeddings"):
        loss(columns)
    with pytest.raises(ValueError, match=r"labels of shape \(2,\)"):
        loss(columns, torch.zeros(2))
    with pytest.raises(ValueError, match="at least three"):
        loss(columns[:2], torch.zeros(2, 6))
    assert CCDLoss(BagOfTokens(), rho=1.0, beta=0.0)(columns)["loss_rep"] == 0
    with pytest.raises(ValueError, match="takes rho as a number"):
        CCDLoss(BagOfTokens(), rho="mean")


def test_targets_move_the_optimum_to_another_gap():
    neutral = torch.zeros(2, 1)
    near, far = (math.exp(-d * d / 2) for d in (1.0, 2.0))
    groups = [torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [2.0]])]
    own = torch.tensor([[near, far], [far, far]])
    assert ccd_loss(groups, neutral, neutral, rho=1.0, targets=own)["bias"].item() == pytest.approx(0, abs=1e-6)
    shifted = ccd_loss(groups, neutral, neutral, rho=1.0, targets=own + 0.3)["bias"].item()
    assert shifted == pytest.approx(0, abs=1e-6)  # only differences between groups count
    swapped = ccd_loss(groups, neutral, neutral, rho=1.0, targets=own.flip(0))["bias"].item()
    assert swapped == pytest.approx(2 * (near - far), rel=1e-5)  # both texts are off by one gap
    with pytest.raises(ValueError, match=r"expected \(2, 2\)"):
        ccd_loss(groups, neutral, neutral, rho=1.0, targets=own[:, :1])
