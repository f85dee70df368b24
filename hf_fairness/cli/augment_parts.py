"""What a worker of an engine does with a part of a corpus: read it from its file, change it, write it, count it.

A part is some rows of a parquet file, one after another. Whatever is computed depends on its rows, their numbers and
what the driver found out about the whole corpus; so parts are done in any order, on any machine, and done again after
a crash.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_fairness.cli.augment import outcome
from hf_fairness.cli.shards import add_up
from hf_fairness.refine.balancing import Cells, cells, rows_of_cells
from hf_fairness.runs import atomic_file, atomic_write_text
from hf_fairness.utils import FairnessWarning

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hf_fairness.cli.augment_methods import Job

#: Rows that are in memory at a time, and in a row group of what is written.
PIECE = 10_000
#: Added to the number of the row that a counterfactual is made from, where texts of rows and counterfactuals are
#: compared: of equal texts the one with the lowest number counts.
MADE = 1 << 62

#: Rows before and the number of the first -> rows after.
Change = Callable[["pa.Table", int], "pa.Table"]


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
    start: int
    stop: int
    first: int


@dataclass
class Step:
    """What is done to every part."""

    #: Whether a worker opens a model for it, and keeps it from part to part.
    opens_model = False

    def change(self, part: Part) -> Change:
        """What changes one piece of the part after the other, in their order."""
        raise NotImplementedError

    def usage(self) -> Mapping[str, Any]:
        """What was asked of a model so far by this object, as numbers."""
        return {}


@dataclass
class MapStep(Step):
    """A map function."""

    function: Any
    batch_size: int
    opens_model: bool = False

    def change(self, part: Part) -> Change:
        """The function, on batches."""
        return lambda rows, first: self._mapped(rows)

    def _mapped(self, rows: pa.Table) -> pa.Table:
        import pyarrow as pa

        batches = (rows.slice(at, self.batch_size) for at in range(0, max(1, len(rows)), self.batch_size))
        return pa.concat_tables([self.function.arrow(batch) for batch in batches])

    def usage(self) -> Mapping[str, Any]:
        """Requests and tokens, where the function asks a chat model."""
        if not hasattr(self.function, "usage"):
            return {}
        return {name: count for name, count in self.function.usage().to_dict().items() if count is not None}


@dataclass
class ScoreStep(Step):
    """What is done to rows by their score."""

    what: str
    score_columns: Sequence[str]
    percentile: float

    def scores(self, rows: pa.Table) -> NDArray[np.float64]:
        """One score per row."""
        from hf_fairness.rows import row_scores

        return row_scores(as_rows(rows), self.score_columns, None, self.what)


@dataclass
class SubtractStep(ScoreStep):
    """Leave out the rows above a threshold."""

    limit: float = 0.0

    def change(self, part: Part) -> Change:
        """The rows that stay."""
        return lambda rows, first: rows.filter(self.scores(rows) <= self.limit)


@dataclass
class CompensateStep(ScoreStep):
    """Add the counterfactuals of the rows above a threshold, each behind its row, or put them in their place.

    Attributes:
        columns: of the texts.
        options: of the swap.
        limit: the threshold.
        replaced: whether the rows above it are left out.
        accepted: parquet files with the numbers of the rows whose counterfactual is added; ``""`` takes all.
        opens_model: whether a tagger settles pronouns.
    """

    columns: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: float = 0.0
    replaced: bool = False
    accepted: str = ""
    opens_model: bool = False

    def __post_init__(self) -> None:
        from hf_fairness.augment import CounterfactualAugmentation

        self.function = CounterfactualAugmentation(list(self.columns), **self.options)

    def change(self, part: Part) -> Change:
        """The rows, and the counterfactuals that are accepted."""
        import pyarrow.parquet as pq

        if not self.accepted:
            return lambda rows, first: self._changed(rows, first, None)
        inside = [("row", ">=", part.first), ("row", "<", part.first + part.stop - part.start)]
        accepted = pq.read_table(self.accepted, columns=["row"], filters=inside).column("row").to_numpy()
        return lambda rows, first: self._changed(rows, first, accepted)

    def made(self, rows: pa.Table, first: int, accepted: NDArray[np.int64] | None = None) -> pa.Table:
        """The counterfactuals of a piece, with the numbers of their sources."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from hf_fairness.refine.counterfactuals import SOURCE, check_unrefined

        check_unrefined(rows.column_names, [*self.function.outputs(), SOURCE], self.what)
        numbers = np.arange(first, first + len(rows))
        chosen = self.scores(rows) > self.limit
        if accepted is not None:
            chosen &= np.isin(numbers, accepted)
        rows = rows.append_column(SOURCE, pa.array(numbers)).filter(chosen)
        found = self.function.arrow(rows)
        return found.filter(pc.field("counterfactual")).select(self._order(found))

    def _changed(self, rows: pa.Table, first: int, accepted: NDArray[np.int64] | None) -> pa.Table:
        import pyarrow as pa

        made = self.made(rows, first, accepted)
        numbers = np.arange(first, first + len(rows))
        kept = rows
        for name, value in self.function.unchanged().items():
            kept = kept.append_column(name, pa.array([value] * len(rows), type=made.schema.field(name).type))
        kept = kept.append_column("source_row", pa.array(numbers))
        if self.replaced:
            kept = kept.filter(self.scores(rows) <= self.limit)
        both = pa.concat_tables([kept, made], promote_options="default")
        return both.sort_by([("source_row", "ascending"), ("counterfactual", "ascending")])

    @staticmethod
    def _order(rows: pa.Table) -> list[str]:
        """The columns with the source behind them."""
        return [*(name for name in rows.column_names if name != "source_row"), "source_row"]

    def keys(self, rows: pa.Table, first: int) -> pa.Table:
        """Texts of rows and of their counterfactuals, as digests, with numbers by which equal ones are told apart."""
        import pyarrow as pa

        made = self.made(rows, first)
        sources = made.column("source_row").to_numpy() + MADE
        texts = [*_texts(rows, self.columns), *_texts(made, self.columns)]
        numbers = np.concatenate([np.arange(first, first + len(rows)), sources])
        return pa.table({"text": pa.array(texts, type=pa.binary()), "row": numbers})


