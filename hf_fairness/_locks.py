"""One writer per output: the lock that a job holds from its start to its end."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout


class RunLockedError(RuntimeError):
    """Another live process, or this one, already works in the output folder."""


def lock(path: Path, message: str, wait: float = 0.0) -> Callable[[], None]:
    """Take the lock of a file and return the function that gives it back and removes the file.

    The operating system drops the lock when its process dies, however it dies; forked workers do not inherit it.

    Args:
        path: the lock's file; its folder must exist.
        message: what a caller is told if the lock is taken; ``{owner}`` stands for the process that holds it.
        wait: seconds to wait for whoever holds it.

    Raises:
        RunLockedError: the lock is taken.
    """
    held = FileLock(path, thread_local=False)
    me = f"process {os.getpid()} on {socket.gethostname()}"
    try:
        held.acquire(timeout=wait, blocking=wait > 0)
    except Timeout:
        owner = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        owner = "this process: close() it first" if owner == me else owner or "process unknown"
        raise RunLockedError(message.replace("{owner}", owner)) from None
    path.write_text(me, encoding="utf-8")

    def release() -> None:
        if held.is_locked:  # not in a fork of the holder
            # Removed while it is held: who waits for a file that is gone asks for the new one.
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            held.release()

    return release


def may_live(pid: int) -> bool:
    """Whether a process of this machine may be alive; where it cannot be told: yes."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
