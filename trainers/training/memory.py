"""How much memory a piece of work takes."""

from __future__ import annotations

import threading
from types import TracebackType

import psutil
import torch

#: Seconds between two looks.
_EVERY = 0.05


class PeakMemory:
    """The most that the process grew by within the block, and on an accelerator the most that was allocated there.

    Attributes:
        mib: MiB of both together, known after the block.

    Example:
        >>> with PeakMemory() as memory:
        ...     size = len(bytearray(1 << 26))
        >>> memory.mib < 1000
        True
    """

    def __init__(self) -> None:
        self.mib = 0.0
        self._process, self._end = psutil.Process(), threading.Event()

    def __enter__(self) -> PeakMemory:
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        self._start = self._most = self._process.memory_info().rss
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._end.wait(_EVERY):
            self._most = max(self._most, self._process.memory_info().rss)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()
        grown = max(self._most, self._process.memory_info().rss) - self._start
        on_accelerator = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
        self.mib = (grown + on_accelerator) / 2**20
