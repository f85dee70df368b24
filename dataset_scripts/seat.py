"""SEAT: association tests, generated from word lists and templates; no raw files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import datasets

from hf_fairness.dataset_scripts._base import Column, Config, Description, RawDataset, Record, Rows
from hf_fairness.measure.encoder.stimuli import ROLES, available_tests, load_test

_SET = {
    "category": datasets.Value("string"),
    "examples": datasets.List(datasets.Value("string")),
    "clusters": datasets.List(datasets.Value("string")),
}
_WORDS = "weat"


class SEAT(RawDataset):
    """Association tests; rows are what ``measure.seat`` takes as tests."""

    about = Description(
        title="SEAT",
        summary="Word and sentence association tests: two sets of targets, two sets of attributes, one test per row.",
        homepage="https://github.com/W4ngatang/sent-bias",
        licence="apache-2.0",
        licence_note="The arrangement made here; the word lists are facts. The published files, which equal it, are "
        "under CC BY-NC 4.0 and not used.",
        citation="""@inproceedings{may-etal-2019-measuring,
  title = {On Measuring Social Biases in Sentence Encoders},
  author = {May, Chandler and Wang, Alex and Bordia, Shikha and Bowman, Samuel R. and Rudinger, Rachel},
  booktitle = {Proceedings of NAACL},
  year = {2019},
  url = {https://aclanthology.org/N19-1063}
}
@article{caliskan-etal-2017-semantics,
  title = {Semantics derived automatically from language corpora contain human-like biases},
  author = {Caliskan, Aylin and Bryson, Joanna J. and Narayanan, Arvind},
  journal = {Science},
  year = {2017}
}""",
        configs={
            "sentences": Config("all tests, words in sentences", {"test": ()}),
            "words": Config("all tests, words alone", {"test": ()}),
            **{name: Config(f"one test, sentences: {what}", {"test": ()}) for name, what in available_tests().items()},
        },
        columns={
            "name": Column("name of the test"),
            "purpose": Column("bias (no association is ideal) or retention (a strong one is)"),
            "about": Column("what is compared with what"),
            **{
                role: Column(
                    f"{'targets' if role.startswith('targ') else 'attributes'}: category, examples, and clusters, the "
                    "word that each example was built from",
                    _SET,
                )
                for role in ROLES
            },
        },
        defects=(
            "Sentences of one word are not independent: read p_value_clustered, not p_value.",
            "Names stand for groups in some tests, as US crowd workers of the past read them.",
            "A small effect says little: the tests find bias, they do not show that there is none.",
        ),
        prohibited=("Calling an encoder unbiased for an effect size near 0.",),
        id_column="name",
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per test."""
        config = self.config.name
        for name in available_tests() if config in ("sentences", "words") else (config,):
            test = load_test(f"{_WORDS}{name}" if config == "words" else name)
            sets = {
                role: {"category": part.name, "examples": list(part.texts), "clusters": list(part.words)}
                for role, part in zip(ROLES, test.sets, strict=True)
            }
            row = {"name": test.name, "purpose": test.purpose, "about": test.about, **sets}
            yield Record({}, Path("word lists"), f"test {name}"), row
