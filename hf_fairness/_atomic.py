"""Atomic writes: a file or a folder appears whole or not at all. Import them from `hf_fairness.runs`."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hf_fairness._keys import files_of

#: Names that `_sibling` gives; what a killed process leaves of them is safe to remove.
LEFT_OVER = re.compile(r"\..+\.[0-9a-f]{8}\.(tmp|old)")


def atomic_write_bytes(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write a file so that a reader, or a crash, sees the old content or the new one, never a part.

    Args:
        path: file to write; parent folders are made. A link is followed: its target is replaced.
        data: the whole content.

    Returns:
        The path written.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _sibling(target)
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)
    return Path(path)


def atomic_write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a UTF-8 text file as `atomic_write_bytes` does; line ends stay as they are."""
    return atomic_write_bytes(path, text.encode("utf-8"))


def atomic_write_json(path: str | os.PathLike[str], value: Any) -> Path:
    r"""Write JSON as `atomic_write_bytes` does: sorted keys, two spaces, a last line end.

    Raises:
        ValueError: the value holds NaN or an infinity, which JSON does not have; the message says where.
        TypeError: the value holds something else than dict (with str keys), list, tuple, str, int, float,
            bool or None; the message says where.
    """
    return atomic_write_text(path, dumps(value, "the value"))


def remove_left_overs(folder: Path) -> None:
    """Remove what killed writers left in `folder`; nobody may be writing there."""
    for path in folder.iterdir():
        if LEFT_OVER.fullmatch(path.name):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def dumps(value: Any, where: str) -> str:
    check_json(value, where)
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def check_json(value: Any, where: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(
            f"JSON has no {value!r}, found at {where}. "
            "Leave the key out, or write None and say why the number is not defined."
        )
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"JSON keys are texts; {where} has the key {key!r}. Use str(key).")
            check_json(item, f"{where}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            check_json(item, f"{where}[{index}]")
    elif not (value is None or isinstance(value, (str, bool, int, float))):
        raise TypeError(
            f"JSON cannot hold {type(value).__module__}.{type(value).__qualname__}, found at {where}. "
            "Convert it first, for example with float(...), .item() or .tolist()."
        )


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike[str], *, replace: bool = False) -> Iterator[Path]:
    """Fill a folder beside its final place and rename it at the end, so that it appears whole or not at all.

    When the block raises, what was written is removed and `path` stays as it was.

    Args:
        path: the folder to make.
        replace: take the place of an existing folder. The old one is moved away just before the new one is
            renamed and removed afterwards; a crash between the two leaves it beside `path` as `.*.old`.

    Yields:
        The temporary folder to write into.

    Raises:
        FileExistsError: `path` exists and `replace` is false.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not replace:
        raise FileExistsError(f"{target} exists. Choose another folder, move it away, or pass replace=True.")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _sibling(target)
    temporary.mkdir()
    try:
        yield temporary
        commit_folder(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def commit_folder(temporary: Path, target: Path) -> None:
    for file in files_of(temporary):
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    old = None
    if target.exists():
        old = _sibling(target, "old")
        target.rename(old)
    temporary.rename(target)
    _sync_folder(target.parent)
    if old is not None:
        shutil.rmtree(old) if old.is_dir() else old.unlink()


def _sibling(target: Path, suffix: str = "tmp") -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.{suffix}")


def _sync_folder(folder: Path) -> None:
    if sys.platform != "win32":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
