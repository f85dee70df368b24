"""Open transformers models for the augmentations that need one, and run them in batches."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hf_fairness._encoder_adapters import is_a, model_max_length
from hf_fairness._processes import one_thread_after_fork
from hf_fairness.utils import FairnessWarning, lacking_package, opening_problem

__all__ = [
    "Translate",
    "check_batch_size",
    "evaluating",
    "is_a",
    "model_max_length",
    "open_model",
    "opening",
    "padded_batches",
    "reference",
]


def reference(model: Any, wanted: str) -> str | tuple[Any, Any]:
    """What an augmentation keeps of its ``model`` argument: a name, or a model with its tokenizer.

    Args:
        model: Hub id or folder; a transformers model that knows where it came from; a pair of model and tokenizer.
        wanted: what the model must be able to do, for messages.

    Raises:
        TypeError: none of these.
    """
    if isinstance(model, (str, Path)) and str(model).strip():
        return str(model)
    if is_a(model, "transformers", "PreTrainedModel"):
        return model, _tokenizer_of(model)
    if isinstance(model, tuple) and len(model) == 2 and is_a(model[0], "transformers", "PreTrainedModel"):
        return model
    raise TypeError(
        f"Expected {wanted}: a Hub id, a local folder, a transformers model, or a pair of model and tokenizer; "
        f"got {type(model).__name__}: {str(model)[:80]!r}."
    )


def _tokenizer_of(model: Any) -> Any:
    from transformers import AutoTokenizer

    name = model.name_or_path
    try:
        if not name:
            raise ValueError("the model does not say where it came from")
        return AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise TypeError(
            f"{type(model).__name__} needs its tokenizer and none was found: {opening_problem(error)} "
            "Pass the pair (model, tokenizer)."
        ) from error


def open_model(auto_class: str, source: str | tuple[Any, Any]) -> tuple[Any, Any]:
    """The model and the tokenizer of a reference.

    Args:
        auto_class: name in transformers, for example ``"AutoModelForMaskedLM"``.
        source: what :func:`reference` gave.

    Raises:
        ValueError: the folder or repository does not open as such a model.
        ImportError: its tokenizer needs something that is not installed; names the extra.
    """
    if not isinstance(source, str):
        return source
    one_thread_after_fork()
    import transformers

    opener = getattr(transformers, auto_class)
    with opening(source, auto_class):
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        model, loaded = opener.from_pretrained(source, trust_remote_code=False, output_loading_info=True)
    if loaded["missing_keys"]:
        warnings.warn(
            f"{source}: {len(loaded['missing_keys'])} weights are not in the checkpoint and were drawn at random, for "
            f"example {sorted(loaded['missing_keys'])[0]}. What this model writes means little.",
            FairnessWarning,
            stacklevel=4,
        )
    return model, tokenizer


@contextlib.contextmanager
def opening(source: str, auto_class: str) -> Iterator[None]:
    """Say what does not open, or which extra is missing, where a loader of transformers fails.

    Raises:
        ValueError: anything but a package that is not installed.
        ImportError: that, with the extra that brings it.
    """
    try:
        yield
    except Exception as error:  # the Hub's client and the loaders have many
        if (lacking := lacking_package(error)) is not None:
            raise ImportError(f"{source} does not open: {lacking}") from error
        raise ValueError(f"{source} does not open with {auto_class}: {opening_problem(error)}") from error


@contextlib.contextmanager
def evaluating(model: Any, device: str | None) -> Iterator[Any]:
    """Run a model without dropout and gradients on its device or another; yields the device."""
    import torch

    one_thread_after_fork()
    was_training = model.training
    if device is not None:
        model.to(torch.device(device))
    model.eval()
    try:
        with torch.inference_mode():
            yield model.device
    finally:
        model.train(was_training)


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
