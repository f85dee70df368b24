"""What users name on the command line opens, or the error says what to do."""

from __future__ import annotations

import json

import pytest
from datasets import Dataset, DatasetDict

from hf_fairness.attributes import load_attribute
from hf_fairness.cli import audit
from hf_fairness.sources import missing, open_dataset, open_variants, text_column

ROWS = [{"text": "She sings.", "score": 1.5}, {"text": 'He said "no".', "score": 2.0}]


@pytest.fixture
def write(tmp_path):
    """Writes the rows in a format; returns the path."""

    def make(kind: str) -> str:
        path = tmp_path / f"rows{kind}"
        rows = Dataset.from_list(ROWS)
        if kind == ".csv":
            rows.to_csv(path, index=False)
        elif kind == ".tsv":  # as GLUE writes it: quotation marks are text
            path.write_text("text\tscore\n" + "".join(f"{row['text']}\t{row['score']}\n" for row in ROWS))
        elif kind == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        elif kind == ".json":
            path.write_text(json.dumps(ROWS))
        elif kind == ".parquet":
            rows.to_parquet(path)
        elif kind == ".txt":
            path.write_text("".join(row["text"] + "\n" for row in ROWS))
        elif kind == "saved":
            rows.save_to_disk(path)
        else:
            DatasetDict({"train": rows, "test": rows.select([0])}).save_to_disk(path)
        return str(path)

    return make


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".json", ".jsonl", ".parquet", ".txt", "saved", "splits"])
def test_every_format_gives_the_same_rows(write, kind):
    rows = open_dataset(write(kind))
    assert rows["text"][:] == [row["text"] for row in ROWS]
    if kind != ".txt":
        assert rows["score"][:] == [1.5, 2.0]
    assert text_column(rows, None, "rows") == "text"


def test_splits(write):
    path = write("splits")
    assert len(open_dataset(path, split="test")) == 1
    with pytest.raises(ValueError, match="has the splits train, test, not 'dev': say which with --dataset_split"):
        open_dataset(path, split="dev")


def test_the_corpus_of_the_package():
    assert len(open_dataset("demo")) >= 1500


def test_endings_in_capitals(tmp_path):
    (tmp_path / "ROWS.CSV").write_text("text\nShe left.\n")
    (tmp_path / "ROWS.TSV").write_text('text\tlabel\nThe 5" disk\t1\n')
    assert open_dataset(str(tmp_path / "ROWS.CSV"))["text"] == ["She left."]
    assert open_dataset(str(tmp_path / "ROWS.TSV"))["text"] == ['The 5" disk']


def test_unknown_and_empty_files(tmp_path):
    (tmp_path / "rows.doc").write_text("x")
    with pytest.raises(ValueError, match=r"unknown file type '.doc'; expected one of .csv"):
        open_dataset(str(tmp_path / "rows.doc"))
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ValueError, match="is empty"):
        open_dataset(str(tmp_path / "empty.csv"))
    (tmp_path / "header.csv").write_text("text\n")
    with pytest.raises(ValueError, match="has no rows"):
        open_dataset(str(tmp_path / "header.csv"))
    (tmp_path / "torn.jsonl").write_text('{"text": "a"}\n{"text": ')
    with pytest.raises(ValueError, match=r"torn.jsonl cannot be read"):
        open_dataset(str(tmp_path / "torn.jsonl"))


def test_what_is_not_there_is_said_with_what_lies_near(tmp_path):
    for name in ("Rows.parquet", "row.csv", "other.csv"):
        (tmp_path / name).write_text("x")
    said = missing(str(tmp_path / "rows.csv"), "a table")
    assert said.startswith(f"there is no such file or folder: {tmp_path / 'rows.csv'}. Did you mean ")
    assert f"mean {tmp_path / 'Rows.parquet'} or {tmp_path / 'row.csv'}? Expected a table." in said
    lost = tmp_path / "nowhere" / "deep" / "rows.csv"
    assert f"there is no folder {tmp_path / 'nowhere'}: {lost}. Expected" in missing(str(lost), "a table")
    assert "row.csv is a file, so there is no " in missing(str(tmp_path / "row.csv" / "out"), "a folder")


def test_text_column_must_be_clear():
    rows = Dataset.from_dict({"a": ["x"], "b": ["y"], "n": [1]})
    with pytest.raises(ValueError, match=r"text columns a, b: choose one with --text_column"):
        text_column(rows, None, "rows")
    assert text_column(rows, "b", "rows") == "b"
    assert text_column(rows.remove_columns("a"), None, "rows") == "b"
    with pytest.raises(ValueError, match="no column 'c'; its text columns are a, b"):
        text_column(rows, "c", "rows")


def test_variants_need_every_group(tmp_path):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(json.dumps({"male": "He.", "female": "She.", "neutral": "They."}) + "\n")
    bad.write_text(json.dumps({"male": "He.", "neutral": "They."}) + "\n")
    assert list(open_variants([str(good)], ("male", "female"))) == ["good"]
    assert open_variants(None, ("male", "female")) == {}
    with pytest.raises(ValueError, match="expected male, female and neutral"):
        open_variants([str(bad)], ("male", "female"))
    with pytest.raises(ValueError, match="Two sets of variants are called 'good'"):
        open_variants([str(good), str(good)], ("male", "female"))


def test_a_folder_with_configurations_is_read_as_it_is_now(tmp_path):
    """`datasets` 5.2 caches such a folder by its name: other rows, or another folder so called, would not be read."""
    card = "---\nconfigs:\n- config_name: first\n  data_files: first.csv\n---\n"
    for folder, rows in (("a", "text\none\n"), ("b", "text,label\ntwo,1\n")):
        place = tmp_path / folder / "rows"
        place.mkdir(parents=True)
        (place / "README.md").write_text(card)
        (place / "first.csv").write_text(rows)
    read = lambda folder: open_dataset(str(tmp_path / folder / "rows"), config="first")[:]  # noqa: E731
    assert read("a") == {"text": ["one"]}
    assert read("b") == {"text": ["two"], "label": [1]}
    (tmp_path / "a" / "rows" / "first.csv").write_text("text\none\nthree\n")
    assert read("a") == {"text": ["one", "three"]}


def test_an_audit_reads_the_text_column_alone(tmp_path):
    """A column of labels may be called like a group."""
    path = tmp_path / "rows.csv"
    path.write_text("text,male,score\nShe left her car.,no,1\nMy brother slept.,yes,2\n")
    asked = audit.Arguments(model_name_or_path="model", dataset=str(path), text_column=["text"])
    found = audit._variants(asked, load_attribute("gender"))
    assert found["male"][:] == ["He left his car.", "My brother slept."]
    assert "score" not in found.column_names


def test_quotation_marks_in_a_folder_of_tab_separated_files_are_text(tmp_path):
    """Read as enclosing marks, an open one swallows the rows down to the next."""
    lines = ["text\tlabel", '"She left.\t1', "He ran.\t0", 'She sat." said he\t1', ""]
    (tmp_path / "train.tsv").write_text("\n".join(lines))
    rows = open_dataset(str(tmp_path))
    assert rows["text"][:] == ['"She left.', "He ran.", 'She sat." said he']
    assert rows.to_list() == open_dataset(str(tmp_path / "train.tsv")).to_list()
