"""Labels that a sequence classifier gives to pairs of texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_fairness._encoder_adapters import is_a
from hf_fairness.measure.classifier.classifier import Classifier, PassOptions

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
        device: None means where a live model is, and accelerate's device for one that is opened here.
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
    if callable(model) and not isinstance(model, type) and not is_a(model, "torch.nn", "Module"):
        return _call(model, first, second), {}, getattr(model, "__name__", type(model).__name__)
    if not isinstance(model, (str, Path)) and not is_a(model, "torch.nn", "Module"):
        raise TypeError(f"model is no classifier of pairs: got {type(model).__name__}. Expected {EXPECTED}.")
    options: PassOptions = {
        "tokenizer": tokenizer,
        "device": device,
        "max_length": max_length,
        "show_progress": show_progress,
        "distributed": False,
    }
    opened = Classifier(model, **options)
    classes = opened.logits(first, second, batch_size=batch_size).argmax(axis=1)
    return classes.tolist(), opened.label_names, opened.name


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
