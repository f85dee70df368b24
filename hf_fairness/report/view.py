"""What every form of a report shows of a record."""

from __future__ import annotations

from typing import Any

import hf_fairness
from hf_fairness.record import Record
from hf_fairness.report.summary import summarize
from hf_fairness.report.tables import tables
from hf_fairness.report.text import BRACKETS, DISCLAIMER, joined, setting_texts

#: What intervals are over, in words.
_OVER = {
    "items": "the items at hand, not over other trainings",
    "seeds": "seeds of training, not over other texts",
    "both": "seeds and items",
}


def view(record: Record) -> dict[str, Any]:
    """The values of the templates: the record, its findings in words, its tables, how it was made and is to be read."""
    summary = summarize(record)
    return {
        "record": record,
        "subject": [f"{key}: {joined(value)}" for key, value in record.subject.items()],
        "summary": summary,
        "findings": summary.lists(),
        "disclaimer": DISCLAIMER,
        "tables": tables(record),
        "facts": _facts(record),
        "conventions": _conventions(record),
        "version": hf_fairness.__version__,
    }


def _facts(record: Record) -> list[tuple[str, list[tuple[str, str]]]]:
    """Blocks of names and values: how the models were trained, what was asked, and where it was run."""
    method = record.arm("method")
    trained = method.training if method else {}
    blocks = (("Training", trained), ("Settings", record.asked), ("Measurement", record.provenance))
    return [(title, found) for title, section in blocks if (found := setting_texts(section))]


def _conventions(record: Record) -> list[str]:
    """How each kind of measure is computed and read, each said once, and what brackets and verdicts mean."""
    over = {measure.interval_over for measure in record.measures if any(v.ci95 for v in measure.values.values())}
    said = (measure.convention for measure in record.measures if measure.convention)
    return [*dict.fromkeys(said), BRACKETS, *(f"Intervals are over {_OVER[each]}." for each in sorted(over))]
