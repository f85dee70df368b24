"""One helper for every long job: stages, manifest, content keys, atomic writes, resume.

A job is a `Run` in an output folder. Each stage writes its files into a folder of its own and returns a
JSON-able result; both appear only when the stage is complete. A later run of the same job skips the stages
whose inputs have not changed and whose files are whole: a killed job goes on at its first unfinished stage.

    out/config.json      the resolved config, tokens hidden
    out/manifest.json    for people and for resume: each stage's key, status, times, result, versions
    out/<stage>/         the files of a stage

Several processes (torchrun, accelerate): every rank makes the same `Run` and calls the same stages. Rank 0
alone decides, works and writes; it notes each decision in `.run_state.json`, and the other ranks poll that
file, so no process group is needed and none may be set up yet. All ranks must see the output folder. A stage
with `collective=True` (training) is run by every rank; only what rank 0 returns counts, and what the others
write into the folder is theirs to finish before rank 0 returns, as a trainer's last barrier sees to.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import datetime
import enum
import errno
import json
import os
import platform
import re
import secrets
import shutil
import time
import warnings
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from hf_fairness._atomic import (
    atomic_file,
    atomic_folder,
    atomic_write_bytes,
    atomic_write_json,
    atomic_write_text,
    check_json,
    claim,
    commit_folder,
    discard,
    dumps,
    free_name,
    hold_folder,
    remove_left_overs,
)
from hf_fairness._keys import content_key, files_of
from hf_fairness._locks import RunLockedError
from hf_fairness._processes import Board
from hf_fairness._secrets import HIDDEN, SECRET
from hf_fairness.utils import FairnessWarning, package_versions

__all__ = [
    "Run",
    "RunLockedError",
    "atomic_file",
    "atomic_folder",
    "atomic_write_bytes",
    "atomic_write_json",
    "atomic_write_text",
    "claim",
    "commit_folder",
    "content_key",
    "discard",
    "hold_folder",
    "remove_left_overs",
]

PACKAGES = ("hf-fairness", "torch", "transformers", "sentence-transformers", "datasets", "numpy")
STAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
#: What systems say when a file cannot grow: the disk is full, a quota or a limit is reached.
NO_ROOM = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name))
#: Beside the folder of a stage that is finished and not yet in its place: its entry of the manifest.
FINISHED = "finished.json"


class Run:
    """A job of several stages in one output folder, which can be killed and taken up again.

    Use it as a context manager, or call `close()`: one folder belongs to one run at a time.

    Args:
        output_dir: folder of the job; made if it is missing.
        config: the resolved settings: a mapping or a dataclass of plain values, Paths and enums; an object
            with `to_dict()` (as `TrainingArguments`) is asked for it. Written to `config.json`; the texts of
            keys that end in token, secret, password or api_key are hidden and do not count for keys.
        resume: False runs every stage again.

    Raises:
        RunLockedError: another live process, or this one, has a run in the folder.
        TypeError: the config cannot be written as JSON.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as out, Run(out, {"rows": 3}) as run:
        ...     run.stage("count", lambda folder: {"n": 3}, inputs={"rows": 3})
        {'n': 3}
    """

    def __init__(self, output_dir: str | os.PathLike[str], config: Any, *, resume: bool = True) -> None:
        self.output_dir = Path(os.path.realpath(output_dir))
        self.config: dict[str, Any] = _resolve(config)
        check_json(self.config, "config")
        self._label = ""
        self._seen: dict[str, str] = {}
        self._places: dict[str, str] = {}
        self._done: dict[tuple[str, str], str] = {}
        self._board = Board(self.output_dir)
        self._finalizer: weakref.finalize[Any, Run] | None = None
        if not self._board.is_main:
            return
        self._finalizer = weakref.finalize(self, _give_back, hold_folder(self.output_dir), self.output_dir)
        self._stages: list[dict[str, Any]] = self._read_manifest()
        self._take_in_finished()
        if not resume:
            for entry in self._stages:
                entry["status"] = "outdated"
        atomic_write_json(self.output_dir / "config.json", self.config)
        self._board.note()

    def stage(
        self,
        name: str,
        function: Callable[[Path], Any],
        *,
        inputs: Any = None,
        version: int = 1,
        collective: bool = False,
        keep_partial: bool = False,
    ) -> Any:
        """Run one stage, or take its result from the manifest when nothing that it depends on has changed.

        Args:
            name: name of the stage and of its folder in `output_dir`: letters, digits, `_`, `-`.
            function: called with an empty folder to write into, which is moved to `output_dir/name` when the
                function has returned: keep no absolute path of it. Returns a JSON-able result, best a small
                one (it is kept in the manifest).
            inputs: everything that the result depends on, as `content_key` takes it: parts of the config, a
                Dataset, a Path of input data, `run.key("earlier stage")`. None means the whole config and
                every earlier stage of this run.
            version: raise it when the code of the stage changes its result.
            collective: the function must run on every rank (training), not on rank 0 only.
            keep_partial: if the stage was interrupted, call the function with the folder as it was left, so
                that it can go on from its own checkpoints. Left-overs of other inputs are removed.

        Returns:
            The result as JSON gives it back (tuples become lists), equal in fresh and resumed runs.

        Raises:
            ValueError: a bad or repeated name; a result with NaN or with a path into the stage's own folder.
            TypeError: inputs without stable content; a result that JSON cannot hold.
            RuntimeError: the run is closed; on other ranks: the stage failed on rank 0.
        """
        place = f"{name}-{self._label}" if self._label else name
        if not STAGE_NAME.fullmatch(place):
            raise ValueError(f"Stage name {place!r} is not usable as a folder: use letters, digits, _ and -.")
        if name in self._seen:
            raise ValueError(f"Stage {name!r} was called twice in one run: give the second another name.")
        if not self._board.is_main:
            return self._follow(name, place, function, collective)
        if self._finalizer is None or not self._finalizer.alive:
            raise RuntimeError(f"The run in {self.output_dir} is closed: make a new Run for stage {name!r}.")
        noted = place
        try:
            key = content_key(name, version, self._default_inputs() if inputs is None else inputs)
            self._seen[name] = key
            place = self._places[name] = self._done.setdefault((name, key), place)
            entry = self._entry(place)
            if entry.get("status") == "done" and entry.get("key") == key and self._whole(entry):
                result = entry["result"]
            else:
                result = self._work(entry, key, version, function, keep_partial)
        except BaseException as error:
            full = _no_room(error)
            with contextlib.suppress(OSError) if full else contextlib.nullcontext():
                self._board.note(noted, status="failed", error=f"{type(error).__name__}: {error}")
            if full:
                raise OSError(
                    errno.ENOSPC,
                    f"Stage {name!r} could not be written: the disk of {self.output_dir} is full, or a limit on files "
                    "was reached. What was there before stays. Make room and run the same command again: it goes on "
                    f"from here ({error})",
                ) from error
            raise
        self._board.note(noted, status="done", key=key, place=place, result=result)
        return result

    def trial(self, label: str) -> Run:
        """The run for one of several trials: another seed, another value of a setting.

        Its stages bear the label, ``train-seed_1``; those that an earlier trial has called with the same inputs are
        that one's, and nothing is made twice. The run that it is made from closes it. A trial of a trial bears both
        labels.

        Args:
            label: letters, digits, `_`, `-`; empty for the first.
        """
        found = copy.copy(self)
        label = "-".join(filter(None, (self._label, label)))
        found._label, found._seen, found._places = label, {}, {}
        return found

    def folder(self, name: str) -> Path:
        """Folder with the files of a stage that this run has called."""
        self.key(name)
        return self.output_dir / self._places[name]

    def key(self, name: str) -> str:
        """Content key of a stage that this run has called; for the `inputs` of a stage that uses it."""
        if name not in self._seen:
            raise KeyError(f"Stage {name!r} has not been called; called: {', '.join(self._seen) or 'none'}.")
        return self._seen[name]

    def close(self) -> None:
        """Give the folder back; no stage can be run afterwards."""
        if self._finalizer is not None:
            self._finalizer()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _follow(self, name: str, place: str, function: Callable[[Path], Any], collective: bool) -> Any:
        """Take rank 0's decision on another rank."""
        decision = self._board.wait(place, "done", *(["running"] if collective else []))
        if decision["status"] == "running":
            function(Path(decision["folder"]))
            decision = self._board.wait(place, "done")
        self._seen[name], self._places[name] = str(decision["key"]), str(decision["place"])
        return decision["result"]

    def _default_inputs(self) -> Any:
        return [self.config, list(self._seen.values())]

    def _entry(self, name: str) -> dict[str, Any]:
        for entry in self._stages:
            if entry["stage"] == name:
                return entry
        self._stages.append({"stage": name})
        return self._stages[-1]

    def _whole(self, entry: Mapping[str, Any]) -> bool:
        folder = self.output_dir / str(entry["stage"])
        return "result" in entry and folder.is_dir() and content_key(folder) == entry.get("files_key")

    def _work(
        self,
        entry: dict[str, Any],
        key: str,
        version: int,
        function: Callable[[Path], Any],
        keep_partial: bool,
    ) -> Any:
        name = str(entry["stage"])
        self._make_room(entry)
        folder = self._partial_folder(name, key, keep_partial)
        entry.pop("error", None)
        start = time.time()
        entry.update(
            key=key,
            version=version,
            started=_now(),
            status="running",
            versions={"python": platform.python_version(), **package_versions(PACKAGES)},
        )
        self._write_manifest()
        self._board.note(name, status="running", folder=str(folder))
        try:
            text = dumps(function(folder), f"the result of stage {name!r}")
            if json.dumps(str(folder), ensure_ascii=False)[1:-1] in text:
                raise ValueError(
                    f"The result of stage {name!r} holds a path below {folder}, which is moved at "
                    f"the end. Return it relative to the folder and use run.folder({name!r}) later."
                )
            result = json.loads(text)
            remove_left_overs(folder, below=True)  # what could not be removed as the stage worked
            done = {**entry, "status": "done", "result": result, "seconds": _since(start), **_summary(folder)}
            atomic_write_json(folder.parent / FINISHED, done)  # a kill from here on loses nothing
            commit_folder(folder, self.output_dir / name)
        except BaseException as error:
            entry.update(status="failed", error=f"{type(error).__name__}: {error}", seconds=_since(start))
            if not keep_partial:
                shutil.rmtree(folder.parent, ignore_errors=True)
            with contextlib.suppress(OSError) if _no_room(error) else contextlib.nullcontext():
                self._write_manifest()
            raise
        entry.update(done)
        self._write_manifest()
        shutil.rmtree(folder.parent, ignore_errors=True)
        return result

    def _take_in_finished(self) -> None:
        """Take in the stages that a killed run had finished, and had not yet moved or written down."""
        for note in sorted(self.output_dir.glob(f".partial/*/{FINISHED}")):
            done = json.loads(note.read_text(encoding="utf-8"))
            entry, made = self._entry(str(done["stage"])), note.parent / str(done["stage"])
            if made.is_dir() and content_key(made) == done["files_key"]:
                self._make_room(entry)
                commit_folder(made, self.output_dir / made.name)
            if self._whole(done):
                entry.clear()
                entry.update(done)
                self._write_manifest()
                shutil.rmtree(note.parent)
            else:
                note.unlink()
        for entry in self._stages:  # killed while it cleared up
            if entry.get("status") == "done":
                shutil.rmtree(self._partial(str(entry["stage"]), str(entry.get("key"))), ignore_errors=True)

    def _partial(self, name: str, key: str) -> Path:
        return self.output_dir / ".partial" / f"{name}.{key[:12]}"

    def _partial_folder(self, name: str, key: str, keep: bool) -> Path:
        """Make the folder that a stage works in; it bears the stage's name, which model cards show."""
        parent = self._partial(name, key)
        for left in parent.parent.glob(f"{name}.*"):
            if left != parent or not keep:
                shutil.rmtree(left)
        (parent / name).mkdir(parents=True, exist_ok=True)
        remove_left_overs(parent, below=True)
        for held in parent.rglob(".*.lock"):  # of a folder in it, whose writer was killed as it ended
            held.unlink()
        return parent / name

    def _make_room(self, entry: Mapping[str, Any]) -> None:
        """Leave in the stage's place only what this job wrote there and nobody has changed since."""
        place = self.output_dir / str(entry["stage"])
        if not place.exists() or self._whole(entry):
            return
        aside = free_name(place, "old")
        place.rename(aside)
        warnings.warn(
            f"{place} is not what this stage left there: it was changed, damaged, or is of another program. "
            f"It was moved to {aside}; the stage runs again. Delete {aside.name} when you do not need it.",
            FairnessWarning,
            stacklevel=4,
        )

    def _read_manifest(self) -> list[dict[str, Any]]:
        path = self.output_dir / "manifest.json"
        if not path.exists():
            return []
        try:
            stages = json.loads(path.read_text(encoding="utf-8"))["stages"]
            if not all(isinstance(entry["stage"], str) for entry in stages):
                raise TypeError("a stage without a name")
        except (ValueError, KeyError, TypeError) as error:
            aside = path.with_name(f"manifest.corrupt-{secrets.token_hex(4)}.json")
            path.rename(aside)
            warnings.warn(
                f"{path} cannot be read ({type(error).__name__}: {error}). It was moved to {aside.name} and "
                "every stage runs again. To keep finished stages, stop now and put a good copy back.",
                FairnessWarning,
                stacklevel=3,
            )
            return []
        return list(stages)

    def _write_manifest(self) -> None:
        manifest = {"config_key": content_key(self.config), "stages": self._stages}
        atomic_write_json(self.output_dir / "manifest.json", manifest)


