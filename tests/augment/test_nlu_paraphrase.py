"""Paraphrase by translation: what comes back, whatever the batch, and what is refused."""

from __future__ import annotations

import pickle

import pytest
import torch
from datasets import Dataset
from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

from hf_fairness.augment.nlu import Paraphrase
from support.added_texts import added
from support.arrow_tables import check_arrow

pytestmark = pytest.mark.usefixtures("one_thread")

THERE = {
    "dog": "perro",
    "cat": "gato",
    "tree bird": "ave del arbol",
    "small boy": "nino chico",
    "small red dog": "perro rojo chico",
}
BACK = {
    "perro": "hound",
    "gato": "cat",
    "ave del arbol": "bird of the tree",
    "nino chico": "little boy",
    "perro rojo chico": "little red hound",
}


def words_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer of whole words that ends a text with ``</s>``."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = sorted({word for text in [*THERE, *BACK, *BACK.values()] for word in text.split()})
    vocabulary = {name: i for i, name in enumerate(["<pad>", "</s>", "<unk>", *words])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def learned(phrases: dict[str, str], tokenizer: PreTrainedTokenizerFast) -> MarianMTModel:
    """A real sequence-to-sequence model that has learned a phrase book by heart."""
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=16,
        pad_token_id=0,
        eos_token_id=1,
        forced_eos_token_id=None,
        decoder_start_token_id=0,
        dropout=0.0,
    )
    model = MarianMTModel(config).train()
    source = tokenizer(list(phrases), padding=True, return_tensors="pt")
    target = tokenizer(list(phrases.values()), padding=True, return_tensors="pt")
    labels = target["input_ids"].masked_fill(target["attention_mask"] == 0, -100)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        loss = model(input_ids=source["input_ids"], attention_mask=source["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05
    return model


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> list[str]:
    """Folders of two models that translate there and back."""
    tokenizer = words_tokenizer()
    folders = []
    for name, phrases in (("there", THERE), ("back", BACK)):
        folder = tmp_path_factory.mktemp(name)
        learned(phrases, tokenizer).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        folders.append(str(folder))
    return folders


SOURCES = [*THERE, "", "  "]


@pytest.mark.parametrize("num_beams", [1, 3])
def test_paraphrase_by_two_models(pair, num_beams):
    found = added(Paraphrase("text", *pair, num_beams=num_beams), SOURCES)
    assert found == {text: BACK[THERE[text]] for text in THERE if text != "cat"}  # "cat" comes back as it was


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_paraphrases_do_not_depend_on_their_company(pair, batch_size):
    rows = Dataset.from_dict({"text": SOURCES * 2, "n": list(range(2 * len(SOURCES)))})
    expected = Paraphrase("text", *pair)(rows[:])
    function = pickle.loads(pickle.dumps(Paraphrase("text", *pair, batch_size=batch_size)))
    assert rows.map(function, batched=True, batch_size=5)[:] == expected
    assert len(pickle.dumps(function)) < 2000
    assert check_arrow(function, rows[:]).select(list(expected)).to_pydict() == expected


def test_a_text_that_is_too_long_or_never_ends_gets_no_copy(pair):
    assert added(Paraphrase("text", *pair), [" ".join(["dog"] * 16)]) == {}
    assert added(Paraphrase("text", *pair, max_new_tokens=2), ["dog"]) == {}
    assert added(Paraphrase("text", *pair, max_new_tokens=3), ["dog", "small boy"]) == {"dog": "hound"}


def test_a_translation_may_be_a_function():
    def forward(texts):
        return [text.upper() for text in texts]

    def backward(texts):
        return ["" if "GONE" in text else f"{text.capitalize()}!" if "NEW" in text else text for text in texts]

    function = Paraphrase("text", forward, backward)
    found = function({"text": ["a new day", "gone", "same   text", " "], "label": [1, 2, 3, 4]})
    assert found["text"] == ["a new day", "A new day!", "gone", "same   text", " "]
    assert found["label"] == [1, 1, 2, 3, 4]
    assert found["augmentation"] == ["", "paraphrase", "", "", ""]


@pytest.mark.parametrize(
    ("forward", "error", "message"),
    [
        (lambda texts: texts[:-1], ValueError, r"forward must return one text for each of 2; it returned 1"),
        (lambda texts: "text", TypeError, "forward must return a list of texts; got str"),
        (lambda texts: [None] * len(texts), TypeError, "forward must return texts; got NoneType"),
    ],
)
def test_a_function_must_return_as_many_texts(forward, error, message):
    with pytest.raises(error, match=message):
        Paraphrase("text", forward, lambda texts: texts)({"text": ["a", "b"]})


def test_bad_translations(tmp_path):
    with pytest.raises(TypeError, match=r"Expected a translation \(backward\)"):
        Paraphrase("text", lambda texts: texts, 5)
    with pytest.raises(ValueError, match="num_beams must be at least 1"):
        Paraphrase("text", str, str, num_beams=0)
    with pytest.raises(ValueError, match="does not open as a translator"):
        Paraphrase("text", tmp_path, tmp_path)({"text": ["a"]})


@pytest.mark.filterwarnings("ignore:.*rows without a text")
def test_a_row_without_a_text_gets_no_copy():
    made = Paraphrase("text", lambda texts: list(texts), lambda texts: [f"{text} So." for text in texts])
    batch = made({"text": [None, "It is.", float("nan")], "label": [0, 1, 2]})
    assert batch["label"] == [0, 1, 1, 2]
    assert batch["text"][:3] == [None, "It is.", "It is. So."]
    assert batch["augmentation"] == ["", "", "paraphrase", ""]
