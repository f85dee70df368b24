"""`hf-fairness data-diet` as a user runs it: fast mode on word vectors, full mode and LoRA on a tiny random BERT."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hf_fairness.cli import command
from hf_fairness.measure.classifier.classifier import Classifier
from hf_fairness.record import Record
from hf_fairness.report import summarize
from hf_fairness.trainers import DataDietArguments, run_data_diet
from support.diet_world import BAD, GOOD, rows, vectors
from support.record_case import one_line
from support.tiny_bert import save_tiny_bert

GRID = [
    *("--first_fractions", "0", "0.5", "1", "--factual_fractions", "0.5", "--counterfactual_fractions", "0.1", "0.3"),
    *("--max_auc_drop", "0.5", "--per_device_train_batch_size", "32"),
]


def write(path: Path, n: int, seed: int, *, group: bool = False) -> Path:
    """A CSV file of the planted world; with names for labels."""
    table = rows(n, seed)[:]
    if group:
        table["group"] = ["female" if text.startswith(("she", "queen")) else "male" for text in table["text"]]
    with path.open("w", encoding="utf-8", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(table)
        out.writerows(zip(*table.values(), strict=True))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("data")
    return {
        "train": str(write(folder / "train.csv", 400, 0)),
        "dev": str(write(folder / "dev.csv", 150, 1)),
        "groups": str(write(folder / "groups.csv", 200, 3, group=True)),
        "encoder": vectors(folder / "words.txt"),
    }


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> str:
    words = ["it", "was", "and", "on", "day", "she", "he", "queen", "king", *GOOD, *BAD, *map(str, range(40))]
    return save_tiny_bert(tmp_path_factory.mktemp("bert"), words)


@pytest.mark.whole
def test_fast_mode_from_a_shell(files, tmp_path):
    words = ["data-diet", files["encoder"], "--dataset", files["train"], "--validation_dataset", files["dev"]]
    words += [
        "--group_dataset",
        files["groups"],
        "--n_seeds",
        "2",
        "--n_init",
        "1",
        "--num_train_epochs",
        "3",
        "--hidden",
        "8",
    ]
    words += ["--learning_rate", "0.005", "--output_dir", str(tmp_path / "out"), *GRID]
    words += ["--name", "Ours | <b>"]
    done = subprocess.run(
        [sys.executable, "-m", "hf_fairness", *words],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out" / "report"
    written = json.loads((folder / "record.json").read_text())
    record = Record.from_json(written)
    assert record.to_json() == written
    assert (record.command, record.name) == ("data-diet", "Ours | <b>")
    assert one_line(done.stdout).startswith(one_line(summarize(record).headline))
    assert "equally often (paired DP)  " in done.stdout
    assert "Against CDA:" in done.stdout
    pictures = {"parity_curve.svg", "auc_curve.svg", "choices.svg", "trade_off.svg", "stability.svg"}
    names = {"record.json", "report.md", "report.html", "results.json"} | pictures
    assert {path.name for path in folder.iterdir()} == names
    assert all(str(folder / name) in done.stdout for name in names)
    assert str(tmp_path / "out" / "model") in done.stdout
    report = json.loads((folder / "results.json").read_text())
    assert report["data"]["train"]["n"] + report["data"]["test"]["n"] == 400  # a tenth was held out for the test
    assert "demographic_parity" in report["table"]["cda"]["measures"]["groups"]
    assert report["arguments"]["dataset"] == "train.csv"
    assert set(report["curves"]) == {"ge", "el2n", "grand", "forgetting", "random"}
    for path in (*folder.iterdir(), tmp_path / "out" / "model" / "README.md"):
        assert str(tmp_path) not in path.read_text()
        assert str(Path(files["train"]).parent) not in path.read_text()
        assert "she was" not in path.read_text()
    assert (folder / "parity_curve.svg").read_text().startswith("<?xml")
    page, text = (folder / "report.html").read_text(), (folder / "report.md").read_text()
    assert "<h1>Ours | &lt;b&gt;</h1>" in page
    assert "Ours \\| &lt;b&gt;: a healthy data diet" in text
    assert all(part in shown for part in ("Got worse", "Improved", "Models") for shown in (page, text))
    values = {each.id: each.values for each in record.measures}
    for arm, line in report["table"].items():
        assert values["test/flip_rate"][arm].value == line["measures"]["test"]["flip_rate"]["mean"]
    assert (tmp_path / "out" / "model" / "head.safetensors").is_file()


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft 0.21
@pytest.mark.whole
@pytest.mark.filterwarnings("ignore:.* does not run under torch.func:hf_fairness.utils.FairnessWarning")
@pytest.mark.parametrize(
    "more",
    [[], ["--use_peft"], ["--bf16", "--gradient_accumulation_steps", "2", "--activation_checkpointing"]],
    ids=["whole", "lora", "bf16"],
)
def test_full_mode_trains_and_saves_a_model(files, bert, tmp_path, more):
    words = ["--model_name_or_path", bert, "--dataset", files["dev"], "--mode", "full", "--n_seeds", "1"]
    words += [
        "--n_init",
        "1",
        "--num_train_epochs",
        "2",
        "--experiments",
        "2",
        "--rankings",
        "healthy_random",
        "--use_cpu",
    ]
    words += [
        "--learning_rate",
        "0.005",
        "--output_dir",
        str(tmp_path / "out"),
        *GRID,
        *more,
    ]
    found = command("data-diet")(words)
    assert found["best"]["ranking"] == "healthy_random"
    assert found["table"]["cda"]["n_rows"] > found["table"]["healthy_random"]["n_rows"]
    assert not (found["model"] / "training_args.bin").exists()
    assert (found["model"] / "adapter" / "adapter_model.safetensors").is_file() == ("--use_peft" in more)
    assert Classifier(str(found["model"])).logits(["she was kind"]).shape == (1, 2)


def test_full_mode_is_refused_on_several_processes(files, bert, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="--mode full trains each model in one process"):
        run_data_diet(DataDietArguments(model_name_or_path=bert, mode="full"), rows(20, 0))


def test_errors_say_what_to_do(files, tmp_path):
    with pytest.raises(ValueError, match="--dataset is missing"):
        command("data-diet")(["model"])
    with pytest.raises(ValueError, match="has no splits"):
        command("data-diet")([files["encoder"], "--dataset", files["train"], "--test_split", "test"])
    with pytest.raises(ValueError, match="no column 'class'"):
        command("data-diet")([files["encoder"], "--dataset", files["train"], "--label_column", "class"])
