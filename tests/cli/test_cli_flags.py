"""Errors and warnings of library code name the flags of the command that was run, in every command alike."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

from hf_fairness.cli import flags, main

OPTIONS = [
    *("on_missing", "percentile", "text_column", "score_column", "model_name_or_path", "names", "use_peft", "seed"),
    "pairs",
]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Fill these rows, or pass on_missing='skip'.", "Fill these rows, or pass --on_missing skip."),
        ("For the 5 % write percentile=95.", "For the 5 % write --percentile 95."),
        ("subtract: percentile must lie in [1, 100).", "subtract: --percentile must lie in [1, 100)."),
        ("Give pairs=[(word, word), ...] instead.", "Give --pairs instead."),
        ("Give pairs=... or seed=..., not both.", "Give --pairs or --seed, not both."),
        ("names is empty. seed is -1, expected 0.", "--names is empty. --seed is -1, expected 0."),
        ("pass use_peft=True or use_peft=False", "pass --use_peft or --use_peft false"),
        ("give score_columns or scores, and not both", "give --score_column or scores, and not both"),
        ("columns names a column twice: a, a.", "--text_column names a column twice: a, a."),
        ("model must be an instance; set `seed`.", "--model_name_or_path must be an instance; set --seed."),
        ("take names=True, got seed=1e-05 and seed=-3", "take --names, got --seed 1e-05 and --seed -3"),
        # What is no argument: flags, the user's own words, ordinary English, other functions' settings.
        ("--on_missing is a flag, see --text_column=a", None),
        ("'on_missing' and \"text_column\" are texts of yours", None),
        ("Columns: text_column, seed. The columns are on_missing, seed.", None),
        ("no file out/on_missing/x.csv or C:\\on_missing\\x", None),
        ("The percentile is high; all names of the seed stay. Whose names is that?", None),
        ("hf_fairness.augment.on_missing(x) and on_missing(x), n_rows=3, other='b', row.on_missing", None),
    ],
)
def test_arguments_become_flags(said, expected):
    assert flags.in_flags(said, OPTIONS) == (said if expected is None else expected)
    assert flags.in_flags(said, []) == said


COMMANDS = [
    ("augment {csv} --method cda --on_missing maybe --output_dir out", "--on_missing must be one of 'skip', 'error'"),
    ("augment {csv} --method balance --on_missing error --output_dir out", "or pass --on_missing skip."),
    (
        "augment {csv} --method subtract --model_name_or_path m --percentile 0.5 --output_dir out",
        "augment: --percentile must lie in [1, 100), in per cent; got 0.5. For the 5 % of rows with the highest scores "
        "write --percentile 95.",
    ),
    ("augment {csv} --method swap --max_rows 0 --output_dir out", "--max_rows is 0, expected 1 or more"),
    ("audit {folder} --pooling most", "--pooling must be one of"),
    ("ccd --model_name_or_path m --dataset {csv} --output_dir out --rho nothing", "--rho is 'nothing'"),
    (
        "refine m --dataset {csv} --output_dir out --percentiles 90 100",
        "--percentiles holds 100, expected numbers in [1, 100)",
    ),
    ("refine m --dataset {csv} --output_dir out --main_arm sub-5", "--main_arm is 'sub-5', expected one of sub-90, "),
    ("gfst --demo --output_dir out --max_length_ratio 0.5", "--max_length_ratio "),
    ("build-dataset must_she --output_dir out", "pass --data_dir"),
    ("push-metrics --namespace me --only seat --install_from 0.1 --dry_run", "--install_from 0.1: "),
]


@pytest.mark.parametrize(("words", "message"), COMMANDS)
def test_messages_of_every_command_name_flags(words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "rows.jsonl").write_text('{"text": "He sings."}\n{"text": null}\n{"text": "She sings."}\n')
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert main(words.format(csv="rows.jsonl", folder="model").split()) == 1
    assert message in capsys.readouterr().err


def test_warnings_are_lines_in_flags(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"text": "He sings."}\n{"text": null}\n')
    words = ["augment", f"{tmp_path}/rows.jsonl", "--method", "swap", "--output_dir", f"{tmp_path}/out"]
    command = [sys.executable, "-m", "hf_fairness", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    said = "hf-fairness augment: warning: CounterfactualSwap: rows without a text in text pass through; "
    assert done.stderr.count(said) == 1
    assert "; --on_missing error refuses them.\n" in done.stderr
    assert ".py" not in done.stderr
