"""Flags over YAML over presets over defaults, read from dataclasses; what no option takes is an error that says why."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import difflib
import inspect
import json
import math
import re
import types
from collections import ChainMap
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml

from hf_fairness._secrets import HIDDEN, SECRET, Secret, redact
from hf_fairness.cli.flags import speak_of
from hf_fairness.sources import check_place, missing
from hf_fairness.utils import did_you_mean

#: What `--help` shows first, in this order; the rest follows as the dataclasses have it.
_FIRST = (
    *("help", "help_all", "config", "demo", "model_name_or_path", "dataset", "dataset_config", "dataset_split"),
    *("text_column", "label_column", "max_rows", "method", "output_dir"),
)
#: Letters of a message; the choices of some options of the Trainer fill a page.
_LONGEST = 400
#: What every command with ``--attribute`` says at the end of its help.
_ATTRIBUTE = """--attribute takes gender, religion, or a JSON file of yours with groups and their words. A whole one:
  python -m pydoc hf_fairness.attributes.load_attribute"""


def parse(
    config_classes: Sequence[type[Any]],
    argv: Sequence[str],
    *,
    prog: str,
    description: str,
    positional: str | None = None,
    further: str = "",
    common: Sequence[str] = (),
    epilog: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    demo: Mapping[str, Any] | None = None,
    refused: Mapping[str, str] | None = None,
) -> tuple[Any, ...]:
    """Build one instance of each dataclass from the words of a command line.

    A value is taken from the flags; else from the YAML file; else, where the option ``demo`` is on, from ``demo``; else
    from ``defaults``; else from the dataclass.

    Args:
        config_classes: dataclasses whose fields become flags, as `transformers.HfArgumentParser` makes them.
        argv: the words after the sub-command. `--config FILE.yaml` gives values that flags override.
        prog: name of the command in messages.
        description: first paragraph of the help text.
        positional: a field whose value may be given as the first word, without its flag.
        further: a list field that takes the words between that and the first option; without it they are refused.
        common: inherited fields that `--help` shows as well; the rest of them need `--help-all`.
        epilog: last part of the help text, printed with its line ends.
        defaults: what this command has in the place of defaults of the dataclasses.
        demo: settings of the demo, however it is switched on.
        refused: options that other commands have and this one cannot, with the reason.

    Returns:
        One instance per class, in order.

    Raises:
        ValueError: the YAML file is no mapping, holds an unknown key (the message names the nearest known one) or a
            value that its option does not take; a number out of range; an empty text.
        SystemExit: wrong usage or a request for help, as argparse does.
    """
    words = list(argv)
    if positional is not None and words and not words[0].startswith("-"):
        n = next((place for place, word in enumerate(words) if word.startswith("-")), len(words)) if further else 1
        words[0:n] = [f"--{positional}", words[0], *([f"--{further}", *words[1:n]] if n > 1 else [])]
    kinds, ranges = option_kinds(config_classes), option_ranges(config_classes)
    speak_of(kinds)
    if "attribute" in kinds:
        epilog = "\n".join([*([epilog.rstrip(), ""] if epilog else []), _ATTRIBUTE])
    parser = _parser(config_classes, prog=prog, description=description, epilog=epilog)
    parser.usage = (
        f"{prog} {positional.upper() + ' ' if positional else ''}{'[MODEL ...] ' if further else ''}[options]"
    )
    if "--help-all" in words:
        words = ["--help"]
    else:
        _hide_inherited(parser, config_classes, common)
    own = {action.dest: action.default for action in parser._actions}

    path = _config(parser, words)
    in_file = {} if path is None else read_yaml(Path(path), kinds)
    _preset(parser, {**(defaults or {}), **in_file})
    required = [action for action in parser._actions if action.required]
    for action in required:  # a misspelt one is named before it is found to lack
        action.required = False
    namespace, unknown = parser.parse_known_args(words)
    if unknown:
        parser.error(_unknown_words(parser, unknown, refused or {}))
    if lacking := [action.option_strings[0] for action in required if getattr(namespace, action.dest) is None]:
        parser.error(f"the following arguments are required: {', '.join(lacking)}")
    if demo and getattr(namespace, "demo", False):
        ours = {name: value for name, value in demo.items() if name not in in_file}
        _preset(parser, {name: read_value(value, str(value), kinds[name]) for name, value in ours.items()})
        namespace = parser.parse_args(words)
    taken = vars(namespace)
    source = {name: f"--config {path}: " for name in in_file if taken[name] in (in_file[name],)}  # nan equals no other
    for name in kinds:
        try:
            check_value(name, taken[name], own[name], ranges)
            if name != "model_name_or_path" or not taken.get("base_url"):  # a server has names of its own
                check_place(name, taken[name])
        except ValueError as error:
            raise ValueError(f"{source.get(name, '--')}{error}") from error
    return _build(taken, config_classes, source)


def _parser(classes: Sequence[type[Any]], *, prog: str, description: str, epilog: str | None) -> Any:
    """A parser of the fields, of `--config` and of `--help-all`."""
    from transformers import HfArgumentParser

    parser: Any = HfArgumentParser(
        classes,
        prog=prog,
        description=description,
        epilog=epilog,
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    kinds = option_kinds(classes)

    def refuse(message: str) -> None:
        if message.startswith("argument --push_to_hub"):
            names = [f"--{name}" for name in ("hub_model_id", "hub_dataset_id") if name in kinds]
            message = f"--push_to_hub takes no name; {' or '.join(names)} names the repository"
        message = re.sub(r"'([^']{60})[^']+'", r"'\1...'", message)  # a number of thousands of digits
        message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]} ..."
        parser.exit(2, redact(f"{parser.format_usage()}{prog}: error: {message}\n"))

    parser.error = refuse
    for action in parser._actions:
        if kinds.get(action.dest) == bool | None and action.nargs is None:  # --hub_private_repo alone means yes too
            action.nargs, action.const = "?", True
        if SECRET.search(action.dest):  # so that no message repeats it
            action.type = Secret
    parser.add_argument("--config", help="YAML file with values for these options; flags win over it.")
    parser.add_argument("--help-all", action="store_true", help="Show every option, those of the Trainer too.")
    for group in parser._action_groups:
        group._group_actions.sort(
            key=lambda action: _FIRST.index(action.dest) if action.dest in _FIRST else len(_FIRST)
        )
    return parser


def _build(told: Mapping[str, Any], classes: Sequence[type[Any]], source: Mapping[str, str]) -> tuple[Any, ...]:
    """The dataclasses; what they refuse is said to be of the file where the message names an option of the file."""
    try:
        return tuple(
            cls(**{entry.name: told[entry.name] for entry in dataclasses.fields(cls) if entry.init}) for cls in classes
        )
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        text = str(error) if isinstance(error, ValueError) else f"the options do not fit together: {error!r}"
        where = next((place for name, place in source.items() if re.search(rf"\b{name}\b", text)), "")
        raise ValueError(f"{where}{text}") from error


def _config(parser: argparse.ArgumentParser, words: Sequence[str]) -> Any:
    """The file that `--config` names, or None."""
    files = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    files.error = parser.error  # type: ignore[method-assign]
    files.add_argument("--config")
    return files.parse_known_args(words)[0].config


class _Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Defaults beside the options that have one, but for secrets, and the line ends of the epilog kept."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        hidden = action.default in (None, "") or SECRET.search(action.dest)
        return action.help if hidden else super()._get_help_string(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n  " in text else super()._fill_text(text, width, indent)


def _hide_inherited(parser: argparse.ArgumentParser, classes: Sequence[type[Any]], common: Sequence[str]) -> None:
    ours = [base for cls in classes for base in cls.__mro__ if base.__module__.startswith("hf_fairness.")]
    own = {name for cls in [*classes, *ours] for name in inspect.get_annotations(cls)} | set(common)
    for action in parser._actions:
        if action.dest not in own | {"help", "config", "help_all"}:
            action.help = argparse.SUPPRESS


def option_kinds(classes: Sequence[type[Any]]) -> dict[str, Any]:
    """Type of every option by name."""
    hints = {name: kind for cls in classes for name, kind in get_type_hints(cls).items()}
    return {entry.name: hints[entry.name] for cls in classes for entry in dataclasses.fields(cls) if entry.init}


def read_yaml(path: Path, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a YAML file, each of the type that its option takes.

    Args:
        path: the file.
        kinds: type of every option by name.

    Returns:
        Value by name; secrets are `Secret`.

    Raises:
        ValueError: no file, no mapping, an unknown or repeated key, or a value that the option does not take.
        OSError: the file can not be read.
    """
    where = f"--config {path}"
    values, texts = _load_yaml(path, where)
    found = {}
    for key, value in values.items():
        if key not in kinds:
            raise ValueError(f"{where}: unknown option {key!r}.{did_you_mean(str(key), kinds)}")
        secret = SECRET.search(key)
        try:
            found[key] = read_value(value, texts[key], kinds[key])
        except ValueError as misfit:
            raise ValueError(f"{where}: {key} is {HIDDEN if secret else shown(value)}, expected {misfit}.") from None
        if secret and isinstance(found[key], str):
            found[key] = Secret(found[key])
    return found


