"""Open what a user names on the command line: a local file or folder, a Hub id, or the corpus of this package."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasets import Dataset

_FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
    ".txt": "text",
    ".en": "text",
}


def open_dataset(source: str, *, split: str = "train") -> Dataset:
    """Open a data set as rows.

    Args:
        source: `demo` (the corpus of this package), a csv, tsv, json, jsonl, parquet or text file, a folder written by
            `Dataset.save_to_disk`, a folder of such files, or the id of a data set on the Hub.
        split: which split to read where the source has several.

    Returns:
        The rows.

    Raises:
        ValueError: unknown file type, empty source, or a split that is not there.
        OSError: the source can not be read.
    """
    from datasets.exceptions import DatasetsError

    try:
        rows = _open(source, split)
    except DatasetsError as error:
        reason = str(error.__cause__ or error).strip().splitlines()
        raise ValueError(f"{source} cannot be read: {reason[0] if reason else type(error).__name__}") from error
    except ValueError as error:
        if "no data" in str(error):  # what datasets says of a file with a header and nothing below it
            raise ValueError(f"{source} has no rows.") from error
        raise
    if len(rows) == 0:
        raise ValueError(f"{source} has no rows.")
    return rows


def _open(source: str, split: str) -> Dataset:
    from datasets import Dataset, DatasetDict, load_dataset, load_from_disk

    path = Path(source)
    if source == "demo":
        from hf_fairness.demo import corpus

        return Dataset.from_dict({"text": corpus()})
    if path.is_file():
        if path.suffix not in _FORMATS:
            raise ValueError(f"{source}: unknown file type {path.suffix!r}; expected one of {', '.join(_FORMATS)}.")
        if path.stat().st_size == 0:
            raise ValueError(f"{source} is empty.")
        # Quotation marks in tab-separated files are text: that is how GLUE and most corpora write them.
        options = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if path.suffix == ".tsv" else {}
        return load_dataset(_FORMATS[path.suffix], data_files=str(path), split="train", **options)
    if (path / "state.json").is_file() or (path / "dataset_dict.json").is_file():
        loaded = load_from_disk(source)
        if isinstance(loaded, DatasetDict):
            if split not in loaded:
                raise ValueError(f"{source} has no split {split!r}; it has {', '.join(loaded)}.")
            loaded = loaded[split]
        return loaded
    return load_dataset(source, split=split)


def text_column(rows: Dataset, wanted: str | None, source: str) -> str:
    """The column that holds the texts.

    Args:
        rows: the data set.
        wanted: its name, or None to take the only text column there is.
        source: name of the data set, for messages.

    Returns:
        Name of the column.

    Raises:
        ValueError: no such column, or several text columns to choose from.
    """
    texts: list[str] = [
        name for name, feature in rows.features.items() if getattr(feature, "dtype", None) in _TEXT_TYPES
    ]
    if wanted is not None:
        if wanted not in rows.column_names:
            raise ValueError(f"{source} has no column {wanted!r}; its text columns are {', '.join(texts) or 'none'}.")
        return wanted
    if "text" in texts:
        return "text"
    if len(texts) == 1:
        return texts[0]
    raise ValueError(f"{source} has the text columns {', '.join(texts) or 'none'}: choose one with --text_column.")


_TEXT_TYPES = ("string", "large_string")


def text_columns(rows: Dataset, wanted: Sequence[str] | None, source: str) -> tuple[str, ...]:
    """The columns that hold the texts, where a method may read several.

    Args:
        rows: the data set.
        wanted: their names, or None to take the only text column there is.
        source: name of the data set, for messages.

    Returns:
        Names of the columns.

    Raises:
        ValueError: as :func:`text_column`; or a column that holds no texts.
    """
    chosen: Sequence[str | None] = wanted or [None]
    names = tuple(text_column(rows, name, source) for name in chosen)
    for name in names:
        kind = getattr(rows.features[name], "dtype", None)
        if kind not in _TEXT_TYPES:
            raise ValueError(f"Column {name!r} of {source} holds {kind or rows.features[name]}, not texts.")
    return names


def open_variants(sources: Sequence[str] | None, groups: Sequence[str]) -> dict[str, Dataset]:
    """Sets of variants to measure on, by name.

    Args:
        sources: files or ids, as `open_dataset` takes them; the name of a set is the file's name without ending.
        groups: names of the groups that each must have a column for, beside ``neutral``.

    Returns:
        The sets.

    Raises:
        ValueError: a column is missing, or two sets have one name.
    """
    found: dict[str, Dataset] = {}
    for source in sources or []:
        name = Path(source).stem
        if name in found:
            raise ValueError(f"Two sets of variants are called {name!r}: rename one of the files.")
        rows = open_dataset(source)
        if not has_variants(rows, groups):
            raise ValueError(
                f"{source} has the columns {', '.join(rows.column_names)}; expected {', '.join(groups)} and neutral: "
                "one version of the same text in each. GroupVariants (hf_fairness.augment) makes them from texts."
            )
        found[name] = rows
    return found


def has_variants(rows: Dataset, groups: Sequence[str], neutral: str = "neutral") -> bool:
    """Whether the rows hold one text per group and a neutral one already, so that none need be made."""
    return {*groups, neutral} <= set(rows.column_names)
