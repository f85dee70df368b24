"""Labels that a sequence classifier gives to pairs of texts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_fairness._encoder_adapters import is_a, model_max_length, name_of
from hf_fairness._processes import one_thread_after_fork
from hf_fairness.utils import FairnessWarning, progress

EXPECTED = (
    "a Hub id or folder of a sequence classifier, a live one with tokenizer=..., or a function of two lists of texts"
)
Names = Mapping[Any, str] | Sequence[str]


def classify_pairs(
    model: Any,
    first: Sequence[str],
    second: Sequence[str],
    *,
    tokenizer: Any = None,
    batch_size: int = 32,
    device: Any = None,
    max_length: int | None = None,
    show_progress: bool | None = None,
) -> tuple[list[Any], dict[int, str], str]:
    """The most probable class of each pair of texts.

    Args:
        model: a Hub id, a folder, a transformers (or PEFT) model for sequence classification, or a function that
            maps the two lists to one label per pair.
        first: first text of each pair.
        second: second text of each pair.
        tokenizer: for a live model; None looks where the model came from.
        batch_size: pairs per forward pass; batches are sorted by length.
        device: None means where the model is.
        max_length: tokens of a pair; None means what the model can take.
        show_progress: None means on a terminal, on the main process.

    Returns:
        Class ids (what a function returned, as it is) in input order; the names of the classes in the model's
        configuration; the name of the model.

    Raises:
        TypeError: no model.
        ValueError: a model that does not open, without classes, or without a tokenizer; lists of different lengths.
    """
    if len(first) != len(second) or not len(first):
        raise ValueError(f"Pairs need as many first as second texts, at least one; got {len(first)} and {len(second)}.")
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1; got {batch_size}.")
    if isinstance(model, (str, Path)):
        live, found = _open(str(model), tokenizer)
        name = Path(model).name if Path(model).exists() else str(model)
    elif is_a(model, "transformers", "PreTrainedModel") or is_a(model, "peft", "PeftModel"):
        live, found, name = model, _tokenizer(model, tokenizer), name_of(model)
    elif callable(model) and not isinstance(model, type) and not is_a(model, "torch.nn", "Module"):
        return _call(model, first, second), {}, getattr(model, "__name__", type(model).__name__)
    else:
        raise TypeError(f"model is no classifier of pairs: got {type(model).__name__}. Expected {EXPECTED}.")
    names = {int(number): str(label) for number, label in (getattr(live.config, "id2label", None) or {}).items()}
    run = {"batch_size": batch_size, "device": device, "max_length": max_length, "show_progress": show_progress}
    return _forward(live, found, [list(first), list(second)], name, **run), names, name


def name_labels(classes: Sequence[Any], names: Names | None) -> list[str]:
    """Names of labels that were given as ids.

    Args:
        classes: names, or ids: whole numbers, also written as text or as float.
        names: name of each id, a list or a mapping; None: classes must be names already.

    Returns:
        One name per entry.

    Raises:
        ValueError: an id without a name, or a value that is neither id nor name.

    Example:
        >>> name_labels([1, "0", 1.0, "neutral"], ["entailment", "neutral"])
        ['neutral', 'entailment', 'neutral', 'neutral']
    """
    if names is None:
        table: dict[int, str] = {}
    elif isinstance(names, Mapping):
        table = {int(number): str(name) for number, name in names.items()}
    else:
        table = dict(enumerate(names))
    return [_name(value, place, table) for place, value in enumerate(classes)]


def _name(value: Any, place: int, table: Mapping[int, str]) -> str:
    """The name of one label."""
    if isinstance(value, str):
        text = value.strip()
        if not text.lstrip("-").isdecimal():
            return text
        number: Any = int(text)
    else:
        number = value
    try:
        whole = int(number)
    except (TypeError, ValueError, OverflowError):  # None, NaN, infinity
        whole = None
    if whole is None or whole != number or isinstance(number, bool):
        raise ValueError(f"Row {place} has the label {value!r}: expected the name or the whole-number id of a label.")
    if whole not in table:
        raise ValueError(
            f"Row {place} has the label id {whole}, which has no name. Named ids: {sorted(table) or 'none'}. "
            "Say what ids mean with label_names=[...]."
        )
    return table[whole]


def _call(function: Callable[..., Any], first: Sequence[str], second: Sequence[str]) -> list[Any]:
    """Labels from a function."""
    result = function(list(first), list(second))
    labels = result.tolist() if hasattr(result, "tolist") else list(result)
    if len(labels) != len(first):
        raise ValueError(f"The function returned {len(labels)} labels for {len(first)} pairs.")
    return labels


def _open(name: str, tokenizer: Any) -> tuple[Any, Any]:
    """A classifier and its tokenizer from a folder or the Hub."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    try:
        model, loaded = AutoModelForSequenceClassification.from_pretrained(
            name, trust_remote_code=False, output_loading_info=True
        )
        tokens = AutoTokenizer.from_pretrained(name, trust_remote_code=False) if tokenizer is None else tokenizer
    except Exception as error:
        raise ValueError(f"{name} does not open as a sequence classifier: {error} Expected {EXPECTED}.") from error
    if loaded["missing_keys"]:
        warnings.warn(
            f"{name}: {len(loaded['missing_keys'])} weights are not in the checkpoint and were drawn at random, for "
            f"example {sorted(loaded['missing_keys'])[0]}. It was not trained as a classifier: its accuracy is chance.",
            FairnessWarning,
            stacklevel=4,
        )
    return model.eval(), tokens


def _tokenizer(model: Any, tokenizer: Any) -> Any:
    """The tokenizer given, or the one from where the model came from."""
    if tokenizer is not None:
        return tokenizer
    from transformers import AutoTokenizer

    try:
        if not getattr(model, "name_or_path", ""):
            raise ValueError("the model does not say where it came from")
        return AutoTokenizer.from_pretrained(model.name_or_path)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"{type(model).__name__} needs a tokenizer and none was found: {error}. Pass tokenizer=...."
        ) from error


def _forward(
    model: Any,
    tokenizer: Any,
    texts: list[list[str]],
    name: str,
    *,
    batch_size: int,
    device: Any,
    max_length: int | None,
    show_progress: bool | None,
) -> list[int]:
    """Class ids, in batches of pairs of similar length; training mode is put back."""
    import torch
    from transformers import DataCollatorWithPadding

    limit = model_max_length(model, tokenizer) if max_length is None else max_length
    fields = tokenizer(*texts, **({} if limit is None else {"truncation": True, "max_length": limit}))
    collate = DataCollatorWithPadding(tokenizer)
    order = sorted(range(len(texts[0])), key=lambda place: len(fields["input_ids"][place]))
    starts, target = range(0, len(order), batch_size), model.device if device is None else torch.device(device)
    result, was_training = [-1] * len(order), model.training
    one_thread_after_fork()
    model.to(target)
    model.eval()
    try:
        for start in progress(starts, "Classifying", show_progress=show_progress, unit="batch"):
            places = order[start : start + batch_size]
            batch = collate([{key: values[place] for key, values in fields.items()} for place in places])
            with torch.no_grad():
                logits = getattr(model(**batch.to(target)), "logits", None)
            if logits is None or logits.ndim != 2 or logits.shape[1] < 2:
                raise ValueError(f"{name} ({type(model).__name__}) gives no logits of two or more classes per pair.")
            if not torch.isfinite(logits).all():
                raise ValueError(f"{name} gives NaN or infinite logits. Check the model's weights and dtype.")
            for place, number in zip(places, logits.argmax(dim=1).tolist(), strict=True):
                result[place] = number
    finally:
        model.train(was_training)
    return result
