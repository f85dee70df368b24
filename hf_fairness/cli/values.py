"""What an option takes: values of a YAML file against its type, numbers against its range."""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

#: YAML reads `1e-4` as a text, since it lacks a point; on the command line it is a number.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

_INTS = 2**31 - 1
_MANY = 10**7
_FEW = 10_000
#: (lowest, highest, names); a lowest of None means: more than 0.
_RANGES: tuple[tuple[float | None, float, str], ...] = (
    (0, 2**32 - 1, "seed data_seed"),
    (1, _MANY, "n_bootstrap n_samples"),
    (1, _FEW, "n_init n_iterations n_seeds attempts concurrency num_proc heads layers num_beams generation_num_beams"),
    (1, 10**6, "d_model ffn hidden upsample vocab_size texts_per_request lora_r generator_lora_r lora_alpha"),
    (2, _FEW, "n_bias_indicators"),
    (1, 2, "experiments"),
    (
        1,
        _INTS,
        "added_sizes batch_size per_device_eval_batch_size per_device_train_batch_size "
        "generator_per_device_train_batch_size "
        "sampling_batch_size score_batch_size translation_batch_size gradient_accumulation_steps "
        "eval_accumulation_steps early_stopping_patience patience epochs score_after_epochs generation_max_length "
        "max_candidates max_length max_new_tokens max_pairs max_rows max_source_length max_tokens "
        "min_pairs n_generated n_shallow save_total_limit top_k validation_rows torch_empty_cache_steps "
        "ddp_bucket_cap_mb dataloader_prefetch_factor ddp_timeout max_length_ratio",
    ),
    (0, _FEW, "average_checkpoints dataloader_num_workers retries show_texts"),
    (-1, _INTS, "max_steps local_rank"),
    (0, _INTS, "eval_delay warmup_steps"),
    (None, _INTS, "eval_steps logging_steps save_steps"),
    (
        None,
        _INTS,
        "num_train_epochs finetune_num_train_epochs shallow_num_train_epochs generator_num_train_epochs "
        "generator_later_num_train_epochs requests_per_minute",
    ),
    (None, _MANY, "timeout"),
    (0, _MANY, "backoff max_wait prompt_price completion_price temperature"),
    (None, 10**6, "learning_rate finetune_learning_rate generator_learning_rate shallow_learning_rate"),
    (0, 10**6, "learning_rate_mapping beta bias_weight max_grad_norm neftune_noise_alpha weight_decay adam_epsilon"),
    (
        0,
        1,
        "adam_beta1 adam_beta2 dropout lora_dropout label_smoothing_factor label_distribution factual_fractions "
        "counterfactual_fractions first_fractions max_auc_drop min_kept probability rate top_p warmup_ratio "
        "confidence_threshold",
    ),
    (0, 100, "percentile"),
)
#: name -> (lowest or None, highest) of every option that takes numbers.
RANGES = {name: (low, high) for low, high, names in _RANGES for name in names.split()}
#: Texts that may be empty.
_MAY_BE_EMPTY = frozenset({"placeholder", "prefix"})


class Misfit(ValueError):
    """A value that an option does not take; the text says what it takes."""


def read_value(value: Any, text: Any, kind: Any) -> Any:
    """A value of a YAML file as the option takes it.

    Numbers stand for their text where a text is wanted (``positive_label: 1``), as they do on the command line. Words
    that YAML reads as true and false do not: ``no`` may be Norwegian.

    Args:
        value: as YAML reads it.
        text: the same as it is written; a list of texts for a list.
        kind: type of the option.

    Returns:
        The value.

    Raises:
        Misfit: it is of another type; the text says which were wanted.
    """
    for part in sorted(_parts(kind), key=lambda part: part is str):  # a text takes numbers, so it comes last
        try:
            return _as(part, value, text)
        except Misfit:
            continue
    hint = f"; write '{text}' in quotes for the text" if isinstance(value, bool) and str in _parts(kind) else ""
    raise Misfit(f"{describe(kind)}{hint}")


