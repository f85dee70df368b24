"""GrepBiasIR: queries, each with documents in a male, a female and a neutral version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows, github
from hf_fairness.dataset_scripts._raw import table
from hf_fairness.measure.encoder.grep_biasir import COLUMNS, GROUPS, PREFIX, read_grep_biasir

_SUMS = {
    "Appearance": "dd76b7ac6d322954d1bec1132d92e81d6519b39e109baa79b7931853ed246f5a",
    "Career": None,
    "Child Care": "b7cd1604e1160b3dbe217df14e024688eaf14ae66cff3e480dbff585fc476869",
    "Cognitive Capabilities": "ba637ea8666416850b1875a5216d3fa9bfb0174f2ddd8237c65a7589a421cc10",
    "Domestic Work": "bb8e239d46314f6b927c3807d5026ba355e2e00ecad251bcba6183d3d906b63c",
    "Physical Capabilities": None,
    "Sex & Relationship": "bbf1a7cb741a26d9d64089a8afc5d7c9ff4b82a9b2306f51e96b8a34cdcc5001",
}
#: How the files mark a document of both genders; the second is a slip of theirs.
_BOTH = ("both", "botrh")
_FILES = tuple(
    Raw(
        f"{PREFIX}{category}.csv",
        github("KlaraKrieg/GrepBiasIR", f"csv_formatted/{PREFIX}{category}.csv"),
        digest,
        optional=True,
    )
    for category, digest in _SUMS.items()
)


class GrepBiasIR(RawDataset):
    """GrepBiasIR; the rows are what ``measure.bias_ir`` takes as documents."""

    about = Description(
        title="GrepBiasIR",
        summary="117 queries on seven topics, each with a relevant and a non-relevant document in three versions.",
        homepage="https://github.com/KlaraKrieg/GrepBiasIR",
        licence="cc0-1.0",
        citation="""@inproceedings{krieg-etal-2023-grep,
  title = {Grep-BiasIR: A Dataset for Investigating Gender Representation Bias in Information Retrieval Results},
  author = {Krieg, Klara and Parada-Cabaleiro, Emilia and Medicus, Gertraud and Lesota, Oleg and Schedl, Markus and
            Rekabsaz, Navid},
  booktitle = {Proceedings of CHIIR},
  year = {2023}
}""",
        configs={"default": Config("all topics whose files are there", {"test": _FILES})},
        columns={
            "query_id": Column("the query"),
            "document_id": Column("the document, unique over all topics"),
            "category": Column("topic"),
            "query": Column("text of the query"),
            "title": Column("title of the document"),
            "text": Column("text of the document"),
            "group": Column("male, female or neutral; empty for the few documents that name both"),
            "relevant": Column("whether the document answers the query", "bool"),
            "expected": Column("group towards which annotators expected a stereotype; empty without agreement"),
        },
        tasks=("text-retrieval",),
        defects=(
            "Five documents of `Sex & Relationship` are marked as of both genders (once misspelt): they have no group.",
            "Without the title a quarter of the pairs of versions are the same text and tie.",
        ),
        prohibited=("Training a retriever on it: it is a test set.",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per document."""
        for file in files:
            records = list(table(file, COLUMNS))
            for record in records:
                for name in ("q_id", "d_id", "query", "document"):
                    record.text(name)
                record.pick("relevant", ("0", "1"))
                record.pick("content_gender", (*GROUPS, *_BOTH))
            for record, row in zip(records, read_grep_biasir(file), strict=True):
                yield record, {"id": row["document_id"], **row}
