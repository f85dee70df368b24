"""A data set that is written part by part, and taken up after a kill: what `--num_shards` and `--engine ray` share.

A part is a file of rows and a note, which is written last: a part that has one is finished, and the note says what it
has to tell. Beside the notes lies the plan, which says all that the rows depend on: whoever has another one does not
mix its parts with these.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from hf_fairness.runs import atomic_file, atomic_write_json, atomic_write_text, discard

Told = Mapping[str, Any]


@dataclass
class Unfinished:
    """The parts of a data set in a folder.

    Attributes:
        folder: of the data set.
        notes: folder of the plan and the notes.
        file: place of a part -> path of its file in the folder.
        plan: name -> what the rows depend on, as JSON gives it back.
    """

    folder: Path
    notes: Path
    file: Callable[[int], str]
    plan: dict[str, Any]

    def there(self) -> dict[str, Any]:
        """The plan that the folder was begun with; empty where there is none."""
        return read_json(self.notes / "plan.json")

    def begun(self) -> bool:
        """Whether anything came of the plan that is there."""
        return any(self.notes.rglob("[0-9]*.json"))

    def take_up(self, overwrite: bool, check: Callable[[], object]) -> None:
        """Leave a folder that holds this plan, and what is finished of it.

        Args:
            overwrite: discard what is there of another plan.
            check: raises where a folder that is of no plan may not be replaced.

        Raises:
            FileExistsError: parts of another plan.
        """
        there = self.there()
        if there == self.plan:
            return
        if not self.begun():
            discard(self.notes)  # nothing came of it, as where the first run was told what cannot be done
        elif there and not overwrite:
            name = next(name for name in {**there, **self.plan} if there.get(name) != self.plan.get(name))
            raise FileExistsError(
                f"{self.folder} holds the {'unfinished' if self.notes.exists() else 'finished'} output of other "
                f"settings, other data or another version: {name} was {there.get(name)!r} and is "
                f"{self.plan.get(name)!r}. Choose another folder with --output_dir, or discard what is there with "
                "--overwrite."
            )
        check()
        self.begin()

    def begin(self) -> None:
        """Empty the folder for this plan."""
        discard(self.folder)
        atomic_write_json(self.notes / "plan.json", self.plan)

    def note_of(self, place: int) -> Path:
        """The note of a part."""
        return self.notes / f"{place:05d}.json"

    def told(self, place: int) -> dict[str, Any]:
        """What a part told; empty where it is not finished, or its file is not whole."""
        note, file = read_json(self.note_of(place)), self.folder / self.file(place)
        return note if file.exists() and file.stat().st_size == note.get("bytes") else {}

    def write(self, place: int, fill: Callable[[Path], Told]) -> dict[str, Any]:
        """Finish a part.

        Args:
            place: of the part.
            fill: writes its rows into a file; returns what there is to tell, as JSON takes it.

        Returns:
            The note: a folder that machines share may show it to others only later.
        """
        file = self.folder / self.file(place)
        with atomic_file(file) as path:
            told = fill(path)
        note = as_json({**told, "bytes": file.stat().st_size})
        atomic_write_text(self.note_of(place), json.dumps(note))  # the counts in their order
        return note


def read_json(path: Path) -> dict[str, Any]:
    """The values of a JSON file; none where it is not there, or is damaged."""
    with contextlib.suppress(OSError, ValueError):
        return dict(json.loads(path.read_text(encoding="utf-8")))
    return {}


def as_json(values: Told) -> dict[str, Any]:
    """Values as JSON gives them back."""
    return dict(json.loads(json.dumps(values, default=str)))


def add_up(parts: Iterable[Told]) -> dict[str, Any]:
    """What several parts told as one: numbers are summed, of all else the first that is there is taken.

    Example:
        >>> add_up([{"n": 1, "by": {"a": 1}, "of": "x"}, {"n": 2, "by": {"b": 3, "a": 1}, "cost": None}])
        {'n': 3, 'by': {'a': 2, 'b': 3}, 'of': 'x', 'cost': None}
    """
    found: dict[str, Any] = {}
    for name, value in chain.from_iterable(part.items() for part in parts):
        if isinstance(value, Mapping):
            value = add_up([found.get(name) or {}, value])
        elif isinstance(value, (int, float)):
            value += found.get(name) or 0
        else:
            value = found.get(name) or value
        found[name] = value
    return found
