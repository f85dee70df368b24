"""Every option of every command takes from a YAML file what its type says, and refuses the rest by name."""

from __future__ import annotations

import dataclasses
import functools
import re
import types
from enum import Enum
from typing import Any, Union, get_args, get_origin

import pytest

from hf_fairness import cli
from hf_fairness.cli import COMMANDS, main, methods, parsing
from hf_fairness.cli.parsing import check_value, option_kinds, option_ranges, read_file


def classes(command: str) -> list[type]:
    """What a command parses into, taken from its own call of `parse`."""
    taken: list[type] = []

    def note(config_classes, **_):
        taken.extend(config_classes)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "_Parser", note)
        with pytest.raises(KeyboardInterrupt):
            cli.command(command)([])
    return taken


@pytest.fixture(scope="module")
def options() -> dict[str, dict[str, tuple[Any, Any]]]:
    """Type and default of every option, by command and name."""
    found = {}
    for command in COMMANDS:
        own = classes(command)
        entries = [entry for cls in own for entry in dataclasses.fields(cls) if entry.init]
        kinds = option_kinds(own)
        found[command] = {entry.name: (kinds[entry.name], entry.default) for entry in entries}
    return found


def parts(kind: Any) -> set[Any]:
    kinds = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    return {get_origin(part) or part for part in kinds}


@functools.cache
def parser(command: str) -> Any:
    """What reads the words of a command."""
    return parsing._Parser(classes(command), shown=[])


def read(command: str, path: Any, name: str, kind: Any) -> Any:
    """What an option gets from a file that names it alone."""
    return read_file(parser(command), path, {name: kind})[name]


#: A value as YAML has it, and the types of which one must be among an option's for it to be taken: those that a flag
#: would take, and what no flag can say.
VALUES = {
    "[1]": {list},
    "[[a]]": set(),
    "{a: b}": {dict},
    "true": {bool, str},
    "'yes'": {bool, str},
    "on": {bool, str},
    "null": {type(None)},
    "2.5": {float, str},
    "7": {int, float, str},
    "2020-01-01": {str},
    "nan": {float, str},
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("text", VALUES)
def test_each_option_takes_its_type_alone(options, command, text, tmp_path):
    path = tmp_path / "c.yaml"
    refused = 0
    for name, (kind, _) in options[command].items():
        path.write_text(f"{name}: {text}\n")
        taken = bool(VALUES[text] & parts(kind))
        try:
            read(command, path, name, kind)
        except ValueError as error:
            refused += 1
            message = str(error)
            one_of_some = re.search("invalid choice|invalid DebugOption|Truthy", message) and str in parts(kind)
            other_items = text == "[1]" or dict in parts(kind)
            assert not taken or one_of_some or other_items, message
            assert re.match(re.escape(f"--config {path}: ") + rf"--{name}\b", message)
            assert re.search(r"expected|invalid|takes no name", message)
            assert len(message.splitlines()) == 1
        else:
            list_of_one = list in parts(kind) and text[0] not in "[{"
            switch = {bool, str} <= parts(kind)
            assert taken or list_of_one or switch, (name, kind)
    assert refused or command == "gfst-sheets" or text in ("true", "'yes'", "on")  # every text is taken by some options


@pytest.mark.parametrize("command", COMMANDS)
def test_each_default_may_be_written_down(options, command, tmp_path):
    for name, (kind, default) in options[command].items():
        if default is dataclasses.MISSING or default in (None, ""):
            continue
        value = default.value if isinstance(default, Enum) else default
        written = str(value).lower() if isinstance(value, bool) else repr(value)
        (tmp_path / "c.yaml").write_text(f"{name}: {written}\n")
        assert read(command, tmp_path / "c.yaml", name, kind) in (value, {"no": False}.get(value))


@pytest.mark.parametrize("command", COMMANDS)
def test_each_number_has_a_range_that_holds_its_default(options, command):
    ranges = option_ranges(classes(command))
    for name, (kind, default) in options[command].items():
        inner = parts(kind) | {part for each in get_args(kind) for part in (each, *get_args(each))}
        if inner & {int, float}:
            assert name in ranges
            if isinstance(default, (int, float)) and not isinstance(default, bool):
                check_value(name, default, None, ranges)
            for number in (-(10**40), 10**40, float("inf"), float("nan"), -7):
                with pytest.raises(ValueError, match=rf"^--{name} is .*, expected "):
                    check_value(name, number, default, ranges)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("target_lang: [no]\n", "--target_lang is a list, expected a single value."),
        ("seed: null\n", "--seed is null, expected a single value."),
        ("seed: [3, 4]\n", "--seed is a list, expected a single value."),
        ("target_lang: it\ntarget_lang: de\n", "--target_lang is given twice."),
        ("seed: -1\n", "--seed is -1, expected 0 or more."),
        ("learning_rate: nan\n", "--learning_rate is nan, expected more than 0."),
        (
            "liger_kernel_config: {rope: maybe}\n",
            "--liger_kernel_config is {'rope': 'maybe'}, expected dict[str, bool]",
        ),
        ("learning_rate: lots\n", "--learning_rate: invalid float value: 'lots'"),
        ("push_to_hub: me/it\n", "--push_to_hub takes no name; --hub_model_id"),
        ("max_pairs: 3\n", "--max_pairs is 3, expected at least --min_pairs"),
        ("until: nowhere\n", "--until is 'nowhere', expected a stage"),
        ("model_name_or_path: ''\n", "--model_name_or_path is empty, expected a text."),
        ("", "not valid YAML: expected `option: value` lines, got an empty file."),
        ("3\n", "not valid YAML: expected `option: value` lines, got scalar."),
        ("1: 2\n", "unknown option '1'."),
        (f"seed: {'9' * 5000}\n", "not valid YAML"),
        ("[" * 5000, "not valid YAML"),
        ("{{a: 1}: 2}: 3", "not valid YAML"),
        ("a\0: 1", "not valid YAML"),
    ],
)
def test_a_bad_file_is_named_with_its_key(text, message, tmp_path, capsys):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    assert main(["gfst", "--config", str(path)]) == 1
    printed = capsys.readouterr().err
    assert f"--config {path}: {message}" in printed
    assert len(printed.splitlines()) <= 3


