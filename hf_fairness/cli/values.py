"""What an option takes: values of a YAML file against its type, numbers against its range."""

from __future__ import annotations

import json
import math
import re
import types
from collections.abc import Callable
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
    from huggingface_hub.dataclasses import type_validator

    for reading in (value, _each(_number, value, text), _each(_text, value, text)):
        try:
            type_validator("", reading, Union[tuple(map(_choices, _parts(kind)))])  # noqa: UP007 - of as many as there are
        except TypeError:
            continue
        return reading
    hint = f"; write '{text}' in quotes for the text" if isinstance(value, bool) and str in _parts(kind) else ""
    raise Misfit(f"{describe(kind)}{hint}")


def _parts(kind: Any) -> tuple[Any, ...]:
    """The types of a union, or the type."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _choices(kind: Any) -> Any:
    """The values of an enumeration in its place: a file holds these."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Literal[tuple(member.value for member in kind)]
    return kind


def _each(read: Callable[[Any, Any], Any], value: Any, text: Any) -> Any:
    """A value read in another way, or every item of a list or mapping."""
    if isinstance(value, list):
        return [read(*pair) for pair in zip(value, text, strict=True)]
    if isinstance(value, dict):
        return {key: read(item, item) for key, item in value.items()}
    return read(value, text)


def _number(value: Any, text: Any) -> Any:
    """As a flag gives it: content keys tell 4 from 4.0."""
    plain = isinstance(value, (int, float, str)) and not isinstance(value, bool)
    return float(str(text)) if plain and _NUMBER.fullmatch(str(text)) else value


def _text(value: Any, text: Any) -> Any:
    return value if value is None or isinstance(value, bool) else text


_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", type(None): "null"}


def describe(kind: Any) -> str:
    """What a type takes, in words.

    Example:
        >>> describe(int | None), describe(list[float])
        ('a whole number or null', 'a list, each a number')
    """
    return " or ".join(dict.fromkeys(words for part in _parts(kind) if (words := _describe(_choices(part)))))


def _describe(kind: Any) -> str:
    inside = get_args(kind)
    if get_origin(kind) is list:
        return f"a list, each {describe(inside[0])}"
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, inside))}"
    return "a mapping" if dict in (kind, get_origin(kind)) else _WORDS.get(kind, "")


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


def _check_number(name: str, number: float, value: Any) -> None:
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
    raise ValueError(f"{name} is {shown(value)}, expected {wanted}.")


def shown(value: Any, length: int = 60) -> str:
    """A value for a message, as YAML has it, cut where it is long."""
    if isinstance(value, int) and abs(value) >= 10**length:  # writing it out may take for ever
        return f"a number of more than {length} digits"
    written = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return written if len(written) <= length else f"{written[:length]}..."
