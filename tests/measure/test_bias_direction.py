"""The direction between two groups: word pairs, swapped sentences, files, stability."""

from __future__ import annotations

import dataclasses
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from huggingface_hub import constants

from hf_fairness.attributes import load_attribute
from hf_fairness.encoders import as_encoder, input_embeddings
from hf_fairness.measure.audit import built_in_variants
from hf_fairness.measure.encoder.bias_direction import CHEAP, BiasDirection, bias_direction, direction_stability
from hf_fairness.measure.encoder.bias_pairs import EXTENDED, oriented_pairs, swapped_pairs, two_groups, word_pairs
from hf_fairness.measure.encoder.bias_score import bias_score
from hf_fairness.utils import FairnessWarning
from support.tiny_bert import tiny_bert

module = sys.modules[bias_direction.__module__]

VECTORS = {
    "he": [-1.0, 0.0, 0.2],
    "she": [1.0, 0.1, 0.2],
    "man": [-1.0, 1.0, 0.0],
    "woman": [1.0, 0.9, 0.0],
    "boy": [-1.1, 0.5, 0.5],
    "girl": [1.0, 0.5, 0.6],
}


def test_paper_pairs_are_the_ten_of_the_paper():
    text = "woman-man girl-boy she-he mother-father daughter-son gal-guy female-male her-his herself-himself Mary-John"
    assert word_pairs() == [tuple(reversed(pair.split("-"))) for pair in text.split()]
    gender = load_attribute("gender")
    extended = word_pairs(gender, "extended")
    assert len(extended) > EXTENDED
    assert len(set(extended)) == len(extended)
    for first, second in extended:
        assert (gender.group_of(first), gender.group_of(second)) == gender.group_names
        assert (first + second).isalpha()
    with pytest.raises(ValueError, match=r"'paper' and 'extended'; got 'long'"):
        word_pairs(which="long")


def test_direction_of_word_vectors():
    found = bias_direction(VECTORS)
    assert (found.kind, found.n_pairs, found.n_skipped) == ("word pairs", 3, 7)
    assert found.groups == ("male", "female")
    assert found.vector[0] > 0.99
    assert found.explained_variance_ratio[0] > 0.98
    assert found.stability is None  # three pairs have no two halves worth comparing
    assert bias_direction(VECTORS, list(word_pairs()[:3])).vector == pytest.approx(found.vector)
    assert bias_direction(VECTORS, "extended").n_pairs >= 2


def test_capitals_and_small_letters_are_looked_up():
    vectors = {"John": [0.0, -1.0], "mary": [0.0, 1.0]}
    assert bias_direction(vectors, [("John", "Mary")]).vector.tolist() == [0.0, 1.0]


def test_swapped_pairs_are_oriented_and_mixed_texts_left_out():
    texts = ["She sings.", "He sings.", "He met her.", "It rains.", "My aunts and their mother left.", "Los hombres."]
    pairs, skipped = swapped_pairs(texts)
    assert pairs == [
        ("He sings.", "She sings."),
        ("He sings.", "She sings."),
        ("My uncles and their father left.", "My aunts and their mother left."),
    ]
    assert skipped == 3


def test_swapping_the_texts_changes_nothing(minilm):
    texts = [f"{who} {what}." for who in ("She", "My aunt", "The queen") for what in ("sings", "left", "was early")]
    swapped = [pair[0] for pair in swapped_pairs(texts)[0]]
    direction, again = (bias_direction(minilm, texts=chosen) for chosen in (texts, swapped))
    assert direction.vector == pytest.approx(again.vector, abs=1e-6)
    assert direction.kind == "swapped texts"
    given = bias_direction(minilm, swapped_pairs(texts)[0])
    assert given.kind == "text pairs"
    assert given.vector == pytest.approx(direction.vector, abs=1e-6)
    assert (minilm.encode(["She is here."]) - minilm.encode(["He is here."])) @ direction.vector > 0.1


