"""Gradients of layers of a model from what goes in and the gradient at what comes out.

Gradients of all weights for every example of a chunk often do not fit into memory, and writing them takes as long as
one backward per example. Their norms need less: of a linear layer with inputs x_t and gradients g_t at its outputs, t
the tokens, the weight's gradient is G = sum_t g_t x_t^T, and

    ||G||^2 = sum_{t,u} (x_t . x_u) (g_t . g_u).

The same holds for an embedding, where x_t . x_u is 1 if both are the same token and else 0, and for a bias, where it
is 1. So it is enough to differentiate by the *outputs* of these layers, and by the parameters of all others.

Source: Goodfellow 2015, *Efficient per-example gradient computations*; for sequences Li et al. 2022.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor, nn


class Calls:
    """What the layers of a model took and gave in one forward, call by call.

    Args:
        places: calls whose outputs are shifted, as numbers of the calls.
        shifts: what is added to each of these outputs; zeros, by which one can differentiate.
    """

    def __init__(self, places: Sequence[int] = (), shifts: Sequence[Tensor] = ()) -> None:
        self.modules: list[Any] = []
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.shifts = dict(zip(places, shifts, strict=True))

    @contextlib.contextmanager
    def recorded(self, model: nn.Module) -> Iterator[None]:
        """Within the block, note the calls of the model's layers and shift their outputs."""
        handles = [
            module.register_forward_hook(self._note, with_kwargs=True)
            for module in model.modules()
            if _is_layer(module)
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def last_linear(self) -> int:
        """The last call of a linear layer.

        Raises:
            ValueError: there is none.
        """
        places = [place for place, module in enumerate(self.modules) if not _is_embedding(module)]
        if not places:
            raise ValueError("The model has no linear layer, so no last one: use parameters='all'.")
        return places[-1]

    def _note(self, module: nn.Module, args: tuple[Any, ...], options: dict[str, Any], output: Tensor) -> Tensor:
        place = len(self.modules)
        self.modules.append(module)
        self.inputs.append(args[0] if args else options["input"])
        if not self.shifts:
            self.outputs.append(output)
        return output + self.shifts[place] if place in self.shifts else output


class Plan(NamedTuple):
    """What to differentiate by.

    Attributes:
        places: calls of layers by whose outputs to do so, in the order of the forward.
        layers: each of these layers with its calls, as positions in ``places``.
        others: parameters of all other modules.
    """

    places: list[int]
    layers: list[tuple[Any, list[int]]]
    others: dict[str, Tensor]


def plan_of(model: nn.Module, calls: Calls, *, last_layer: bool = False) -> Plan:
    """How the gradient of each parameter that is trained is found.

    Args:
        model: the model.
        calls: of its layers in one forward.
        last_layer: whether only the last linear layer counts.
    """
    if last_layer:
        place = calls.last_linear()
        return Plan([place], [(calls.modules[place], [0])], {})
    names: dict[int, list[str]] = defaultdict(list)
    for name, weight in model.named_parameters(remove_duplicate=False):
        if weight.requires_grad:
            names[id(weight)].append(name)
    layers: dict[Any, list[int]] = defaultdict(list)
    for place, module in enumerate(calls.modules):
        own = [weight for weight in module.parameters(recurse=False) if weight.requires_grad]
        if own and all(len(names[id(weight)]) == 1 for weight in own):  # a tied weight has gradients elsewhere too
            layers[module].append(place)
    covered = {id(weight) for module in layers for weight in module.parameters(recurse=False)}
    weights = dict(model.named_parameters())
    others = {known[0]: weights[known[0]].detach() for key, known in names.items() if key not in covered}
    places = sorted(place for found in layers.values() for place in found)
    position = {place: at for at, place in enumerate(places)}
    return Plan(places, [(module, [position[place] for place in found]) for module, found in layers.items()], others)


def layer_square(module: Any, inputs: Sequence[Tensor], gradients: Sequence[Tensor]) -> Tensor:
    """Squared norm of the gradient of a layer's weights, of each example.

    Args:
        module: a linear layer or an embedding.
        inputs: of each call, the first axis being the examples.
        gradients: at the outputs of each call.

    Returns:
        Shape (n,).
    """
    g, bias = _joined(gradients, 3).float(), getattr(module, "bias", None)
    if _is_embedding(module):
        ids = _joined(inputs, 2)
        same = ids[:, :, None] == ids[:, None, :]
        if module.padding_idx is not None:  # its row is never trained
            same = same & (ids != module.padding_idx)[:, :, None]
        return (g @ g.mT * same).sum(dim=(1, 2))
    if not module.weight.requires_grad:
        return square(g.sum(dim=1))
    x = _joined(inputs, 3).float()
    has_bias = bias is not None and bias.requires_grad
    if x.shape[1] * (x.shape[2] + g.shape[2]) < x.shape[2] * g.shape[2]:
        return ((x @ x.mT + float(has_bias)) * (g @ g.mT)).sum(dim=(1, 2))
    return square(g.mT @ x) + (square(g.sum(dim=1)) if has_bias else 0.0)


def _joined(parts: Sequence[Tensor], ndim: int) -> Tensor:
    """The tokens of all calls one after the other, shape (n, tokens) or (n, tokens, width)."""
    import torch

    flat = [part.reshape(len(part), -1, *part.shape[-1:][: ndim - 2]) for part in parts]
    return flat[0] if len(flat) == 1 else torch.cat(flat, dim=1)


def square(gradient: Tensor) -> Tensor:
    """Squared norm per example of a tensor whose first axis are the examples."""
    return gradient.float().flatten(1).square().sum(dim=1)


def _is_embedding(module: nn.Module) -> bool:
    from torch import nn

    return isinstance(module, nn.Embedding)


def _is_layer(module: nn.Module) -> bool:
    """Whether the formula holds for a module."""
    from torch import nn
    from transformers.pytorch_utils import Conv1D

    if isinstance(module, nn.Embedding):
        plain = module.max_norm is None and not module.scale_grad_by_freq
        return plain and type(module).forward is nn.Embedding.forward
    return type(module).forward in (nn.Linear.forward, Conv1D.forward)
