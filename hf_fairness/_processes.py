"""Several processes: notes of rank 0 for the others, rows that all share, engines that are refused, and forks."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from hf_fairness._atomic import atomic_write_json
from hf_fairness._locks import may_live
from hf_fairness.utils import is_main_process, progress, world_size

T = TypeVar("T")

POLL_SECONDS = 0.05
#: Ranks of one launch start within this time of each other (for launchers without an id of their own).
START_SECONDS = 5.0

#: What splits a model over processes -> its setting of `TrainingArguments`, and what `accelerate launch` sets for it.
ENGINES = {
    "FSDP": ("fsdp", "ACCELERATE_USE_FSDP"),
    "DeepSpeed": ("deepspeed", "ACCELERATE_USE_DEEPSPEED"),
    "Tensor or context parallelism": ("parallelism_config", "ACCELERATE_USE_PARALLELISM_CONFIG"),
    "Megatron-LM": ("", "ACCELERATE_USE_MEGATRON_LM"),
}

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


def refuse_engines(what: str, settings: Any = None, *, but: Sequence[str] = ()) -> None:
    """Raise where an engine that splits a model over processes was asked for, by a setting or by the launcher.

    Args:
        what: needs the whole model on each process.
        settings: `TrainingArguments`, or None.
        but: engines that it can do with.

    Raises:
        ValueError: says which engine, and what to use instead.
    """
    for engine, (setting, variable) in ENGINES.items():
        if engine in but:
            continue
        if getattr(settings, setting, None) or os.environ.get(variable, "").lower() in ("1", "true", "yes"):
            raise ValueError(
                f"{engine} splits a model over the processes, and {what} needs the whole model on each: use `torchrun` "
                "or `accelerate launch --multi_gpu` without it, and LoRA (use_peft) for a model that is too large."
            )


#: Whether the processes of this launch share rows now.
_share_rows = False


@contextlib.contextmanager
def rows_shared(*, cpu: bool = False) -> Iterator[None]:
    """Within the block, what scores or generates shares its rows over all processes of the launch; alone it does all.

    Every process must do the same in the same order, and gets the same.

    Args:
        cpu: stay off the accelerator, where the process group is set up here.
    """
    global _share_rows
    if world_size() == 1:
        yield
        return
    from accelerate import PartialState

    before = _share_rows
    _share_rows = PartialState(**({"cpu": True} if cpu else {})).num_processes > 1
    try:
        yield
    finally:
        _share_rows = before


def turn() -> tuple[int, int]:
    """Which of how many processes this is, of those that share rows now: the first of one outside `rows_shared`."""
    if not _share_rows:
        return 0, 1
    from accelerate import PartialState

    return PartialState().process_index, PartialState().num_processes


def own_device() -> Any:
    """The device of this process, where processes share rows; else None."""
    if not _share_rows:
        return None
    from accelerate import PartialState

    return PartialState().device


def wanted_by_any(items: Iterable[T]) -> list[T]:
    """What one of the processes that share rows lacks, or several do, each once: so that all work on the same."""
    own = list(items)
    if turn()[1] == 1:
        return own
    from accelerate.utils import gather_object

    return list(dict.fromkeys(gather_object(own)))


def shared_work(
    batches: Sequence[Sequence[int]],
    work: Callable[[Sequence[int]], Iterable[Any]],
    what: str,
    *,
    finish: Callable[[], object] | None = None,
    show_progress: bool | None = None,
) -> list[Any]:
    """Results of batches of rows in the order of the rows; processes that share rows take turns at the batches.

    Args:
        batches: rows of each batch; all rows together are 0, 1, ...
        work: from the rows of a batch to a result for each.
        what: for the label of the bar.
        finish: called on each process after its own batches, before any of them has the results and goes on: what it
            writes is there for all.
        show_progress: None means on a terminal and on the main process only.

    Returns:
        One result per row, the same on every process.
    """
    found: list[tuple[int, Any]] = []
    place, processes = turn()
    for rows in progress(batches[place::processes], what, show_progress=show_progress, unit="batch"):
        found += zip(rows, work(rows), strict=True)
    if finish is not None:
        finish()
    return of_all(found)


def of_all(found: list[tuple[int, Any]]) -> list[Any]:
    """What all processes that share rows found, in the order of the rows, the same on each.

    Args:
        found: rows of this process with their results.
    """
    if turn()[1] > 1:
        from accelerate.utils import gather_object

        found = gather_object(found)
    return [result for _, result in sorted(found, key=itemgetter(0))]


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
        self.alone = world_size() == 1
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
