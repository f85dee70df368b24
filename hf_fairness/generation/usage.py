"""Counting requests, tokens and money over all threads."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

from hf_fairness.generation.config import LLMConfig


@dataclasses.dataclass(frozen=True)
class Usage:
    """What a run asked for and what that cost.

    Attributes:
        texts: distinct texts that were rewritten or looked up; empty ones need neither.
        cached: of these, texts whose rewrite was finished before.
        unusable: of these, texts for which the model gave no usable answer.
        requests: answers received; each is paid for.
        retries: requests repeated after a time-out, a lost connection, 429 or a server error; what a server bills for
            an answer that came too late is not known here.
        unreported: answers of which the server did not say the tokens; where it is not 0, tokens and cost are
            lower bounds.
        prompt_tokens: tokens read by the model.
        completion_tokens: tokens written by the model.
        cost: in the currency of the prices; None without prices.
        saved_prompt_tokens: tokens read in earlier runs for the cached texts.
        saved_completion_tokens: tokens written in earlier runs for the cached texts.
    """

    texts: int = 0
    cached: int = 0
    unusable: int = 0
    requests: int = 0
    retries: int = 0
    unreported: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    saved_prompt_tokens: int = 0
    saved_completion_tokens: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return dataclasses.asdict(self)


class Ledger:
    """Counts that threads add to."""

    def __init__(self, config: LLMConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def add(self, **counts: int) -> None:
        """Add to some of the counts of :class:`Usage`."""
        with self._lock:
            for name, count in counts.items():
                self._counts[name] = self._counts.get(name, 0) + count

    def usage(self) -> Usage:
        """The counts so far."""
        with self._lock:
            usage = Usage(**self._counts)
        prices = (self._config.prompt_price, self._config.completion_price)
        if prices == (None, None):
            return usage
        tokens = (usage.prompt_tokens, usage.completion_tokens)
        cost = sum(count * (price or 0.0) / 1_000_000 for count, price in zip(tokens, prices, strict=True))
        return dataclasses.replace(usage, cost=cost)
