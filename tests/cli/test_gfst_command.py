"""`hf-fairness gfst` as a user runs it: files of every kind, stages from a shell, a push to the Hub."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import gfst_world
import numpy as np
import pytest
from datasets import load_from_disk
from gfst_case import SMALL, stages, weights
from record_case import one_line

from hf_fairness.cli import main
from hf_fairness.cli.gfst_data import open_pairs, open_texts
from hf_fairness.record import Record
from hf_fairness.report import summarize

WORDS = [
    *(f"--{name}={value}" for name, value in SMALL.items()),
    *("--lang", "it", "--min_pairs", "5", "--num_beams", "1", "--n_bootstrap", "50", "--variants", "none"),
    *("--max_steps", "40", "--per_device_train_batch_size", "32", "--learning_rate", "5e-3", "--warmup_steps", "10"),
    *("--average_checkpoints", "0", "--eval_strategy", "no", "--use_cpu", "--disable_tqdm", "True"),
    *("--max_candidates", "60"),
]
ENVIRONMENT = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    """Parallel and monolingual data in files, WinoMT's file, a lexicon."""
    folder = tmp_path_factory.mktemp("files")
    rows = gfst_world.pairs(400, 0, feminine=0.5, noise=0.0)
    (folder / "train.en").write_text("\n".join(rows["source"]) + "\n", encoding="utf-8")
    (folder / "train.it").write_text("\n".join(rows["target"]) + "\n", encoding="utf-8")
    with (folder / "pairs.tsv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter="\t").writerows([("en", "it"), *zip(rows["source"], rows["target"], strict=True)])
    texts = gfst_world.monolingual(200, 1)["text"][:]
    (folder / "news.txt").write_bytes("\n".join(texts).encode() + b"\nShe is na\xefve.\n")
    lines = [
        f"{r['gender']}\t{r['target_index']}\t{r['sentence']}\t{r['profession']}" for r in gfst_world.winomt_rows()
    ]
    (folder / "en.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    gfst_world.lexicon(folder / "forms.tsv")
    return {path.name: str(path) for path in folder.iterdir()} | {
        "aligned": f"{folder / 'train.en'},{folder / 'train.it'}"
    }


def command(files: dict[str, str], out: Path, *more: str, parallel: str = "pairs.tsv") -> list[str]:
    """The words of a whole run."""
    names = ["--parallel", files[parallel], "--monolingual", files["news.txt"], "--lexicon", files["forms.tsv"]]
    return ["gfst", *names, "--winomt", files["en.txt"], "--output_dir", str(out), *WORDS, *more]


@pytest.fixture(scope="module")
def finished(files, tmp_path_factory) -> tuple[Path, str]:
    """Folder of a whole run, and what it printed."""
    out, printed = tmp_path_factory.mktemp("gfst") / "out", io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.filterwarnings("ignore", message="fast_align learned to align")
        assert main(command(files, out, parallel="aligned")) == 0
    return out, printed.getvalue()


def test_a_whole_run_prints_what_it_found(finished):
    out, printed = finished
    folder = out / "report"
    record = Record.from_json(json.loads((folder / "record.json").read_text()))
    assert one_line(summarize(record).headline) in one_line(printed)
    assert "people translated with the right gender (WinoMT accuracy)" in printed
    assert "No measure got clearly worse." in printed or "Got clearly worse:" in printed
    names = {"record.json", "report.md", "report.html", "results.json", "kept.svg"}
    assert {path.name for path in folder.iterdir()} == names
    assert all(f"{folder / name}\n" in printed for name in names)
    assert str(out / "model") in printed
    report = json.loads((folder / "results.json").read_text())
    assert report["arguments"]["parallel"] == "train.en,train.it"
    assert report["arms"]["control"]["steps"] == report["arms"]["gfst"]["steps"]
    written = (folder / "report.md").read_text()
    assert "opposite\\_gender" in written or "nothing dropped" in written
    assert "encoding 2" in written  # a replacement sign in the text, and a byte that is not UTF-8
    page = (folder / "report.html").read_text()
    assert page.startswith("<!")
    assert "Got worse" in page
    assert "encoding 2" in page
    assert page.count("<figure>") == 1
    for path in (*folder.iterdir(), out / "model" / "README.md"):
        assert str(out.parent) not in path.read_text(), path.name  # no place of this machine


def test_the_record_of_the_command_is_one(finished):
    written = json.loads((finished[0] / "report" / "record.json").read_text())
    record = Record.from_json(written)
    assert record.to_json() == written
    assert (record.command, record.name) == ("gfst", "en-it-gfst")
    scores = json.loads((finished[0] / "report" / "results.json").read_text())["winomt"]
    (accuracy,) = [each for each in record.measures if each.id == "winomt/accuracy"]
    assert {arm: value.value for arm, value in accuracy.values.items()} == {
        arm: found["accuracy"] for arm, found in scores.items()
    }


def test_a_second_run_writes_the_same_bytes_and_a_name_the_report_and_card_alone(finished, files, tmp_path, capsys):
    out = tmp_path / "out"
    shutil.copytree(finished[0], out)
    written = {path.name: path.read_bytes() for path in (out / "report").iterdir()}
    before = stages(out)
    assert main(command(files, out, parallel="aligned")) == 0
    assert stages(out) == before
    assert {path.name: path.read_bytes() for path in (out / "report").iterdir()} == written
    assert main(command(files, out, "--name", "Ours <b>|</b>", parallel="aligned")) == 0
    after = stages(out)
    assert {name for name in after if after[name]["key"] != before[name]["key"]} == {"report", "model"}
    assert json.loads((out / "report" / "record.json").read_text())["name"] == "Ours <b>|</b>"
    assert "<h1>Ours &lt;b&gt;|&lt;/b&gt;</h1>" in (out / "report" / "report.html").read_text()
    for place in (out / "report" / "report.md", out / "model" / "README.md"):
        assert "Ours &lt;b&gt;\\|&lt;/b&gt;: gender-filtered" in place.read_text()
    results = json.loads((out / "report" / "results.json").read_text())
    assert results["winomt"] == json.loads(written["results.json"])["winomt"]


def test_the_first_stage_needs_no_model_and_no_language(files, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["gfst", "--monolingual", files["news.txt"], "--until", "filter-source", "--output_dir", str(out)]) == 0
    printed = capsys.readouterr().out
    assert list(stages(out)) == ["filter_source"]
    assert "too_long 1" in printed
    assert str(out / "filter_source") in printed
    assert len(load_from_disk(str(out / "filter_source"))) == 200


def test_a_killed_command_goes_on_from_its_checkpoint(files, tmp_path):
    """Kill it while it trains the initial model; the weights are those of a run that was left alone."""
    slow = ["--until", "initial", "--save_strategy", "steps", "--save_steps", "5", "--max_steps", "60"]
    words = command(files, tmp_path / "killed", *slow)
    running = subprocess.Popen(
        [sys.executable, "-m", "hf_fairness", *words],
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    place = tmp_path / "killed" / ".partial"
    while running.poll() is None and not list(
        place.glob("initial.*/initial/checkpoints/checkpoint-*/trainer_state.json")
    ):
        time.sleep(0.02)
    assert running.poll() is None, "the run ended before it could be killed"
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = stages(tmp_path / "killed")
    assert before["initial"]["status"] == "running"
    for out in ("killed", "whole"):
        assert main(command(files, tmp_path / out, *slow)) == 0
    assert stages(tmp_path / "killed")["filter_source"]["started"] == before["filter_source"]["started"]
    first, second = (weights(tmp_path / out, "initial") for out in ("killed", "whole"))
    assert all(np.array_equal(first[name], second[name]) for name in first)


PULLED = """
import sys
from pathlib import Path
sys.path.append(sys.argv[1])
import torch
from datasets import load_from_disk
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
from pulled import check_private, pull, run_card
from hf_fairness.cli import main

out, words = Path(sys.argv[2]), sys.argv[3:]
assert main(words) == 0
assert main(words) == 0  # nothing has changed
place, rows = pull("tester/fairer-it"), pull("tester/fairer-it-pairs", "dataset")
for folder in (place, rows):
    check_private(folder, str(out.parent))
theirs, ours = run_card(place), run_card(out / "model")
assert theirs["translations"] == ours["translations"] != []
start = AutoTokenizer.from_pretrained(out / "start")  # the tokenizer that was made for the small model
assert theirs["tokenizer"](["The nurse sings."]).input_ids == start(["The nurse sings."]).input_ids
batch = theirs["batch"] | {"decoder_input_ids": torch.tensor([[1, 2, 3]])}
assert torch.allclose(theirs["model"](**batch).logits, ours["model"](**batch).logits, atol=1e-6)
assert run_card(rows)["rows"]["train"].to_list() == load_from_disk(out / "balance").to_list() != []
assert run_card(out / "balance")["rows"].to_list() == load_from_disk(out / "balance").to_list()
"""


def test_a_pushed_model_is_the_trained_one(finished, files, tmp_path, fake_hub):
    out = tmp_path / "out"
    shutil.copytree(finished[0], out)
    words = ["--push_to_hub", "--hub_model_id", "tester/fairer-it", "--push_artefacts", "pairs"]
    words = command(files, out, *words, parallel="aligned")
    printed = fake_hub.run(PULLED, Path(__file__).parent.parent, out, *words)
    before, after = stages(finished[0]), stages(out)
    changed = [name for name in before if before[name]["started"] != after[name]["started"]]
    assert changed == ["model"]  # where it is pushed to changes its name alone
    assert printed.count("Pushed to") == printed.count("Nothing to push") == 2
    assert {len(repo.commits) - 1 for repo in fake_hub.repos.values()} == {1}
    found = fake_hub.files("tester/fairer-it")
    assert {"README.md", "model.safetensors", "config.json", "tokenizer.json", "generation_config.json"} <= set(found)
    assert not any(name.startswith(("checkpoint", "report")) or name.endswith(".bin") for name in found)
    card = found["README.md"].decode()
    assert card.index("# tester/fairer-it") < card.index("Got worse") < card.index("## How to load it")
    assert found["model.safetensors"] == (out / "train_gfst" / "model" / "model.safetensors").read_bytes()


@pytest.mark.parametrize("name", ["pairs.tsv", "aligned", "pairs.jsonl", "pairs.parquet", "saved", "translation.jsonl"])
def test_pairs_are_read_from_files_of_every_kind(files, tmp_path, name):
    rows = gfst_world.pairs(400, 0, feminine=0.5, noise=0.0)
    if name == "saved":
        rows.save_to_disk(str(tmp_path / name))
    elif name == "translation.jsonl":
        lines = [
            json.dumps({"translation": {"en": a, "it": b}}) for a, b in zip(rows["source"], rows["target"], strict=True)
        ]
        (tmp_path / name).write_text("\n".join(lines))
    elif name.startswith("pairs.j"):
        rows.to_json(str(tmp_path / name))
    elif name.endswith("parquet"):
        rows.to_parquet(str(tmp_path / name))
    source = files.get(name, str(tmp_path / name))
    found = open_pairs(source, languages=("en", "it"), columns=("source", "target"))
    assert found["source"][:] == rows["source"][:]
    assert found["target"][:] == rows["target"][:]


def test_what_cannot_be_read_is_refused(files, tmp_path):
    languages, names = ("en", "de"), ("source", "target")
    three = tmp_path / "three.csv"
    three.write_text("id,de,fr\na,b,c\n")
    with pytest.raises(ValueError, match=r"text columns id, de, fr; expected source and target.*--source_column"):
        open_pairs(str(three), languages=languages, columns=names)
    assert open_pairs(str(three), languages=languages, columns=("de", "fr"))[0] == {"source": "b", "target": "c"}
    short = tmp_path / "short.it"
    short.write_text("una\n")
    with pytest.raises(ValueError, match=r"has 400 lines and .* 1: aligned files"):
        open_pairs(f"{files['train.en']},{short}", languages=languages, columns=names)
    with pytest.raises(ValueError, match=r"There is no file .*nowhere.it"):
        open_pairs(f"{files['train.en']},{tmp_path / 'nowhere.it'}", languages=languages, columns=names)
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(ValueError, match="is empty"):
        open_texts(str(tmp_path / "empty.txt"), column=None)
    with pytest.raises(ValueError, match="choose one with --text_column"):
        open_texts(str(three), column=None)


def test_errors_of_the_command_say_what_to_do(files, tmp_path, capsys):
    assert main(["gfst", "--lang", "it", "--output_dir", str(tmp_path)]) == 1
    assert "--monolingual is missing" in capsys.readouterr().err
    assert main(["gfst", "--monolingual", files["news.txt"], "--lang", "it", "--output_dir", str(tmp_path)]) == 1
    assert "parallel" in capsys.readouterr().err
    assert main(["gfst", "--demo", "--until", "balance", "--push_to_hub", "--output_dir", str(tmp_path)]) == 1
    assert "before there is a model to push" in capsys.readouterr().err


def test_the_demo_brings_its_own_data(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["gfst", "--demo", "--until", "filter-source", "--output_dir", str(out)]) == 0
    assert "filter source" in capsys.readouterr().out
    assert list(stages(out)) == ["parallel", "filter_source"]
    assert len(load_from_disk(str(out / "filter_source"))) > 1000
    assert main(["gfst", "--demo", "--model", "org/model", "--output_dir", str(out)]) == 1
    assert "leave out --model" in capsys.readouterr().err


@pytest.mark.slow
def test_the_demo_reduces_the_gap(tmp_path):
    assert main(["gfst", "--demo", "--use_cpu", "--output_dir", str(tmp_path / "out")]) == 0
    report = json.loads((tmp_path / "out" / "report" / "results.json").read_text())
    gap = {name: report["winomt"][name]["delta_r"] for name in ("baseline", "gfst", "control", "randst")}
    assert gap["baseline"] > 0.2
    assert gap["gfst"] < min(gap["baseline"], gap["control"], gap["randst"]) - 0.05
    assert report["test"]["gfst"]["bleu"] > report["test"]["baseline"]["bleu"] - 0.01
