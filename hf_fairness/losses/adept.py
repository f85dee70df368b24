"""The loss of ADEPT: neutral words lie from each group's prototype as from the others', and the model says the same.

Source: Yang et al. 2023, *ADEPT: A DEbiasing PrompT Framework*.
"""

from __future__ import annotations

import math
from itertools import combinations

import torch
from torch import Tensor

from hf_fairness.losses.dpce import check_states, masked_mean


def squared_distances(words: Tensor, prototypes: Tensor) -> Tensor:
    """Squared Euclidean distance of each word to the prototype of each group, over all layers together.

    Args:
        words: states of neutral words, shape (words, layers, dim).
        prototypes: of the groups, shape (groups, layers, dim); no gradient reaches them.

    Returns:
        Shape (words, groups), at least 0.

    Raises:
        ValueError: other shapes.
    """
    if words.ndim != 3 or prototypes.ndim != 3 or words.shape[1:] != prototypes.shape[1:]:
        raise ValueError(
            f"words have shape {tuple(words.shape)} and prototypes {tuple(prototypes.shape)}, expected (words, layers, "
            "dim) and (groups, layers, dim) with the same layers and dim."
        )
    return torch.stack([(words - each).pow(2).sum((1, 2)) for each in prototypes.detach()], dim=1)


def adept_loss(
    distances: Tensor,
    states: Tensor,
    original: Tensor,
    *,
    rho: float,
    is_token: Tensor | None = None,
    representation_weight: float = 7 / 3,
) -> dict[str, Tensor]:
    """The two parts of the loss; their sum is what to minimise.

    p(j | i) = exp(−‖e_i − n_j‖² / 2ρ²) / Σ_k exp(−‖e_i − n_k‖² / 2ρ²) is the share of the neutral word j among the
    neighbours of the prototype of group i.
    bias = Σ over pairs of groups of the Jensen-Shannon divergence of their p, in nats.
    rep = λ · KL(M(S) ‖ M_original(S)) over the sentences S with attribute words.

    Args:
        distances: ‖e_i − n_j‖², shape (words, groups); see :func:`squared_distances`.
        states: states of all tokens, of sentences with attribute words, shape (batch, tokens, layers, dim).
        original: the same under the original model.
        rho: width of the kernel, in the unit of the distances (not squared), above 0.
        is_token: which of ``states`` are tokens and no padding, shape (batch, tokens); None means all.
        representation_weight: λ, at least 0.

    Returns:
        bias: scalar from 0 to ln 2 for each pair of groups; 0 where all groups see the words alike.
        rep: scalar, at least 0, weight included; 0 where no token has moved.

    Raises:
        ValueError: fewer than two groups or two words, shapes that do not belong together, a number out of range.

    Source:
        Yang et al. 2023; settings from their released script (ρ 15, weights .3 and .7, so
        λ = 7/3). Two things are open. What M(S) is: their code puts hidden states, which are no distributions, into the
        formula of a divergence, which is undefined where signs differ; here the states of a token in a layer become a
        distribution over the dimensions by a softmax, and the divergence is a mean over tokens, sentences and layers.
        And their code takes logarithms to the base 2 and divides by the number of words; here as written above.

    Example:
        >>> import torch
        >>> distances = torch.tensor([[0.0, 2.0], [2.0, 0.0]])  # each group has a word for itself
        >>> states = torch.zeros(1, 1, 1, 2)
        >>> parts = adept_loss(distances, states, states, rho=1.0)
        >>> round(parts["bias"].item(), 4), parts["rep"].item()
        (0.1109, 0.0)
    """
    if distances.ndim != 2 or min(distances.shape) < 2:
        raise ValueError(
            f"distances have shape {tuple(distances.shape)}, expected (words, groups) with two or more of each: p is "
            "over the words, and pairs of groups are compared."
        )
    if not math.isfinite(rho) or rho <= 0:
        raise ValueError(f"rho is {rho!r}, expected a finite number above 0: it is the width of the kernel.")
    if not math.isfinite(representation_weight) or representation_weight < 0:
        raise ValueError(f"representation_weight is {representation_weight!r}, expected a finite number, 0 or more.")
    check_states(states, original)
    shares = (distances * (-0.5 / (rho * rho))).log_softmax(0).unbind(1)
    pairs = [_jensen_shannon(one, other) for one, other in combinations(shares, 2)]
    now, before = states.log_softmax(-1), original.detach().log_softmax(-1)
    divergence = (now.exp() * (now - before)).sum(-1).mean(-1)
    kept = representation_weight * masked_mean(divergence, is_token, "token")
    return {"bias": torch.stack(pairs).sum(), "rep": kept}


def _jensen_shannon(one: Tensor, other: Tensor) -> Tensor:
    """Jensen-Shannon divergence of two distributions that are given by their logarithms, in nats; a scalar."""
    mean = torch.logaddexp(one, other) - math.log(2)
    return 0.5 * ((one.exp() * (one - mean)).sum() + (other.exp() * (other - mean)).sum())
