"""Scramble: comparisons whose meaning depends on the order of words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_fairness.dataset_scripts._base import Config, Description, Raw, RawDataset, Record, Rows, github
from hf_fairness.dataset_scripts._challenge import challenge_columns, challenge_rows
from hf_fairness.dataset_scripts._raw import same_length, text_lines
from hf_fairness.measure.classifier.challenge_sets import SCRAMBLE_LABELS, SCRAMBLE_TASKS

_TASKS = tuple(f"comp_{task}_{length}" for task in SCRAMBLE_TASKS for length in ("long", "short"))
_PARTS = ("labels", "s1", "s2")


def _raws(split: str) -> tuple[Raw, ...]:
    names = [f"{part}.{task}" for task in _TASKS for part in _PARTS]
    folder = f"testData/new/{split}"
    address = {name: github("ishita-dg/ScrambleTests", f"{folder}/{name}", "training-experiment") for name in names}
    # A folder without parts is that of the test set.
    return tuple(Raw(f"{split}/{name}", url, also=(name,) * (split == "test")) for name, url in address.items())


class Scramble(RawDataset):
    """Scramble; the rows are what ``measure.challenge_accuracy`` takes as references."""

    about = Description(
        title="Scramble tests",
        summary="Template comparisons over SNLI's vocabulary: the same words in another order need another answer.",
        homepage="https://github.com/ishita-dg/ScrambleTests",
        licence="unknown",
        licence_note="The source states no licence.",
        citation="""@inproceedings{dasgupta-etal-2018-evaluating,
  title = {Evaluating Compositionality in Sentence Embeddings},
  author = {Dasgupta, Ishita and Guo, Demi and Stuhlm\\"uller, Andreas and Gershman, Samuel J. and Goodman, Noah D.},
  booktitle = {Proceedings of CogSci},
  year = {2018},
  url = {https://arxiv.org/abs/1802.04302}
}""",
        configs={"default": Config("all comparisons", {split: _raws(split) for split in ("train", "valid", "test")})},
        columns=challenge_columns("scramble", "heuristic", "subcase", "pair"),
        tasks=("text-classification",),
        defects=(
            "They are template sentences, not edits of pairs of SNLI.",
            "Subjects are compared that nobody would compare; only the order of words carries the answer.",
        ),
        restricted=True,
        prohibited=("Publishing it under a licence of your own: its source states none.",),
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per pair of sentences, the files of labels in the order of their names."""
        by_name = {file.name: file for file in files}
        records: list[Record] = []
        for task in sorted(_TASKS):
            chosen = [by_name[f"{part}.{task}"] for part in _PARTS]
            parts = [_records(file) for file in chosen]
            same_length(parts, chosen)
            for record in parts[0]:
                record["label"] = record.pick("text", SCRAMBLE_LABELS)
            records += parts[0]
        return challenge_rows("scramble", records, files[0].parent, tuple(self.columns)[1:])


def _records(file: Path) -> list[Record]:
    lines = ((number, line.strip()) for number, line in enumerate(text_lines(file), 1))
    return [Record({"text": line}, file, f"line {number}") for number, line in lines if line]
