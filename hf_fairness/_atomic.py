"""Atomic writes: a file or a folder appears whole or not at all. Import them from `hf_fairness.runs`."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import json
import math
import os
import re
import secrets
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hf_fairness._keys import files_of
from hf_fairness._locks import lock, may_live

#: Names that `_sibling` gives; what a dead process leaves of them is safe to remove.
LEFT_OVER = re.compile(r"\.(?P<name>.+)\.(?P<host>[0-9a-f]{6})-(?P<pid>\d+)-[0-9a-f]{8}\.(tmp|old)")


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Fill a file beside another one, whose place it takes when the block ends well: old content or new, never a part.

    Args:
        path: file to write; parent folders are made. A link is followed: its target is replaced.

    Yields:
        The path to write to.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _sibling(target)
    try:
        yield temporary
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def atomic_write_bytes(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write a file so that a reader, or a crash, sees the old content or the new one, never a part.

    Args:
        path: file to write; parent folders are made. A link is followed: its target is replaced.
        data: the whole content.

    Returns:
        The path written.
    """
    with atomic_file(path) as temporary:
        temporary.write_bytes(data)
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
def claim(path: str | os.PathLike[str], *, wait: float = 0.0) -> Iterator[Path]:
    """Keep the output of a job to itself from start to end, and clear away what killed jobs left beside it.

    While it is held, `.NAME.lock` stands beside the output; another job of this package that claims it is refused.

    Args:
        path: file or folder that the job writes; parent folders are made, and removed again if they stay empty.
        wait: seconds to wait for another job that holds it.

    Yields:
        The path, absolute and without links.

    Raises:
        RunLockedError: another live process, or this one, writes there.
    """
    target = Path(os.path.realpath(path))
    made = [parent for parent in target.parents if not parent.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    taken = f"{target} is being written by another job ({{owner}}). Wait until it ends, or choose another output."
    release = lock(target.with_name(f".{target.name}.lock"), taken, wait)
    try:
        _recover(target)
        yield target
    finally:
        release()
        with contextlib.suppress(OSError):
            for parent in made:
                parent.rmdir()


@contextlib.contextmanager
def atomic_folder(
    path: str | os.PathLike[str], *, replace: bool = False, check: Callable[[], None] | None = None
) -> Iterator[Path]:
    """Claim a folder, fill another one beside it and rename that at the end: it appears whole or not at all.

    When the block raises, what was written is removed and `path` stays as it was. What appears or changes at `path`
    while the block runs is of somebody else and is never replaced.

    Args:
        path: the folder to make; an empty one may be there.
        replace: take the place of an existing folder, in one step where the system can. A crash leaves the old
            folder or the new one; the next job of this output removes the other.
        check: called when the folder is claimed and nothing is written yet; raises if what is there may not be
            replaced.

    Yields:
        The temporary folder to write into.

    Raises:
        FileExistsError: `path` exists and `replace` is false; or it appeared or changed meanwhile, and the message
            says where the result was put.
        RunLockedError: another live process writes there.
    """
    with claim(path) as target:
        if check is not None:
            check()
        before = _stamp(target)
        if before and not replace:
            raise FileExistsError(f"{target} exists. Choose another folder, move it away, or pass replace=True.")
        temporary = _sibling(target)
        temporary.mkdir()
        try:
            yield temporary
            now = _stamp(target)
            if not now:
                with contextlib.suppress(OSError):
                    target.rmdir()
            if now not in (before, []) or not _commit(temporary, target, exchange=bool(now)):
                raise _appeared(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def commit_folder(temporary: Path, target: Path) -> None:
    """Put a finished folder in its place; what is there goes, in one step where the system can."""
    if not _commit(temporary, target, exchange=target.exists()):
        raise FileExistsError(f"{target} appeared while it was being made. Move it away and run again.")


def _commit(temporary: Path, target: Path, *, exchange: bool) -> bool:
    """Rename; False if something stands where nothing was expected."""
    for file in files_of(temporary):
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    if not exchange:
        try:
            temporary.rename(target)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                return False
            raise
    elif not _exchange(temporary, target):
        old = _sibling(target, "old")
        target.rename(old)
        temporary.rename(target)
        temporary = old
    _sync_folder(target.parent)
    if exchange:
        _remove(temporary)
    return True


def _exchange(one: Path, other: Path) -> bool:
    """Swap two paths in one step; False where the system cannot (it must be Linux)."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def _stamp(target: Path) -> list[tuple[str, int, int, int]]:
    """What stands at a path, so that a change shows: nothing and an empty folder give an empty list."""
    if not target.exists():
        return []
    files = [target, *files_of(target)] if target.is_dir() else [target]
    if files == [target] and target.is_dir():
        return []
    states = [(str(file), file.lstat()) for file in sorted(files)]
    return [(name, state.st_ino, state.st_size, state.st_mtime_ns) for name, state in states]


def _appeared(temporary: Path, target: Path) -> FileExistsError:
    """Keep a result whose place was taken."""
    aside = free_name(target, "new")
    temporary.rename(aside)
    return FileExistsError(
        f"{target} appeared or changed while this job worked, so it was left alone; the result is in {aside}."
    )


def free_name(path: Path, suffix: str) -> Path:
    """A name beside a path that is not taken: ``NAME.SUFFIX-1`` and so on."""
    number = 1
    while (aside := path.with_name(f"{path.name}.{suffix}-{number}")).exists():
        number += 1
    return aside


def _recover(target: Path) -> None:
    """Bring back an output that was moved away by a job that was killed then; remove what killed jobs left beside."""
    left = [path for path in target.parent.iterdir() if _left_of(path) == target.name]
    moved = sorted((path for path in left if path.suffix == ".old"), key=lambda path: path.lstat().st_mtime)
    if moved and not target.exists():
        moved[-1].rename(target)
        left.remove(moved[-1])
    for path in left:
        _remove(path)


def hold_folder(folder: Path, *, shared: bool = False) -> Callable[[], None]:
    """Make a folder, or take the one that is there, for one job to put its files into; returns what gives it back.

    Args:
        folder: of the output; `.run.lock` stands in it meanwhile, and what killed writers left in it is removed.
        shared: files of others may be there, and be written at the same time.

    Raises:
        RunLockedError: another live process, or this one, holds the folder.
    """
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    taken = f"Another run works in {folder} ({{owner}}). Wait until it ends, stop it, or choose another output_dir."
    release = lock(folder / ".run.lock", taken)
    remove_left_overs(folder, shared=shared)

    def give_back() -> None:
        release()
        if made:
            with contextlib.suppress(OSError):  # something is in it
                folder.rmdir()

    return give_back


def discard(folder: Path) -> None:
    """Remove a folder at once: a killed process leaves all of it under its name, or nothing.

    Args:
        folder: it may be missing.
    """
    gone = _sibling(folder)  # what a killed process leaves of it is removed as any other left-over
    with contextlib.suppress(FileNotFoundError):
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def remove_left_overs(folder: Path, *, shared: bool = False, below: bool = False) -> None:
    """Remove what killed writers left in a folder.

    Args:
        folder: where nobody is writing.
        shared: others may be writing there: remove only what processes of this machine left that are dead.
        below: look into the folders in it, too.
    """
    for path in list(folder.rglob("*") if below else folder.iterdir()):
        found = LEFT_OVER.fullmatch(path.name)
        if found and not (shared and (found["host"] != _host() or may_live(int(found["pid"])))):
            _remove(path)


def _left_of(path: Path) -> str | None:
    found = LEFT_OVER.fullmatch(path.name)
    return found["name"] if found else None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _host() -> str:
    return hashlib.blake2b(socket.gethostname().encode(), digest_size=3).hexdigest()


def _sibling(target: Path, suffix: str = "tmp") -> Path:
    return target.with_name(f".{target.name}.{_host()}-{os.getpid()}-{secrets.token_hex(4)}.{suffix}")


def _sync_folder(folder: Path) -> None:
    if sys.platform != "win32":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
