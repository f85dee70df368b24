"""What `hf-fairness augment` did, counted on what it wrote."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_fairness.attributes.model import GROUPS_COLUMN
from hf_fairness.cli.augment_jobs import Job
from hf_fairness.maps import MISSING
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
    rewritten, added = _flags(job, result)
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
    good = [new and not reason for new, reason in zip(rewritten, reasons, strict=True)]
    return Outcome(counts, result, _example(job, result, good, added))


def _lacking(rows: Dataset, columns: Sequence[str]) -> list[bool]:
    """Which rows lack a text."""
    if not columns:
        return []
    return [any(map(is_missing, texts)) for texts in zip(*(rows[name] for name in columns), strict=True)]


def _flags(job: Job, result: Dataset) -> tuple[list[bool], list[bool]]:
    """Per row of the result: whether its text is new, and whether the row was added."""
    none = [False] * len(result)
    if job.method.suffix:
        pairs = [(list(result[name]), list(result[f"{name}{job.method.suffix}"])) for name in job.columns]
        lacking = _lacking(result, job.columns)
        return [not gone and any(old[i] != new[i] for old, new in pairs) for i, gone in enumerate(lacking)], none
    if job.method.added:
        flags = [bool(flag) for flag in result[job.method.added]]
        return flags, flags
    if not job.method.marked:
        return none, none
    return [bool(flag) for flag in result[f"{job.options.get('prefix', '')}{job.method.marked}"]], none


def _rejections(reasons: list[str], judged: int) -> dict[str, Any]:
    """Number, share of the rows judged, and reasons, the commonest first; a reason is named up to its colon."""
    kinds = Counter(re.split(r":|\(", reason)[0].strip() for reason in reasons if reason)
    rejected = sum(kinds.values())
    found: dict[str, Any] = {"rows judged": judged, "rejected": rejected}
    if judged:
        found["rejected share of the judged"] = rejected / judged
    return found | ({"rejected because": dict(kinds.most_common(_REASONS))} if kinds else {})


def _terms(job: Job, column: str) -> dict[str, Any]:
    from hf_fairness.attributes import load_attribute
    from hf_fairness.attributes.names import with_names
    from hf_fairness.augment import summarize

    attribute, names = with_names(load_attribute(job.options["attribute"]), job.names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)  # it says what these counts say
        found = summarize(job.rows[column], attribute=attribute, names=names)
    return {
        "with terms": found["with_terms"],
        "of several groups": found["mixed"],
        "without terms": found["without_terms"],
        "empty": found["empty"],
        "missing": found["missing"],
        "in another language": found["other_language"],
        "terms": found["terms"],
    }


def _example(job: Job, rows: Dataset, good: list[bool], added: list[bool]) -> dict[str, str]:
    """One row before and after: the first that was rewritten and not rejected."""
    if True not in good:
        return {}
    place = good.index(True)
    row = rows[place]
    if job.method.suffix:
        after = {name: row[f"{name}{job.method.suffix}"] for name in job.columns}
    elif job.method.marked:
        versions = [name for name in rows.column_names if name not in job.rows.column_names]
        texts = [name for name in versions if rows.features[name].dtype == "string"]
        named = [name for name in texts if not name.endswith(("edits", "rejected_reason", GROUPS_COLUMN))]
        return {name: _short(row[name]) for name in (*job.columns, *named)}
    else:
        after = {name: row[name] for name in job.columns}
        row = job.rows[row["source_row"]] if "source_row" in row else rows[_source(added, place)]
    return {
        **{f"{name} before": _short(row[name]) for name in job.columns},
        **{f"{name} after": _short(after[name]) for name in job.columns},
    }


def _source(added: list[bool], place: int) -> int:
    """The row of the source that an added row stands behind."""
    return next(i for i in range(place, -1, -1) if not added[i])


def _short(text: str) -> str:
    return text if len(text) <= _EXAMPLE else f"{text[:_EXAMPLE]} ..."
