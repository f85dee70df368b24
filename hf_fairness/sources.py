"""Open what a user names: a local file or folder, a Hub id, or the corpus of this package; or say what lies near it."""

from __future__ import annotations

import csv
import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hf_fairness._keys import content_key
from hf_fairness.arguments import DataArguments, HeldOutArguments

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

#: The flags that say which configuration and which split are read.
Flags = tuple[str, str]
_FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
    ".txt": "text",
    ".en": "text",
}
_ACCEPTED = f"a file ({', '.join(_FORMATS)}), a folder of such files, a saved data set, or an id of the Hub"


def open_rows(arguments: DataArguments) -> Dataset:
    """The rows that ``--dataset``, ``--dataset_config`` and ``--dataset_split`` name.

    Raises:
        ValueError: none is named, or as :func:`open_dataset`.
    """
    if not arguments.dataset:
        raise ValueError(f"--dataset is missing: {_ACCEPTED}.")
    return open_dataset(arguments.dataset, config=arguments.dataset_config, split=arguments.dataset_split)


def open_held_out(data: DataArguments, held_out: HeldOutArguments, part: str) -> Dataset | None:
    """The rows that ``--validation_dataset``, ``--validation_config`` and ``--validation_split`` name; so for ``test``.

    Args:
        data: says which set a split is of where the part has no set of its own.
        held_out: what was asked.
        part: ``validation`` or ``test``.

    Returns:
        The rows; None where nothing is named.

    Raises:
        ValueError: a set of several splits of which none is named, or as :func:`open_dataset`.
    """
    source, config, split = (getattr(held_out, f"{part}_{what}") for what in ("dataset", "config", "split"))
    if source is not None or not (config or split):
        return open_named(part, source, config, split)
    if Path(data.dataset).is_file():
        flag = f"--{part}_split {split}" if split else f"--{part}_config {config}"
        raise ValueError(
            f"{flag}: a single file such as {data.dataset} has no splits. Name the file of the rows with "
            f"--{part}_dataset."
        )
    flags = (f"--{part}_config" if config else "--dataset_config", f"--{part}_split")
    return open_dataset(data.dataset, config=config or data.dataset_config, split=split, flags=flags)


def open_named(name: str, source: str | None, config: str | None, split: str | None) -> Dataset | None:
    """The rows of a further data set: those of ``--{name}_dataset``, ``--{name}_config`` and ``--{name}_split``.

    Args:
        name: beginning of the flags, which messages name.
        source: as :func:`open_dataset` takes it; None where there is no such set.
        config: which configuration to read of a data set that has several.
        split: None takes the only one.

    Returns:
        The rows; None where no source is named.

    Raises:
        ValueError: a configuration or split without a source, several splits of which none is named, or as
            :func:`open_dataset`.
    """
    if source is not None:
        return open_dataset(source, config=config, split=split, flags=(f"--{name}_config", f"--{name}_split"))
    for part, value in (("config", config), ("split", split)):
        if value is not None:
            raise ValueError(f"--{name}_{part} {value} says what to read of --{name}_dataset: name that too.")
    return None


def open_dataset(
    source: str,
    *,
    config: str | None = None,
    split: str | None = "train",
    prefer: Sequence[str] = (),
    flags: Flags = ("--dataset_config", "--dataset_split"),
) -> Dataset:
    """Open a data set as rows.

    Args:
        source: `demo` (the corpus of this package), a csv, tsv, json, jsonl, parquet or text file, a folder written by
            `Dataset.save_to_disk`, a folder of such files, or the id of a data set on the Hub.
        config: which configuration to read of a data set that has several.
        split: which split to read where the source has several; None takes the only one.
        prefer: of several splits of which none is named, the first of these that there is.
        flags: those that say which configuration and which split, for messages.

    Returns:
        The rows.

    Raises:
        ValueError: unknown file type, empty source, a split that is not there, or several of which none is named.
        OSError: the source can not be read.
    """
    from datasets import Dataset
    from datasets.exceptions import DatasetsError

    try:
        loaded = _open(source, config, split, flags)
    except DatasetsError as error:
        cause = error.__cause__ or error
        if isinstance(cause, UnicodeDecodeError):
            raise ValueError(f"{source} is no text in UTF-8. Save it in UTF-8, or name another file.") from error
        reason = str(cause).strip().splitlines()
        raise ValueError(f"{source} cannot be read: {reason[0] if reason else type(error).__name__}") from error
    except ValueError as error:
        if "no data" in str(error):  # what datasets says of a file with a header and nothing below it
            raise ValueError(f"{source} has no rows.") from error
        raise
    rows = loaded if isinstance(loaded, Dataset) else _one_of(loaded, source, split, prefer, flags[1])
    if len(rows) == 0:
        raise ValueError(f"{source} has no rows.")
    return rows


