"""Open what `hf-fairness gfst` is told to read: pairs from tables or from two aligned files, texts, test sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.sources import (
    columns_of_texts,
    looks_local,
    missing,
    open_dataset,
    open_held_out,
    open_rows,
    text_column,
    use_writable_cache,
)
from hf_fairness.utils import refuse_any

if TYPE_CHECKING:
    from datasets import Dataset

    from hf_fairness.trainers import GFSTArguments, GFSTConfig

#: Endings that `open_dataset` reads as tables; every other file is text, one row a line.
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
#: Endings of the files in which the authors of test sets publish them.
PUBLISHED = (".txt", ".tsv")
#: Option -> the columns of a data set in place of the file that its authors publish, and the name of that file.
TEST_SETS: dict[str, tuple[tuple[str, ...], str]] = {
    "winomt": (("gender", "target_index", "sentence", "profession"), "WinoMT's data file en.txt"),
    "must_she": (("source", "category", "gender_terms"), "MuST-SHE's tsv file"),
}


def open_train(arguments: GFSTArguments, config: GFSTConfig) -> Dataset:
    """The parallel data: ``--dataset`` with its configuration and split, or two aligned files.

    Returns:
        Rows with ``source`` and ``target``.

    Raises:
        ValueError: as :func:`aligned_files`, :func:`as_pairs` or :func:`~hf_fairness.sources.open_rows`.
    """
    pairs = aligned_files(arguments.dataset, {"dataset_config": arguments.dataset_config})
    return as_pairs(open_rows(arguments), arguments.dataset, arguments, config) if pairs is None else pairs


def open_held_out_pairs(arguments: GFSTArguments, config: GFSTConfig, part: str) -> Dataset | None:
    """Pairs of ``--validation_dataset`` and ``--validation_split``, or of the test part; None where neither is named.

    Raises:
        ValueError: as :func:`open_train`.
    """
    own: str | None = getattr(arguments, f"{part}_dataset")
    which = {name: getattr(arguments, name) for name in (f"{part}_config", f"{part}_split")}
    source = arguments.dataset if own is None and any(which.values()) else own
    pairs = None if source is None else aligned_files(source, which)
    rows = open_held_out(arguments, arguments, part) if pairs is None else None
    return pairs if rows is None else as_pairs(rows, source or "", arguments, config)


def aligned_files(source: str, which: Mapping[str, str | None]) -> Dataset | None:
    """Rows of two text files with a comma between, aligned line by line; None where the source is something else.

    Args:
        source: the two, or what else the user named.
        which: by option the configuration and the split that were named, which files do not have.

    Raises:
        ValueError: files of different length, one that is not there, or a configuration or split.
    """
    from datasets import Dataset

    files = source.split(",")
    if len(files) != 2 or Path(source).exists():
        return None
    parts = "Name two files for each part, with --dataset, --validation_dataset and --test_dataset."
    wanted = "two aligned text files, as in train.en,train.it"
    refuse_any(
        {
            **{
                f"--{name} {value}: aligned files have no {name.rpartition('_')[2]}s. {parts}": value
                for name, value in which.items()
            },
            **{f"{source}: {missing(file, wanted)}": not Path(file).is_file() for file in files},
        }
    )
    sides = [open_lines(file)["text"][:] for file in files]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(
            f"{files[0]} has {len(sides[0])} lines and {files[1]} {len(sides[1])}: aligned files have one line "
            "for each line of the other, empty ones included."
        )
    return Dataset.from_dict(dict(zip(("source", "target"), sides, strict=True)))


def as_pairs(rows: Dataset, source: str, arguments: GFSTArguments, config: GFSTConfig) -> Dataset:
    """The two columns of pairs as ``source`` and ``target``.

    Args:
        rows: with columns of the names that the settings have, named by the codes of the languages, or just two;
            or a column ``translation`` that holds texts by language.
        source: where they come from, for messages.
        arguments: of the command, for the languages.
        config: its ``source_column`` and ``target_column``, which ``arguments.dataset`` must have; ``source`` and
            ``target`` stand for whatever there is.

    Raises:
        ValueError: columns that do not say which is which.
    """
    standard, wanted = ["source", "target"], [config.source_column, config.target_column]
    if "translation" in rows.column_names and not set(standard) & set(rows.column_names):
        rows = rows.select_columns(["translation"]).flatten()
        rows = rows.rename_columns({name: name.removeprefix("translation.") for name in rows.column_names})
    texts = columns_of_texts(rows)
    anything = [texts] if wanted == standard and len(texts) == 2 else []
    named = wanted != standard and source == arguments.dataset  # held-out pairs may have columns of their own
    choices = [wanted] if named else [wanted, standard, [arguments.source_lang, arguments.target_lang or ""], *anything]
    names = next((names for names in choices if set(names) <= set(texts)), None)
    if names is None:
        raise ValueError(
            f"{source} has the text columns {', '.join(texts) or 'none'}; expected {wanted[0]} and {wanted[1]}"
            + ("" if named else ", or two named by the codes of the languages, or just two (source first)")
            + ". Name yours with --source_column and --target_column, in tables with a header line."
        )
    return rows.select_columns(names).rename_columns(dict(zip(names, standard, strict=True)))


def open_texts(source: str, *, column: str | None, config: str | None = None, split: str = "train") -> Dataset:
    """Open monolingual text as rows with ``text``: ``--monolingual_dataset``, its configuration, split and column.

    Raises:
        ValueError: no such column, several text columns to choose from, or as
            :func:`~hf_fairness.sources.open_dataset`.
    """
    if Path(source).is_file() and Path(source).suffix.lower() not in TABLES:
        return open_lines(source)
    rows = open_dataset(source, config=config, split=split, flags=("--monolingual_config", "--monolingual_split"))
    name = text_column(rows, column, source, flag="--monolingual_text_column")
    return rows.select_columns([name]).rename_columns({name: "text"})


def open_lines(source: str) -> Dataset:
    """The lines of a text file; what is not UTF-8 becomes replacement signs, which the filters count and drop.

    Raises:
        ValueError: the file is empty.
    """
    from datasets import load_dataset

    if Path(source).stat().st_size == 0:
        raise ValueError(f"{source} is empty.")
    use_writable_cache()
    return load_dataset("text", data_files=source, split="train", encoding="utf-8-sig", encoding_errors="replace")


def open_test_set(option: str, source: str | None, languages: Sequence[str | None]) -> Any:
    """Rows of WinoMT or MuST-SHE, from the file that is published or from a data set with the columns of the builder.

    Args:
        option: ``winomt`` or ``must_she``.
        source: a file as its authors write it, or what :func:`~hf_fairness.sources.open_dataset` takes; None for none.
        languages: codes of source and target language: of a data set with a configuration per pair they name it.

    Raises:
        ValueError: it is not there, or a column is missing.
    """
    from hf_fairness.measure import read_must_she, read_winomt

    if source is None:
        return None
    if Path(source).is_file() and Path(source).suffix.lower() in PUBLISHED:
        return list(read_winomt(source) if option == "winomt" else read_must_she(source))
    columns, name = TEST_SETS[option]
    wanted = f"{name}, or a data set with the columns {', '.join(columns)}"
    try:
        several = Path(source).is_dir() or not looks_local(source, (*TABLES, *PUBLISHED))
        config = _configuration(source, ("all", "-".join(map(str, languages)))) if several else None
        rows = open_dataset(source, config=config, split=None, prefer=("test",))
    except ValueError as error:
        raise ValueError(f"--{option}: {error} Wanted here: {wanted}.") from error
    if lacking := [column for column in columns if column not in rows.column_names]:
        raise ValueError(
            f"--{option}: {source} has no column {lacking[0]!r}; it has {', '.join(rows.column_names)}. Expected "
            f"{wanted}."
        )
    return rows


def _configuration(source: str, wanted: Sequence[str]) -> str | None:
    """The configuration of a data set of several that has one of these names; None leaves it to `datasets`."""
    from datasets import get_dataset_config_names

    try:
        known = get_dataset_config_names(source)
    except (OSError, ValueError):  # said in full where it is opened
        return None
    return next((name for name in wanted if name in known), None)
