"""What memory this process has, as Linux tells it; next to nothing is imported, so that imports can be measured."""

from __future__ import annotations

from collections.abc import Callable


def kib(key: str) -> int:
    """An entry of the status of this process, in KiB.

    Args:
        key: ``VmRSS``: pages in memory, whoever asked for them; ``VmHWM``: the most of these so far; ``RssAnon``: those
            with no file behind them, as a memory-mapped table has.

    Raises:
        OSError: the system tells none.
    """
    with open("/proc/self/status", encoding="utf-8") as status:  # noqa: PTH123 (pathlib would be imported)
        return next(int(line.split()[1]) for line in status if line.startswith(f"{key}:"))


def held(work: Callable[[], object]) -> float | None:
    """The most memory that this process holds while it works, beyond what it held before, in MiB; None without /proc.

    Pages in memory count, whoever asked for them: Python, numpy, torch, a library in C. Meant for the first call in a
    process: later ones find memory that an earlier one has given back to the allocator, not to the system.
    """
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as reset:  # noqa: PTH123
            reset.write("5")  # the peak is now what is held now
        before = kib("VmRSS")
    except OSError:
        work()
        return None
    work()
    return (kib("VmHWM") - before) / 2**10