def _one_of(splits: DatasetDict, source: str, wanted: str | None, prefer: Sequence[str], flag: str) -> Dataset:
    """The split that is wanted, the only one, or one that is preferred."""
    chosen = [wanted] if wanted else list(splits) if len(splits) == 1 else [name for name in prefer if name in splits]
    if not chosen:
        raise ValueError(f"{source} has the splits {', '.join(splits)}: say which with {flag}.")
    if chosen[0] not in splits:
        raise ValueError(f"{source} has no split {chosen[0]!r}; it has {', '.join(splits)}.")
    return splits[chosen[0]]


def _open(source: str, config: str | None, split: str | None, flags: Flags) -> Dataset | DatasetDict:
    from datasets import Dataset, load_dataset, load_from_disk

    path = Path(source)
    if config is not None and (source == "demo" or path.is_file() or (path / "state.json").is_file()):
        raise ValueError(f"{flags[0]} {config}: {source} is one table and has no configurations. Leave it out.")
    if source == "demo":
        from hf_fairness.demo import corpus

        return Dataset.from_dict({"text": corpus()})
    if path.is_file():
        if path.suffix not in _FORMATS:
            raise ValueError(f"{source}: unknown file type {path.suffix!r}; expected one of {', '.join(_FORMATS)}.")
        if path.stat().st_size == 0:
            raise ValueError(f"{source} is empty.")
        if path.suffix in (".csv", ".tsv"):
            _check_header(path)
        # Quotation marks in tab-separated files are text: that is how GLUE and most corpora write them.
        options = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if path.suffix == ".tsv" else {}
        return load_dataset(_FORMATS[path.suffix], data_files=str(path), split="train", **options)
    if (path / "state.json").is_file() or (path / "dataset_dict.json").is_file():
        return load_from_disk(source)
    if not path.is_dir() and looks_local(source, tuple(_FORMATS)):
        raise ValueError(missing(source, _ACCEPTED))
    return _load(source, config, split, flags)


def _own_cache(folder: Path) -> str:
    """Where a folder is cached: a place for these very files.

    `datasets` 5.2 caches a folder whose card names configurations by the name of the folder and of the configuration:
    another folder of that name, or the same one with other rows, would be read from what the first one left.
    """
    from datasets import config

    files = [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in folder.rglob("*") if file.is_file()]
    return str(Path(config.HF_DATASETS_CACHE) / f"folder-{content_key(str(folder.resolve()), sorted(files))[:16]}")


def _load(source: str, config: str | None, split: str | None, flags: Flags) -> Dataset | DatasetDict:
    """A folder or an id of the Hub with `datasets`; what is missing or wrong is said with its flag."""
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError

    cache = _own_cache(Path(source)) if Path(source).is_dir() else None
    try:
        return load_dataset(source, config, split=split, cache_dir=cache)
    except ValueError as error:
        text = str(error).strip()
        for flag, what, signs in (
            (flags[0], "configurations", ("onfig name is missing", "BuilderConfig")),
            (flags[1], "splits", ("nknown split",)),
        ):
            if any(sign in text for sign in signs):
                raise ValueError(f"{source}: {flag} names one of its {what}. {text}") from error
        raise
    except (OSError, DatasetsError) as error:
        if Path(source).is_dir():
            raise
        near = near_names(source)  # not on the Hub, or out of reach: a file may have been meant
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ValueError(
            f"There is no file or folder {source}.{hint} As an id of the Hub: {reason}\nExpected {_ACCEPTED}."
        ) from error


