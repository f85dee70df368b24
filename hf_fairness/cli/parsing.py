"""Flags over YAML over presets over defaults, read from dataclasses; what no option takes is an error that says why."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import inspect
import re
import types
from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import yaml
from transformers.hf_argparser import HfArgumentParser, string_to_bool

from hf_fairness._secrets import SECRET, Secret, redact
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
    positional: str = "",
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
    if positional and words and not words[0].startswith("-"):
        n = next((place for place, word in enumerate(words) if word.startswith("-")), len(words)) if further else 1
        words[0:n] = [f"--{positional}", words[0], *([f"--{further}", *words[1:n]] if n > 1 else [])]
    kinds = option_kinds(config_classes)
    speak_of(kinds)
    if "attribute" in kinds:
        epilog = "\n".join([*([epilog.rstrip(), ""] if epilog else []), _ATTRIBUTE])
    parser = _Parser(
        config_classes,
        shown=kinds if "--help-all" in words else {*_declared(config_classes), *common},
        prog=prog,
        usage=f"{prog} {positional.upper() + ' ' if positional else ''}{'[MODEL ...] ' if further else ''}[options]",
        description=description,
        epilog=epilog,
    )
    parser.set_defaults(**(defaults or {}))
    taken, unknown = parser.parse_known_args(words)
    if unknown:
        parser.error(_unknown_words(unknown, parser.flags, refused or {}))
    in_file = {} if taken.config is None else read_file(parser, Path(taken.config), kinds)
    parser.set_defaults(**in_file)
    taken = parser.parse_args(words)
    if demo and taken.demo:
        first = [f"--{name}={value}" for name, value in demo.items() if name not in in_file]
        taken = parser.parse_args([*first, *words])
    lacking = [flag for name, flag in parser.needed.items() if getattr(taken, name) is None]
    if lacking:
        parser.error(f"the following arguments are required: {', '.join(lacking)}")
    return _build(vars(taken), config_classes, in_file)


class _Parser(HfArgumentParser):  # type: ignore[misc]  # transformers has no types
    """Flags of the fields of dataclasses, `--config` and `--help-all`.

    What is ``needed`` is asked for later: an option that is misspelt is to be named before it is found to lack.
    """

    #: The file whose values are read, where they are no words of the command line.
    file: Path | None = None

    def __init__(self, classes: Sequence[type[Any]], *, shown: Collection[str], **how: Any) -> None:
        """Make the flags; ``shown`` are the names of those that the help has."""
        self.shown, self.flags, self.needed = {"-h", "config", "help-all", *shown}, list[str](), dict[str, str]()
        super().__init__(classes, formatter_class=_Formatter, allow_abbrev=False, **how)
        self.add_argument("--config", help="YAML file with values for these options; flags win over it.")
        self.add_argument("--help-all", action="help", help="Show every option, those of the Trainer too.")

    def add_argument(self, *flags: str, **how: Any) -> Any:
        """As argparse does, with what all our options share."""
        self.flags += flags
        name = how.get("dest", flags[0].removeprefix("--"))
        if name not in self.shown:
            how["help"] = argparse.SUPPRESS
        if how.get("type") is string_to_bool:  # --hub_private_repo alone means yes, as options with a default do
            how |= {"nargs": "?", "const": True}
        if SECRET.search(name):  # so that no message repeats it
            how["type"] = Secret
        if how.pop("required", False):
            self.needed[name] = flags[0]
        return super().add_argument(*flags, **how)

    def error(self, message: str) -> None:
        """Say what is wrong with the words, and end; or raise what is wrong with the file."""
        message = re.sub(r"^argument (--\w+)[^:]*: ", r"\1: ", message)
        if message.startswith("--push_to_hub: "):
            names = [flag for flag in ("--hub_model_id", "--hub_dataset_id") if flag in self.flags]
            message = f"--push_to_hub takes no name; {' or '.join(names)} names the repository"
        message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]} ..."
        if self.file is not None:
            raise ValueError(f"--config {self.file}: {message}")
        self.exit(2, redact(f"{self.format_usage()}{self.prog}: error: {message}\n"))


class _Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """What matters most comes first; defaults stand beside the options, but for secrets; line ends of examples stay."""

    def add_arguments(self, actions: Iterable[argparse.Action]) -> None:
        order = {name: place for place, name in enumerate(_FIRST)}
        super().add_arguments(sorted(actions, key=lambda action: order.get(action.dest, len(order))))

    def _get_help_string(self, action: argparse.Action) -> str | None:
        hidden = action.default in (None, "") or SECRET.search(action.dest)
        return action.help if hidden else super()._get_help_string(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n  " in text else super()._fill_text(text, width, indent)


def _declared(classes: Sequence[type[Any]]) -> set[str]:
    """Names of the options that we declare, and of all that a class itself does: the rest is inherited from others."""
    ours = [base for cls in classes for base in cls.__mro__ if base.__module__.startswith("hf_fairness.")]
    return {name for cls in [*classes, *ours] for name in inspect.get_annotations(cls)}


def option_kinds(classes: Sequence[type[Any]]) -> dict[str, Any]:
    """Type of every option by name."""
    hints = {name: kind for cls in classes for name, kind in get_type_hints(cls).items()}
    return {entry.name: hints[entry.name] for entry in _fields(classes)}


def _fields(classes: Sequence[type[Any]]) -> list[dataclasses.Field[Any]]:
    """Every field that is an option."""
    return [entry for cls in classes for entry in dataclasses.fields(cls) if entry.init]


def _unknown_words(unknown: Sequence[str], flags: Sequence[str], refused: Mapping[str, str]) -> str:
    """A message that names unknown flags, and never what is given to them: it may be a mistyped flag's token."""
    named = {word.split("=")[0]: word for word in unknown if word.startswith("-")}
    for flag in named:
        option = flag.removeprefix("--").removeprefix("no_")
        if option in refused:
            return f"{flag} cannot be set here: {refused[option]}."
    if named:
        return " ".join(f"unknown option {flag}.{did_you_mean(flag, flags)}" for flag in named)
    return f"unexpected words: {' '.join(unknown)} (a value belongs behind its option; quote one with blanks)"


