"""Waiting: the rate limit, the retries, and which errors are worth one."""

from __future__ import annotations

import datetime
import email.utils
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from hf_fairness.generation.chat import ChatClient, Completion, Messages, Schema
from hf_fairness.generation.config import LLMConfig

#: Answers that another try may change; so does every 5xx but 501.
TRANSIENT = (408, 409, 425, 429)
TOO_MANY = 429
#: Answers that speak of this one request, not of the whole run.
REFUSALS = (400, 413, 422)

_NEXT_STEP = {
    401: "The key was not accepted. Log in with `hf auth login`, set HF_TOKEN, or name the variable that holds the "
    "key with LLMConfig(token_env=...).",
    402: "The account has no credit left.",
    403: "The key may not use this model. Ask for access on the model's page, or use another key.",
    404: "There is no such model or address. Check model and base_url.",
    TOO_MANY: "Lower concurrency or requests_per_minute, or try later.",
}


class ChatError(RuntimeError):
    """A chat model gave no answer, and trying again now would not help.

    Attributes:
        status: HTTP status of the last answer; None where there was none.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def status_of(error: BaseException) -> int | None:
    """HTTP status of an error of any HTTP library; None where it has none."""
    for holder in (getattr(error, "response", None), error):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def is_transient(error: BaseException) -> bool:
    """Whether the same request may succeed later: time-outs, lost connections, 429, server errors."""
    status = status_of(error)
    if status is not None:
        return status in TRANSIENT or (status >= 500 and status != 501)
    return isinstance(error, (TimeoutError, ConnectionError))


def retry_after(error: BaseException) -> float | None:
    """Seconds that the server asks to wait, from ``Retry-After`` in seconds or as a date; None where it does not say.

    Example:
        >>> retry_after(TimeoutError()) is None
        True
    """
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    if headers is None:
        return None
    value = str(headers.get("Retry-After") or "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(value)
        except (TypeError, ValueError, IndexError):
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=datetime.timezone.utc)
        seconds = (date - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
    return max(0.0, seconds) if seconds < float("inf") else None


class RateLimiter:
    """Spaces the requests of all threads evenly.

    Args:
        per_minute: most requests in a minute; None means no limit.
        clock: seconds that only grow.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        per_minute: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.interval = 0.0 if per_minute is None else 60.0 / per_minute
        self._clock, self._sleep = clock, sleep
        self._next = float("-inf")
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Return when the next request may go out."""
        while True:
            with self._lock:
                now = self._clock()
                pause = self._next - now
                if pause <= 0:
                    self._next = now + self.interval
                    return
            self._sleep(pause)

    def hold(self, seconds: float) -> None:
        """Let no request of any thread out for so long."""
        with self._lock:
            self._next = max(self._next, self._clock() + seconds)


class PoliteClient:
    """A chat client that keeps to the rate limit and repeats what failed for a passing reason.

    Waits grow as ``backoff * 2 ** attempt``, with half of it random; ``Retry-After`` of the server is honoured,
    after 429 by all threads. What will not pass (400, 401, 404 ...) is raised at once.

    Args:
        client: the client that is asked.
        config: limits.
        on_retry: called before each repetition.
        clock: seconds that only grow.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        client: ChatClient,
        config: LLMConfig,
        *,
        on_retry: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.client, self.config, self.name = client, config, client.name
        self._on_retry, self._sleep = on_retry, sleep
        self._limiter = RateLimiter(config.requests_per_minute, clock=clock, sleep=sleep)
        self._random = random.Random()  # spreads threads and processes; no result depends on it

    def complete(self, messages: Messages, *, schema: Schema | None = None) -> Completion:
        """Answer a conversation.

        Raises:
            ChatError: the server refused, or all repetitions failed; the message says what to do.
        """
        for attempt in range(self.config.retries + 1):
            self._limiter.wait()
            try:
                return self.client.complete(messages, schema=schema)
            except Exception as error:
                status = status_of(error)
                if isinstance(error, ChatError) or (status is None and not is_transient(error)):
                    raise
                if not is_transient(error):
                    raise ChatError(self._message(error, status), status) from error
                if attempt == self.config.retries:
                    times = f"{attempt + 1} times, the last time: " if attempt else ""
                    raise ChatError(f"Asked {times}{self._message(error, status)}", status) from error
                self._pause(error, status, attempt)
        raise AssertionError("unreachable")

    def _pause(self, error: Exception, status: int | None, attempt: int) -> None:
        asked = retry_after(error)
        if asked is not None and asked > self.config.max_wait:
            raise ChatError(
                f"{self._message(error, status)} The server asks to wait {asked:.0f} seconds, more than max_wait="
                f"{self.config.max_wait:g}: run it again later.",
                status,
            ) from error
        growing = min(self.config.max_wait, self.config.backoff * 2.0**attempt)
        pause = asked if asked is not None else growing * self._random.uniform(0.5, 1.0)
        self._on_retry()
        if status == TOO_MANY:
            self._limiter.hold(pause)
        else:
            self._sleep(pause)

    def _message(self, error: Exception, status: int | None) -> str:
        said = " ".join(str(error).split())[:500]
        step = _NEXT_STEP.get(status or 0, "")
        if status is None:
            step = "Check that the server runs and that base_url is right."
        return f"{self.name or 'the model'} answered with {status or type(error).__name__}: {said} {step}".strip()
