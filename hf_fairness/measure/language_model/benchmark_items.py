"""Items of published benchmarks: from a Dataset, rows or columns to checked columns; what is known to be wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

logger = logging.getLogger(__name__)


@cache
def say_known_defects(text: str) -> None:
    """Log what is known to be wrong with a benchmark, once per process.

    It goes to the log and not into a warning: it is there on every run and says nothing of this one, so a test suite
    that turns warnings into errors must not stop at it. Without logging set up Python prints it. ``meta`` holds it too.
    Silence it with ``logging.getLogger("hf_fairness.measure.language_model.benchmark_items").setLevel("ERROR")``.
    """
    logger.warning(text)


def read_columns(rows: Any, wanted: Sequence[str], name: str, optional: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Columns of a Dataset, of a mapping of columns, or of dicts, one per row.

    Class labels of a Dataset become their names.

    Args:
        rows: the rows.
        wanted: columns that must be there.
        name: how messages call them.
        optional: columns that are taken where they are there.

    Returns:
        The columns asked for, all of the same length, at least one row.

    Raises:
        TypeError: something else.
        ValueError: no rows, a missing column, columns of different lengths.
    """
    names: Any = getattr(rows, "column_names", None)
    if isinstance(names, Mapping):
        raise TypeError(f"{name} is a DatasetDict; choose one split, for example {name}['validation'].")
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise TypeError(f"{name} must be a Dataset, dicts or a mapping of columns; got {type(rows).__name__}.")
    found: dict[str, list[Any]] = {}
    if isinstance(rows, Mapping) or (names and hasattr(rows, "num_rows")):
        present = list(rows) if isinstance(rows, Mapping) else list(names)
        table: Any = rows
        found = {column: list(table[column]) for column in (*wanted, *optional) if column in present}
    else:
        items = list(rows)
        bad = next((place for place, item in enumerate(items) if not isinstance(item, Mapping)), None)
        if bad is not None:
            raise TypeError(f"{name}[{bad}] must be a dict; got {type(items[bad]).__name__}.")
        present = [column for column in (*wanted, *optional) if items and all(column in item for item in items)]
        found = {column: [item[column] for item in items] for column in present}
        if not items:
            raise ValueError(f"{name} is empty: there is no item to score.")
    missing = [column for column in wanted if column not in found]
    if missing:
        raise ValueError(f"{name} needs {', '.join(wanted)} in every row; missing: {', '.join(missing)}.")
    lengths = {column: len(values) for column, values in found.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"The columns of {name} have different lengths: {lengths}.")
    if not next(iter(lengths.values())):
        raise ValueError(f"{name} is empty: there is no item to score.")
    features = getattr(rows, "features", None) or {}
    for column, values in found.items():
        decode = getattr(features.get(column), "int2str", None)
        if decode is not None:
            found[column] = decode(values)
    return found
