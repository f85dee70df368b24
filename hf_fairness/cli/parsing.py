"""Flags over YAML over presets over defaults, read from dataclasses; what no option takes is an error that says why."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from hf_fairness._secrets import HIDDEN, SECRET, Secret, redact
from hf_fairness.cli.flags import speak_of
from hf_fairness.cli.values import Misfit, check_value, kind_of, read_value
from hf_fairness.sources import check_model, check_place, missing

#: What `--help` shows first, in this order; the rest follows as the dataclasses have it.
_FIRST = (
    *("help", "help_all", "config", "demo", "model_name_or_path", "dataset", "dataset_config", "dataset_split"),
    *("text_column", "label_column", "max_rows", "method", "output_dir"),
)
#: Letters of a message; the choices of some options of the Trainer fill a page.
_LONGEST = 400
#: The flags that name a repository.
_REPOSITORY = re.compile(r"--hub_(model|dataset)_id")
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
    common: Sequence[str] = (),
    epilog: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    demo: Mapping[str, Any] | None = None,
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
        common: inherited fields that `--help` shows as well; the rest of them need `--help-all`.
        epilog: last part of the help text, printed with its line ends.
        defaults: what this command has in the place of defaults of the dataclasses.
        demo: settings of the demo, however it is switched on.

    Returns:
        One instance per class, in order.

    Raises:
        ValueError: the YAML file is no mapping, holds an unknown key (the message names the nearest known one) or a
            value that its option does not take; a number out of range; an empty text.
        SystemExit: wrong usage or a request for help, as argparse does.
    """
    words = list(argv)
    if positional is not None and words and not words[0].startswith("-"):
        words[0:1] = [f"--{positional}", words[0]]
    _keep_secrets(words)
    if "attribute" in option_kinds(config_classes):
        epilog = "\n".join([*([epilog.rstrip(), ""] if epilog else []), _ATTRIBUTE])
    parser = _parser(config_classes, prog=prog, description=description, epilog=epilog)
    parser.usage = f"{prog} {positional.upper() + ' ' if positional else ''}[options]"
    if "--help-all" in words:
        words = ["--help"]
    else:
        _hide_inherited(parser, config_classes, common)

    path = _pop_config(words)
    kinds = option_kinds(config_classes)
    speak_of(kinds)
    in_file = {} if path is None else read_yaml(path, kinds)
    _preset(parser, defaults or {})
    _preset(parser, in_file)
    namespace, unknown = parser.parse_known_args(words)
    if unknown:
        parser.error(_unknown_words(parser, unknown))
    if demo and getattr(namespace, "demo", False):
        ours = {name: value for name, value in demo.items() if name not in in_file}
        _preset(parser, {name: read_value(value, str(value), kinds[name]) for name, value in ours.items()})
    given = _given(parser, words)
    source = {name: f"--config {path}: " for name in in_file if name not in given}
    namespace = parser.parse_args(words)
    for name, default in _defaults(config_classes).items():
        try:
            check_value(name, getattr(namespace, name), default)
            check_place(name, getattr(namespace, name))
            if not getattr(namespace, "base_url", None):  # a server has names of its own
                check_model(name, getattr(namespace, name))
        except ValueError as error:
            raise ValueError(f"{source.get(name, '--' if name in given else '')}{error}") from error
    return _build(parser, words, config_classes, source)


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
            names = [
                flag for action in parser._actions for flag in action.option_strings if _REPOSITORY.fullmatch(flag)
            ]
            message = f"--push_to_hub takes no name; {' or '.join(names)} names the repository"
        message = re.sub(r"'([^']{60})[^']+'", r"'\1...'", message)  # a number of thousands of digits
        message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]} ..."
        parser.exit(2, redact(f"{parser.format_usage()}{prog}: error: {message}\n"))

    for action in parser._actions:  # one that may be left open, such as --hub_private_repo, alone means yes too
        if kinds.get(action.dest) == bool | None and action.nargs is None:
            action.nargs, action.const = "?", True
    parser.error = refuse
    parser.add_argument("--config", default=None, help="YAML file with values for these options; flags win over it.")
    parser.add_argument("--help-all", action="store_true", help="Show every option, those of the Trainer too.")
    for group in parser._action_groups:
        group._group_actions.sort(
            key=lambda action: _FIRST.index(action.dest) if action.dest in _FIRST else len(_FIRST)
        )
    return parser


def _build(
    parser: Any, words: Sequence[str], classes: Sequence[type[Any]], source: Mapping[str, str]
) -> tuple[Any, ...]:
    """The dataclasses; what they refuse is said to be of the file where the message names an option of the file."""
    try:
        parsed = parser.parse_args_into_dataclasses(words, look_for_args_file=False)
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        text = str(error) if isinstance(error, ValueError) else f"the options do not fit together: {error!r}"
        mentioned = text.replace("=", " ").replace("`", " ").replace("--", " ").replace(":", " ").split()
        where = next((place for name, place in source.items() if name in mentioned), "")
        raise ValueError(f"{where}{text}") from error
    return tuple(parsed[: len(classes)])


