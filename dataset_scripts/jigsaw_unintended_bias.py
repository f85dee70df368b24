"""Jigsaw Unintended Bias: comments with toxicity and the identities that they mention."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows
from hf_fairness.dataset_scripts._raw import table

IDENTITIES = (
    *("male", "female", "transgender", "other_gender"),
    *("heterosexual", "homosexual_gay_or_lesbian", "bisexual", "other_sexual_orientation"),
    *("christian", "jewish", "muslim", "hindu", "buddhist", "atheist", "other_religion"),
    *("black", "white", "asian", "latino", "other_race_or_ethnicity"),
    *("physical_disability", "intellectual_or_learning_disability"),
    *("psychiatric_or_mental_illness", "other_disability"),
)
_COUNT = "identity_annotator_count"


class JigsawUnintendedBias(RawDataset):
    """Comments, their toxicity, and the share of annotators who saw each identity mentioned."""

    about = Description(
        title="Jigsaw Unintended Bias in Toxicity Classification",
        summary="Two million comments of news sites with toxicity; a fifth of them with the identities mentioned.",
        homepage="https://www.kaggle.com/c/jigsaw-unintended-bias-in-toxicity-classification",
        licence="cc0-1.0",
        licence_note="The data are under CC0; Kaggle's rules bind whoever takes them from there.",
        citation="""@inproceedings{borkan-etal-2019-nuanced,
  title = {Nuanced Metrics for Measuring Unintended Bias with Real Data for Text Classification},
  author = {Borkan, Daniel and Dixon, Lucas and Sorensen, Jeffrey and Thain, Nithum and Vasserman, Lucy},
  booktitle = {Companion Proceedings of WWW},
  year = {2019},
  url = {https://arxiv.org/abs/1903.04561}
}""",
        configs={
            "default": Config(
                "all comments",
                {
                    "train": (Raw("train.csv"),),
                    "test_public": (Raw("test_public_expanded.csv"),),
                    "test_private": (Raw("test_private_expanded.csv"),),
                },
            )
        },
        columns={
            "text": Column("the comment"),
            "label": Column("whether its toxicity is at least 0.5", ("non-toxic", "toxic")),
            "toxicity": Column("share of annotators who called it toxic, from 0 to 1", "float64"),
            "identity_annotated": Column("whether anyone was asked which identities it mentions", "bool"),
            **{
                name: Column(f"share who saw {name} mentioned; 0 where nobody was asked", "float64")
                for name in IDENTITIES
            },
        },
        tasks=("text-classification",),
        defects=(
            "Identities were annotated for a fifth of the comments: leave the others out of every group metric.",
            "A comment may mention several identities, so groups overlap.",
            "Some texts occur more than once, with other labels.",
        ),
        prohibited=("Identifying the authors of comments.", "Removing people's comments by a model's word alone."),
        obtain="Accept the rules at https://www.kaggle.com/c/jigsaw-unintended-bias-in-toxicity-classification and "
        "download train.csv, test_public_expanded.csv and test_private_expanded.csv.",
        restricted=True,
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per comment."""
        toxicity = "target" if split == "train" else "toxicity"
        for record in table(files[0], ("id", "comment_text", toxicity, _COUNT, *IDENTITIES)):
            share, annotated = record.number(toxicity, 0, 1), record.whole(_COUNT) > 0
            identities = {name: record.number(name, 0, 1) if annotated else 0.0 for name in IDENTITIES}
            yield (
                record,
                {
                    "id": str(record.whole("id")),
                    "text": record.text("comment_text"),
                    "label": "toxic" if share >= 0.5 else "non-toxic",
                    "toxicity": share,
                    "identity_annotated": annotated,
                    **identities,
                },
            )
