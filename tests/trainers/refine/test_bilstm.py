"""BiLSTM-max: which words it knows, what it makes of texts, and that it opens anywhere."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from hf_fairness.encoders import as_encoder, input_embeddings, token_encoder
from hf_fairness.erasure import DebiasWords
from hf_fairness.trainers.refine.bilstm import bilstm_max, is_bilstm, measured_texts, open_word_vectors
from support.tiny_bert import save_tiny_bert
from tests.support.token_vectors import iter_tokens

WORDS = ["a", "the", "nurse", "Mary", "she", "he", "do", "n't", "'s", "well-known", "."]
TEXTS = ["The nurse, Mary's, don’t care.", "", "zzz qqq", "the well-known nurse", "she"]


def make_vectors(dim: int = 6, words=WORDS) -> dict[str, np.ndarray]:
    draws = np.random.default_rng(0)
    return {word: draws.normal(size=dim).astype(np.float32) for word in words}


@pytest.fixture(scope="module")
def vectors():
    return make_vectors()


@pytest.fixture(scope="module")
def model(vectors):
    return bilstm_max(vectors, hidden_size=4, device="cpu")


def tokens_of(model, text):
    tokenizer = model[0].tokenizer.tokenizer
    return [token.removeprefix("▁") for token in tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])]


def test_a_text_is_cut_as_glove_was_and_unknown_words_are_passed_over(model):
    assert tokens_of(model, TEXTS[0]) == ["<s>", "nurse", "Mary", "'s", "do", "n't", ".", "</s>"]
    assert tokens_of(model, "zebra nursed an A") == ["<s>", "</s>"]
    assert tokens_of(model, "well-known nurse.") == ["<s>", "well-known", "nurse", ".", "</s>"]


def test_the_vectors_are_those_of_a_direct_computation(model, vectors):
    lstm = torch.nn.LSTM(6, 4, bidirectional=True, batch_first=True)
    lstm.load_state_dict(model[1].encoder.state_dict())
    end = np.zeros(6, dtype=np.float32)
    read = torch.tensor(np.stack([end, vectors["the"], vectors["nurse"], end]))[None]
    with torch.no_grad():
        expected = lstm(read)[0].amax(dim=1)[0].numpy()
    np.testing.assert_allclose(model.encode("the zzz nurse"), expected, atol=1e-6)


def test_texts_without_known_words_have_the_vector_of_the_empty_text(model):
    found = model.encode(TEXTS)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[1], found[2], atol=1e-6)
    assert not np.allclose(found[1], found[3])


def test_same_seed_same_weights_and_the_global_generator_is_left_alone(vectors):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, same, other = (bilstm_max(vectors, hidden_size=4, seed=seed, device="cpu").encode("she") for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other)


def test_only_words_of_the_texts_and_of_the_measures_are_kept():
    large = make_vectors(words=[*WORDS, "Nurse", "engineer", "xylophone", "quux"])
    known = set(bilstm_max(large, texts=["The Nurse"], hidden_size=2, device="cpu")[0].tokenizer.get_vocab(()))
    assert {"▁Nurse", "▁he", "▁she", "▁Mary"} <= known
    assert "▁quux" not in known
    assert "▁xylophone" not in known
    assert "This is John." in measured_texts()


def test_words_in_capitals_have_the_vector_of_small_letters_where_theirs_is_missing(vectors):
    model = bilstm_max(vectors, texts=["The NURSE"], hidden_size=2, device="cpu")
    assert tokens_of(model, "The NURSE") == ["<s>", "The", "NURSE", "</s>"]
    np.testing.assert_array_equal(model.encode("The NURSE"), model.encode("the nurse"))


def test_vectors_in_small_letters_alone_are_read_as_such():
    model = bilstm_max(make_vectors(words=["the", "nurse"]), hidden_size=2, device="cpu")
    assert tokens_of(model, "THE Nurse") == ["<s>", "the", "nurse", "</s>"]


def test_files_of_glove_and_word2vec(tmp_path, vectors, model):
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in vectors.items()]
    for name, text in (("glove.txt", lines), ("word2vec.txt", [f"{len(lines)} 6", *lines])):
        (tmp_path / name).write_text("\n".join(text) + "\n", encoding="utf-8")
        opened = bilstm_max(tmp_path / name, hidden_size=4, device="cpu")
        np.testing.assert_allclose(opened.encode(TEXTS), model.encode(TEXTS), atol=1e-5)
    assert set(open_word_vectors(tmp_path / "glove.txt", ["The nurse"])) == {"the", "nurse"}


def test_saved_it_opens_without_this_package(tmp_path, model):
    model.save(str(tmp_path / "model"))
    assert not list(tmp_path.rglob("*.bin"))
    opened = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    np.testing.assert_array_equal(opened.encode(TEXTS), model.encode(TEXTS))
    np.testing.assert_allclose(as_encoder(str(tmp_path / "model")).encode(TEXTS), model.encode(TEXTS), atol=1e-6)
    assert is_bilstm(opened)


@pytest.mark.whole
def test_saved_it_opens_in_a_process_without_this_package(tmp_path, model):
    model.save(str(tmp_path / "model"))
    code = (
        "import sys; from sentence_transformers import SentenceTransformer as S; "
        f"print(S({str(tmp_path / 'model')!r}, device='cpu').encode('she').tolist()); "
        "assert not any(name.startswith('hf_fairness') for name in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    np.testing.assert_allclose(eval(done.stdout), model.encode("she"), atol=1e-6)


def test_states_of_the_tokens_pool_to_the_vector_of_the_text(model):
    opened = token_encoder(as_encoder(model))
    assert opened.pooling == "max"
    np.testing.assert_allclose(opened.encode(TEXTS), model.encode(TEXTS), atol=1e-6)
    for place, tokens in iter_tokens(opened, TEXTS):
        np.testing.assert_allclose(tokens.vectors.max(axis=0), model.encode(TEXTS[place]), atol=1e-6)
    text = next(tokens for place, tokens in iter_tokens(opened, TEXTS) if place == 0)
    read = [TEXTS[0][start:end] for start, end in text.spans]
    assert read == ["", "nurse", "Mary", "'s", "do", "n’t", ".", ""]


def test_input_embeddings_of_a_transformer_are_read_with_its_tokenizer(tmp_path):
    folder = save_tiny_bert(tmp_path / "bert", ["she", "nurse", "##s"])
    bert = as_encoder(folder)
    model = bilstm_max(folder, texts=["ignored"], hidden_size=2, device="cpu")
    assert tokens_of(model, "she nurses") == ["[CLS]", "she", "nurse", "##s", "[SEP]"]
    matrix = bert.model.get_input_embeddings().weight.detach().numpy()
    np.testing.assert_array_equal(model[0].emb_layer.weight.numpy(), matrix)
    np.testing.assert_array_equal(input_embeddings(as_encoder(model))["nurses"], input_embeddings(bert)["nurses"])
    same = bilstm_max(input_embeddings(bert), hidden_size=2, device="cpu")
    np.testing.assert_array_equal(same.encode(["she"]), model.encode(["she"]))


def test_hard_debiased_vectors_are_read_where_words_to_go_by_are_given(tmp_path):
    """Neutralised and equalised by hand: *he* and *she* differ in the first number alone."""
    given = {"he": [3.0, 4.0, 0.0], "she": [-3.0, 4.0, 0.0], "nurse": [-1.0, 0.0, 2.0], "NURSE": [1.0, 1.0, 0.0]}
    words = DebiasWords((("he", "she"),), (("he", "she"),), frozenset({"he", "she"}))
    model = bilstm_max(given, texts=["The nurse NURSE He"], debias=words, hidden_size=2, device="cpu")
    read = as_encoder(input_embeddings(as_encoder(model)))
    expected = {
        "he": [3.0, 4.0, 0.0],  # sqrt(1 - .8 ** 2) = .6: they were equal already
        "He": [3.0, 4.0, 0.0],
        "she": [-3.0, 4.0, 0.0],
        "nurse": [0.0, 0.0, np.sqrt(5.0)],
        "NURSE": [0.0, np.sqrt(2.0), 0.0],
    }
    for word, vector in expected.items():
        np.testing.assert_allclose(read.encode([word])[0], vector, atol=1e-5)
    folder = save_tiny_bert(tmp_path / "bert", ["he", "she", "nurse"])
    models = (bilstm_max(folder, debias=how, hidden_size=2, device="cpu") for how in (None, words))
    plain, made = (input_embeddings(as_encoder(model)) for model in models)
    gap = plain["he"] / np.linalg.norm(plain["he"]) - plain["she"] / np.linalg.norm(plain["she"])
    gap /= np.linalg.norm(gap)
    assert abs(plain["nurse"] @ gap) > 1e-3
    assert abs(made["nurse"] @ gap) < 1e-5
    assert np.linalg.norm(made["nurse"]) == pytest.approx(np.linalg.norm(plain["nurse"]), rel=1e-5)


def test_half_precision_stays_where_it_is(vectors):
    half = {word: vector.astype(np.float16) for word, vector in vectors.items()}
    assert bilstm_max(half, hidden_size=2, device="cpu").encode("she").dtype == np.float32


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vectors": {"xyzzy": [1.0]}, "texts": ["a b"]}, "None of the .* words of the texts has a vector"),
        ({"vectors": {"a": [1.0], "b": [1.0, 2.0]}}, "one length"),
        ({"vectors": {"a": [1.0, float("nan")]}}, "finite"),
        ({"vectors": {}}, "empty mapping"),
        ({"vectors": {"a": [1.0]}, "hidden_size": 0}, "hidden_size is 0"),
        ({"vectors": {"a": [1.0]}, "texts": []}, "texts is empty"),
    ],
)
def test_what_cannot_be_read_is_said(given, message):
    with pytest.raises(ValueError, match=message):
        bilstm_max(**{"hidden_size": 2, "device": "cpu", **given})


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file of word vectors"):
        bilstm_max(tmp_path / "glove.txt")
    with pytest.raises(TypeError, match="expected word vectors"):
        bilstm_max(lambda texts: np.zeros((len(texts), 2)))
