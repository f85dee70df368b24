"""What every form of a report shows of a record."""

from __future__ import annotations

from typing import Any

import hf_fairness
from hf_fairness.record import Record
from hf_fairness.report.summary import Summary, summarize
from hf_fairness.report.tables import tables
from hf_fairness.report.text import BRACKETS, DISCLAIMER, joined, setting_texts

#: Lists of findings in the order of the report: what got worse comes first, and is said even where nothing did.
_FINDINGS = (
    ("worse", "Got worse", "No measure here got clearly worse."),
    ("improved", "Improved", "No measure here clearly improved."),
    ("others", "Beside the others", ""),
    ("unclear", "No clear change", ""),
    ("undecided", "Cannot be decided", ""),
    ("measured", "Measured", ""),
    ("cautions", "Read with care", ""),
)
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
        "findings": _findings(summary),
        "disclaimer": DISCLAIMER,
        "tables": tables(record),
        "facts": _facts(record),
        "conventions": _conventions(record),
        "version": hf_fairness.__version__,
    }


def _findings(summary: Summary) -> list[tuple[str, tuple[str, ...], str]]:
    """Title, sentences and what stands in their place of each list that is shown."""
    lists = [(title, getattr(summary, name), empty if summary.counts else "") for name, title, empty in _FINDINGS]
    return [(title, texts, empty) for title, texts, empty in lists if texts or empty]


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
