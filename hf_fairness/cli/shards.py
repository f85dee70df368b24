"""One data set written by many runs that share nothing but its folder: `--num_shards N --shard_index I`.

Each run takes a contiguous part of the rows and writes it as one file of the data set, so that the files in their order
are the rows in theirs. Plan and notes lie beside the data in ``.shards``. Whoever finds no other shard missing writes
what belongs to all, and last of that the record; then ``.shards`` goes, and the record knows the plan, so that the same
line once more does nothing. No run touches what another one of its plan wrote.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.cli.unfinished import Told, Unfinished, add_up, as_json, read_json
from hf_fairness.runs import claim, content_key, discard, remove_left_overs

if TYPE_CHECKING:
    from datasets import Dataset

#: Folder in the output for what is known of the shards, until all are there.
SHARDS = ".shards"
#: Seconds that a run waits for another one that looks at the folder, or finishes it.
_WAIT = 60.0
#: Rows of the whole data set by which a plan knows it.
_SAMPLE = 64


class Shards(Unfinished):
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
        folder = Path(os.path.realpath(output))
        sample = rows.select(sorted({place * len(rows) // _SAMPLE for place in range(_SAMPLE)}))
        plan = {"num_shards": number, "rows": len(rows), "sample of the rows": content_key(sample), **settings}
        super().__init__(folder, folder / SHARDS, file, as_json(plan))
        self.rows, self.number, self.record = rows, number, folder / record

    def part(self, index: int) -> Dataset:
        """The rows of a shard, in order."""
        return self.rows.shard(self.number, index, contiguous=True)

    def finished(self) -> dict[str, Any]:
        """What the record of a finished folder holds of its shards; empty where some are missing."""
        return {} if self.notes.exists() else dict(read_json(self.record).get("shards", {}))

    def there(self) -> dict[str, Any]:
        """The plan that the folder was begun with, or that it was finished by."""
        return dict(self.finished().get("plan") or super().there())

    def begun(self) -> bool:
        """Whether a shard is there, or another run is at one."""
        return self.record.exists() or super().begun() or any(self._locks())

    def keys(self) -> list[str | None]:
        """The key of what each shard was made of; None where it is not there yet."""
        return self.finished().get("keys") or [self.told(index).get("key") for index in range(self.number)]

    def run(
        self,
        index: int,
        fill: Callable[[Path], Told],
        finish: Callable[[Told, Told], dict[str, Any]],
        *,
        check: Callable[[], object],
        overwrite: bool,
    ) -> dict[str, Any]:
        """Write a shard unless it is there, and finish the folder where none is missing.

        Args:
            index: of the shard.
            fill: writes its rows into a file; returns what there is to tell.
            finish: given what all shards told, and what the record must hold as ``shards``, writes what belongs to all
                of them, the record last. It may be called again after a run that was killed.
            check: raises if the folder, which holds no shards of this plan, may not be written.
            overwrite: replace shards of another plan or of other rows.

        Returns:
            What ``finish`` does; empty where it was not called.

        Raises:
            FileExistsError: the folder holds shards of another plan, this one of other rows, or something else.
            RunLockedError: another live process writes this shard, or has looked at the folder for a minute.
            ValueError: all shards are there, and some were made of other rows.
        """
        key = self._wanted(index)
        with claim(self.folder, wait=_WAIT):
            if self.folder.exists():
                remove_left_overs(self.folder)
            self.take_up(overwrite, check)
            gone = bool(self.finished()) and not (self.folder / self.file(index)).exists()
            if gone or self.keys()[index] not in (None, key):
                if not overwrite:
                    lost = f"{self.folder / self.file(index)} is gone, and the folder was finished with it."
                    raise FileExistsError(
                        f"{lost if gone else self._of_other_rows([index])} Replace it with --overwrite."
                    )
                if self.finished():
                    self.begin()
                else:
                    self.note_of(index).unlink()
        with claim(self.folder / self.file(index)):
            if self.keys()[index] is None:
                self.write(index, lambda path: {**fill(path), "key": key})
        with claim(self.folder, wait=_WAIT):
            return self._finish(finish) if self.notes.exists() and None not in self.keys() else {}

    def _finish(self, finish: Callable[[Told, Told], dict[str, Any]]) -> dict[str, Any]:
        keys = self.keys()
        if stale := [index for index, key in enumerate(keys) if key != self._wanted(index)]:
            raise ValueError(f"{self._of_other_rows(stale)} Run each of them again with --overwrite.")
        told = add_up([self.told(index) for index in range(self.number)])
        found = finish(told, {"plan": self.plan, "keys": keys})
        for left in self._locks():  # of runs that were killed at their end
            left.unlink(missing_ok=True)
        discard(self.notes)
        return found

    def _wanted(self, index: int) -> str:
        """The key of what a shard is made of: the plan, and its rows."""
        return content_key(self.plan, self.part(index))

    def _locks(self) -> list[Path]:
        return list((self.folder / self.file(0)).parent.glob(".*.lock"))

    def _of_other_rows(self, places: Sequence[int]) -> str:
        listed = ", ".join(map(str, places[:10])) + (" ..." if len(places) > 10 else "")
        return f"{self.folder}: shard {listed} was made of other rows, or by a run of other settings."