@dataclass
class BalanceStep(Step):
    """As many rows of every group.

    Attributes:
        read: arguments of :func:`hf_fairness.refine.balancing.cells`.
        drawn: cell -> file with how often each of its rows is taken.
        offsets: place of a part -> cell -> how many of its rows lie in the parts before.
        copies: whether rows are repeated, so that they must say where they come from.
    """

    read: Mapping[str, Any]
    drawn: Mapping[tuple[Hashable, Hashable], str] = field(default_factory=dict)
    offsets: Mapping[int, Mapping[tuple[Hashable, Hashable], int]] = field(default_factory=dict)
    copies: bool = False

    def cells(self, rows: pa.Table) -> Cells:
        """What the rows are balanced by."""
        return cells(as_rows(rows), **self.read)

    def change(self, part: Part) -> Change:
        """Each row as often as it was drawn."""
        at = dict(self.offsets[part.place])

        def taken(rows: pa.Table, first: int) -> pa.Table:
            import pyarrow as pa

            times = np.ones(len(rows), dtype=np.intp)
            for cell, places in rows_of_cells(self.cells(rows)).items():
                if cell in self.drawn:
                    drawn = np.load(self.drawn[cell], mmap_mode="r")
                    times[places] = drawn[at[cell] : at[cell] + len(places)]
                    at[cell] += len(places)
            if self.copies and "source_row" not in rows.column_names:
                rows = rows.append_column("source_row", pa.array(np.arange(first, first + len(rows))))
            return rows.take(np.repeat(np.arange(len(rows)), times))

        return taken


