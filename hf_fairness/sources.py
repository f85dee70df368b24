"""Open what a user names: a local file or folder, a Hub id, or the corpus of this package; or say what lies near it."""

from __future__ import annotations

import atexit
import contextlib
import csv
import difflib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness._keys import content_key
from hf_fairness.arguments import DataArguments, HeldOutArguments
from hf_fairness.utils import hub_problem, refuse_any

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

_FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
    ".txt": "text",
    ".en": "text",
}
#: What splits are called, in small letters, and what is meant.
PARTS = {
    "train": "train",
    **dict.fromkeys(("validation", "valid", "val", "dev", "trial"), "validation"),
    "test": "test",
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
    if source is None and (config or split):
        if _is_one_table(data.dataset):
            flag = f"--{part}_split {split}" if split else f"--{part}_config {config}"
            kind = "file" if Path(data.dataset).is_file() else "table"
            raise ValueError(
                f"{flag}: a single {kind} such as {data.dataset} has no splits. Name the {kind} of the rows with "
                f"--{part}_dataset."
            )
        source, config = data.dataset, config or data.dataset_config
    return open_named(part, source, config, split)


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
    told = " ".join(f"--{name}_{part} {value}" for part, value in (("config", config), ("split", split)) if value)
    if told:
        raise ValueError(f"{told} says what to read of --{name}_dataset: name that too.")
    return None


def open_dataset(
    source: str,
    *,
    config: str | None = None,
    split: str | None = "train",
    prefer: Sequence[str] = (),
    flags: tuple[str, str] = ("--dataset_config", "--dataset_split"),
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
        ValueError: unknown file type, empty source, one that cannot be read, a split that is not there, or several of
            which none is named.
    """
    splits = _load(source, config, split, flags)
    wanted = [split] if split else [*prefer, *(splits if len(splits) == 1 else [])]
    chosen = next((name for name in wanted if name in splits), None)
    if chosen is None:
        told = f", not {split!r}" if split else ""
        raise ValueError(f"{source} has the splits {', '.join(splits)}{told}: say which with {flags[1]}.")
    if len(splits[chosen]) == 0:
        raise ValueError(f"{source} has no rows.")
    return splits[chosen]


def open_splits(source: str, *, config: str | None = None, flag: str = "--dataset") -> dict[str, Dataset]:
    """Open all splits of a data set.

    Args:
        source: as :func:`open_dataset` takes it; files of a folder that are called like splits (``train.tsv``,
            ``dev.tsv``) are read as single files are, so that quotation marks in tab-separated ones are text.
        config: which configuration to read of a data set that has several.
        flag: that named it, for messages.

    Returns:
        Rows by name of the split; one table has the name ``""``.

    Raises:
        ValueError: as :func:`open_dataset`.
    """
    folder = Path(source)
    if folder.is_dir() and config is None:
        files = {path.stem.lower(): path for path in sorted(folder.iterdir()) if _kind(path)}
        if named := {name: path for name, path in files.items() if name in PARTS}:
            return {name: open_dataset(str(path), split=None) for name, path in named.items()}
    found = _load(source, config, None, (flag, flag))
    if not any(map(len, found.values())):
        raise ValueError(f"{source} has no rows.")
    return found


def use_writable_cache() -> None:
    """Where `datasets` cannot write its cache, as in an image that others made, give it a folder of this process."""
    from datasets import config

    there = _nearest(str(config.HF_DATASETS_CACHE))
    if not (there.is_dir() and os.access(there, os.W_OK)):
        folder = tempfile.mkdtemp(prefix="hf-fairness-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        config.HF_DATASETS_CACHE = Path(folder)


def _load(source: str, config: str | None, split: str | None, flags: tuple[str, str]) -> dict[str, Dataset]:
    """The rows of a source by split: of the one that is wanted, or of all; one table has the name of any split."""
    from datasets import Dataset, load_from_disk

    _check(source, config, split, flags)
    loaded: Dataset | DatasetDict
    with _explained(source, flags):
        if source == "demo":
            from hf_fairness.demo import corpus

            loaded = Dataset.from_dict({"text": corpus()})
        elif Path(source).is_file():
            loaded = read_file(Path(source))
        elif _is_saved(source):
            loaded = load_from_disk(source)
        else:
            builder = _builder(source, config)
            builder.download_and_prepare()
            loaded = builder.as_dataset(split)
    return {split or "": loaded} if isinstance(loaded, Dataset) else {str(name): loaded[name] for name in loaded}


def _check(source: str, config: str | None, split: str | None, flags: tuple[str, str]) -> None:
    """Raise on what can be said of a source without reading it."""
    use_writable_cache()
    path = Path(source)
    one_table = _is_one_table(source)
    a_file = source != "demo" and path.is_file()
    refuse_any(
        {
            f"{flags[0]} {config}: {source} is one table and has no configurations. Leave it out.": (
                config is not None and one_table
            ),
            f"{flags[1]} {split}: {source} is one table, of which no part is read. Take --max_rows.": (
                split and "[" in split and one_table
            ),
            f"{source}: unknown file type {path.suffix!r}; expected one of {', '.join(_FORMATS)}.": (
                a_file and not _kind(path)
            ),
            f"{source} is empty.": a_file and path.stat().st_size == 0,
        }
    )
    if not path.exists() and looks_local(source, tuple(_FORMATS)):
        raise ValueError(missing(source, _ACCEPTED))


def _is_one_table(source: str) -> bool:
    """Whether a source has neither configurations nor splits."""
    return source == "demo" or Path(source).is_file() or Path(source, "state.json").is_file()


def _is_saved(source: str) -> bool:
    """Whether a folder was written by `save_to_disk`."""
    return any(Path(source, name).is_file() for name in ("state.json", "dataset_dict.json"))


def _builder(source: str, config: str | None) -> Any:
    """What reads a folder or an id; quotation marks in tab-separated files of a folder are text, as in single ones."""
    from datasets import load_dataset_builder

    if not Path(source).is_dir():
        return load_dataset_builder(source, config)
    cache_dir = _own_cache(Path(source))
    builder = load_dataset_builder(source, config, cache_dir=cache_dir)
    if getattr(builder.config, "sep", None) != "\t":
        return builder
    return load_dataset_builder(source, config, cache_dir=cache_dir, quoting=csv.QUOTE_NONE)


def _own_cache(folder: Path) -> str:
    """Where a folder is cached: a place for these very files.

    `datasets` 5.2 caches a folder whose card names configurations by the name of the folder and of the configuration:
    another folder of that name, or the same one with other rows, would be read from what the first one left.
    """
    from datasets import config

    files = [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in folder.rglob("*") if file.is_file()]
    return str(Path(config.HF_DATASETS_CACHE) / f"folder-{content_key(str(folder.resolve()), sorted(files))[:16]}")


def files_of_split(source: str, config: str | None, split: str) -> tuple[str, list[str]]:
    """The files that hold the rows of a split, in their order, for who reads them one by one.

    Args:
        source: as :func:`open_dataset` takes it, but no saved data set: a file, a folder of files, or an id of the Hub.
        config: as there.
        split: its name, without a slice.

    Returns:
        What they are (parquet, csv, json, text), and their paths; of the Hub, where only parquet will do, addresses.

    Raises:
        ValueError: a source that is no such files, or as :func:`open_dataset`.
    """
    path, flags = Path(source), ("--dataset_config", "--dataset_split")
    _check(source, config, split, flags)
    if path.is_file():
        return _kind(path), [str(path.resolve())]
    advice = "Write it as parquet files (Dataset.to_parquet), and name their folder."
    if source == "demo" or _is_saved(source):
        raise ValueError(f"{source} is no file and no folder of files, which this reads one by one. {advice}")
    with _explained(source, flags):
        builder = _builder(source, config)
    files = dict(builder.config.data_files or {})
    if split not in files:
        raise ValueError(f"{source} has no split {split!r}; it has {', '.join(map(str, files)) or 'none'}.")
    kind, found = str(builder.name), list(map(str, files[split]))
    if kind not in _FORMATS.values() or (kind != "parquet" and any("://" in file for file in found)):
        raise ValueError(f"The rows of {source} are not in files that this reads one by one. {advice}")
    return kind, found


def read_file(path: Path, cache_dir: str | None = None) -> Dataset:
    """The rows of a file; a table in text with two columns alike is refused, since one would be renamed unseen."""
    from datasets import load_dataset

    # Quotation marks in tab-separated files are text: that is how GLUE and most corpora write them.
    options = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if path.suffix.lower() == ".tsv" else {}
    if _kind(path) == "csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file, delimiter="\t" if options else ","), [])
        twice = next((name for name in header if name and header.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"it has two columns {twice!r}. Rename one of them.")
    return load_dataset(_kind(path), data_files=str(path), split="train", cache_dir=cache_dir, **options)


def _kind(path: Path) -> str:
    """What reads a file of this name, in whatever case its ending is; empty if nothing does."""
    return _FORMATS.get(path.suffix.lower(), "")


@contextlib.contextmanager
def _explained(source: str, flags: tuple[str, str]) -> Iterator[None]:
    """Say of an error of `datasets` what it means for whoever named the source."""
    from datasets.exceptions import DatasetsError

    try:
        yield
    except (DatasetsError, OSError, ValueError, csv.Error) as error:
        raise ValueError(_why_unreadable(source, error, flags)) from error


def _why_unreadable(source: str, error: Exception, flags: tuple[str, str]) -> str:
    cause, text = error.__cause__ or error, str(error).strip()
    config = f"{source}: {flags[0]} names one of its configurations. {text}"
    meant = {
        "codec can't decode": f"{source} is no text in UTF-8. Save it in UTF-8, or name another file.",
        "Config name is missing": config,
        "BuilderConfig": config,
        "Unknown split": f"{source}: {flags[1]} names one of its splits. {text}",
        "no data": f"{source} has no rows.",  # below its header
    }
    for sign, message in meant.items():
        if sign in f"{text} {cause}":
            return message
    there = Path(source).exists()
    reason = hub_problem(error) or next(iter(str(cause if there else error).strip().splitlines()), type(error).__name__)
    if there:
        return f"The rows of {source} cannot be read: {reason}"
    # Not on the Hub, or out of reach: a file may have been meant.
    return (
        f"There is no file or folder {source}.{near_names(source)} As an id of the Hub: {reason}\nExpected {_ACCEPTED}."
    )


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
        ValueError: no such column, one that holds no texts, or several text columns to choose from.
    """
    texts = columns_of_texts(rows)
    if wanted is None:
        usual = [name for name in texts if name == "text" or len(texts) == 1]
        if not usual:
            raise ValueError(f"{source} has the text columns {', '.join(texts) or 'none'}: choose one with {flag}.")
        return usual[0]
    kind = rows.features.get(wanted)
    refuse_any(
        {
            f"{source} has no column {wanted!r}; its text columns are {', '.join(texts) or 'none'}.": kind is None,
            f"Column {wanted!r} of {source} holds {getattr(kind, 'dtype', kind)}, not texts.": wanted not in texts,
        }
    )
    return wanted


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
    path, there = Path(place), _nearest(place)
    if there == path or there.is_file():
        so = "" if there == path else f", so there is no {place}"
        return f"{there} is a {'folder' if there.is_dir() else 'file'}{so}. Expected {wanted}."
    lost = there / path.relative_to(there).parts[0]
    what = "no such file or folder" if lost == path else f"no folder {lost}"
    return f"there is {what}: {place}.{near_names(str(lost))} Expected {wanted}."


def _nearest(place: str) -> Path:
    """A path, or the nearest above it that exists."""
    return next((part for part in (Path(place), *Path(place).parents) if part.exists()), Path())


def near_names(place: str) -> str:
    """`` Did you mean ...?`` with the paths beside a path whose names are like its own, at most three; or nothing."""
    path = Path(place)
    names = [other.name for other in islice(path.parent.glob("*"), _MOST_NAMES)]
    alike = [name for name in names if Path(name).stem.lower() == path.stem.lower()]
    near = list(dict.fromkeys([*alike, *difflib.get_close_matches(path.name, names, n=3)]))[:3]
    return f" Did you mean {' or '.join(str(path.parent / name) for name in near)}?" if near else ""


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


def _may_be_model(place: str) -> bool:
    return Path(place).exists() or not looks_local(place, ())


def _may_be_written(place: str) -> bool:
    return not _nearest(place).is_file()


_MODEL = (_may_be_model, "the folder of a model, or its id on the Hub (NAME or NAMESPACE/NAME)")
_OUTPUT = (_may_be_written, "a folder to write, new or old")
#: Options that name a place, or several -> what must hold of each, and what is accepted.
_PLACES: dict[str, tuple[Callable[[str], bool], str]] = {
    "lexicon": (os.path.isfile, "a table of forms in the format of UniMorph"),
    "nouns": (os.path.isfile, "a text file of nouns"),
    "prompt": (os.path.isfile, "a JSON file of a prompt"),
    "direction": (os.path.isfile, "a direction.json that an earlier run wrote beside its rows"),
    **dict.fromkeys(("sheets", "key"), (os.path.isfile, "a CSV file that `hf-fairness gfst --human_sheets` wrote")),
    "wordnet": (os.path.isdir, "a folder of WordNet's files"),
    **dict.fromkeys(("output_dir", "features_cache", "cache_dir"), _OUTPUT),
    **dict.fromkeys(("model_name_or_path", "models", "reference_model", "forward_model"), _MODEL),
    **dict.fromkeys(("backward_model", "reverse_model", "generator_model", "shallow_model", "judge_model"), _MODEL),
    **dict.fromkeys(("confidence_from", "score_model", "stability_models"), _MODEL),
}


def check_place(option: str, value: object) -> None:
    """Raise unless the file, folder or model that an option names is there and is what the option takes.

    Args:
        option: name of the option; those that name no place are let through.
        value: a name, several, or None. Ids of models on the Hub are let through.

    Raises:
        ValueError: a missing file, a folder in place of a file, or the other way round; the message says what lies near
            and what is accepted.
    """
    fits, wanted = _PLACES.get(option, (bool, ""))
    for place in value if isinstance(value, list) else [value]:
        if isinstance(place, str) and place and not fits(place):
            raise ValueError(f"--{option}: {missing(place, wanted)}")
