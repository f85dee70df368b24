"""Flags over YAML over defaults; what is unknown is an error that names the nearest option."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from hf_fairness.cli.parsing import parse


@dataclass
class Options:
    model: str = field(metadata={"help": "which model"})
    beta: float = field(default=1.0, metadata={"help": "weight"})
    rows: int | None = field(default=None, metadata={"help": "rows"})
    control: bool = field(default=True, metadata={"help": "control"})


def read(*words: str, **more) -> Options:
    return parse([Options], words, prog="test", description="A test.", **more)[0]


def test_defaults_and_flags():
    assert read("--model", "m") == Options("m")
    assert read("--model", "m", "--beta", "0.5", "--no_control") == Options("m", beta=0.5, control=False)


def test_positional_replaces_its_flag():
    assert read("m", "--rows", "3", positional="model") == Options("m", rows=3)


def test_yaml_is_below_flags_and_above_defaults(tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text("model: from-file\nbeta: 5e-1\nrows: 7\n")
    assert read("--config", str(config)) == Options("from-file", beta=0.5, rows=7)
    assert read(f"--config={config}", "--beta", "2") == Options("from-file", beta=2.0, rows=7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bita: 1\n", "unknown option 'bita'. Did you mean 'beta'?"),
        ("- a\n- b\n", "expected `option: value` lines, got sequence"),
        ("a: [\n", "not valid YAML"),
        ("beta: lots\n", "--beta: invalid float value: 'lots'"),
    ],
)
def test_bad_yaml(tmp_path, capsys, text, message):
    config = tmp_path / "c.yaml"
    config.write_text(text)
    with pytest.raises((ValueError, SystemExit)) as error:
        read("m", "--config", str(config), positional="model")
    assert message in f"{error.value}{capsys.readouterr().err}"


@dataclass
class Open:
    private: bool | None = field(default=None, metadata={"help": "private"})


@pytest.mark.parametrize(("words", "value"), [("", None), ("--private", True), ("--private no", False)])
def test_an_option_that_may_be_left_open_alone_means_yes(words, value):
    assert parse([Open], words.split(), prog="test", description="A test.") == (Open(value),)


def test_missing_yaml(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        read("--config", str(tmp_path / "no.yaml"))


def test_unknown_flag_names_the_nearest(capsys):
    with pytest.raises(SystemExit) as error:
        read("--model", "m", "--betta", "2")
    assert error.value.code == 2
    assert "unknown option --betta. Did you mean '--beta'?" in capsys.readouterr().err


def test_a_misspelt_flag_is_named_before_the_one_that_it_leaves_out(capsys):
    @dataclass
    class Needed:
        model_name: str = field(metadata={"help": "it must be given"})

    for words, said in {"--model x": "--model. Did you mean '--model_name'?", "": "are required: --model_name"}.items():
        with pytest.raises(SystemExit):
            parse([Needed], words.split(), prog="test", description="A test.")
        assert said in capsys.readouterr().err


def test_help_hides_what_is_inherited(capsys):
    @dataclass
    class More(Options):
        extra: int = field(default=1, metadata={"help": "an extra"})

    def text(*words: str) -> str:
        with pytest.raises(SystemExit):
            parse([More], words, prog="test", description="A test.", common=("rows",))
        return capsys.readouterr().out

    short, long = text("--help"), text("--help-all")
    assert "--extra" in short
    assert "--rows" in short
    assert "--beta" not in short
    assert "--beta" in long