def test_direction_is_saved_and_read_again(tmp_path):
    found = bias_direction(VECTORS)
    path = found.save(tmp_path / "direction.json")
    again = BiasDirection.load(path)
    assert again == found
    assert hash(again) == hash(found)
    assert again != dataclasses.replace(found, n_pairs=99)
    assert found != "direction"
    assert json.loads(path.read_text())["groups"] == ["male", "female"]
    copy = pickle.loads(pickle.dumps(found))
    assert copy == found
    with pytest.raises(ValueError, match="read-only"):
        found.vector[0] = 3.0
    for content in ("{}", "[1]", "nonsense", '{"format": "hf-fairness/direction/1", "groups": ["a"]}'):
        path.write_text(content)
        with pytest.raises(ValueError, match="is no saved direction"):
            BiasDirection.load(path)


def test_hash_for_datasets_is_that_of_another_process(tmp_path):
    from datasets.fingerprint import Hasher

    found = bias_direction(VECTORS)
    code = (
        "import sys; from datasets.fingerprint import Hasher; from hf_fairness.measure.encoder.bias_direction import "
        "BiasDirection; print(Hasher.hash(BiasDirection.load(sys.argv[1])))"
    )
    path = found.save(tmp_path / "d.json")
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == Hasher.hash(found) == Hasher.hash(BiasDirection.load(path))


@pytest.mark.parametrize(
    ("vector", "groups", "message"),
    [
        ([0.0, 0.0], ("a", "b"), "vector of zeros"),
        ([np.nan, 1.0], ("a", "b"), "NaN"),
        ([1.0, 0.0], ("a", "b", "c"), "two groups; got 3"),
        ([[1.0, 0.0]], ("a", "b"), "1 dimension"),
    ],
)
def test_no_direction_without_direction(vector, groups, message):
    with pytest.raises(ValueError, match=message):
        BiasDirection(vector=np.array(vector), groups=groups)


def test_given_vectors_are_scaled_to_length_one():
    assert BiasDirection(vector=[3e200, 4e200], groups=("a", "b")).vector.tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (VECTORS, {"texts": ["He sings."]}, "Word vectors know no context"),
        (VECTORS, {"pairs": [("he", "she")], "texts": ["He sings."]}, "not both"),
        (VECTORS, {"pairs": [("he", "she", "it")]}, "pairs of texts, male then female"),
        (VECTORS, {"pairs": []}, "pairs of texts, male then female"),
        (VECTORS, {"pairs": [("he", "duchess")]}, "no vector of duchess"),
        (VECTORS, {"pairs": [("he", "he")]}, "equal members"),
        (VECTORS, {"attribute": "religion"}, "'religion' has 3: christian, jewish, muslim"),
        ({"a": [1.0]}, {}, "both words of none of the 10 pairs"),
        ({"he": [np.nan], "she": [1.0]}, {}, "NaN or infinity"),
        (lambda texts: np.ones((len(texts), 2)), {"texts": ["It rains.", "He met her."]}, "None of the 2 texts"),
    ],
)
def test_clear_errors(model, options, message):
    with pytest.raises(ValueError, match=message):
        bias_direction(model, **options)


def test_an_attribute_without_sentences_of_its_own_asks_for_some(tmp_path):
    content = json.loads((load_attribute.__globals__["DATA"] / "gender.en.json").read_text(encoding="utf-8"))
    path = tmp_path / "other.en.json"
    path.write_text(json.dumps(content | {"name": "other"}), encoding="utf-8")
    with pytest.raises(ValueError, match="no built-in sentences for attribute 'other'"):
        bias_direction(lambda texts: np.ones((len(texts), 2)), attribute=path)
    assert word_pairs(path, "paper") == word_pairs(path, "extended")
    assert two_groups(load_attribute(path)) == ("male", "female")


def test_stability_of_draws_and_lists(minilm):
    vectors = input_embeddings(as_encoder(minilm))
    result = direction_stability(vectors, n_draws=8)
    assert 0.0 < result["cosine_min"] <= result["cosine"] < 1.0
    assert (result["n_pairs"], result["size"], result["n_draws"]) == (10, 5, 8)
    assert 0.5 < result["cosine_of_lists"] < 1.0
    assert direction_stability(vectors, n_draws=8) == result
    drawn = direction_stability(vectors, size=9, n_draws=5, seed=1)
    assert drawn["cosine_of_lists"] == result["cosine_of_lists"]
    assert drawn["cosine"] > result["cosine"]  # draws of nine of ten pairs are almost the same
    assert direction_stability(vectors, word_pairs())["cosine_of_lists"] is None


