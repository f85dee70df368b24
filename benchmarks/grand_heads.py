"""GraNd of the data diet's heads on frozen features, beside ``vmap(grad)`` of the same heads.

A layer's gradient is the outer product of what enters it and of the error that comes back, so its length is the product
of theirs: ours forms no gradient. The floor is the forward, which any answer needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.models import SIZES
from benchmarks.runner import Benchmark, agree

#: Rows, heads and units of a short run of the data diet; rows that ``vmap`` takes at a time.
ROWS, HEADS, HIDDEN, TOGETHER = 4000, 10, 64, 500
QUICK = 8
#: Largest relative difference between two norms.
TOLERANCE = 1e-4


class State(NamedTuple):
    """Trained heads and labelled features."""

    heads: Any
    features: Any
    labels: Any


def setup(quick: bool, size: str) -> State:
    """Features at random, as wide as those of the model; the heads are trained for an epoch."""
    from hf_fairness.trainers.data_diet.heads import Heads

    rng, rows = np.random.default_rng(0), ROWS // (QUICK if quick else 1)
    features = rng.normal(size=(rows, SIZES[size].width)).astype(np.float32)
    labels = (features[:, 0] + rng.normal(size=rows) > 0).astype(np.int64)
    heads = Heads(range(HEADS), features.shape[1], hidden=HIDDEN, num_train_epochs=1)
    return State(heads.fit(features, labels, [np.arange(rows)] * HEADS), features, labels)


def others(state: State) -> Any:
    """The norms by ``torch.func``, shape (heads, n)."""
    import torch
    from torch.func import grad, vmap

    def loss(weights: list[Any], row: Any, label: Any) -> Any:
        first, first_bias, second, second_bias = weights
        logits = (torch.relu(row @ first + first_bias) @ second + second_bias).squeeze(0)
        return torch.nn.functional.cross_entropy(logits, label)

    each = vmap(vmap(grad(loss), in_dims=(None, 0, 0)), in_dims=(0, None, None))
    rows, labels = torch.from_numpy(state.features).split(TOGETHER), torch.from_numpy(state.labels).split(TOGETHER)
    parts = []
    for some, wanted in zip(rows, labels, strict=True):
        gradients = each(state.heads.parameters, some, wanted)
        parts.append(torch.stack([part.flatten(2).square().sum(dim=-1) for part in gradients]).sum(dim=0).sqrt())
    return torch.cat(parts, dim=1).numpy()


def check(state: State) -> dict[str, float]:
    """Both give the same norms, relative to the largest: those of rows that are predicted surely are next to 0."""
    theirs = others(state)
    found, wanted = (norms.ravel() / theirs.max() for norms in (ours(state), theirs))
    return {"largest relative difference": agree("GraNd", found.tolist(), wanted.tolist(), TOLERANCE)}


def ours(state: State) -> Any:
    """Ours, shape (heads, n)."""
    return state.heads.grand(state.features, state.labels)


def subject(state: State) -> float:
    """All heads on all rows; the unit of work is one norm."""
    return float(ours(state).size)


def peer(state: State) -> float:
    """The same by ``torch.func``."""
    return float(others(state).size)


def floor(state: State) -> float:
    """The forward alone."""
    return float(state.heads.logits(state.features)[..., 0].size)


BENCHMARK = Benchmark(
    name="grand_heads",
    compares="GraNd of ten heads of 64 units on frozen features against torch.func's vmap(grad), per norm",
    bar=dict.fromkeys(SIZES, 1.0),
    setup=setup,
    subject=subject,
    peer=peer,
    floor=floor,
    repeats=5,
    check=check,
)
