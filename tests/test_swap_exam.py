"""The exam of swaps: what was drawn is there, and stays as it was."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from benchmarks import swap_exam
from benchmarks.calibration import area_for_wrong, calibration, calibration_error
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


RAIN = Question("forum", "It rained.", ("It rained.",))
HE = Question("news-en-fr", "He left her.", ("She left him.",))
MR = Question("news-en-he", "Mr Bell left.", ("Ms Bell left.", "Mrs Bell left."))


def test_a_rival_is_compared_in_pairs():
    ours, silent = (swap_exam.measure(system, [RAIN, HE, MR]) for system in (lambda t, g: swap(t), lambda t, g: t))
    gap = swap_exam.less(ours, silent)
    assert gap["exact"]["difference"] == pytest.approx(2 / 3)
    assert gap["token_error_rate"]["difference"] == pytest.approx(-3 / 11)
    assert gap["token_error_rate"] == gap["token_error_rate_uncased"]
    low, high = gap["token_error_rate"]["ci95"]
    assert low < -3 / 11 < high <= 0
    assert swap_exam.less(ours, ours)["exact"] == {"difference": 0.0, "ci95": [0.0, 0.0]}


def test_the_closed_half_is_opened_once(tmp_path, monkeypatch):
    file, opened = tmp_path / "swap_exam.json", []
    monkeypatch.setattr(swap_exam, "questions", lambda half: opened.append(half) or iter([RAIN, HE, MR]))
    systems = {"hf-fairness": lambda: lambda text, group: swap(text), "silent": lambda: lambda text, group: text}
    missing = {**systems, "rival": lambda: (_ for _ in ()).throw(ImportError("no rival"))}
    monkeypatch.setattr(swap_exam, "SYSTEMS", missing)
    with pytest.raises(ImportError, match="no rival"):
        swap_exam.open_closed_half(file)
    assert not opened
    assert not file.exists()
    monkeypatch.setattr(swap_exam, "SYSTEMS", systems)
    results = swap_exam.open_closed_half(file)
    assert opened == ["closed"]
    record = json.loads(file.read_text(encoding="utf-8"))
    assert record["results"] == results
    assert record["config"]["half"] == "closed"
    assert record["source_hashes"]
    assert results["n"] == {"all": 3, "forum": 1, "news": 2}
    assert results["systems"]["news"]["silent"]["errors"] == [2, 1]
    assert results["calibration"]["all"]["n_wrong"] == 0
    assert "| silent | 0.2727" in swap_exam.table(results)
    assert any("hf-fairness        token error rate 0.0000" in line for line in swap_exam.lines(results))
    with pytest.raises(FileExistsError, match="opened once"):
        swap_exam.open_closed_half(file)
    assert opened == ["closed"]


def test_calibration_on_paper():
    confidence, right = np.array([0.95, 0.95, 0.55, 0.15]), np.array([1.0, 0.0, 1.0, 0.0])
    assert calibration_error(confidence, right) == pytest.approx((0.9 + 0.45 + 0.15) / 4)
    assert area_for_wrong(confidence, right) == pytest.approx((0.5 + 0 + 1 + 1) / 4)
    assert calibration(confidence, np.ones(4))["auc_wrong"] is None
    found = calibration(np.repeat(confidence, 25), np.repeat(right, 25))
    assert sum(row["n"] for row in found["reliability"]) == found["n"] == 100
    low, high = found["ece_ci95"]
    assert low <= found["ece"] <= high


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
