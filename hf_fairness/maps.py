"""What every callable for ``datasets.map`` shares: text columns in, checked; typed columns or rows out; on any engine.

A map function is pure: the same row gives the same output whatever the batch, the process or the order.
Its state is what the constructor got plus ``version``, so that the cache of ``datasets`` is hit when nothing
changed and missed when the rules did.

A row that lacks a text (None, NaN) passes through: nothing is computed from it, its added columns say nothing in values
of their types, and where there is a column for a reason it says ``"missing"``. ``on_missing="error"`` refuses it.

Engines that know tables alone call ``f.arrow``, a table of pyarrow in and a table with all columns out. Ray Data, where
a class that opens a model is handed over as a class, so that each worker opens it once::

    rows.map_batches(CounterfactualSwap("text").arrow, batch_format="pyarrow")
    rows.map_batches(
        BiasScore, fn_constructor_kwargs={"columns": "text", "model": MODEL}, batch_format="pyarrow", concurrency=2
    )

Spark hands over batches of records, and wants such back::

    def swapped(batches):
        for batch in batches:
            yield from swap.arrow(batch).to_batches()

    frame.mapInArrow(swapped, "id long, text string, text_counterfactual string, edits string")

A function that was given the name or the folder of a model pickles small and opens it where it is called; one that was
given the model itself takes the weights along.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hf_fairness._tables import as_table, feature, is_table, names_of, plain_column, with_columns, with_rows
from hf_fairness.utils import FairnessWarning, is_missing

Row = dict[str, Any]
Texts = tuple[str, ...]

#: Between the parts of a key; no text holds it.
_SEPARATOR = "\x1f"
#: What may be done about a row that lacks a text.
ON_MISSING = ("skip", "error")
#: The reason that such a row is given where it is skipped.
MISSING = "missing"
#: What an added column says of it, by type; columns of edits and reasons say more.
_NOTHING: Row = {"string": "", "bool": False, "float64": 0.0, "int64": 0}


def check_text(text: object, where: str = "") -> str:
    """The text if it is one.

    Raises:
        TypeError: it is None or of another type.
    """
    if not isinstance(text, str):
        raise TypeError(
            f"Expected a text{where}, got {type(text).__name__}: {text!r}. "
            "Fill or filter such rows first, for example dataset.filter(lambda row: row[column] is not None)."
        )
    return text


def check_on_missing(on_missing: str) -> str:
    """One of :data:`ON_MISSING`.

    Raises:
        ValueError: it is not.
    """
    if on_missing not in ON_MISSING:
        raise ValueError(f"on_missing must be one of {', '.join(map(repr, ON_MISSING))}, got {on_missing!r}.")
    return on_missing


def row_seed(seed: int, key: str) -> int:
    """A number of 64 bits that depends on the seed and the row's key alone; seeds a generator per row.

    Example:
        >>> row_seed(0, "a") == row_seed(0, "a") != row_seed(1, "a")
        True
    """
    digest = hashlib.blake2b(f"{seed}{_SEPARATOR}{key}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def row_draw(seed: int, key: str) -> float:
    """A uniform number in [0, 1) that depends on the seed and the row's key alone."""
    return (row_seed(seed, key) >> 11) / 2**53


class TableFunction:
    """A callable that takes a batch as a table, too: what engines other than ``datasets`` call is :meth:`arrow`."""

    def __call__(self, batch: Any) -> Any:
        """What is made of a row or a batch."""
        raise NotImplementedError

    def arrow(self, table: Any) -> Any:
        """What a table becomes: all its columns as they are, with what is added behind them; of a filter the kept rows.

        The types of the result depend on those of the table alone, never on the rows: no row, no text and a table in
        many chunks give the same. Other columns keep theirs, but for views of texts, which become texts. A column of
        texts that holds nothing, not even a type, is given that of texts; where rows are added, a dictionary-encoded
        column of texts comes back as a plain one.

        Args:
            table: ``pyarrow.Table``, or one ``pyarrow.RecordBatch``.

        Returns:
            ``pyarrow.Table``.

        Raises:
            TypeError: something else; or as the call.
            ValueError: as the call.

        Example:
            >>> import pyarrow
            >>> from hf_fairness.augment import CounterfactualSwap
            >>> CounterfactualSwap("text").arrow(pyarrow.table({"id": [7], "text": ["She left."]})).to_pylist()[0]["id"]
            7
        """
        import pyarrow as pa

        given = as_table(table, type(self).__name__)
        made = self(given)
        return given.filter(pa.array(made, type=pa.bool_())) if isinstance(made, list) else made


