"""CCD on rewrites from a file."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

from hf_fairness.attributes import load_attribute
from hf_fairness.generation.cache import RewriteCache
from hf_fairness.trainers.baselines import baseline
from hf_fairness.trainers.baselines.ccd_llm import rewritten_rows

pytestmark = pytest.mark.whole
GROUPS = ("male", "female")


@pytest.fixture
def cache(tmp_path, triples):
    """Rewrites of the female text of the first 60 rows: one rejected, one without terms, one that was no answer."""
    made = RewriteCache(tmp_path / "rewrites")
    for number, row in enumerate(triples.select(range(60))):
        said = {name: f"{row[name]} indeed" for name in (*GROUPS, "neutral")}
        if number == 1:
            said["female"] = said["male"]
        if number == 2:
            said = dict.fromkeys(said, row["female"])
        told = {"confidence": 0.9, "model": "writer", "prompt_tokens": 1, "completion_tokens": 1}
        failure = "no usable answer: none" if number == 3 else ""
        made.add({"key": str(number), "text": row["female"], "variants": said, "failure": failure, **told})
    return made.path


def test_rows_take_their_rewrites_and_others_are_counted(triples, cache):
    rows, counts = rewritten_rows(triples, cache, GROUPS, load_attribute("gender"))
    assert counts == {"used": 57, "not in the file": 37, "rejected": 2}
    assert rows.column_names == ["male", "female", "neutral", "rewritten_by"]
    assert rows[0] == {name: f"{triples[0][name]} indeed" for name in (*GROUPS, "neutral")} | {"rewritten_by": "writer"}
    assert all(text.endswith(" indeed") for name in (*GROUPS, "neutral") for text in rows[name])


def test_only_the_text_that_a_row_came_with_counts_where_it_is_known(triples, cache):
    attribute = load_attribute("gender")
    female = triples.add_column("source_text", triples["female"][:])
    male = triples.add_column("source_text", triples["male"][:])
    assert rewritten_rows(female, cache, GROUPS, attribute)[1]["used"] == 57
    assert rewritten_rows(male, cache, GROUPS, attribute)[1] == {"used": 0, "not in the file": 96}


def test_it_trains_on_the_rewrites_alone(given, tiny_bert, triples, cache, tmp_path):
    made = given(tiny_bert, ccd_llm_cache=str(cache), num_train_epochs=3)
    method = baseline("ccd-llm")
    method.check(made.encoder, made.config, made.attribute)
    assert method.files(made.config) == [cache]
    made.config.ccd_llm_cache = str(cache.parent)
    assert method.files(made.config) == [cache]
    told = method.fit(made, tmp_path / "fit")
    assert told["rewrites"]["used"] == 57
    assert told["rewritten_by"] == {"writer": 57}
    assert told["n_train"] + told["n_eval"] == 57
    after, before = (SentenceTransformer(str(place), device="cpu") for place in (tmp_path / "fit" / "model", tiny_bert))
    texts = triples["male"][:8]
    assert np.abs(after.encode(texts) - before.encode(texts, normalize_embeddings=True)).max() > 1e-3


def test_too_few_rewrites_are_said(given, tiny_bert, triples, cache, tmp_path):
    made = given(tiny_bert, triples.select(range(20)), ccd_llm_cache=str(cache))
    with pytest.raises(ValueError, match=r"17 of the 20 .* \(17 used, 1 not in the file, 2 rejected\).* at least 20"):
        baseline("ccd-llm").fit(made, tmp_path / "fit")


def test_a_run_without_a_usable_file_is_refused(given, tiny_bert, tmp_path):
    method = baseline("ccd-llm")
    (tmp_path / "words.jsonl").write_text('{"key": "a"}\n')
    for settings, message in (
        ({}, "ccd-llm needs finished rewrites: give --ccd_llm_cache"),
        ({"ccd_llm_cache": str(tmp_path / "none")}, "does not exist"),
        ({"ccd_llm_cache": str(tmp_path / "words.jsonl")}, "holds no usable rewrite with the variants"),
    ):
        made = given(tiny_bert, **settings)
        with pytest.raises(ValueError, match=message):
            method.check(made.encoder, made.config, made.attribute)


def test_versions_under_other_names_are_refused(cache):
    rows = Dataset.from_dict({"men": ["he is in"], "women": ["she is in"], "neutral": ["they are in"]})
    with pytest.raises(ValueError, match="about the groups men, women, and rewrites about those of gender"):
        rewritten_rows(rows, cache, ("men", "women"), load_attribute("gender"))
