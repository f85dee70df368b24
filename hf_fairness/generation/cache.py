"""Finished rewrites on disk: what was paid for once is never asked for again, whatever kills the run."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hf_fairness.utils import FairnessWarning

Record = dict[str, Any]
#: Name of the file in the folder of a cache.
FILE = "rewrites.jsonl"


class RewriteCache:
    """An append-only file of JSON lines, one per finished rewrite, the newest of a key counting.

    A line is on the disk before :meth:`add` returns. Any number of processes and threads may share the file: a lock
    is held while a line is written. What a killed writer left of a line is cut by the next one and never read.

    Args:
        folder: where :data:`FILE` stands or will stand; None keeps the records in memory only.

    Raises:
        NotADirectoryError: ``folder`` is a file.
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.path = None if folder is None else Path(folder) / FILE
        self._records: dict[str, Record] = {}
        self._read = 0
        if folder is not None and Path(folder).exists() and not Path(folder).is_dir():
            raise NotADirectoryError(f"cache_dir must be a folder; {folder} is a file.")

    def __len__(self) -> int:
        return len(self._records)

    @classmethod
    def of_file(cls, path: str | os.PathLike[str]) -> RewriteCache:
        """The cache that a file of any name is, to be read.

        Args:
            path: the file, or the folder that holds :data:`FILE`.

        Raises:
            FileNotFoundError: there is none.
        """
        cache = cls(None)
        cache.path = rewrites_file(path)
        if not cache.path.is_file():
            raise FileNotFoundError(f"{cache.path} does not exist: there are no stored rewrites.")
        cache.refresh()
        return cache

    def records(self) -> list[Record]:
        """All records, in the order in which they were stored."""
        return list(self._records.values())

    def get(self, key: str) -> Record | None:
        """The record of a key; None where there is none."""
        return self._records.get(key)

    def refresh(self) -> None:
        """Read what was added since the last look, by this process or another."""
        if self.path is None or not self.path.exists():
            return
        broken = 0
        with self.path.open("rb") as stream:
            if stream.seek(0, os.SEEK_END) < self._read:  # somebody emptied the file
                self._read = 0
            stream.seek(self._read)
            for line in stream:
                if not line.endswith(b"\n"):
                    break  # still being written, or torn: the next writer cuts it
                self._read += len(line)
                try:
                    record = json.loads(line)
                    self._records.pop(record["key"], None)  # the newest stands last
                    self._records[record["key"]] = record
                except (ValueError, KeyError, TypeError):
                    broken += 1
        if broken:
            warnings.warn(
                f"{self.path}: {broken} line(s) are damaged and were left out; their texts will be asked for again.",
                FairnessWarning,
                stacklevel=2,
            )

    def add(self, record: Record) -> None:
        """Store a record under ``record["key"]``, durably."""
        self._records[record["key"]] = record
        if self.path is None:
            return
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(self.path) as handle:
            _cut_torn_line(handle)
            written = 0
            while written < len(line):
                written += os.write(handle, line[written:])
            os.fsync(handle)


def rewrites_file(path: str | os.PathLike[str]) -> Path:
    """The file of finished rewrites that is meant by its own name or by that of its folder."""
    return Path(path) / FILE if Path(path).is_dir() else Path(path)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """A handle of one's own, so that the lock shuts out threads as well as processes."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
    try:
        _lock(handle)
        yield handle
    finally:
        os.close(handle)  # gives the lock back


def _cut_torn_line(handle: int) -> None:
    """Cut what stands after the last line end. Its writer is dead: a live one would hold the lock."""
    size = end = os.lseek(handle, 0, os.SEEK_END)
    while end > 0:
        start = max(0, end - 65_536)
        os.lseek(handle, start, os.SEEK_SET)
        block = os.read(handle, end - start)
        last = block.rfind(b"\n")
        if last >= 0:
            end = start + last + 1
            break
        end = start
    if end < size:
        os.ftruncate(handle, end)


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, 1 << 40, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)
