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
from typing import Any

import numpy as np
import pytest
from datasets import Dataset, load_from_disk

from hf_fairness.cli import main
from hf_fairness.record import Record
from hf_fairness.report import summarize
from hf_fairness.trainers import GFSTArguments, GFSTConfig
from hf_fairness.trainers.gfst.sources import open_pairs, open_test_set, open_texts
from support import gfst_world
from support.gfst_case import SMALL, weights
from support.manifest import stages
from support.record_case import one_line

WORDS = [
    *(f"--{name}={value}" for name, value in SMALL.items()),
    *("--target_lang", "it", "--min_pairs", "5", "--num_beams", "1", "--n_bootstrap", "50", "--arms", "none"),
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
    names = ["--dataset", files[parallel], "--monolingual_dataset", files["news.txt"], "--lexicon", files["forms.tsv"]]
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
    assert report["arguments"]["dataset"] == "train.en,train.it"
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
    scores = json.loads((finished[0] / "report" / "results.json").read_text())["results"]["winomt"]
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
    assert results["results"] == json.loads(written["results.json"])["results"]


def test_the_first_stage_needs_no_model_and_no_language(files, tmp_path, capsys):
    out = tmp_path / "out"
    assert (
        main(["gfst", "--monolingual_dataset", files["news.txt"], "--until", "filter-source", "--output_dir", str(out)])
        == 0
    )
    printed = capsys.readouterr().out
    assert list(stages(out)) == ["filter_source"]
    assert "too_long 1" in printed
    assert str(out / "filter_source") in printed
    assert len(load_from_disk(str(out / "filter_source"))) == 200


@pytest.mark.whole
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
import torch
from datasets import Dataset, load_from_disk
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
from support.pulled import check_private, pull, run_card
from hf_fairness.cli import main

out, words = Path(sys.argv[1]), sys.argv[2:]
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


def test_pairs_stand_in_the_report_alone_and_only_where_asked_for(finished, files, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(finished[0], out)
    assert not json.loads((out / "report" / "record.json").read_text())["texts"]
    card = (out / "model" / "README.md").read_bytes()
    assert main(command(files, out, "--show_texts", "3", parallel="aligned")) == 0
    before, after = stages(finished[0]), stages(out)
    assert [name for name in before if before[name]["started"] != after[name]["started"]] == ["report"]
    ((title, items),) = json.loads((out / "report" / "record.json").read_text())["texts"].items()
    assert "drawn at random" in title
    pairs = {f"{row['source']} / {row['target']}" for row in load_from_disk(str(out / "balance"))}
    assert len(items) == 3
    assert set(items) <= pairs
    assert (out / "model" / "README.md").read_bytes() == card


@pytest.mark.whole
def test_a_pushed_model_is_the_trained_one(finished, files, tmp_path, fake_hub):
    out = tmp_path / "out"
    shutil.copytree(finished[0], out)
    words = ["--push_to_hub", "--hub_model_id", "tester/fairer-it", "--push_artefacts", "pairs"]
    words = command(files, out, *words, parallel="aligned")
    printed = fake_hub.run(PULLED, out, *words)
    before, after = stages(finished[0]), stages(out)
    changed = [name for name in before if before[name]["started"] != after[name]["started"]]
    assert changed == ["report", "model"]  # where it is pushed to changes its name alone
    results = [json.loads((folder / "report" / "results.json").read_text()) for folder in (finished[0], out)]
    assert results[0]["results"] == results[1]["results"]
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
    arguments, config = told(dataset=source, validation_dataset=source)
    for found in (open_pairs(arguments, config), open_pairs(arguments, config, "validation")):
        assert found["source"][:] == rows["source"][:]
        assert found["target"][:] == rows["target"][:]
    assert open_pairs(arguments, config, "test") is None


def told(source_column: str = "source", target_column: str = "target", **more: Any) -> tuple[GFSTArguments, GFSTConfig]:
    """What the command is told, as its functions take it."""
    config = GFSTConfig(output_dir="unused", source_column=source_column, target_column=target_column)
    return GFSTArguments(**{"target_lang": "it", **more}), config


def texts_of(source: str, **more: str) -> Dataset:
    """Monolingual texts; options without the beginning of their names."""
    named = {f"monolingual_{name}": value for name, value in {"dataset": source, **more}.items()}
    return open_texts(told(**named)[0])


def rows_of(option: str, source: str) -> Any:
    """Rows of a test set."""
    return open_test_set(option, told(**{option: source})[0])


def test_parts_of_one_data_set_are_read_by_configuration_and_split(files, tmp_path):
    parts = {"train": 30, "validation": 10, "test": 20}
    for split, n in parts.items():
        for language in ("it", "de"):
            place = tmp_path / "built" / f"en-{language}"
            place.mkdir(parents=True, exist_ok=True)
            gfst_world.pairs(n, len(language + split)).to_parquet(str(place / f"{split}-0.parquet"))
    heads = [
        f"- config_name: en-{language}\n  data_files:\n"
        + "".join(f"  - split: {split}\n    path: en-{language}/{split}-*\n" for split in parts)
        for language in ("it", "de")
    ]
    (tmp_path / "built" / "README.md").write_text(f"---\nconfigs:\n{''.join(heads)}---\n")
    named = {"dataset": str(tmp_path / "built"), "dataset_config": "en-it"}
    arguments, config = told(**named, validation_split="validation", test_split="test")
    assert len(open_pairs(arguments, config)) == 30
    for part in ("validation", "test"):
        assert len(open_pairs(arguments, config, part)) == parts[part]
    with pytest.raises(ValueError, match="--dataset_config names one of its configurations"):
        open_pairs(*told(dataset=named["dataset"]))
    with pytest.raises(ValueError, match="--test_split test: aligned files have no splits"):
        open_pairs(*told(dataset=files["aligned"], test_split="test"), "test")
    with pytest.raises(ValueError, match="--monolingual_config names one of its configurations"):
        texts_of(named["dataset"], text_column="source")
    assert len(texts_of(named["dataset"], text_column="source", config="en-de", split="test")) == 20


def test_a_configuration_alone_names_held_out_pairs(files, tmp_path):
    for name in ("old", "new"):
        rows = gfst_world.pairs(len(name), 1).rename_columns({"source": "en", "target": "it"})
        (tmp_path / "built" / name).mkdir(parents=True)
        rows.to_parquet(str(tmp_path / "built" / name / "train-0.parquet"))
    heads = "".join(f"- config_name: {name}\n  data_files: {name}/train-*\n" for name in ("old", "new"))
    (tmp_path / "built" / "README.md").write_text(f"---\nconfigs:\n{heads}---\n")
    named = {"dataset": str(tmp_path / "built"), "dataset_config": "old"}
    found = open_pairs(*told(**named, validation_config="new"), "validation")
    assert found[:] == gfst_world.pairs(3, 1)[:]
    with pytest.raises(ValueError, match="--validation_config new: aligned files have no configs"):
        open_pairs(*told(dataset=files["aligned"], validation_config="new"), "validation")


def test_test_sets_are_read_from_what_is_published_and_from_data_sets(files, tmp_path):
    rows = gfst_world.winomt_rows()
    Dataset.from_list(rows).to_parquet(str(tmp_path / "winomt.parquet"))
    Dataset.from_list(rows).save_to_disk(str(tmp_path / "saved"))
    keys = ("gender", "target_index", "sentence", "profession")
    published = rows_of("winomt", files["en.txt"])
    others = [rows_of("winomt", str(tmp_path / name)) for name in ("winomt.parquet", "saved")]
    for found in (published, *others):
        assert [[row[key] for key in keys] for row in found] == [[row[key] for key in keys] for row in rows]
    tsv = tmp_path / "MONOLINGUAL.it.tsv"
    tsv.write_text("ID\tSRC\tCATEGORY\tGENDERTERMS\n1\tShe left.\t2F\tpartita partito\n")
    published = rows_of("must_she", str(tsv))
    for language in ("it", "fr"):
        place = tmp_path / "must_she" / f"en-{language}"
        place.mkdir(parents=True)
        Dataset.from_list([{**row, "id": language} for row in published]).to_parquet(str(place / "test-0.parquet"))
    configs = [f"- config_name: en-{name}\n  data_files: en-{name}/*.parquet\n" for name in ("fr", "it")]
    (tmp_path / "must_she" / "README.md").write_text(f"---\nconfigs:\n{''.join(configs)}---\n")
    (built,) = rows_of("must_she", str(tmp_path / "must_she"))
    assert built == {**published[0], "id": "it"}
    with pytest.raises(ValueError, match=r"--must_she: .* has no column 'source'.*Expected MuST-SHE's tsv file"):
        rows_of("must_she", str(tmp_path / "winomt.parquet"))
    with pytest.raises(ValueError, match=r"--winomt: .*nowhere\.txt"):
        rows_of("winomt", str(tmp_path / "nowhere.txt"))


def test_what_cannot_be_read_is_refused(files, tmp_path):
    three = tmp_path / "three.csv"
    three.write_text("id,de,fr\na,b,c\n")
    with pytest.raises(ValueError, match=r"text columns id, de, fr; expected source and target.*--source_column"):
        open_pairs(*told(dataset=str(three), target_lang="de"))
    assert open_pairs(*told("de", "fr", dataset=str(three)))[0] == {"source": "b", "target": "c"}
    two = tmp_path / "two.csv"
    two.write_text("source,target,clean\na,b,c\n")  # a misspelt name must not fall back on what else is there
    with pytest.raises(ValueError, match=r"text columns source, target, clean; expected claen and target\. Name yours"):
        open_pairs(*told("claen", dataset=str(two)))
    short = tmp_path / "short.it"
    short.write_text("una\n")
    with pytest.raises(ValueError, match=r"has 400 lines and .* 1: aligned files"):
        open_pairs(*told(dataset=f"{files['train.en']},{short}"))
    with pytest.raises(ValueError, match=r"no such file or folder: .*nowhere\.it.*Expected two aligned text files"):
        open_pairs(*told(dataset=f"{files['train.en']},{tmp_path / 'nowhere.it'}"))
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(ValueError, match="is empty"):
        texts_of(str(tmp_path / "empty.txt"))
    with pytest.raises(ValueError, match="choose one with --monolingual_text_column"):
        texts_of(str(three))


def test_errors_of_the_command_say_what_to_do(files, tmp_path, capsys):
    assert main(["gfst", "--target_lang", "it", "--output_dir", str(tmp_path)]) == 1
    assert "no monolingual text to translate: name it with --monolingual_dataset" in capsys.readouterr().err
    assert (
        main(["gfst", "--monolingual_dataset", files["news.txt"], "--target_lang", "it", "--output_dir", str(tmp_path)])
        == 1
    )
    assert "Name pairs of texts with --dataset" in capsys.readouterr().err
    assert main(["gfst", "--demo", "--until", "balance", "--push_to_hub", "--output_dir", str(tmp_path)]) == 1
    assert "before there is a model to push" in capsys.readouterr().err


def test_the_demo_brings_its_own_data(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["gfst", "--demo", "--until", "filter-source", "--output_dir", str(out)]) == 0
    assert "filter source" in capsys.readouterr().out
    assert list(stages(out)) == ["parallel", "filter_source"]
    assert len(load_from_disk(str(out / "filter_source"))) > 1000
    assert main(["gfst", "--demo", "--model_name_or_path", "org/model", "--output_dir", str(out)]) == 1
    assert "leave out --model_name_or_path" in capsys.readouterr().err


@pytest.mark.whole
def test_the_demo_reduces_the_gap(tmp_path):
    assert main(["gfst", "--demo", "--use_cpu", "--output_dir", str(tmp_path / "out")]) == 0
    report = json.loads((tmp_path / "out" / "report" / "results.json").read_text())
    gap = {name: report["results"]["winomt"][name]["delta_r"] for name in ("baseline", "gfst", "control", "randst")}
    assert gap["baseline"] > 0.2
    assert gap["gfst"] < min(gap["baseline"], gap["control"], gap["randst"]) - 0.05
    assert report["results"]["test"]["gfst"]["bleu"] > report["results"]["test"]["baseline"]["bleu"] - 0.01
