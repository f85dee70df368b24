"""`hf-fairness build-dataset`: parquet and card on disk and on a Hub, restricted data, folders that are there."""

from __future__ import annotations

import json

import pytest
from datasets import load_dataset
from huggingface_hub import DatasetCard

from hf_fairness.cli import main
from hf_fairness.dataset_scripts import builder_class, load
from hf_fairness.publishing import MANIFEST
from support.dataset_cases import CASES, RAW

RESTRICTED = ("jigsaw_unintended_bias", "must_she", "scramble", "twitter_sexism")


@pytest.fixture
def build(tmp_path, capsys, cache):
    """Runs the command; returns what it printed, or its error."""

    def run(name: str, *words: object, data_dir: object = None, code: int = 0, out: str | None = "out") -> str:
        where = [] if data_dir is None else ["--data_dir", str(data_dir)]
        output = [] if out is None else ["--output_dir", str(tmp_path / out)]
        status = main(["build-dataset", name, *where, *output, "--cache_dir", cache, *map(str, words)])
        printed = capsys.readouterr()
        assert status == code, printed.err
        return printed.err if code else printed.out

    return run


def test_parquet_and_card(build, tmp_path, cache):
    printed = build("winomt", data_dir=RAW / "winomt")
    assert printed.splitlines()[:4] == [
        "configuration  split  rows",
        "--------------------------",
        "all            test      5",
        "pro            test      2",
    ]
    card = DatasetCard.load(tmp_path / "out" / "README.md")
    assert (card.data.license, card.data.language, card.data.pretty_name) == ("mit", ["en"], "WinoMT")
    assert [config["config_name"] for config in card.data["configs"]] == ["all", "pro", "anti"]
    about = builder_class("winomt").about
    for part in (
        about.summary,
        about.citation,
        *about.prohibited,
        "Two sentences differ",
        "target\\_index",
        "en\\_pro",
    ):
        assert part in card.text
    assert "| no |" in card.text  # our own raw files are not the published ones
    assert str(RAW) not in card.content
    assert str(tmp_path) not in card.content
    for config in ("all", "pro", "anti"):
        rows = load_dataset(str(tmp_path / "out"), config, split="test", cache_dir=str(tmp_path / "cache"))
        expected = load("winomt", RAW / "winomt", config, split="test", cache_dir=cache)
        assert rows.features == expected.features
        assert rows.to_list() == expected.to_list()
    assert len(load_dataset(str(tmp_path / "out"), split="test", cache_dir=str(tmp_path / "cache"))) == 5  # the default


def test_cards_of_several_shapes(build, tmp_path):
    build("winogender", data_dir=RAW / "winogender")
    text = (tmp_path / "out" / "README.md").read_text()
    first, second = text.index("Of `sentences`:"), text.index("Of `variants`:")
    assert first < text.index("| bls\\_pct\\_female | float64 |") < second < text.index("| has\\_terms | bool |")
    assert "| all\\_sentences.tsv | sentences, variants |" in text
    build("seat", "--dataset_config", "6,6b", out="seat")
    front = DatasetCard.load(tmp_path / "seat" / "README.md").data["configs"]
    assert [config["config_name"] for config in front] == ["6", "6b"]
    assert front[0]["description"] != front[1]["description"]


def test_source_names_of_splits_are_kept(build, tmp_path):
    build("multinli", data_dir=RAW / "multinli")
    rows = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert list(rows) == ["train", "dev_matched", "dev_mismatched"]
    build("stsb", data_dir=RAW / "stsb", out="other")
    assert list(load_dataset(str(tmp_path / "other"), cache_dir=str(tmp_path / "cache"))) == ["train", "dev"]


def test_only_what_is_there_is_built(build, tmp_path):
    assert "sst2" not in build("glue4", data_dir=RAW / "glue4")
    err = build("glue4", "--dataset_config", "rte, sst2", data_dir=RAW / "glue4", out="other", code=1)
    assert "configuration 'sst2', is built from SST-2/train.tsv" in err
    assert not (tmp_path / "other").exists()
    assert "no configuration 'cola'" in build(
        "glue4", "--dataset_config", "cola", data_dir=RAW / "glue4", out="o", code=1
    )


def test_a_changed_file_is_not_taken_from_a_cache(build, raw_copy, tmp_path):
    folder = raw_copy("professions")
    build("professions", data_dir=folder)
    before = load_dataset(str(tmp_path / "out"), split="test", cache_dir=str(tmp_path / "cache"))
    (folder / "professions.json").write_text((folder / "professions.json").read_text().replace("0.4", "0.7"))
    assert "is not empty" in build("professions", data_dir=folder, code=1)
    build("professions", "--overwrite", data_dir=folder)
    after = load_dataset(str(tmp_path / "out"), split="test", cache_dir=str(tmp_path / "cache"))
    assert (before["stereotypical"][0], after["stereotypical"][0]) == (0.4, 0.7)


