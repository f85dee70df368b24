"""SICK: relatedness and inference between sentences about pictures and videos."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows
from hf_fairness.dataset_scripts._nli import COLUMNS, LABELS
from hf_fairness.dataset_scripts._raw import table

_FIELDS = ("pair_ID", "sentence_A", "sentence_B", "entailment_label", "relatedness_score", "SemEval_set")
_FILE = Raw("SICK.txt", "https://zenodo.org/record/2787612/files/SICK.zip", member="SICK.txt", also=("sick*.tsv",))
_SPLITS = ("train", "trial", "test")


class SICK(RawDataset):
    """SICK."""

    about = Description(
        title="SICK",
        summary="About 10,000 pairs of English sentences with a score of relatedness and the inference between them.",
        homepage="https://zenodo.org/record/2787612",
        licence="cc-by-nc-sa-3.0",
        citation="""@inproceedings{marelli-etal-2014-sick,
  title = {A SICK cure for the evaluation of compositional distributional semantic models},
  author = {Marelli, Marco and Menini, Stefano and Baroni, Marco and Bentivogli, Luisa and Bernardi, Raffaella and
            Zamparelli, Roberto},
  booktitle = {Proceedings of LREC},
  year = {2014},
  url = {https://aclanthology.org/L14-1314/}
}""",
        configs={"default": Config("all pairs", dict.fromkeys(_SPLITS, (_FILE,)))},
        columns={**COLUMNS, "score": Column("relatedness, mean of ten people, from 1 to 5", "float64")},
        tasks=("text-classification", "sentence-similarity"),
        defects=(
            "Some contradictions were labelled in one direction only (Kalouli et al. 2017).",
            "Negated sentences are nearly always in contradictions: a shortcut.",
        ),
        prohibited=("Commercial use.", "Other terms for what is derived from it (share alike)."),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """The rows of one split."""
        spellings = {label.upper(): label for label in LABELS}
        for record in table(files[0], _FIELDS, delimiter="\t", quoted=False):
            if record.pick("SemEval_set", {name.upper(): name for name in _SPLITS}) == split:
                yield (
                    record,
                    {
                        "id": str(record.whole("pair_ID")),
                        "premise": record.text("sentence_A"),
                        "hypothesis": record.text("sentence_B"),
                        "label": record.pick("entailment_label", spellings),
                        "score": record.number("relatedness_score", 1, 5),
                    },
                )
