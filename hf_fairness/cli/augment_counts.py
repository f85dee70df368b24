"""What `hf-fairness augment` did, counted on what it wrote."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_fairness.attributes.model import GROUPS_COLUMN
from hf_fairness.cli.augment_methods import Job
from hf_fairness.maps import MISSING
from hf_fairness.sources import columns_of_texts
from hf_fairness.utils import FairnessWarning, is_missing

if TYPE_CHECKING:
    from datasets import Dataset

#: Most different reasons that a card lists.
_REASONS = 10
#: Longest text of an example.
_EXAMPLE = 400


class Outcome(NamedTuple):
    """What is left of a run.

    Attributes:
        counts: what was counted, in the order to show.
        rows: the rows to write.
        example: one row before and after; empty where no row was rewritten.
    """

    counts: dict[str, Any]
    rows: Dataset
    example: dict[str, str]


def outcome(job: Job, result: Dataset) -> Outcome:
    """Count what a method did, and choose an example.

    Args:
        job: the method and the data set before.
        result: the data set after.
    """
    rewritten = _rewritten(job, result)
    added = rewritten if job.method.added else [False] * len(result)
    n_added = sum(added) if job.method.added else max(0, len(result) - len(job.rows))
    counts: dict[str, Any] = {"rows in": len(job.rows), "rows without a text": sum(_lacking(job.rows, job.columns))}
    reasons = [""] * len(result)
    if "rejected_reason" in result.column_names:
        reasons = list(result["rejected_reason"])
        judged = [new or reason not in ("", MISSING) for new, reason in zip(rewritten, reasons, strict=True)]
        if job.method.marked:  # a model was asked for every text
            judged = [reason != MISSING for reason in reasons]
        counts |= _rejections([reason for reason in reasons if reason != MISSING], sum(judged))
    if job.method.suffix or job.method.marked:
        counts["rows changed"] = sum(rewritten)
    counts["rows added"] = n_added
    counts["rows left out by the method"] = len(job.rows) + n_added - len(result)
    counts["rows out"] = len(result)
    if "attribute" in job.method.options:
        counts |= {f"texts in {column}": _terms(job, column) for column in job.columns}
    good = (place for place, reason in enumerate(reasons) if rewritten[place] and not reason)
    place = next(good, None)
    return Outcome(counts, result, {} if place is None else _example(job, result, place, added))


def _lacking(rows: Dataset, columns: Sequence[str]) -> list[bool]:
    """Which rows lack a text."""
    if not columns:
        return []
    return [any(map(is_missing, texts)) for texts in zip(*(rows[name] for name in columns), strict=True)]


def _rewritten(job: Job, result: Dataset) -> list[bool]:
    """Which rows of the result have a new text."""
    if job.method.suffix:
        pairs = [(list(result[name]), list(result[f"{name}{job.method.suffix}"])) for name in job.columns]
        lacking = _lacking(result, job.columns)
        return [not gone and any(old[i] != new[i] for old, new in pairs) for i, gone in enumerate(lacking)]
    marked = f"{job.options.get('prefix', '')}{job.method.marked}" if job.method.marked else job.method.added
    return [False] * len(result) if marked is None else list(map(bool, result[marked]))


def _rejections(reasons: list[str], judged: int) -> dict[str, Any]:
    """Number, share of the rows judged, and reasons, the commonest first; a reason is named up to its colon."""
    kinds = Counter(re.split(r":|\(", reason)[0].strip() for reason in reasons if reason)
    rejected = sum(kinds.values())
    found: dict[str, Any] = {"rows judged": judged, "rejected": rejected}
    if judged:
        found["rejected share of the judged"] = rejected / judged
    return found | ({"rejected because": dict(kinds.most_common(_REASONS))} if kinds else {})


#: What is counted of the terms of a column, and its key in a summary.
_TERMS = {
    "with terms": "with_terms",
    "of several groups": "mixed",
    "without terms": "without_terms",
    "empty": "empty",
    "missing": "missing",
    "in another language": "other_language",
    "terms": "terms",
}


def _terms(job: Job, column: str) -> dict[str, Any]:
    from hf_fairness.attributes import load_attribute
    from hf_fairness.attributes.names import with_names
    from hf_fairness.augment import summarize

    attribute, names = with_names(load_attribute(job.options["attribute"]), job.names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)  # it says what these counts say
        found = summarize(job.rows[column], attribute=attribute, names=names)
    return {words: found[key] for words, key in _TERMS.items()}


def _example(job: Job, rows: Dataset, place: int, added: list[bool]) -> dict[str, str]:
    """A row before and after."""
    row = rows[place]
    if job.method.marked:
        versions = [name for name in columns_of_texts(rows) if name not in job.rows.column_names]
        named = [name for name in versions if not name.endswith(("edits", "rejected_reason", GROUPS_COLUMN))]
        return {name: _short(row[name]) for name in (*job.columns, *named)}
    after = {name: row[f"{name}{job.method.suffix or ''}"] for name in job.columns}
    if "source_row" in row:
        row = job.rows[row["source_row"]]
    elif job.method.added:  # it stands behind the row that it was made of
        row = rows[next(i for i in range(place, -1, -1) if not added[i])]
    return {
        **{f"{name} before": _short(row[name]) for name in job.columns},
        **{f"{name} after": _short(after[name]) for name in job.columns},
    }


def _short(text: str) -> str:
    return text if len(text) <= _EXAMPLE else f"{text[:_EXAMPLE]} ..."
