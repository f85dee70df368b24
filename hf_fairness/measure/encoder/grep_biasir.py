"""Reading GrepBiasIR: queries, each with documents in a version per group and a neutral one."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_fairness.utils import as_flag

#: Codes of the published files and the groups they stand for; documents with other codes belong to no group.
GROUPS = {"M": "male", "F": "female", "N": "neutral"}
#: How the published files begin the name of a file of documents; the category follows.
PREFIX = "queries-documents_"
#: How the published files begin an expected stereotype; the group follows.
TOWARDS = "towards "
COLUMNS = ("q_id", "d_id", "relevant", "query", "doc_title", "document", "content_gender")


def read_grep_biasir(path: str | Path, *, groups: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Rows of the published CSV files, one per document.

    Args:
        path: the folder of the files ``queries-documents_<category>.csv`` or one of them.
        groups: group (or neutral version) of each code in ``content_gender``; None: M male, F female, N neutral.

    Returns:
        Rows with ``query_id``, ``document_id``, ``category``, ``query``, ``title``, ``text`` (strings), ``group``
        (empty where the code is not in ``groups``), ``relevant`` (bool) and ``expected`` (the group towards which
        annotators expected a stereotype, empty where they did not agree on one).

    Raises:
        ValueError: no such files, a file without the published columns, or ``relevant`` neither 1 nor 0.

    Source:
        Krieg et al. 2023. The files hold some slips (``botrh``, ``Towards female``), which are read for what they
        mean.
    """
    names = GROUPS if groups is None else dict(groups)
    place = Path(path)
    files = sorted(place.glob(f"{PREFIX}*.csv")) if place.is_dir() else [place] if place.is_file() else []
    if not files:
        raise ValueError(f"Found no {PREFIX}<category>.csv at {place}. Give the folder of the data set or one file.")
    return [row for file in files for row in _rows(file, names)]


def _rows(file: Path, groups: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows of one file."""
    with file.open(encoding="utf-8-sig", newline="") as lines:
        table = list(csv.DictReader(lines))
    missing = [name for name in COLUMNS if not table or name not in table[0]]
    if missing:
        raise ValueError(f"{file.name} is no file of GrepBiasIR: it has no column {missing[0]!r}, or no rows.")
    return [
        {
            "query_id": row["q_id"],
            "document_id": row["d_id"],
            "category": file.stem.removeprefix(PREFIX),
            "query": row["query"].strip(),
            "title": row["doc_title"].strip(),
            "text": row["document"].strip(),
            "group": groups.get(row["content_gender"].strip(), ""),
            "relevant": as_flag(row["relevant"], f"{file.name}, row {number}: relevant"),
            "expected": _expected(row.get("exp_stereotype") or "", groups),
        }
        for number, row in enumerate(table, start=1)
    ]


def _expected(note: str, groups: Mapping[str, str]) -> str:
    """The group that an annotation names, or an empty string."""
    name = note.strip().casefold()
    group = name.removeprefix(TOWARDS) if name.startswith(TOWARDS) else ""
    return next((value for value in groups.values() if value.casefold() == group), "")