def as_rows(table: pa.Table) -> Any:
    """A table as a ``datasets.Dataset``, without a look at its content."""
    from datasets import Dataset

    return Dataset(table, fingerprint="part")


def pieces(part: Part, columns: Sequence[str] | None = None) -> Iterator[tuple[pa.Table, int]]:
    """The rows of a part, some at a time, each with the number of the first of them in the corpus."""
    import fsspec
    import pyarrow as pa
    import pyarrow.parquet as pq
    from datasets import Features
    from datasets.table import table_cast

    with fsspec.open(part.file, "rb") as stream:
        file = pq.ParquetFile(stream)
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        ends = np.cumsum(sizes)
        groups = [i for i, end in enumerate(ends) if end > part.start and end - sizes[i] < part.stop]
        schema = Features.from_arrow_schema(file.schema_arrow).arrow_schema
        at = int(ends[groups[0]]) - sizes[groups[0]] if groups else 0
        for batch in file.iter_batches(PIECE, row_groups=groups, columns=columns):
            low, high = max(part.start - at, 0), min(part.stop - at, len(batch))
            if low < high:
                rows = pa.Table.from_batches([batch]).slice(low, high - low)
                wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
                yield table_cast(rows, wanted), part.first + at + low - part.start
            at += len(batch)


@dataclass
class Writer:
    """Writes what becomes of a part into a file of its own, and what was counted beside it.

    Attributes:
        job: the method; None counts nothing.
        step: what is done.
        files: of the result, one per part.
        notes: of the counts, one per part; one that is there says that the part is finished.
    """

    job: Job | None
    step: Step
    files: Sequence[str]
    notes: Sequence[str]

    def __call__(self, part: Part) -> dict[str, Any]:
        """Write one part, and say what was counted."""
        import pyarrow.parquet as pq

        before, told = dict(self.step.usage()), list[dict[str, Any]]()
        with warnings.catch_warnings(), atomic_file(self.files[part.place]) as path:
            warnings.simplefilter("ignore", FairnessWarning)  # the counts say it, once for all parts
            change, out = self.step.change(part), None
            try:
                for rows, first in pieces(part):
                    changed = _with_features(change(rows, first))
                    out = out or pq.ParquetWriter(path, changed.schema)
                    out.write_table(changed.cast(out.schema), row_group_size=PIECE)
                    if self.job is not None:
                        self.job.rows = as_rows(rows)
                        counts, example = outcome(self.job, as_rows(changed), first)
                        told.append({"tally": counts, "example": example if self.job.arguments.card_examples else {}})
            finally:
                if out is not None:
                    out.close()
        used = {name: count - before.get(name, 0) for name, count in self.step.usage().items()}
        note = {**add_up([{"usage": used}, *told]), "bytes": Path(self.files[part.place]).stat().st_size}
        atomic_write_text(self.notes[part.place], json.dumps(note))  # the counts in their order
        return note

    def finished(self, part: Part) -> dict[str, Any] | None:
        """What was counted of a part that is finished, else None."""
        try:
            note: dict[str, Any] = json.loads(Path(self.notes[part.place]).read_text(encoding="utf-8"))
            return note if Path(self.files[part.place]).stat().st_size == note["bytes"] else None
        except (OSError, ValueError, KeyError):
            return None


def _with_features(rows: pa.Table) -> pa.Table:
    """Rows with all their features in the schema, as ``datasets`` writes them."""
    return rows.cast(as_rows(rows).features.arrow_schema)


def _texts(rows: pa.Table, columns: Sequence[str]) -> list[bytes]:
    """Digests of the texts of each row."""
    cells = zip(*(rows.column(name).to_pylist() for name in columns), strict=True)
    return [hashlib.blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=16).digest() for row in cells]


def as_part(row: Mapping[str, Any]) -> Part:
    """A part from its fields."""
    return Part(**{name: row[name] for name in ("place", "file", "start", "stop", "first")})


def fields_of(part: Part) -> dict[str, Any]:
    """The fields of a part, as a row of a table."""
    return asdict(part)
