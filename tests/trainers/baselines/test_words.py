"""Words in sentences: where they stand, which tokens they came to, and their mean hidden states."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hf_fairness.attributes import load_attribute
from hf_fairness.trainers.baselines.words import (
    finder,
    group_finder,
    mean_states,
    neutral_words,
    padded,
    read_sentences,
    read_words,
    shares,
)
from support.tiny_bert import tiny_bert, tiny_tokenizer

pytestmark = pytest.mark.whole
PIECES = ["the", "nurse", "plum", "##ber", "and", "she", "he", "her", "is", "'", "s", "very", "tired", "mother", "a"]


@pytest.fixture(scope="module")
def gender():
    return load_attribute("gender")


def test_words_of_a_group_are_found_in_any_capitals_and_before_an_apostrophe(gender):
    text = "SHE told her mother’s nurse that he is Mother-in-law's."
    assert [text[a:b] for a, b, _ in group_finder(gender, "female")(text)] == ["SHE", "her", "mother", "Mother"]
    assert [word for *_, word in group_finder(gender, "female")(text)] == ["she", "her", "mother", "mother"]
    assert [word for *_, word in group_finder(gender, "male")(text)] == ["he"]


def test_each_of_three_groups_has_its_words():
    religion = load_attribute("religion")
    assert len(religion.group_names) > 2
    for group in religion.groups:
        term = next(t.text for t in group.terms if " " not in t.text and religion.group_of(t.text) == group.name)
        found = {name: group_finder(religion, name)(f"They met {term}.") for name in religion.group_names}
        assert [word for *_, word in found.pop(group.name)] == [term.lower()]
        assert not any(found.values())


def test_phrases_and_the_longer_of_two_words_are_found_whole():
    find = finder(["police officer", "police", "Nurse"])
    text = "A Police officer, the police and nurses: NURSE."
    assert [word for *_, word in find(text)] == ["police officer", "police", "nurse"]


def test_words_of_pieces_and_words_that_are_cut_off():
    tokenizer = tiny_tokenizer(PIECES, max_length=6)  # [CLS] and [SEP] leave four
    find = finder(["plumber", "nurse"])
    whole, cut, gone, none = read_sentences(
        tokenizer, ["The Plumber and", " the nurse and plumber", "the very tired nurse plumber", "the tired"], find
    )
    assert whole.words == (("plumber", (2, 3)),)
    pieces = tokenizer.convert_ids_to_tokens(whole.inputs["input_ids"])
    assert pieces == ["[CLS]", "the", "plum", "##ber", "and", "[SEP]"]
    assert cut.words == (("nurse", (2,)),)  # of plumber the first piece alone is there
    assert gone.words == (("nurse", (4,)),)
    assert none.words == ()
    assert none.of_tokens().words == (("", (1,)), ("", (2,)))  # no special tokens
    taken = shares([whole, cut], 7)
    assert taken.shape == (2, 1, 7)
    assert taken[0, 0].tolist() == [0, 0, 0.5, 0.5, 0, 0, 0]


def test_words_that_the_tokenizer_does_not_know_are_not_taken():
    (sentence,) = read_sentences(tiny_tokenizer(PIECES), ["the baker and nurse"], finder(["baker", "nurse"]))
    assert sentence.words == (("nurse", (4,)),)


def test_tokens_that_begin_with_the_space_before_a_word():
    """As in RoBERTa: pieces of bytes, the space belongs to the word behind it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = [*pre_tokenizers.ByteLevel.alphabet()]
    pieces = {piece: i for i, piece in enumerate(["<s>", "<unk>", *sorted(letters), "he", "Ġhe"])}
    bpe = Tokenizer(models.BPE(pieces, [("h", "e"), ("Ġ", "he")], unk_token="<unk>"))
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, unk_token="<unk>", model_max_length=64)
    (sentence,) = read_sentences(tokenizer, ["Then he saw Mo, he"], finder(["he", "mo"]))
    spelled = [
        (word, tokenizer.convert_ids_to_tokens([sentence.inputs["input_ids"][place] for place in places]))
        for word, places in sentence.words
    ]
    assert spelled[0] == spelled[2] == ("he", ["Ġhe"])
    assert spelled[1][0] == "mo"
    assert [piece for piece in spelled[1][1] if piece != "Ġ"] == ["M", "o"]


def test_mean_states_are_those_of_a_loop():
    model, tokenizer = tiny_bert(PIECES, seed=3)
    texts = ["the nurse is tired", "a plumber and the nurse", "she is a nurse and she is tired very very very tired"]
    find = finder(["nurse", "plumber", "she"])
    means, counts = mean_states(model, tokenizer, read_sentences(tokenizer, texts, find), batch_size=2)
    assert dict(counts) == {"nurse": 3, "plumber": 1, "she": 2}
    states: dict[str, list] = {"nurse": [], "plumber": [], "she": []}
    for text in texts:
        tokens = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            layers = np.stack([layer[0].numpy() for layer in model(**tokens, output_hidden_states=True).hidden_states])
        pieces = tokenizer.convert_ids_to_tokens(tokens["input_ids"][0])
        for place, piece in enumerate(pieces):
            if piece in states:
                states[piece].append(layers[:, place])
            if piece == "plum":
                states["plumber"].append((layers[:, place] + layers[:, place + 1]) / 2)
    for word, found in states.items():
        assert np.allclose(means[word].numpy(), np.mean(found, axis=0), atol=1e-5)


def test_padding_is_on_the_right_and_masked():
    tokenizer = tiny_tokenizer(PIECES)
    inputs = padded(tokenizer, read_sentences(tokenizer, ["the", "the nurse is"], finder(["nurse"])))
    assert inputs["attention_mask"].tolist() == [[1, 1, 1, 0, 0], [1] * 5]
    assert inputs["input_ids"][0, 3:].tolist() == [tokenizer.pad_token_id] * 2


def test_files_of_words(tmp_path, gender):
    file = tmp_path / "words.txt"
    file.write_text("\ufeff# jobs\nNurse\n\nmother\npolice officer\nnurse\n", encoding="utf-8")
    assert read_words(str(file), gender, "dpce_targets") == ("nurse", "police officer")
    assert {"teacher", "family", "physics"} <= set(neutral_words()) == set(read_words(None, gender, "dpce_targets"))
    with pytest.raises(ValueError, match=r"dpce_targets is .*missing.txt"):
        read_words(str(tmp_path / "missing.txt"), gender, "dpce_targets")
    file.write_text("# nothing\nmother\n")
    with pytest.raises(ValueError, match="holds no word that belongs to no group"):
        read_words(str(file), gender, "dpce_targets")