#: What a value of a file is called that the words of a command line cannot say, or not of every option.
_SHAPES: dict[type, str] = {type(None): "null", dict: "a mapping", list: "a list"}


def read_file(parser: _Parser, path: Path, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a YAML file: words of the command line, as they are written there, but for lists, mappings and null.

    Args:
        parser: of the command line.
        path: the file.
        kinds: type of every option by name.

    Returns:
        Value by name; secrets are `Secret`.

    Raises:
        ValueError: no file, no mapping, an unknown or repeated key, or a value that the option does not take.
    """
    parser.file = path
    words, names = list[str](), list[str]()
    for name, value, node in _entries(parser, path):
        if name not in kinds:
            parser.error(f"unknown option {name!r}.{did_you_mean(name, kinds)}")
        if name in names:
            parser.error(f"--{name} is given twice.")
        names.append(name)
        parts = get_args(kinds[name]) if get_origin(kinds[name]) in (Union, types.UnionType) else [kinds[name]]
        shapes = {get_origin(part) or part for part in parts}
        nested = isinstance(value, list) and any(isinstance(item, (list, dict)) for item in value)
        if type(value) in _SHAPES and (nested or type(value) not in shapes):
            more = " or a list of them" if list in shapes else ""
            parser.error(f"--{name} is {_SHAPES[type(value)]}, expected a single value{more}.")
        elif type(value) not in _SHAPES:
            switch = type(value) is bool and bool in shapes  # YAML has more words for them than a flag
            words.append(f"--{name}={value if switch else node.value}")
        elif value and shapes <= {list, type(None)}:
            words += [f"--{name}", *(item.value for item in node.value)]
        else:
            parser.set_defaults(**{name: _nested(parser, name, value, kinds[name])})
    taken = vars(parser.parse_args(words))
    parser.file = None
    return {name: taken[name] for name in names}


def _nested(parser: _Parser, name: str, value: Any, kind: Any) -> Any:
    """A mapping or a list for an option that takes words too, if what is inside has the types that the option takes."""
    from huggingface_hub.dataclasses import type_validator

    readings = [value]
    if isinstance(value, dict):  # where a number is wanted a whole one will do
        readings.append({key: float(item) if type(item) is int else item for key, item in value.items()})
    for reading in readings:
        with contextlib.suppress(TypeError):
            type_validator(name, reading, kind)
            return reading
    raise ValueError(f"--config {parser.file}: --{name} is {value}, expected {kind}.")


class _Loader(yaml.SafeLoader):
    """Reads `1e-4` as the number that it is on a command line; YAML wants a point in it."""


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[+-]?\d+[eE][+-]?\d+$"), list("+-0123456789"))


def _entries(parser: _Parser, path: Path) -> list[tuple[str, Any, Any]]:
    """Keys of a YAML file, their values, and the nodes of these, which hold them as they are written."""
    if not path.is_file():
        parser.error(missing(str(path), "a YAML file"))
    try:
        loader = _Loader(path.read_text(encoding="utf-8-sig"))
        document = loader.get_single_node()
        if not isinstance(document, yaml.MappingNode):
            raise ValueError(f"expected `option: value` lines, got {getattr(document, 'id', 'an empty file')}")
        read = partial(loader.construct_object, deep=True)
        return [(str(read(key)), read(node), node) for key, node in document.value]
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = "" if mark is None else f" in line {mark.line + 1}"  # the message would show that, and a token in it
        problem = problem or str(error).partition("\n")[0]
        raise ValueError(f"--config {path}: not valid YAML{place}: {problem}.") from None


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
#: Letters of a number in a message.
_LONGEST_NUMBER = 60
#: Texts that may be empty.
_MAY_BE_EMPTY = frozenset({"placeholder", "prefix"})


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
    low, high = ranges.get(name, (-_INTS, _INTS))
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and not item.strip() and name not in _MAY_BE_EMPTY:
            raise ValueError(f"--{name} is empty, expected a text.")
        if isinstance(item, (int, float)) and not isinstance(item, bool):
            enough = item > 0 if low is None else item >= low
            if not (enough and item <= high):  # as it is with nan
                least = "more than 0" if low is None else f"{low} or more"
                wanted = f"{high} or less" if enough else least
                raise ValueError(f"--{name} is {str(item)[:_LONGEST_NUMBER]}, expected {wanted}.")


def _build(told: Mapping[str, Any], classes: Sequence[type[Any]], in_file: Mapping[str, Any]) -> tuple[Any, ...]:
    """The dataclasses; an error says that it is of the file where it names an option that is from there."""
    ranges = option_ranges(classes)
    try:
        for entry in _fields(classes):
            check_value(entry.name, told[entry.name], entry.default, ranges)
            if entry.name != "model_name_or_path" or not told.get("base_url"):  # a server has names of its own
                check_place(entry.name, told[entry.name])
        return tuple(cls(**{entry.name: told[entry.name] for entry in _fields([cls])}) for cls in classes)
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        text = str(error) if isinstance(error, ValueError) else f"the options do not fit together: {error!r}"
        from_file = [name for name, value in in_file.items() if told[name] in (value,)]  # nan is no equal of nan
        ours = any(re.search(rf"\b{name}\b", text) for name in from_file)
        raise ValueError(f"--config {told['config']}: {text}" if ours else text) from error
