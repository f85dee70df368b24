"""What tests of records look at: that JSON gives the same record, what each verdict is, and what was printed."""

from __future__ import annotations

import json

from hf_fairness.record import Record

#: What was called unclear before there was one rule for all reports.
UNCLEAR = ("no clear change", "no interval")


def through_json(record: Record) -> Record:
    """The record, once it has been written and read again; its JSON must be the same."""
    found = record.to_json()
    again = Record.from_json(json.loads(json.dumps(found, allow_nan=False)))
    assert again.to_json() == found
    return again


def one_line(text: str) -> str:
    """A text without its line ends, which depend on the width of the terminal."""
    return " ".join(text.split())


def verdicts(record: Record, *, unclear: tuple[str, ...] = UNCLEAR) -> dict[tuple[str, str, str], str]:
    """``improved``, ``worse`` or ``unclear`` by measure, arm and the other arm; what is not judged is left out."""
    return {
        (gap.measure, gap.arm, gap.against): "unclear" if gap.verdict in unclear else gap.verdict
        for gap in record.gaps
        if gap.verdict != "not judged"
    }
