"""STS and similarity structure."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from datasets import Dataset

from hf_fairness import measure
from hf_fairness.attributes import load_attribute
from hf_fairness.demo import corpus, plain_sentences, variants
from hf_fairness.measure.encoder.utility import N_PAIRS, read_scored_pairs, unrelated_pairs

WORDS = {word: np.random.default_rng(i).normal(size=5) for i, word in enumerate("abcdefgh")}
PAIRS = [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h"), ("a", "h"), ("b", "c")]


def test_the_built_in_list_is_fixed_and_unrelated():
    pairs = unrelated_pairs()
    frame = dict(plain_sentences(with_frame=True))
    assert len(pairs) == N_PAIRS == 4000
    assert len({frozenset(pair) for pair in pairs}) == N_PAIRS
    assert all(frame[left] != frame[right] for left, right in pairs)
    unrelated_pairs.cache_clear()
    assert unrelated_pairs() == pairs
    assert {text for pair in pairs for text in pair} == set(frame)


def test_the_built_in_list_has_no_gendered_term_and_no_training_sentence():
    texts = {text for pair in unrelated_pairs() for text in pair}
    gender = load_attribute("gender")
    assert all(any(gender.counts(text).values()) for text in variants()["male"])  # the check can fail
    for text in texts:
        assert not any(gender.counts(text).values()), text
        assert not gender.inherent_in(text), text
    assert not texts & {*corpus(), *(text for column in variants().values() for text in column)}


@pytest.mark.whole
def test_minilm_tells_the_pairs_of_the_built_in_list_apart(minilm):
    left, right = (
        minilm.encode(list(side), show_progress_bar=False, normalize_embeddings=True)
        for side in zip(*unrelated_pairs()[:600], strict=True)
    )
    cosines = (left * right).sum(axis=1)
    assert cosines.std() > 0.05
    assert -0.1 < cosines.mean() < 0.3  # unrelated, not near copies


def test_a_change_of_gendered_sentences_only_costs_no_structure(minilm):
    gender = load_attribute("gender")
    pairs = list(unrelated_pairs()[:60])

    def mitigated(texts):
        vectors = minilm.encode(texts, show_progress_bar=False)
        return [0 * v + 1 if any(gender.counts(t).values()) else v for t, v in zip(texts, vectors, strict=True)]

    assert measure.similarity_structure(minilm, mitigated, pairs)["similarity_structure"] == pytest.approx(1.0)
    gendered = list(zip(corpus()[:60:2], corpus()[1:60:2], strict=True))
    with pytest.raises(ValueError, match="all equal"):  # every one of these moves
        measure.similarity_structure(minilm, mitigated, gendered)


def test_structure_of_one_encoder_is_one_and_falls_when_it_changes():
    same = measure.similarity_structure(WORDS, WORDS, PAIRS)
    assert same["similarity_structure"] == 1.0
    other = {word: vector[::-1] * np.arange(5) for word, vector in WORDS.items()}
    changed = measure.similarity_structure(WORDS, other, PAIRS)
    assert changed["similarity_structure"] < 0.99
    assert changed["n"] == 6
    assert changed["meta"]["pairs_digest"] == same["meta"]["pairs_digest"]


def test_minilm_keeps_its_structure_when_little_is_added(minilm):
    texts = corpus()[:80]
    pairs = list(zip(texts[:40], texts[40:], strict=True))
    noise = np.random.default_rng(0).normal(size=384)

    def nudged(items):
        vectors = minilm.encode(items, show_progress_bar=False)
        return vectors + 0.2 * vectors * noise

    result = measure.similarity_structure(minilm, nudged, pairs)
    assert 0.8 < result["similarity_structure"] < 1.0


@pytest.mark.whole
def test_sts_of_minilm_on_the_real_dev_set(shared, minilm):
    with (shared / "data/glue/STS-B/dev.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    table = Dataset.from_dict(
        {
            "sentence1": [row["sentence1"] for row in rows],
            "sentence2": [row["sentence2"] for row in rows],
            "score": [float(row["score"]) for row in rows],
        }
    )
    result = measure.sts(minilm, table)
    assert result["n"] == 1500
    assert result["sts_spearman"] == pytest.approx(0.8672, abs=1e-3)
    low, high = result["sts_spearman_ci95"]
    assert low < result["sts_spearman"] < high < low + 0.05


def test_sts_change_between_models_is_paired():
    rows = [(left, right, float(i)) for i, (left, right) in enumerate(PAIRS)]
    result = measure.sts(WORDS, rows, reference=WORDS)
    assert result["sts_spearman_change_ci95"] == [0.0, 0.0]


def test_columns_of_many_containers():
    columns = {"sentence1": ["a", "b"], "sentence2": ["c", "d"], "label": [1, 2]}
    expected = read_scored_pairs(columns)
    for container in (
        Dataset.from_dict(columns),
        [("a", "c", 1), ("b", "d", 2)],
        Dataset.from_dict(columns).to_pandas(),
    ):
        left, right, gold = read_scored_pairs(container)
        assert (left, right, gold.tolist()) == (expected[0], expected[1], [1.0, 2.0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: measure.sts(WORDS, {"sentence1": ["a"], "score": [1]}), ValueError, "sentence2"),
        (lambda: measure.sts(WORDS, "text"), TypeError, "sentence1, sentence2 and score"),
        (lambda: measure.sts(WORDS, [("a", "b", "high")] * 3), ValueError, "score must be numbers"),
        (lambda: measure.sts(WORDS, [("a", "b", 1.0)] * 3), ValueError, "all equal"),
        (lambda: measure.sts(WORDS, [("a", "b", 1.0), ("c", "d", 2.0)]), ValueError, "at least 3"),
        (lambda: measure.sts(WORDS, []), ValueError, "sentence1 is empty"),
        (lambda: measure.sts(3, [("a", "b", 1.0)] * 3), TypeError, "no encoder: got int"),
        (lambda: measure.similarity_structure(WORDS, WORDS, ["ab"]), TypeError, r"pairs\[0\]"),
        (lambda: measure.similarity_structure(WORDS, WORDS, []), ValueError, "empty"),
        (lambda: measure.similarity_structure(WORDS, WORDS, PAIRS[:2]), ValueError, "at least 3"),
        (
            lambda: measure.similarity_structure(WORDS, lambda t: np.ones((len(t), 2)), PAIRS),
            ValueError,
            "all equal",
        ),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(("name", "mark"), [("pairs.tsv", "\t"), ("pairs.csv", ",")])
def test_sts_of_a_file(tmp_path, name, mark):
    scores = [0.5, 3.0, 4.5, 1.0, 2.0, 5.0]
    lines = [mark.join(["index", "sentence1", "sentence2", "score"])]
    lines += [mark.join([str(i), *pair, str(score)]) for i, (pair, score) in enumerate(zip(PAIRS, scores, strict=True))]
    file = tmp_path / name
    file.write_text("\n".join(lines) + "\n")
    rows = [(*pair, score) for pair, score in zip(PAIRS, scores, strict=True)]
    expected = measure.sts(WORDS, rows)
    assert measure.sts(WORDS, str(file)) == measure.sts(WORDS, file) == expected
    file.write_text(file.read_text() + mark.join(["6", "a", "b", ""]) + "\n")
    with pytest.raises(ValueError, match="column 'score' must hold numbers"):
        measure.sts(WORDS, file)


@pytest.mark.parametrize(("name", "what"), [("none.tsv", "there is no file"), ("pairs.json", "is no CSV or TSV file")])
def test_sts_says_which_files_it_reads(tmp_path, name, what):
    (tmp_path / "pairs.json").write_text("[]")
    with pytest.raises((ValueError, TypeError), match=rf"{what}.*sentence1, sentence2 and score"):
        measure.sts(WORDS, str(tmp_path / name))
