"""IPTTS with words of gender: template sentences, toxic or not, about men and women."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows
from hf_fairness.dataset_scripts._raw import table

_FILE = Raw("iptts_gender_madlib.csv", sha256="5ae9dff7651fd1590dde8782c3880a480bb76370a41dd05f31501bcad81eb4ab")


class IPTTS(RawDataset):
    """IPTTS; `label` and `group` are what the group metrics take as references and groups."""

    about = Description(
        title="IPTTS (gender)",
        summary="76,497 template sentences with a word for men or for women, half of them toxic.",
        homepage="https://github.com/conversationai/unintended-ml-bias-analysis",
        licence="apache-2.0",
        licence_note="The licence of the templates' repository; the gender version is that of the Data Diet's authors.",
        citation="""@inproceedings{dixon-etal-2018-measuring,
  title = {Measuring and Mitigating Unintended Bias in Text Classification},
  author = {Dixon, Lucas and Li, John and Sorensen, Jeffrey and Thain, Nithum and Vasserman, Lucy},
  booktitle = {Proceedings of AIES},
  year = {2018},
  url = {https://doi.org/10.1145/3278721.3278729}
}""",
        configs={"default": Config("all sentences", {"test": (_FILE,)})},
        columns={
            "text": Column("the sentence"),
            "group": Column("male or female: whom the sentence names"),
            "label": Column("whether it is toxic", ("non-toxic", "toxic")),
        },
        tasks=("text-classification",),
        defects=(
            "It saturates: a constant model has perfect parity, so read the positive rate beside every gap.",
            "Sentences of the two groups are not paired: use a swap for counterfactual metrics.",
            "Two groups of one attribute, template English.",
        ),
        prohibited=("Training on it: it is a test set.", "Showing its toxic sentences without a warning."),
        obtain="Ask the authors of the Data Diet (https://github.com/chandar-lab/healthy-data-diet) for the file.",
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per sentence."""
        for record in table(files[0], ("text", "gender", "Class")):
            label = record.pick("Class", {"0": "non-toxic", "1": "toxic"})
            group = record.pick("gender", ("male", "female"))
            yield record, {"text": record.text("text"), "group": group, "label": label}