def _check_header(path: Path) -> None:
    """Raise where a table in text is none, or names two columns alike: one of them would be renamed unseen."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","), [])
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8. Save it in UTF-8, or name another file.") from error
    except csv.Error as error:
        raise ValueError(f"{path} is no {path.suffix[1:]} file: {error}. Expected {_ACCEPTED}.") from error
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{path} has two columns {twice!r}. Rename one of them.")


def one_text_column(rows: Dataset, data: DataArguments) -> str:
    """The column that ``--text_column`` names, or the only text column, for commands that read one.

    Raises:
        ValueError: several are named, or as :func:`text_column`.
    """
    wanted: Sequence[str | None] = data.text_column or [None]
    if len(wanted) > 1:
        raise ValueError(f"--text_column {' '.join(map(str, wanted))}: this reads one column of texts. Name one.")
    return text_column(rows, wanted[0], data.dataset)


def columns_of_texts(rows: Dataset) -> list[str]:
    """Names of the columns that hold texts."""
    return [name for name, kind in rows.features.items() if getattr(kind, "dtype", None) in ("string", "large_string")]


def text_column(rows: Dataset, wanted: str | None, source: str, *, flag: str = "--text_column") -> str:
    """The column that holds the texts.

    Args:
        rows: the data set.
        wanted: its name, or None to take the only text column there is.
        source: name of the data set, for messages.
        flag: the option that names the column, for messages.

    Returns:
        Name of the column.

    Raises:
        ValueError: no such column, or several text columns to choose from.
    """
    texts = columns_of_texts(rows)
    if wanted is not None:
        if wanted not in rows.column_names:
            raise ValueError(f"{source} has no column {wanted!r}; its text columns are {', '.join(texts) or 'none'}.")
        return wanted
    if "text" in texts or len(texts) == 1:
        return "text" if "text" in texts else texts[0]
    raise ValueError(f"{source} has the text columns {', '.join(texts) or 'none'}: choose one with {flag}.")


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
    for name in set(names) - set(columns_of_texts(rows)):
        kind = getattr(rows.features[name], "dtype", None)
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


#: Options that name a file to read, or a folder, with what they accept.
_FILES = {
    "lexicon": "a table of forms in the format of UniMorph",
    "nouns": "a text file of nouns",
    "prompt": "a JSON file of a prompt",
    "direction": "a direction.json that an earlier run wrote beside its rows",
}
_FOLDERS = {"wordnet": "a folder of WordNet's files"}
#: Options that name a folder to write.
_OUTPUTS = ("output", "output_dir", "features_cache", "cache_dir")
#: Options that name a model, or several.
_MODELS = (
    *("model_name_or_path", "reference_model", "forward_model", "backward_model", "reverse_model", "generator_model"),
    *("shallow_model", "judge_model", "confidence_from", "stability_models"),
)
_MODEL = "the folder of a model, or its id on the Hub (NAME or NAMESPACE/NAME)"
#: Names in a folder that are looked through for one like the wanted.
_MOST_NAMES = 10_000


def missing(place: str, wanted: str) -> str:
    """A message for a file or folder that does not exist.

    Args:
        place: its path.
        wanted: what is accepted, in words, such as ``a csv or tsv file``.

    Returns:
        What is wrong with the path, names like it, and what is accepted.
    """
    path = Path(place)
    if not place.strip():
        return f"the name is empty. Expected {wanted}."
    if path.is_dir():
        return f"{place} is a folder. Expected {wanted}."
    if path.is_file():
        return f"{place} is a file. Expected {wanted}."
    lost = path
    while not lost.parent.exists() and lost.parent != lost:
        lost = lost.parent
    what = "there is no such file or folder" if lost == path else f"there is no folder {lost}"
    near = near_names(str(lost))
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"{what}: {place}.{hint} Expected {wanted}."


def near_names(place: str) -> list[str]:
    """Paths beside a path whose names are like its own, at most three."""
    path = Path(place)
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for _, entry in zip(range(_MOST_NAMES), entries, strict=False)]
    except OSError:
        return []
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(path.name.lower(), lower, n=3)
    stems = [name for name in names if Path(name).stem.lower() == path.stem.lower()]
    found = list(dict.fromkeys([*(lower[name] for name in close), *stems]))[:3]
    return [str(path.parent / name) for name in found]


def looks_local(place: str, endings: Sequence[str]) -> bool:
    """Whether a name that does not exist can only have been meant for a file or folder of this machine.

    An id of the Hub is ``NAME`` or ``NAMESPACE/NAME`` without the ending of a data file.
    """
    path = Path(place)
    return (
        place.startswith((".", "/", "~"))
        or "\\" in place
        or place.count("/") > 1
        or path.suffix.lower() in endings
        or ("/" in place and path.parent.is_dir())
    )


def check_place(option: str, value: object) -> None:
    """Raise unless the file or folder that an option names is there and is what the option takes.

    Args:
        option: name of the option; those that name no file or folder are let through.
        value: what it was given.

    Raises:
        ValueError: a missing file, a folder in place of a file, or the other way round.
    """
    if not isinstance(value, str) or not value:
        return
    path = Path(value)
    if option in _FILES and not path.is_file():
        raise ValueError(f"{option}: {missing(value, _FILES[option])}")
    if option in _FOLDERS and not path.is_dir():
        raise ValueError(f"{option}: {missing(value, _FOLDERS[option])}")
    if option in _OUTPUTS:
        there = next((place for place in (path, *path.parents) if place.exists()), path)
        if there.is_file():
            raise ValueError(f"{option}: {there} is a file. Expected a folder to write, new or old.")


def check_model(option: str, value: object) -> None:
    """Raise where an option names a model in a folder that does not exist.

    Args:
        option: name of the option; those that name no model are let through.
        value: a name, several, or None. Ids of the Hub are let through.

    Raises:
        ValueError: the message says what lies near and what is accepted.
    """
    for name in value if isinstance(value, list) else [value]:
        if option in _MODELS and isinstance(name, str) and not Path(name).exists() and looks_local(name, ()):
            raise ValueError(f"{option}: {missing(name, _MODEL)}")
