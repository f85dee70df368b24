"""The chat client that a user means: a server, a local model, or a function of theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hf_fairness.generation.chat import ChatClient, Completion, Messages, Schema
from hf_fairness.generation.config import LLMConfig
from hf_fairness.generation.hub import HubClient
from hf_fairness.generation.local import LocalClient


class FunctionClient:
    """A function of messages, or an object with a method ``complete``, as a chat client.

    Args:
        target: returns a text or a :class:`Completion`.
        name: identifies it in the cache on disk; None takes ``target.name``, else module and name of the function
            (nothing for a lambda or an inner function, whose answers are then not stored).
    """

    def __init__(self, target: Any, name: str | None = None) -> None:
        self.target = target
        if name is None:
            given = getattr(target, "name", None)
            kind = target if hasattr(target, "__qualname__") else type(target)
            path = f"{kind.__module__}.{kind.__qualname__}"
            name = given if isinstance(given, str) else "" if "<" in path else path
        self.name = name

    def complete(self, messages: Messages, *, schema: Schema | None = None) -> Completion:
        """Answer a conversation."""
        if hasattr(self.target, "complete"):
            answer = self.target.complete(messages, schema=schema)
        else:
            answer = self.target(messages)
        if isinstance(answer, Completion):
            return answer
        if isinstance(answer, str):
            return Completion(answer)
        raise TypeError(f"A chat client must return a text or a Completion; {self.target!r} gave {answer!r}.")


def as_client(
    model: Any = None, client: Any = None, base_url: str | None = None, config: LLMConfig | None = None
) -> ChatClient:
    """The chat client that a user means.

    Args:
        model: id on the Hub, folder of a local model, or the name that the server at ``base_url`` uses.
        client: ``InferenceClient``, text-generation pipeline, function of messages, or object with ``complete``.
        base_url: address of a server that speaks the chat-completions protocol.
        config: settings of the requests.

    Returns:
        A client; nothing is loaded or asked yet.

    Raises:
        ValueError: none of the three is given, or they contradict each other.
        TypeError: ``client`` is nothing that can be asked.
    """
    if client is not None:
        if base_url is not None or (model is not None and not hasattr(client, "chat_completion")):
            raise ValueError("client says which model is asked: leave out model and base_url.")
        if hasattr(client, "chat_completion"):
            return HubClient(model, client=client, config=config)
        if callable(client) and hasattr(client, "tokenizer") and hasattr(client, "model"):
            return LocalClient(client, config=config)
        if callable(client) or hasattr(client, "complete"):
            return FunctionClient(client)
        raise TypeError(
            "client must be an InferenceClient, a text-generation pipeline, a function of messages, or an object "
            f"with a method complete; got {type(client).__name__}."
        )
    if base_url is not None:
        return HubClient(None if model is None else str(model), base_url=base_url, config=config)
    if model is None or not str(model):
        raise ValueError(
            "No model: give the id of a chat model on the Hub, the folder of a local one, the base_url of a "
            "server, or client=."
        )
    if isinstance(model, Path) or Path(str(model)).is_dir():
        return LocalClient(model, config=config)
    return HubClient(str(model), config=config)