@pytest.mark.parametrize("content", [b"\xff\xfe\x00seed", b"\x80\x81\x82"])
def test_a_file_that_is_no_text_is_refused(content, tmp_path, capsys):
    (tmp_path / "c.yaml").write_bytes(content)
    assert main(["gfst", "--config", str(tmp_path / "c.yaml")]) == 1
    assert "not valid YAML: 'utf-8' codec can't decode byte" in capsys.readouterr().err
    assert main(["gfst", "--config", str(tmp_path)]) == 1
    assert "is a folder. Expected a YAML file." in capsys.readouterr().err
    assert main(["gfst", "--config", str(tmp_path / "c.yml")]) == 1
    assert f"Did you mean {tmp_path / 'c.yaml'}?" in capsys.readouterr().err


def parsed(command: str, monkeypatch, *words: str) -> dict[str, Any]:
    """The settings with which a method would run."""
    taken: list[Any] = []

    def note(*given, **named):
        taken.extend(parsing.parse(*given, **named))
        raise KeyboardInterrupt

    monkeypatch.setattr(methods, "parse", note)
    assert main([command, *words]) == 130
    return {name: value for arguments in taken for name, value in vars(arguments).items()}


def test_a_switch_may_be_said_in_every_word_of_yaml(tmp_path, monkeypatch):
    """Its words for true and false are more than those of a flag; where a text is wanted they are that text."""
    (tmp_path / "c.yaml").write_text("use_cpu: on\nbf16: Off\ncontrol: no\nattribute: off\n")
    found = parsed("ccd", monkeypatch, "m", "--config", str(tmp_path / "c.yaml"), "--output_dir", "out")
    assert {name: found[name] for name in ("use_cpu", "bf16", "control", "attribute")} == {
        "use_cpu": True,
        "bf16": False,
        "control": False,
        "attribute": "off",
    }


def test_numbers_within_a_mapping_are_those_of_a_command_line(tmp_path, monkeypatch):
    (tmp_path / "c.yaml").write_text("learning_rate_mapping: {a: 1e-4, b: 1}\nlr_scheduler_kwargs: {c: 1E+2, d: 1}\n")
    found = parsed("ccd", monkeypatch, "m", "--config", str(tmp_path / "c.yaml"))
    assert found["learning_rate_mapping"] == {"a": 1e-4, "b": 1.0}
    assert found["lr_scheduler_kwargs"] == {"c": 100.0, "d": 1}


#: Command, a setting of its demo with what the demo has, the plain default, and two others.
DEMOS = [
    ("gfst", "max_steps", 1200, -1, 7, 8),
    ("gfst", "target_lang", "it", None, "de", "ru"),
    ("gfst", "finetune_learning_rate", 1e-3, 1e-4, 0.5, 0.25),
    ("ibadr", "n_shallow", 1000, 2000, 7, 8),
    ("ibadr", "output_dir", "out/ibadr", "ibadr", "there", "here"),
    ("ibadr", "num_train_epochs", 4.0, 8.0, 2.0, 3.0),
]


@pytest.mark.parametrize(("command", "name", "demo", "plain", "in_file", "flag"), DEMOS)
def test_flags_win_over_the_file_over_the_demo_over_defaults(
    command, name, demo, plain, in_file, flag, tmp_path, monkeypatch
):
    path, config = tmp_path / "c.yaml", ["--config", str(tmp_path / "c.yaml")]
    path.write_text("demo: true\n")
    by_file, by_flag = parsed(command, monkeypatch, *config), parsed(command, monkeypatch, "--demo")
    assert by_file[name] == by_flag[name] == demo
    assert type(by_file[name]) is type(by_flag[name])
    assert parsed(command, monkeypatch)[name] == plain
    assert parsed(command, monkeypatch, *config, "--demo", "false")[name] == plain
    path.write_text(f"demo: true\n{name}: {in_file}\n")
    assert parsed(command, monkeypatch, *config)[name] == in_file
    assert parsed(command, monkeypatch, *config, f"--{name}", str(flag))[name] == flag
    path.write_text(f"{name}: {in_file}\n")
    assert parsed(command, monkeypatch, *config, "--demo")[name] == in_file


def test_the_file_wins_over_what_the_demo_command_has(tmp_path, monkeypatch):
    (tmp_path / "c.yaml").write_text("output_dir: there\ndataset: mine.csv\n")
    taken = parsed("demo", monkeypatch, "--config", str(tmp_path / "c.yaml"), "--max_rows", "9")
    assert (taken["dataset"], taken["max_rows"], taken["output_dir"]) == ("mine.csv", 9, "there")
    assert taken["base_model_name"] == "sentence-transformers/all-MiniLM-L6-v2"
