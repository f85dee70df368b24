"""What the filters kept, and why they dropped the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hf_fairness._tables import names_of, plain_column
from hf_fairness.filters.source import MIXED, NONE
from hf_fairness.filters.target import WORDS
from hf_fairness.maps import TableFunction

_BATCH = 10_000
#: So many words are named, the most frequent ones.
_TOP = 20


class TooFewPairsError(ValueError):
    """The filters kept too few pairs to train on.

    Attributes:
        summary: what :func:`drops` counted.
    """

    def __init__(self, message: str, summary: dict[str, Any]) -> None:
        super().__init__(message, summary)
        self.summary = summary

    def __str__(self) -> str:
        return str(self.args[0])


class _RowFilter(TableFunction):
    """A function for ``dataset.filter``, batched or not, on a Dataset or a stream; ``arrow`` keeps rows of a table."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)

    def wanted(self, values: tuple[str | None, ...]) -> bool:
        raise NotImplementedError

    def __call__(self, batch: Any) -> bool | list[bool]:
        """Whether to keep the row, or each row of the batch."""
        values = [_column(batch, name, type(self).__name__) for name in self.columns]
        if all(value is None or isinstance(value, str) for value in values):
            return self.wanted(tuple(values))
        return [self.wanted(row) for row in zip(*values, strict=True)]


class Kept(_RowFilter):
    """Keep the rows for which no filter has a reason to drop them.

    Args:
        *columns: the columns of reasons.

    Example:
        >>> from hf_fairness.filters import Kept
        >>> Kept("length_reason", "target_reason")({"length_reason": ["", ""], "target_reason": ["", "empty"]})
        [True, False]
    """

    def __init__(self, *columns: str) -> None:
        if not columns:
            raise ValueError('Kept needs the columns of reasons, for example Kept("length_reason", "target_reason").')
        super().__init__(columns)

    def wanted(self, values: tuple[str | None, ...]) -> bool:
        """Whether no reason is there; files of text give back an empty one as None."""
        return not any(values)


class OneGroup(_RowFilter):
    """Keep the rows that :class:`SourceGender` or :class:`GrammaticalGender` gave to one group.

    Args:
        column: the column of the labels.
        groups: the groups that are kept; None means all.

    Example:
        >>> from hf_fairness.filters import OneGroup
        >>> OneGroup()({"source_gender": ["female", "mixed", "none", "male"]})
        [True, False, False, True]
    """

    def __init__(self, column: str = "source_gender", groups: Sequence[str] | None = None) -> None:
        super().__init__((column,))
        self.groups = None if groups is None else tuple(groups)

    def wanted(self, values: tuple[str | None, ...]) -> bool:
        """Whether the label is one of the groups."""
        (label,) = values
        return label not in (MIXED, NONE, None) if self.groups is None else label in self.groups


