"""What a worker of an engine does with a part of a corpus: read it from its file, change it, write it, count it.

A part is some rows of a parquet file, one after another. Whatever is computed depends on its rows, their numbers and
what the driver found out about the whole corpus; so parts are done in any order, on any machine, and done again after
a crash.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_fairness.cli.augment import outcome
from hf_fairness.cli.unfinished import Unfinished, add_up
from hf_fairness.refine.balancing import Cells, cells, rows_of_cells
from hf_fairness.refine.counterfactuals import SOURCE, check_unrefined
from hf_fairness.utils import warned_elsewhere

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hf_fairness.cli.augment_methods import Job

#: Rows that are in memory at a time, and in a row group of what is written.
PIECE = 10_000
#: Added to the number of the row that a counterfactual is made from, where texts of rows and counterfactuals are
#: compared: of equal texts the one with the lowest number counts.
MADE = 1 << 62

#: What rows are balanced by: the value of a column, and a group.
Cell = tuple[Hashable, Hashable]
#: Rows, the number of the first of them in the corpus, and what becomes of them.
Changed = tuple["pa.Table", int, "pa.Table"]


@dataclass(frozen=True)
class Part:
    """Some rows of a file.

    Attributes:
        place: of the part in the corpus, from 0.
        file: path or address of a parquet file.
        start: of the rows in the file.
        stop: their end.
        first: number of the first row in the corpus.
    """

    place: int
    file: str
    start: int = 0
    stop: int = 0
    first: int = 0

    @property
    def end(self) -> int:
        """Number of the row in the corpus that comes after the last one."""
        return self.first + self.stop - self.start


@dataclass
class Step:
    """What is done to every part.

    Attributes:
        function: a map function, where the step has one.
        opens_model: whether a worker opens a model for it, and keeps it from part to part.
    """

    function: Any = field(default=None, kw_only=True)
    opens_model: bool = field(default=False, kw_only=True)

    def over(self, part: Part) -> Iterator[Changed]:
        """The pieces of a part in their order, and what becomes of each."""
        raise NotImplementedError

    def usage(self) -> dict[str, Any]:
        """Requests and tokens so far, where the function asks a chat model."""
        used = self.function.usage().to_dict() if hasattr(self.function, "usage") else {}
        return {name: count for name, count in used.items() if count is not None}


@dataclass
class MapStep(Step):
    """The function, on batches of rows."""

    batch_size: int

    def over(self, part: Part) -> Iterator[Changed]:
        """Each piece as the function maps it."""
        import pyarrow as pa

        for rows, first in pieces(part):
            batches = (rows.slice(at, self.batch_size) for at in range(0, len(rows), self.batch_size))
            yield rows, first, pa.concat_tables([self.function.arrow(batch) for batch in batches])


@dataclass
class ScoreStep(Step):
    """Leave out the rows whose score lies above a threshold.

    Attributes:
        what: name of the method, for messages.
        score_columns: the greatest absolute value among them is the score.
        percentile: of all scores.
        limit: the threshold.
    """

    what: str
    score_columns: Sequence[str]
    percentile: float
    limit: float = 0.0

    def scores(self, rows: pa.Table) -> NDArray[np.float64]:
        """One score per row."""
        from hf_fairness.rows import row_scores

        return row_scores(as_rows(rows), self.score_columns, None, self.what)

    def over(self, part: Part) -> Iterator[Changed]:
        """Of each piece the rows that stay."""
        for rows, first in pieces(part):
            yield rows, first, rows.filter(self.scores(rows) <= self.limit)


@dataclass
class CompensateStep(ScoreStep):
    """Add the counterfactuals of the rows above a threshold, each behind its row, or put them in their place.

    Attributes:
        accepted: folder of parquet files with the numbers of the rows whose counterfactual is added.
    """

    accepted: str = ""

    def over(self, part: Part) -> Iterator[Changed]:
        """The rows, and the counterfactuals that are accepted."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        inside = [("row", ">=", part.first), ("row", "<", part.end)]
        accepted = pq.read_table(self.accepted, columns=["row"], filters=inside).column("row").to_numpy()
        for rows, first in pieces(part):
            made = self.made(rows, first)
            made = made.filter(np.isin(made.column(SOURCE).to_numpy(), accepted))
            kept = rows
            for name, value in self.function.unchanged().items():
                kept = kept.append_column(name, pa.array([value] * len(rows), type=made.schema.field(name).type))
            kept = numbered(kept, first)
            if self.what == "replace":
                kept = kept.filter(self.scores(rows) <= self.limit)
            both = pa.concat_tables([kept, made], promote_options="default")
            yield rows, first, both.sort_by([(SOURCE, "ascending"), ("counterfactual", "ascending")])

    def made(self, rows: pa.Table, first: int) -> pa.Table:
        """The counterfactuals of a piece, with the numbers of their sources in the last column."""
        import pyarrow.compute as pc

        check_unrefined(rows.column_names, [*self.function.outputs(), SOURCE], self.what)
        found = self.function.arrow(numbered(rows, first).filter(self.scores(rows) > self.limit))
        found = found.filter(pc.field("counterfactual"))
        return found.drop_columns([SOURCE]).append_column(SOURCE, found.column(SOURCE))

    def keys(self, rows: pa.Table, first: int) -> pa.Table:
        """Texts of rows and of their counterfactuals, as digests, with numbers by which equal ones are told apart."""
        import pyarrow as pa

        made = self.made(rows, first)
        numbers = [np.arange(first, first + len(rows)), made.column(SOURCE).to_numpy() + MADE]
        texts = [*_texts(rows, self.function.columns), *_texts(made, self.function.columns)]
        return pa.table({"text": pa.array(texts, type=pa.binary()), "row": np.concatenate(numbers)})


