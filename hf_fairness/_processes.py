"""Several processes: the notes that rank 0 leaves for the others, and torch in forked children."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from hf_fairness._atomic import atomic_write_json
from hf_fairness._locks import may_live
from hf_fairness.utils import is_main_process

POLL_SECONDS = 0.05
#: Ranks of one launch start within this time of each other (for launchers without an id of their own).
START_SECONDS = 5.0

#: How many runs this process has made in a folder; equal on all ranks of a launch.
_RUNS: dict[Path, int] = {}


#: The process that imported this module; another number means a fork of it.
_IMPORTED_BY = os.getpid()


def one_thread_after_fork() -> None:
    """Make torch use one thread in a forked process, as ``datasets.map(num_proc=2)`` starts them.

    A fork takes over none of the threads that its parent's torch has started, and would wait for them for ever.
    """
    global _IMPORTED_BY
    if os.getpid() != _IMPORTED_BY:
        import torch

        torch.set_num_threads(1)
        _IMPORTED_BY = os.getpid()


class Board:
    """Notes of rank 0 on each stage, which the other ranks of the same launch poll.

    A note counts if its launch is the reader's: same rendezvous id, address, port, restart, parent process
    and count of runs in the folder. Launchers that fork (`debug_launcher`, `notebook_launcher`) may repeat
    all of these; there the writer must also be alive, or must have written after the reader's start.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".run_state.json"
        self.launch = _launch_id(folder)
        self.is_main = is_main_process()
        self.alone = int(os.environ.get("WORLD_SIZE", "1")) == 1
        self._stages: dict[str, Any] = {}

    def note(self, name: str | None = None, **decision: Any) -> None:
        """Publish what rank 0 decided on a stage; without a name, that its run has begun."""
        if self.alone:
            return
        if name is not None:
            self._stages[name] = decision
        writer = {
            "launch": self.launch,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "time": time.time(),
        }
        atomic_write_json(self.path, {**writer, "stages": self._stages})

    def wait(self, name: str, *wanted: str) -> dict[str, Any]:
        """Block until rank 0 has noted one of the wanted states of a stage.

        Raises:
            RuntimeError: the stage failed on rank 0, or rank 0 ended before it came to the stage.
        """
        dead = False
        while True:
            state = self._read()
            if state is not None:
                decision: dict[str, Any] = state["stages"].get(name, {})
                if decision.get("status") == "failed":
                    raise RuntimeError(f"Stage {name!r} failed on rank 0: {decision['error']}")
                if decision.get("status") in wanted:
                    return decision
                if dead:
                    raise RuntimeError(f"Rank 0 ended before stage {name!r} was done; see its own message.")
                dead = not _alive(state)  # its last note may have come after the one just read: look once more
            if not dead:
                time.sleep(POLL_SECONDS)

    def _read(self) -> dict[str, Any] | None:
        try:
            state: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        if state["launch"] != self.launch:
            return None
        own_id = bool(os.environ.get("TORCHELASTIC_RUN_ID"))
        return state if own_id or _alive(state) or state["time"] > _started - START_SECONDS else None


def _launch_id(folder: Path) -> str:
    _RUNS[folder] = _RUNS.get(folder, 0) + 1
    names = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")
    parts = [os.environ.get(name, "") for name in names]
    world = os.environ.get("WORLD_SIZE", "1")
    if os.environ.get("LOCAL_WORLD_SIZE", world) == world:  # one machine: one launcher is the parent of all
        parts.append(str(os.getppid()))
    return ":".join([*parts, str(_RUNS[folder])])


def _alive(state: dict[str, Any]) -> bool:
    return state["host"] != socket.gethostname() or may_live(int(state["pid"]))


def _start_clock() -> None:
    global _started
    _started = time.time()


_started = time.time()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_clock)
