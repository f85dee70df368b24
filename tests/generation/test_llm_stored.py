"""Variants from finished rewrites alone, offline."""

from __future__ import annotations

import json

import pytest

from hf_fairness.generation import stored_variants
from hf_fairness.generation.cache import RewriteCache

TEXTS = ["He left early.", "The king and his sister waved.", "The bridge is closed."]
SAID = {"male": "He sat.", "female": "She sat.", "neutral": "They sat."}


def line(text: str, *, key: str = "k", model: str = "m", variants: dict | None = None, failure: str = "") -> dict:
    tokens = {"prompt_tokens": 1, "completion_tokens": 1}
    said = SAID if variants is None else variants
    return {"key": key, "text": text, "variants": said, "confidence": 0.5, "failure": failure, "model": model, **tokens}


@pytest.fixture
def cache(tmp_path) -> RewriteCache:
    return RewriteCache(tmp_path)


def test_rows_are_those_that_the_rewriter_gave(rewriter, server):
    """Accepted, rejected (the model forgets a word) and without terms: the same without a server."""
    server.forgets = {"sister"}
    one = rewriter()
    rows = one.rewrite(TEXTS)
    assert [bool(row["rejected_reason"]) for row in rows] == [False, True, False]
    server.always = "500"
    found = stored_variants([*TEXTS, "She is new."], one.cache_dir)
    assert found[3] is None
    assert [{name: row[name] for name in rows[0]} for row in found[:3]] == rows
    assert {row["rewritten_by"] for row in found[:3]} == {"rules"}
    assert len(server.requests) == 3


def test_a_file_of_another_name_and_the_newest_usable_rewrite(cache, tmp_path):
    cache.add(line("She sat.", key="a", model="old"))
    cache.add(line("She sat.", key="b", model="new"))
    cache.add(line("She sat.", key="c", model="broken", failure="no usable answer: nothing"))
    cache.add(line("She sat.", key="d", model="other", variants={"young": "x", "old": "y", "neutral": "z"}))
    (tmp_path / "mine.txt").write_bytes(cache.path.read_bytes())
    (row,) = stored_variants(["She sat."], tmp_path / "mine.txt")
    assert (row["rewritten_by"], row["female"], row["rejected_reason"]) == ("new", "She sat.", "")
    cache.add(line("She sat.", key="a", model="old"))  # asked for once more: now it is the newest
    assert stored_variants(["She sat."], tmp_path)[0]["rewritten_by"] == "old"


def test_blank_texts_and_lines_of_others_are_passed_over(cache, tmp_path):
    cache.add(line("She sat."))
    with cache.path.open("a") as stream:
        stream.write(json.dumps({"key": "z", "text": 3}) + "\n" + json.dumps({"key": "y"}) + "\n")
    assert stored_variants(["", " ", "He ran."], tmp_path) == [None, None, None]


def test_what_cannot_be_read_is_said(cache, tmp_path):
    with pytest.raises(FileNotFoundError, match="no stored rewrites"):
        stored_variants(TEXTS, tmp_path)
    cache.add(line("She sat.", variants={"young": "x", "old": "y", "neutral": "z"}))
    with pytest.raises(ValueError, match=r"no usable rewrite with the variants .*male.* \(1 line"):
        stored_variants(TEXTS, tmp_path)
