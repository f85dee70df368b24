"""The small tokenizer gives every text back; the small Marian is the same for the same seed, and opens anywhere."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hf_fairness.measure.translator.translation import translate
from hf_fairness.trainers.gfst.small_translator import small_marian, small_tokenizer
from support.toy_translator import toy_model, toy_pairs, toy_tokenizer

ITALIAN = [
    "L'amica dell'avvocato ha detto: «È già l'una, perché non c'è più?»",
    "Un po’ d'acqua costa 1.250,50 € (circa il 3%) – e lei... 'No!', \"disse\".",
    "C'e' chi l'ha vista a Forlì; dall'altra parte, nell'estate del '68, l'Università aprì.",
]


@pytest.fixture(scope="module")
def bpe():
    return small_tokenizer([*ITALIAN, *(text for pair in toy_pairs() for text in pair)], vocab_size=400)


def back(tokenizer, text):
    return tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True)


@pytest.mark.parametrize("text", [*ITALIAN, "中文 🙂 naïve coöperate l'été", "a", "", "..."])
def test_every_text_comes_back(bpe, text):
    assert back(bpe, text) == text
    assert bpe.unk_token_id not in bpe(text)["input_ids"]


@settings(max_examples=100)
@given(
    text=st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C", "M")), min_size=1)).map(" ".join)
)
def test_any_text_comes_back_with_single_spaces(bpe, text):
    import unicodedata

    text = unicodedata.normalize("NFC", text)
    if not any(token in text for token in bpe.all_special_tokens):
        assert back(bpe, f"  {text}\n") == text


def test_words_of_the_toy_language(tmp_path):
    tokenizer = toy_tokenizer()
    assert back(tokenizer, "il gatto vede il cane.") == "il gatto vede il cane."
    assert tokenizer.convert_ids_to_tokens(tokenizer("the zebra sees")["input_ids"])[1] == "<unk>"
    assert tokenizer("the cat")["input_ids"][-1] == tokenizer.eos_token_id


def test_the_order_of_the_texts_does_not_matter(bpe):
    texts = [*ITALIAN, *(text for pair in toy_pairs() for text in pair)]
    random.Random(3).shuffle(texts)
    assert small_tokenizer(texts, vocab_size=400).get_vocab() == bpe.get_vocab()


def test_model_and_tokenizer_open_again(tmp_path):
    tokenizer = toy_tokenizer()
    model = toy_model(tokenizer)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    opened, own = AutoModelForSeq2SeqLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert (own.pad_token, own.eos_token, own.unk_token) == ("<pad>", "</s>", "<unk>")
    assert type(opened).__name__ == "MarianMTModel"
    sources = [source for source, _ in toy_pairs()[:8]]
    assert translate(opened, own, sources) == translate(model, tokenizer, sources)
    assert [back(own, text) for _, text in toy_pairs()] == [text for _, text in toy_pairs()]


def test_the_decoder_starts_as_marian_does():
    tokenizer = toy_tokenizer()
    model = toy_model(tokenizer)
    assert model.config.decoder_start_token_id == model.config.pad_token_id == tokenizer.pad_token_id == 0
    assert model.generation_config.decoder_start_token_id == 0
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id
    labels = torch.tensor([[5, 6, 1, -100]])
    assert model.prepare_decoder_input_ids_from_labels(labels).tolist() == [[0, 5, 6, 1]]
    assert model.lm_head.weight is model.model.shared.weight


def test_the_seed_is_local():
    tokenizer = toy_tokenizer()
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    one, two, other = (toy_model(tokenizer, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), before)
    weights = [model.model.shared.weight for model in (one, two, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 30, "heads": 4}, "d_model is 30 with 4 heads"),
        ({"layers": 0}, "layers 0, 0"),
        ({"layers": (1, 0)}, "layers 1, 0"),
        ({"dropout": 1.0}, "dropout 1.0"),
        ({"max_length": 0}, "max_length 0"),
    ],
)
def test_sizes_out_of_range_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        small_marian(toy_tokenizer(), **changes)


def test_a_tokenizer_needs_texts_and_room():
    with pytest.raises(ValueError, match="no texts"):
        small_tokenizer([" "])
    with pytest.raises(ValueError, match="vocab_size is 100, expected at least 259"):
        small_tokenizer(["a"], vocab_size=100)
    with pytest.raises(ValueError, match="level is 'char'"):
        small_tokenizer(["a"], level="char")
    with pytest.raises(ValueError, match="needs pad_token"):
        small_marian(type("Bare", (), {"pad_token_id": None, "eos_token_id": 1})())
