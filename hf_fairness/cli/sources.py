"""What a user names and what is not there: a message that says what lies near it and what is accepted."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path

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


def check_models(**models: object) -> None:
    """Raise where an option names a model in a folder that does not exist, before there is any work.

    Args:
        models: values by option: a name, several, or None. Ids of the Hub are let through.

    Raises:
        ValueError: the message says what lies near and what is accepted.
    """
    for option, given in models.items():
        for name in given if isinstance(given, (list, tuple)) else [given]:
            if isinstance(name, str) and not Path(name).exists() and looks_local(name, ()):
                raise ValueError(f"--{option}: {missing(name, _MODEL)}")
