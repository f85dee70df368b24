"""Confidence regularisation: a model learns to be less sure where the bias alone gives the label.

Source: Utama, Moosavi and Gurevych 2020, *Mind the Trade-off: Debiasing NLU Models without Degrading the
In-distribution Performance*.
"""

from __future__ import annotations

from torch import Tensor

from hf_fairness.losses.bias_inputs import check_inputs, gold, precision, reduced, safe_log_probs


def scaled_teacher(teacher_log_probs: Tensor, bias_degree: Tensor) -> Tensor:
    """Log-probabilities of the teacher, flattened where the bias degree is high.

    S_j = p_j^(1 − β) / Σ_k p_k^(1 − β): the teacher itself at β = 0, the uniform distribution at β = 1.

    Args:
        teacher_log_probs: shape (batch, n_classes).
        bias_degree: β of each row, shape (batch,), in [0, 1].

    Returns:
        Shape (batch, n_classes), normalised.
    """
    return ((1.0 - bias_degree)[:, None] * teacher_log_probs).log_softmax(-1)


def confidence_regularization(
    logits: Tensor,
    labels: Tensor,
    bias_log_probs: Tensor,
    teacher_log_probs: Tensor,
    *,
    reduction: str = "mean",
    check_values: bool = True,
) -> Tensor:
    """Cross entropy to a teacher's distribution, flattened by the bias degree of each row.

    The bias degree is p_bias(label). The teacher is a model trained on the same rows with plain cross entropy. Rows
    keep their full weight, so accuracy on texts like those of training suffers less than under reweighting.

    Args:
        logits: of the main model, shape (batch, n_classes).
        labels: class of each row, shape (batch,), whole numbers; they choose the bias degree only.
        bias_log_probs: log-probabilities of the bias model, shape (batch, n_classes), normalised.
        teacher_log_probs: log-probabilities of the teacher, same shape, normalised.
        reduction: ``"mean"`` over rows, ``"sum"``, or ``"none"`` for one loss per row.
        check_values: False skips the checks of values (not of shapes), which make an accelerator wait.

    Returns:
        Scalar, or shape (batch,); at least the entropy of the flattened teacher, which it reaches when the main model
        agrees with it. Teacher and bias model get no gradient.

    Raises:
        ValueError: shapes that differ, labels out of range, NaN, rows that are not normalised.

    Source:
        Utama et al. 2020; there the teacher is the same network, trained before on the same rows.

    Example:
        >>> import torch
        >>> logits, labels = torch.tensor([[4.0, 0.0]]), torch.tensor([0])
        >>> bias, teacher = torch.tensor([[1.0, 0.0]]).log(), torch.tensor([[0.9, 0.1]]).log()
        >>> round(confidence_regularization(logits, labels, bias, teacher).item(), 4)  # as if the target were (.5, .5)
        2.0181
    """
    check_inputs(logits, labels, check_values, bias_log_probs=bias_log_probs, teacher_log_probs=teacher_log_probs)
    bias_degree = gold(safe_log_probs(bias_log_probs, logits), labels).exp().clamp(0.0, 1.0)
    target = scaled_teacher(safe_log_probs(teacher_log_probs, logits), bias_degree).exp()
    return reduced(-(target * logits.to(precision(logits)).log_softmax(-1)).sum(-1), reduction)
