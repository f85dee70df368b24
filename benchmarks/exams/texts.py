"""Where the sentences of the exams stand: in third-party data beside the project, of which it holds no copy."""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from benchmarks.study import ROOT
from hf_fairness.runs import content_key

DATA = ROOT.parent / "shared" / "data"
#: Of the files that say which sentences a set holds, and what is right.
FOLDER = ROOT / "benchmarks" / "exams"
_OPTIONS = re.compile(r"\{([^{}|]*(?:\|[^{}|]*)+)\}")


class Place(NamedTuple):
    """Where a sentence stands: a file below the data, a row counted from 0, a field where rows have fields."""

    file: str
    row: int
    field: str | None


@cache
def rows(path: Path) -> list[Any]:
    """The rows of a file: mappings, or lines of a plain text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    lines = text.split("\n")
    if path.suffix == ".tsv":
        names = lines[0].split("\t")
        return [dict(zip(names, line.split("\t"), strict=False)) for line in lines[1:]]
    return lines


def text_at(place: Place, data: Path = DATA) -> str:
    """The sentence at a place."""
    row = rows(data / place.file)[place.row]
    return str(row if place.field is None else row[place.field])


#: Start, end and new text of a span, in characters of the sentence.
Edit = tuple[int, int, str]


class Question(NamedTuple):
    """A sentence and the counterparts that are right, the best first."""

    source: str
    text: str
    accepted: tuple[str, ...]


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with spans replaced."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def questions_at(
    places: Iterable[Mapping[str, Any]], answers: Iterable[Sequence[Sequence[Edit]]], data: Path = DATA
) -> Iterator[Question]:
    """The sentences at places, with the counterparts that answers give by their edits.

    Raises:
        ValueError: a sentence is not the one that was drawn.
    """
    for place, accepted in zip(places, answers, strict=True):
        text = text_at(Place(place["file"], place["row"], place["field"]), data)
        if content_key(text) != place["key"]:
            raise ValueError(f"Row {place['row']} of {place['file']} is not the one that was drawn.")
        yield Question(place["source"], text, tuple(apply(text, edits) for edits in accepted))


def judged(name: Literal["swap_judged", "swap_hard"], data: Path = DATA) -> list[Question]:
    """The sentences of a set that one annotator judged with sight of our output.

    Raises:
        ValueError: a sentence is not the one that was drawn.
    """
    record = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return list(questions_at(record["rows"], record["answers"], data))


def nasty() -> list[Question]:
    """The nasty sentences of the tests, with every counterpart that is right."""
    lines = (ROOT / "tests" / "augment" / "nasty_swaps.txt").read_text(encoding="utf-8").splitlines()
    return [_nasty(line) for line in lines if line and not line.startswith("#")]


def _nasty(line: str) -> Question:
    parts = _OPTIONS.split(line)  # what stays, options, what stays, ...
    options = [part.split("|") if place % 2 else [part, part] for place, part in enumerate(parts)]
    rights = itertools.product(*(dict.fromkeys(option[1:]) for option in options))
    return Question("nasty", "".join(option[0] for option in options), tuple("".join(right) for right in rights))
