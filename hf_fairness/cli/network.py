"""Commands on a machine without a network: they find out once, in seconds, and take what is in the cache.

The client of the Hub asks for each file of a model up to six times, which takes minutes where nobody answers.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

#: Seconds before each try to reach the Hub.
WAITS = (0.0, 1.0, 2.0)


@contextlib.contextmanager
def hub_tried_first() -> Iterator[None]:
    """Within the block the first request to the Hub waits until it has answered anything at all.

    If it does not, that request and all later ones fail at once as in offline mode, so that what is cached opens. Else
    its client tries again what fails, as it always does.
    """
    from huggingface_hub import constants, get_session
    from huggingface_hub.errors import OfflineModeIsEnabled

    client = get_session()
    hooks = client.event_hooks
    silent = cache(partial(_why_silent, type(client), constants.ENDPOINT, constants.HF_HUB_ETAG_TIMEOUT))

    def ask(request: Any) -> None:
        why = silent() if str(request.url).startswith(constants.ENDPOINT) else ""
        if why:
            raise OfflineModeIsEnabled(f"the Hub cannot be reached at {constants.ENDPOINT} ({why})")

    client.event_hooks = {**hooks, "request": [*hooks["request"], ask]}
    try:
        yield
    finally:
        client.event_hooks = hooks


def _why_silent(make_client: Any, endpoint: str, timeout: float) -> str:
    """What was wrong with the last try to reach the Hub, which share the time; empty where it answered."""
    why = ""
    for wait in WAITS:
        time.sleep(wait)
        try:
            with make_client(timeout=timeout / len(WAITS)) as client:
                client.head(endpoint)
            return ""
        except Exception as error:  # the client's own: no name, no connection, no answer, a proxy that refuses
            why = str(error) or type(error).__name__
    return why
