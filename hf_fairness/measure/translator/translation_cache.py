"""Finished translations on disk: a killed run goes on after its last finished chunk."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hf_fairness.runs import atomic_write_json, content_key, remove_left_overs
from hf_fairness.utils import FairnessWarning

#: Raised when a translation of the same model, text and settings may come out otherwise than before.
VERSION = 1
#: A file is written when there are so many new translations, or when so many seconds have passed since the last one.
CHUNK_TEXTS, CHUNK_SECONDS = 512, 60.0


class TranslationCache:
    """Translations by text: of this run, and of earlier ones of the same model and settings in the same folder.

    Each model and its settings have a sub-folder; each chunk of finished translations is one file in it, which appears
    whole or not at all. A file holds no source text, only its content key. Several processes may share the folder.

    Args:
        folder: of all models; None keeps the translations in memory only.
        key: what a translation depends on beside its text.

    Warns:
        FairnessWarning: files that are damaged; they are removed, and their texts translated again.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, key: Any) -> None:
        self._folder = None if folder is None else Path(folder) / content_key(VERSION, key)
        self._found: dict[str, str] = {}
        self._new: dict[str, str] = {}
        self._written = time.monotonic()
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        remove_left_overs(self._folder, shared=True)
        damaged = [path for path in sorted(self._folder.glob("*.json")) if not self._read(path)]
        for path in damaged:
            path.unlink(missing_ok=True)
        if damaged:
            warnings.warn(
                f"{len(damaged)} file(s) in {self._folder} were damaged and are removed; their texts are translated "
                "again.",
                FairnessWarning,
                stacklevel=3,
            )

    def __contains__(self, text: str) -> bool:
        return content_key(text) in self._found

    def __getitem__(self, text: str) -> str:
        return self._found[content_key(text)]

    def add(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Store translations; they are on the disk once there are enough for a file."""
        new = {content_key(text): translation for text, translation in pairs}
        self._found |= new
        self._new |= new
        if len(self._new) >= CHUNK_TEXTS or time.monotonic() - self._written > CHUNK_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what is not on the disk yet."""
        if self._folder is not None and self._new:
            key = content_key(self._new)
            atomic_write_json(self._folder / f"{key}.json", {"key": key, "translations": self._new})
        self._new, self._written = {}, time.monotonic()

    def _read(self, path: Path) -> bool:
        """Take in one file; False if it is damaged."""
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            found, key = record["translations"], record["key"]
            whole = bool(key == content_key(found))
        except (OSError, ValueError, KeyError, TypeError):
            return False
        if whole:
            self._found |= found
        return whole
