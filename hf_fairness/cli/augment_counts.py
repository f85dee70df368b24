"""Carry a method of `hf-fairness augment` out on some rows, and count what it did: on all rows, a shard or a part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_fairness.attributes.model import GROUPS_COLUMN
from hf_fairness.maps import MISSING
from hf_fairness.refine.counterfactuals import SOURCE
from hf_fairness.sources import columns_of_texts
from hf_fairness.utils import is_missing, warned_elsewhere

if TYPE_CHECKING:
    from datasets import Dataset

    from hf_fairness.cli.augment_methods import Job

#: Reasons, or phrases that were left alone, of which the commonest are told.
_TOLD = 10
#: Keys of what is counted by reason and by phrase.
_BECAUSE, _LEFT = "rejected because", "left as idioms, things or names"
#: Longest text of an example.
_EXAMPLE = 400
#: What is counted of the terms of a column, and its key in a summary.
_TERMS = {
    "with terms": "with_terms",
    "of several groups": "mixed",
    "without terms": "without_terms",
    "empty": "empty",
    "missing": "missing",
    "in another language": "other_language",
    "terms": "terms",
    _LEFT: "kept",
}


def fill(
    path: Path, job: Job, folder: Path, change: Callable[[Dataset], Dataset] | None = None, first: int = 0
) -> dict[str, Any]:
    """Write what becomes of the rows of a job, and what belongs beside them.

    Args:
        path: parquet file of the rows.
        job: the method and the rows.
        folder: of the data set.
        change: what makes the new rows of the old ones; None: what the job says.
        first: number of the first row in the whole data set.

    Returns:
        ``tally``: what was counted, in the order to show, in whole numbers that add up over parts of a data set;
        ``example``: one row before and after, empty where no row was rewritten; ``facts``: what else there is to tell.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    before = _usage(job)
    result = (change or job.change)(job.rows)
    result.to_parquet(path)
    for name, write in job.files.items():
        if not (folder / name).exists():
            write(folder / name)
    facts = {name: tell(job.rows, first) for name, tell in job.facts.items()}
    used = {name: count if count is None else count - before[name] for name, count in _usage(job).items()}
    return {**outcome(job, result, first), "facts": {**facts, **({"usage": used} if used else {})}}


def _usage(job: Job) -> dict[str, Any]:
    """Requests and tokens so far, where the function asks a chat model."""
    return job.function.usage().to_dict() if hasattr(job.function, "usage") else {}


def outcome(job: Job, result: Dataset, first: int) -> dict[str, Any]:
    """Count what a method did, and choose an example; see :func:`fill`."""
    method, n_in, n_out = job.method, len(job.rows), len(result)
    new = _rewritten(job, result)
    counts: dict[str, Any] = {"rows in": n_in, "rows without a text": sum(_lacking(job.rows, job.columns))}
    judged = "rejected_reason" in result.column_names
    reasons: Sequence[str] = result["rejected_reason"][:] if judged else [""] * n_out
    if judged:
        # Judged are the rows with a new text, and those whose new text is not used; by a model all that have a text.
        kinds = Counter(re.split(r":|\(", reason)[0].strip() for reason in reasons if reason not in ("", MISSING))
        pairs = zip(new, reasons, strict=True)
        n_judged = sum(reason != MISSING and bool(method.marked or row or reason) for row, reason in pairs)
        counts |= {"rows judged": n_judged, "rejected": kinds.total(), _BECAUSE: dict(kinds)}
    if method.suffix or method.marked:
        counts["rows changed"] = sum(new)
    n_added = sum(new) if method.added else max(0, n_out - n_in)
    counts |= {"rows added": n_added, "rows left out by the method": n_in + n_added - n_out, "rows out": n_out}
    if "attribute" in job.options:
        counts |= {f"texts in {column}": _terms(job, column) for column in job.columns}
    place = next((place for place, reason in enumerate(reasons) if new[place] and not reason), None)
    return {"tally": counts, "example": {} if place is None else _example(job, result, place, new, first)}


def _lacking(rows: Dataset, columns: Sequence[str]) -> list[bool]:
    """Which rows lack a text."""
    return [any(map(is_missing, texts)) for texts in zip(*(rows[name][:] for name in columns), strict=True)]


def _rewritten(job: Job, result: Dataset) -> list[bool]:
    """Which rows of the result have a new text."""
    method = job.method
    if method.suffix:
        texts, new = (zip(*(result[name + end][:] for name in job.columns), strict=True) for end in ("", method.suffix))
        lacking = _lacking(result, job.columns)
        return [not gone and old != now for gone, old, now in zip(lacking, texts, new, strict=True)]
    marked = f"{job.options.get('prefix', '')}{method.marked}" if method.marked else method.added
    return [False] * len(result) if marked is None else list(map(bool, result[marked][:]))


def _terms(job: Job, column: str) -> dict[str, Any]:
    from hf_fairness.augment import summarize

    attribute, names = job.attribute
    with warned_elsewhere():  # it says what these counts say
        found = summarize(job.rows[column], attribute=attribute, names=names)
    return {words: found[key] for words, key in _TERMS.items()}


def _example(job: Job, rows: Dataset, place: int, new: Sequence[bool], first: int) -> dict[str, str]:
    """A row before and after."""
    before = after = rows[place]
    if job.method.marked:
        added = [name for name in columns_of_texts(rows) if name not in job.rows.column_names]
        versions = [name for name in added if not name.endswith(("edits", "rejected_reason", GROUPS_COLUMN))]
        return {name: _short(after[name]) for name in (*job.columns, *versions)}
    if SOURCE in after and SOURCE not in job.rows.column_names:
        before = job.rows[after[SOURCE] - first]
    elif job.method.added:  # it stands behind the row that it was made of
        before = rows[next(i for i in range(place, -1, -1) if not new[i])]
    sides = (("before", before, ""), ("after", after, job.method.suffix or ""))
    return {f"{name} {side}": _short(row[name + end]) for side, row, end in sides for name in job.columns}


def _short(text: str) -> str:
    return text if len(text) <= _EXAMPLE else f"{text[:_EXAMPLE]} ..."


def told_counts(tally: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of the counts of :func:`fill`: the rejected share, too; of reasons and phrases the commonest."""
    found: dict[str, Any] = {}
    for name, value in tally.items():
        if name in (_BECAUSE, _LEFT):
            commonest = dict(sorted(value.items(), key=lambda item: (-item[1], item[0]))[:_TOLD])
            if value:
                found[name] = {"all": sum(value.values()), **commonest} if name == _LEFT else commonest
        else:
            found[name] = told_counts(value) if isinstance(value, Mapping) else value
        if name == "rejected" and tally["rows judged"]:
            found["rejected share of the judged"] = value / tally["rows judged"]
    return found
