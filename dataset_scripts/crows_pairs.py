"""CrowS-Pairs: sentences about a group, one more stereotyping than the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows, github
from hf_fairness.dataset_scripts._raw import table
from hf_fairness.measure.language_model.crows_pairs import KINDS, KNOWN_DEFECTS, SENTENCES

_TYPES = (
    *("race-color", "gender", "socioeconomic", "nationality", "religion", "age", "sexual-orientation"),
    *("physical-appearance", "disability"),
)
_FILE = Raw(
    "crows_pairs_anonymized.csv",
    github("nyu-mll/crows-pairs", "data/crows_pairs_anonymized.csv"),
    "dfb36986ce0502abbaf7055b9176da3d08d48e07df1251991b5dfbcbceab9d0c",
)


class CrowSPairs(RawDataset):
    """CrowS-Pairs; the rows are what ``measure.crows_pairs`` takes."""

    about = Description(
        title="CrowS-Pairs",
        summary="1,508 pairs of English sentences about a disadvantaged and an advantaged group, nine types of bias.",
        homepage="https://github.com/nyu-mll/crows-pairs",
        licence="cc-by-sa-4.0",
        citation="""@inproceedings{nangia-etal-2020-crows,
  title = {CrowS-Pairs: A Challenge Dataset for Measuring Social Biases in Masked Language Models},
  author = {Nangia, Nikita and Vania, Clara and Bhalerao, Rasika and Bowman, Samuel R.},
  booktitle = {Proceedings of EMNLP},
  year = {2020},
  url = {https://aclanthology.org/2020.emnlp-main.154}
}""",
        configs={"default": Config("all pairs", {"test": (_FILE,)})},
        columns={
            "sent_more": Column("the sentence that stereotypes more"),
            "sent_less": Column("the sentence that stereotypes less"),
            "stereo_antistereo": Column(
                "whether the first shows a stereotype of the disadvantaged group or goes against one",
                ("stereo", "antistereo"),
            ),
            "bias_type": Column("type of bias", _TYPES),
            "annotations": Column("types of bias by annotator, a Python list as text"),
        },
        defects=(KNOWN_DEFECTS, "The pairs are about groups in the United States."),
        prohibited=(
            "Training on it: it is a test set, and its sentences are offensive.",
            "Calling a model unbiased for a score near 50 %: the pairs cover a small part of what models do.",
        ),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per pair; the columns about anonymised annotators are left out."""
        for record in table(files[0], ("", *SENTENCES, *KINDS, "annotations")):
            texts = {name: record.text(name) for name in (*SENTENCES, *KINDS, "annotations")}
            yield record, {"id": str(record.whole("")), **texts}
