"""Secrets: texts that stay in memory. They are left out of pickles and hidden in messages."""

from __future__ import annotations

import os
import re
from typing import Any

#: What stands in the place of a secret.
HIDDEN = "<hidden>"
#: Names of settings whose value is a secret; ``token_env`` is none: it names a variable.
SECRET = re.compile(r"(token|secret|password|api_key)$", re.IGNORECASE)
#: Variables that hold tokens of the Hub.
_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
#: A token of the Hub as it is written; names such as ``hf_fairness`` have neither digits nor capitals.
_TOKEN = re.compile(r"\bhf_(?=[a-z_]*[A-Z0-9])\w{6,}")
#: A shorter text is part of too many words to be taken for a secret wherever it stands.
_SHORTEST = 5

_known: set[str] = set()


class Secret(str):
    """A text that works as one and is not written: a pickle holds None in its place, its ``repr`` hides it.

    Copies keep it, and everything that takes a text takes it. Every secret of a process is known to :func:`redact`.

    Example:
        >>> Secret("abcdefgh")
        <hidden>
        >>> redact("Bearer abcdefgh")
        'Bearer <hidden>'
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Secret:
        """Take a text, and remember it for `redact`."""
        _known.add(str(text))
        return super().__new__(cls, text)

    def __repr__(self) -> str:
        """Nothing of the text."""
        return HIDDEN

    def __copy__(self) -> Secret:
        """Itself."""
        return self

    def __deepcopy__(self, memo: Any) -> Secret:
        """Itself."""
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """What a pickle holds: None."""
        return type(None), ()


def hide_token(args: Any) -> None:
    """Make the ``hub_token`` of training arguments a :class:`Secret`, so that no saved file holds it.

    A Trainer pickles its arguments beside every model and checkpoint.
    """
    token = getattr(args, "hub_token", None)
    if isinstance(token, str) and not isinstance(token, Secret):
        args.hub_token = Secret(token)


def redact(text: str) -> str:
    """A text without what is known, or looks, to be a secret: for messages and logs.

    Hidden are the texts that were made a :class:`Secret`, the tokens in the environment, and words such as
    ``hf_AbCdEf1234``.
    """
    values = {*_known, *(os.environ.get(name, "") for name in _VARIABLES)}
    for value in sorted((value.strip() for value in values), key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, HIDDEN)
    return _TOKEN.sub(HIDDEN, text)
