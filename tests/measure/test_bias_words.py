"""The exclusion list, and the words of a text with vector and importance."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from hf_fairness.attributes import load_attribute, load_names
from hf_fairness.encoders import WORD, as_encoder, token_encoder
from hf_fairness.measure.encoder.bias_words import choose_importance, exclusion_list, iter_words
from hf_fairness.scores.bias_score import (
    cosines,
    max_pool_importance,
    mean_pool_contributions,
    mean_pool_importance,
)
from hf_fairness.scores.statistics import as_values
from tests.support.token_vectors import iter_tokens

TEXT = "She's proud of her son-in-law, Mary's antidisestablishmentarian nurse!"
AXIS = np.random.default_rng(0).normal(size=384)


@pytest.mark.parametrize(
    "word",
    [
        "she",
        "She",
        "SHE",
        "mother",
        "Mothers'",
        "mother-in-law",
        "son’s",
        "woman-owned",
        "He's",
        "her",
        "hers",
        "countrywomen",
        "Mary",
        "JOHN",
        "Mary's",
        "Miss",
        "Sir",
    ],
)
def test_gendered_words_and_names_are_on_the_list(word):
    assert exclusion_list().holds(word)


@pytest.mark.parametrize(
    "word",
    [
        "nurse",
        "miss",
        "mark",
        "they",
        "parent",
        "host",
        "author",
        "bikini",
        "pregnant",
        "football",
        "in-law",
        "Nurse's",
        "human",
        "manage",
    ],
)
def test_other_words_are_not(word):
    """Stereotyped words and words for everybody are what the score is about; small letters are no name."""
    assert not exclusion_list().holds(word)


def test_the_list_is_not_the_list_of_swaps():
    gender = load_attribute("gender")
    found = exclusion_list(gender)
    assert {term.text.lower() for group in gender.groups for term in group.terms} <= found.words | found.capitalised
    assert not exclusion_list(names=False).holds("Mary")
    assert exclusion_list(names=False).holds("mary-sister")


def test_more_names_from_lists_and_files(tmp_path):
    found = exclusion_list(names=["Dana", "damsel"])
    assert [found.holds(word) for word in ("Dana", "dana", "Damsel", "Mary")] == [True, False, True, True]
    path = tmp_path / "yob1990.txt"
    path.write_text("# source: US SSA\n# date: 1990\nname,sex,count\nKeisha,F,900\nDarnell,M,800\n", encoding="utf-8")
    from_file = exclusion_list(names=path)
    assert from_file.holds("Keisha's")
    assert not from_file.holds("name")
    table = load_names(path)
    assert exclusion_list(names=table).holds("Darnell")
    with pytest.raises(FileNotFoundError, match="no file"):
        exclusion_list(names=tmp_path / "absent.txt")
    with pytest.raises(TypeError, match="names must be texts; got int"):
        exclusion_list(names=["Ann", 3])


def test_other_attributes_have_lists_too():
    found = exclusion_list("religion")
    assert found.holds("Muslims")
    assert not found.holds("she")


def test_lists_of_others_are_covered(shared):
    """Of the words of Bolukbasi et al., nearly all that name a person's gender, not an animal or a body."""
    seed = json.loads((shared / "data/wordlists/gender_specific_seed.json").read_text(encoding="utf-8"))
    found = exclusion_list()
    single = [word for word in seed if "_" not in word]
    missing = sorted(word for word in single if not found.holds(word))
    assert len(missing) / len(single) < 0.25, missing
    pairs = json.loads((shared / "data/wordlists/equalize_pairs.json").read_text(encoding="utf-8"))
    words = {word.split("_")[-1] for pair in pairs for word in pair}
    known = {
        "cancer",
        "convent",
        "monastery",
        "testosterone",
        "estrogen",
        "colt",
        "filly",
        "gelding",
        "mare",
        "fella",
        "priest",
    }
    assert {word for word in words if not found.holds(word)} <= known


@pytest.mark.parametrize("importance", ["max", "mean"])
def test_words_of_a_text_in_context(minilm, importance):
    encoder = as_encoder(minilm)
    (batch,) = iter_words(encoder, [TEXT], importance, AXIS)
    words = ["She's", "proud", "of", "her", "son-in-law", "Mary's", "antidisestablishmentarian", "nurse"]
    assert (batch.places, batch.words) == ([0], [words])
    assert batch.known.all()
    assert (batch.importance >= 0.0).all()
    assert batch.importance.sum() < 1.0 if importance == "max" else batch.importance.sum() > 0.8
    assert batch.cosine.shape == (8,)
    assert 0.0 < np.abs(batch.cosine).max() <= 1.0


def test_mean_importance_is_exact_for_a_real_encoder(minilm):
    """Words, punctuation and special tokens together give the cosine of the sentence vector."""
    encoder = as_encoder(minilm)
    (batch,) = iter_words(encoder, [TEXT], "mean", AXIS)
    ((_, tokens),) = iter_tokens(token_encoder(encoder), [TEXT])
    mean = tokens.vectors.mean(axis=0, dtype=np.float64)
    spans = [(match, TEXT.index(match)) for match in batch.words[0]]
    inside = [any(at <= a < at + len(word) for word, at in spans) and b > a for a, b in tokens.spans]
    rest = tokens.vectors[~np.array(inside)].sum(axis=0, dtype=np.float64) / len(inside)
    axis = AXIS / np.linalg.norm(AXIS)
    total = (batch.cosine * batch.importance).sum() + rest @ axis / np.linalg.norm(mean)
    assert total == pytest.approx(encoder.encode([TEXT])[0].astype(np.float64) @ axis, abs=1e-6)


