"""The files of SentEval's tasks as its own script leaves them: which they are, and what a line of each holds.

Texts come as SentEval gives them to an encoder: words with one space between them, with quotation marks as they are.

Source: Conneau and Kiela 2018, *SentEval*, and the readers of its code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_fairness.sources import PARTS


@dataclass(frozen=True)
class Layout:
    """How a task lies on the disk.

    Attributes:
        home: its folder below that of all tasks.
        files: by name of the file the part that it is, or the class of all its lines.
        line: pattern of a line, whose groups are columns.
        wanted: the same in words.
        header: lines above the rows.
        encoding: of the files.
    """

    home: str
    files: Mapping[str, str]
    line: str = "(?P<text>.+)"
    wanted: str = "a text"
    header: int = 0
    encoding: str = "utf-8-sig"


def _classes(home: str, first: str, second: str) -> Layout:
    return Layout(home, {first: "1", second: "0"}, encoding="latin-1")


_CELL, _SCORE = r"[^\t]*", r"\d+(?:\.\d+)?"
_SICK = Layout(
    "SICK",
    {"SICK_train.txt": "train", "SICK_trial.txt": "validation", "SICK_test_annotated.txt": "test"},
    rf"{_CELL}\t(?P<sentence_A>{_CELL})\t(?P<sentence_B>{_CELL})\t(?P<relatedness_score>{_SCORE})"
    r"\t(?P<entailment_judgment>\w+)",
    "number, two texts, a score and a judgement, with tabs between",
    header=1,
)
#: By title of a task.
LAYOUTS = {
    "MR": _classes("MR", "rt-polarity.pos", "rt-polarity.neg"),
    "CR": _classes("CR", "custrev.pos", "custrev.neg"),
    "SUBJ": _classes("SUBJ", "subj.objective", "subj.subjective"),
    "MPQA": _classes("MPQA", "mpqa.pos", "mpqa.neg"),
    "SST-2": Layout(
        "SST/binary",
        {"sentiment-train": "train", "sentiment-dev": "validation", "sentiment-test": "test"},
        rf"(?P<text>{_CELL})\t(?P<label>[01])",
        "a text and 0 or 1, with a tab between",
    ),
    "TREC": Layout(
        "TREC",
        {"train_5500.label": "train", "TREC_10.label": "test"},
        r"(?P<label>[A-Z]+):\S+ (?P<text>.+)",
        "COARSE:fine and a question",
        encoding="latin-1",
    ),
    "MRPC": Layout(
        "MRPC",
        {"msr_paraphrase_train.txt": "train", "msr_paraphrase_test.txt": "test"},
        rf"(?P<label>[01])\t{_CELL}\t{_CELL}\t(?P<sentence1>{_CELL})\t(?P<sentence2>{_CELL})",
        "0 or 1, two numbers and two texts, with tabs between",
        header=1,
    ),
    "SICK-E": _SICK,
    "SICK-R": _SICK,
    "STS-B": Layout(
        "STS/STSBenchmark",
        {"sts-train.csv": "train", "sts-dev.csv": "validation", "sts-test.csv": "test"},
        rf"(?:{_CELL}\t){{4}}(?P<score>{_SCORE})\t(?P<sentence1>{_CELL})\t(?P<sentence2>{_CELL}).*",
        "four cells, a score and two texts, with tabs between",
    ),
}


def read_senteval(task: str, source: str) -> dict[str, dict[str, list[Any]]]:
    """The rows of a task from SentEval's own files.

    Args:
        task: its title, such as ``"SICK-R"``.
        source: the folder of the task, or that of all tasks, which its script calls ``downstream``.

    Returns:
        Columns by part, as :func:`hf_fairness.measure.read_transfer_task` takes them; nothing where no such file is
        there.

    Raises:
        ValueError: one of the files is missing, holds nothing, or has a line that is none of the task's.
    """
    layout = LAYOUTS.get(task)
    if layout is None:
        return {}
    places = [Path(source), Path(source) / layout.home]
    folder = next((place for place in places for name in layout.files if (place / name).is_file()), None)
    if folder is None:
        return {}
    if lost := [name for name in layout.files if not (folder / name).is_file()]:
        raise ValueError(f"{folder} lacks {' and '.join(lost)}. SentEval's files are {', '.join(layout.files)}.")
    found: dict[str, dict[str, list[Any]]] = {}
    for name, meant in layout.files.items():
        columns = _columns(folder / name, layout)
        if meant not in PARTS:
            columns["label"] = [meant] * len(columns["text"])
        into = found.setdefault(meant if meant in PARTS else "train", {key: [] for key in columns})
        for key, values in columns.items():
            into[key] += values
    return found


def _columns(path: Path, layout: Layout) -> dict[str, list[Any]]:
    """The lines of a file, but for empty ones, as columns."""
    pattern = re.compile(layout.line)
    found: dict[str, list[Any]] = {name: [] for name in pattern.groupindex}
    try:
        with path.open(encoding=layout.encoding) as lines:
            for number, line in enumerate(lines, start=1):
                if number <= layout.header or not line.strip():
                    continue
                matched = pattern.fullmatch(line.rstrip())
                if matched is None:
                    raise ValueError(f"{path}, line {number} is {line.strip()[:80]!r}, expected {layout.wanted}.")
                for name, value in matched.groupdict().items():
                    found[name].append(float(value) if "score" in name else " ".join(value.split()))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error.reason} at byte {error.start}.") from error
    if not any(found.values()):
        raise ValueError(f"{path} holds no rows.")
    return found
