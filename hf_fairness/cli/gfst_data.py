"""Open what `hf-fairness gfst` is told to read: pairs from tables or from two aligned files, texts, test sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hf_fairness.cli.data import open_dataset, text_column
from hf_fairness.cli.sources import near_names

if TYPE_CHECKING:
    from datasets import Dataset

#: Endings that `open_dataset` reads as tables; every other file is text, one row a line.
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")


def open_pairs(
    source: str, *, languages: Sequence[str | None], columns: Sequence[str], split: str = "train"
) -> Dataset:
    """Open parallel data.

    Args:
        source: a table, a saved data set or an id, as `open_dataset` takes them; or two text files with a comma
            between, aligned line by line.
        languages: codes of source and target language, which may name the columns.
        columns: names of source and target column; ``source`` and ``target`` stand for whatever there is.
        split: which split to read where the source has several.

    Returns:
        Rows with ``source`` and ``target``.

    Raises:
        ValueError: files of different length, or columns that do not say which is which.
    """
    from datasets import Dataset

    files = source.split(",")
    if len(files) == 2 and not Path(source).exists() and all(Path(file).exists() for file in files):
        sides = [open_lines(file) for file in files]
        if len(sides[0]) != len(sides[1]):
            raise ValueError(
                f"{files[0]} has {len(sides[0])} lines and {files[1]} {len(sides[1])}: aligned files have one line "
                "for each line of the other, empty ones included."
            )
        return Dataset.from_dict({"source": sides[0]["text"][:], "target": sides[1]["text"][:]})
    missing = [file for file in files if len(files) == 2 and not Path(file).exists()]
    if missing:
        near = near_names(missing[0])
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"There is no file {missing[0]}.{hint} Two aligned files are given as train.en,train.it.")
    rows = open_dataset(source, split=split)
    if "translation" in rows.column_names and not {"source", "target"} & set(rows.column_names):
        rows = rows.select_columns(["translation"]).flatten()
        rows = rows.rename_columns({name: name.removeprefix("translation.") for name in rows.column_names})
    names = _columns(rows, source, languages, columns)
    return rows.select_columns(names).rename_columns(dict(zip(names, ("source", "target"), strict=True)))


def _columns(rows: Dataset, source: str, languages: Sequence[str | None], wanted: Sequence[str]) -> list[str]:
    """The columns of source and target, or an error that lists those there are."""
    texts = [name for name, kind in rows.features.items() if getattr(kind, "dtype", "") in ("string", "large_string")]
    for names in (list(wanted), ["source", "target"], [code or "" for code in languages]):
        if set(names) <= set(texts):
            return names
    if list(wanted) == ["source", "target"] and len(texts) == 2:
        return texts
    raise ValueError(
        f"{source} has the text columns {', '.join(texts) or 'none'}; expected {wanted[0]} and {wanted[1]}, or two "
        "named by the codes of the languages, or just two (source first) with a header line. Name yours with "
        "--source_column and --target_column."
    )


def open_texts(source: str, *, column: str | None, split: str = "train") -> Dataset:
    """Open monolingual text as rows with ``text``.

    Raises:
        ValueError: no such column, or several text columns to choose from.
    """
    if Path(source).is_file() and Path(source).suffix not in TABLES:
        return open_lines(source)
    rows = open_dataset(source, split=split)
    name = text_column(rows, column, source)
    rows = rows.select_columns([name])
    return rows if name == "text" else rows.rename_column(name, "text")


def open_lines(source: str) -> Dataset:
    """The lines of a text file; what is not UTF-8 becomes replacement signs, which the filters count and drop.

    Raises:
        ValueError: the file is empty.
    """
    from datasets import load_dataset

    if Path(source).stat().st_size == 0:
        raise ValueError(f"{source} is empty.")
    return load_dataset("text", data_files=source, split="train", encoding="utf-8-sig", encoding_errors="replace")
