"""Processes of their own for tests: a module under torchrun or alone, and what such a module does when it is run."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hf_fairness.utils import end_distributed_process

#: The folder that holds `support`, for the path of other processes.
TESTS = Path(__file__).parent.parent
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node")


def environment(**more: str) -> dict[str, str]:
    """Environment of a process that finds `support`, runs one thread and asks no Hub."""
    paths = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
    quiet = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    return {**os.environ, "PYTHONPATH": paths, **quiet, **more}


def launch(
    module: str, *words: object, processes: int = 1, folder: Path | None = None, timeout: float = 240, **env: str
) -> str:
    """Run a module (``python -m``), under torchrun where it is more than one process; returns what it printed."""
    start = [*TORCHRUN, str(processes)] if processes > 1 else []
    done = subprocess.run(
        [sys.executable, *start, "-m", module, *map(str, words)],
        env=environment(**env),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def run_script(main: Callable[..., Any], *words: Any) -> None:
    """What a script of these does in a process of its own: warnings are errors, and it ends as a command does."""
    warnings.simplefilter("error")  # what pytest does for its own process
    # accelerate and sentence-transformers set broadcast_buffers, which torch 2.13 renames (seen 2026-11).
    warnings.filterwarnings("ignore", message="`broadcast_buffers` is deprecated", category=FutureWarning)
    main(*words)
    end_distributed_process(0)
