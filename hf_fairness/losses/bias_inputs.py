"""What the losses against a known bias share: checks of their inputs, log-probabilities made safe, reductions."""

from __future__ import annotations

import torch
from torch import Tensor

#: Log-probabilities below are set to it, as ``torch.nn.BCELoss`` does: so no loss is infinite and no product is NaN.
FLOOR = -100.0
#: How far the probabilities of a row may be from a sum of 1: half precision and rounded files stay within.
TOLERANCE = 1e-3
REDUCTIONS = ("mean", "sum", "none")


def check_inputs(logits: Tensor, labels: Tensor, check_values: bool = True, **log_probs: Tensor) -> None:
    """Raise unless logits, labels and log-probabilities belong together.

    Args:
        logits: shape (batch, n_classes), two classes or more.
        labels: class numbers, shape (batch,).
        check_values: whether to look at values too, which makes an accelerator wait.
        **log_probs: shape (batch, n_classes) each; by the name that messages call them.

    Raises:
        ValueError: another shape, labels that are no class numbers, NaN, or rows that are not normalised.
    """
    if logits.ndim != 2 or logits.shape[1] < 2 or not logits.is_floating_point():
        raise ValueError(
            f"logits have shape {tuple(logits.shape)} and dtype {logits.dtype}, expected (batch, n_classes) of floats "
            "with two classes or more: a head for regression has no classes."
        )
    if labels.shape != logits.shape[:1] or labels.is_floating_point():
        raise ValueError(
            f"labels have shape {tuple(labels.shape)} and dtype {labels.dtype}, expected whole numbers of shape "
            f"({len(logits)},): the class of each row."
        )
    for name, values in log_probs.items():
        if values.shape != logits.shape:
            raise ValueError(
                f"{name} has shape {tuple(values.shape)}, expected that of the logits, {tuple(logits.shape)}: "
                "one log-probability per row and class, classes in the order of the labels."
            )
    if not check_values:
        return
    if not bool(torch.isfinite(logits).all()):
        raise ValueError("logits hold NaN or infinite values. Check the model's weights, dtype and learning rate.")
    if bool(((labels < 0) | (labels >= logits.shape[1])).any()):
        raise ValueError(f"labels reach from {labels.min()} to {labels.max()}, expected 0 to {logits.shape[1] - 1}.")
    for name, values in log_probs.items():
        check_log_probs(values, name)


def check_log_probs(values: Tensor, name: str) -> None:
    """Raise unless every row holds the logarithms of probabilities that sum to 1.

    Args:
        values: shape (rows, n_classes); negative infinity is a probability of 0.
        name: how messages call them.

    Raises:
        ValueError: NaN, positive infinity, or a sum that is not 1; the message names the first such row.
    """
    total = values.detach().double().exp().sum(-1)
    bad = ~((total - 1).abs() <= TOLERANCE)  # NaN compares as False, so it is bad too
    if not bool(bad.any()):
        return
    row = int(bad.nonzero()[0])
    found = values[row].tolist()
    if any(value != value for value in found):
        problem = "holds NaN"
    else:
        problem = f"has probabilities that sum to {total[row].item():.4g}, expected 1"
        if min(found) >= 0 and abs(sum(found) - 1) <= TOLERANCE:
            problem += " (these look like probabilities: take their logarithm)"
    raise ValueError(
        f"{name}: row {row} {problem}: {found}; {int(bad.sum())} of {len(total)} rows are so. "
        "Logits become log-probabilities by torch.log_softmax(logits, -1)."
    )


def safe_log_probs(values: Tensor, logits: Tensor) -> Tensor:
    """Log-probabilities without gradient, at least ``FLOOR``, where and in what precision the loss is computed."""
    return values.detach().to(device=logits.device, dtype=precision(logits)).clamp(min=FLOOR)


def precision(logits: Tensor) -> torch.dtype:
    """float32, or float64 for logits of that kind: half precision is too coarse for log-probabilities."""
    return torch.promote_types(logits.dtype, torch.float32)


def gold(values: Tensor, labels: Tensor) -> Tensor:
    """The entry of each row's own label, shape (batch,)."""
    return values.gather(-1, labels[:, None].long())[:, 0]


def reduced(rows: Tensor, reduction: str) -> Tensor:
    """Losses of the rows as they are, their sum or their mean.

    Raises:
        ValueError: another word.
    """
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction is {reduction!r}, expected one of {', '.join(REDUCTIONS)}.")
    return rows if reduction == "none" else rows.sum() if reduction == "sum" else rows.mean()


def check_not_negative(name: str, value: float) -> None:
    """Raise unless it is a finite number, 0 or more."""
    if not 0 <= value < float("inf"):
        raise ValueError(f"{name} is {value!r}, expected a finite number, 0 or more.")
