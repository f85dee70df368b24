"""How a language model is asked: sampling, batches, politeness, money."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

#: What `on_refused` may say.
REFUSED = ("raise", "reject")


@dataclass(frozen=True)
class LLMConfig:
    """Settings of requests to a chat model; the defaults suit a server that others use too.

    Only ``temperature``, ``seed`` and ``max_tokens`` are part of the key of a finished rewrite: any other
    setting may change between a run and its resumption without a text being asked for again.

    Raises:
        ValueError: a value out of range; the message names the setting.
    """

    temperature: float | None = field(
        default=0.0, metadata={"help": "Sampling temperature; 0 is greedy, None leaves it to the server."}
    )
    seed: int | None = field(default=0, metadata={"help": "Seed that the server is sent; None sends none."})
    max_tokens: int | None = field(
        default=1024, metadata={"help": "Most tokens of one answer; None leaves it to the server."}
    )
    texts_per_request: int = field(
        default=1,
        metadata={
            "help": "Texts in one request. Above 1 saves prompt tokens, but an answer may depend on its company."
        },
    )
    attempts: int = field(
        default=2, metadata={"help": "How often a text is asked for before an unusable answer is given up."}
    )
    structured: bool = field(
        default=True, metadata={"help": "Send a JSON schema of the answer; a server that refuses it gets none."}
    )
    system_role: bool = field(
        default=True, metadata={"help": "Send the task as a system message; some models know no such role."}
    )
    concurrency: int = field(default=4, metadata={"help": "Requests on their way at the same time."})
    requests_per_minute: float | None = field(default=None, metadata={"help": "Rate limit; None means no limit."})
    timeout: float = field(default=120.0, metadata={"help": "Seconds to wait for an answer."})
    retries: int = field(
        default=5, metadata={"help": "Repetitions after time-outs, lost connections, 429 and server errors."}
    )
    backoff: float = field(default=1.0, metadata={"help": "Seconds before the first repetition; doubles each time."})
    max_wait: float = field(
        default=300.0, metadata={"help": "Longest wait in seconds; a server that asks for more ends the run."}
    )
    on_refused: str = field(
        default="raise",
        metadata={
            "help": "What a request that the server refuses (400, 413, 422) does: `raise` ends the run, `reject` "
            "marks the row and goes on, for servers with a content filter."
        },
    )
    min_kept: float = field(
        default=0.5,
        metadata={"help": "Share of the words of a text of ten words or more that each variant must keep."},
    )
    retry_rejected: bool = field(
        default=False, metadata={"help": "Ask again for texts whose stored answer was unusable."}
    )
    prompt_price: float | None = field(default=None, metadata={"help": "Price of a million prompt tokens."})
    completion_price: float | None = field(default=None, metadata={"help": "Price of a million tokens of answers."})
    token_env: str | None = field(
        default=None, metadata={"help": "Name of the environment variable that holds the key of the server."}
    )
    provider: str | None = field(default=None, metadata={"help": "Inference provider of the Hub; None lets it choose."})

    def __post_init__(self) -> None:
        for name in ("texts_per_request", "attempts", "concurrency"):
            self._need(name, getattr(self, name) >= 1, "at least 1")
        for name in ("retries", "backoff", "max_wait"):
            self._need(name, getattr(self, name) >= 0, "0 or more")
        for name in ("max_tokens", "timeout", "requests_per_minute"):
            value = getattr(self, name)
            self._need(name, value is None or (value > 0 and math.isfinite(value)), "above 0")
        for name in ("temperature", "prompt_price", "completion_price"):
            value = getattr(self, name)
            self._need(name, value is None or (value >= 0 and math.isfinite(value)), "0 or more")
        self._need("min_kept", 0 <= self.min_kept <= 1, "between 0 and 1")
        self._need("on_refused", self.on_refused in REFUSED, f"one of {', '.join(REFUSED)}")

    def _need(self, name: str, holds: bool, wanted: str) -> None:
        if not holds:
            raise ValueError(f"{name} must be {wanted}; got {getattr(self, name)!r}.")
