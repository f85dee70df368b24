"""What every callable for ``datasets.map`` shares: text columns in, checked; typed columns or rows out.

A map function is pure: the same row gives the same output whatever the batch, the process or the order.
Its state is what the constructor got plus ``version``, so that the cache of ``datasets`` is hit when nothing
changed and missed when the rules did.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
Texts = tuple[str, ...]

#: Between the parts of a key; no text holds it.
_SEPARATOR = "\x1f"


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


class MapFunction:
    """A callable for ``datasets.map`` that adds columns.

    Subclasses fill :meth:`outputs` and either :meth:`rewrite` (one row) or :meth:`process` (many rows at once,
    where a model is faster on batches; the result must not depend on how rows are grouped).

    Args:
        columns: name or names of the text columns that are read.
        id_column: column whose value is the key of a row, where equal texts should be drawn differently; None
            means the texts themselves.

    Raises:
        TypeError: ``columns`` holds no names, or a text is no string (at the call, with row and column).
        ValueError: a column is missing, named twice, or would be overwritten.
    """

    #: Part of the state. Raise it when the outputs change: it renews the datasets cache.
    version: int = 1

    def __init__(self, columns: str | Sequence[str], *, id_column: str | None = None) -> None:
        names = (columns,) if isinstance(columns, str) else tuple(columns) if isinstance(columns, Sequence) else ()
        if not names or not all(isinstance(name, str) and name for name in names):
            raise TypeError(f"columns must be the name of a text column, or a list of names; got {columns!r}.")
        if len(set(names)) < len(names):
            raise ValueError(f"columns names a column twice: {', '.join(names)}.")
        self.columns: Texts = names
        self.id_column = id_column
        self.version = type(self).version  # a class attribute is no part of what datasets hashes

    @property
    def column(self) -> str:
        """The first (often the only) text column."""
        return self.columns[0]

    def outputs(self) -> dict[str, str]:
        """Columns that are added, with their types as ``datasets.Value`` names them."""
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

    def features(self, features: Mapping[str, Any]) -> Any:
        """Features after the map: ``stream.map(f, batched=True, features=f.features(stream.features))``.

        Args:
            features: features of the data set before.

        Returns:
            ``datasets.Features`` with the added columns.
        """
        from datasets import Features, Value

        return Features({**features, **{name: Value(kind) for name, kind in self.outputs().items()}})

    def check_columns(self, names: Iterable[str]) -> None:
        """Raise unless all columns that are read are there and none that is added.

        Raises:
            ValueError: says which and what to do.
        """
        present = list(names)
        label = type(self).__name__
        wanted = (*self.columns, *(() if self.id_column is None else (self.id_column,)))
        missing = [name for name in wanted if name not in present]
        if missing:
            raise ValueError(f"{label}: no column {missing[0]!r}. Columns: {', '.join(map(str, present)) or 'none'}.")
        taken = [output for output in self.outputs() if output in present]
        if taken:
            raise ValueError(
                f"{label}: would overwrite column {taken[0]!r}. Rename or remove it before the map, "
                f"for example dataset.rename_column({taken[0]!r}, ...)."
            )

    def read(self, batch: Mapping[str, Any]) -> tuple[list[Texts], list[str], bool]:
        """Texts and keys of a row or a batch, and whether it is a batch, after the checks."""
        self.check_columns(batch.keys())
        first = batch[self.column]
        batched = not (isinstance(first, str) or first is None or not isinstance(first, Iterable))
        values = [batch[name] if batched else [batch[name]] for name in self.columns]
        for name, texts in zip(self.columns, values, strict=True):
            if set(map(type, texts)) <= {str}:
                continue
            where = f"column {name!r}"
            for i, text in enumerate(texts):
                check_text(text, f" in row {i} of the batch, {where}" if batched else f" in {where}")
        rows: list[Texts] = list(zip(*values, strict=True))
        if self.id_column is not None:
            ids = batch[self.id_column] if batched else [batch[self.id_column]]
            return rows, [str(value) for value in ids], batched
        return rows, [row[0] if len(row) == 1 else _SEPARATOR.join(row) for row in rows], batched

    def __call__(self, batch: Mapping[str, Any]) -> Row:
        """Add the columns to a row or a batch, as ``datasets.map`` hands it over."""
        rows, keys, batched = self.read(batch)
        return self.process_columns(rows, keys) if batched else self.process(rows, keys)[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.columns))})"


class RowsFunction(MapFunction):
    """A callable for ``datasets.map(..., batched=True)`` that adds rows after those they were made from.

    All columns are returned; an added row keeps the values of its source in all columns but those it changes.
    Subclasses fill :meth:`outputs`, :meth:`unchanged` and either :meth:`additions` or :meth:`process_additions`.
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

    def __call__(self, batch: Mapping[str, Any]) -> Row:
        """Add the rows to a batch."""
        rows, keys, batched = self.read(batch)
        if not batched:
            raise TypeError(f"{type(self).__name__} adds rows: map it with batched=True.")
        names = list(batch.keys())
        result: Row = {name: [] for name in (*names, *self.outputs())}
        for i, added in enumerate(self.process_additions(rows, keys)):
            source = {name: batch[name][i] for name in names}
            for row in ({**source, **self.unchanged()}, *({**source, **self.unchanged(), **extra} for extra in added)):
                for name, values in result.items():
                    values.append(row[name])
        return result