@pytest.mark.parametrize(("options", "message"), [({"n_draws": 1}, "at least 2"), ({"size": 5}, "3 pairs are too few")])
def test_stability_needs_pairs_and_draws(options, message):
    with pytest.raises(ValueError, match=message):
        direction_stability(VECTORS, **options)


FEMALE_FIRST = [(second, first) for first, second in word_pairs()]


@pytest.mark.parametrize("pairs", [FEMALE_FIRST, word_pairs()[:5] + FEMALE_FIRST[5:], [list(p) for p in FEMALE_FIRST]])
def test_the_order_of_a_pair_decides_no_sign(pairs):
    assert oriented_pairs(pairs) == word_pairs()
    known = [pair for pair in pairs if set(pair) <= set(VECTORS)]
    assert bias_direction(VECTORS, known).vector == pytest.approx(bias_direction(VECTORS).vector)
    vectors = {**VECTORS, "nurse": [0.5, 0.1, 0.2]}
    scored = bias_score(["a nurse"], vectors, direction=bias_direction(VECTORS, known), names=False)
    assert scored["female"][0] > 0.0 == scored["male"][0]


def test_sentences_are_told_apart_by_their_words(minilm):
    pairs = swapped_pairs(["She sings.", "My uncle left.", "The queen met her son.", "A boy ran."])[0]
    straight, turned = (bias_direction(minilm, chosen) for chosen in (pairs, [pair[::-1] for pair in pairs]))
    assert straight.vector == pytest.approx(turned.vector, abs=1e-6)


def test_pairs_that_the_attribute_does_not_know():
    strange = [("Xeno", "Xena"), ("Xolo", "Xola")]
    assert oriented_pairs([("he", "she"), *strange]) == [("he", "she"), *strange]
    assert oriented_pairs([("she", "he"), *(p[::-1] for p in strange)]) == [("he", "she"), *strange]
    assert oriented_pairs([{"female": "Xena", "male": "Xeno"}]) == [("Xeno", "Xena")]
    assert oriented_pairs([("she", "a person"), ("a person", "he")]) == [("a person", "she"), ("he", "a person")]
    mixed = [("he", "she"), ("woman", "man"), {"male": "Xeno", "female": "Xena"}]
    assert oriented_pairs(mixed) == [("he", "she"), ("man", "woman"), ("Xeno", "Xena")]
    with pytest.warns(FairnessWarning, match=r"taken as male first.*'male': ..., 'female': ..."):
        assert oriented_pairs(strange) == strange


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("he", "she"), ("woman", "man"), ("Xeno", "Xena")], r"1 of 3 pairs hold no word.*stand in both orders"),
        ([("he", "king")], r"Both words of the pair \('he', 'king'\) are male"),
        ([{"male": "she", "female": "he"}], "contradicts attribute 'gender'"),
        ([{"men": "he", "women": "she"}], "mappings of these two names"),
        (["heshe"], "pairs must be pairs of texts"),
        ([("he", "she", "they")], "pairs must be pairs of texts"),
        ([], "pairs is empty"),
    ],
)
def test_pairs_that_contradict_themselves(pairs, message):
    with pytest.raises(ValueError, match=message):
        oriented_pairs(pairs)


def test_an_attribute_with_its_groups_in_another_order():
    gender = load_attribute("gender")
    turned = dataclasses.replace(gender, groups=tuple(reversed(gender.groups)))
    assert word_pairs(turned) == FEMALE_FIRST
    found = bias_direction(VECTORS, attribute=turned)
    assert found.groups == ("female", "male")
    assert found.vector == pytest.approx(-bias_direction(VECTORS).vector)


class Counting:
    """A tiny encoder, and how many texts it was asked for."""

    def __init__(self):
        texts = built_in_variants(load_attribute("gender"))
        words = {word.lower().strip(".,") for column in texts.values() for text in column for word in text.split()}
        self.model, self.tokenizer = tiny_bert([*sorted(words), ".", ","])
        self.n_texts = 0
        self.model.register_forward_hook(self._count)

    def _count(self, module, inputs, output):
        self.n_texts += len(output.last_hidden_state)

    def asked(self, **options):
        self.n_texts = 0
        found = bias_score(["a nurse .", "the doctor ."], self.model, tokenizer=self.tokenizer, **options)
        return found["absolute"], self.n_texts


