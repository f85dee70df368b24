"""Bias-IR of GrepBiasIR: reading it, a real encoder against a plain loop, scores and rankings."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hf_fairness.measure.encoder.bias_ir import bias_ir
from hf_fairness.measure.encoder.grep_biasir import read_grep_biasir

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/bias_ir_minilm.json").read_text())
FAST = {"n_bootstrap": 50}


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "data/grep_biasir"


def _random(texts):
    """A vector per text that has nothing to do with what it says."""
    seeds = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big") for text in texts]
    return np.stack([np.random.default_rng(seed).normal(size=32) for seed in seeds])


class _Recorder:
    """Passes texts on to an encoder and remembers what it said."""

    def __init__(self, encoder):
        self.encoder, self.vectors = encoder, {}

    def encode(self, texts):
        vectors = self.encoder.encode(texts, show_progress_bar=False)
        self.vectors.update(zip(texts, vectors, strict=True))
        return vectors


def test_reader(folder):
    rows = read_grep_biasir(folder)
    assert Counter(row["category"] for row in rows) == {
        "Appearance": 84,
        "Child Care": 84,
        "Cognitive Capabilities": 72,
        "Domestic Work": 90,
        "Sex & Relationship": 138,
    }
    relevant = [row for row in rows if row["relevant"]]
    assert Counter(row["group"] for row in relevant) == {"male": 78, "female": 78, "neutral": 78}
    assert [row["document_id"] for row in rows if not row["group"]] == ["645", "646", "647", "675", "676"]
    assert Counter(row["expected"] for row in relevant) == {"": 177, "female": 48, "male": 9}
    assert {len(row) for row in rows} == {9}
    assert read_grep_biasir(folder / "queries-documents_Child Care.csv") == [
        row for row in rows if row["category"] == "Child Care"
    ]
    other = read_grep_biasir(folder, groups={"M": "he", "F": "she"})
    assert {row["group"] for row in other} == {"he", "she", ""}


def test_reader_errors(tmp_path, folder):
    with pytest.raises(ValueError, match=r"Found no queries-documents_<category>\.csv"):
        read_grep_biasir(tmp_path)
    with pytest.raises(ValueError, match=r"queries.csv is no file of GrepBiasIR: it has no column 'd_id'"):
        read_grep_biasir(folder / "queries.csv")


@pytest.mark.whole
def test_minilm_against_a_plain_loop(folder, minilm):
    recorder = _Recorder(minilm)
    result = bias_ir(folder, model=recorder, **FAST)
    assert len(recorder.vectors) == 78 * 4  # a query and three versions each, every text once
    expected = {}
    for file in sorted(folder.glob("queries-documents_*.csv")):
        with file.open(encoding="utf-8", newline="") as lines:
            rows = [row for row in csv.DictReader(lines) if row["relevant"] == "1"]
        cosine = {}
        for row in rows:
            query = recorder.vectors[row["query"].strip()]
            document = recorder.vectors[f"{row['doc_title'].strip()} {row['document'].strip()}"]
            lengths = np.linalg.norm(query) * np.linalg.norm(document)
            cosine[row["q_id"], row["content_gender"]] = float(query @ document / lengths)
        queries = {row["q_id"] for row in rows}
        first = sum(cosine[query, "M"] > cosine[query, "F"] for query in queries)
        expected[file.stem.removeprefix("queries-documents_")] = [first, len(queries)]
    assert expected == GOLDEN["value"]
    found = result["categories"]
    assert {name: [round(entry["male_ratio"] * entry["n"]), entry["n"]] for name, entry in found.items()} == expected
    ratios = [first / n for first, n in expected.values()]
    assert result["male_ratio"] == pytest.approx(43 / 78)
    assert result["mean_deviation"] == pytest.approx(np.mean(np.abs(np.array(ratios) - 0.5)))
    assert result["chance_mean_deviation"] == pytest.approx(0.102, abs=0.002)
    assert result["p_value"] < 0.05
    assert (result["n"], result["n_tied"], result["n_skipped"]) == (78, 0, 0)
    assert result["neutral"]["first_rate"] > 0.5
    assert result["expected"]["n"] == 19
    assert result["meta"]["document"] == "title and text"
    sample = next(iter(recorder.vectors))
    assert recorder.vectors[sample] == pytest.approx(minilm.encode([sample], show_progress_bar=False)[0], abs=1e-5)


def test_without_titles_a_quarter_of_the_pairs_are_the_same_text(folder):
    result = bias_ir(folder, model=_random, titles=False, **FAST)
    texts = {(row["query_id"], row["group"]): row["text"] for row in read_grep_biasir(folder) if row["relevant"]}
    same = sum(texts[query, "male"] == texts[query, "female"] for query, group in texts if group == "male")
    assert result["n_tied"] == same == 23
    assert result["meta"]["document"] == "text"
    assert bias_ir(folder, model=_random, **FAST)["n_tied"] == 0


def test_other_documents(folder):
    wrong, every = (bias_ir(folder, model=_random, relevance=name, **FAST) for name in ("non-relevant", "all"))
    assert (wrong["n"], wrong["n_queries"], wrong["n_skipped"]) == (76, 76, 2)
    assert (every["n"], every["n_queries"], every["n_skipped"]) == (154, 78, 2)
    relevant = bias_ir(folder, model=_random, **FAST)
    assert every["male_ratio"] * 154 == pytest.approx(wrong["male_ratio"] * 76 + relevant["male_ratio"] * 78)


def test_scores_and_ranking_of_a_model_give_what_the_model_gives(folder):
    rows = read_grep_biasir(folder)
    queries, texts = ([f"{row[name]}" for row in rows] for name in ("query", "text"))
    documents = [f"{row['title']} {text}" for row, text in zip(rows, texts, strict=True)]
    left, right = _random(queries), _random(documents)
    scores = (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    ranking = {}
    for place in np.argsort(-scores):
        ranking.setdefault(rows[place]["query_id"], []).append(rows[place]["document_id"])
    model = bias_ir(rows, model=_random, **FAST)
    for inputs in ({"scores": scores}, {"ranking": ranking}):
        other = bias_ir(rows, **inputs, **FAST)
        assert other["categories"] == model["categories"]
        assert other["neutral"] == model["neutral"]
    # What a search did not find shares the last place: a tie, unless its one find is a version that counts.
    short = {query: names[:1] for query, names in ranking.items()}
    counts = {row["document_id"] for row in rows if row["relevant"] and row["group"] in ("male", "female")}
    missed = sum(name not in counts for (name,) in short.values())
    assert bias_ir(rows, ranking=short, **FAST)["n_tied"] == missed > 0


ROWS = [
    {"query_id": query, "query": "q", "group": group, "text": f"{group} d", "document_id": f"{query}{group}"}
    for query in ("1", "2")
    for group in ("a", "b")
]
VECTORS = {"q": [1.0, 0.0], "a": [1.0, 0.0], "b": [0.0, 1.0], "d": [0.1, 0.1]}


@pytest.mark.parametrize("spell", [str, int, lambda flag: "yes" if flag else "No", np.bool_])
def test_relevance_is_read_whatever_a_file_writes_for_it(folder, spell):
    rows = read_grep_biasir(folder)
    spelled = [row | {"relevant": spell(row["relevant"])} for row in rows]
    assert bias_ir(spelled, model=_random, **FAST) == bias_ir(rows, model=_random, **FAST)
    with pytest.raises(ValueError, match=r"documents\[1\]\['relevant'\] must be true or false.*got None"):
        bias_ir([rows[0], rows[1] | {"relevant": None}, *rows[2:]], model=_random, **FAST)


def test_a_document_that_a_list_names_twice_has_its_first_place():
    once, twice = {"1": ["1a", "1b"], "2": ["2b", "2a"]}, {"1": ["1a", "1b", "1a"], "2": ["2b", "2a", "2b"]}
    assert bias_ir(ROWS, ranking=twice, **FAST)["a_ratio"] == bias_ir(ROWS, ranking=once, **FAST)["a_ratio"] == 0.5
    assert bias_ir(ROWS, ranking={"1": ["1a", "1b", "1a"], "2": ["2a", "2b", "2a"]}, **FAST)["a_ratio"] == 1.0


def test_ids_of_no_document_are_no_balance():
    with pytest.raises(ValueError, match=r"None of the documents .* '2b'.*\['x', 'y'\]. Spell ids alike"):
        bias_ir(ROWS, ranking={"1": ["x", "y"], "2": ["x", "y"]}, **FAST)


def test_prefixes_reach_the_encoder():
    seen = []

    def encode(texts):
        seen.extend(texts)
        return _random(texts)

    bias_ir(ROWS, model=encode, query_prefix="query: ", document_prefix="passage: ", **FAST)
    assert sorted(seen) == ["passage: a d", "passage: b d", "query: q"]


def test_class_labels_and_the_number_0_are_groups_and_topics():
    from datasets import ClassLabel, Dataset

    columns = {"query_id": ["1"] * 3 + ["2"] * 3, "group": [0, 1, 2] * 2, "category": [0] * 3 + [1] * 3}
    scores, plain = [9, 1, 0, 8, 2, 0], Dataset.from_dict(columns)
    found = bias_ir(plain, scores=scores, **FAST)
    assert (found["0_ratio"], list(found["categories"])) == (1.0, ["0", "1"])
    labelled = plain.cast_column("group", ClassLabel(names=["male", "female", "neutral"]))
    found = bias_ir(labelled, scores=scores, **FAST)
    assert (found["male_ratio"], found["female_ratio"], "neutral" in found) == (1.0, 0.0, True)


def test_items_list_every_row():
    result = bias_ir(ROWS, scores=[3, 1, 2, 2], items=True, **FAST)
    assert result["items"] == [
        {"query_id": "1", "category": "all", "relevant": True, "scores": {"a": 3.0, "b": 1.0}, "first": "a"},
        {"query_id": "2", "category": "all", "relevant": True, "scores": {"a": 2.0, "b": 2.0}, "first": ""},
    ]
    assert "items" not in bias_ir(ROWS, scores=[3, 1, 2, 2], **FAST)


def test_reference_model_adds_paired_changes():
    turned = VECTORS | {"a": VECTORS["b"], "b": VECTORS["a"]}
    result = bias_ir(ROWS, model=VECTORS, reference=turned, **FAST)
    assert (result["a_ratio"], result["change"]["a_ratio_change"]) == (1.0, 1.0)
    assert result["change"]["mean_deviation_change"] == 0.0
    assert result["change"]["a_ratio_change_p_value"] == 0.5  # two queries: 2 of 4 exchanges are as large
    same = bias_ir(ROWS, scores=[1, 0, 1, 0], reference=[1, 0, 1, 0], **FAST)
    assert same["change"]["a_ratio_change"] == 0.0


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({}, ValueError, "Give one of model, scores and ranking; got none"),
        ({"model": VECTORS, "scores": [1] * 4}, ValueError, "got model and scores"),
        ({"documents": [], "scores": []}, ValueError, "documents is empty"),
        ({"documents": ["a"], "scores": [1]}, ValueError, r"documents\[0\] must be a mapping"),
        ({"documents": [{"group": "a"}], "scores": [1]}, ValueError, "no 'query_id'"),
        ({"scores": [1, 2]}, ValueError, "got 2 for 4 rows"),
        ({"scores": [1, 2, 3, float("nan")]}, ValueError, "NaN"),
        ({"scores": [1] * 4, "batch_size": 8}, TypeError, "no option 'batch_size'"),
        ({"scores": [1] * 4, "relevance": "none"}, ValueError, "relevance must be one of"),
        ({"scores": [1] * 4, "relevance": "non-relevant"}, ValueError, "No query has a non-relevant document"),
        ({"scores": [1] * 4, "groups": ["a", "c"]}, ValueError, r"wanted \['a', 'c'\]"),
        ({"scores": [1] * 4, "groups": "ab"}, ValueError, "must be a list of names"),
        ({"documents": ROWS + ROWS[:1], "scores": [1] * 5}, ValueError, "two documents of 'a'"),
        ({"model": 3}, TypeError, "no encoder: got int"),
        ({"model": VECTORS, "documents": [row | {"query": None} for row in ROWS]}, ValueError, "query '1' lacks one"),
        ({"ranking": {"1": ["1a"]}}, ValueError, "no list for 1 queries, the first '2'"),
        ({"ranking": ["1a"]}, ValueError, "must map each query_id"),
        (
            {"ranking": {"1": [], "2": []}, "documents": [{"query_id": "1", "group": name} for name in "ab"]},
            ValueError,
            "needs document_id",
        ),
    ],
)
def test_errors(inputs, error, message):
    with pytest.raises(error, match=message):
        bias_ir(**{"documents": ROWS, **FAST, **inputs})
