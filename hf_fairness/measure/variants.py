"""Reading variants of texts (one column per group, one neutral): the one reader of training and measuring.

Which columns are groups is what the caller names, else what the rows record (`GroupVariants` writes it), else the
groups of the one attribute that all have a column. Every other column is ignored.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from hf_fairness.attributes import available_attributes, load_attribute
from hf_fairness.attributes.model import GROUPS_COLUMN, NEUTRAL
from hf_fairness.encoders import BaseEncoder, Vectors
from hf_fairness.utils import as_flag, whole

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Column of labels: rows with the same label resemble each other, and intervals resample them together.
CLUSTER_COLUMN = "frame"
_HOW_TO_MAKE = (
    "Make them with dataset.map(GroupVariants(column), batched=True), or name the columns "
    "(groups=[...] and neutral=...; group_columns and neutral_column in a config)."
)


@dataclass(frozen=True)
class Variants:
    """Versions of the same texts.

    Attributes:
        groups: per group the texts, row i of all groups being the same text.
        neutral: the neutral texts.
        n_skipped: rows left out because they hold no attribute term, or because their rewrite was rejected.
        kept: per row of the input whether it is here.
        clusters: label per row from the column ``frame``, None where there is no such column.
    """

    groups: dict[str, list[str]]
    neutral: list[str]
    n_skipped: int
    kept: tuple[bool, ...]
    clusters: tuple[Hashable, ...] | None

    def keep(self, values: Sequence[T] | None) -> list[T] | None:
        """Those of one value per input row that belong to the rows here; None stays None."""
        if values is None:
            return None
        if len(values) != len(self.kept):
            raise ValueError(f"Expected one value per row: got {len(values)} for {len(self.kept)} rows.")
        return [value for value, kept in zip(values, self.kept, strict=True) if kept]

    def texts(self) -> list[str]:
        """The distinct texts of all groups and the neutral ones, in order of first appearance."""
        return list(dict.fromkeys(text for column in (*self.groups.values(), self.neutral) for text in column))

    def embed(self, encoder: BaseEncoder, *, neutral: str | None = "neutral") -> dict[str, Vectors]:
        """Embeddings per group, and of the neutral texts under the key ``neutral`` unless it is None.

        Each distinct text is encoded once.
        """
        columns = dict(self.groups)
        if neutral is not None:
            columns[neutral] = self.neutral
        texts = list(dict.fromkeys(text for column in columns.values() for text in column))
        vectors, row = encoder.encode(texts), {text: place for place, text in enumerate(texts)}
        return {name: vectors[[row[text] for text in column]] for name, column in columns.items()}


def read_variants(
    variants: Any, *, groups: Sequence[str] | None = None, neutral: str = NEUTRAL, need_neutral: bool = True
) -> Variants:
    """Texts per group from the output of ``GroupVariants`` or from a plain mapping; says in the log what it took.

    Args:
        variants: a ``datasets.Dataset`` or a mapping of column names to lists of texts. Left out and counted are rows
            whose ``has_terms`` is false, rows with a ``rejected_reason``, and rows whose versions are all the same
            text. What was read already is returned as it is.
        groups: the columns that are groups. None means those that the column ``variant_groups`` records; without it
            those of the attribute whose groups all have a column. Every other column is ignored.
        neutral: column of the neutral texts. Where it begins with a prefix (``GroupVariants(prefix=...)``), so do the
            other columns that are read.
        need_neutral: whether a missing neutral column is an error.

    Returns:
        The texts by group.

    Raises:
        TypeError: neither a Dataset nor a mapping.
        ValueError: a missing column, fewer than two groups, groups that nothing names, columns of different lengths,
            items that are no text or empty, flags that are neither true nor false, or no row with attribute terms.
    """
    if isinstance(variants, Variants):
        return variants
    names = _column_names(variants)
    if hasattr(variants, "with_format"):
        variants = variants.with_format(None)
    prefix = neutral.removesuffix(NEUTRAL) if neutral.endswith(NEUTRAL) else ""
    marks = {name: _mark(variants, names, prefix, name) for name in (*_MARKS, GROUPS_COLUMN, CLUSTER_COLUMN)}
    asked = _groups(names, groups, marks[GROUPS_COLUMN], prefix, neutral)
    missing = [name for name in (*asked, *((neutral,) if need_neutral else ())) if name not in names]
    if missing or len(set(asked)) < 2 or neutral in asked:
        raise ValueError(
            f"variants needs at least two group columns and, beside them, {neutral!r}; got groups {asked} and columns "
            f"{names}{', missing ' + ', '.join(missing) if missing else ''}. {_HOW_TO_MAKE}"
        )
    wanted = [*asked, neutral] if neutral in names else asked
    columns = {name: _column(variants, name) for name in wanted}
    lengths = {name: len(column) for name, column in columns.items()}
    lengths |= {name: len(column) for name, column in marks.items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"Row i must be the same text in every column; got different numbers of rows: {lengths}.")
    keep = _usable(columns, marks)
    if not any(keep):
        rejected = sum(map(_is_reason, marks["rejected_reason"] or ()))
        raise ValueError(
            f"None of the {len(keep)} rows holds an attribute term ({rejected} were rejected), so all versions of a "
            "text are the same: there is nothing to compare. Check attribute, language and column of the texts."
        )
    read = (*wanted, *(f"{start}{name}" for start in ("", prefix) for name in marks))
    _log(asked, neutral if neutral in names else None, [name for name in names if name not in read])
    kept = {name: [text for text, flag in zip(column, keep, strict=True) if flag] for name, column in columns.items()}
    frames = marks[CLUSTER_COLUMN] if CLUSTER_COLUMN not in asked else None
    return Variants(
        groups={name: kept[name] for name in asked},
        neutral=kept.get(neutral, []),
        n_skipped=len(keep) - sum(keep),
        kept=tuple(keep),
        clusters=None if frames is None else tuple(f for f, flag in zip(frames, keep, strict=True) if flag),
    )


#: Columns that say which rows are of use.
_MARKS = ("has_terms", "rejected_reason")


def _column_names(variants: Any) -> list[str]:
    """The columns there are, of anything that is read."""
    columns = getattr(variants, "column_names", list(variants) if isinstance(variants, Mapping) else None)
    if columns is None:
        raise TypeError(
            "variants must be a Dataset made by GroupVariants or a mapping of group names to lists of "
            f"texts; got {type(variants).__name__}."
        )
    if isinstance(columns, Mapping):
        raise TypeError("variants is a DatasetDict; choose one split, for example variants['train'].")
    return list(columns)


def _mark(variants: Any, names: Sequence[str], prefix: str, name: str) -> list[Any] | None:
    """A column that says something of the rows, under the prefix or without; None where there is none."""
    place = next((place for place in (f"{prefix}{name}", name) if place in names), None)
    return None if place is None else list(whole(variants[place]))


def _groups(
    names: Sequence[str], groups: Sequence[str] | None, recorded: Sequence[Any] | None, prefix: str, neutral: str
) -> list[str]:
    """The group columns: those that are named, those that the rows record, or those of the one attribute there."""
    if groups is not None:
        return list(groups)
    records = {record for record in recorded or () if isinstance(record, str) and record.strip()}
    if len(records) > 1:
        raise ValueError(
            f"The rows were made for different groups ({'; '.join(sorted(records))}): read them apart, or name the "
            "columns with groups=[...]."
        )
    if records:
        return _parse_record(records.pop())
    known = [[f"{prefix}{name}" for name in known] for known in _known_groups()]
    fitting = [found for found in known if set(found) <= set(names)]
    if len(fitting) == 1:
        return fitting[0]
    raise ValueError(
        f"Which columns are groups is not said: got columns {list(names)}"
        + (f", missing {neutral}" if neutral not in names else "")
        + f"; variants needs at least two group columns and {neutral!r}. "
        + ("Several attributes fit: " if fitting else "No column records them, and no attribute fits: ")
        + "; ".join(", ".join(found) for found in fitting or known)
        + f". {_HOW_TO_MAKE}"
    )


def _parse_record(record: str) -> list[str]:
    try:
        found = json.loads(record)
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError(f'{GROUPS_COLUMN} must be a JSON list of columns, for example \'["a", "b"]\'; got {record!r}.')
    return found


@cache
def _known_groups() -> list[tuple[str, ...]]:
    """Names of the groups of the attributes that this package carries."""
    attributes = (load_attribute(name, language=language) for name, language in available_attributes())
    return list(dict.fromkeys(attribute.group_names for attribute in attributes))


def _column(variants: Any, name: str) -> list[Any]:
    values = whole(variants[name])
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ValueError(f"variants[{name!r}] must be a list of texts; got {type(values).__name__}.")
    return list(values)


def _usable(columns: Mapping[str, Sequence[Any]], marks: Mapping[str, Sequence[Any] | None]) -> list[bool]:
    """Per row whether it has a text in each column, with terms of the attribute, that nobody rejected."""
    rows = len(next(iter(columns.values())))
    flags, reasons = (marks[name] or [None] * rows for name in _MARKS)
    keep = []
    for i, (flag, reason, *texts) in enumerate(zip(flags, reasons, *columns.values(), strict=True)):
        without = marks["has_terms"] is not None and not as_flag(flag, f"variants['has_terms'][{i}]")
        if without or _is_reason(reason):
            keep.append(False)
            continue
        for name, text in zip(columns, texts, strict=True):
            if not isinstance(text, str):
                raise ValueError(
                    f"variants[{name!r}][{i}] must be a text; got {type(text).__name__}. Drop such rows first, for "
                    "example with dataset.filter, or name the group columns."
                )
        differ = len(set(texts)) > 1
        empty = next((name for name, text in zip(columns, texts, strict=True) if not text.strip()), None)
        if differ and empty is not None:
            raise ValueError(
                f"Row {i} has an empty text in column {empty!r}, expected one text per group and a neutral one. Drop "
                "such rows first, for example with dataset.filter."
            )
        keep.append(differ)
    return keep


def _is_reason(value: Any) -> bool:
    """Whether a cell of ``rejected_reason`` holds one; files read an empty cell as None or NaN."""
    if value is None or (isinstance(value, float) and value != value):
        return False
    if not isinstance(value, str):
        raise ValueError(f"rejected_reason must be texts, empty where nothing is wrong; got {value!r}.")
    return bool(value.strip())


def _log(groups: Sequence[str], neutral: str | None, ignored: Sequence[str]) -> None:
    logger.info(
        "Groups: columns %s; %s; %s.",
        ", ".join(groups),
        f"neutral texts: column {neutral}" if neutral else "no neutral texts",
        f"ignored: {', '.join(ignored)}" if ignored else "nothing ignored",
    )
