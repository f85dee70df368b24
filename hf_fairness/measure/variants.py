"""Reading variants of texts (one column per group, one neutral) from a Dataset or a mapping."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hf_fairness.encoders import BaseEncoder, Vectors

T = TypeVar("T")

#: Column of labels: rows with the same label resemble each other, and intervals resample them together.
CLUSTER_COLUMN = "frame"
#: Columns beside the groups and the neutral text that are no text to measure.
EXTRA_COLUMNS = ("id", "has_terms", "edits", "confidence", "rejected_reason", CLUSTER_COLUMN)


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


def _column(variants: Any, name: str) -> list[Any]:
    values = variants[name]
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ValueError(f"variants[{name!r}] must be a list of texts; got {type(values).__name__}.")
    return list(values)


def read_variants(
    variants: Any, *, groups: Sequence[str] | None = None, neutral: str = "neutral", need_neutral: bool = True
) -> Variants:
    """Texts per group from the output of ``GroupVariants`` or from a plain mapping.

    Args:
        variants: a ``datasets.Dataset`` or a mapping of column names to lists of texts. Where there is a
            column ``has_terms``, rows in which it is false are left out and counted. Without it, rows whose
            versions are all the same text are. So are rows with a ``rejected_reason``.
        groups: the columns that are groups; None means all columns but ``neutral`` and those in
            ``EXTRA_COLUMNS``.
        neutral: column of the neutral texts.
        need_neutral: whether a missing neutral column is an error.

    Returns:
        The texts by group.

    Raises:
        TypeError: neither a Dataset nor a mapping.
        ValueError: a missing column, fewer than two groups, columns of different lengths, items that are no
            text, or no row with attribute terms.
    """
    names = list(getattr(variants, "column_names", None) or (variants if isinstance(variants, Mapping) else ()))
    if not isinstance(variants, Mapping) and not hasattr(variants, "column_names"):
        raise TypeError(
            "variants must be a Dataset made by GroupVariants or a mapping of group names to lists of "
            f"texts; got {type(variants).__name__}."
        )
    if isinstance(getattr(variants, "column_names", None), Mapping):
        raise TypeError("variants is a DatasetDict; choose one split, for example variants['train'].")
    asked = [name for name in names if name not in (neutral, *EXTRA_COLUMNS)] if groups is None else list(groups)
    missing = [name for name in (*asked, *((neutral,) if need_neutral else ())) if name not in names]
    if missing or len(asked) < 2:
        raise ValueError(
            f"variants needs at least two group columns and {neutral!r}; got columns {names}"
            f"{', missing ' + ', '.join(missing) if missing else ''}. "
            "Make them with dataset.map(GroupVariants(column), batched=True, "
            "remove_columns=dataset.column_names)."
        )
    wanted = [*asked, neutral] if neutral in names else asked
    columns = {name: _column(variants, name) for name in wanted}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"Row i must be the same text in every column; got different numbers of rows: {lengths}.")
    for name, column in columns.items():
        bad = next((place for place, text in enumerate(column) if not isinstance(text, str)), None)
        if bad is not None:
            raise ValueError(
                f"variants[{name!r}][{bad}] must be a text; got {type(column[bad]).__name__}. Name the group "
                "columns with groups=[...] or remove the others."
            )
    rows = lengths[asked[0]]
    marks = {name: list(variants[name]) for name in ("has_terms", "rejected_reason") if name in names}
    for name, mark in marks.items():
        if len(mark) != rows:
            raise ValueError(f"variants[{name!r}] has {len(mark)} rows, the texts have {rows}.")
    differ = [len({columns[name][i] for name in wanted}) > 1 for i in range(rows)]
    rejected = marks.get("rejected_reason", [""] * rows)
    keep = [bool(flag) and not reason for flag, reason in zip(marks.get("has_terms", differ), rejected, strict=True)]
    kept = {name: [text for text, flag in zip(column, keep, strict=True) if flag] for name, column in columns.items()}
    if not any(keep):
        raise ValueError(
            f"None of the {rows} rows holds an attribute term ({sum(map(bool, rejected))} were rejected), so all "
            "versions of a text are the same: there is nothing to measure. Check attribute and language of the texts."
        )
    labels = list(variants[CLUSTER_COLUMN]) if CLUSTER_COLUMN in names and CLUSTER_COLUMN not in asked else None
    result = Variants({name: kept[name] for name in asked}, kept.get(neutral, []), rows - sum(keep), tuple(keep), None)
    clusters = result.keep(labels)
    return result if clusters is None else replace(result, clusters=tuple(clusters))
