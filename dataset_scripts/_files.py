"""Raw files of a data set: found in the user's folder or fetched, checked against their checksums, hashed."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_fairness.dataset_scripts._description import Config, Description, Raw
from hf_fairness.runs import atomic_write_json

logger = logging.getLogger(__name__)

#: Split -> the raw files that it is built from.
Files = Mapping[str, tuple[Path, ...]]
#: Checksums of files that have no pinned one, as they were first fetched; in the cache folder.
LOCK = "hf_fairness_checksums.json"


class MissingFilesError(FileNotFoundError):
    """The raw files of a configuration are not there, or nobody may fetch them."""


def sha256(file: Path) -> str:
    """SHA-256 of a file, as hexadecimal digits."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def checksums(files: Files) -> dict[str, dict[str, Any]]:
    """Size and SHA-256 of each file by its name, with the split before it where two files have one name."""
    sums = {path: sha256(path) for paths in files.values() for path in paths}
    found: dict[str, dict[str, Any]] = {}
    for split, paths in files.items():
        for path in paths:
            entry = {"num_bytes": path.stat().st_size, "checksum": sums[path]}
            known = found.setdefault(path.name, entry)
            if known != entry:
                found[f"{split}/{path.name}"] = entry
    return found


def content_of(sums: Mapping[str, Mapping[str, Any]], version: str) -> str:
    """A digest that changes with any raw file, with which there are, and with the version of the builder.

    Args:
        sums: what ``checksums`` returned.
        version: of the builder.
    """
    lines = [version, *(f"{name} {entry['checksum']}" for name, entry in sums.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def find_files(about: Description, config: str, data_dir: str | os.PathLike[str]) -> Files:
    """Raw files of a configuration in a folder of the user.

    Args:
        about: the data set.
        config: name of the configuration.
        data_dir: the folder; or a file, where it is clear which one of the raw files it is.

    Returns:
        Those splits whose files are there, at least one.

    Raises:
        MissingFilesError: no split is complete, or one is there in part.
        ValueError: two files that could be the same raw file.
    """
    place = Path(data_dir).expanduser().resolve()
    if not place.exists():
        raise MissingFilesError(f"There is no folder or file {place}. {_wanted(about, config)}")
    chosen = about.configs[config]
    found = {raw: path for raw in chosen.raws() if (path := _find(place, raw, chosen)) is not None}
    result: dict[str, tuple[Path, ...]] = {}
    partly = ""
    for split, raws in chosen.splits.items():
        missing = [raw.path for raw in raws if raw not in found and not raw.optional]
        there = tuple(found[raw] for raw in raws if raw in found)
        if there and not missing:
            result[split] = there
        elif there:
            partly = f"For the split {split!r} {place} has {there[0].name}, but not {', '.join(missing)}. "
    if partly or not result:
        raise MissingFilesError(f"{partly or f'{place} holds no raw file of it. '}{_wanted(about, config)}")
    absent = ", ".join(split for split in chosen.splits if split not in result)
    if absent:
        logger.info("%s, configuration %r: no raw files of %s in %s", about.title, config, absent, place)
    return result


def _find(place: Path, raw: Raw, config: Config) -> Path | None:
    if place.is_file():
        return place if raw.fits(place.name) or len(config.raws()) == 1 else None
    alone = sum(other.name == raw.name for other in config.raws()) == 1
    for pattern in (raw.path, *([raw.name] if alone else [])):
        if (place / pattern).is_file():
            return place / pattern
    matches = sorted({path for pattern in raw.also for path in place.glob(pattern) if path.is_file()})
    if len(matches) > 1:
        raise ValueError(
            f"{matches[0].name} and {matches[1].name} in {place} could both be {raw.path}; keep one there."
        )
    return matches[0] if matches else None


def _wanted(about: Description, config: str) -> str:
    chosen = about.configs[config]
    names = [raw.path + (f" (or {', '.join(raw.also)})" if raw.also else "") for raw in chosen.raws()]
    how = about.obtain or f"Their source is {about.homepage}; without data_dir they are downloaded."
    several = f"{', '.join(names[:6])}{', ...' if len(names) > 6 else ''}"
    return f"{about.title}, configuration {config!r}, is built from {several}. {how}"


def fetch(about: Description, config: str, manager: Any, cache_dir: str | os.PathLike[str]) -> Files:
    """Raw files of a configuration, downloaded and checked.

    Args:
        about: the data set.
        config: name of the configuration.
        manager: a ``datasets.DownloadManager``.
        cache_dir: folder of the lock file, and of the files under their own names.

    Returns:
        The files of all splits.

    Raises:
        MissingFilesError: a file that is not published where anyone may fetch it.
        OSError: it cannot be fetched, or is not the file that it was.
    """
    chosen = about.configs[config]
    closed = next((raw for raw in chosen.raws() if raw.url is None and not raw.optional), None)
    if closed is not None:
        raise MissingFilesError(f"{closed.path} is not downloaded: pass data_dir. {_wanted(about, config)}")
    key = hashlib.sha256(repr(sorted(str(raw.url) for raw in chosen.raws())).encode()).hexdigest()[:16]
    cache = Path(cache_dir)
    named = {raw: _fetch_one(raw, manager, cache, cache / "raw" / key) for raw in chosen.raws() if raw.url is not None}
    return {split: tuple(named[raw] for raw in raws if raw in named) for split, raws in chosen.splits.items()}


def _fetch_one(raw: Raw, manager: Any, cache_dir: Path, folder: Path) -> Path:
    try:
        got = Path(manager.download(raw.url) if raw.member is None else manager.download_and_extract(raw.url))
    except (OSError, ValueError) as error:
        raise OSError(
            f"{raw.path} could not be fetched from {raw.url}: {error}\n"
            "Fetch it yourself and pass its folder as data_dir."
        ) from error
    file = got if raw.member is None else got / raw.member
    if not file.is_file():
        raise OSError(f"{raw.url} holds no {raw.member}. Unpack it yourself and pass its folder as data_dir.")
    _check(raw, sha256(file), cache_dir / LOCK)
    target = folder / raw.path
    if not target.is_file() or sha256(target) != sha256(file):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return target


def _check(raw: Raw, found: str, lock: Path) -> None:
    """Compare a download with its pinned checksum, or with that of the first download."""
    source = raw.url if raw.member is None else f"{raw.url}#{raw.member}"
    known: dict[str, str] = json.loads(lock.read_text(encoding="utf-8")) if lock.is_file() else {}
    expected = raw.sha256 or known.get(str(source))
    if expected is None:
        lock.parent.mkdir(parents=True, exist_ok=True)
        atomic_write_json(lock, {**known, str(source): found})
    elif expected != found:
        origin = "the pinned one" if raw.sha256 else f"that of the first download, in {lock}"
        raise OSError(
            f"{source} has the SHA-256 {found}; expected {expected}, {origin}. The file was changed or damaged: "
            "look at it, and pass its folder as data_dir if you want it."
        )
