"""Four tasks of GLUE that the papers report as retained utility: SST-2, MRPC, RTE, WNLI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hf_fairness.dataset_scripts._base import Column, Config, Description, Raw, RawDataset, Rows
from hf_fairness.dataset_scripts._raw import table


@dataclass(frozen=True)
class _Task:
    """Where a task's columns stand in its files.

    Attributes:
        about: what it asks.
        folder: of the files, and name of the archive.
        texts: column to raw column.
        label: raw column of the label.
        labels: raw label to name.
        sums: split to checksum.
        fetched: whether GLUE's server has it.
    """

    about: str
    folder: str
    texts: Mapping[str, str]
    labels: Mapping[str, str]
    sums: Mapping[str, str]
    label: str = "label"
    fetched: bool = True

    def config(self) -> Config:
        url = f"https://dl.fbaipublicfiles.com/glue/data/{self.folder}.zip" if self.fetched else None
        files = {split: f"{self.folder}/{split}.tsv" for split in self.sums}
        splits = {
            split: (Raw(file, url, self.sums[split], member=file if url else None),) for split, file in files.items()
        }
        columns = {name: Column("a text") for name in self.texts}
        return Config(self.about, splits, {**columns, "label": Column("the answer", tuple(self.labels.values()))})


_PAIR = {"sentence1": "sentence1", "sentence2": "sentence2"}
_TASKS = {
    "sst2": _Task(
        "sentiment of a phrase or sentence of a film review",
        "SST-2",
        {"sentence": "sentence"},
        {"0": "negative", "1": "positive"},
        {
            "train": "48eac26399f8456935f81dd9e3a745c1430adb6c62e233ccfe22db4a0d15d1d1",
            "dev": "54a9c12c77e402fc14d6a66a506f24d999f596b0176eb777c972cccc2f9cc4b0",
        },
    ),
    "mrpc": _Task(
        "whether two sentences of news mean the same",
        "MRPC",
        {"sentence1": "#1 String", "sentence2": "#2 String"},
        {"0": "not_equivalent", "1": "equivalent"},
        {
            "train": "f178bcc72ab4c2c1c778b480912e0c8e1dba3ead150dc1d490d70682ab888c1e",
            "dev": "9e8f284788040f7c9ecde2e1b3c07237c756f926bd9ef8548ef5d34b56f69f17",
        },
        label="Quality",
        fetched=False,
    ),
    "rte": _Task(
        "whether a text entails a sentence",
        "RTE",
        _PAIR,
        {"entailment": "entailment", "not_entailment": "not_entailment"},
        {
            "train": "41e3a9b063433392343fad9e962cf2f58b681c78d8f71592f4186f0837246c5c",
            "dev": "80230dfa1347282e7b532b06a1004a76a710087541189bf874223ddf0e3819fb",
        },
    ),
    "wnli": _Task(
        "whether a sentence follows when a pronoun is replaced by what it may refer to",
        "WNLI",
        _PAIR,
        {"0": "not_entailment", "1": "entailment"},
        {
            "train": "9a88e9d54b6861cc796a088e9acf4f5f65064a9ef65ae6fa7a688b28391e5c9a",
            "dev": "cba00490596dd14be8cf53b4f53bb744abe3a7b89f81ab210528d80225338ed5",
        },
    ),
}


class GLUE4(RawDataset):
    """SST-2, MRPC, RTE and WNLI."""

    about = Description(
        title="GLUE: SST-2, MRPC, RTE, WNLI",
        summary="Four small classification tasks of GLUE, for what a mitigated model still can do.",
        homepage="https://gluebenchmark.com/tasks",
        licence="other",
        licence_note="Every task has its own licence; MRPC is for research only.",
        citation="""@inproceedings{wang-etal-2018-glue,
  title = {GLUE: A Multi-Task Benchmark and Analysis Platform for Natural Language Understanding},
  author = {Wang, Alex and Singh, Amanpreet and Michael, Julian and Hill, Felix and Levy, Omer and Bowman, Samuel},
  booktitle = {Proceedings of BlackboxNLP},
  year = {2018},
  url = {https://aclanthology.org/W18-5446}
}""",
        configs={name: task.config() for name, task in _TASKS.items()},
        tasks=("text-classification",),
        defects=(
            "Labels of the test sets are not published: only train and dev are built.",
            "WNLI's development set is adversarial to its training set: most models fall below the majority class.",
            "MRPC is not on GLUE's server as a table: build it from your own copy, with the columns of GLUE's script.",
            "RTE and WNLI are small: half-widths of 6 and 12 points of accuracy.",
        ),
        prohibited=("Redistributing MRPC under another licence than Microsoft's.",),
        obtain="Raw files are those of https://gluebenchmark.com/tasks, one folder per task, such as MRPC/train.tsv.",
    )

    def rows(self, split: str, files: Sequence[Path]) -> Rows:
        """One row per item; its id is the number of its row."""
        task = _TASKS[self.config.name]
        wanted = (*task.texts.values(), task.label)
        for record in table(files[0], wanted, delimiter="\t", quoted=False):
            texts = {name: record.text(raw) for name, raw in task.texts.items()}
            yield record, {**texts, "label": record.pick(task.label, task.labels)}
