"""Provenance: what a rewrite changed, as a JSON string that a dataset column can hold."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from json.encoder import encode_basestring as _quote
from typing import NamedTuple


class Edit(NamedTuple):
    """One replacement.

    Attributes:
        start: offset in characters of the first replaced character, in the source text.
        end: offset after the last replaced character; equal to ``start`` for an insertion.
        source: what stood there.
        target: what stands there now; ``""`` for a deletion.
        direction: ``"female->male"``: group of the replaced term and group (or ``neutral``) of the result.
            Articles and verbs that follow suit carry the direction of the term that caused them.
        column: column of the text, where one string holds the edits of several columns; ``""`` otherwise.
    """

    start: int
    end: int
    source: str
    target: str
    direction: str
    column: str = ""

    @property
    def to(self) -> str:
        """The group, or ``"neutral"``, that the edit writes."""
        return self.direction.partition("->")[2]


def dump_edits(edits: Iterable[Edit]) -> str:
    """Write edits as the JSON string of an ``edits`` column; ``"[]"`` for none."""
    items = [  # written by hand: json.dumps takes longer than the rewrite itself
        f'{{"span": [{edit.start}, {edit.end}], {describe(*edit[2:])}}}' for edit in edits
    ]
    return f"[{', '.join(items)}]"


@functools.lru_cache(maxsize=1 << 14)
def describe(source: str, target: str, direction: str, column: str) -> str:
    """What an ``edits`` column holds of an edit beside its place."""
    rest = f'"from": {_quote(source)}, "to": {_quote(target)}, "direction": {_quote(direction)}'
    return f'{rest}, "column": {_quote(column)}' if column else rest


def parse_edits(text: str) -> list[Edit]:
    """Read an ``edits`` column.

    Args:
        text: one value of the column.

    Returns:
        The edits, in the order of the source text within each direction.

    Raises:
        ValueError: the string is not what an ``edits`` column holds.

    Example:
        >>> from hf_fairness.augment import CounterfactualSwap, parse_edits
        >>> row = CounterfactualSwap("text")({"text": "She left."})
        >>> parse_edits(row["edits"])
        [Edit(start=0, end=3, source='She', target='He', direction='female->male', column='')]
    """
    try:
        items = json.loads(text)
        if not isinstance(items, list):
            raise TypeError("not a list")
        return [
            Edit(int(start), int(end), item["from"], item["to"], item["direction"], item.get("column", ""))
            for item in items
            for start, end in [item["span"]]
        ]
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise ValueError(
            f"Not a value of an `edits` column: {text!r}. Expected a JSON list of objects with span, from, "
            "to and direction, as CounterfactualSwap, Neutralize and GroupVariants write it."
        ) from error


def apply_edits(text: str, edits: Iterable[Edit], *, to: str | None = None) -> str:
    """Carry out edits on the text they were made for.

    Args:
        text: the source text.
        edits: what :func:`parse_edits` gave.
        to: only the edits that write this group or ``"neutral"``; needed for the edits of ``GroupVariants``,
            which hold every variant. None means all.

    Returns:
        The rewritten text.

    Raises:
        ValueError: an edit does not fit the text, or two of them overlap.

    Example:
        >>> from hf_fairness.augment import GroupVariants, apply_edits, parse_edits
        >>> row = GroupVariants("text")({"text": "She is an aunt."})
        >>> apply_edits("She is an aunt.", parse_edits(row["edits"]), to="neutral") == row["neutral"]
        True
    """
    pieces: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if to is not None and edit.to != to:
            continue
        if edit.start < done or text[edit.start : edit.end] != edit.source:
            raise ValueError(f"{edit} does not fit the text {text!r}; apply edits to the text they were made for.")
        pieces += [text[done : edit.start], edit.target]
        done = edit.end
    return "".join([*pieces, text[done:]])
