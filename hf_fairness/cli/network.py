"""Commands on a machine without a network: they find out once, in seconds, and take what is in the cache.

The client of the Hub asks for each file of a model up to six times, which takes minutes where nobody answers.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

#: Seconds before each try to reach the Hub, and after how many seconds no further one begins.
WAITS, LONGEST = (0.0, 1.0, 2.0), 10.0


@contextlib.contextmanager
def hub_tried_first() -> Iterator[None]:
    """Within the block the first request to the Hub waits until it has answered anything at all.

    If it does not, that request and all later ones fail at once as in offline mode, so that what is cached opens. Else
    its client tries again what fails, as it always does.
    """
    from huggingface_hub import constants, get_session

    client, lock, found = get_session(), threading.Lock(), list[str]()
    hooks = client.event_hooks

    def ask(request: Any) -> None:
        if not str(request.url).startswith(constants.ENDPOINT):
            return
        with lock:
            if not found:
                found.append(_why_silent(type(client), constants.ENDPOINT, constants.HF_HUB_ETAG_TIMEOUT))
        if found[0]:
            from huggingface_hub.errors import OfflineModeIsEnabled

            raise OfflineModeIsEnabled(f"the Hub cannot be reached at {constants.ENDPOINT} ({found[0]})")

    client.event_hooks = {**hooks, "request": [*hooks["request"], ask]}
    try:
        yield
    finally:
        client.event_hooks = hooks


def _why_silent(make_client: Any, endpoint: str, timeout: float) -> str:
    """What was wrong with the last try to reach the Hub; empty where it answered."""
    start, why = time.monotonic(), ""
    for wait in WAITS:
        if why and time.monotonic() - start > LONGEST:
            break
        time.sleep(wait)
        try:
            with make_client(timeout=timeout) as client:
                client.head(endpoint)
        except Exception as error:  # the client's own: no name, no connection, no answer, a proxy that refuses
            why = str(error) or type(error).__name__
        else:
            return ""
    return why
