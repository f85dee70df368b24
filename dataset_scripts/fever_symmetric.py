"""FEVER-Symmetric: claims and evidence in pairs, so that a claim alone tells nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Config, Description, Raw, RawDataset, Rows, github
from hf_fairness.dataset_scripts._challenge import challenge_columns, challenge_rows
from hf_fairness.dataset_scripts._raw import json_lines

_SUMS = {
    "symmetric_v0.1/fever_symmetric_generated": "83a4aac042192ebc159b4478dc5316f9e25094e41ddc97c3b1cea825ad2943eb",
    "symmetric_v0.1/fever_symmetric_full": "6edf8b5bdc3f2fe470b98e94297ed31200a241c98b0318f905bf324345cf6897",
    "symmetric_v0.2/fever_symmetric_dev": "1d43d016da9264de2139cd10edd459ffbeac84f1fd85d60b70ab6ef63d283f81",
    "symmetric_v0.2/fever_symmetric_test": "b2ff560615bd3337c858bc5b09256d04f39aaa034aaae2351bb2d6345c110f83",
}
_RAW = {
    name.rpartition("_")[2]: (Raw(f"{name}.jsonl", github("TalSchuster/FeverSymmetric", f"{name}.jsonl"), digest),)
    for name, digest in _SUMS.items()
}


class FeverSymmetric(RawDataset):
    """FEVER-Symmetric; the rows are what ``measure.challenge_accuracy`` takes as references."""

    about = Description(
        title="FEVER-Symmetric",
        summary="Claims of FEVER and new ones, each with evidence that supports it and evidence that refutes it.",
        homepage="https://github.com/TalSchuster/FeverSymmetric",
        licence="cc-by-sa-3.0",
        citation="""@inproceedings{schuster-etal-2019-towards,
  title = {Towards Debiasing Fact Verification Models},
  author = {Schuster, Tal and Shah, Darsh and Yeo, Yun Jie Serene and Roberto Filizzola Ortiz, Daniel and
            Santus, Enrico and Barzilay, Regina},
  booktitle = {Proceedings of EMNLP-IJCNLP},
  year = {2019},
  url = {https://aclanthology.org/D19-1341}
}""",
        configs={
            "v0.1": Config(
                "the paper's version: `generated` is its test set, `full` holds the rows of FEVER as well",
                {split: _RAW[split] for split in ("generated", "full")},
            ),
            "v0.2": Config("more cases, in two parts", {split: _RAW[split] for split in ("dev", "test")}),
        },
        columns=challenge_columns("fever_symmetric", "pair", "cluster"),
        tasks=("text-classification",),
        defects=(
            "The generated rows of v0.1 lack the original of each four: its labels are not balanced.",
            "Four rows are made from one row of FEVER (`cluster`), so rows are not independent.",
            "Texts are tokenised, with -LRB- for a bracket, as in FEVER.",
        ),
        prohibited=("Training on it: it is a test set.",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per claim and evidence; the evidence is the premise."""
        records = list(json_lines(files[0], ("id", "label", "claim")))
        for record in records:
            record.text("claim")
            if not any(isinstance(record.get(name), str) for name in ("evidence_sentence", "evidence")):
                raise record.error("a text in 'evidence_sentence' or 'evidence'", f"it has {', '.join(record)}")
            record["id"] = str(record["id"])
        return challenge_rows("fever_symmetric", records, files[0], tuple(self.columns)[1:], key="id")
