"""What library code says of its arguments, said in the flags of the command that was run.

A message of a function names what Python calls it by: ``percentile must lie in [1, 100)``, ``pass on_missing='skip'``,
``no column 'x' for score_columns``. Whoever typed a command wants ``--percentile``, ``--on_missing skip`` and
``--score_column``. :func:`hf_fairness.cli.parsing.parse` tells this module what the command can be told, and
:func:`hf_fairness.cli.main` prints no message that did not go through :func:`in_flags`; no command does it itself.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from hf_fairness._secrets import redact
from hf_fairness.utils import FairnessWarning

#: Arguments of functions -> the option that says the same, where the words differ.
OTHER_NAMES = {
    "backward": "backward_model",
    "columns": "text_column",
    "forward": "forward_model",
    "model": "model_name_or_path",
    "pairs": "sts_pairs",
    "private": "hub_private_repo",
    "score_columns": "score_column",
    "text_columns": "text_column",
}
#: What stands behind an argument that a sentence begins with.
_VERBS = "is|are|must|has|have|had|holds|needs|takes|names|should|cannot|can|may|lacks|wants"
_PART = re.compile(
    rf"""
    --[\w-]+                                            # a flag already
    | (?<![\w./-])(?P<set>[a-z]\w*)=(?P<value>'[^'\n]*'|"[^"\n]*"|\[[^\]\n]*\]|\([^)\n]*\)|\.{{3}}|-?\w+(?:\.\w+)*)?
    | `(?P<quoted>[a-z]\w*)`
    | (?:^|(?<=[:.;][ ]))(?P<subject>[a-z]\w*)(?=[ ](?:{_VERBS})\b)
    | [Cc]olumns(?::|[ ]are)[ ][^.;\n]*                 # names of the user's own
    | (?<!\w)'[^'\n]*'(?!\w) | "[^"\n]*"                # so are these
    | \S*[/\\]\S*                                       # and paths
    | (?<![\w.-])(?P<word>[a-z]+(?:_[a-z0-9]+)+)(?![\w(\[-]|\.\w)
    """,
    re.VERBOSE,
)
#: Names of the options of the command that was parsed last.
_options: set[str] = set()


def speak_of(options: Iterable[str]) -> None:
    """Set the names of the options that the command has."""
    _options.clear()
    _options.update(options)


def in_flags(text: str, options: Collection[str] | None = None) -> str:
    """A message with the flags of the command in the place of the arguments that it names.

    A word is taken for an argument where it is given a value (``seed=0``), stands in backticks, begins a sentence
    (``form must be ...``), or has an underscore. What stands in quotes, paths, and lists of columns stay as they are.

    Args:
        text: the message.
        options: names of the options; None means those of the command that was parsed last.

    Returns:
        The message.

    Example:
        >>> options = ["on_missing", "form", "text_column", "card_examples"]
        >>> in_flags("form must be raw or neutral. Or pass on_missing='skip', card_examples=True.", options)
        '--form must be raw or neutral. Or pass --on_missing skip, --card_examples.'
        >>> in_flags("no column 'on_missing' for text_columns. Columns: on_missing, form.", options)
        "no column 'on_missing' for --text_column. Columns: on_missing, form."
    """
    known = _options if options is None else options

    def flag(match: re.Match[str]) -> str:
        name = match["set"] or match["quoted"] or match["subject"] or match["word"] or ""
        option = name if name in known else OTHER_NAMES.get(name)
        if option not in known:
            return match[0]
        value = (match["value"] or "").strip("'\"")
        if value in ("", "True", "None") or value[0] in "[(.":  # the flag alone says it, or the value is no word
            return f"--{option}"
        return f"--{option} {'false' if value == 'False' else value}"

    return _PART.sub(flag, text)


@contextlib.contextmanager
def warnings_in_flags(command: str) -> Iterator[None]:
    """Our warnings as lines for whoever typed the command: without the place in the code, and in flags."""
    before = warnings.formatwarning

    def line(message: Any, category: type[Warning], *place: Any, **more: Any) -> str:
        if issubclass(category, FairnessWarning):
            return f"hf-fairness {command}: warning: {redact(in_flags(str(message)))}\n"
        return before(message, category, *place, **more)

    warnings.formatwarning = line
    try:
        yield
    finally:
        warnings.formatwarning = before