def test_a_direction_is_not_made_twice(kept):
    tiny = Counting()
    first, many = tiny.asked()
    again, few = tiny.asked()
    assert (again, many > 100 > 10 > few) == (first, True)
    other, n_texts = Counting().asked()  # the same weights in another object
    assert (other, n_texts) == (first, few)


@pytest.mark.parametrize("change", ["step", "data", "hook", "pooling"])
def test_a_model_that_changed_is_another_one(change, kept):
    import torch

    tiny = Counting()
    first, _ = tiny.asked()
    options = {}
    if change == "step":
        optimizer = torch.optim.SGD(tiny.model.parameters(), lr=0.1)
        tiny.model(**tiny.tokenizer("she is a nurse", return_tensors="pt")).last_hidden_state[..., 0].sum().backward()
        optimizer.step()
    elif change == "data":
        tiny.model.embeddings.word_embeddings.weight.data[-3] += 1.0  # a word that may stand in no probe
    elif change == "hook":
        tiny.model.encoder.layer[0].register_forward_hook(lambda module, inputs, output: output + 0.5)
    else:
        options = {"pooling": "max"}
    second, n_texts = tiny.asked(**options)
    assert n_texts > 100
    assert second != first or change == "data"


#: As many pairs as are looked for in the cache.
PAIRS = [(f"{'very ' * n}he is", f"{'very ' * n}she is") for n in range(1, CHEAP // 2)] + [("a boy", "a girl")]


def test_kept_directions_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "KEPT", 2)
    monkeypatch.setattr(module, "_MADE", {})
    tiny = Counting()
    for seed in (0, 1, 2, 0):
        bias_direction(tiny.model, PAIRS, tokenizer=tiny.tokenizer, seed=seed)
    assert len(module._MADE) == 2


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A cache of its own, and a process that knows nothing."""
    monkeypatch.setattr(constants, "HF_HOME", str(tmp_path))
    monkeypatch.setattr(module, "_MADE", {})
    return tmp_path / "hf_fairness" / "directions"


def _made(tiny, pairs=PAIRS, **options):
    """The direction and how many texts it took, in a process that knows nothing."""
    module._MADE.clear()
    tiny.n_texts = 0
    return bias_direction(tiny.model, pairs, tokenizer=tiny.tokenizer, **options), tiny.n_texts


def test_a_direction_is_kept_on_disk_by_content(kept):
    tiny = Counting()
    first, many = _made(tiny)
    again, few = _made(Counting())  # the same weights in another object and, as far as it knows, another process
    assert again == first
    assert many > CHEAP > 10 > few
    (file,) = kept.glob("*.json")
    assert BiasDirection.load(file) == first
    _made(tiny, PAIRS[1:])  # too few: looking takes as long
    assert [*kept.glob("*")] == [file]
    tiny.model.embeddings.word_embeddings.weight.data[-3] += 1.0
    assert _made(tiny)[1] == many
    assert len([*kept.glob("*.json")]) == 2


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\x00", b'{"format": "hf-fairness/direction/1"}'])
def test_a_broken_file_is_made_anew(kept, content):
    tiny = Counting()
    first, many = _made(tiny)
    (file,) = kept.glob("*.json")
    file.write_bytes(content)
    assert _made(tiny) == (first, many)
    assert BiasDirection.load(file) == first


def test_a_cache_that_cannot_be_written_stops_nobody(kept):
    kept.parent.write_text("a file where the folder should be")
    tiny = Counting()
    assert _made(tiny)[1] == _made(tiny)[1] > CHEAP


def test_the_cache_may_be_left_out(kept):
    tiny = Counting()
    assert _made(tiny, use_cache=False)[1] == _made(tiny, use_cache=False)[1]
    assert not kept.exists()
    bias_score(["a nurse ."], tiny.model, tokenizer=tiny.tokenizer, use_cache=False)
    assert not kept.exists()
