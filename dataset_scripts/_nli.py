"""Pairs of sentences with three labels: what SNLI, MultiNLI and SICK share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Rows
from hf_fairness.dataset_scripts._raw import json_lines

LABELS = ("entailment", "neutral", "contradiction")
COLUMNS = {
    "premise": Column("the premise"),
    "hypothesis": Column("the hypothesis"),
    "label": Column("what the premise says of the hypothesis", LABELS),
}
WITHOUT_LABEL = (
    "Annotators did not agree on some pairs: their label is -1. Leave them out for training: "
    '`rows.filter(lambda row: row["label"] >= 0)`.'
)
#: What the files write where annotators found no majority.
_NONE = "-"


def nli_rows(file: Path, more: Mapping[str, str]) -> Rows:
    """Rows of a file in the layout of SNLI.

    Args:
        file: JSON lines with sentence1, sentence2, gold_label, pairID.
        more: further columns: name to raw name.
    """
    for record in json_lines(file, ("gold_label", "sentence1", "sentence2", "pairID", *more.values())):
        texts = {name: record[raw] for name, raw in (("premise", "sentence1"), ("hypothesis", "sentence2"))}
        if not all(isinstance(text, str) for text in texts.values()):
            raise record.error("texts in 'sentence1' and 'sentence2'", texts)
        label = -1 if record["gold_label"] == _NONE else record.pick("gold_label", LABELS)
        extra = {name: record.text(raw) for name, raw in more.items()}
        yield record, {"id": record.text("pairID"), **texts, "label": label, **extra}
