"""What every callable does with tables of arrow: in any guise the rows of a data set, in types that no row decides."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hf_fairness.maps import MapFunction, TableFunction
from hf_fairness.utils import FairnessWarning

#: Guises of a column of texts.
TEXTS = {
    "string": pa.string(),
    "large": pa.large_string(),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "view": pa.string_view(),
}


def table_of(columns: Mapping[str, Sequence[Any]], kind: Any = TEXTS["string"], chunks: int = 1) -> pa.Table:
    """The columns with others beside them, of types that must come back as they are."""
    n = len(next(iter(columns.values())))
    arrays = {
        name: pa.array(values, type=kind if all(isinstance(value, str | None) for value in values) else None)
        for name, values in columns.items()
    }
    arrays["place"] = pa.array(range(n), type=pa.int16())
    arrays["words"] = pa.array([[i] * (i % 3) for i in range(n)], type=pa.list_(pa.int32()))
    arrays["price"] = pa.array([Decimal(i) if i % 2 else None for i in range(n)], type=pa.decimal128(9, 2))
    arrays["day"] = pa.array([datetime.datetime(2024, 1, 1)] * n, type=pa.timestamp("us"))
    arrays["nothing"] = pa.nulls(n)
    whole = pa.table(arrays, metadata={b"told": b"by whoever made it"})
    size = max(1, -(-n // chunks))
    parts = [whole.slice(start, size) for start in range(0, n, size)]
    return pa.concat_tables(parts) if parts else whole


def same_rows(found: pa.Table, wanted: pa.Table) -> None:
    """Equal, numbers with a point up to the last digits of float32."""
    assert found.column_names == wanted.column_names
    for name in found.column_names:
        values, others = found[name].to_pylist(), wanted[name].to_pylist()
        close = pa.types.is_floating(wanted.schema.field(name).type)
        assert values == (pytest.approx(others, rel=1e-5, abs=1e-6) if close else others), name


def check_arrow(function: TableFunction, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Check the tables that a function makes of columns, and return the plain one."""
    given = table_of(columns)
    made = function.arrow(given)
    assert isinstance(made, pa.Table)
    if isinstance(function, MapFunction):
        assert function(given).equals(made)  # an actor is called as it is
    assert made.schema.metadata == given.schema.metadata
    for name in given.column_names:
        assert made.schema.field(name) == given.schema.field(name)
    assert made.column_names[: len(given.column_names)] == given.column_names
    for kind in TEXTS.values():
        other = function.arrow(table_of(columns, kind, chunks=3))
        same_rows(other, made)
        assert function.arrow(table_of(columns, kind).slice(0, 0)).schema == other.schema
    (batch,) = given.to_batches()
    assert function.arrow(batch).equals(made)
    with pytest.raises(TypeError, match=r"\.arrow takes a pyarrow\.Table or a RecordBatch, got dict"):
        function.arrow(given.to_pydict())
    for name in function.columns if isinstance(function, MapFunction) else ():
        if pa.types.is_string(given.schema.field(name).type):
            place, first = given.column_names.index(name), given.slice(0, 3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FairnessWarning)  # rows without a text
                passed = function.arrow(first.set_column(place, name, pa.nulls(len(first))))
            assert passed.num_rows == len(first)  # none is lost, none is added
            assert passed.schema == made.schema
    return made
