"""The one place where models and tokenizers are opened: an id, a folder, a live model, or a configuration.

Code from a repository is never run, weights that a checkpoint lacks are said or refused, and what does not open says
why and what was wanted. What is made of an opened model (an encoder, a classifier, a translator ...) is the business of
``hf_fairness.measure.models``.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness._encoder_adapters import is_a, is_live
from hf_fairness._processes import one_thread_after_fork
from hf_fairness.utils import FairnessWarning, lacking_package, opening_explained, opening_problem

if TYPE_CHECKING:
    import torch

#: What the classes of transformers open, in words.
WANTED = {
    "AutoModel": "an encoder",
    "AutoModelForCausalLM": "a causal language model",
    "AutoModelForMaskedLM": "a masked language model",
    "AutoModelForSeq2SeqLM": "a translator (an encoder-decoder)",
    "AutoModelForSequenceClassification": "a sequence classifier",
}


def find_tokenizer(source: Any, tokenizer: Any = None) -> Any:
    """The tokenizer given, or the one from where a model comes from.

    Args:
        source: a Hub id or folder, a live model or a configuration.
        tokenizer: what was given; None looks.

    Raises:
        ValueError: none was given, and the source does not say where it came from or has none there.
        ImportError: it needs a package that is not installed; names the extra.
    """
    from transformers import AutoTokenizer

    if tokenizer is not None:
        return tokenizer
    named = isinstance(source, (str, Path))
    origin = str(source) if named else str(getattr(source, "name_or_path", "") or "")
    what = origin if named else type(source).__name__
    try:
        if not origin:
            raise ValueError("the model does not say where it came from.")
        return AutoTokenizer.from_pretrained(origin, trust_remote_code=False)
    except Exception as error:  # the Hub's client and the loaders have many
        if (lacking := lacking_package(error)) is not None:
            raise ImportError(f"{what} does not open: {lacking}") from error
        raise ValueError(
            f"{what} needs a tokenizer and none was found: {opening_problem(error)} Pass the pair (model, tokenizer), "
            "or tokenizer=AutoTokenizer.from_pretrained(...)."
        ) from error


@contextlib.contextmanager
def opening(source: Any, wanted: str) -> Iterator[None]:
    """Say what does not open, or which extra is missing, where a loader fails; reading a local folder needs no bar.

    Args:
        source: what is opened.
        wanted: as what, in words.

    Raises:
        ValueError: anything but a package that is not installed.
        ImportError: that, with the extra that brings it.
    """
    from huggingface_hub.constants import HF_HUB_DISABLE_PROGRESS_BARS
    from transformers.utils import logging

    # The switch is that of the Hub's client too, which warns where an environment variable has set it.
    quiet = Path(str(source)).is_dir() and logging.is_progress_bar_enabled() and HF_HUB_DISABLE_PROGRESS_BARS is None
    if quiet:
        logging.disable_progress_bar()
    try:
        yield
    except Exception as error:  # the Hub's client and the loaders have many
        if (lacking := lacking_package(error)) is not None:
            raise ImportError(f"{source} does not open: {lacking}") from error
        raise ValueError(f"{source} does not open as {wanted}: {opening_problem(error)}") from error
    finally:
        if quiet:
            logging.enable_progress_bar()


def as_dtype(dtype: str | torch.dtype | None) -> torch.dtype | None:
    """A type of numbers of torch, also by its name.

    Raises:
        ValueError: there is none of that name.
    """
    import torch

    found = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if dtype is not None and not isinstance(found, torch.dtype):
        raise ValueError(f"dtype must be None or one of torch's, as 'float16'; got {dtype!r}.")
    return found


def refuse_dtype(dtype: object) -> None:
    """Raise if a type of numbers was given with a model that is open already.

    Raises:
        ValueError: it was.
    """
    if dtype is not None:
        raise ValueError("dtype is for a model that is opened by name; convert yours with model.to(dtype).")


def open_pretrained(
    auto_class: str,
    source: str | Path,
    *,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    lacking: str = "warn",
    may_lack: tuple[str, ...] = (),
    to_train: bool = False,
    **options: Any,
) -> Any:
    """A model of a Hub id or a folder; within a command, one that is only read is opened once (`opened_once`).

    Args:
        auto_class: name in transformers, for example ``"AutoModelForMaskedLM"``.
        source: id or folder.
        dtype: of the weights; None means that of the checkpoint.
        device: where to put it; None leaves it where it was loaded.
        lacking: what is done about weights that the checkpoint lacks, which are drawn at random: ``"warn"``,
            ``"refuse"``, or ``"take"`` for a model that is going to be trained.
        may_lack: parts of the names of weights that may be missing.
        to_train: whether it will be changed: it is opened anew then, whoever has it open.
        **options: for ``from_pretrained``.

    Raises:
        ValueError: it does not open as such a model, an unknown type of numbers, or weights are missing and refused.
        ImportError: a package that is not installed; names the extra.
    """
    import transformers

    one_thread_after_fork()
    wanted, numbers = WANTED[auto_class], as_dtype(dtype)
    if numbers is not None:
        options["dtype"] = numbers

    def load() -> Any:
        with opening(source, wanted):
            model, report = getattr(transformers, auto_class).from_pretrained(
                str(source), trust_remote_code=False, output_loading_info=True, **options
            )
        missing = sorted(key for key in report["missing_keys"] if not any(part in key for part in may_lack))
        if missing and lacking != "take":
            found = (
                f"{len(missing)} weights are not in the checkpoint and were drawn at random, for example {missing[0]}."
            )
            if lacking == "refuse":
                raise ValueError(f"{source} is not trained as {wanted}: {found}")
            warnings.warn(f"{source}: {found} As {wanted} it gives chance.", FairnessWarning, stacklevel=4)
        return model

    model = load() if to_train else for_reading(auto_class, source, (lacking, may_lack, options), load)
    return model if device is None else model.to(device)


def reference(model: Any, wanted: str) -> str | tuple[Any, Any]:
    """What a map function keeps of its ``model`` argument: a name, or a model with its tokenizer.

    Args:
        model: Hub id or folder; a transformers model that knows where it came from; a pair of model and tokenizer.
        wanted: what the model must be able to do, for messages.

    Raises:
        TypeError: none of these.
        ValueError: a live model without a tokenizer.
    """
    if isinstance(model, (str, Path)) and str(model).strip():
        return str(model)
    if is_live(model):
        return model, find_tokenizer(model)
    if isinstance(model, tuple) and len(model) == 2 and is_live(model[0]):
        return model
    raise TypeError(
        f"Expected {wanted}: a Hub id, a local folder, a transformers model, or a pair of model and tokenizer; "
        f"got {type(model).__name__}: {str(model)[:80]!r}."
    )


def open_pair(auto_class: str, source: str | tuple[Any, Any], **options: Any) -> tuple[Any, Any]:
    """The model and the tokenizer of a reference.

    Args:
        auto_class: name in transformers, for example ``"AutoModelForMaskedLM"``.
        source: what :func:`reference` gave; a live model is taken as it is.
        **options: for :func:`open_pretrained`.

    Raises:
        ValueError: the folder or repository does not open as such a model, or has no tokenizer.
        ImportError: its tokenizer needs something that is not installed; names the extra.
    """
    if not isinstance(source, str):
        return source
    model = open_pretrained(auto_class, source, **options)
    return model, find_tokenizer(source)


#: Models that are open for reading by what they were opened from, the last used at the end; None outside a command.
_kept: OrderedDict[Any, Any] | None = None
#: Bytes of weights that stay open together.
KEPT_BYTES = 2 << 30


@contextlib.contextmanager
def opened_once() -> Iterator[None]:
    """Within the block a model that is only read is opened once, however many stages ask for it.

    Those used last stay open, up to ``KEPT_BYTES`` of weights. For commands, whose code is all ours: who opens models
    in Python may train one, and gets one of his own each time.
    """
    global _kept  # of the process, as the models are
    outer, _kept = _kept, OrderedDict() if _kept is None else _kept
    try:
        yield
    finally:
        _kept = outer


def for_reading(kind: str, source: str | Path, options: Any, open_it: Callable[[], Any]) -> Any:
    """A model that is measured and not changed: that of an earlier call with the same source, or a new one.

    Args:
        kind: what opens it.
        source: id or folder; a folder that was written anew meanwhile is opened anew.
        options: what else decides what is opened.
        open_it: opens it.
    """
    if _kept is None:
        return open_it()
    folder = Path(source)
    files = [file for file in folder.rglob("*") if file.is_file()] if folder.is_dir() else []
    state = sorted((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    key = (kind, str(folder.resolve()) if files else str(source), repr(options), tuple(state))
    found = _kept.pop(key) if key in _kept else open_it()
    _kept[key] = found
    while len(_kept) > 1 and sum(map(_size, _kept.values())) > KEPT_BYTES:
        _kept.popitem(last=False)
    return found


def _size(model: Any) -> int:
    """Bytes of the weights of a model."""
    return sum(weights.numel() * weights.element_size() for weights in model.parameters())


def trainable(auto_class: str, source: Any, **options: Any) -> Any:
    """A model that is free to be trained: opened anew, copied from a live one, or with random weights of a config.

    Args:
        auto_class: name in transformers.
        source: a Hub id or folder, a live model, or a configuration.
        **options: for ``from_pretrained``, of an id or folder only.

    Raises:
        ValueError: as :func:`open_pretrained`; or something else than these.
    """
    import transformers

    if isinstance(source, (str, Path)):
        return open_pretrained(auto_class, source, lacking="take", to_train=True, **options)
    if is_a(source, "transformers", "PretrainedConfig"):
        with opening_explained(type(source).__name__):
            return getattr(transformers, auto_class).from_config(copy.deepcopy(source), trust_remote_code=False)
    if not is_live(source):
        raise ValueError(
            f"Expected {WANTED[auto_class]}: an id, a folder, a live model or a configuration; got "
            f"{type(source).__name__}."
        )
    return copy.deepcopy(source)
