"""Tokens with their vectors and places, and word vectors out of context."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hf_fairness.encoders import (
    InputEmbeddings,
    as_encoder,
    input_embeddings,
    read_word_vectors,
    token_encoder,
)
from tests.support.token_vectors import iter_tokens

TEXTS = ["the man works at the office .", "she", "a woman is here .", "one two three four", "he is at home"]
REAL = ["She likes the naïve  dress.", "Ünderstand antidisestablishmentarianism!", "Rain", "It's 5 o'clock — really?"]


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_tokens_are_those_of_a_text_alone(bert, tokenizer, batch_size):
    encoder = token_encoder(as_encoder(bert, tokenizer=tokenizer, batch_size=batch_size))
    found = dict(iter_tokens(encoder, TEXTS))
    assert sorted(found) == list(range(5))
    for place, text in enumerate(TEXTS):
        with torch.no_grad():
            hidden = bert(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
        assert found[place].vectors == pytest.approx(hidden, abs=1e-5)
        pieces = [text[start:end] for start, end in found[place].spans]
        assert pieces == ["", *text.split(), ""]  # the special tokens stand for no characters


@pytest.mark.parametrize("normalize", [None, True])
def test_pooled_tokens_are_the_sentence_vector(minilm, normalize):
    encoder = as_encoder(minilm, normalize=normalize)
    opened = token_encoder(encoder)
    assert (opened.pooling, opened.normalize, opened.max_length) == ("mean", True, minilm.max_seq_length)
    whole = encoder.encode(REAL)
    assert opened.encode(REAL) == pytest.approx(whole, abs=1e-6)
    for place, tokens in iter_tokens(opened, REAL):
        mean = tokens.vectors.mean(axis=0)
        assert mean / np.linalg.norm(mean) == pytest.approx(whole[place], abs=1e-5)
        text = "".join(REAL[place][start:end] for start, end in tokens.spans)
        assert text == REAL[place].replace(" ", "")  # every character is in one token


def test_long_texts_are_cut_and_training_mode_put_back(bert, tokenizer):
    encoder = token_encoder(as_encoder(bert, tokenizer=tokenizer, max_length=4))
    bert.train()
    (_, tokens), *rest = iter_tokens(encoder, ["one two three four"])
    assert bert.training
    assert not rest
    bert.eval()
    assert [span for span in tokens.spans if span != (0, 0)] == [(0, 3), (4, 7)]
    stopped = iter_tokens(encoder, TEXTS)
    bert.train()
    next(stopped)
    assert torch.is_grad_enabled()
    stopped.close()
    assert bert.training
    bert.eval()


def test_encoders_without_comparable_tokens_are_refused(bert, tokenizer):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    with pytest.raises(ValueError, match="no token vectors"):
        token_encoder(as_encoder({"a": [1.0]}))
    with pytest.raises(ValueError, match="no token vectors"):
        token_encoder(as_encoder(lambda texts: np.ones((len(texts), 2))))
    static = SentenceTransformer(modules=[modules.StaticEmbedding(tokenizer.backend_tokenizer, embedding_dim=4)])
    with pytest.raises(ValueError, match="is made of StaticEmbedding"):
        token_encoder(as_encoder(static))

    class Slow:
        is_fast = False

    with pytest.raises(ValueError, match=r"tokenizer \(Slow\) does not say which characters"):
        token_encoder(as_encoder(bert, tokenizer=Slow()))


def test_prompts_dense_layers_and_other_poolings_are_refused(minilm_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling

    model = SentenceTransformer(minilm_path, device="cpu")
    model.prompts, model.default_prompt_name = {"query": "query: "}, "query"
    with pytest.raises(ValueError, match=r"puts 'query: ' before every text"):
        token_encoder(as_encoder(model))
    model.default_prompt_name = None
    dense = SentenceTransformer(modules=[model[0], model[1], Dense(384, 384)], device="cpu")
    with pytest.raises(ValueError, match="made of Transformer, Pooling, Dense"):
        token_encoder(as_encoder(dense))
    last = SentenceTransformer(modules=[model[0], Pooling(384, pooling_mode="lasttoken")], device="cpu")
    with pytest.raises(ValueError, match="pools by 'lasttoken'"):
        token_encoder(as_encoder(last))
    for mode in ("max", "cls"):
        pooled = as_encoder(SentenceTransformer(modules=[model[0], Pooling(384, pooling_mode=mode)], device="cpu"))
        assert token_encoder(pooled).encode(REAL) == pytest.approx(pooled.encode(REAL), abs=1e-5)


def test_input_embeddings_are_rows_of_the_matrix_or_their_mean(minilm):
    vectors = input_embeddings(as_encoder(minilm))
    assert isinstance(vectors, InputEmbeddings)
    matrix = minilm.transformers_model.get_input_embeddings().weight.detach().numpy()
    row = minilm.tokenizer.convert_tokens_to_ids("nurse")
    assert (vectors["nurse"] == matrix[row]).all()
    assert (vectors["Nurse"] == vectors["nurse"]).all()  # the tokenizer writes small letters
    pieces = minilm.tokenizer("homemaker", add_special_tokens=False)["input_ids"]
    assert len(pieces) > 1
    assert vectors["homemaker"] == pytest.approx(matrix[pieces].mean(axis=0))
    assert "nurse" in vectors
    assert "" not in vectors
    assert 3 not in vectors
    with pytest.raises(KeyError):
        vectors[" "]
    assert as_encoder(vectors).encode(["nurse"]).shape == (1, 384)
    with pytest.raises(ValueError, match="no input embedding matrix"):
        input_embeddings(as_encoder({"a": [1.0]}))


def test_input_embeddings_of_a_plain_transformers_model(bert, tokenizer):
    vectors = input_embeddings(as_encoder(bert, tokenizer=tokenizer))
    assert "woman" in vectors
    assert "unheard" not in vectors  # its only piece is the unknown token


def test_word_vectors_from_text_files(tmp_path):
    glove = tmp_path / "glove.txt"
    glove.write_text("the 0.5 -1 2e-1\n. . . 1 2 3\nnaïve 1 0 0\nthe 9 9 9\n", encoding="utf-8")
    found = read_word_vectors(glove)
    assert {word: vector.tolist() for word, vector in found.items()} == {
        "the": pytest.approx([0.5, -1.0, 0.2]),  # the first line of a word counts
        ". . .": [1.0, 2.0, 3.0],
        "naïve": [1.0, 0.0, 0.0],
    }
    assert list(read_word_vectors(glove, words={"naïve"})) == ["naïve"]
    word2vec = tmp_path / "w2v.vec"
    word2vec.write_text("2 2\na 1 0\nb 0 1\r\n", encoding="utf-8")
    assert as_encoder(str(word2vec)).encode(["a b", "b"]).tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert as_encoder(word2vec).label == "w2v.vec"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1 2\nb 1\n", r"line 2: expected a word and 2 numbers; got 'b 1"),
        ("a 1 x\n", "line 1: expected a word and 2 numbers"),
        ("a nan 1\n", "line 1: expected a word and 2 numbers"),
        ("a\n", "line 1: expected a word and some numbers"),
        ("", "holds no word vectors"),
    ],
)
def test_broken_word_vector_files(tmp_path, content, message):
    path = tmp_path / "v.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_word_vectors(path)
    with pytest.raises(ValueError, match="is a file, and holds no word vectors"):
        as_encoder(path)


def test_words_that_no_vector_file_has(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("a 1 2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="of the words asked for"):
        read_word_vectors(path, words={"b"})
    with pytest.raises(FileNotFoundError):
        read_word_vectors(tmp_path / "absent.txt")


def test_vectors_of_gensim_serve_as_they_are_and_as_a_file(tmp_path):
    models = pytest.importorskip("gensim.models")
    from hf_fairness.measure import bias_direction, bias_score

    vectors = models.KeyedVectors(3)
    rows = {"he": [-1, 0, 0], "she": [1, 0.1, 0], "man": [-1, 1, 0], "woman": [1, 0.9, 0], "nurse": [0.6, 0.8, 0]}
    vectors.add_vectors(list(rows), np.array(list(rows.values()), dtype=np.float32))
    vectors.save_word2vec_format(tmp_path / "vectors.txt")
    found = bias_direction(vectors, [("he", "she"), ("man", "woman")])
    assert found.vector == pytest.approx([1, 0, 0], abs=1e-6)
    from_file = bias_direction(tmp_path / "vectors.txt", [("he", "she"), ("man", "woman")])
    assert from_file.vector == pytest.approx(found.vector)
    expected = 0.6 * 1.0 / np.hypot(-0.4, 0.8)  # cos(nurse, g) x |nurse / 2| / |(he + nurse) / 2|
    for model in (vectors, tmp_path / "vectors.txt"):
        assert bias_score(["he nurse"], model, direction=found)["female"] == pytest.approx([expected], abs=1e-6)
