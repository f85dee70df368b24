"""Example reweighting: rows that a bias model gets right count less.

Source: Clark, Yatskar and Zettlemoyer 2019, *Don't Take the Easy Way Out*; Karimi Mahabadi, Belinkov and Henderson
2020, *End-to-End Bias Mitigation by Modelling Biases in Corpora* (debiased focal loss).
"""

from __future__ import annotations

import torch
from torch import Tensor

from hf_fairness.losses.bias_inputs import check_inputs, check_not_negative, gold, precision, reduced, safe_log_probs


def example_weights(bias_log_probs: Tensor, labels: Tensor, *, gamma: float = 1.0) -> Tensor:
    """Weights (1 − p_bias(label)) ** gamma, shape (batch,), in [0, 1].

    Args:
        bias_log_probs: shape (batch, n_classes), normalised.
        labels: class of each row, shape (batch,).
        gamma: exponent, at least 0; 0 makes all weights 1.
    """
    check_not_negative("gamma", gamma)
    sure = gold(safe_log_probs(bias_log_probs, bias_log_probs), labels)
    # 1 - exp(x) without cancellation; rounding may leave log-probabilities a little above 0.
    return torch.expm1(sure).neg().clamp(0.0, 1.0).pow(gamma)


def reweighted_cross_entropy(
    logits: Tensor,
    labels: Tensor,
    bias_log_probs: Tensor,
    *,
    gamma: float = 1.0,
    normalized: bool = True,
    reduction: str = "mean",
    check_values: bool = True,
) -> Tensor:
    """Cross entropy with the weight (1 − p_bias(label)) ** gamma for each row.

    With ``gamma=1`` and ``normalized=True`` this is the reweighting of Clark et al.: the weighted mean, divided by the
    sum of the weights. With ``gamma=2`` and ``normalized=False`` it is the debiased focal loss of Karimi Mahabadi et
    al., divided by the number of rows: a batch that the bias model solves then counts less as a whole.

    Args:
        logits: of the main model, shape (batch, n_classes).
        labels: class of each row, shape (batch,), whole numbers.
        bias_log_probs: log-probabilities of the bias model, shape (batch, n_classes), normalised.
        gamma: exponent of the weight, at least 0; 0 is plain cross entropy.
        normalized: whether ``"mean"`` divides by the sum of the weights or by the number of rows. A batch whose weights
            are all 0 has the loss 0.
        reduction: ``"mean"``, ``"sum"`` of the weighted losses, or ``"none"`` for the weighted loss of each row.
        check_values: False skips the checks of values (not of shapes), which make an accelerator wait.

    Returns:
        Scalar, or shape (batch,); at least 0.

    Raises:
        ValueError: shapes that differ, labels out of range, NaN, rows that are not normalised, a negative ``gamma``.

    Source:
        Clark et al. 2019 (reweight), whose code divides by the sum of the weights; Karimi Mahabadi et al. 2020
        (debiased focal loss, gamma = 2).

    Example:
        >>> import torch
        >>> logits, labels = torch.tensor([[2.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 0])
        >>> sure = torch.tensor([[1.0, 0.0], [0.5, 0.5]]).log()  # the first row is the bias model's
        >>> round(reweighted_cross_entropy(logits, labels, sure).item(), 4)
        0.6931
    """
    check_inputs(logits, labels, check_values, bias_log_probs=bias_log_probs)
    weights = example_weights(safe_log_probs(bias_log_probs, logits), labels, gamma=gamma)
    rows = -weights * gold(logits.to(precision(logits)).log_softmax(-1), labels)
    if reduction == "mean" and normalized:
        return rows.sum() / weights.sum().clamp(min=torch.finfo(weights.dtype).tiny)
    return reduced(rows, reduction)
