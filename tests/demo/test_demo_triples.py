"""The held-out audit triples: aligned, hand-made, and different in gendered words only."""

from __future__ import annotations

import re
from collections import Counter

from hf_fairness.demo import triple_frames, variants

MALE = {"he", "him", "his", "himself"}
FEMALE = {"she", "her", "hers", "herself"}
NEUTRAL = {"they", "them", "their", "theirs", "themselves"}


def tokens(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def test_size_and_alignment():
    rows = variants(with_frame=True)
    assert list(rows) == ["male", "female", "neutral", "frame"]
    assert list(variants()) == ["male", "female", "neutral"]
    assert {len(column) for column in rows.values()} == {len(rows["male"])}
    assert len(rows["male"]) >= 400
    for name in ("male", "female", "neutral"):
        assert len(set(rows[name])) == len(rows[name])


def test_frames_and_topics():
    rows = variants(with_frame=True)
    per_frame = Counter(rows["frame"])
    assert len(per_frame) == len(triple_frames()) >= 60
    assert len(set(per_frame.values())) == 1
    per_topic = Counter(frame.topic for frame in triple_frames())
    assert set(per_topic) == {"work", "home", "sport", "study", "health", "news"}
    assert len(set(per_topic.values())) == 1


def test_each_column_speaks_of_its_own_group_only():
    rows = variants()
    for male, female, neutral in zip(rows["male"], rows["female"], rows["neutral"], strict=True):
        assert len({male, female, neutral}) == 3
        assert not tokens(male) & FEMALE, male
        assert not tokens(female) & MALE, female
        assert not tokens(neutral) & (MALE | FEMALE), neutral


def test_content_is_the_same_in_all_three():
    """Outside the slots nothing changes, so most words of a row are common to its three texts."""
    rows = variants()
    for male, female, neutral in zip(rows["male"], rows["female"], rows["neutral"], strict=True):
        common = tokens(male) & tokens(female) & tokens(neutral)
        assert len(common) / len(tokens(male)) > 0.5, (male, neutral)


def test_singular_they_takes_the_plural_verb():
    text = " ".join(variants()["neutral"])
    assert not re.search(r"\b[Tt]hey (?:is|was|has|does|goes)\b", text)
    assert not re.search(r"\b(?:[Hh]e|[Ss]he) (?:are|were|have|do)\b", " ".join(variants()["female"]))
    assert re.search(r"\b[Tt]hey (?:are|were|have)\b", text)


def test_neutral_pronouns_occur_in_every_case():
    found = Counter(word for text in variants()["neutral"] for word in tokens(text) & NEUTRAL)
    assert set(found) == NEUTRAL


def test_columns_are_fresh_lists():
    variants()["male"].clear()
    assert variants()["male"]
