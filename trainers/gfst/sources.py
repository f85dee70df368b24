"""Open what `hf-fairness gfst` is told to read: pairs from tables or from two aligned files, texts, test sets."""

from __future__ import annotations

import contextlib
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


def open_pairs(arguments: GFSTArguments, config: GFSTConfig, part: str = "") -> Dataset | None:
    """The pairs of ``--dataset``, or those that are held out for a part; from tables or from two aligned files.

    Args:
        arguments: which data set, configuration and split.
        config: which columns.
        part: ``validation`` or ``test``, with a set or a split of its own; "" means what is trained on.

    Returns:
        Rows with ``source`` and ``target``; None where none are named.

    Raises:
        ValueError: as :func:`aligned_files`, :func:`as_pairs` or :func:`~hf_fairness.sources.open_dataset`.
    """
    options = [f"{part}_config", f"{part}_split"] if part else ["dataset_config"]
    which = {name: getattr(arguments, name) for name in options}
    own = getattr(arguments, f"{part}_dataset") if part else arguments.dataset
    source: str | None = arguments.dataset if own is None and any(which.values()) else own
    if source is None:
        return None
    files = source.split(",")
    if len(files) == 2 and not Path(source).exists():
        return aligned_files(files, which)
    rows = open_held_out(arguments, arguments, part) if part else open_rows(arguments)
    return as_pairs(rows, source, arguments, config)


def aligned_files(files: Sequence[str], which: Mapping[str, str | None]) -> Dataset:
    """Rows of two text files that are aligned line by line.

    Args:
        files: the two.
        which: by option the configuration and the split that were named, which files do not have.

    Raises:
        ValueError: files of different length, one that is not there, or a configuration or split.
    """
    from datasets import Dataset

    parts = "Name two files for each part, with --dataset, --validation_dataset and --test_dataset."
    wanted = "two aligned text files, as in train.en,train.it"
    refuse_any(
        {
            **{
                f"--{name} {value}: aligned files have no {name.rpartition('_')[2]}s. {parts}": value
                for name, value in which.items()
            },
            **{f"{','.join(files)}: {missing(file, wanted)}": not Path(file).is_file() for file in files},
        }
    )
    sources, targets = (open_lines(file)["text"][:] for file in files)
    if len(sources) != len(targets):
        raise ValueError(
            f"{files[0]} has {len(sources)} lines and {files[1]} {len(targets)}: aligned files have one line "
            "for each line of the other, empty ones included."
        )
    return Dataset.from_dict({"source": sources, "target": targets})


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
    rows = rows.flatten()
    texts = {name.removeprefix("translation."): name for name in columns_of_texts(rows)}
    named = wanted != standard and source == arguments.dataset  # held-out pairs may have columns of their own
    anything = [list(texts)] if wanted == standard and len(texts) == 2 else []
    others = [] if named else [standard, [arguments.source_lang, arguments.target_lang or ""], *anything]
    names = next((names for names in (wanted, *others) if set(names) <= set(texts)), None)
    if names is None:
        raise ValueError(
            f"{source} has the text columns {', '.join(texts) or 'none'}; expected {wanted[0]} and {wanted[1]}"
            + ("" if named else ", or two named by the codes of the languages, or just two (source first)")
            + ". Name yours with --source_column and --target_column, in tables with a header line."
        )
    chosen = rows.select_columns([texts[name] for name in names])
    return chosen.rename_columns({texts[name]: new for name, new in zip(names, standard, strict=True)})


def open_texts(arguments: GFSTArguments) -> Dataset:
    """Monolingual text as rows with ``text``: ``--monolingual_dataset``, its configuration, split and column.

    Raises:
        ValueError: no such column, several text columns to choose from, or as
            :func:`~hf_fairness.sources.open_dataset`.
    """
    a, source = arguments, arguments.monolingual_dataset or ""
    if Path(source).is_file() and Path(source).suffix.lower() not in TABLES:
        return open_lines(source)
    flags = ("--monolingual_config", "--monolingual_split")
    rows = open_dataset(source, config=a.monolingual_config, split=a.monolingual_split, flags=flags)
    name = text_column(rows, a.monolingual_text_column, source, flag="--monolingual_text_column")
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


def open_test_set(option: str, arguments: GFSTArguments) -> Any:
    """Rows of WinoMT or MuST-SHE, from the file that is published or from a data set with the columns of the builder.

    Of several configurations of a data set that of all languages is taken, or that of the pair of languages.

    Args:
        option: ``winomt`` or ``must_she``.
        arguments: which name its file as its authors write it, or what :func:`~hf_fairness.sources.open_dataset` takes.

    Returns:
        The rows; None where none are named.

    Raises:
        ValueError: it is not there, or a column is missing.
    """
    from datasets import get_dataset_config_names

    from hf_fairness.measure import read_must_she, read_winomt

    source = getattr(arguments, option)
    if source is None:
        return None
    if Path(source).is_file() and Path(source).suffix.lower() in PUBLISHED:
        return list(read_winomt(source) if option == "winomt" else read_must_she(source))
    columns, name = TEST_SETS[option]
    wanted, config = f"{name}, or a data set with the columns {', '.join(columns)}", None
    if Path(source).is_dir() or not looks_local(source, (*TABLES, *PUBLISHED)):
        with contextlib.suppress(OSError, ValueError):  # said in full where it is opened
            known = get_dataset_config_names(source)
            pair = f"{arguments.source_lang}-{arguments.target_lang}"
            config = next((each for each in ("all", pair) if each in known), None)
    try:
        rows = open_dataset(source, config=config, split=None, prefer=("test",))
    except ValueError as error:
        raise ValueError(f"--{option}: {error} Wanted here: {wanted}.") from error
    refuse_any(
        {
            f"--{option}: {source} has no column {column!r}; it has {', '.join(rows.column_names)}. Expected "
            f"{wanted}.": column not in rows.column_names
            for column in columns
        }
    )
    return rows
