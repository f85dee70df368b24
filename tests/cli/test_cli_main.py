"""The entry of the command: help, unknown commands, errors in one line, and what it does not import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hf_fairness
from hf_fairness import cli, trainers
from hf_fairness.cli import COMMANDS, main


def test_help_lists_every_command(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)


def test_no_command_is_wrong_usage(capsys):
    assert main([]) == 2
    assert "usage:" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == hf_fairness.__version__


def test_unknown_command(capsys):
    assert main(["audti"]) == 2
    assert "unknown command 'audti'" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert f"hf-fairness {name}" in text
    assert "--config" in text


@pytest.mark.parametrize("name", ["audit", "augment", "ccd", "data-diet", "gfst"])
def test_the_help_says_where_an_attribute_file_is_shown(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    command = "python -m pydoc hf_fairness.attributes.load_attribute"
    assert capsys.readouterr().out.rstrip().endswith(command)
    shown = subprocess.run([sys.executable, *command.split()[1:]], capture_output=True, text=True, check=True).stdout
    assert '"groups": ["old", "young"]' in shown


def test_help_of_the_command_loads_no_model_library():
    code = (
        "import sys; from hf_fairness.cli import main; main(['--help']); "
        "print([m for m in ('torch', 'transformers', 'datasets', 'sentence_transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["audit", "{vectors}", "--dataset", "x.doc"], "x.doc"),
        (["audit", "{empty}"], "neither"),
        (["ccd", "--model_name_or_path", "{empty}", "--dataset", "{csv}"], "choose one with --text_column"),
        (
            ["ccd", "--model_name_or_path", "{empty}", "--dataset", "{csv}", "--text_column", "c"],
            "no column 'c'",
        ),
        (["ccd", "--model_name_or_path", "m", "--attribute", "shoes"], "shoes"),
        (
            ["ccd", "--model_name_or_path", "m", "--sweep", "rho"],
            "expected NAME=VALUE,VALUE... with a setting such as",
        ),
        (["ccd", "--model_name_or_path", "m", "--variants", "{csv}"], "expected male, female and neutral"),
        (["audit", "{vectors}", "--sts_pairs", "{csv}"], "--sts_pairs needs sentence1, sentence2"),
        (["audit", "{vectors}", "--dataset", "{csv}"], "choose one with --text_column"),
        (["audit", "{vectors}", "--dataset", "{csv}", "--text_column", "a", "b"], "reads one column of texts"),
        (["audit", "{vectors}", "--dataset", "{csv}", "--dataset_config", "x"], "--dataset_config x"),
        (["ccd", "--model_name_or_path", "m", "--dataset", "{csv}", "--dataset_config", "x"], "--dataset_config x"),
        (["audit", "{empty}", "--config", "nowhere.yaml"], "there is no such file"),
    ],
)
def test_bad_input_ends_in_one_line(words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows.csv").write_text("a,b\nShe sings.,He sings.\n")
    (tmp_path / "x.doc").write_text("?")
    (tmp_path / "vectors.txt").write_text("she 1 0\nhe 0 1\n")
    places = {"{empty}": str(tmp_path / "empty"), "{csv}": str(tmp_path / "rows.csv")}
    places["{vectors}"] = str(tmp_path / "vectors.txt")
    assert main([places.get(word, word) for word in words]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize("command", ["audit", "augment", "ccd", "data-diet", "gfst", "ibadr"])
def test_help_begins_with_model_and_data(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = capsys.readouterr().out
    places = [said.index(f"\n  {flag}") for flag in ("--dataset ", "--dataset_config", "--output_dir")]
    assert places == sorted(places)
    assert places[-1] < said.index("\n  --seed")


METHOD = '''"""`hf-fairness count-rows`: count the rows of a data set; a method
of a test."""

from dataclasses import dataclass

from hf_fairness.arguments import Command, DataArguments
from hf_fairness.sources import open_rows


@dataclass
class Arguments(DataArguments):
    output_dir: str = "out"


def run(arguments, hub, rows):
    return {"text": f"{len(rows)} rows for {arguments.output_dir}", "stages": {}}


COMMAND = Command(
    description="Counts.",
    arguments=f"{__name__}:Arguments",
    run=run,
    open_data=lambda arguments, hub: {"rows": open_rows(arguments)},
    artefacts={"rows": "the rows"},
)
'''


def test_a_method_is_a_command_by_the_file_in_its_folder(tmp_path, monkeypatch, capsys):
    """No other file names it; it has `--config`, `--push_to_hub`, `--push_artefacts` and messages like every other."""
    (tmp_path / "counting").mkdir()
    (tmp_path / "counting" / "command.py").write_text(METHOD)
    (tmp_path / "rows.csv").write_text("text\na\nb\n")
    (tmp_path / "c.yaml").write_text(f"dataset: {tmp_path / 'rows.csv'}\n")
    monkeypatch.setattr(trainers, "__path__", [*trainers.__path__, str(tmp_path)])
    found = cli._find()
    assert found["count-rows"][0] == "count the rows of a data set; a method of a test"
    assert set(found) - set(COMMANDS) == {"count-rows"}
    monkeypatch.setattr(cli, "_FOUND", found)
    run = cli.command("count-rows")
    assert run(["--config", str(tmp_path / "c.yaml"), "--output_dir", "here"])["text"] == "2 rows for here"
    assert capsys.readouterr().out == "\n2 rows for here\n\n"
    with pytest.raises(ValueError, match="--push_artefacts rows needs --push_to_hub"):
        run(["--push_artefacts", "rows"])
    with pytest.raises(SystemExit):
        run(["--datset", "x"])
    assert "Did you mean '--dataset'?" in capsys.readouterr().err
