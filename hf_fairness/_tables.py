"""What ``datasets.map`` hands over in the formats of a data set, as plain columns, and the way back.

Without a format, and with "numpy", "torch" and the like, a function gets a mapping and gives back the columns that it
adds. With "arrow", "pandas" and "polars" it gets a table, and ``datasets`` takes what comes back as the whole result:
so all columns go back with it, as an arrow table, which keeps their types. Engines that know tables alone are served
the same way: what they hand over is a table of arrow, or one batch of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def is_table(batch: Any) -> bool:
    """Whether a batch is a table (arrow, pandas, polars) and not a mapping."""
    return not isinstance(batch, Mapping)


def names_of(batch: Any) -> list[str]:
    """The names of the columns of a batch."""
    if isinstance(batch, Mapping):
        return list(batch.keys())
    return list(getattr(batch, "column_names", None) or batch.columns)


def as_table(given: Any, what: str) -> Any:
    """A table of arrow, from a table or from one batch of records, in types that arrow can take rows of.

    Raises:
        TypeError: something else.
    """
    import pyarrow as pa

    if isinstance(given, pa.RecordBatch):
        given = pa.Table.from_batches([given])
    if not isinstance(given, pa.Table):
        raise TypeError(
            f"{what}.arrow takes a pyarrow.Table or a RecordBatch, got {type(given).__name__}. Ask the engine for "
            'tables, for example map_batches(..., batch_format="pyarrow"), or make one with pyarrow.table(...).'
        )
    plain = [field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field for field in given.schema]
    return given.cast(pa.schema(plain, given.schema.metadata))


def plain_column(batch: Any, name: str) -> Any:
    """A column of a batch as Python objects, or the value of a row; NaN in an array of numbers is a missing one."""
    values = batch[name]
    if values is None or isinstance(values, (str, list)):
        return values
    for method in ("to_pylist", "tolist", "to_list"):  # arrow; numpy, torch and pandas; polars
        if hasattr(values, method):
            found = getattr(values, method)()
            if isinstance(found, list):
                return [None if isinstance(value, float) and value != value else value for value in found]
            return found
    return values


def with_columns(batch: Any, added: Mapping[str, Sequence[Any]], kinds: Mapping[str, str], texts: Iterable[str]) -> Any:
    """A table with more columns.

    Args:
        batch: the table.
        added: name -> values.
        kinds: name -> type, as :func:`feature` takes it.
        texts: columns of texts, whose type a table without any text does not tell.
    """
    table = _arrow(batch, texts)
    for name, values in added.items():
        table = table.append_column(name, _array(values, kinds[name]))
    return table


def with_rows(
    batch: Any,
    places: Sequence[int],
    changed: Mapping[str, Mapping[int, Any]],
    added: Mapping[str, Sequence[Any]],
    kinds: Mapping[str, str],
    texts: Iterable[str],
) -> Any:
    """A table with more rows, and more columns.

    New texts need not be among those of a dictionary: encoded columns of texts come back as plain ones.

    Args:
        batch: the table.
        places: for each row of the result the row of the table that it is, or was made from.
        changed: column -> row of the result -> its value there.
        added: name -> values.
        kinds: name -> type, as :func:`feature` takes it.
        texts: columns of texts.
    """
    import pyarrow as pa

    table = _arrow(batch, texts)
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and field.name in texts:
            kind = field.type.value_type
            table = table.set_column(place, field.with_type(kind), table.column(place).cast(kind))
    table = table.take(pa.array(places, type=pa.int64()))
    for name, cells in changed.items():
        field = table.schema.field(name)
        values = table.column(name).to_pylist()
        for row, value in cells.items():
            values[row] = value
        table = table.set_column(table.column_names.index(name), field, pa.array(values, type=field.type))
    for name, values in added.items():
        table = table.append_column(name, _array(values, kinds[name]))
    return table


def feature(kind: str) -> Any:
    """The feature of a column of some type: what ``datasets.Value`` names, or a list of it, ``"list<float32>"``."""
    from datasets import List, Value

    inner = kind.removeprefix("list<").removesuffix(">")
    return Value(kind) if inner == kind else List(Value(inner))


def _array(values: Sequence[Any], kind: str) -> Any:
    import pyarrow as pa
    from datasets import Features

    return pa.array(values, type=Features({"column": feature(kind)}).arrow_schema.field("column").type)


def _arrow(batch: Any, texts: Iterable[str]) -> Any:
    """The table as an arrow table; a column of texts without any is one of texts all the same."""
    import pyarrow as pa

    if isinstance(batch, pa.Table):
        table = batch
    else:
        table = batch.to_arrow() if hasattr(batch, "to_arrow") else pa.Table.from_pandas(batch, preserve_index=False)
    for name in texts:
        place = table.column_names.index(name)
        if pa.types.is_null(table.schema.field(place).type):
            table = table.set_column(place, name, table.column(place).cast(pa.string()))
    return table
