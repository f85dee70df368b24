"""Debiasing contrastive learning: rows of a label are drawn together where their biases differ most.

Source: Lyu et al. 2023, *Feature-Level Debiased Natural Language Understanding* (DCT), AAAI. Of the paper the abstract
and the introduction could be read here, and the code that its authors published (github.com/youganglyu/DCT,
``dct/wrapper_dct_mnli.py``); the numbers of its equations are therefore not quoted. What follows is what that code
computes; where this differs is said at :func:`dct_loss`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hf_fairness.losses.bias_inputs import check_inputs, gold, precision, reduced


def contrastive_rows(
    queries: Tensor,
    labels: Tensor,
    keys: Tensor,
    key_labels: Tensor,
    *,
    temperature: float = 0.04,
    n_nearest: int = 1,
    n_farthest: int = 150,
) -> tuple[Tensor, Tensor]:
    """The contrastive part of each row: positives are the most and, above all, the least similar keys of its label.

    With s = q · k / temperature, P the ``n_nearest`` most and the ``n_farthest`` least similar keys of the row's label
    (one that is both counts twice) and N all keys of other labels:

        loss = mean over p in P of −log(exp s_p / (exp s_p + Σ_{n in N} exp s_n)).

    Args:
        queries: representations of the rows, shape (batch, dim), of length 1.
        labels: class of each row, shape (batch,).
        keys: representations of other rows, shape (n, dim), of length 1; they get no gradient.
        key_labels: their classes, shape (n,).
        temperature: divides the similarities, above 0.
        n_nearest: most similar keys that are positives.
        n_farthest: least similar keys that are positives.

    Returns:
        Loss of each row, shape (batch,), at least 0; and whether it has one: with a positive and a negative among the
        keys. Else it is 0.

    Example:
        >>> import torch
        >>> keys, labels = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([0, 1])
        >>> loss, there = contrastive_rows(torch.tensor([[1.0, 0.0]]), labels[:1], keys, labels, temperature=1.0)
        >>> round(loss.item(), 4), there.item()  # −log(e^0 / (e^0 + e^1)), for the nearest and the farthest
        (1.3133, True)
    """
    similar = queries.to(precision(queries)) @ keys.detach().to(precision(queries)).T / temperature
    same = labels[:, None] == key_labels[None]
    there = same.any(1) & (~same).any(1)
    against = similar.masked_fill(same, -torch.inf)
    against = torch.where(there[:, None], against, torch.zeros_like(against)).logsumexp(1, keepdim=True)
    n = similar.shape[1]
    nearest = similar.masked_fill(~same, -torch.inf).topk(min(n_nearest, n), dim=1).indices
    farthest = similar.masked_fill(~same, torch.inf).topk(min(n_farthest, n), dim=1, largest=False).indices
    chosen = torch.cat([nearest, farthest], dim=1)
    counts = same.gather(1, chosen) & there[:, None]
    losses = torch.where(counts, torch.nn.functional.softplus(against - similar.gather(1, chosen)), 0.0)
    return losses.sum(1) / counts.sum(1).clamp(min=1), there


def dct_loss(
    logits: Tensor,
    labels: Tensor,
    queries: Tensor,
    keys: Tensor,
    key_labels: Tensor,
    *,
    weight: float = 0.1,
    temperature: float = 0.04,
    n_nearest: int = 1,
    n_farthest: int = 150,
    reduction: str = "mean",
    check_values: bool = True,
) -> dict[str, Tensor]:
    """The two parts of the loss of debiasing contrastive learning; their sum is what to minimise.

    (1 − weight) · cross entropy + weight · contrastive part, see :func:`contrastive_rows`. What makes it debias is
    which rows the keys are of, and `hf_fairness.trainers.DCTTrainer` sees to that: keys of a row's label come from rows
    that a bias-only model gets wrong, keys of others from rows whose biased features are most like those of the row.

    Args:
        logits: of the main model, shape (batch, n_classes).
        labels: class of each row, shape (batch,), whole numbers.
        queries: representations of the rows, shape (batch, dim), of length 1.
        keys: representations of other rows, shape (n, dim), of length 1.
        key_labels: their classes, shape (n,).
        weight: of the contrastive part, in [0, 1].
        temperature: of the similarities, above 0.
        n_nearest: positives that are most similar.
        n_farthest: positives that are least similar.
        reduction: ``"mean"`` over rows, ``"sum"``, or ``"none"`` for the parts of each row.
        check_values: False skips the checks of values (not of shapes), which make an accelerator wait.

    Returns:
        cross_entropy: weight included, at least 0; of a row that lacks a positive or a negative with the weight 1.
        contrastive: weight included, at least 0.

    Raises:
        ValueError: shapes that do not belong together, numbers out of range, labels out of range, NaN.

    Source:
        Lyu et al. 2023, as their code has it, with its weights and sizes. There a batch takes as many positives and
        negatives as the row of it that has fewest, and no contrastive part at all where a row has none; here each row
        has its own.
    """
    check_inputs(logits, labels, check_values)
    _check(queries, labels, keys, key_labels)
    check_settings(weight, temperature, n_nearest, n_farthest)
    plain = -gold(logits.to(precision(logits)).log_softmax(-1), labels)
    contrast, there = contrastive_rows(
        queries, labels, keys, key_labels, temperature=temperature, n_nearest=n_nearest, n_farthest=n_farthest
    )
    parts = {
        "cross_entropy": (1.0 - weight * there.to(plain.dtype)) * plain,
        "contrastive": weight * contrast.to(plain.dtype),
    }
    return {name: reduced(rows, reduction) for name, rows in parts.items()}


def check_settings(weight: float, temperature: float, n_nearest: int, n_farthest: int) -> None:
    """Raise unless the numbers of :func:`dct_loss` are in their ranges."""
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"weight is {weight}, expected a number from 0 to 1.")
    if not 0.0 < temperature < float("inf"):
        raise ValueError(f"temperature is {temperature}, expected a number above 0.")
    if min(n_nearest, n_farthest) < 0 or n_nearest + n_farthest < 1:
        raise ValueError(
            f"n_nearest is {n_nearest} and n_farthest {n_farthest}, expected 0 or more, and one at least together."
        )


def _check(queries: Tensor, labels: Tensor, keys: Tensor, key_labels: Tensor) -> None:
    """Raise unless rows and keys have representations of one width and a class each."""
    if queries.ndim != 2 or keys.ndim != 2 or len(queries) != len(labels) or queries.shape[1] != keys.shape[1]:
        raise ValueError(
            f"queries have shape {tuple(queries.shape)} and keys {tuple(keys.shape)}, expected ({len(labels)}, dim) "
            "and (n, dim) with one dim."
        )
    if key_labels.shape != keys.shape[:1] or key_labels.is_floating_point():
        raise ValueError(
            f"key_labels have shape {tuple(key_labels.shape)} and dtype {key_labels.dtype}, expected whole numbers of "
            f"shape ({len(keys)},): the class of each key."
        )
