"""Masked substitution: the model decides, and neither batch nor padding does."""

from __future__ import annotations

import pickle

import pytest
import torch
from datasets import Dataset
from transformers import (
    BertForMaskedLM,
    BertTokenizerFast,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from hf_fairness.augment.nlu import MaskedSubstitution
from hf_fairness.utils import FairnessWarning
from support.added_texts import added
from support.arrow_tables import check_arrow
from support.tiny_bert import tiny_bert

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = ["the", "not", "a", "an", "she", "boy", "dog", "cat", "apple", "tree", "bird", "sees", "red", "eats", "runs"]
PIECES = ["##s", "##ing", "x1", ".", ","]
TEXTS = [
    "The dog sees a tree.",
    "A red bird runs, the dog eats an apple, the cat sees the red tree, a bird eats the red apple.",
    "the boy runs",
    "The Not She",
    "",
]


@pytest.fixture(scope="module")
def bert() -> tuple[BertForMaskedLM, BertTokenizerFast]:
    """A random masked language model with a vocabulary of a few words."""
    return tiny_bert([*WORDS, *PIECES], "BertForMaskedLM", initializer_range=0.02)


def leaning(bert, *words: str) -> tuple[BertForMaskedLM, BertTokenizerFast]:
    """A copy of the model that predicts these words everywhere, the first one most."""
    model, tokenizer = pickle.loads(pickle.dumps(bert[0])), bert[1]
    with torch.no_grad():
        for rank, word in enumerate(words):
            model.cls.predictions.bias[tokenizer.convert_tokens_to_ids(word)] = 1000.0 - rank
    return model, tokenizer


def test_the_model_decides(bert):
    function = MaskedSubstitution("text", leaning(bert, "bird"), rate=1.0, top_k=1)
    found = added(function, ["The dog sees a tree.", "the boy runs"])
    assert found == {"The dog sees a tree.": "The bird bird a bird.", "the boy runs": "the bird bird"}


def test_the_article_follows_the_word(bert):
    function = MaskedSubstitution("text", leaning(bert, "apple"), rate=1.0, top_k=1)
    assert added(function, ["a dog"]) == {"a dog": "an apple"}


def test_never_the_word_itself_nor_pieces_nor_special_nor_function_words(bert):
    first = ["[MASK]", "[UNK]", "[SEP]", "##s", "##ing", "x1", ".", "the", "not", "dog", "cat"]
    function = MaskedSubstitution("text", leaning(bert, *first), rate=1.0, top_k=1)
    assert added(function, ["the dog"]) == {"the dog": "the cat"}
    assert added(function, ["the cat"]) == {"the cat": "the dog"}


def test_protected_terms_are_neither_replaced_nor_put_in(bert):
    free = MaskedSubstitution("text", leaning(bert, "boy", "tree"), rate=1.0, top_k=1)
    kept = MaskedSubstitution("text", leaning(bert, "boy", "tree"), rate=1.0, top_k=1, protect="gender")
    text = "the boy sees the dog"
    assert added(free, [text]) == {text: "the tree boy the boy"}
    assert added(kept, [text]) == {text: "the boy tree the tree"}


def test_byte_level_pieces_are_told_from_words():
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import RobertaConfig, RobertaForMaskedLM

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    inner.train_from_iterator(["the dog eats café sunset"] * 20, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", mask_token=AddedToken("<mask>", lstrip=True)
    )
    vocabulary = tokenizer.get_vocab()
    config = RobertaConfig(
        vocab_size=len(vocabulary),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        pad_token_id=1,
        max_position_embeddings=40,
    )
    model = RobertaForMaskedLM(config)
    with torch.no_grad():
        for rank, token in enumerate(["<mask>", "s", "\u0120", "\u0120dog", "\u0120caf\u00c3\u00a9"]):
            model.lm_head.bias[vocabulary[token]] = 1000.0 - rank
    function = MaskedSubstitution("text", (model, tokenizer), rate=1.0, top_k=1)
    assert added(function, ["the dog eats."]) == {"the dog eats.": "the café dog."}


def test_ties_go_to_the_lower_id(bert):
    model, tokenizer = leaning(bert, "bird")
    with torch.no_grad():
        ids = tokenizer.convert_tokens_to_ids(["bird", "apple"])
        model.cls.predictions.bias[ids] = 1000.0
        model.cls.predictions.decoder.weight[ids] = 0.0
    function = MaskedSubstitution("text", (model, tokenizer), rate=1.0, top_k=1)
    assert added(function, ["the dog"]) == {"the dog": "the apple"}


def test_top_k_and_seed_draw(bert):
    model = leaning(bert, "bird", "tree", "apple")
    drawn = {added(MaskedSubstitution("text", model, top_k=2, seed=seed), ["the dog"])["the dog"] for seed in range(20)}
    assert drawn == {"the bird", "the tree"}


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_masked_rows_do_not_depend_on_their_company(bert, tmp_path, batch_size):
    model, tokenizer = bert
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    rows = Dataset.from_dict({"text": TEXTS * 2, "n": list(range(2 * len(TEXTS)))})
    expected = MaskedSubstitution("text", str(tmp_path), rate=0.4)(rows[:])
    function = pickle.loads(pickle.dumps(MaskedSubstitution("text", tmp_path, rate=0.4, batch_size=batch_size)))
    assert rows.map(function, batched=True, batch_size=3)[:] == expected
    assert check_arrow(function, rows[:]).select(list(expected)).to_pydict() == expected
    stream = rows.to_iterable_dataset().map(function, batched=True, batch_size=4)
    assert list(stream) == Dataset.from_dict(expected).to_list()
    turned = rows.select(range(len(rows) - 1, -1, -1)).map(function, batched=True)
    assert sorted(map(repr, turned)) == sorted(map(repr, Dataset.from_dict(expected)))
    assert sum(expected["augmented"]) == 6  # nothing to mask in "The Not She" and in an empty text


def test_the_callable_pickles_without_the_model(bert, tmp_path):
    from datasets.fingerprint import Hasher

    for part in bert:
        part.save_pretrained(tmp_path)
    function = MaskedSubstitution("text", tmp_path)
    before = Hasher.hash(function)
    function({"text": ["the dog"]})
    assert len(pickle.dumps(function)) < 2000
    assert Hasher.hash(function) == before


def test_a_long_text_is_filled_where_the_model_reads(bert):
    text = " ".join(["the dog sees the tree"] * 30)
    new = added(MaskedSubstitution("text", leaning(bert, "bird"), rate=1.0, top_k=1), [text])[text]
    assert new.startswith("the bird bird the bird the bird")
    assert new.endswith("the dog sees the tree")
    assert new.count("bird") == 37  # content words among the first 62 tokens


def test_a_text_that_holds_the_mask_stays(bert):
    function = MaskedSubstitution("text", leaning(bert, "bird"), rate=1.0)
    assert added(function, ["the [MASK] dog", "the dog"]) == {"the dog": added(function, ["the dog"])["the dog"]}


def test_training_mode_comes_back(bert):
    model, tokenizer = leaning(bert, "bird")
    model.train()
    added(MaskedSubstitution("text", (model, tokenizer)), ["the dog"])
    assert model.training


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0}, r"rate must be in \(0, 1\]"),
        ({"top_k": 0}, "top_k must be at least 1"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"protect": "shoes"}, "Unknown attribute 'shoes'"),
    ],
)
def test_bad_numbers(bert, options, message):
    with pytest.raises(ValueError, match=message):
        MaskedSubstitution("text", bert, **options)


def test_bad_models(bert, tmp_path):
    for model in (None, 3, "", bert[0].bert.embeddings):
        with pytest.raises(TypeError, match="Expected a masked language model"):
            MaskedSubstitution("text", model)
    with pytest.raises(ValueError, match=r"Pass the pair \(model, tokenizer\)"):
        MaskedSubstitution("text", bert[0])
    with pytest.raises(ValueError, match="does not open as a masked language model"):
        MaskedSubstitution("text", tmp_path)({"text": ["the dog"]})
    gpt = GPT2LMHeadModel(GPT2Config(vocab_size=30, n_embd=8, n_layer=1, n_head=1, n_positions=16))
    bare = PreTrainedTokenizerFast(tokenizer_object=bert[1].backend_tokenizer, pad_token="[PAD]")
    with pytest.raises(ValueError, match="no mask token"):
        MaskedSubstitution("text", (gpt, bare))({"text": ["the dog"]})


def test_a_model_without_its_head_warns(bert, tmp_path):
    bert[0].bert.save_pretrained(tmp_path)
    bert[1].save_pretrained(tmp_path)
    with pytest.warns(FairnessWarning, match="drawn at random"):
        MaskedSubstitution("text", tmp_path)({"text": ["the dog"]})
