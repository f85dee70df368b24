"""Linear layers by oneDNN where torch would multiply with half of what the processor can."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.overrides import TorchFunctionMode

#: Rows from which a product is worth the call.
MIN_ROWS = 16


def quick_linear() -> contextlib.AbstractContextManager[Any]:
    """Within the block linear layers in float32 on the CPU run, and are differentiated, by oneDNN where that is faster.

    torch multiplies float32 with MKL, which uses vectors of 256 bits on AMD's processors, also on those that have 512.
    oneDNN asks the processor. What comes out differs by rounding alone; which of them it is does not depend on how busy
    the machine is. On all other processors, and for all other layers, nothing changes.
    """
    return _QuickLinear() if mkl_is_slow() else contextlib.nullcontext()


@functools.cache
def mkl_is_slow() -> bool:
    """Whether this is an AMD processor with AVX-512, and torch has both libraries and all that is asked of it here."""
    return bool(
        cpu_vendor() == "AuthenticAMD"
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and hasattr(torch._C._autograd, "_top_saved_tensors_default_hooks")  # torch 2.8
    )


def cpu_vendor() -> str:
    """Maker of this machine's processor; empty where the system does not say it."""
    path = Path("/proc/cpuinfo")
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    found = re.search(r"^vendor_id\s*:\s*(\S+)", text, re.MULTILINE)
    return found[1] if found else ""


class _QuickLinear(TorchFunctionMode):
    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if function is functional.linear and (given := _taken(*args, **kwargs)):
            return _Linear.apply(*given)  # type: ignore[no-untyped-call]
        return function(*args, **kwargs)


def _taken(input: Any, weight: Any, bias: Any = None) -> tuple[Tensor, Tensor, Tensor | None] | None:
    """What a layer is called with, if oneDNN is to have it."""
    given = [one for one in (input, weight, bias) if one is not None]
    fits = (
        all(type(one) in (Tensor, nn.Parameter) and one.dtype == torch.float32 for one in given)
        and all(one.device.type == "cpu" and one.layout == torch.strided for one in given)
        and weight.dim() == 2
        and input.dim() >= 2
        and input.numel() >= MIN_ROWS * weight.shape[1] > 0
        and input.shape[-1] == weight.shape[1]
        and weight.shape[0] > 0
        and torch.backends.mkldnn.enabled
        and not (torch.is_autocast_enabled("cpu") or torch.compiler.is_compiling() or torch._C._is_tracing())
        and not torch._C._are_functorch_transforms_active()
        # A gradient checkpoint is computed again outside of the block, and must keep the same tensors there.
        and torch._C._autograd._top_saved_tensors_default_hooks(True) is None
    )
    return (input, weight, bias) if fits else None


class _Linear(torch.autograd.Function):
    """``input @ weight.T + bias`` with its gradients, each product by oneDNN."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(input, weight)
        return _multiply(input, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        input, weight = ctx.saved_tensors
        rows = gradient.reshape(-1, gradient.shape[-1])
        to_input, to_weight, to_bias = ctx.needs_input_grad
        return (
            _multiply(rows, weight.t(), None).view(input.shape) if to_input else None,
            _multiply(rows.t(), input.reshape(-1, input.shape[-1]).t(), None) if to_weight else None,
            rows.sum(0) if to_bias else None,
        )


def _multiply(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(input, weight, bias, "none", [], "")
    return product
