"""Hard debiasing: against the equations word by word, theorems, planted stereotypes, and the matrix inside a model."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.attributes import load_attribute
from hf_fairness.erasure import (
    DebiasWords,
    encoder_alone,
    hard_debias,
    hard_debias_embeddings,
    hard_debias_vectors,
    token_words,
    whole_sets,
)
from support.tiny_bert import tiny_bert

PAIRS = [("he", "she"), ("man", "woman"), ("king", "queen"), ("son", "daughter")]
NEUTRAL = ["doctor", "nurse", "table", "boss", "beard"]
WORDS = [word for pair in PAIRS for word in pair] + NEUTRAL


def planted(dim=12, seed=0):
    """Vectors in which pairs differ along one direction, and occupations lean along it; and that direction."""
    random = np.random.default_rng(seed)
    direction = random.normal(size=dim)
    direction /= np.linalg.norm(direction)
    rows = []
    for _ in PAIRS:
        middle = random.normal(size=dim)
        rows += [middle + 2 * direction, middle - 2 * direction + 0.05 * random.normal(size=dim)]
    rows += [random.normal(size=dim) + lean * direction for lean in (3.0, -3.0, 0.0, 3.0, 6.0)]
    return np.array(rows), direction


def by_the_paper(words, vectors, definitional, equalize, specific, k):
    """Section 6 of Bolukbasi et al. 2016, a word at a time."""
    unit = {word: vector / np.sqrt((vector**2).sum()) for word, vector in zip(words, vectors, strict=True)}
    scatter = np.zeros((vectors.shape[1],) * 2)
    for each in definitional:
        mean = sum(unit[word] for word in each) / len(each)
        for word in each:
            scatter += np.outer(unit[word] - mean, unit[word] - mean) / len(each)
    basis = np.linalg.eigh(scatter)[1][:, ::-1][:, :k].T
    part = {word: sum((vector @ b) * b for b in basis) for word, vector in unit.items()}
    new = dict(unit)
    for word in words:
        if word not in specific and all(word not in each for each in equalize):
            rest = unit[word] - part[word]
            new[word] = rest / np.sqrt((rest**2).sum())
    for each in equalize:
        mean = sum(unit[word] for word in each) / len(each)
        mean_part = sum(part[word] for word in each) / len(each)
        left = mean - mean_part
        for word in each:
            away = part[word] - mean_part
            new[word] = left + np.sqrt(1 - (left**2).sum()) * away / np.sqrt((away**2).sum())
    return np.array([new[word] for word in words])


@given(st.integers(0, 50), st.integers(1, 3), st.integers(0, 4))
def test_the_equations_of_the_paper(seed, k, n_equal):
    vectors = planted(seed=seed)[0]
    found, _ = hard_debias(WORDS, vectors, definitional=PAIRS, equalize=PAIRS[:n_equal], specific={"beard"}, k=k)
    assert np.allclose(found, by_the_paper(WORDS, vectors, PAIRS, PAIRS[:n_equal], {"beard"}, k), atol=1e-6)


def test_sets_of_three_groups():
    random = np.random.default_rng(3)
    sets = [(f"a{i}", f"b{i}", f"c{i}") for i in range(4)]
    words = [word for each in sets for word in each] + ["x", "y"]
    vectors = random.normal(size=(len(words), 9))
    found, _ = hard_debias(words, vectors, definitional=sets, equalize=sets[:2], k=2)
    assert np.allclose(found, by_the_paper(words, vectors, sets, sets[:2], set(), 2), atol=1e-6)


def test_a_planted_stereotype_is_there_before_and_gone_after():
    vectors, _ = planted()
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found, projection = hard_debias(WORDS, vectors, definitional=PAIRS, equalize=PAIRS, specific={"beard"})
    he, she, doctor, nurse, beard = (WORDS.index(word) for word in ("he", "she", "doctor", "nurse", "beard"))
    before = [units[row] @ (units[he] - units[she]) for row in (doctor, nurse)]
    assert before[0] > 0.2  # the harm
    assert before[1] < -0.2
    after = [found[row] @ (found[he] - found[she]) for row in (doctor, nurse)]
    assert np.allclose(after, 0, atol=1e-6)
    assert np.allclose(found[beard], units[beard])  # specific words keep what they are
    assert np.allclose(np.linalg.norm(found, axis=1), 1)
    assert np.allclose(found[len(PAIRS) * 2 : -1] @ projection.directions.T, 0, atol=1e-6)


def test_pairs_are_equally_far_from_every_neutral_word():
    vectors, _ = planted(seed=5)
    found, _ = hard_debias(WORDS, vectors, definitional=PAIRS, equalize=PAIRS, keep_lengths=False)
    for left, right in PAIRS:
        one, other = found[WORDS.index(left)], found[WORDS.index(right)]
        assert np.allclose(found[len(PAIRS) * 2 :] @ one, found[len(PAIRS) * 2 :] @ other, atol=1e-6)


def test_lengths_are_kept_where_asked():
    vectors, _ = planted(seed=2)
    options = {"definitional": PAIRS, "equalize": PAIRS}
    kept, _ = hard_debias(WORDS, vectors, **options, keep_lengths=True)
    units, _ = hard_debias(WORDS, vectors, **options)
    assert np.allclose(np.linalg.norm(kept, axis=1), np.linalg.norm(vectors, axis=1))
    assert np.allclose(kept / np.linalg.norm(kept, axis=1, keepdims=True), units)


def test_the_first_of_sets_that_share_a_word_counts():
    vectors, _ = planted()
    first, _ = hard_debias(WORDS, vectors, definitional=PAIRS, equalize=[("he", "she"), ("he", "woman")])
    alone, _ = hard_debias(WORDS, vectors, definitional=PAIRS, equalize=[("he", "she")])
    assert np.array_equal(first, alone)


def test_the_published_lists_are_read_as_they_are(shared):
    folder = shared / "data" / "wordlists"
    lists = {
        name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("definitional_pairs", "equalize_pairs", "gender_specific_full")
    }
    words = sorted({word for pair in lists["definitional_pairs"] + lists["equalize_pairs"] for word in pair} | {"desk"})
    vectors = np.random.default_rng(0).normal(size=(len(words), 40))
    found, projection = hard_debias(
        words,
        vectors,
        definitional=lists["definitional_pairs"],
        equalize=lists["equalize_pairs"],
        specific=lists["gender_specific_full"],
    )
    desk = found[words.index("desk")]
    assert projection.directions.shape == (1, 40)
    assert desk @ projection.directions[0] == pytest.approx(0, abs=1e-6)
    for left, right in lists["equalize_pairs"]:
        assert found[words.index(left)] @ desk == pytest.approx(found[words.index(right)] @ desk, abs=1e-6)


GOOD = {"words": WORDS, "vectors": planted()[0], "definitional": PAIRS}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vectors": planted()[0][:3]}, "expected one row for each of 13 words"),
        ({"words": ["he", *WORDS[:-1]]}, "A word stands twice"),
        ({"vectors": planted()[0] * 0}, "The vector of 'he' has no direction"),
        ({"vectors": planted()[0] * np.nan}, "The vector of 'he' has no direction"),
        ({"definitional": [("actor", "actress")]}, "No definitional set has vectors"),
        ({"definitional": [("he", "she"), ("man", "woman", "king")]}, "differ in size"),
        ({"k": 9}, "k .* is 9, expected 1 to 4"),
        ({"definitional": [("he", "he")]}, "expected 1 to 0"),
    ],
)
def test_what_cannot_be_done_is_an_error(change, message):
    with pytest.raises(ValueError, match=message):
        hard_debias(**{**GOOD, **change})


def test_pairs_that_do_not_differ_cannot_be_equalised():
    vectors, _ = planted()
    rows = [WORDS.index("doctor"), WORDS.index("nurse")]
    basis = hard_debias(WORDS, vectors, definitional=PAIRS)[1].directions[0].astype(float)
    vectors[rows] = [planted(seed=1)[0][0], planted(seed=2)[0][0]]
    vectors[rows] -= np.outer(vectors[rows] @ basis, basis)
    with pytest.raises(ValueError, match="The words doctor, nurse do not differ in the subspace"):
        hard_debias(WORDS, vectors, definitional=PAIRS, equalize=[("doctor", "nurse")])


@pytest.fixture
def bert():
    return tiny_bert([*WORDS, "##he", "He"], "BertModel")


def test_the_matrix_inside_a_model_changes_where_it_should(bert):
    model, tokenizer = bert
    old = model.get_input_embeddings().weight.detach().clone()
    projection = hard_debias_embeddings(model, tokenizer, definitional=PAIRS, equalize=PAIRS, specific={"beard"})
    new = model.get_input_embeddings().weight.detach()
    ids = tokenizer.get_vocab()
    assert torch.equal(new[tokenizer.all_special_ids], old[tokenizer.all_special_ids])
    assert torch.equal(new[ids["beard"]], old[ids["beard"]])
    assert np.allclose(new.norm(dim=1), old.norm(dim=1), atol=1e-5)
    basis = torch.as_tensor(projection.directions)
    for word in ("doctor", "nurse", "##he"):  # a piece of a word is no pronoun
        assert (old[ids[word]] @ basis.T).abs().item() > 1e-4
        assert (new[ids[word]] @ basis.T).abs().item() < 1e-5
    assert not torch.equal(new[ids["he"]], old[ids["he"]])


def test_the_matrix_is_that_of_the_words_alone(bert):
    model, tokenizer = bert
    weight = model.get_input_embeddings().weight.detach().double().numpy()
    ids = tokenizer.get_vocab()
    rows = [row for word, row in ids.items() if row not in tokenizer.all_special_ids]
    names = [word for word, row in ids.items() if row not in tokenizer.all_special_ids]
    wanted, _ = hard_debias(names, weight[rows], definitional=PAIRS, keep_lengths=True)
    hard_debias_embeddings(model, tokenizer, definitional=PAIRS)
    assert np.allclose(model.get_input_embeddings().weight.detach()[rows], wanted, atol=1e-6)


def test_half_precision_stays(bert):
    model, tokenizer = bert
    model.to(torch.bfloat16)
    hard_debias_embeddings(model, tokenizer, definitional=PAIRS)
    weight = model.get_input_embeddings().weight
    assert weight.dtype == torch.bfloat16
    assert torch.isfinite(weight).all()


class Tokenizer:
    """As far as `token_words` asks."""

    def __init__(self, tokens, special=()):
        self.tokens, self.all_special_tokens = tokens, special

    def __len__(self):
        return len(self.tokens)

    def convert_ids_to_tokens(self, ids):
        return [self.tokens[i] for i in ids]


@pytest.mark.parametrize(
    ("tokens", "special", "words"),
    [
        (["[CLS]", "he", "##he", "She"], ["[CLS]"], ["", "he", "", "She"]),
        (["<s>", "▁he", "he", "▁"], ["<s>"], ["", "he", "", ""]),
        (["Ġhe", "he", "!", "Ġ"], [], ["he", "", "", ""]),
    ],
)
def test_the_word_that_a_token_is(tokens, special, words):
    assert token_words(Tokenizer(tokens, special)) == words


def test_the_words_of_an_attribute_are_sets_with_a_word_for_each_group():
    words = DebiasWords.of(load_attribute("gender"))
    assert {("he", "she"), ("man", "woman"), ("mother", "father")[::-1]} <= set(words.definitional)
    assert ("actor", "actress") in set(words.equalize) - set(words.definitional)
    assert set(words.definitional) <= set(words.equalize)
    assert {"he", "hers", "fathers"} <= words.specific
    assert "doctor" not in words.specific
    of_three = DebiasWords.of(load_attribute("religion"))
    assert ("church", "synagogue", "mosque") in of_three.definitional  # it has neither pronouns nor kin
    assert {len(each) for each in of_three.equalize} == {3}


def test_the_words_of_a_folder_are_those_of_its_files(tmp_path):
    with pytest.raises(ValueError, match=r"has no definitional_pairs\.json, expected a folder with the lists"):
        DebiasWords.read(tmp_path)
    (tmp_path / "definitional_pairs.json").write_text('[["he", "she"]]')
    assert DebiasWords.read(tmp_path) == DebiasWords((("he", "she"),))
    (tmp_path / "gender_specific_full.json").write_text('["beard"]')
    assert DebiasWords.read(tmp_path).specific == {"beard"}
    for wrong in ('["he"]', '[["he"]]', "{}", '[["he", 1]]'):
        (tmp_path / "equalize_pairs.json").write_text(wrong)
        with pytest.raises(ValueError, match=r"equalize_pairs\.json holds something else"):
            DebiasWords.read(tmp_path)
    (tmp_path / "equalize_pairs.json").write_text("[")
    with pytest.raises(ValueError, match=r"equalize_pairs\.json is no JSON file"):
        DebiasWords.read(tmp_path)


def test_the_published_folder_has_the_sizes_of_the_paper(shared):
    words = DebiasWords.read(shared / "data" / "wordlists")
    assert (len(words.definitional), len(words.equalize)) == (10, 52)
    assert len(words.specific) == 1441


def test_sets_of_which_a_word_is_split_are_left_out():
    tokenizer = Tokenizer(["▁he", "▁She", "▁she", "▁He", "▁wo", "man", "▁man"])
    assert whole_sets(tokenizer, [["he", "she"], ["man", "woman"]]) == [("he", "she")]
    assert whole_sets(Tokenizer(["▁HE"]), [["he", "she"]]) == []


KINDS = ("Marian", "Bart", "M2M100", "T5")


def translator(kind, **more):
    sizes = {"d_model": 16, "vocab_size": 20, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    if kind == "T5":
        sizes |= {"d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    else:
        both = {"layers": 1, "attention_heads": 2, "ffn_dim": 16}
        sizes |= {f"{side}_{name}": value for name, value in both.items() for side in ("encoder", "decoder")}
        sizes |= {"max_position_embeddings": 32, "forced_eos_token_id": 1}
    made = {"Marian": "MarianMTModel"}.get(kind, f"{kind}ForConditionalGeneration")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return getattr(transformers, made)(getattr(transformers, f"{kind}Config")(**sizes, **more)).eval()


def logits(model):
    with torch.no_grad():
        return model(input_ids=torch.tensor([[5, 6, 1]]), decoder_input_ids=torch.tensor([[0, 8, 9]])).logits


@pytest.mark.parametrize("kind", KINDS)
def test_the_encoder_gets_a_matrix_of_its_own_and_the_saved_model_keeps_it(kind, tmp_path):
    model = translator(kind)
    before = logits(model)
    apart = encoder_alone(model)
    assert torch.allclose(logits(apart), before, atol=1e-5)
    weight = apart.get_encoder().get_input_embeddings().weight
    decoder, output = apart.get_decoder().get_input_embeddings().weight, apart.get_output_embeddings().weight
    others = [decoder.detach().clone(), output.detach().clone()]
    with torch.no_grad():
        weight[5] = 1.0 - weight[5]
    assert torch.equal(decoder, others[0])
    assert torch.equal(output, others[1])
    assert not torch.allclose(logits(apart), before, atol=1e-5)
    assert torch.allclose(logits(model), before, atol=1e-5)  # what was given is as it was
    apart.save_pretrained(tmp_path)
    opened = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path).eval()
    assert torch.allclose(logits(opened), logits(apart), atol=1e-5)
    assert encoder_alone(opened) is opened  # it has one already


def test_half_precision_and_an_encoder_of_its_own_go_together():
    assert encoder_alone(translator("Marian").to(torch.bfloat16)).dtype == torch.bfloat16


def test_a_family_that_cannot_have_two_matrices_is_refused(monkeypatch):
    model = translator("Bart")
    monkeypatch.setattr(type(model), "get_decoder", lambda self: self.model.encoder)
    with pytest.raises(ValueError, match="BartForConditionalGeneration reads one matrix"):
        encoder_alone(model)


def test_a_mapping_of_words_keeps_its_lengths_and_words_with_a_capital_go_the_same_way():
    vectors, _ = planted()
    given = dict(zip(WORDS, vectors, strict=True)) | {
        "He": 2 * vectors[0],
        "She": 2 * vectors[1],
        "zero": 0 * vectors[0],
    }
    words = DebiasWords(tuple(PAIRS), tuple(PAIRS[:2]), frozenset({"beard"}))
    found, projection = hard_debias_vectors(given, words)
    every = [word for word in given if word != "zero"]
    cased = [*PAIRS, ("He", "She")]
    by_hand = by_the_paper(
        every, np.array([given[word] for word in every]), cased, [*PAIRS[:2], cased[-1]], {"beard"}, 1
    )
    for word, unit in zip(every, by_hand, strict=True):
        np.testing.assert_allclose(found[word], unit * np.linalg.norm(given[word]), atol=1e-4)
    assert not found["zero"].any()
    assert list(found) == list(given)
    np.testing.assert_array_equal(given["doctor"], vectors[len(PAIRS) * 2])
    assert projection.directions.shape == (1, 12)
    with pytest.raises(ValueError, match="No definitional set"):
        hard_debias_vectors({"table": [1.0, 2.0]}, words)
