"""Where the corrections of a prompt search come from: a file, a function, or a person at the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hf_fairness.attributes import Attribute
from hf_fairness.generation.prompts import check_variants, names_of
from hf_fairness.maps import Row
from hf_fairness.utils import lines_of

#: Gets the text and the wrong row; returns the right variants, or None where it has none.
Corrections = Callable[[str, Row], "Mapping[str, str] | None"]


class CorrectionFile:
    """Corrections from a JSON lines file: ``{"text": "...", "male": "...", "female": "...", "neutral": "..."}``.

    Args:
        path: the file; read anew whenever it is asked, so that it may grow while a search runs.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line is no correction; the message holds its number.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._read()

    def __call__(self, text: str, row: Row) -> Mapping[str, str] | None:
        """The variants of the last line with that text; None where there is none."""
        return self._read().get(text)

    def _read(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for number, line in enumerate(lines_of(self.path), 1):
            if not line.strip():
                continue
            try:
                value: Any = json.loads(line)
                text = value.pop("text")
                if not all(isinstance(item, str) for item in (text, *value.values())):
                    raise TypeError("a value is no text")
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(
                    f'{self.path}, line {number}: expected {{"text": "...", and one key per variant}} ({error}).'
                ) from error
            found[text] = value
        return found


def terminal_corrections(attribute: Attribute) -> Corrections:
    """Corrections that a person types.

    Args:
        attribute: its groups are asked for, and checked.

    Returns:
        A function that shows a wrong rewrite and asks for each variant. An empty line takes over the shown
        variant; ``skip`` passes on to the next text.

    Raises:
        RuntimeError: standard input is no terminal.
    """
    if not sys.stdin.isatty():
        raise RuntimeError(
            "Corrections are to be typed, but standard input is no terminal. Give a file of corrections or a function."
        )

    def ask(text: str, row: Row) -> Mapping[str, str] | None:
        head = f"\nText: {text}\nWrong: {row['rejected_reason']} (confidence {row['confidence']:.2f})\n"
        while True:
            variants: dict[str, str] = {}
            for name in names_of(attribute):
                typed = input(f"{head}{name} [{row[name]}]: ").strip()
                head = ""
                if typed == "skip":
                    return None
                variants[name] = typed or row[name]
            try:
                return check_variants(variants, attribute, "The correction")
            except ValueError as error:
                head = f"{error} Try again, or type skip.\n"

    return ask


def as_corrections(source: str | Path | Corrections, attribute: Attribute) -> Corrections:
    """The function that a user means.

    Args:
        source: path of a JSON lines file, ``"terminal"``, or a function of text and row.
        attribute: for the terminal.

    Returns:
        A function that gives the right variants of a text, or None.

    Raises:
        TypeError: nothing of these.
    """
    if source == "terminal":
        return terminal_corrections(attribute)
    if isinstance(source, (str, Path)):
        return CorrectionFile(source)
    if callable(source):
        return source
    raise TypeError(
        f"corrections must be the path of a JSON lines file, 'terminal', or a function; got {type(source).__name__}."
    )
