"""Flags over YAML over defaults, read from dataclasses; unknown keys are errors."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml


def parse(
    config_classes: Sequence[type[Any]],
    argv: Sequence[str],
    *,
    prog: str,
    description: str,
    positional: str | None = None,
    common: Sequence[str] = (),
    epilog: str | None = None,
) -> tuple[Any, ...]:
    """Build one instance of each dataclass from the words of a command line.

    Args:
        config_classes: dataclasses whose fields become flags, as `transformers.HfArgumentParser` makes them.
        argv: the words after the sub-command. `--config FILE.yaml` gives values that flags override.
        prog: name of the command in messages.
        description: first paragraph of the help text.
        positional: a field whose value may be given as the first word, without its flag.
        common: inherited fields that `--help` shows as well; the rest of them need `--help-all`.
        epilog: last part of the help text, printed with its line ends.

    Returns:
        One instance per class, in order.

    Raises:
        ValueError: the YAML file is no mapping or holds an unknown key; the message names the nearest known key.
        SystemExit: wrong usage or a request for help, as argparse does.
    """
    from transformers import HfArgumentParser

    words = list(argv)
    if positional is not None and words and not words[0].startswith("-"):
        words[0:1] = [f"--{positional}", words[0]]
    parser = HfArgumentParser(
        config_classes,
        prog=prog,
        description=description,
        epilog=epilog,
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    parser.usage = f"{prog} {positional.upper() + ' ' if positional else ''}[options]"
    parser.add_argument("--config", default=None, help="YAML file with values for these options; flags win over it.")
    parser.add_argument("--help-all", action="store_true", help="Show every option, those of the Trainer too.")
    if "--help-all" in words:
        words = ["--help"]
    else:
        _hide_inherited(parser, config_classes, common)

    config_file = _pop_config(words)
    if config_file is not None:
        _apply_yaml(parser, config_file, {f.name for c in config_classes for f in dataclasses.fields(c) if f.init})
    _, unknown = parser.parse_known_args(words)
    if unknown:
        parser.error(_unknown_flags(parser, unknown))
    parsed = parser.parse_args_into_dataclasses(words, look_for_args_file=False)
    return tuple(parsed[: len(config_classes)])


class _Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Defaults beside the options that have one, and the line ends of the epilog kept."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default is None else super()._get_help_string(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n  " in text:
            return text
        return super()._fill_text(text, width, indent)


def _hide_inherited(parser: argparse.ArgumentParser, classes: Sequence[type[Any]], common: Sequence[str]) -> None:
    own = {name for cls in classes for name in inspect.get_annotations(cls)} | set(common)
    for action in parser._actions:
        if action.dest not in own | {"help", "config", "help_all"}:
            action.help = argparse.SUPPRESS


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


def _apply_yaml(parser: argparse.ArgumentParser, path: Path, known: set[str]) -> None:
    if not path.is_file():
        raise ValueError(f"--config {path}: there is no such file.")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"--config {path}: not valid YAML: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"--config {path}: expected `option: value` lines, got {type(values).__name__}.")
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"--config {path}: unknown option {key!r}.{hint}")
    for action in parser._actions:
        if action.dest in values:
            action.required = False
    parser.set_defaults(**values)


def _unknown_flags(parser: argparse.ArgumentParser, unknown: Sequence[str]) -> str:
    flags = [flag for action in parser._actions for flag in action.option_strings]
    parts = []
    for word in unknown:
        near = difflib.get_close_matches(word.split("=")[0], flags, n=1)
        parts.append(word + (f" (did you mean {near[0]}?)" if near else ""))
    return f"unknown option: {', '.join(parts)}"
