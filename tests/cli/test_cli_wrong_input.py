"""Whatever is given, a command ends in one to three lines that say what came and what was wanted."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from hf_fairness.cli import main

#: What no message may hold: it would be one of Python's or of a library's insides.
INSIDES = re.compile(
    r"Traceback|has no attribute|not subscriptable|not supported between|unsupported operand|out of range: |"
    r"object is not|does not check|too large to convert|argument must be|must be str|invalid literal"
)

#: Files of the folder that every command is started in.
FILES = {
    "rows.csv": b"text,label\nHe sings.,0\nShe sings.,1\n",
    "one.csv": b"text\nHe sings.\n",
    "empty.csv": b"",
    "header.csv": b"text,label\n",
    "twice.csv": b"text,label,text\na,0,b\n",
    "latin.csv": "text,label\nJosé sings.,0\n".encode("latin-1"),
    "binary.csv": bytes(range(256)) * 4,
    "binary.jsonl": bytes(range(256)) * 4,
    "binary.parquet": bytes(range(256)) * 4,
    "number.json": b"3",
    "list.yaml": b"- a\n- b\n",
    "en.txt": b"male\t1\tHe is the nurse.\tnurse\n",
    "plain": b"x",
}
#: A whole command line of each command but for what is wrong in it; it would run long if nothing were.
BASE = {
    "audit": "audit model",
    "augment": "augment rows.csv --method cda --output_dir out",
    "build-dataset": "build-dataset winomt --data_dir model --output_dir out",
    "ccd": "ccd --model_name_or_path model --dataset rows.csv --text_column text --output_dir out --use_cpu",
    "data-diet": "data-diet model --dataset rows.csv --output_dir out",
    "gfst": "gfst --target_lang it --monolingual_dataset rows.csv --dataset rows.csv --output_dir out --use_cpu",
    "gfst-sheets": "gfst-sheets one.csv --key row.csv",
    "ibadr": "ibadr model --dataset rows.csv --output_dir out --generator_model model",
    "push-metrics": "push-metrics --namespace me --dry_run",
}
#: What a number of each command is given, and its name.
NUMBERS = {
    "audit": ("batch_size", "seed", "n_bootstrap", "max_rows"),
    "augment": ("num_proc", "batch_size", "seed", "probability"),
    "ccd": ("seed", "beta", "num_train_epochs", "max_steps", "per_device_train_batch_size", "lora_r"),
    "data-diet": ("n_seeds", "num_train_epochs", "hidden", "max_auc_drop", "seed"),
    "gfst": ("max_length_ratio", "layers", "num_beams", "dropout", "seed", "warmup_steps"),
    "ibadr": ("n_shallow", "top_p", "generator_lora_r", "generator_num_train_epochs", "seed"),
}
WRONG_NUMBERS = ("-3", "nan", "inf", "1e999", str(10**25), "9" * 5000, "", "two", "0x10", "1,5")
#: Command, and wrong words that come after its own (a repeated flag wins).
WRONG = [
    *(
        (command, f"--dataset {file}")
        for command in ("ccd", "data-diet", "ibadr", "audit")
        for file in (
            *("empty.csv", "header.csv", "twice.csv", "latin.csv", "binary.csv", "binary.jsonl", "binary.parquet"),
            *("number.json", "plain", "rows.tsv", "./nowhere", "a/b/c/d.csv", "model"),
        )
    ),
    ("audit", "--sts_pairs one.csv"),
    ("audit", "--sts_pairs row.csv"),
    ("audit", "--variants one.csv"),
    ("audit", "--variants nowhere.csv"),
    ("audit", "--model_name_or_path ./modle"),
    ("audit", "--model_name_or_path plain"),
    ("audit", "--attribute nothing"),
    ("audit", "--attribute plain"),
    ("audit", "--output_dir plain"),
    ("audit", "--dataset rows.csv --text_column nothing"),
    ("audit", "--seat_tests 99"),
    ("audit", "stray words"),
    ("augment", "--text_column label"),
    ("augment", "--text_column nothing"),
    ("augment", "--method cdaa"),
    ("augment", "--output_dir plain"),
    ("augment", "--output_dir plain/below"),
    ("augment", "--names nowhere.csv"),
    ("augment", "--method llm --model_name_or_path m --prompt model"),
    ("augment", "--method llm --model_name_or_path m --prompt plain"),
    ("augment", "--method synonyms --wordnet plain"),
    ("build-dataset", "--data_dir nowhere"),
    ("build-dataset", "--dataset_config nothing"),
    ("build-dataset", "--output_dir plain"),
    ("augment", "--push_to_hub me/it"),
    ("augment", "--push_to_hub --hub_dataset_id a/b/c"),
    ("build-dataset", "--push_to_hub me/it"),
    ("audit", "--push_to_hub"),
    ("audit", "--push_to_hub me/it"),
    ("ccd", "--model_name_or_path ./modle"),
    ("ccd", "--output_dir plain"),
    ("ccd", "--lr_scheduler_type nothing"),
    ("ccd", "--optim nothing"),
    ("ccd", "--save_strategy nothing"),
    ("ccd", "--rho many"),
    ("ccd", "--pooling most"),
    ("ccd", "--group_columns male"),
    ("ccd", "--lr_scheduler_kwargs [1]"),
    ("ccd", "--accelerator_config plain"),
    ("ccd", "--bf16 perhaps"),
    ("ccd", "--text_column label"),
    ("data-diet", "--label_column nothing"),
    ("data-diet", "--validation_dataset nothing"),
    ("data-diet", "--test_dataset nowhere.csv"),
    ("data-diet", "--test_split test"),
    ("data-diet", "--group_split test"),
    ("data-diet", "--names nowhere.csv"),
    ("data-diet", "--use_peft"),
    ("data-diet", "--group_dataset one.csv"),
    ("data-diet", "--experiments 3"),
    ("data-diet", "--rankings nothing"),
    ("data-diet", "--factual_fractions 2"),
    ("data-diet", "--mode slow"),
    ("gfst", "--winomt model"),
    ("gfst", "--winomt nowhere.txt"),
    ("gfst", "--must_she model"),
    ("gfst", "--lexicon nowhere.tsv"),
    ("gfst", "--nouns model"),
    ("gfst", "--dataset one.csv"),
    ("gfst", "--dataset rows.csv,nowhere.it"),
    ("gfst", "--validation_dataset nowhere.en,rows.csv"),
    ("gfst", "--validation_split test"),
    ("gfst", "--test_dataset nowhere.csv"),
    ("gfst", "--text_column text"),
    ("gfst", "--winomt rows.csv"),
    ("gfst", "--must_she nowhere.parquet"),
    ("gfst", "--monolingual_config one"),
    ("gfst", "--monolingual_dataset empty.csv"),
    ("gfst", "--method most"),
    ("gfst", "--until nothing"),
    ("gfst", "--reverse_model ./modle"),
    ("gfst", "--human_sheets 5 --until balance"),
    ("gfst", "--arms hd --hd_words model"),
    ("gfst-sheets", "--key nowhere.csv"),
    ("gfst-sheets", "--key model"),
    ("gfst-sheets", "--sheets one.csv row.csv"),
    ("gfst-sheets", "--sheets binary.csv"),
    ("ibadr", "--challenge hans"),
    ("ibadr", "--challenge hans=nowhere.txt"),
    ("ibadr", "--generator_model ./modle"),
    ("ibadr", "--text_column a b c"),
    ("ibadr", "--label_distribution 0.5 0.1"),
    ("ibadr", "--validation_dataset nothing.csv"),
    ("push-metrics", "--namespace a/b"),
    ("push-metrics", "--only nothing"),
    *((command, "--config list.yaml") for command in BASE),
    *((command, "--config model") for command in BASE),
    *((command, "--no_such_option 3") for command in BASE),
]
CASES = [
    *WRONG,
    *((name, (f"--{option}", number)) for name, own in NUMBERS.items() for option in own for number in WRONG_NUMBERS),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files, and an empty one in place of a model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    (tmp_path / "model").mkdir()
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(("command", "wrong"), CASES, ids=lambda value: str(value)[:60])
def test_wrong_input_ends_in_a_message(folder, capsys, command, wrong):
    words = [*BASE[command].split(), *(wrong.split() if isinstance(wrong, str) else wrong)]
    try:
        status = main(words)
    except SystemExit as stop:
        status = stop.code
    error = capsys.readouterr().err
    if status == 0:
        pytest.fail("taken")
    assert status in (1, 2)
    said = [line for line in error.splitlines() if f"hf-fairness {command}: error: " in line]
    assert len(said) == 1, error
    assert not INSIDES.search(said[0]), said[0]
    assert len(error[error.index(said[0]) :].splitlines()) <= 3
    assert len(said[0]) < 500


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("ccd --model_name_or_path model --dataset rosw.csv", "rows.csv"),
        ("ccd --model_name_or_path ./modle --dataset rows.csv --text_column text", "model"),
        ("augment rows.tsv --method cda --output_dir out", "rows.csv"),
        ("audit ./modell", "model"),
        ("audit model --sts_pairs one.tsv", "one.csv"),
        ("gfst --monolingual_dataset row.csv --until filter-source", "rows.csv"),
        ("gfst --target_lang it --monolingual_dataset rows.csv --dataset rows.csv --winomt en.tx", "en.txt"),
        ("audit model --config lits.yaml", "list.yaml"),
        ("adit model", "audit"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest(folder, capsys, words, near):
    assert main(words.split()) != 0
    error = capsys.readouterr().err
    assert re.search(rf"Did you mean '?{near}", error), error
    if not words.startswith("adit"):
        assert "Expected " in error
        assert "Hub" in error or ".yaml" in words or "--winomt" in words


@pytest.mark.parametrize("words", [["--help"], ["push-metrics", "--help"], ["build-dataset", "--list"]])
def test_a_reader_that_goes_away_sees_no_traceback(words):
    read, write = os.pipe()
    os.close(read)  # as `| head` does, for certain
    with os.fdopen(write, "w") as output:
        command = [sys.executable, "-m", "hf_fairness", *words]
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode in (0, 141)  # argparse passes over a pipe that is closed
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["gfst", "audit"])
def test_a_stopped_command_says_how_to_go_on(command, monkeypatch, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("hf_fairness.cli.methods.parse", stop)
    assert main([command]) == 130
    error = capsys.readouterr().err
    assert "Run the same command again; a training goes on from its last finished stage." in error
    assert "Traceback" not in error