def _give_back(release: Callable[[], None], folder: Path) -> None:
    """Give a folder back at the end of a run; without unfinished stages nothing hidden is left in it."""
    with contextlib.suppress(OSError):
        (folder / ".partial").rmdir()
    release()


def _no_room(error: BaseException | None) -> bool:
    """Whether an error, or what it came from, says that a file could not grow; libraries wrap the number in a text."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            return True
        if any(f"(os error {number})" in str(error) or os.strerror(number) in str(error) for number in NO_ROOM):
            return True
        error = error.__cause__ or error.__context__
    return False


def _summary(folder: Path) -> dict[str, Any]:
    files = files_of(folder)
    size = sum(file.stat().st_size for file in files)
    return {"files": len(files), "bytes": size, "files_key": content_key(folder)}


def _resolve(config: Any) -> dict[str, Any]:
    plain = _plain(config.to_dict() if hasattr(config, "to_dict") else config)
    if not isinstance(plain, dict):
        raise TypeError(f"config must be a mapping or a dataclass, got {type(config).__name__}.")
    return plain


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {
            key: HIDDEN if isinstance(item, str) and item and SECRET.search(str(key)) else _plain(item)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    return str(value) if isinstance(value, Path) else value


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")


def _since(start: float) -> float:
    return round(time.time() - start, 3)
