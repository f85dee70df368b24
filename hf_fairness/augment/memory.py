"""A bounded memory of a function: cheaper than ``functools.lru_cache`` where a look-up is all that is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Memory(dict[Key, Value]):
    """Results of a function of one argument, worked out when they are first asked for.

    Args:
        function: pure, of a hashable argument.
        size: number of results after which all are forgotten.
    """

    def __init__(self, function: Callable[[Key], Value], size: int = 1 << 14) -> None:
        super().__init__()
        self._function = function
        self._size = size

    def __missing__(self, key: Key) -> Value:
        if len(self) >= self._size:
            self.clear()
        value = self[key] = self._function(key)
        return value
