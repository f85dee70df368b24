"""Challenge sets: rows as ``measure.read_challenge_set`` makes them, each with the place of its raw row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_fairness.dataset_scripts._base import Column, Record, Rows
from hf_fairness.measure.classifier.challenge_sets import CHALLENGE_SETS, read_challenge_set

_COLUMNS = {
    "premise": Column("the premise (in FEVER the evidence)"),
    "hypothesis": Column("the hypothesis (in FEVER the claim)"),
    "heuristic": Column("what the row tests"),
    "subcase": Column("the finer division of what it tests"),
    "pair": Column("the same for rows that differ in little and need different answers"),
    "cluster": Column("the same for rows that resemble each other; intervals resample them together"),
}


def challenge_columns(name: str, *more: str) -> dict[str, Column]:
    """Columns of a challenge set: texts, label, and those of ``more``, as ``measure.challenge_accuracy`` reads them."""
    kept = {column: _COLUMNS[column] for column in ("premise", "hypothesis", *more)}
    return {**kept, "label": Column("the gold label", CHALLENGE_SETS[name].labels)}


def read_label(name: str, record: Record, column: str) -> str:
    """A label under its name in a challenge set, however the file spells it."""
    known = CHALLENGE_SETS[name]
    value = record[column]
    try:
        found = known.read_label(value)
    except (ValueError, AttributeError, TypeError):
        found = ""
    if found not in known.labels:
        raise record.error(f"{column!r} to be one of {', '.join(known.labels)}", value)
    return found


def challenge_rows(
    name: str, records: Sequence[Record], place: Path, columns: Sequence[str], label: str = "label", key: str = ""
) -> Rows:
    """Rows of a challenge set.

    Args:
        name: key of ``CHALLENGE_SETS``.
        records: its raw rows, checked.
        place: what ``read_challenge_set`` reads.
        columns: those that are kept.
        label: raw column of the gold label.
        key: raw column of the id; empty: there is none.
    """
    if not records:
        return
    labels = [read_label(name, record, label) for record in records]
    for record, gold, row in zip(records, labels, read_challenge_set(name, place), strict=True):
        kept: dict[str, Any] = {column: row[column] for column in columns if column != "label"}
        yield record, {**({"id": record.text(key)} if key else {}), **kept, "label": gold}
