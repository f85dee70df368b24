"""STS-B: how alike two sentences are, as in GLUE."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows
from hf_fairness.dataset_scripts._raw import table

_URL = "https://dl.fbaipublicfiles.com/glue/data/STS-B.zip"
_SUMS = {
    "train": "41c4d978b6162abdcada7e49a982211954cca5459c228db478af333124b257a2",
    "dev": "fe7dc0632a5033562f3cadff991f6e8d9b9b6311861660e78c3c82eb7db67f59",
}
_SPLITS = {
    split: (Raw(f"STS-B/{split}.tsv", _URL, digest, member=f"STS-B/{split}.tsv"),) for split, digest in _SUMS.items()
}
_FIELDS = ("index", "genre", "filename", "year", "sentence1", "sentence2", "score")


class STSB(RawDataset):
    """STS-B; sentences and scores are what ``measure.sts`` takes."""

    about = Description(
        title="STS benchmark (GLUE)",
        summary="Pairs of English sentences from news, captions and forums with a score of similarity.",
        homepage="https://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark",
        licence="other",
        licence_note="The texts come from several sources, each under its own licence; see the source.",
        citation="""@inproceedings{cer-etal-2017-semeval,
  title = {SemEval-2017 Task 1: Semantic Textual Similarity Multilingual and Crosslingual Focused Evaluation},
  author = {Cer, Daniel and Diab, Mona and Agirre, Eneko and Lopez-Gazpio, I{\\~n}igo and Specia, Lucia},
  booktitle = {Proceedings of SemEval},
  year = {2017},
  url = {https://aclanthology.org/S17-2001}
}""",
        configs={"default": Config("pairs with published scores", _SPLITS)},
        columns={
            "sentence1": Column("a sentence"),
            "sentence2": Column("another"),
            "score": Column("similarity, from 0 (unrelated) to 5 (equivalent)", "float64"),
            "genre": Column("genre"),
            "file": Column("part of the benchmark that the pair comes from"),
            "year": Column("task that it comes from"),
        },
        tasks=("sentence-similarity",),
        defects=(
            "GLUE publishes no scores of the test set.",
            "It holds no contrast of gender: a high correlation says nothing of bias.",
        ),
        prohibited=("Training on the development set that choices are made by.",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per pair."""
        for record in table(files[0], _FIELDS, delimiter="\t", quoted=False):
            yield (
                record,
                {
                    "id": str(record.whole("index")),
                    "sentence1": record.text("sentence1"),
                    "sentence2": record.text("sentence2"),
                    "score": record.number("score", 0, 5),
                    "genre": record.text("genre"),
                    "file": record.text("filename"),
                    "year": record.text("year"),
                },
            )