@pytest.mark.parametrize("importance", ["max", "mean"])
def test_a_batch_gives_what_the_scores_say_of_each_text(minilm, importance):
    """Texts of different lengths, one without words, one that is cut off, with accents, emoji and odd spaces."""
    odd = "A  nurse \U0001f469\u200d\u2695\ufe0f in Zürich’s café — über-cool!"
    texts = [TEXT, odd, "?!", "one two three four five " * 12, "x\u00a0y\nz"]
    encoder = token_encoder(as_encoder(minilm, max_length=40))
    batches = list(iter_words(encoder, texts, importance, AXIS))
    found = {place: (batch, row) for batch in batches for row, place in enumerate(batch.places)}
    assert sorted(found) == list(range(len(texts)))
    for place, tokens in iter_tokens(encoder, texts):
        batch, row = found[place]
        spans = [match.span() for match in WORD.finditer(texts[place])]
        owner = [
            next((k for k, (begin, end) in enumerate(spans) if begin < b and a < end), -1) if b > a else -1
            for a, b in tokens.spans
        ]
        parts = mean_pool_contributions(tokens.vectors, owner, len(spans))
        if importance == "max":
            weights = max_pool_importance(tokens.vectors, owner, len(spans))
        else:
            weights = mean_pool_importance(parts, tokens.vectors.mean(axis=0, dtype=np.float64))
        start = sum(map(len, batch.words[:row]))
        own = slice(start, start + len(spans))
        assert len(batch.words[row]) == len(spans)
        assert batch.importance[own] == pytest.approx(weights, abs=1e-6)
        assert batch.cosine[own] == pytest.approx(cosines(parts, AXIS), abs=1e-6)
        assert batch.known[own].tolist() == [k in owner for k in range(len(spans))]


def test_max_importance_is_the_share_of_won_dimensions(minilm):
    encoder = as_encoder(minilm)
    (batch,) = iter_words(encoder, ["A man is playing the saxophone."], "max")
    ((_, tokens),) = iter_tokens(token_encoder(encoder), ["A man is playing the saxophone."])
    wins = np.bincount(tokens.vectors.argmax(axis=0), minlength=len(tokens.spans)) / 384
    pieces = [tokens.spans.index(span) for span in tokens.spans if span[1] > span[0]]
    assert batch.importance.sum() == pytest.approx(wins[pieces[:-1]].sum())  # the full stop is no word
    assert batch.importance[1] == wins[2]  # "man", after [CLS] and "a"


def test_words_past_the_models_length_are_unknown(minilm):
    encoder = as_encoder(minilm, max_length=5)
    (batch,) = iter_words(encoder, ["one two three four five"], "mean", AXIS)
    assert batch.known.tolist() == [True, True, True, False, False]
    assert batch.importance[3:].tolist() == [0.0, 0.0]
    assert not batch.cosine[3:].any()


@pytest.mark.parametrize("importance", ["max", "mean"])
def test_words_out_of_context(importance):
    vectors = {"nurse": [3.0, 4.0], "a": [0.0, 1.0], "the": [0.0, 0.0]}
    encoder = as_encoder(vectors)
    texts = ["A nurse zzz", "zzz", "the the"]
    found = {batch.places[0]: batch for batch in iter_words(encoder, texts, importance, np.array([0.6, 0.8]))}
    assert found[0].words == [["A", "nurse", "zzz"]]
    assert found[0].known.tolist() == [True, True, False]
    assert found[0].cosine == pytest.approx([0.8, 1.0, 0.0])
    expected = {"max": [0.0, 1.0, 0.0], "mean": np.array([0.5, 2.5, 0.0]) / np.hypot(1.5, 2.5)}[importance]
    assert found[0].importance == pytest.approx(expected)
    assert not found[1].known.any()
    assert not found[1].importance.any()
    assert as_values(found[2].importance, "importance").sum() in (0.0, 1.0)


def test_a_direction_of_another_model_is_refused(minilm):
    with pytest.raises(ValueError, match="direction has 2 dimensions, the word vectors have 384"):
        list(iter_words(as_encoder(minilm), [TEXT], "mean", np.array([0.6, 0.8])))


def test_importance_follows_the_pooling(minilm):
    bert, tokenizer = minilm.transformers_model, minilm.tokenizer
    assert choose_importance(as_encoder(minilm)) == "mean"
    assert choose_importance(as_encoder(minilm), "max") == "max"
    assert choose_importance(as_encoder({"a": [1.0]})) == "mean"
    assert choose_importance(as_encoder(bert, tokenizer=tokenizer, pooling="max")) == "max"
    first = as_encoder(bert, tokenizer=tokenizer, pooling="cls")
    with pytest.raises(ValueError, match=r"vector of the first token.*importance='max' or 'mean'"):
        choose_importance(first)
    assert choose_importance(first, "mean") == "mean"
    with pytest.raises(ValueError, match="one of max, mean, or None; got 'cls'"):
        choose_importance(first, "cls")


def test_lists_pickle():
    assert pickle.loads(pickle.dumps(exclusion_list())) == exclusion_list()