class _Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Defaults beside the options that have one, but for secrets, and the line ends of the epilog kept."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        hidden = action.default in (None, "") or SECRET.search(action.dest)
        return action.help if hidden else super()._get_help_string(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n  " in text:
            return text
        return super()._fill_text(text, width, indent)


def _hide_inherited(parser: argparse.ArgumentParser, classes: Sequence[type[Any]], common: Sequence[str]) -> None:
    ours = [base for cls in classes for base in cls.__mro__ if base.__module__.startswith("hf_fairness.")]
    own = {name for cls in [*classes, *ours] for name in inspect.get_annotations(cls)} | set(common)
    for action in parser._actions:
        if action.dest not in own | {"help", "config", "help_all"}:
            action.help = argparse.SUPPRESS


def _keep_secrets(words: list[str]) -> None:
    """Make the values of flags for secrets `Secret`, so that no message repeats them."""
    for place, word in enumerate(words):
        flag, _, value = word.partition("=")
        if flag.startswith("--") and SECRET.search(flag.replace("-", "_")):
            value = value or (words[place + 1] if place + 1 < len(words) else "")
            if value and not value.startswith("--"):
                Secret(value)


def _pop_config(words: list[str]) -> Path | None:
    found: Path | None = None
    index = 0
    while index < len(words):
        if words[index].startswith("--config="):
            found = Path(words.pop(index).split("=", 1)[1])
        elif words[index] == "--config":
            if index + 1 == len(words):
                raise ValueError("--config needs the path of a YAML file after it.")
            found = Path(words[index + 1])
            del words[index : index + 2]
        else:
            index += 1
    return found


def _fields(classes: Sequence[type[Any]]) -> dict[str, Any]:
    return {entry.name: entry for cls in classes for entry in dataclasses.fields(cls) if entry.init}


def option_kinds(classes: Sequence[type[Any]]) -> dict[str, Any]:
    """Type of every option by name."""
    known = set(_fields(classes))
    return {name: kind for cls in classes for name, kind in get_type_hints(cls).items() if name in known}


def _defaults(classes: Sequence[type[Any]]) -> dict[str, Any]:
    """What the dataclass has for every option; None where it must be given."""
    found = {}
    for name, entry in _fields(classes).items():
        made = entry.default_factory is not dataclasses.MISSING
        default = entry.default_factory() if made else entry.default
        found[name] = None if default is dataclasses.MISSING else default
    return found


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
            near = difflib.get_close_matches(str(key), kinds, n=1)
            raise ValueError(f"{where}: unknown option {key!r}.{f' Did you mean {near[0]!r}?' if near else ''}")
        secret = bool(SECRET.search(key))
        try:
            found[key] = read_value(value, texts.get(key, value), kinds[key])
        except Misfit as misfit:
            got = HIDDEN if secret and value is not None else kind_of(value)
            raise ValueError(f"{where}: {key} is {got}, expected {misfit}.") from None
        if secret and isinstance(found[key], str):
            found[key] = Secret(found[key])
    return found


def _load_yaml(path: Path, where: str) -> tuple[dict[Any, Any], dict[str, Any]]:
    """The mapping of a YAML file, and its values as they are written."""
    if not path.is_file():
        raise ValueError(f"{where}: {missing(str(path), 'a YAML file')}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{where}: not a text in UTF-8, so no YAML file.") from error
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        values = None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)  # the whole message would show the line, and a token in it
        place = "" if mark is None else f" in line {mark.line + 1}"
        problem = getattr(error, "problem", None) or "unreadable"
        raise ValueError(f"{where}: not valid YAML{place}: {problem}.") from None
    except (ValueError, RecursionError, TypeError) as error:  # a number of 5,000 digits, 10,000 brackets, {{a: b}: c}
        raise ValueError(f"{where}: not valid YAML: {redact(str(error))[:200]}") from error
    if not isinstance(values, dict) or not isinstance(node, yaml.MappingNode):
        got = "an empty file" if values is None else type(values).__name__
        raise ValueError(f"{where}: expected `option: value` lines, got {got}.")
    names = [key.value for key, _ in node.value]
    repeated = sorted({str(name) for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{where}: {repeated[0]} is given twice.")
    return values, {key.value: _written(value) for key, value in node.value}


def _written(node: yaml.Node) -> Any:
    """The text of a scalar, or of every item of a list."""
    if isinstance(node, yaml.SequenceNode):
        return [_written(item) for item in node.value]
    return node.value


def _preset(parser: argparse.ArgumentParser, values: Mapping[str, Any]) -> None:
    """Give options values that flags override."""
    for action in parser._actions:
        if action.dest in values:
            action.required = False
    parser.set_defaults(**values)


def _given(parser: argparse.ArgumentParser, words: Sequence[str]) -> set[str]:
    """Names of the options that stand among the words."""
    flags = {word.split("=")[0] for word in words}
    return {action.dest for action in parser._actions if flags & set(action.option_strings)}


def _unknown_words(parser: argparse.ArgumentParser, unknown: Sequence[str]) -> str:
    """A message that names unknown flags, and never what is given to them: it may be a mistyped flag's token."""
    flags = [flag for action in parser._actions for flag in action.option_strings]
    named = [word.split("=")[0] for word in unknown if word.startswith("-")]
    if not named:
        return f"unexpected words: {' '.join(unknown)} (a value belongs behind its option; quote one with blanks)"
    return f"unknown option: {', '.join(name + _nearest(name, flags) for name in named)}"


def _nearest(name: str, flags: Collection[str]) -> str:
    near = difflib.get_close_matches(name, flags, n=1)
    return f" (did you mean {near[0]}?)" if near else ""
