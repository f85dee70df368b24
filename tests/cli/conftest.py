"""Writes a small corpus and runs `hf-fairness augment` on it."""

from __future__ import annotations

import json

import pytest
from datasets import Dataset, load_dataset

from hf_fairness.cli import main
from support.augment_rows import ROWS
from support.chat_server import chat_server  # noqa: F401 - a fixture


@pytest.fixture
def write(tmp_path):
    """Writes rows into a file of a kind; returns its path."""

    def make(kind: str, rows=ROWS) -> str:
        path = tmp_path / f"corpus{kind}"
        if kind == ".csv":
            Dataset.from_list(rows).to_csv(path, index=False)
        elif kind == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        elif kind == ".parquet":
            Dataset.from_list(rows).to_parquet(path)
        else:
            path.write_text("".join(row["text"] + "\n" for row in rows))
        return str(path)

    return make


@pytest.fixture
def augment(tmp_path, capsys):
    """Runs the command; returns the rows that load_dataset reads, the card, and what was printed."""

    def run(source: str, method: str, *words: object, out: str = "out", code: int = 0):
        folder = tmp_path / out
        status = main(["augment", source, "--method", method, "--output_dir", str(folder), *map(str, words)])
        printed = capsys.readouterr()
        assert status == code, printed.err
        if code:
            return printed.err
        rows = load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
        return rows, (folder / "README.md").read_text(), printed.out

    return run
