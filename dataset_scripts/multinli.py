"""MultiNLI: inference in ten genres of text and speech."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows
from hf_fairness.dataset_scripts._nli import COLUMNS, WITHOUT_LABEL, nli_rows

_URL = "https://cims.nyu.edu/~sbowman/multinli/multinli_1.0.zip"
_SPLITS = {
    split: (Raw(f"multinli_1.0/multinli_1.0_{split}.jsonl", _URL, member=f"multinli_1.0/multinli_1.0_{split}.jsonl"),)
    for split in ("train", "dev_matched", "dev_mismatched")
}


class MultiNLI(RawDataset):
    """MultiNLI."""

    about = Description(
        title="MultiNLI",
        summary="433,000 pairs of English sentences in ten genres with the inference between them.",
        homepage="https://cims.nyu.edu/~sbowman/multinli/",
        licence="other",
        licence_note="Most under the OANC's licence; some fiction under others, see the paper.",
        citation="""@inproceedings{williams-etal-2018-broad,
  title = {A Broad-Coverage Challenge Corpus for Sentence Understanding through Inference},
  author = {Williams, Adina and Nangia, Nikita and Bowman, Samuel},
  booktitle = {Proceedings of NAACL},
  year = {2018},
  url = {https://aclanthology.org/N18-1101}
}""",
        configs={"default": Config("all pairs with published labels", _SPLITS)},
        columns={**COLUMNS, "genre": Column("genre of the premise"), "prompt_id": Column("the premise's id")},
        tasks=("text-classification",),
        defects=(WITHOUT_LABEL, "The hypothesis alone gives many labels away (Gururangan et al. 2018)."),
        prohibited=("Reporting a development set as a test set after choosing by it.",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per pair; parse trees are left out."""
        return nli_rows(files[0], {"genre": "genre", "prompt_id": "promptID"})
