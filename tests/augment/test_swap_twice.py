"""Swapping news twice gives the news again."""

from __future__ import annotations

import pytest

from benchmarks import swap_twice


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("her", "him", "pronoun"),
        ("Mrs", "Ms", "counterpart"),
        ("mum", "mom", "counterpart"),
        ("priestess", "priest", "generic"),
        ("sister", "brother", "left alone"),
        ("an", "a", "article"),
        ("He", "he", "capitals"),
        ("dog", "cat", "other"),
        ("a b", "", "other"),
    ],
)
def test_kinds(before, after, kind):
    assert swap_twice.kind_of(before, after) == kind


def test_what_is_counted():
    back = {"his cat": "her cat", "her cat": "her cat", "no": "no", "a": "b", "b": "a"}
    found = swap_twice.measure(["his cat", "no", "a"], back.__getitem__)
    assert (found["n"], found["changed"], found["identity"]) == (3, 2, pytest.approx(2 / 3))
    assert {kind: count for kind, count in found["kinds"].items() if count} == {"pronoun": 1}
    assert found["commonest"] == ["1 x his -> her"]


def test_news_come_back(shared):
    found = swap_twice.measure(swap_twice.sentences(4_000, seed=2, data=shared / "data"))
    assert found["changed"] > 3_900
    assert found["identity"] >= swap_twice.BAR
