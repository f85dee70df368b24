"""SNLI: inference between descriptions of photographs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows
from hf_fairness.dataset_scripts._nli import COLUMNS, WITHOUT_LABEL, nli_rows

_URL = "https://nlp.stanford.edu/projects/snli/snli_1.0.zip"
_SPLITS = {
    split: (Raw(f"snli_1.0/snli_1.0_{split}.jsonl", _URL, member=f"snli_1.0/snli_1.0_{split}.jsonl"),)
    for split in ("train", "dev", "test")
}


class SNLI(RawDataset):
    """SNLI."""

    about = Description(
        title="SNLI",
        summary="570,000 pairs of English sentences, written by crowd workers, with the inference between them.",
        homepage="https://nlp.stanford.edu/projects/snli/",
        licence="cc-by-sa-4.0",
        citation="""@inproceedings{bowman-etal-2015-large,
  title = {A large annotated corpus for learning natural language inference},
  author = {Bowman, Samuel R. and Angeli, Gabor and Potts, Christopher and Manning, Christopher D.},
  booktitle = {Proceedings of EMNLP},
  year = {2015},
  url = {https://aclanthology.org/D15-1075}
}""",
        configs={"default": Config("all pairs", _SPLITS)},
        columns={**COLUMNS, "caption_id": Column("the photograph's caption: pairs of one caption share the premise")},
        tasks=("text-classification",),
        defects=(
            WITHOUT_LABEL,
            "The hypothesis alone gives many labels away (Gururangan et al. 2018).",
            "Hypotheses hold stereotypes of gender, race and age (Rudinger et al. 2017).",
        ),
        prohibited=("Leaving out attribution, or other terms for what is derived from it (share alike).",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per pair; parse trees are left out."""
        return nli_rows(files[0], {"caption_id": "captionID"})
