"""SentEval's own files: every layout of its readers, and what is none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hf_fairness.arguments import UtilityArguments
from hf_fairness.measure import read_transfer_task
from hf_fairness.measure.encoder.senteval_files import LAYOUTS, read_senteval
from hf_fairness.trainers.training.utility import open_utility

#: By task lines of each file, in the order of the table, and what is read of the first.
SICK = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"]
SICK += [
    '1\tA  boy "runs"\tA boy walks\t4.5\tNEUTRAL',
    "2\tA boy runs\tNobody runs\t3\tCONTRADICTION",
    "3\ta\tb\t1.25\tNEUTRAL",
]
MRPC = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String", '1\t7\t8\tHe said "no .\tHe said no .', "0\t7\t9\ta\tb"]
STS = [
    "main-news\tMSRpar\t2012test\t0001\t2.5\tA man .\tA plane .\tfrom\there",
    "m\tM\t2\t1\t0\ta\tb",
    "m\tM\t2\t1\t5\ta\ta",
]
FILES = {
    "MR": [["caf\xe9 \x85 good  film .", "", "fine"], ["bad"]],
    "CR": [["good", "nice"], ["bad"]],
    "SUBJ": [["it is", "he has"], ["i feel"]],
    "MPQA": [["good"], ["bad", "worse"]],
    "SST-2": [["a fine film\t1", "bad\t0"]] * 3,
    "TREC": [["DESC:manner How are caf\xe9s made ?", "NUM:date When ?"]] * 2,
    "MRPC": [MRPC] * 2,
    "SICK-E": [SICK] * 3,
    "SICK-R": [SICK] * 3,
    "STS-B": [STS] * 3,
}
FIRST = {
    "MR": ("caf\xe9 good film .", "1"),
    "SUBJ": ("it is", "1"),
    "SST-2": ("a fine film", "1"),
    "TREC": ("How are caf\xe9s made ?", "DESC"),
    "MRPC": ('He said "no .', "1"),
    "SICK-E": ('A boy "runs"', "NEUTRAL"),
    "SICK-R": ('A boy "runs"', 4.5),
    "STS-B": ("A man .", 2.5),
}
PARTS = {
    "MRPC": (2, 0, 2),
    "TREC": (2, 0, 2),
    "SST-2": (2, 2, 2),
    "SICK-E": (3, 3, 3),
    "SICK-R": (3, 3, 3),
    "STS-B": (3, 3, 3),
}


def write(folder: Path, task: str) -> Path:
    layout = LAYOUTS[task]
    place = folder / layout.home
    place.mkdir(parents=True, exist_ok=True)
    for name, lines in zip(layout.files, FILES[task], strict=True):
        (place / name).write_bytes("\n".join([*lines, ""]).encode(layout.encoding.removesuffix("-sig")))
    return place


@pytest.mark.parametrize("task", list(LAYOUTS))
def test_every_layout_becomes_its_task(task, tmp_path):
    place = write(tmp_path, task)
    rows = read_senteval(task, str(place))
    assert rows == read_senteval(task, str(tmp_path))  # of the folder of all tasks too
    found = read_transfer_task(task, rows)
    sizes = tuple(len(part) for part in (found.train, found.validation, found.test))
    assert sizes == PARTS.get(task, (3, 0, 0))
    text, gold = FIRST.get(task, (found.texts[0][0], None))
    assert found.texts[0][0] == text
    if gold is not None:
        assert (found.gold[0] if found.scale else found.classes[int(found.gold[0])]) == gold
    if not PARTS.get(task):  # a class a file
        assert "cross-validation" in found.told


def test_tasks_are_opened_by_the_flag(tmp_path):
    for task in ("MR", "SICK-R"):
        write(tmp_path, task)
    found = open_utility(UtilityArguments(senteval=[f"mr={tmp_path / 'MR'}", f"sick-r={tmp_path}"]))["senteval"]
    assert found["MR"]["train"]["label"] == ["1", "1", "0"]
    assert [len(part["relatedness_score"]) for part in found["SICK-R"].values()] == [3, 3, 3]


def test_what_is_none_of_its_files_is_refused(tmp_path):
    assert read_senteval("MR", str(tmp_path)) == {}
    assert read_senteval("mine", str(tmp_path)) == {}
    place = write(tmp_path, "TREC")
    arguments = UtilityArguments(senteval=[f"trec={place}"])
    (place / "train_5500.label").write_text("DESC:manner How ?\nHow ?\n")
    with pytest.raises(ValueError, match=r"--senteval trec: .*label, line 2 is 'How \?', expected COARSE:fine and a q"):
        open_utility(arguments)
    (place / "train_5500.label").write_text("\n")
    with pytest.raises(ValueError, match=r"train_5500.label holds no rows"):
        open_utility(arguments)
    (place / "train_5500.label").unlink()
    with pytest.raises(ValueError, match=r"lacks train_5500.label. SentEval's files are train_5500.label, TREC_10.lab"):
        open_utility(arguments)
    place = write(tmp_path, "SST-2")
    (place / "sentiment-dev").write_bytes("caf\xe9\t1\n".encode("latin-1"))
    with pytest.raises(ValueError, match="sentiment-dev is no text in UTF-8"):
        read_senteval("SST-2", str(place))
