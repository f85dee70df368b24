"""A chat model behind the chat-completions protocol, through ``huggingface_hub.InferenceClient``."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from hf_fairness.generation.chat import Completion, Messages, Schema
from hf_fairness.generation.config import LLMConfig
from hf_fairness.generation.politeness import ChatError, status_of

#: Hosts that the token saved by `hf auth login` may be sent to.
HUB_HOSTS = ("huggingface.co", "hf.co", "huggingface.cloud")
#: Answers of a server that does not take a schema.
NO_SCHEMA = (400, 415, 422, 501)


class HubClient:
    """A model behind the chat-completions protocol: the Hub, TGI, vLLM, or anything that speaks it.

    A schema is sent the way ``InferenceClient`` translates it: as ``json_schema`` to the providers of the Hub,
    as a JSON mode with the schema beside it to an address of your own. A server that refuses it is asked without.

    Args:
        model: id on the Hub, or the name by which the server at ``base_url`` knows the model.
        base_url: address of the server, with ``http://`` or ``https://``; None means the Hub.
        client: an ``InferenceClient`` of yours, used as it is.
        config: sampling, time-out and key. Without ``token_env`` the saved token of the Hub is sent to the Hub
            and to nobody else.

    Raises:
        ValueError: neither model nor address, or an address without scheme.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        client: Any = None,
        config: LLMConfig | None = None,
    ) -> None:
        if base_url is not None and not base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url must begin with http:// or https://; got {base_url!r}.")
        self.model, self.base_url, self.client = model, base_url, client
        self.config = config or LLMConfig()
        self.name = model or base_url or str(getattr(client, "model", None) or "")
        if not self.name and client is None:
            raise ValueError("HubClient needs the id of a model, or the base_url of a server.")
        self._takes_schema = True
        self._opened: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None, "_takes_schema": True}

    def complete(self, messages: Messages, *, schema: Schema | None = None) -> Completion:
        """Answer a conversation.

        Raises:
            ChatError: the libraries are told to stay offline.
            ConnectionError: the server cannot be reached, or its answer is no chat completion.
            OSError: the server answered with an error (``HfHubHTTPError``) or not in time (``InferenceTimeoutError``).
        """
        if schema is None or not self._takes_schema:
            return self._ask(messages, None)
        try:
            return self._ask(messages, schema)
        except OSError as error:
            if status_of(error) not in NO_SCHEMA:
                raise
        answer = self._ask(messages, None)
        self._takes_schema = False  # only now: the refusal may have had another cause
        return answer

    def _ask(self, messages: Messages, schema: Schema | None) -> Completion:
        from huggingface_hub import errors

        config = self.config
        options: dict[str, Any] = {"max_tokens": config.max_tokens, "seed": config.seed}
        options["temperature"] = config.temperature
        if schema is not None:
            form = {"name": "rewrites", "schema": dict(schema), "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": form}
        try:
            output = self._open().chat_completion([dict(message) for message in messages], model=self.model, **options)
        except errors.OfflineModeIsEnabled as error:
            raise ChatError(
                "HF_HUB_OFFLINE is set, and huggingface_hub then refuses every server, one on this machine too. "
                "Unset it for this run, or give a local folder as model."
            ) from error
        except (errors.HfHubHTTPError, errors.InferenceTimeoutError):
            raise
        except errors.HTTPError as error:  # type: ignore[attr-defined]  # the base class of the HTTP library
            raise ConnectionError(f"{type(error).__name__}: {error}") from error
        except ValueError as error:
            if type(error) is ValueError and not str(error).startswith("Invalid "):
                raise ChatError(f"huggingface_hub: {error}") from error  # no key, an unknown provider
            raise ConnectionError(f"the answer is no chat completion ({error})") from error
        return _completion(output)

    def _open(self) -> Any:
        if self.client is not None:
            return self.client
        if self._opened is None:
            from huggingface_hub import InferenceClient

            token = None
            if self.config.token_env is not None:
                token = os.environ.get(self.config.token_env)
                if not token:
                    raise ChatError(
                        f"The environment variable {self.config.token_env} is not set; it should hold the key of "
                        f"{self.base_url or 'the Hub'}."
                    )
            headers: dict[str, Any] = {}
            if token is None and self.base_url is not None and not _is_hub(self.base_url):
                headers["authorization"] = None  # InferenceClient would send the Hub's token to any server
            where = {"base_url": self.base_url} if self.base_url else {"model": self.model}
            self._opened = InferenceClient(
                **where,
                provider=None if self.base_url else self.config.provider,  # type: ignore[arg-type]
                token=token,
                timeout=self.config.timeout,
                headers=headers,
            )
        return self._opened


def _is_hub(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return any(host == known or host.endswith(f".{known}") for known in HUB_HOSTS)


def _completion(output: Any) -> Completion:
    choices = getattr(output, "choices", None)
    if not isinstance(choices, list) or not choices or getattr(choices[0], "message", None) is None:
        raise ConnectionError(f"the answer is no chat completion: {str(output)[:200]!r}")
    text, usage = choices[0].message.content, getattr(output, "usage", None)
    return Completion(
        text=text if isinstance(text, str) else "",
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        truncated=choices[0].finish_reason == "length",
    )


def _count(usage: Any, name: str) -> int | None:
    value = getattr(usage, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