def drops(
    dataset: Iterable[Mapping[str, Any]],
    columns: str | Sequence[str],
    *,
    gender_column: str | None = "source_gender",
    groups: Sequence[str] | None = None,
    minimum: int = 1,
    words_column: str | None = WORDS,
) -> dict[str, Any]:
    """Count what is kept and what is dropped, by reason and by gender.

    A row is kept when all ``columns`` hold ``""``; else the first reason, in the order of the columns, counts.

    Args:
        dataset: a Dataset, a stream (read once) or any rows.
        columns: the columns of reasons, in the order in which the filters ran.
        gender_column: column of the labels; None counts all rows together.
        groups: genders that are wanted; None means all that occur, but mixed and none.
        minimum: least number of kept rows of each wanted gender, or of all; 0 allows an empty result.
        words_column: column of the words for which :class:`TargetGender` dropped a row, where the rows have it; None:
            no words are counted.

    Returns:
        ``n``: rows. ``kept``: rows without a reason. ``kept_share``: in [0, 1], with ``kept_share_ci95``; None
        without rows. ``reasons``: reason -> rows dropped for it, the most frequent first. ``by_gender``: the same for
        every label, mixed and none too. ``words``: the 20 words for which most rows were dropped -> these rows, where
        ``words_column`` is there. ``meta``: the convention.

    Raises:
        TooFewPairsError: fewer than ``minimum`` rows of a gender are kept; the message says why the others went.
        ValueError: a column is missing.

    Source:
        The interval is Wilson's (1927) for a share.

    Example:
        >>> from hf_fairness.filters import drops
        >>> rows = [{"source_gender": "female", "target_reason": reason} for reason in ("", "empty")]
        >>> drops(rows, "target_reason")["by_gender"]["female"]["reasons"]
        {'empty': 1}
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names:
        raise ValueError("drops needs the columns of reasons, for example ['length_reason', 'target_reason'].")
    counts: Counter[tuple[str, str]] = Counter()
    words: Counter[str] | None = None
    wanted_columns = names if gender_column is None else (gender_column, *names)
    for batch, more in _batches(dataset, wanted_columns, words_column):
        labels, *reasons = batch if gender_column is not None else ([""] * len(batch[0]), *batch)
        firsts = [next(filter(None, row), "") for row in zip(*reasons, strict=True)]
        counts.update(zip(labels, firsts, strict=True))
        if more is not None:
            words = Counter() if words is None else words
            words.update(word for text, first in zip(more, firsts, strict=True) if first for word in text.split())
    summary = _summary(counts)
    if words is not None:
        summary["words"] = dict(sorted(words.items(), key=lambda item: (-item[1], item[0]))[:_TOP])
    labels_found = sorted({label for label, _ in counts})
    if gender_column is not None:
        summary["by_gender"] = {
            label: _summary(Counter({key: n for key, n in counts.items() if key[0] == label})) for label in labels_found
        }
    summary["meta"] = {
        "n": summary["n"],
        "convention": "first reason of a row, in the order of the columns; Wilson interval of the share kept",
        "columns": list(names),
    }
    wanted = groups
    if wanted is None and gender_column is not None:
        wanted = [label for label in labels_found if label not in (MIXED, NONE)]
    check_enough(summary, wanted, minimum)
    return summary


def _summary(counts: Counter[tuple[str, str]]) -> dict[str, Any]:
    reasons: Counter[str] = Counter()
    for (_, reason), n in counts.items():
        reasons[reason] += n
    n, kept = reasons.total(), reasons.pop("", 0)
    ordered = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    from scipy.stats import binomtest  # takes half a second to import

    found: dict[str, Any] = {"n": n, "kept": kept, "kept_share": kept / n if n else None, "reasons": ordered}
    if n:
        found["kept_share_ci95"] = [float(end) for end in binomtest(kept, n).proportion_ci(method="wilson")]
    return found


def check_enough(
    summary: Mapping[str, Any],
    groups: Sequence[str] | None,
    minimum: int,
    *,
    what: str = "pairs",
    advice: str = "Give more text, or a first model that knows the forms of this gender: self-training cannot invent "
    "them.",
) -> None:
    """Refuse too small a rest.

    Args:
        summary: of :func:`drops`.
        groups: genders that are wanted; none: all rows together.
        minimum: least number of kept rows of each.
        what: what the rows are, for the message.
        advice: what to do, for the message.

    Raises:
        TooFewPairsError: fewer than ``minimum`` rows of a gender are kept; the message says why the others went.
    """
    none = {"n": 0, "kept": 0, "reasons": {}}
    parts = {g: summary.get("by_gender", {}).get(g, none) for g in groups} if groups else {"all genders": summary}
    for name, part in parts.items():
        if part["kept"] < minimum:
            listed = _listed(part["reasons"]) or "there were no rows"
            if not part["n"] and summary["reasons"]:
                listed += f"; of all {summary['n']} were dropped: {_listed(summary['reasons'])}"
            if summary.get("words"):
                listed += f" (most often for {', '.join(list(summary['words'])[:5])})"
            raise TooFewPairsError(
                f"The filters kept {part['kept']} of {part['n']} {what} ({name}), fewer than minimum={minimum}: "
                f"{listed}. {advice}",
                dict(summary),
            )


def _listed(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in reasons.items())


def _batches(
    dataset: Any, names: Sequence[str], optional: str | None
) -> Iterator[tuple[list[list[str]], list[str] | None]]:
    """The columns of a data set and, where it has it, the optional one, some rows at a time."""
    if hasattr(dataset, "select_columns"):
        present = dataset.column_names
        if missing := [name for name in names if present is not None and name not in present]:
            raise ValueError(f"drops: no column {missing[0]!r}. Columns: {', '.join(present)}.")
        more = [optional] if optional is not None and optional in (present or ()) else []
        for batch in dataset.select_columns([*names, *more]).iter(batch_size=_BATCH):
            yield [batch[name] for name in names], batch[more[0]] if more else None
        return
    for row in dataset:
        text = None if optional is None else row.get(optional)
        yield [[_column(row, name, "drops")] for name in names], None if text is None else [text]


def _column(batch: Any, name: str, where: str) -> Any:
    if name not in (names := names_of(batch)):
        raise ValueError(f"{where}: no column {name!r}. Columns: {', '.join(map(str, names)) or 'none'}.")
    return plain_column(batch, name)
