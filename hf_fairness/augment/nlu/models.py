"""Run transformers models in batches, for the augmentations that need one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hf_fairness._encoder_adapters import is_a, model_max_length
from hf_fairness._opening import open_pair, reference
from hf_fairness._processes import one_thread_after_fork
from hf_fairness.utils import in_eval

__all__ = [
    "Translate",
    "check_batch_size",
    "evaluating",
    "is_a",
    "model_max_length",
    "open_pair",
    "padded_batches",
    "reference",
]


@contextlib.contextmanager
def evaluating(model: Any, device: str | None) -> Iterator[Any]:
    """Run a model without dropout and gradients on its device or another; yields the device."""
    import torch

    one_thread_after_fork()
    if device is not None:
        model.to(torch.device(device))
    with in_eval(model), torch.inference_mode():
        yield model.device


def padded_batches(
    token_lists: Sequence[Sequence[int]], pad: int, batch_size: int, device: Any
) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """Token lists as padded batches of similar length: places in the input, and what the model takes.

    Padding is on the right and masked, so that a row gives the same whatever it is batched with.
    """
    import torch

    order = sorted(range(len(token_lists)), key=lambda i: len(token_lists[i]))
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        longest = len(token_lists[chosen[-1]])
        ids = [[*token_lists[i], *[pad] * (longest - len(token_lists[i]))] for i in chosen]
        mask = [[1] * len(token_lists[i]) + [0] * (longest - len(token_lists[i])) for i in chosen]
        yield (
            chosen,
            {
                "input_ids": torch.tensor(ids, device=device),
                "attention_mask": torch.tensor(mask, device=device),
            },
        )


def check_batch_size(batch_size: int) -> int:
    """The batch size if it is at least 1."""
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1; got {batch_size}.")
    return batch_size


#: A translation: a list of texts in, as many texts out.
Translate = Callable[[list[str]], Sequence[str]]
