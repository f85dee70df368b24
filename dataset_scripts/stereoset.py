"""StereoSet: a stereotype, an anti-stereotype and an unrelated sentence for one context."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import datasets

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows, github
from hf_fairness.dataset_scripts._raw import json_document, json_items
from hf_fairness.measure.language_model.stereoset import BLANK, HUB_LABELS, KNOWN_DEFECTS, by_label

_KEYS = ("id", "target", "bias_type", "context", "sentences")
_TYPES = ("gender", "profession", "race", "religion")
#: What one annotator may say of a sentence.
_VOTES = (*HUB_LABELS, "related")
_URL = github("moinnadeem/StereoSet", "data/dev.json")


class StereoSet(RawDataset):
    """StereoSet; the rows of `intrasentence` are what ``measure.stereoset`` asks a model."""

    about = Description(
        title="StereoSet",
        summary="Contexts about gender, profession, race and religion with three sentences each, labelled by people.",
        homepage="https://github.com/moinnadeem/StereoSet",
        licence="cc-by-sa-4.0",
        citation="""@inproceedings{nadeem-etal-2021-stereoset,
  title = {StereoSet: Measuring stereotypical bias in pretrained language models},
  author = {Nadeem, Moin and Bethke, Anna and Reddy, Siva},
  booktitle = {Proceedings of ACL-IJCNLP},
  year = {2021},
  url = {https://aclanthology.org/2021.acl-long.416}
}""",
        configs={
            "intrasentence": Config(
                "one word fills the blank of the context",
                {"dev": (Raw("dev.json", _URL, also=("intrasentence*.json",)),)},
            ),
            "intersentence": Config(
                "one sentence follows the context", {"dev": (Raw("dev.json", _URL, also=("intersentence*.json",)),)}
            ),
        },
        columns={
            "target": Column("the term"),
            "bias_type": Column("type of bias", _TYPES),
            "context": Column(f"the context; in intrasentence items with the word {BLANK}"),
            "sentences": Column(
                "three sentences: id, sentence, gold_label, and labels, what each annotator said",
                datasets.List(
                    {
                        "id": datasets.Value("string"),
                        "sentence": datasets.Value("string"),
                        "gold_label": datasets.ClassLabel(names=list(HUB_LABELS)),
                        "labels": datasets.List(datasets.ClassLabel(names=list(_VOTES))),
                    }
                ),
            ),
        },
        defects=(
            KNOWN_DEFECTS,
            "Annotators disagree on many sentences: look at `labels`.",
            "The test set was never published; the development set is what all papers use.",
        ),
        prohibited=(
            "Training on it: it is a test set, and its sentences are offensive.",
            "Calling a model unbiased for a score near 50 %.",
        ),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per item; ids of annotators are left out."""
        document = json_document(files[0])
        items = document.get("data") if isinstance(document, dict) else document
        items = items.get(self.config.name) if isinstance(items, dict) else items
        for record in json_items(items, _KEYS, files[0]):
            wanted = f"a context {'with' if self.config.name == 'intrasentence' else 'without'} the word {BLANK}"
            if (BLANK in record.text("context")) != (self.config.name == "intrasentence"):
                raise record.error(wanted, record["context"])
            parts = list(json_items(record["sentences"], ("id", "sentence", "gold_label", "labels"), files[0]))
            for part in parts:
                part.place = f"{record.place}, sentence {part.place.split()[-1]}"
                part.pick("gold_label", HUB_LABELS)
            try:
                by_label(parts)
            except ValueError:
                labels = [part["gold_label"] for part in parts]
                raise record.error(f"one sentence each labelled {', '.join(HUB_LABELS)}", labels) from None
            sentences = [
                {
                    "id": part.text("id"),
                    "sentence": part.text("sentence"),
                    "gold_label": part["gold_label"],
                    "labels": [vote.pick("label", _VOTES) for vote in json_items(part["labels"], ("label",), files[0])],
                }
                for part in parts
            ]
            yield record, {**{key: record.text(key) for key in _KEYS[:-1]}, "sentences": sentences}