def _load_yaml(path: Path, where: str) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The mapping of a YAML file, and its values as they are written."""
    if not path.is_file():
        raise ValueError(f"{where}: {missing(str(path), 'a YAML file')}")
    try:
        text = path.read_text(encoding="utf-8-sig")
        values, texts, node = yaml.safe_load(text), yaml.load(text, Loader=yaml.BaseLoader), yaml.compose(text)
    except UnicodeDecodeError as error:
        raise ValueError(f"{where}: not a text in UTF-8, so no YAML file.") from error
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = "" if mark is None else f" in line {mark.line + 1}"  # the message would show that, and a token in it
        raise ValueError(f"{where}: not valid YAML{place}: {problem or 'unreadable'}.") from None
    except (ValueError, RecursionError, TypeError) as error:  # a number of 5,000 digits, 10,000 brackets, {{a: b}: c}
        raise ValueError(f"{where}: not valid YAML: {redact(str(error))[:200]}") from error
    if not isinstance(values, dict):
        got = "an empty file" if values is None else type(values).__name__
        raise ValueError(f"{where}: expected `option: value` lines, got {got}.")
    names = [str(key.value) for key, _ in getattr(node, "value", ())]
    repeated = sorted(name for name in names if names.count(name) > 1)
    if repeated:
        raise ValueError(f"{where}: {repeated[0]} is given twice.")
    return values, {key: texts.get(str(key), value) for key, value in values.items()}


def _preset(parser: argparse.ArgumentParser, values: Mapping[str, Any]) -> None:
    """Give options values that flags override."""
    for action in parser._actions:
        if action.dest in values:
            action.required = False
    parser.set_defaults(**values)


def _unknown_words(parser: argparse.ArgumentParser, unknown: Sequence[str], refused: Mapping[str, str]) -> str:
    """A message that names unknown flags, and never what is given to them: it may be a mistyped flag's token."""
    named = [word.split("=")[0] for word in unknown if word.startswith("-")]
    if not named:
        return f"unexpected words: {' '.join(unknown)} (a value belongs behind its option; quote one with blanks)"
    for name in named:
        if name.removeprefix("--").removeprefix("no_") in refused:
            return f"{name} cannot be set here: {refused[name.removeprefix('--').removeprefix('no_')]}."
    flags = [flag for action in parser._actions for flag in action.option_strings]
    near = {
        name: difflib.get_close_matches(name, flags, n=1) or [flag for flag in flags if flag.startswith(name)][:1]
        for name in named
    }
    hints = (name + "".join(f" (did you mean {flag}?)" for flag in found) for name, found in near.items())
    return f"unknown option: {', '.join(hints)}"