class MapFunction(TableFunction):
    """A callable for ``datasets.map`` that adds columns.

    Subclasses fill :meth:`outputs` and either :meth:`rewrite` (one row) or :meth:`process` (many rows at once,
    where a model is faster on batches; the result must not depend on how rows are grouped). They see rows that have all
    their texts; :meth:`missing` says what the others are given.

    Args:
        columns: name or names of the text columns that are read.
        id_column: column whose value is the key of a row, where equal texts should be drawn differently; None
            means the texts themselves.
        on_missing: what to do about a row that lacks a text (None, NaN): ``"skip"`` lets it pass, with a warning and
            with outputs that say nothing; ``"error"`` refuses it.

    Raises:
        TypeError: ``columns`` holds no names, or a text is no string (at the call, with row and column).
        ValueError: an unknown ``on_missing``; a column is missing, named twice, or would be overwritten.
    """

    #: Part of the state. Raise it when the outputs change: it renews the datasets cache.
    version: int = 1

    def __init__(self, columns: str | Sequence[str], *, id_column: str | None = None, on_missing: str = "skip") -> None:
        names = (columns,) if isinstance(columns, str) else tuple(columns) if isinstance(columns, Sequence) else ()
        if not names or not all(isinstance(name, str) and name for name in names):
            raise TypeError(f"columns must be the name of a text column, or a list of names; got {columns!r}.")
        if len(set(names)) < len(names):
            raise ValueError(f"columns names a column twice: {', '.join(names)}.")
        self.columns: Texts = names
        self.id_column = id_column
        self.on_missing = check_on_missing(on_missing)
        self.version = type(self).version  # a class attribute is no part of what datasets hashes

    @property
    def column(self) -> str:
        """The first (often the only) text column."""
        return self.columns[0]

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types as ``datasets.Value`` names them, or ``"list<float32>"``."""
        raise NotImplementedError

    def rewrite(self, texts: Texts, key: str) -> Row:
        """The added columns of one row.

        Args:
            texts: one text per column.
            key: what randomness may depend on: the row's id, or its texts.
        """
        raise NotImplementedError

    def process(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[Row]:
        """The added columns of several rows."""
        return [self.rewrite(texts, key) for texts, key in zip(rows, keys, strict=True)]

    def process_columns(self, rows: Sequence[Texts], keys: Sequence[str]) -> dict[str, list[Any]]:
        """The same by column, as a batch wants it; for subclasses that need not make the rows first."""
        results = self.process(rows, keys)
        return {name: [result[name] for result in results] for name in self.outputs()}

    def missing(self, texts: Texts) -> Row:
        """The added columns of a row that lacks a text.

        Args:
            texts: one per column, ``""`` for those that are missing.
        """
        row: Row = {}
        for name, kind in self.outputs().items():
            row[name] = "[]" if name.endswith("edits") else MISSING if name.endswith("reason") else _NOTHING[kind]
        return {**row, **self.constants()}

    def constants(self) -> Row:
        """Those of the added columns that say the same of every row, one that lacks a text too."""
        return {}

    def features(self, features: Mapping[str, Any]) -> Any:
        """Features after the map: ``stream.map(f, batched=True, features=f.features(stream.features))``.

        Args:
            features: features of the data set before.

        Returns:
            ``datasets.Features`` with the added columns.
        """
        from datasets import Features

        return Features({**features, **{name: feature(kind) for name, kind in self.outputs().items()}})

    def check_columns(self, names: Iterable[str]) -> None:
        """Raise unless all columns that are read are there and none that is added.

        Raises:
            ValueError: says which and what to do.
        """
        present = list(names)
        label = type(self).__name__
        wanted = [*self.columns, *(name for name in (self.id_column, self.extra_column()) if name is not None)]
        missing = [name for name in wanted if name not in present]
        if missing:
            raise ValueError(f"{label}: no column {missing[0]!r}. Columns: {', '.join(map(str, present)) or 'none'}.")
        taken = [output for output in self.outputs() if output in present]
        if taken:
            raise ValueError(
                f"{label}: would overwrite column {taken[0]!r}. Rename or remove it before the map, "
                f"for example dataset.rename_column({taken[0]!r}, ...)."
            )

    def extra_column(self) -> str | None:
        """A column that is read beside the texts, such as the label; None where there is none."""
        return None

    def extras(self, values: Sequence[Any]) -> Sequence[str]:
        """What stands behind the texts of each row, from the values of :meth:`extra_column`."""
        raise NotImplementedError

    def read(self, batch: Any) -> tuple[list[Texts], list[str], list[int], bool]:
        """Texts and keys of a row or a batch, after the checks.

        Returns:
            The rows, with ``""`` for a missing text; their keys; the places of the rows that lack a text; and whether
            it is a batch.
        """
        self.check_columns(names_of(batch))
        values = [plain_column(batch, name) for name in self.columns]
        first = values[0]
        batched = not (isinstance(first, str) or first is None or not isinstance(first, Iterable))
        values = values if batched else [[value] for value in values]
        gone: set[int] = set()
        for place, (name, texts) in enumerate(zip(self.columns, values, strict=True)):
            if set(map(type, texts)) <= {str}:
                continue
            lacking = {row for row, text in enumerate(texts) if self._is_missing(text, name, row if batched else None)}
            values[place] = ["" if row in lacking else text for row, text in enumerate(texts)]
            gone |= lacking
        rows: list[Texts] = list(zip(*values, strict=True))
        if self.id_column is not None:
            keys = [str(value) for value in self._beside(batch, self.id_column, batched)]
        else:
            keys = [row[0] if len(row) == 1 else _SEPARATOR.join(row) for row in rows]
        extra = self.extra_column()
        if extra is not None:
            extras = self.extras(self._beside(batch, extra, batched))
            rows = [(*texts, more) for texts, more in zip(rows, extras, strict=True)]
        return rows, keys, sorted(gone), batched

    @staticmethod
    def _beside(batch: Any, name: str, batched: bool) -> Sequence[Any]:
        """The values of a column that holds no texts."""
        values: Any = plain_column(batch, name)
        return values if batched else [values]

    def _is_missing(self, text: object, name: str, row: int | None) -> bool:
        """Whether a text is missing; what is neither missing nor a text is refused."""
        if self.on_missing == "skip" and is_missing(text):
            return True
        check_text(text, f" in column {name!r}" if row is None else f" in row {row} of the batch, column {name!r}")
        return False

    def skip(self, gone: Sequence[int]) -> set[int]:
        """The places of the rows to pass over, said in a warning."""
        if gone:
            warnings.warn(
                f"{type(self).__name__}: rows without a text in {', '.join(self.columns)} pass through; what is added "
                "says nothing. hf_fairness.augment.summarize(dataset[column]) counts them; on_missing='error' refuses "
                "them.",
                FairnessWarning,
                stacklevel=3,
            )
        return set(gone)

    def __call__(self, batch: Any) -> Any:
        """Add the columns to a row or a batch, as ``datasets.map`` hands it over in any format of the data set."""
        rows, keys, gone, batched = self.read(batch)
        if not batched and not gone:
            return self.process(rows, keys)[0]
        if not gone:
            columns = self.process_columns(rows, keys)
        else:
            skipped = self.skip(gone)
            kept = [i for i in range(len(rows)) if i not in skipped]
            done = self.process_columns([rows[i] for i in kept], [keys[i] for i in kept]) if kept else {}
            nothing = {i: self.missing(rows[i]) for i in gone}
            columns = {}
            for name in self.outputs():
                values = iter(done.get(name, ()))
                columns[name] = [nothing[i][name] if i in nothing else next(values) for i in range(len(rows))]
        if not batched:
            return {name: values[0] for name, values in columns.items()}
        return with_columns(batch, columns, self.outputs(), self.columns) if is_table(batch) else columns

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.columns))})"


class RowsFunction(MapFunction):
    """A callable for ``datasets.map(..., batched=True)`` that adds rows after those they were made from.

    All columns are returned; an added row keeps the values of its source in all columns but those it changes.
    Subclasses fill :meth:`outputs`, :meth:`unchanged` and either :meth:`additions`, :meth:`process_additions` or
    :meth:`process_rows`. On a data set in a format of arrays ("numpy", "torch") other columns come back as the format
    shows them, with numbers in its precision; without a format, and as tables, they come back as they are.
    """

    def unchanged(self) -> Row:
        """Values of the output columns for a row of the source."""
        raise NotImplementedError

    def additions(self, texts: Texts, key: str) -> list[Row]:
        """Rows to add after one row: values of the output columns and of the columns that change."""
        raise NotImplementedError

    def process_additions(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[list[Row]]:
        """Rows to add after each of several rows."""
        return [self.additions(texts, key) for texts, key in zip(rows, keys, strict=True)]

    def process_rows(self, rows: Sequence[Texts], keys: Sequence[str]) -> list[tuple[Row, list[Row]]]:
        """For each of several rows the values of its own output columns, and the rows to add after it."""
        return [(self.unchanged(), added) for added in self.process_additions(rows, keys)]

    def missing(self, texts: Texts) -> Row:
        """Values of the output columns for a row of the source that lacks a text."""
        row = self.unchanged()
        return {name: MISSING if name.endswith("reason") else value for name, value in row.items()}

    def __call__(self, batch: Any) -> Any:
        """Add the rows to a batch, as ``datasets.map`` hands it over in any format of the data set."""
        rows, keys, gone, batched = self.read(batch)
        if not batched:
            raise TypeError(f"{type(self).__name__} adds rows: map it with batched=True.")
        skipped = self.skip(gone)
        kept = [i for i in range(len(rows)) if i not in skipped]
        made = self.process_rows([rows[i] for i in kept], [keys[i] for i in kept]) if kept else []
        results = {**{i: (self.missing(rows[i]), []) for i in gone}, **dict(zip(kept, made, strict=True))}
        kinds = self.outputs()
        places: list[int] = []
        written: list[Row] = []
        changed: dict[str, dict[int, Any]] = {}
        for i in range(len(rows)):
            own, extras = results[i]
            for row in (own, *({**own, **extra} for extra in extras)):
                for name in row:
                    if name not in kinds:
                        changed.setdefault(name, {})[len(written)] = row[name]
                places.append(i)
                written.append(row)
        added = {name: [row[name] for row in written] for name in kinds}
        if is_table(batch):
            return with_rows(batch, places, changed, added, kinds, self.columns)
        result: Row = {}
        for name in names_of(batch):
            values, cells = plain_column(batch, name), changed.get(name, {})
            result[name] = [cells[row] if row in cells else values[place] for row, place in enumerate(places)]
        return {**result, **added}
