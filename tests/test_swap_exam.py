"""The exam of swaps: what was drawn is there, and stays as it was."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from benchmarks import swap_exam
from benchmarks.exams.texts import FOLDER, Question, apply, judged
from hf_fairness.augment import swap
from hf_fairness.runs import content_key


def test_what_was_committed_stays():
    record = json.loads(swap_exam.FILE.read_text(encoding="utf-8"))
    assert record["answers_key"] == "7cf8dadc7d7901509c8e4b0ffe0a129f"
    assert Counter(row["half"] for row in record["rows"]) == {"closed": 202, "open": 198}
    assert len({(row["file"], row["row"], row["field"]) for row in record["rows"]}) == 400


@pytest.mark.parametrize("half", ["open", "closed"])
def test_every_answer_fits_the_sentence_that_was_drawn(shared, half):
    asked = list(swap_exam.questions(half))
    assert len(asked) == {"open": 198, "closed": 202}[half]
    assert all(len(set(each.accepted)) == len(each.accepted) >= 1 for each in asked)
    sources = Counter(each.source for each in asked)
    assert sources["headlines"] + sources["forum"] + sources["tweets"] > len(asked) / 3
    changed = sum(each.accepted[0] != each.text for each in asked)
    assert 0.8 < changed / len(asked) < 0.95


def test_other_texts_and_other_answers_are_refused(shared, tmp_path, monkeypatch):
    record = json.loads(swap_exam.FILE.read_text(encoding="utf-8"))
    record["rows"][1]["row"] = 0
    monkeypatch.setattr(swap_exam, "FILE", tmp_path / "exam.json")
    swap_exam.FILE.write_text(json.dumps(record))
    with pytest.raises(ValueError, match="is not the one that was drawn"):
        list(swap_exam.questions(record["rows"][1]["half"]))
    record["open"][0] = [[]]
    swap_exam.FILE.write_text(json.dumps(record))
    with pytest.raises(ValueError, match="not those that were committed"):
        list(swap_exam.questions("open"))


def test_the_nearest_right_counterpart_counts(monkeypatch):
    asked = [
        Question("news", "Mr Bell left.", ("Ms Bell left.", "Mrs Bell left.")),
        Question("news", "It rained.", ("It rained.",)),
    ]
    found = swap_exam.measure(lambda text, group: text.replace("Mr ", "Mrs "), asked)
    assert (found["errors"], found["exact"], found["n"]) == ([0, 0], 1.0, 2)
    assert swap_exam.measure(lambda text, group: text, asked)["token_error_rate"] == 1 / 7
    assert apply("Mr Bell left.", [(0, 2, "Ms"), (12, 13, "!")]) == "Ms Bell left!"
    assert swap_exam.unpacked(swap_exam.packed([["ä", 1]])) == [["ä", 1]]


@pytest.mark.parametrize(
    ("name", "n", "key"),
    [
        ("swap_judged", 584, "42dc95c3e3755bc3de2d1d3cc3fef115"),
        ("swap_hard", 357, "9c47fbdd01a68610f12cc453cf672aad"),
    ],
)
def test_no_more_swaps_of_the_judged_sets_are_wrong_than_when_they_were_drawn(shared, name, n, key):
    record = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert content_key(record["answers"]) == record["answers_key"] == key
    asked = judged(name)
    exam = json.loads(swap_exam.FILE.read_text(encoding="utf-8"))
    assert len(asked) == n
    assert not {row["key"] for row in record["rows"]} & {row["key"] for row in exam["rows"]}
    wrong = [i for i, each in enumerate(asked) if swap(each.text) not in each.accepted]
    assert len(wrong) <= len(record["wrong_when_drawn"]), [asked[i].text for i in wrong]
