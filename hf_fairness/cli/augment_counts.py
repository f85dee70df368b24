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
from hf_fairness.utils import warned_elsewhere

if TYPE_CHECKING:
    from datasets import Dataset
    from pandas import DataFrame

    from hf_fairness.cli.augment_methods import Job

#: Reasons, or phrases that were left alone, of which the commonest are told.
_TOLD = 10
#: Keys of what is counted by reason and by phrase.
_BECAUSE, _LEFT = "rejected because", "left as idioms, things or names"
#: Longest text of an example, and ends of the names of columns that say something of a text and hold none.
_EXAMPLE, _ABOUT = 400, ("edits", "rejected_reason", "augmentation", GROUPS_COLUMN)
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
        ``tally``: what was counted, in the order to show, in whole numbers that add up over parts of a data set.
        ``example``: name and text of what one row held before and after; empty where none was rewritten. ``facts``:
        what else there is to tell.
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
    lacking = int(_texts(job.rows, job.columns).isna().any(axis=1).sum())
    counts: dict[str, Any] = {"rows in": n_in, "rows without a text": lacking}
    judged = "rejected_reason" in result.column_names
    reasons: Sequence[str] = result["rejected_reason"][:] if judged else [""] * n_out
    if judged:
        # Judged are the rows with a new text, and those whose new text is not used; by a model all that have a text.
        kinds = Counter(re.split(r":|\(", reason)[0].strip() for reason in reasons if reason not in ("", MISSING))
        counts["rows judged"] = sum(
            reason != MISSING and bool(method.marked or row or reason) for row, reason in zip(new, reasons, strict=True)
        )
        counts |= {"rejected": kinds.total(), _BECAUSE: dict(kinds)}
    if method.suffix or method.marked:
        counts["rows changed"] = sum(new)
    n_added = sum(new) if method.added else max(0, n_out - n_in)
    counts |= {"rows added": n_added, "rows left out by the method": n_in + n_added - n_out, "rows out": n_out}
    if "attribute" in job.options:
        counts |= {f"texts in {column}": _terms(job, column) for column in job.columns}
    place = next((place for place, reason in enumerate(reasons) if new[place] and not reason), None)
    return {"tally": counts, "example": [] if place is None else _example(job, result, place, new, first)}


def _texts(rows: Dataset, columns: Sequence[str], suffix: str = "") -> DataFrame:
    return rows.select_columns([f"{name}{suffix}" for name in columns]).to_pandas()


def _rewritten(job: Job, result: Dataset) -> list[bool]:
    """Which rows of the result have a new text."""
    method = job.method
    if method.suffix:
        old, new = (_texts(result, job.columns, end) for end in ("", method.suffix))
        return list((old.to_numpy() != new.to_numpy()).any(axis=1) & old.notna().all(axis=1))
    marked = f"{job.options.get('prefix', '')}{method.marked}" if method.marked else method.added
    return [False] * len(result) if marked is None else list(map(bool, result[marked][:]))


def _terms(job: Job, column: str) -> dict[str, Any]:
    from hf_fairness.augment import summarize

    attribute, names = job.attribute
    with warned_elsewhere():  # it says what these counts say
        found = summarize(job.rows[column], attribute=attribute, names=names)
    return {words: found[key] for words, key in _TERMS.items()}


def _example(job: Job, rows: Dataset, place: int, new: Sequence[bool], first: int) -> list[tuple[str, str]]:
    """A row before, and its texts that are other ones after."""
    after, source = rows[place], place
    if SOURCE in after and SOURCE not in job.rows.column_names:
        source = after[SOURCE] - first
    elif job.method.added:  # it stands behind the row that it was made of
        source = place - sum(new[: place + 1])
    before = job.rows[source]
    changed = [name for name in columns_of_texts(rows) if after[name] != before.get(name) and not name.endswith(_ABOUT)]
    shown = [(f"{name} before", before[name]) for name in job.columns]
    shown += [(f"{name} after", after[name]) for name in changed]
    return [(name, text[:_EXAMPLE] + " ..." * (len(text) > _EXAMPLE)) for name, text in shown]


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
