"""One data set written by many runs that share nothing but its folder: `--num_shards N --shard_index I`.

Each run takes a contiguous part of the rows and writes it as one file of the data set, so that the files in their order
are the rows in theirs. Beside the data lies ``.shards``: the plan, which says what all runs are told, and what each
finished shard has to tell. Whoever finds no other missing writes what belongs to all, and last of that the record; then
``.shards`` goes, and the record knows the plan, so that the same line once more does nothing. A folder of another plan
or of other rows is refused, and no run touches what another one of its plan wrote.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_fairness.runs import (
    atomic_file,
    atomic_write_json,
    atomic_write_text,
    claim,
    content_key,
    discard,
    remove_left_overs,
)

if TYPE_CHECKING:
    from datasets import Dataset

#: Folder in the output for what is known of the shards, until all are there.
SHARDS = ".shards"
#: Seconds that a run waits for another one that looks at the folder, or finishes it.
_WAIT = 60.0
#: Rows of the whole data set by which a plan knows it.
_SAMPLE = 64

Told = Mapping[str, Any]


class Part(NamedTuple):
    """What a run made of its rows.

    Attributes:
        rows: the new rows.
        told: what the one that finishes wants to know of them, as JSON takes it.
        files: what belongs to all shards and is the same for each: name -> what writes it.
    """

    rows: Dataset
    told: Told
    files: Mapping[str, Callable[[Path], object]]


class Shards:
    """The shards of a data set in a folder.

    Args:
        output: the folder.
        rows: the whole data set that is read.
        number: of shards.
        file: index of a shard -> path of its file in the folder.
        record: the file that a finished folder has; its key ``shards`` is what ``finish`` of :meth:`run` is given.
        settings: what the result depends on beside the rows, as JSON takes it.

    Raises:
        ValueError: more shards than rows.
    """

    def __init__(
        self, output: Path, rows: Dataset, number: int, *, file: Callable[[int], str], record: str, settings: Told
    ) -> None:
        if number > len(rows):
            raise ValueError(f"num_shards is {number}, expected at most {len(rows)}, the number of rows.")
        self.output, self.rows, self.number, self.file = Path(os.path.realpath(output)), rows, number, file
        self.record, self.notes = self.output / record, self.output / SHARDS
        sample = rows.select(sorted({place * len(rows) // _SAMPLE for place in range(_SAMPLE)}))
        plan = {"num_shards": number, "rows": len(rows), "sample of the rows": content_key(sample), **settings}
        self.plan: dict[str, Any] = json.loads(json.dumps(plan, default=str))

    def part(self, index: int) -> Dataset:
        """The rows of a shard, in order."""
        return self.rows.shard(self.number, index, contiguous=True)

    def missing(self) -> list[int]:
        """The shards that are not there yet."""
        done = not self.notes.exists() and self.record.exists()
        return [] if done else [index for index in range(self.number) if not self._note(index).exists()]

    def run(
        self,
        index: int,
        make: Callable[[], Part],
        finish: Callable[[Sequence[Told], Told], object],
        *,
        check: Callable[[], object],
        overwrite: bool,
    ) -> None:
        """Write a shard unless it is there, and finish the folder where none is missing.

        Args:
            index: of the shard.
            make: makes it.
            finish: given what each shard told, in order, and what the record must hold as ``shards``, writes what
                belongs to all of them, the record last. It may be called again after a run that was killed.
            check: raises if the folder, which holds no shards of this plan, may not be written.
            overwrite: replace shards of another plan or of other rows.

        Raises:
            FileExistsError: the folder holds shards of another plan, this one of other rows, or something else.
            RunLockedError: another live process writes this shard, or has looked at the folder for a minute.
            ValueError: all shards are there, and some were made of other rows.
        """
        key, note = self._wanted(index), self._note(index)
        with claim(self.output, wait=_WAIT):
            self._settle(check, overwrite)
            stale = self._key(index) not in (None, key)
            if stale and not overwrite:
                raise FileExistsError(f"{self._of_other_rows([index])} Replace it with --overwrite.")
            if stale and not self.notes.exists():
                self._begin_anew()
            elif stale:
                note.unlink()
        with claim(self.output / self.file(index)) as target:
            if self._key(index) is None:
                made = make()
                with atomic_file(target) as temporary:
                    made.rows.to_parquet(temporary)
                for name, write in made.files.items():
                    if not (self.output / name).exists():
                        write(self.output / name)
                atomic_write_text(note, json.dumps({"key": key, "told": made.told}, default=str))  # in their order
        with claim(self.output, wait=_WAIT):
            if self.notes.exists() and not self.missing():
                self._finish(finish)

    def _settle(self, check: Callable[[], object], overwrite: bool) -> None:
        """Leave a folder that holds this plan, in work or finished."""
        if self.output.exists():
            remove_left_overs(self.output)
        place = self.notes / "plan.json"
        if not place.exists():
            discard(self.notes)  # of a run that was killed before it had a plan
        there = _read(place) if self.notes.exists() else _read(self.record).get("shards", {}).get("plan", {})
        if there == self.plan:
            return
        locks = (self.output / self.file(0)).parent.glob(".*.lock")
        begun = self.record.exists() or any(self.notes.glob("[0-9]*.json")) or any(locks)
        if there and not overwrite and begun:
            name = next(name for name in {**there, **self.plan} if there.get(name) != self.plan.get(name))
            raise FileExistsError(
                f"{self.output} holds shards of another run: {name} was {there.get(name)!r} and is "
                f"{self.plan.get(name)!r}. Choose another folder, or replace its content with --overwrite."
            )
        if there and not begun:
            discard(self.notes)  # nothing came of it, as where the first run was told what cannot be done
        check()
        self._begin_anew()

    def _begin_anew(self) -> None:
        discard(self.output)
        atomic_write_json(self.notes / "plan.json", self.plan)

    def _finish(self, finish: Callable[[Sequence[Told], Told], object]) -> None:
        notes = [_read(self._note(index)) for index in range(self.number)]
        keys = [note["key"] for note in notes]
        if stale := [index for index, key in enumerate(keys) if key != self._wanted(index)]:
            raise ValueError(f"{self._of_other_rows(stale)} Run each of them again with --overwrite.")
        finish([note["told"] for note in notes], {"plan": self.plan, "keys": keys})
        for left in (self.output / self.file(0)).parent.glob(".*.lock"):  # of runs that were killed at their end
            left.unlink(missing_ok=True)
        discard(self.notes)

    def _wanted(self, index: int) -> str:
        """The key of what a shard is made of: the plan, and its rows."""
        return content_key(self.plan, self.part(index))

    def _key(self, index: int) -> str | None:
        """The key of what a shard was made of; None where it is not there."""
        if self.notes.exists():
            key: str | None = _read(self._note(index)).get("key")
            return key
        keys: Sequence[str] = _read(self.record).get("shards", {}).get("keys", ())
        return keys[index] if index < len(keys) else None

    def _note(self, index: int) -> Path:
        return self.notes / f"{index:05d}.json"

    def _of_other_rows(self, places: Sequence[int]) -> str:
        listed = ", ".join(map(str, places[:10])) + (" ..." if len(places) > 10 else "")
        return f"{self.output}: shard {listed} was made of other rows, or by a run of other settings."


def _read(path: Path) -> dict[str, Any]:
    """The values of a JSON file; none where it is not there."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def add_up(parts: Sequence[Told]) -> dict[str, Any]:
    """What several shards told as one: numbers are summed, of all else the first that is there is taken.

    Example:
        >>> add_up([{"n": 1, "by": {"a": 1}, "of": "x"}, {"n": 2, "by": {"b": 3, "a": 1}, "cost": None}])
        {'n': 3, 'by': {'a': 2, 'b': 3}, 'of': 'x', 'cost': None}
    """
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        values = [part[name] for part in parts if part.get(name) not in (None, "", {})]
        if values and isinstance(values[0], Mapping):
            found[name] = add_up(values)
        elif values and isinstance(values[0], (int, float)) and not isinstance(values[0], bool):
            found[name] = sum(values)
        else:
            found[name] = values[0] if values else next(part[name] for part in parts if name in part)
    return found
