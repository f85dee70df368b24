"""Open what `hf-fairness gfst` is told to read: pairs from tables or from two aligned files, texts, test sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.sources import (
    columns_of_texts,
    looks_local,
    missing,
    near_names,
    open_dataset,
    open_held_out,
    open_rows,
    text_column,
)

if TYPE_CHECKING:
    from datasets import Dataset

    from hf_fairness.trainers import GFSTArguments, GFSTConfig

#: Endings that `open_dataset` reads as tables; every other file is text, one row a line.
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
#: Option -> endings of the file that its authors publish, the columns of a data set in its place, and its name.
TEST_SETS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "winomt": ((".txt", ".tsv"), ("gender", "target_index", "sentence", "profession"), "WinoMT's data file en.txt"),
    "must_she": ((".txt", ".tsv"), ("source", "category", "gender_terms"), "MuST-SHE's tsv file"),
}


def open_train(arguments: GFSTArguments, config: GFSTConfig) -> Dataset:
    """The parallel data: ``--dataset`` with its configuration and split, or two aligned files.

    Returns:
        Rows with ``source`` and ``target``.

    Raises:
        ValueError: files of different length, columns that do not say which is which, or as
            :func:`~hf_fairness.sources.open_rows`.
    """
    pairs = aligned_files(arguments.dataset)
    if pairs is None:
        return as_pairs(open_rows(arguments), arguments.dataset, arguments, config)
    if arguments.dataset_config is not None:
        raise ValueError(f"--dataset_config {arguments.dataset_config}: aligned files have no configurations.")
    return pairs


def open_held_out_pairs(arguments: GFSTArguments, config: GFSTConfig, part: str) -> Dataset | None:
    """Pairs of ``--validation_dataset`` and ``--validation_split``, or of the test part; None where neither is named.

    Raises:
        ValueError: a split of aligned files, or as :func:`open_train`.
    """
    source: str | None = getattr(arguments, f"{part}_dataset")
    split: str | None = getattr(arguments, f"{part}_split")
    if source is None and split is None:
        return open_held_out(arguments, arguments, part)
    pairs = aligned_files(arguments.dataset if source is None else source)
    if pairs is not None:
        if split is not None:
            raise ValueError(
                f"--{part}_split {split}: aligned files have no splits. Name the two with --{part}_dataset."
            )
        return None if source is None else pairs
    rows = open_held_out(arguments, arguments, part)
    return None if rows is None else as_pairs(rows, source or arguments.dataset, arguments, config)


def aligned_files(source: str) -> Dataset | None:
    """Rows of two text files with a comma between, aligned line by line; None where the source is something else.

    Raises:
        ValueError: files of different length, or one that is not there.
    """
    from datasets import Dataset

    files = source.split(",")
    if len(files) != 2 or Path(source).exists():
        return None
    lost = next((file for file in files if not Path(file).exists()), None)
    if lost is not None:
        near = near_names(lost)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"There is no file {lost}.{hint} Two aligned files are given as train.en,train.it.")
    sides = [open_lines(file) for file in files]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(
            f"{files[0]} has {len(sides[0])} lines and {files[1]} {len(sides[1])}: aligned files have one line "
            "for each line of the other, empty ones included."
        )
    return Dataset.from_dict({"source": sides[0]["text"][:], "target": sides[1]["text"][:]})


def as_pairs(rows: Dataset, source: str, arguments: GFSTArguments, config: GFSTConfig) -> Dataset:
    """The two columns of pairs as ``source`` and ``target``.

    Args:
        rows: with columns of the names that the settings have, named by the codes of the languages, or just two;
            or a column ``translation`` that holds texts by language.
        source: where they come from, for messages.
        arguments: of the command, for the languages.
        config: its ``source_column`` and ``target_column``; ``source`` and ``target`` stand for whatever there is.

    Raises:
        ValueError: columns that do not say which is which.
    """
    if "translation" in rows.column_names and not {"source", "target"} & set(rows.column_names):
        rows = rows.select_columns(["translation"]).flatten()
        rows = rows.rename_columns({name: name.removeprefix("translation.") for name in rows.column_names})
    wanted, languages = (config.source_column, config.target_column), (arguments.source_lang, arguments.target_lang)
    names = _columns(rows, source, languages, wanted)
    return rows.select_columns(names).rename_columns(dict(zip(names, ("source", "target"), strict=True)))


def _columns(rows: Dataset, source: str, languages: Sequence[str | None], wanted: Sequence[str]) -> list[str]:
    """The columns of source and target, or an error that lists those there are."""
    texts = columns_of_texts(rows)
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


def open_texts(source: str, *, column: str | None, config: str | None = None, split: str = "train") -> Dataset:
    """Open monolingual text as rows with ``text``: ``--monolingual_dataset``, its configuration, split and column.

    Raises:
        ValueError: no such column, several text columns to choose from, or as
            :func:`~hf_fairness.sources.open_dataset`.
    """
    if Path(source).is_file() and Path(source).suffix not in TABLES:
        return open_lines(source)
    rows = open_dataset(source, config=config, split=split, flags=("--monolingual_config", "--monolingual_split"))
    name = text_column(rows, column, source, flag="--monolingual_text_column")
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


def open_test_set(option: str, source: str | None, languages: Sequence[str | None]) -> list[Any] | None:
    """Rows of WinoMT or MuST-SHE, from the file that is published or from a data set with the columns of the builder.

    Args:
        option: ``winomt`` or ``must_she``.
        source: a file as its authors write it, or what :func:`~hf_fairness.sources.open_dataset` takes; None for none.
        languages: codes of source and target language: of a data set with a configuration per pair they name it.

    Raises:
        ValueError: it is not there, or a column is missing.
    """
    from hf_fairness.measure import read_must_she, read_winomt
    from hf_fairness.measure.translator.winomt_data import as_rows

    if source is None:
        return None
    endings, columns, name = TEST_SETS[option]
    path, wanted = Path(source), f"{name}, or a data set with the columns {', '.join(columns)}"
    if path.is_file() and path.suffix in endings:
        return list(read_winomt(path) if option == "winomt" else read_must_she(path))
    if not path.exists() and looks_local(source, (*TABLES, ".txt")):
        raise ValueError(f"--{option}: {missing(source, wanted)}")
    try:
        config = _configuration(source, ("all", "-".join(map(str, languages))))
        rows = open_dataset(source, config=config, split=None, prefer=("test",))
    except ValueError as error:
        raise ValueError(f"--{option}: {error}") from error
    lacking = [column for column in columns if column not in rows.column_names]
    if lacking:
        raise ValueError(
            f"--{option}: {source} has no column {lacking[0]!r}; it has {', '.join(rows.column_names)}. Expected "
            f"{wanted}."
        )
    return [dict(row) for row in as_rows(rows)]


def _configuration(source: str, wanted: Sequence[str]) -> str | None:
    """The configuration of a data set of several that has one of these names; None leaves it to `datasets`."""
    from datasets import get_dataset_config_names

    path = Path(source)
    if path.is_file() or (path / "state.json").is_file() or (path / "dataset_dict.json").is_file():
        return None
    try:
        known = get_dataset_config_names(source)
    except (OSError, ValueError):  # said in full where it is opened
        return None
    return next((name for name in wanted if name in known), None)
