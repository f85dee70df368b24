"""Tweets labelled sexist or not, as the Data Diet paper uses them, and their gender-swapped versions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows
from hf_fairness.dataset_scripts._raw import same_length, table

_SUMS = {
    "train_original": "49081b21f193f67f5b0f3294939a425e1ac15300f60d362680cd89915b1aa669",
    "valid_original": "04c39314299efbaf89afdddee368ea4cbc123abeee149989e5904d605c8360cf",
    "test_original": "19f034e65ab4f7167e2efbed1fddebd52064b1a9546372c3a714c4068acf6e89",
    "train_swap": "90541bc443d7931bec75c143dcf91b992d4e2dca832c3cb90da2b2698ae7c712",
    "valid_swap": "3baf7678ba60eb64ce964ea73aa2994dabedcf4eed7bc82a151f1476c3acf06e",
}


def _raw(split: str, version: str) -> Raw:
    name = f"{split}_{'original_gender' if version == 'original' else 'gender_swap'}.csv"
    return Raw(f"Twitter_{name}", sha256=_SUMS.get(f"{split}_{version}"), also=(f"Twitter_sexism_dataset_{name}",))


_TEXT = Column("the tweet; addresses and names of accounts as in the raw file")
_LABEL = Column("whether annotators called it sexist", ("not sexist", "sexist"))


class TwitterSexism(RawDataset):
    """Tweets and labels; `pairs` is what ``measure.read_pairs`` and the data diet take."""

    about = Description(
        title="Twitter sexism",
        summary="16,907 tweets labelled sexist or not, in three splits, two of them with gender-swapped versions.",
        homepage="https://github.com/chandar-lab/healthy-data-diet",
        licence="other",
        licence_note="Tweets belong to their authors; X's terms forbid passing on their texts.",
        citation="""@inproceedings{waseem-hovy-2016-hateful,
  title = {Hateful Symbols or Hateful People? Predictive Features for Hate Speech Detection on Twitter},
  author = {Waseem, Zeerak and Hovy, Dirk},
  booktitle = {Proceedings of the NAACL Student Research Workshop},
  year = {2016},
  url = {https://aclanthology.org/N16-2013}
}
@inproceedings{zayed-etal-2023-deep,
  title = {Deep Learning on a Healthy Data Diet: Finding Important Examples for Fairness},
  author = {Zayed, Abdelrahman and Parthasarathi, Prasanna and Mordido, Gon\\c{c}alo and Palangi, Hamid and
            Shabanian, Samira and Chandar, Sarath},
  booktitle = {Proceedings of AAAI},
  year = {2023}
}""",
        configs={
            "original": Config(
                "the tweets",
                {split: (_raw(split, "original"),) for split in ("train", "valid", "test")},
                {"text": _TEXT, "label": _LABEL},
            ),
            "pairs": Config(
                "each tweet beside its version with swapped gender",
                {split: (_raw(split, "original"), _raw(split, "swap")) for split in ("train", "valid")},
                {
                    "text": _TEXT,
                    "text_counterfactual": Column("the same with gendered words swapped; often unchanged"),
                    "label": _LABEL,
                },
            ),
        },
        tasks=("text-classification",),
        defects=(
            "Most sexist tweets come from few accounts (Wiegand et al. 2019): a model may learn their topics.",
            "The authors' swap changes about a third of the texts, and some for the worse (feminism to masculism).",
            "Tweets were found by search terms: they are no sample of what people wrote.",
        ),
        prohibited=(
            "Passing on the texts.",
            "Identifying or contacting authors.",
            "Deciding on accounts or people with a model trained on it.",
        ),
        obtain="Ask the authors for the tweets, or collect those of the published ids that are still there.",
        restricted=True,
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per tweet."""
        tables = [list(table(file, ("tweet", "Class"))) for file in files]
        same_length(tables, files)
        names = ("text", "text_counterfactual")[: len(files)]
        for records in zip(*tables, strict=True):
            labels = [record.pick("Class", {"0": "not sexist", "1": "sexist"}) for record in records]
            if len(set(labels)) > 1:
                raise records[1].error(f"the label of the tweet in {files[0].name}, {labels[0]}", labels[1])
            texts = {name: record.text("tweet") for name, record in zip(names, records, strict=True)}
            yield records[0], {**texts, "label": labels[0]}
