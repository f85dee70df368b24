"""What a chat model is: messages in, a completion out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

Messages = Sequence[Mapping[str, str]]
Schema = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Completion:
    """One answer of a chat model.

    Attributes:
        text: what the model wrote.
        prompt_tokens: tokens read; None where the server does not say.
        completion_tokens: tokens written; None where the server does not say.
        truncated: whether the answer was cut at ``max_tokens``.
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    truncated: bool = False


@runtime_checkable
class ChatClient(Protocol):
    """What a chat model needs to be.

    ``name`` identifies the model in the cache on disk; ``""`` means that its answers are not stored.
    """

    name: str

    def complete(self, messages: Messages, *, schema: Schema | None = None) -> Completion:
        """Answer a conversation of ``{"role": ..., "content": ...}``; the schema may be ignored."""
        ...