@dataclass
class BalanceStep(Step):
    """As many rows of every group.

    Attributes:
        read: arguments of :func:`hf_fairness.refine.balancing.cells`.
        copies: whether rows are repeated, so that they must say where they come from.
        drawn: cell -> file with how often each of its rows is taken.
        offsets: place of a part -> cell -> how many of its rows lie in the parts before.
    """

    read: Mapping[str, Any]
    copies: bool
    drawn: Mapping[Cell, str] = field(default_factory=dict)
    offsets: Mapping[int, Mapping[Cell, int]] = field(default_factory=dict)

    def cells(self, rows: pa.Table) -> Cells:
        """What the rows are balanced by."""
        return cells(as_rows(rows), **self.read)

    def over(self, part: Part) -> Iterator[Changed]:
        """Each row as often as it was drawn."""
        at = dict(self.offsets[part.place])
        for rows, first in pieces(part):
            times = np.ones(len(rows), dtype=np.intp)
            for cell, places in rows_of_cells(self.cells(rows)).items():
                if cell in self.drawn:
                    drawn = np.load(self.drawn[cell], mmap_mode="r")
                    times[places] = drawn[at[cell] : at[cell] + len(places)]
                    at[cell] += len(places)
            marked = numbered(rows, first) if self.copies and SOURCE not in rows.column_names else rows
            yield rows, first, marked.take(np.repeat(np.arange(len(rows)), times))


def as_rows(table: pa.Table) -> Any:
    """A table as a ``datasets.Dataset``, without a look at its content."""
    from datasets import Dataset

    return Dataset(table, fingerprint="part")


def numbered(rows: pa.Table, first: int) -> pa.Table:
    """Rows with their numbers in the last column."""
    import pyarrow as pa

    return rows.append_column(SOURCE, pa.array(np.arange(first, first + len(rows))))


def pieces(part: Part, columns: Sequence[str] | None = None) -> Iterator[tuple[pa.Table, int]]:
    """The rows of a part, some at a time, each with the number of the first of them in the corpus."""
    import fsspec
    import pyarrow as pa
    import pyarrow.parquet as pq
    from datasets import Features
    from datasets.table import table_cast

    with fsspec.open(part.file, "rb") as stream:
        file = pq.ParquetFile(stream)
        schema = Features.from_arrow_schema(file.schema_arrow).arrow_schema
        wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        ends = np.cumsum(sizes)
        groups = [i for i, end in enumerate(ends) if end > part.start and end - sizes[i] < part.stop]
        at = int(ends[groups[0]]) - sizes[groups[0]]
        for batch in file.iter_batches(PIECE, row_groups=groups, columns=columns):
            low, high = max(part.start - at, 0), min(part.stop - at, len(batch))
            if low < high:
                rows = pa.Table.from_batches([batch]).slice(low, high - low)
                yield table_cast(rows, wanted), part.first + at + low - part.start
            at += len(batch)


def write_part(part: Part, step: Step, unfinished: Unfinished, job: Job | None) -> Iterator[pa.Table]:
    """Write what becomes of a part, and tell its note.

    Args:
        part: of the corpus.
        step: what is done.
        unfinished: what it becomes a part of.
        job: the method; None counts nothing.
    """
    import pyarrow as pa

    note = unfinished.write(part.place, partial(_fill, part=part, step=step, job=job))
    yield pa.table({"place": [part.place], "note": [json.dumps(note)]})


def _fill(path: Path, part: Part, step: Step, job: Job | None) -> dict[str, Any]:
    """Write what becomes of a part into a file; returns what was counted."""
    import pyarrow.parquet as pq

    before, told = step.usage(), list[dict[str, Any]]()
    with warned_elsewhere(), contextlib.ExitStack() as opened:  # the counts say it, once for all parts
        out = None
        for rows, first, changed in step.over(part):
            new = as_rows(changed)
            changed = changed.cast(new.features.arrow_schema)  # with all features in it, as datasets writes them
            out = out or opened.enter_context(pq.ParquetWriter(path, changed.schema))
            out.write_table(changed.cast(out.schema), row_group_size=PIECE)
            if job is not None:
                job.rows = as_rows(rows)
                told.append(outcome(job, as_rows(changed), first))
    used = {name: count - before.get(name, 0) for name, count in step.usage().items()}
    return add_up([{"facts": {"usage": used} if used else {}}, *told])


def _texts(rows: pa.Table, columns: Sequence[str]) -> list[bytes]:
    """Digests of the texts of each row."""
    found = zip(*(rows.column(name).to_pylist() for name in columns), strict=True)
    return [hashlib.blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=16).digest() for row in found]