def test_nothing_is_left_of_a_build_that_failed(build, raw_copy, tmp_path):
    folder = raw_copy("winomt")
    text = (folder / "en_anti.txt").read_text()
    (folder / "en_anti.txt").write_text(text + "male\tone\n")
    err = build("winomt", data_dir=folder, code=1)
    assert (
        "en_anti.txt, line 3: expected 4 values (gender, target_index, sentence, profession) separated by tabs" in err
    )
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def test_folders_of_others_stay(build, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("work of years")
    err = build("winomt", "--overwrite", data_dir=RAW / "winomt", code=1)
    assert "holds something else" in err
    assert (tmp_path / "out" / "thesis.tex").read_text() == "work of years"
    (tmp_path / "out" / "README.md").write_text("---\ntags:\n- hf-fairness\n---\nA model that was made fairer.")
    assert "holds something else" in build("winomt", "--overwrite", data_dir=RAW / "winomt", code=1)
    assert (tmp_path / "out" / "thesis.tex").is_file()


def test_large_splits_have_several_files(build, tmp_path, monkeypatch):
    monkeypatch.setattr("hf_fairness.dataset_scripts._build.SHARD", 100)
    build("hans", data_dir=RAW / "hans")
    names = sorted(path.name for path in (tmp_path / "out" / "default").glob("train-*"))
    assert len(names) > 1
    assert names[0] == f"train-00000-of-{len(names):05d}.parquet"
    rows = load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
    assert rows["id"] == ["ex0", "ex1", "ex2"]


def test_the_list_and_wrong_use(build, capsys):
    assert main(["build-dataset", "--list"]) == 0
    printed = capsys.readouterr().out
    table = {line.split()[0]: line for line in printed.splitlines()}
    assert "none, generated" in table["seat"]
    assert {name for name, line in table.items() if "restricted" in line} == set(RESTRICTED)
    assert main(["build-dataset"]) == 1
    assert "Name a data set" in capsys.readouterr().err
    assert "Did you mean 'winomt'" in build("winmt", code=1)
    assert "pass --data_dir" in build("must_she", code=1)


@pytest.mark.parametrize("name", RESTRICTED)
def test_restricted_data_are_not_pushed(name, build, tmp_path):
    about = builder_class(name).about
    assert about.restricted
    err = build(name, "--push_to_hub", "--hub_dataset_id", "org/it", data_dir=RAW / name, code=1)
    assert "--i_have_the_right" in err
    assert not (tmp_path / "out").exists()  # refused before anything is built
    build(name, data_dir=RAW / name)
    assert "Restricted" in (tmp_path / "out" / "README.md").read_text()


PUSH_ALL = """
import json, sys
from datasets import disable_progress_bars, load_dataset
from hf_fairness.cli import main
from hf_fairness.dataset_scripts import load

raw, cache, again, cases = sys.argv[1:5]
from support.pulled import pull, run_card
disable_progress_bars()
for name, config in json.loads(cases).items():
    folder = None if name == "seat" else f"{raw}/{name}"
    words = ["build-dataset", name, "--dataset_config", config, "--cache_dir", cache, "--push_to_hub"]
    words += ["--i_have_the_right"] + (["--data_dir", folder] if folder else [])
    assert main(words) == 0, name
    found = load_dataset(f"tester/{name}", config, cache_dir=again)
    built = load(name, folder, config, cache_dir=cache)
    assert list(found) == list(built), name
    for split, rows in built.items():
        assert found[split].features == rows.features, name
        assert found[split].to_list() == rows.to_list(), name
    shown = run_card(pull(f"tester/{name}", "dataset"))["rows"]
    assert {split: rows.to_list() for split, rows in shown.items()} == {s: rows.to_list() for s, rows in built.items()}
    assert len(load_dataset(f"tester/{name}", cache_dir=again)) == len(built)  # without a configuration: the only one
print("equal")
"""


@pytest.mark.whole
def test_every_data_set_comes_back_from_the_hub(fake_hub, tmp_path, cache):
    cases = json.dumps({**{name: case.config for name, case in CASES.items()}, "seat": "6"})
    printed = fake_hub.run(PUSH_ALL, RAW, cache, tmp_path / "again", cases)
    assert {len(repo.commits) for repo in fake_hub.repos.values()} == {2}  # the one that makes it, and ours
    assert printed.splitlines()[-1] == "equal"
    assert fake_hub.unknown == []
    assert set(fake_hub.files("tester/winomt", "dataset")) - {MANIFEST} == {
        ".gitattributes",
        "README.md",
        "all/test-00000-of-00001.parquet",
    }
    assert b"restricted" not in fake_hub.files("tester/winomt", "dataset")["README.md"].lower()


PUSH_TWICE = """
import sys
from hf_fairness.cli import main

raw, cache = sys.argv[1:]
base = ["build-dataset", "winomt", "--data_dir", f"{raw}/winomt", "--cache_dir", cache, "--push_to_hub"]
base += ["--hub_dataset_id", "tester/twice"]
print(main(base), main([*base, "--dataset_config", "pro"]), main(base))
"""


def test_a_push_never_loses_configurations(fake_hub, cache):
    printed = fake_hub.run(PUSH_TWICE, RAW, cache)
    assert printed.splitlines()[-1] == "0 1 0"
    card = DatasetCard(fake_hub.files("tester/twice", "dataset")["README.md"].decode())
    assert [config["config_name"] for config in card.data["configs"]] == ["all", "pro", "anti"]
