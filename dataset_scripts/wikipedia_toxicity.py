"""Wikipedia Talk Labels: comments with the judgements of about ten annotators each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows
from hf_fairness.dataset_scripts._raw import table

_SPLITS = ("train", "dev", "test")
_FILES = (
    Raw("toxicity_annotated_comments.tsv", "https://ndownloader.figshare.com/files/7394542"),
    Raw("toxicity_annotations.tsv", "https://ndownloader.figshare.com/files/7394539"),
)


class WikipediaToxicity(RawDataset):
    """Comments, the share of annotators who called them toxic, and the majority's label."""

    about = Description(
        title="Wikipedia Talk Labels: Toxicity",
        summary="160,000 comments of English Wikipedia's talk pages, judged toxic or not by about ten people each.",
        homepage="https://figshare.com/articles/dataset/Wikipedia_Talk_Labels_Toxicity/4563973",
        licence="cc0-1.0",
        licence_note="Annotations under CC0; the comments are Wikipedia's, under CC BY-SA 3.0.",
        citation="""@inproceedings{wulczyn-etal-2017-ex,
  title = {Ex Machina: Personal Attacks Seen at Scale},
  author = {Wulczyn, Ellery and Thain, Nithum and Dixon, Lucas},
  booktitle = {Proceedings of WWW},
  year = {2017},
  url = {https://arxiv.org/abs/1610.08914}
}""",
        configs={"default": Config("all comments", dict.fromkeys(_SPLITS, _FILES))},
        columns={
            "text": Column("the comment, with its line ends and tabs"),
            "label": Column("whether more than half of the annotators called it toxic", ("non-toxic", "toxic")),
            "toxicity": Column("share of annotators who did, from 0 to 1", "float64"),
            "n_annotators": Column("number of annotators", "int32"),
            "year": Column("of the comment", "int32"),
            "logged_in": Column("whether its author was logged in", "bool"),
            "namespace": Column("kind of talk page: article or user"),
            "sample": Column("how it was drawn: at random, or around blocked users (far more toxic)"),
        },
        tasks=("text-classification",),
        defects=(
            "Words for groups stand in toxic comments more often than in others (Dixon et al. 2018).",
            "Part of the comments were drawn around blocked users (`sample`): shares are not those of Wikipedia.",
            "Annotators disagree: look at `toxicity`, not at the label alone.",
        ),
        prohibited=("Identifying the authors of comments.", "Removing people's comments by a model's word alone."),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """The comments of a split; workers' ids are left out."""
        votes: dict[str, list[int]] = {}
        for record in table(files[1], ("rev_id", "toxicity"), delimiter="\t", quoted=False):
            votes.setdefault(_whole(record["rev_id"]), []).append(int(record.number("toxicity", 0, 1)))
        fields = ("rev_id", "comment", "year", "logged_in", "ns", "sample", "split")
        for record in table(files[0], fields, delimiter="\t", quoted=False):
            if record.pick("split", _SPLITS) != split:
                continue
            key = str(record.whole("rev_id"))
            if key not in votes:
                raise record.error(f"'rev_id' to have rows in {files[1].name}", record["rev_id"])
            share = sum(votes[key]) / len(votes[key])
            yield (
                record,
                {
                    "id": key,
                    "text": record.text("comment").replace("NEWLINE_TOKEN", "\n").replace("TAB_TOKEN", "\t"),
                    "label": "toxic" if share > 0.5 else "non-toxic",
                    "toxicity": share,
                    "n_annotators": len(votes[key]),
                    "year": record.whole("year"),
                    "logged_in": record.pick("logged_in", ("True", "False")) == "True",
                    "namespace": record.text("ns"),
                    "sample": record.text("sample"),
                },
            )


def _whole(number: str) -> str:
    """Ids are written as 2232.0."""
    return number.removesuffix(".0")
