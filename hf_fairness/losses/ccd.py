"""The content-conditional debiasing (CCD) loss: groups equally far from the neutral text, which stays put.

Source: Deng et al. 2024, *LLM-Assisted Content Conditional Debiasing for Fair Text Embedding*, section 3.2.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn

from hf_fairness.losses.columns import embed_columns
from hf_fairness.utils import FairnessWarning

#: Kernel values under LOW carry no gradient worth the name, those above HIGH see no distance at all.
LOW, HIGH = 1e-6, 0.99

#: Below this share of the reference's length, a distance is rounding noise and gets no gradient.
NOISE_FLOOR = 1e-5

RHO_MODES = ("mean", "variance")


def gaussian_kernel(squared_distance: Tensor, rho: float) -> Tensor:
    """The closeness K(d) = exp(-d² / (2 rho²)) of the paper's equation 2.

    Args:
        squared_distance: d², any shape, at least 0.
        rho: width of the kernel, in the unit of d; above 0.

    Returns:
        Closeness in [0, 1], same shape; 1 at d = 0.
    """
    return torch.exp(squared_distance * (-0.5 / (rho * rho)))


def embedding_distance(embeddings: Tensor, reference: Tensor) -> Tensor:
    """Row-wise Euclidean distance whose gradient is 0, not NaN or noise, where the two agree.

    At the first step the trained encoder *is* the original one, so the difference holds rounding errors only.
    The plain norm would turn their random direction into a full-size gradient (or 0/0); distances of less
    than ``NOISE_FLOOR`` times the reference's length are therefore returned as 0 with gradient 0.

    Args:
        embeddings: shape (batch, dim).
        reference: shape (batch, dim), without gradient.

    Returns:
        Distances, shape (batch,), at least 0.
    """
    squared = (embeddings - reference).pow(2).sum(-1)
    floor = (NOISE_FLOOR**2) * reference.detach().pow(2).sum(-1)
    moved = squared > floor
    # The inner `where` keeps sqrt away from 0, so that its infinite slope never meets the outer one's 0.
    return torch.where(moved, torch.where(moved, squared, torch.ones_like(squared)).sqrt(), squared * 0)


def ccd_loss(
    groups: Sequence[Tensor],
    neutral: Tensor,
    reference: Tensor | None,
    *,
    rho: float,
    beta: float = 1.0,
    bias_weight: float = 1.0,
    targets: Tensor | None = None,
) -> dict[str, Tensor]:
    """The two parts of the CCD loss, each averaged over the batch; their sum is what to minimise.

    bias = Σ_i Σ_{j≠i} |K(‖g_i − n‖) − K(‖g_j − n‖)| over *ordered* pairs of groups: with two groups it is
    twice the difference of the two closeness values, a factor that fixes what ``beta = 1`` means. With
    `targets` each closeness is first reduced by its target: the loss is then 0 where the differences between
    groups are those of the targets, and not where there are none.
    rep = beta · ‖n − n_original‖, a distance and not its square.

    Args:
        groups: embeddings of the variants of the same texts, one tensor of shape (batch, dim) per group.
        neutral: embeddings of the neutral texts, shape (batch, dim).
        reference: embeddings of the neutral texts under the original encoder, shape (batch, dim);
            None only with ``beta=0``.
        rho: width of the kernel, in the unit of the embeddings' distances; see `kernel_width`.
        beta: weight of the second part, at least 0.
        bias_weight: weight of the first part, at least 0; the paper's is 1.
        targets: closeness that each group is to have, up to a shift common to the groups of a text, shape
            (batch, groups); None means the method: equal for all groups.

    Returns:
        bias: scalar, at least 0, weight included; 0 when every group is equally far from the neutral text.
            Higher is worse.
        rep: scalar, at least 0, weight included; 0 when the neutral embeddings did not move. Higher is worse.

    Raises:
        ValueError: fewer than two groups, shapes that differ, rho or a weight out of range, or no reference.

    Source:
        Deng et al. 2024, equations 2-4. Their equation 2 omits the batch mean.

    Example:
        >>> import torch
        >>> neutral = torch.zeros(1, 2)
        >>> near, far = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 2.0]])
        >>> parts = ccd_loss([near, far], neutral, neutral, rho=1.0)
        >>> round(parts["bias"].item(), 4), parts["rep"].item()  # 2 · (exp(-1/2) - exp(-2))
        (0.9424, 0.0)
    """
    _check(groups, neutral, reference, beta)
    _check_rho(rho)
    _check_weight("beta", beta)
    _check_weight("bias_weight", bias_weight)
    closeness = [gaussian_kernel((group - neutral).pow(2).sum(-1), rho) for group in groups]
    if targets is not None:
        if targets.shape != (len(neutral), len(groups)):
            raise ValueError(
                f"Shape of targets is {tuple(targets.shape)}, expected {(len(neutral), len(groups))}: one closeness "
                "per text and group."
            )
        closeness = [value - target for value, target in zip(closeness, targets.unbind(1), strict=True)]
    pairs = torch.stack([(one - other).abs() for one, other in combinations(closeness, 2)])
    bias = bias_weight * 2 * pairs.sum(0).mean()
    if reference is None:
        return {"bias": bias, "rep": bias.new_zeros(())}
    return {"bias": bias, "rep": beta * embedding_distance(neutral, reference).mean()}


def _check(groups: Sequence[Tensor], neutral: Tensor, reference: Tensor | None, beta: float) -> None:
    if len(groups) < 2:
        raise ValueError(f"The CCD loss compares groups: got {len(groups)}, expected at least 2.")
    for name, tensor in [
        *((f"group {i}", group) for i, group in enumerate(groups)),
        ("reference", reference),
    ]:
        if tensor is not None and tensor.shape != neutral.shape:
            raise ValueError(
                f"Shape of {name} is {tuple(tensor.shape)}, expected that of the neutral embeddings, "
                f"{tuple(neutral.shape)}: row i of each must be a variant of the same text."
            )
    if reference is None and beta > 0:
        raise ValueError(
            "beta > 0 needs `reference`, the original encoder's embeddings of the neutral texts; "
            "pass them, or beta=0 to train without the representation part."
        )


def _check_rho(rho: float) -> None:
    if not math.isfinite(rho) or rho <= 0:
        raise ValueError(f"rho is {rho!r}, expected a finite number above 0: it is the width of the kernel.")


def _check_weight(name: str, weight: float) -> None:
    if not math.isfinite(weight) or weight < 0:
        raise ValueError(f"{name} is {weight!r}, expected a finite number, 0 or more.")


@dataclass(frozen=True)
class KernelWidth:
    """The kernel's width rho, how it was chosen, and what it does to the distances at hand.

    Attributes:
        rho: the width, in the unit of the distances.
        mode: ``"mean"``, ``"variance"`` or ``"number"``.
        n: number of distances looked at.
        mean_distance: their mean.
        share_low: share of kernel values under 1e-6: no gradient reaches these texts.
        share_high: share of kernel values over .99: the kernel hardly sees these distances.
    """

    rho: float
    mode: str
    n: int
    mean_distance: float
    share_low: float
    share_high: float


def kernel_width(distances: Tensor, rho: str | float = "mean") -> KernelWidth:
    """Choose rho from the distances of the training set, and warn when the kernel then vanishes.

    ``"variance"`` is the paper's choice; but a variance has the unit d², so the result depends on the scale
    of the embeddings: on unit vectors nearly all kernel values underflow and training changes nothing.
    ``"mean"`` (default here) has the unit of d and is free of scale.

    Args:
        distances: ‖group − neutral‖ of all groups and texts of the training set under the original encoder,
            any shape, at least two values.
        rho: ``"mean"``, ``"variance"`` (with the n − 1 of an unbiased estimate), or a number above 0.

    Returns:
        The width and the shares of kernel values at both ends.

    Raises:
        ValueError: no distances, NaN among them, an unknown mode, or a width that is not above 0.

    Warns:
        FairnessWarning: most kernel values are under 1e-6 or over .99, with both shares.

    Source:
        Deng et al. 2024, section 3.2 ("rho is selected as the variance of the distance over the training
        dataset"). Deliberate deviation: the default is the mean.
    """
    values = distances.detach().double().flatten()
    if values.numel() < 2 or not bool(torch.isfinite(values).all()):
        raise ValueError(
            f"Got {values.numel()} distances, {int((~torch.isfinite(values)).sum())} of them not finite; "
            "expected at least two finite ones. Check the encoder: do its embeddings hold NaN?"
        )
    if rho == "mean":
        mode, width = "mean", values.mean().item()
    elif rho == "variance":
        mode, width = "variance", values.var().item()
    elif isinstance(rho, str):
        raise ValueError(f"rho is {rho!r}, expected one of {', '.join(RHO_MODES)}, or a number.")
    else:
        mode, width = "number", float(rho)
    if width <= 0 and mode != "number":
        raise ValueError(
            f"rho={mode!r} of these distances is {width}: all texts are embedded equally far from their "
            "neutral texts, so there is nothing to mitigate. Check the variants, or set rho to a number."
        )
    _check_rho(width)
    closeness = gaussian_kernel(values.pow(2), width)
    result = KernelWidth(
        rho=width,
        mode=mode,
        n=values.numel(),
        mean_distance=values.mean().item(),
        share_low=(closeness < LOW).double().mean().item(),
        share_high=(closeness > HIGH).double().mean().item(),
    )
    if result.share_low > 0.5 or result.share_high > 0.5:
        warnings.warn(
            f"The CCD kernel vanishes: with rho = {width:.4g} ({mode}) and a mean distance of "
            f"{result.mean_distance:.4g}, {result.share_low:.1%} of the kernel values are under {LOW:g} and "
            f"{result.share_high:.1%} over {HIGH:g}. Training will change little; use rho='mean'.",
            FairnessWarning,
            stacklevel=2,
        )
    return result


class CCDLoss(nn.Module):
    """The CCD loss for ``SentenceTransformerTrainer``: embeds the columns, returns the named parts.

    The columns of the data set are, in this order, one text column per group, then the neutral text;
    ``label`` holds the original encoder's embedding of the neutral text
    (`hf_fairness.trainers.add_reference_embeddings` adds it), and in a control run behind it one target per
    group, see :func:`ccd_loss`.

    The rows of all columns are embedded together, sorted by length and cut into as many chunks as there are
    columns: the same number of forwards as column by column, with less padding, and the same result.

    Args:
        model: a SentenceTransformer, or any module that maps a feature dict to a dict with
            ``sentence_embedding`` of shape (batch, dim).
        rho: width of the kernel; see `kernel_width`.
        beta: weight of the representation part, at least 0.
        bias_weight: weight of the bias part, at least 0; 0 leaves nothing but embeddings to keep in place.
        sort_by_length: False embeds column by column, as other losses do.

    Raises:
        ValueError: rho or a weight out of range.

    Source:
        Deng et al. 2024, equations 2-4.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        rho: float,
        beta: float = 1.0,
        bias_weight: float = 1.0,
        sort_by_length: bool = True,
    ) -> None:
        super().__init__()
        try:
            rho = float(rho)
        except ValueError:
            raise ValueError(
                f"CCDLoss takes rho as a number, got {rho!r}; kernel_width(distances, {rho!r}) finds it."
            ) from None
        _check_rho(rho)
        _check_weight("beta", beta)
        _check_weight("bias_weight", bias_weight)
        self.model = model
        self.rho = rho
        self.beta = float(beta)
        self.bias_weight = float(bias_weight)
        self.sort_by_length = sort_by_length

    def forward(
        self, sentence_features: Iterable[Mapping[str, Any]], labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Embed the columns and return the parts, logged under these names.

        Args:
            sentence_features: tokenised columns: one per group, the neutral one last.
            labels: reference embeddings of the neutral texts, shape (batch, dim), or with targets behind them,
                shape (batch, dim + groups).

        Returns:
            loss_bias: scalar, at least 0, weight included.
            loss_rep: scalar, at least 0, weight included.

        Raises:
            ValueError: fewer than three columns, or labels that are missing or of another shape.
        """
        columns = [dict(features) for features in sentence_features]
        if len(columns) < 3:
            raise ValueError(
                f"CCDLoss got {len(columns)} text column(s), expected at least three: one per group, "
                "then the neutral one."
            )
        embeddings = embed_columns(self.model, columns, sort_by_length=self.sort_by_length)
        neutral = embeddings[-1]
        dimension, targets = neutral.shape[1], None
        if labels is not None and labels.shape[1:] == (dimension + len(columns) - 1,):
            targets = labels[:, dimension:].to(device=neutral.device, dtype=neutral.dtype)
            labels = labels[:, :dimension]
        parts = ccd_loss(
            embeddings[:-1],
            neutral,
            self._reference(labels, neutral),
            rho=self.rho,
            beta=self.beta,
            bias_weight=self.bias_weight,
            targets=targets,
        )
        return {f"loss_{name}": value for name, value in parts.items()}

    def _reference(self, labels: Tensor | None, neutral: Tensor) -> Tensor | None:
        if labels is None and self.beta == 0:
            return None
        if labels is None or labels.shape != neutral.shape:
            got = "no label column" if labels is None else f"labels of shape {tuple(labels.shape)}"
            raise ValueError(
                f"CCDLoss got {got}, expected a `label` column with the original encoder's embeddings of the "
                f"neutral texts, here of shape {tuple(neutral.shape)}. Add it before training with "
                "hf_fairness.trainers.add_reference_embeddings(dataset, model)."
            )
        return labels.to(device=neutral.device, dtype=neutral.dtype)

    def get_config_dict(self) -> dict[str, Any]:
        """Settings for the model card."""
        return {"rho": self.rho, "beta": self.beta, "bias_weight": self.bias_weight}

    @property
    def citation(self) -> str:
        """BibTeX of the paper, for the model card."""
        return """
@inproceedings{deng2024ccd,
    title = "{LLM}-Assisted Content Conditional Debiasing for Fair Text Embedding",
    author = "Deng, Wenlong and Chen, Blair and Li, Xiaoxiao and Thrampoulidis, Christos",
    year = "2024",
}
"""