#: YAML reads `1e-4` as a text, since it lacks a point; on the command line it is a number.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

Range = tuple[float | None, float]
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
        "generator_gradient_accumulation_steps "
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
#: name -> (lowest or None, highest) of every option that takes numbers and does not bring its own, see `option_ranges`.
RANGES = {name: (low, high) for low, high, names in _RANGES for name in names.split()}
#: Texts that may be empty.
_MAY_BE_EMPTY = frozenset({"placeholder", "prefix"})


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
        ValueError: it is of another type; the text says which were wanted.
    """
    from huggingface_hub.dataclasses import type_validator

    wanted: Any = Union[tuple(map(_choices, _parts(kind)))]  # noqa: UP007 - of as many as there are
    for reading in _readings(value, text):
        with contextlib.suppress(TypeError):
            type_validator("", reading, wanted)
            return reading
    hint = f"; write '{text}' in quotes for the text" if isinstance(value, bool) and str in _parts(kind) else ""
    raise ValueError(f"{describe(kind)}{hint}")


def _readings(value: Any, text: Any) -> tuple[Any, ...]:
    """A value as YAML reads it, as the number of a flag (content keys tell 4 from 4.0), and as it is written."""
    if isinstance(value, list):
        return tuple(map(list, zip(*map(_readings, value, text), strict=True))) or ([],)
    if isinstance(value, dict):
        return value, {key: _readings(item, item)[1] for key, item in value.items()}, value
    if value is None or isinstance(value, bool):
        return value, value, value
    return value, float(str(text)) if _NUMBER.fullmatch(str(text)) else value, text


def _parts(kind: Any) -> tuple[Any, ...]:
    """The types of a union, or the type."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _choices(kind: Any) -> Any:
    """The values of an enumeration in its place: a file holds these."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Literal[tuple(member.value for member in kind)]
    return kind


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


def option_ranges(classes: Sequence[type[Any]]) -> dict[str, Range]:
    """Range of every option by name: that of `RANGES`, or which a dataclass or a parent says in its ``RANGES``."""
    return dict(ChainMap(*(vars(each).get("RANGES", {}) for cls in classes for each in cls.__mro__), RANGES))


def check_value(name: str, value: Any, default: Any, ranges: Mapping[str, Range] = RANGES) -> None:
    """Raise on an empty text and on a number out of range.

    Args:
        name: of the option.
        value: of one type that it takes.
        default: always taken.
        ranges: of the options that take numbers, by name.

    Raises:
        ValueError: the text says what came and what was wanted.
    """
    if value is None or value == default:
        return
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and not item.strip() and name not in _MAY_BE_EMPTY:
            raise ValueError(f"{name} is empty, expected a text.")
        wanted = _wanted(item, *ranges.get(name, (-_INTS, _INTS)))
        if wanted is not None:
            raise ValueError(f"{name} is {shown(value)}, expected {wanted}.")


def _wanted(number: Any, low: float | None, high: float) -> str | None:
    """What a number should have been; None for one in the range, and for what is no number."""
    if not isinstance(number, (int, float)) or isinstance(number, bool):
        return None
    rules = {
        "a finite number": isinstance(number, int) or math.isfinite(number),
        "more than 0": low is not None or number > 0,
        f"{low} or more": low is None or number >= low,
        f"{high} or less": number <= high,
    }
    return next((words for words, kept in rules.items() if not kept), None)


def shown(value: Any, length: int = 60) -> str:
    """A value for a message, as YAML has it, cut where it is long."""
    if isinstance(value, int) and abs(value) >= 10**length:  # writing it out may take for ever
        return f"a number of more than {length} digits"
    written = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return written if len(written) <= length else f"{written[:length]}..."
