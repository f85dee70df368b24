"""Losses against a known bias: values worked out by hand, gradients of direct formulas, and limits."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from hf_fairness.losses import (
    confidence_regularization,
    example_weights,
    product_of_experts,
    reweighted_cross_entropy,
    scaled_teacher,
)

LABELS = torch.tensor([0, 2, 1, 1])


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rows(seed=0, classes=3):
    """Logits with gradient, labels, and log-probabilities of two other models."""
    logits = draw(seed, 4, classes).requires_grad_()
    labels = LABELS % classes
    return logits, labels, draw(seed + 100, 4, classes).log_softmax(-1), draw(seed + 200, 4, classes).log_softmax(-1)


def direct_poe(logits, labels, bias, alpha):
    product = logits.softmax(-1) * bias.exp() ** alpha
    return -(product / product.sum(-1, keepdim=True))[torch.arange(4), labels].log()


def direct_reweight(logits, labels, bias, gamma):
    places = torch.arange(4)
    return -((1 - bias.exp()[places, labels]) ** gamma) * logits.softmax(-1)[places, labels].log()


def direct_conf_reg(logits, labels, bias, teacher):
    beta = bias.exp()[torch.arange(4), labels][:, None]
    scaled = teacher.exp() ** (1 - beta)
    return -(scaled / scaled.sum(-1, keepdim=True) * logits.softmax(-1).log()).sum(-1)


def grad(loss, logits):
    return torch.autograd.grad(loss, logits, retain_graph=True)[0]


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 5), st.floats(0, 3), st.floats(0, 3))
def test_values_and_gradients_are_those_of_the_formulas(seed, classes, alpha, gamma):
    logits, labels, bias, teacher = rows(seed, classes)
    weights = (1 - bias.exp()[torch.arange(4), labels]) ** gamma
    cases = [
        (product_of_experts(logits, labels, bias, alpha=alpha), direct_poe(logits, labels, bias, alpha).mean()),
        (
            reweighted_cross_entropy(logits, labels, bias, gamma=gamma),
            direct_reweight(logits, labels, bias, gamma).sum() / weights.sum(),
        ),
        (
            reweighted_cross_entropy(logits, labels, bias, gamma=gamma, normalized=False),
            direct_reweight(logits, labels, bias, gamma).mean(),
        ),
        (
            confidence_regularization(logits, labels, bias, teacher),
            direct_conf_reg(logits, labels, bias, teacher).mean(),
        ),
    ]
    for ours, direct in cases:
        torch.testing.assert_close(ours, direct, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(grad(ours, logits), grad(direct, logits), rtol=1e-8, atol=1e-12)
        assert ours >= 0


def test_gradients_pass_gradcheck():
    logits, labels, bias, teacher = rows()
    for loss in (
        lambda x: product_of_experts(x, labels, bias, alpha=1.5),
        lambda x: reweighted_cross_entropy(x, labels, bias, gamma=2.0),
        lambda x: confidence_regularization(x, labels, bias, teacher),
    ):
        assert torch.autograd.gradcheck(loss, (logits,))


def test_numbers_on_paper():
    logits, labels = torch.zeros(2, 2), torch.tensor([0, 1])
    bias = torch.tensor([[0.8, 0.2], [0.8, 0.2]]).log()
    assert product_of_experts(logits, labels, bias).item() == pytest.approx(-(math.log(0.8) + math.log(0.2)) / 2)
    assert example_weights(bias, labels).tolist() == pytest.approx([0.2, 0.8])
    assert reweighted_cross_entropy(logits, labels, bias, reduction="none").tolist() == pytest.approx(
        [0.2 * math.log(2), 0.8 * math.log(2)]
    )
    assert reweighted_cross_entropy(logits, labels, bias).item() == pytest.approx(math.log(2))
    assert reweighted_cross_entropy(logits, labels, bias, normalized=False).item() == pytest.approx(math.log(2) / 2)
    assert reweighted_cross_entropy(logits, labels, bias, gamma=2.0, reduction="sum").item() == pytest.approx(
        (0.04 + 0.64) * math.log(2)
    )
    teacher = torch.tensor([[0.9, 0.1]]).log()
    flat = scaled_teacher(teacher, torch.tensor([0.5])).exp()
    assert flat[0, 0].item() == pytest.approx(0.75)  # sqrt(.9) / (sqrt(.9) + sqrt(.1))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 4), st.floats(0, 5))
def test_a_uniform_bias_model_leaves_plain_cross_entropy(seed, classes, alpha):
    logits, labels, *_ = rows(seed, classes)
    uniform = torch.full((4, classes), -math.log(classes), dtype=torch.float64)
    plain = cross_entropy(logits, labels)
    for loss in (
        product_of_experts(logits, labels, uniform, alpha=alpha),
        reweighted_cross_entropy(logits, labels, uniform, gamma=alpha),
        reweighted_cross_entropy(logits, labels, uniform, normalized=False) / (1 - 1 / classes),
    ):
        torch.testing.assert_close(loss, plain)
        torch.testing.assert_close(grad(loss, logits), grad(plain, logits))


def certain(labels, classes=3):
    """Log-probabilities that are sure of the labels: 0 and minus infinity."""
    return torch.full((4, classes), -math.inf, dtype=torch.float64).scatter(1, labels[:, None], 0.0)


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_a_bias_model_sure_of_the_label_leaves_no_gradient(alpha):
    logits, labels, _, teacher = rows()
    sure = certain(labels)
    for loss in (
        product_of_experts(logits, labels, sure, alpha=alpha),
        reweighted_cross_entropy(logits, labels, sure, gamma=alpha),
        reweighted_cross_entropy(logits, labels, sure, gamma=alpha, normalized=False),
    ):
        assert loss.item() == pytest.approx(0, abs=1e-12)
        assert grad(loss, logits).abs().max() < 1e-12
    assert grad(cross_entropy(logits, labels), logits).abs().max() > 0.01  # there is something to lose
    # Confidence regularisation asks for the uniform distribution instead.
    loss = confidence_regularization(logits, labels, sure, teacher)
    torch.testing.assert_close(loss, -logits.log_softmax(-1).mean())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_bias_model_sure_of_a_wrong_label_is_finite(dtype):
    logits, labels, *_ = rows()
    logits = logits.detach().to(dtype).requires_grad_()
    wrong = certain((labels + 1) % 3)
    losses = [
        product_of_experts(logits, labels, wrong, alpha=0.0),
        product_of_experts(logits, labels, wrong),
        reweighted_cross_entropy(logits, labels, wrong),
        confidence_regularization(logits, labels, wrong, certain(labels)),
    ]
    for loss in losses:
        assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert torch.isfinite(loss)
        assert torch.isfinite(grad(loss, logits)).all()
    plain = cross_entropy(logits.to(losses[0].dtype), labels)
    for loss in (losses[0], losses[2], losses[3]):  # weight 1, and a teacher that is sure: plain cross entropy
        torch.testing.assert_close(loss, plain)
    assert losses[1] > plain + 50


def test_extreme_logits_give_no_nan():
    logits = torch.tensor([[1e4, -1e4], [-1e4, 1e4]], requires_grad=True)
    labels, bias = torch.tensor([1, 1]), torch.tensor([[0.3, 0.7], [0.3, 0.7]]).log()
    for loss in (
        product_of_experts(logits, labels, bias),
        reweighted_cross_entropy(logits, labels, bias),
        confidence_regularization(logits, labels, bias, bias),
    ):
        assert torch.isfinite(loss)
        assert torch.isfinite(grad(loss, logits)).all()


def test_confidence_regularization_is_least_where_the_model_agrees():
    logits, labels, bias, teacher = rows()
    beta = bias.exp()[torch.arange(4), labels]
    target = scaled_teacher(teacher, beta)
    best = confidence_regularization(target.requires_grad_(), labels, bias, teacher)
    entropy = -(target.exp() * target).sum(-1).mean()
    torch.testing.assert_close(best, entropy)
    assert grad(best, target).abs().max() < 1e-12
    assert confidence_regularization(logits, labels, bias, teacher) > best


def test_the_other_models_get_no_gradient():
    logits, labels, bias, teacher = rows()
    bias, teacher = bias.requires_grad_(), teacher.requires_grad_()
    total = product_of_experts(logits, labels, bias) + reweighted_cross_entropy(logits, labels, bias)
    (total + confidence_regularization(logits, labels, bias, teacher)).backward()
    assert bias.grad is None
    assert teacher.grad is None
    assert logits.grad.abs().max() > 0


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.permutations(range(4)))
def test_order_of_rows_does_not_matter_and_reductions_agree(seed, order):
    logits, labels, bias, teacher = rows(seed)
    for loss in (
        lambda x, y, b, t, r: product_of_experts(x, y, b, reduction=r),
        lambda x, y, b, t, r: reweighted_cross_entropy(x, y, b, normalized=False, reduction=r),
        lambda x, y, b, t, r: confidence_regularization(x, y, b, t, reduction=r),
    ):
        each = loss(logits, labels, bias, teacher, "none")
        assert each.shape == (4,)
        torch.testing.assert_close(loss(logits, labels, bias, teacher, "sum"), each.sum())
        torch.testing.assert_close(loss(logits, labels, bias, teacher, "mean"), each.mean())
        mixed = loss(logits[order], labels[order], bias[order], teacher[order], "none")
        torch.testing.assert_close(mixed, each[list(order)])


ONE = torch.zeros(1, 3)
SURE = torch.tensor([[0.5, 0.25, 0.25]]).log()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"logits": torch.zeros(1, 1)}, "two classes or more: a head for regression"),
        ({"logits": torch.zeros(3)}, r"logits have shape \(3,\)"),
        ({"logits": torch.full((1, 3), math.nan)}, "logits hold NaN"),
        ({"labels": torch.tensor([0, 1])}, r"labels have shape \(2,\)"),
        ({"labels": torch.tensor([0.0])}, "whole numbers"),
        ({"labels": torch.tensor([3])}, "from 3 to 3, expected 0 to 2"),
        ({"labels": torch.tensor([-100])}, "from -100"),
        ({"bias": torch.zeros(1, 2)}, r"bias_log_probs has shape \(1, 2\), expected that of the logits, \(1, 3\)"),
        ({"bias": torch.zeros(1, 3)}, "sum to 3, expected 1"),
        ({"bias": SURE.exp()}, "these look like probabilities: take their logarithm"),
        ({"bias": torch.full((1, 3), math.nan)}, "row 0 holds NaN"),
        ({"bias": torch.full((1, 3), -math.inf)}, "sum to 0"),
        ({"teacher": torch.zeros(1, 3)}, "teacher_log_probs: row 0"),
    ],
)
def test_errors_say_what_is_wrong(changed, message):
    given = {"logits": ONE, "labels": torch.tensor([0]), "bias": SURE, "teacher": SURE, **changed}
    with pytest.raises(ValueError, match=message):
        confidence_regularization(given["logits"], given["labels"], given["bias"], given["teacher"])
    if "teacher" not in changed:
        for loss in (product_of_experts, reweighted_cross_entropy):
            with pytest.raises(ValueError, match=message):
                loss(given["logits"], given["labels"], given["bias"])


def test_settings_out_of_range():
    labels = torch.tensor([0])
    for value in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="alpha is"):
            product_of_experts(ONE, labels, SURE, alpha=value)
        with pytest.raises(ValueError, match="gamma is"):
            reweighted_cross_entropy(ONE, labels, SURE, gamma=value)
    with pytest.raises(ValueError, match="'median', expected one of mean, sum, none"):
        product_of_experts(ONE, labels, SURE, reduction="median")


def test_checks_of_values_can_be_left_out_and_those_of_shapes_cannot():
    labels = torch.tensor([0])
    assert torch.isfinite(product_of_experts(ONE, labels, torch.zeros(1, 3), check_values=False))
    with pytest.raises(ValueError, match="expected that of the logits"):
        product_of_experts(ONE, labels, torch.zeros(1, 2), check_values=False)
