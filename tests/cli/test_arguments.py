"""The dataclasses that every command shares, and the rows that their flags open."""

from __future__ import annotations

from pathlib import Path

import pytest
from datasets import Dataset, DatasetDict

from hf_fairness.arguments import DataArguments, HeldOutArguments
from hf_fairness.sources import one_text_column, open_held_out, open_named, open_rows


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A saved data set of three splits."""
    folder = str(tmp_path_factory.mktemp("data") / "splits")
    sets = {name: Dataset.from_dict({"text": [name]}) for name in ("train", "validation", "test")}
    DatasetDict(sets).save_to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two configurations in parquet, as `push_to_hub` lays it out."""
    folder = tmp_path_factory.mktemp("parquet")
    for config in ("mnli", "sst2"):
        (folder / config).mkdir()
        for split in ("train", "validation"):
            rows = Dataset.from_dict({"text": [f"{config} {split}"]})
            rows.to_parquet(str(folder / config / f"{split}-00000-of-00001.parquet"))
    head = [f"- config_name: {c}\n  data_files:\n" for c in ("mnli", "sst2")]
    files = [
        "".join(f"  - split: {s}\n    path: {c}/{s}-*\n" for s in ("train", "validation")) for c in ("mnli", "sst2")
    ]
    (folder / "README.md").write_text(
        "---\nconfigs:\n" + "".join(a + b for a, b in zip(head, files, strict=True)) + "---\n"
    )
    return folder


def test_a_part_is_a_split_of_the_data_set_or_a_set_of_its_own(splits: str, tmp_path: Path) -> None:
    data = DataArguments(dataset=splits)
    assert open_rows(data)["text"][:] == ["train"]
    assert open_held_out(data, HeldOutArguments(), "validation") is None
    of_set = open_held_out(data, HeldOutArguments(validation_split="validation"), "validation")
    assert of_set is not None
    assert of_set["text"][:] == ["validation"]
    own = tmp_path / "own.csv"
    own.write_text("text\nmine\n")
    rows = open_held_out(data, HeldOutArguments(test_dataset=str(own)), "test")
    assert rows is not None
    assert rows["text"][:] == ["mine"]
    rows = open_held_out(
        DataArguments(dataset=str(own)), HeldOutArguments(test_dataset=splits, test_split="test"), "test"
    )
    assert rows is not None
    assert rows["text"][:] == ["test"]


def test_what_is_not_said_is_an_error_that_names_the_flag(splits: str, tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("text\nmine\n")
    with pytest.raises(ValueError, match="--dataset is missing"):
        open_rows(DataArguments())
    with pytest.raises(ValueError, match=r"splits train, validation, test: say which with --test_split"):
        open_held_out(DataArguments(dataset=str(own)), HeldOutArguments(test_dataset=splits), "test")
    for split in ("dev", "train"):  # the rows of the training are not held out either
        said = rf"--validation_split {split}: .* has no splits\. Name the file of the rows with --validation_dataset"
        with pytest.raises(ValueError, match=said):
            open_held_out(DataArguments(dataset=str(own)), HeldOutArguments(validation_split=split), "validation")
    Dataset.from_dict({"text": ["a"]}).save_to_disk(tmp_path / "saved")
    for table in ("demo", str(tmp_path / "saved")):
        said = r"--test_split test: a single table such as .* has no splits\. Name the table .* --test_dataset"
        with pytest.raises(ValueError, match=said):
            open_held_out(DataArguments(dataset=table), HeldOutArguments(test_split="test"), "test")
    with pytest.raises(ValueError, match=r"--dataset_config mnli: .* has no configurations"):
        open_rows(DataArguments(dataset=str(own), dataset_config="mnli"))
    with pytest.raises(ValueError, match=r"--dataset_split train\[:10%\]: .* is one table, .* Take --max_rows"):
        open_rows(DataArguments(dataset=str(own), dataset_split="train[:10%]"))
    with pytest.raises(ValueError, match="max_rows is 0"):
        DataArguments(max_rows=0)


def test_configurations_of_a_folder_of_parquet(parquet: Path) -> None:
    rows = open_rows(DataArguments(dataset=str(parquet), dataset_config="sst2", dataset_split="validation"))
    assert rows["text"][:] == ["sst2 validation"]
    with pytest.raises(ValueError, match="--dataset_config names one of its configurations"):
        open_rows(DataArguments(dataset=str(parquet)))
    with pytest.raises(ValueError, match="--dataset_config names one of its configurations"):
        open_rows(DataArguments(dataset=str(parquet), dataset_config="rte"))
    with pytest.raises(ValueError, match="--test_split names one of its splits"):
        open_held_out(
            DataArguments(dataset=str(parquet), dataset_config="mnli"), HeldOutArguments(test_split="dev"), "test"
        )
    own = HeldOutArguments(test_dataset=str(parquet), test_config="sst2", test_split="validation")
    for data in (DataArguments(dataset="demo"), DataArguments(dataset=str(parquet), dataset_config="mnli")):
        found = open_held_out(data, own, "test")
        assert found is not None
        assert found["text"][:] == ["sst2 validation"]
    other = HeldOutArguments(validation_config="sst2", validation_split="validation")
    found = open_held_out(DataArguments(dataset=str(parquet), dataset_config="mnli"), other, "validation")
    assert found is not None
    assert found["text"][:] == ["sst2 validation"]
    with pytest.raises(ValueError, match="--test_split names one of its splits"):
        open_held_out(data, HeldOutArguments(test_split="dev"), "test")
    with pytest.raises(ValueError, match="--dataset_split names one of its splits"):
        open_rows(DataArguments(dataset=str(parquet), dataset_config="mnli", dataset_split="dev"))


def test_a_further_set_has_flags_of_its_own(splits: str, parquet: Path, tmp_path: Path) -> None:
    built = tmp_path / "built"
    built.mkdir()
    Dataset.from_dict({"text": ["mine"]}).to_parquet(str(built / "test-00000-of-00001.parquet"))
    for source, config, split, wanted in (
        (splits, None, "test", "test"),
        (str(built), None, None, "mine"),
        (str(parquet), "sst2", "validation", "sst2 validation"),
    ):
        rows = open_named("group", source, config, split)
        assert rows is not None
        assert rows["text"][:] == [wanted]
    assert open_named("group", None, None, None) is None
    for given, message in (
        ((None, None, "test"), "--group_split test says what to read of --group_dataset"),
        ((splits, None, None), "say which with --group_split"),
        ((str(parquet), None, "train"), "--group_config names one of its configurations"),
        ((str(parquet), "mnli", "dev"), "--group_split names one of its splits"),
    ):
        with pytest.raises(ValueError, match=message):
            open_named("group", *given)


def test_a_command_that_reads_one_column_refuses_several(splits: str) -> None:
    data = DataArguments(dataset=splits)
    assert one_text_column(open_rows(data), data) == "text"
    with pytest.raises(ValueError, match="--text_column a b: this reads one column"):
        one_text_column(open_rows(data), DataArguments(dataset=splits, text_column=["a", "b"]))