def _parts(kind: Any) -> tuple[Any, ...]:
    """The types of a union, or the type."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _as(kind: Any, value: Any, text: Any) -> Any:
    """A value as one type takes it."""
    origin = get_origin(kind) or kind
    if origin is list:
        if not isinstance(value, list):
            raise Misfit
        texts = text if isinstance(text, list) else value
        inner = (get_args(kind) or (str,))[0]
        return [read_value(item, written, inner) for item, written in zip(value, texts, strict=True)]
    if origin is dict:
        if not isinstance(value, Mapping):
            raise Misfit
        _, inner = get_args(kind) or (str, Any)
        return {str(key): item if inner is Any else read_value(item, item, inner) for key, item in value.items()}
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        choices = get_args(kind) if origin is Literal else [member.value for member in kind]
        if not any(value == choice and type(value) is type(choice) for choice in choices):
            raise Misfit
        return value
    reader = _READERS.get(kind)
    if reader is None:  # an object that no file can hold
        raise Misfit
    return reader(value, text)


def _none(value: Any, text: Any) -> None:
    if value is not None:
        raise Misfit


def _bool(value: Any, text: Any) -> bool:
    if not isinstance(value, bool):
        raise Misfit
    return value


def _int(value: Any, text: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Misfit
    return value


def _float(value: Any, text: Any) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Misfit
    if abs(value) > 10**300:
        raise Misfit
    return float(value)  # as a flag gives it: content keys tell 4 from 4.0


def _str(value: Any, text: Any) -> str:
    if value is None or isinstance(value, (bool, list, Mapping)):
        raise Misfit
    return value if isinstance(value, str) else str(text)


_READERS: dict[Any, Callable[[Any, Any], Any]] = {
    type(None): _none,
    bool: _bool,
    int: _int,
    float: _float,
    str: _str,
    Any: lambda value, text: value,
}
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", type(None): "null"}


def describe(kind: Any) -> str:
    """What a type takes, in words.

    Example:
        >>> describe(int | None), describe(list[float])
        ('a whole number or null', 'a list, each a number')
    """
    return " or ".join(dict.fromkeys(words for part in _parts(kind) if (words := _describe(part))))


def _describe(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if origin is list:
        return f"a list, each {describe((get_args(kind) or (str,))[0])}"
    if origin is dict:
        return "a mapping"
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        choices = get_args(kind) if origin is Literal else [member.value for member in kind]
        return f"one of {', '.join(map(str, choices))}"
    return _WORDS.get(kind, "")


def check_value(name: str, value: Any, default: Any) -> None:
    """Raise on an empty text and on a number out of range.

    Args:
        name: of the option.
        value: of one type that it takes.
        default: always taken.

    Raises:
        ValueError: the text says what came and what was wanted.
    """
    if value is None or value is default or value == default:
        return
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and not item.strip() and name not in _MAY_BE_EMPTY:
            raise ValueError(f"{name} is empty, expected a text.")
        if isinstance(item, (int, float)) and not isinstance(item, bool):
            _check_number(name, item, value)


def _check_number(name: str, number: float, shown: Any) -> None:
    low, high = RANGES.get(name, (-_INTS, _INTS))
    if isinstance(number, float) and not math.isfinite(number):
        wanted = "a finite number"
    elif low is None and number <= 0:
        wanted = "more than 0"
    elif low is not None and number < low:
        wanted = f"{low} or more"
    elif number > high:
        wanted = f"{high} or less"
    else:
        return
    raise ValueError(f"{name} is {short(shown)}, expected {wanted}.")


def short(value: Any, length: int = 60) -> str:
    """A value for a message, cut where it is long."""
    if isinstance(value, int) and abs(value) >= 10**length:  # writing it out may take for ever
        return f"a number of more than {length} digits"
    shown = repr(value)
    return shown if len(shown) <= length else f"{shown[:length]}..."


def kind_of(value: Any) -> str:
    """The kind of a YAML value, in words."""
    names: Sequence[tuple[Any, str]] = (
        (type(None), "null"),
        (bool, "the truth value"),
        (int, "the number"),
        (float, "the number"),
        (str, "the text"),
        (list, "the list"),
        (Mapping, "the mapping"),
    )
    name = next((words for kind, words in names if isinstance(value, kind)), "the value")
    if value is None:
        return name
    return f"{name} {str(value).lower() if isinstance(value, bool) else short(value)}"
