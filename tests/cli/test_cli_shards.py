"""`hf-fairness augment --num_shards N --shard_index I`: many runs make what one makes, and mix nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from datasets import Dataset, load_dataset

from hf_fairness.cli import main
from hf_fairness.cli.shards import SHARDS, Shards
from hf_fairness.cli.unfinished import Unfinished
from hf_fairness.publishing import MANIFEST
from hf_fairness.runs import claim
from support.augment_rows import ROWS

KEPT = ["README.md", "augment.json", "data"]


@pytest.fixture
def shard(tmp_path, capsys):
    """Runs one shard; returns what was printed, or the error."""

    def run(source: str, index: int, number: int, *words: object, method: str = "cda", code: int = 0) -> str:
        command = ["augment", source, "--method", method, "--output_dir", str(tmp_path / "shards")]
        command += ["--num_shards", str(number), "--shard_index", str(index), *map(str, words)]
        status = main(command)
        printed = capsys.readouterr()
        assert status == code, printed.err
        return printed.err if code else printed.out

    return run


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of every file."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}


def check(folder: Path, one: tuple[Dataset, str, str], cache: Path) -> None:
    """The folder holds the rows, the card and the counts of one run, and nothing else."""
    assert sorted(path.name for path in folder.iterdir()) == KEPT
    rows = load_dataset(str(folder), split="train", cache_dir=str(cache))
    assert rows.features == one[0].features
    assert rows.to_list() == one[0].to_list()
    assert (folder / "README.md").read_text().replace("shards", "out") == one[1]
    records = [json.loads((place / "augment.json").read_text()) for place in (folder, folder.parent / "out")]
    assert records[0]["counts"] == records[1]["counts"]


@pytest.mark.parametrize("method", ["cda", "swap", "variants"])
def test_shards_in_any_order_make_what_one_run_makes(write, augment, shard, tmp_path, method):
    source, folder = write(".jsonl"), tmp_path / "shards"
    one = augment(source, method, "--card_examples")
    for index in (2, 0, 3):
        before = files(folder)
        assert "still missing" in shard(source, index, 4, "--card_examples", method=method)
        assert not (folder / "README.md").exists()
        assert files(folder).items() >= before.items()  # nobody touches what another one wrote
    assert "rows out" in shard(source, 1, 4, "--card_examples", method=method)
    assert sorted(path.name for path in (folder / "data").iterdir()) == [
        f"train-0000{index}-of-00004.parquet" for index in range(4)
    ]
    check(folder, one, tmp_path / "cache2")
    before = files(folder)
    for index in range(4):
        assert "still missing" not in shard(source, index, 4, "--card_examples", method=method)
    assert files(folder) == before  # the same line once more does nothing


def test_a_run_that_was_killed_is_taken_up(write, augment, shard, tmp_path):
    """Whatever state it left: the same lines again give the same folder."""
    source, folder = write(".jsonl"), tmp_path / "shards"
    one = augment(source, "cda")
    (folder / SHARDS).mkdir(parents=True)  # before it had a plan
    shard(source, 0, 2)
    (folder / SHARDS / "00000.json").unlink()  # after the rows, before the note
    (folder / "data" / ".train-00000-of-00002.parquet.lock").touch()
    (folder / "data" / ".train-00000-of-00002.parquet.abcdef-1-01234567.tmp").write_text("half")
    shard(source, 0, 2)
    os.truncate(folder / "data" / "train-00000-of-00002.parquet", 9)  # by a disk that failed
    shard(source, 0, 2)
    (folder / ".README.md.abcdef-1-01234567.tmp").write_text("half")
    (folder / "README.md").write_text("half")  # while it finished
    (folder / "data" / ".train-00000-of-00002.parquet.lock").touch()
    shard(source, 1, 2)
    check(folder, one, tmp_path / "cache2")
    assert len(list((folder / "data").iterdir())) == 2


def test_a_plan_of_which_nothing_came_is_no_hindrance(write, augment, shard, tmp_path):
    source = write(".jsonl")
    assert "no column 'gold'" in shard(source, 0, 2, "--label_column", "gold", code=1)
    for index in range(2):
        shard(source, index, 2)
    check(tmp_path / "shards", augment(source, "cda"), tmp_path / "cache2")


def test_a_run_that_is_overtaken_by_another_plan_mixes_nothing(write, augment, shard, tmp_path):
    """Its note belongs to its own plan, whatever stands in the folder by then."""
    source, note = write(".jsonl"), tmp_path / "shards" / SHARDS / "00000.json"
    shard(source, 0, 2)
    late = note.read_text()
    shard(source, 0, 2, "--names", "built-in", "--overwrite")
    note.write_text(late)
    assert "shard 0 was made of other rows, or by a run of other settings" in shard(
        source, 1, 2, "--names", "built-in", code=1
    )
    shard(source, 0, 2, "--names", "built-in", "--overwrite")
    check(tmp_path / "shards", augment(source, "cda", "--names", "built-in"), tmp_path / "cache2")


def test_two_runs_of_one_shard(write, shard, tmp_path):
    source = write(".jsonl")
    shard(source, 1, 2)
    with claim(tmp_path / "shards" / "data" / "train-00000-of-00002.parquet"):
        assert "is being written by another job" in shard(source, 0, 2, code=1)
        assert "still missing: 1" in shard(source, 1, 2)  # which another one is not kept from
    assert "rows out" in shard(source, 0, 2)


def test_shards_of_other_settings_or_rows_are_not_mixed(write, augment, shard, tmp_path):
    source = write(".jsonl")
    shard(source, 0, 2)
    assert "num_shards was 2 and is 3" in shard(source, 1, 3, code=1)
    assert "names was None and is 'built-in'" in shard(source, 1, 2, "--names", "built-in", code=1)
    assert "is not empty" in augment(source, "cda", out="shards", code=1)
    edited = write(".jsonl", [{**row, "text": row["text"].replace("Rain", "Snow")} for row in ROWS])
    assert "sample of the rows was" in shard(edited, 1, 2, code=1)
    before = files(tmp_path / "shards")
    assert "num_shards was 2 and is 3" in shard(edited, 1, 3, code=1)
    assert files(tmp_path / "shards") == before
    (tmp_path / "shards" / "thesis.txt").write_text("mine")
    assert "holds 'thesis.txt'" in shard(edited, 1, 3, "--overwrite", code=1)
    (tmp_path / "shards" / "thesis.txt").unlink()
    assert files(tmp_path / "shards") == before  # what is refused changes nothing
    one = augment(edited, "cda", "--names", "built-in")
    for index in (1, 0):  # both are told, and the second does not undo the first
        shard(edited, index, 2, "--names", "built-in", "--overwrite")
    check(tmp_path / "shards", one, tmp_path / "cache2")
    assert "names was 'built-in' and is None" in shard(edited, 0, 2, code=1)  # of a finished folder, too


def test_rows_that_changed_where_the_plan_does_not_look(write, augment, shard, tmp_path):
    many = [{"text": f"She met number {n}."} for n in range(200)]
    source = write(".jsonl", many)
    shard(source, 0, 2)
    changed = write(".jsonl", [*many[:1], {"text": "He met nobody at all."}, *many[2:]])
    error = shard(changed, 1, 2, code=1)
    assert "shard 0 was made of other rows, or by a run of other settings. Run each of them again with --over" in error
    assert "shard 0 was made of other rows" in shard(changed, 0, 2, code=1)
    shard(changed, 0, 2, "--overwrite")
    check(tmp_path / "shards", augment(changed, "cda"), tmp_path / "cache2")


@pytest.mark.whole
def test_the_last_shard_pushes(fake_hub, write, tmp_path):
    code = """
        import sys
        from hf_fairness.cli import main
        source, out = sys.argv[1:]
        words = ["augment", source, "--method", "cda", "--output_dir", out, "--push_to_hub"]
        words += ["--hub_dataset_id", "tester/parts", "--num_shards", "2", "--shard_index"]
        for index in ("1", "0", "1"):
            assert main([*words, index]) == 0
    """
    printed = fake_hub.run(code, write(".csv"), tmp_path / "out")
    assert printed.count("Pushed to") == 1
    files = fake_hub.files("tester/parts", "dataset")
    assert {path for path in files if path not in (".gitattributes", MANIFEST)} == {
        "README.md",
        *(f"data/train-0000{index}-of-00002.parquet" for index in range(2)),
    }


@pytest.mark.parametrize(
    ("method", "words", "message"),
    [
        ("swap", ("--num_shards", 2), "--num_shards and --shard_index belong together"),
        ("swap", ("--shard_index", 2), "--num_shards and --shard_index belong together"),
        ("swap", ("--num_shards", 2, "--shard_index", 2), "--shard_index is 2, expected 0 to 1"),
        ("swap", ("--num_shards", 0, "--shard_index", 0), "--num_shards is 0, expected 1 or more"),
        ("swap", ("--num_shards", 7, "--shard_index", 0), "--num_shards is 7, expected at most 6, the number of rows"),
        ("balance", ("--num_shards", 2, "--shard_index", 0), "chooses among all rows, so no shard can run it"),
        (
            "subtract",
            ("--num_shards", 2, "--shard_index", 0, "--percentile", 90, "--score_column", "label"),
            "score in shards (--method score), then choose once on that folder (--score_column)",
        ),
    ],
)
def test_what_no_shard_can_do(write, augment, tmp_path, method, words, message):
    assert message in augment(write(".jsonl"), method, *words, code=1)
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_gone_from_a_finished_folder_is_not_said_to_be_there(tmp_path):
    rows = Dataset.from_dict({"text": ["a", "b"]})
    record = tmp_path / "out" / "record.json"

    def run(index: int, *, overwrite: bool = False) -> None:
        made = Shards(tmp_path / "out", rows, 2, file="data/{}".format, record=record.name, settings={})
        fill = lambda path: {"n": path.write_text(f"{index}")}  # noqa: E731
        finish = lambda told, plan: {"bytes": record.write_text(json.dumps({"shards": plan}))}  # noqa: E731
        made.run(index, fill, finish, check=lambda: None, overwrite=overwrite)

    run(0)
    run(1)
    run(1)  # does nothing
    (tmp_path / "out" / "data" / "1").unlink()
    with pytest.raises(FileExistsError, match="1 is gone, and the folder was finished with it"):
        run(1)
    run(1, overwrite=True)
    assert not record.exists()  # all of them are to be run again
    run(0)
    assert sorted(path.name for path in (tmp_path / "out" / "data").iterdir()) == ["0", "1"]


def test_who_writes_a_part_is_told_what_its_note_says(tmp_path):
    parts = Unfinished(tmp_path / "data", tmp_path / "notes", "{:05d}.txt".format, {})
    parts.folder.mkdir()

    def fill(path: Path) -> dict[str, object]:
        path.write_text("row\n", encoding="utf-8")
        return {"tally": {"z": 1, "a": {2: 3}}, "place": path}

    note = parts.write(3, fill)
    assert note == parts.told(3)
    assert list(note["tally"]) == ["z", "a"]  # the counts in their order
