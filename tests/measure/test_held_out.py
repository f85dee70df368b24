"""Near-duplicates, and splits that share no frame."""

from __future__ import annotations

import numpy as np

from hf_fairness.augment.rewrite import neutralize
from hf_fairness.demo import corpus_sentences
from hf_fairness.measure.held_out import frames_of, split_frames


def test_sentences_of_one_template_are_one_frame():
    shops, months = ("bakery", "garage", "school"), ("May", "June", "July")
    filled = [f"The family opened a {shop} in {month}." for shop in shops for month in months]
    others = ["Rain fell all day on the empty market.", "Nobody came to the meeting of the council."]
    assert frames_of([*filled, *others]) == [0] * 9 + [1, 2]
    assert frames_of(["a b c", "d e f", "g h i"], labels=["x", None, "x"]) == [0, 1, 0]
    assert frames_of(["", "", "她是医生", "她是医生。", "天下雨了"]) == [0, 0, 1, 1, 2]
    assert frames_of([]) == []


def test_components_follow_the_known_frames_of_the_demo():
    sentences = corpus_sentences()[:600]
    frames = frames_of([neutralize(sentence.text) for sentence in sentences])
    together = {}
    for sentence, frame in zip(sentences, frames, strict=True):
        together.setdefault(sentence.frame, set()).add(frame)
    whole = np.mean([len(found) == 1 for found in together.values()])
    assert whole > 0.9
    assert max(np.bincount(frames)) < 0.05 * len(frames)  # nothing chains the whole corpus together


def test_parts_share_no_frame_and_have_about_the_size_that_was_asked_for():
    frames = np.repeat(np.arange(60), np.arange(60) % 5 + 1)
    parts = split_frames(frames.tolist(), {"audit": 20, "validation": 15}, seed=3)
    assert 20 <= len(parts["audit"]) < 25
    assert 15 <= len(parts["validation"]) < 20
    seen = [set(frames[part]) for part in parts.values()]
    assert not seen[0] & seen[1]
    rest = np.setdiff1d(np.arange(len(frames)), np.concatenate(list(parts.values())))
    assert not set(frames[rest]) & (seen[0] | seen[1])
    again = split_frames(frames.tolist(), {"audit": 20, "validation": 15}, seed=3)
    assert all(np.array_equal(parts[name], again[name]) for name in parts)


def test_one_frame_cannot_be_held_out():
    assert [len(part) for part in split_frames([0] * 30, {"audit": 3, "validation": 3}).values()] == [0, 0]
