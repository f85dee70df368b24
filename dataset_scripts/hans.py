"""HANS: inference items for which shortcuts of syntax give the wrong answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Config, Description, Raw, RawDataset, Rows, github
from hf_fairness.dataset_scripts._challenge import challenge_columns, challenge_rows
from hf_fairness.dataset_scripts._raw import table

_FIELDS = ("gold_label", "sentence1", "sentence2", "pairID", "heuristic", "subcase", "template")
_TRAIN, _EVALUATION = (
    Raw(name, github("tommccoy1/hans", name), also=also)
    for name, also in (
        ("heuristics_train_set.txt", ("hans_train*.tsv",)),
        ("heuristics_evaluation_set.txt", ("hans_evaluation*.tsv", "hans_sample*.tsv")),
    )
)


class HANS(RawDataset):
    """HANS; the rows are what ``measure.challenge_accuracy`` takes as references."""

    about = Description(
        title="HANS",
        summary="Template sentences for three shortcuts (lexical overlap, subsequence, constituent), 30 sub-cases.",
        homepage="https://github.com/tommccoy1/hans",
        licence="mit",
        citation="""@inproceedings{mccoy-etal-2019-right,
  title = {Right for the Wrong Reasons: Diagnosing Syntactic Heuristics in Natural Language Inference},
  author = {McCoy, Tom and Pavlick, Ellie and Linzen, Tal},
  booktitle = {Proceedings of ACL},
  year = {2019},
  url = {https://aclanthology.org/P19-1334}
}""",
        configs={"default": Config("all items", {"train": (_TRAIN,), "evaluation": (_EVALUATION,)})},
        columns=challenge_columns("hans", "heuristic", "subcase", "cluster"),
        tasks=("text-classification",),
        defects=(
            "Items of a template differ in words only, so rows are not independent: `cluster` is the template.",
            "Some template sentences say odd things; the labels follow from syntax, not from what is likely.",
            "A model that always says non-entailment is right for half of it: read the accuracy per gold label.",
        ),
        prohibited=("Reporting the evaluation set after training on the train set without saying so.",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per item; parse trees are left out."""
        records = list(table(files[0], _FIELDS, delimiter="\t", quoted=False))
        return challenge_rows("hans", records, files[0], tuple(self.columns)[1:], "gold_label", "pairID")
