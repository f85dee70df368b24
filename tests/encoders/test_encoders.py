"""Everything that may be an encoder, and everything that may not."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize

from hf_fairness.encoders import Encoder, RememberingEncoder, as_encoder, as_reference, check_vectors
from hf_fairness.measure import sts
from hf_fairness.utils import FairnessWarning

TEXTS = ["the man works at the office .", "she", "a woman is here .", "one two three four", "he is at home"]


@pytest.fixture(scope="module")
def folder(bert, tokenizer, tmp_path_factory):
    """A bare AutoModel folder."""
    path = tmp_path_factory.mktemp("bare")
    bert.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def _by_hand(bert, tokenizer, text, pooling):
    """One text at a time, so without any padding."""
    with torch.no_grad():
        hidden = bert(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
    return {"mean": hidden.mean(dim=0), "cls": hidden[0], "max": hidden.max(dim=0).values}[pooling].numpy()


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_pooling_ignores_padding_and_keeps_order(bert, tokenizer, pooling, batch_size):
    encoder = as_encoder(bert, tokenizer=tokenizer, pooling=pooling, batch_size=batch_size)
    vectors = encoder.encode(TEXTS)
    assert (vectors.dtype, vectors.shape) == (np.float32, (5, 16))
    assert isinstance(encoder, Encoder)
    expected = np.stack([_by_hand(bert, tokenizer, text, pooling) for text in TEXTS])
    assert vectors == pytest.approx(expected, abs=1e-5)


def test_normalize_and_max_length(bert, tokenizer):
    unit = as_encoder(bert, tokenizer=tokenizer, normalize=True).encode(TEXTS)
    assert np.linalg.norm(unit, axis=1) == pytest.approx(np.ones(5), abs=1e-5)
    short = as_encoder(bert, tokenizer=tokenizer, max_length=3).encode(["the man works", "the home office"])
    assert short[0] == pytest.approx(short[1], abs=1e-6)  # CLS, one word, SEP
    long = as_encoder(bert, tokenizer=tokenizer).encode([" ".join(["man"] * 100)])  # longer than the model takes
    assert np.isfinite(long).all()


def test_training_mode_is_put_back(bert, tokenizer, minilm):
    bert.train()
    noisy = as_encoder(bert, tokenizer=tokenizer).encode(TEXTS)
    assert bert.training
    bert.eval()
    assert as_encoder(bert, tokenizer=tokenizer).encode(TEXTS) == pytest.approx(noisy)  # no dropout in either
    was = minilm.training
    minilm.train(True)
    as_encoder(minilm).encode(["he"])
    assert minilm.training
    minilm.train(was)


def test_a_model_that_was_just_opened_keeps_its_mode(folder):
    """A SentenceTransformer says that it trains, the transformer inside does not: nothing of it trains afterwards."""
    model = SentenceTransformer(str(folder))
    modes = [module.training for module in model.modules()]
    assert len(set(modes)) == 2
    as_encoder(model).encode(TEXTS)
    assert [module.training for module in model.modules()] == modes


def test_bare_folder_opens_as_normalised_mean_and_says_so(folder, bert, tokenizer, caplog):
    with caplog.at_level(logging.INFO, logger="hf_fairness.encoders"):
        encoder = as_encoder(folder)
    assert "mean pooling and normalisation" in caplog.text
    expected = as_encoder(bert, tokenizer=tokenizer, normalize=True).encode(TEXTS)
    assert encoder.encode(TEXTS) == pytest.approx(expected, abs=1e-6)
    raw = as_encoder(str(folder), normalize=False).encode(TEXTS)
    assert np.linalg.norm(raw, axis=1) == pytest.approx(
        np.linalg.norm(as_encoder(bert, tokenizer=tokenizer).encode(TEXTS), axis=1), abs=1e-4
    )
    assert encoder.label == folder.name


def test_sentence_transformer_as_object_and_folder(minilm, minilm_path):
    direct = minilm.encode(TEXTS, show_progress_bar=False)
    assert as_encoder(minilm).encode(TEXTS) == pytest.approx(direct, abs=1e-6)
    assert as_encoder(minilm_path).encode(TEXTS) == pytest.approx(direct, abs=1e-6)
    long = "a dog runs . " * 100
    length = minilm.max_seq_length
    cut = as_encoder(minilm, max_length=8).encode([long])
    assert minilm.max_seq_length == length
    assert np.abs(cut - as_encoder(minilm).encode([long])).max() > 1e-3
    with pytest.raises(ValueError, match="own pooling"):
        as_encoder(minilm, pooling="cls")
    with pytest.raises(ValueError, match="own pooling"):
        as_encoder(minilm_path, pooling="cls")


def test_what_was_decided_cannot_be_asked_otherwise(folder, bert, tokenizer):
    unit = SentenceTransformer(modules=[*SentenceTransformer(str(folder)), Normalize()])
    with pytest.raises(ValueError, match="Normalize module, which makes all vectors 1 long; got normalize=False"):
        as_encoder(unit, normalize=False)
    assert np.linalg.norm(as_encoder(unit, normalize=True).encode(TEXTS), axis=1) == pytest.approx(1.0, abs=1e-5)
    opened = as_encoder(bert, tokenizer=tokenizer, pooling="cls")
    for given in ({"pooling": "max"}, {"normalize": True}, {"max_length": 4}, {"dtype": "float16"}):
        for encoder in (opened, RememberingEncoder(opened)):
            with pytest.raises(ValueError, match=f"is open already: got {next(iter(given))}=.*where it is opened"):
                as_encoder(encoder, **given)
    with pytest.raises(ValueError, match="got normalize=False"):
        as_encoder(RememberingEncoder(as_encoder(unit)), normalize=False)
    same = {"pooling": "cls", "normalize": False, "max_length": opened.max_length, "tokenizer": tokenizer}
    assert as_encoder(opened, **same, batch_size=2) is opened


def test_a_reference_has_its_own_tokenizer(bert, tokenizer):
    class Other:
        """Texts by another vocabulary."""

    expected = as_encoder((bert, tokenizer)).encode(TEXTS)
    assert as_reference((bert, tokenizer), tokenizer=Other()).encode(TEXTS) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"needs a tokenizer and none was found.* Pass the pair"):
        as_reference(bert, tokenizer=tokenizer)
    pairs = {"sentence1": ["he", "she", "a"], "sentence2": ["a", "b", "he"], "score": [1, 2, 3]}
    found = sts(
        {"he": [1.0, 0], "she": [0, 1.0], "a": [1.0, 1], "b": [1.0, 3]},
        pairs,
        tokenizer=Other(),
        reference=(bert, tokenizer),
        n_bootstrap=0,
    )
    assert found["sts_spearman_change_ci95"] is None


def test_heads_are_left_out(bert_config, tokenizer):
    from transformers import BertForMaskedLM, BertForSequenceClassification

    torch.manual_seed(0)
    for kind in (BertForMaskedLM, BertForSequenceClassification):
        model = kind(bert_config).eval()
        found = as_encoder(model, tokenizer=tokenizer).encode(TEXTS)
        assert found == pytest.approx(as_encoder(model.bert, tokenizer=tokenizer).encode(TEXTS), abs=1e-6)


def test_decoder_without_padding_token(tokenizer):
    from transformers import BertTokenizer, GPT2Config, GPT2Model

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=16,
        n_embd=16,
        n_layer=1,
        n_head=2,
        bos_token_id=2,
        eos_token_id=3,
    )
    model = GPT2Model(config).eval()
    bare = BertTokenizer(vocab=tokenizer.get_vocab(), pad_token=None, model_max_length=16)
    assert bare.pad_token_id is None
    vectors = as_encoder(model, tokenizer=bare).encode(TEXTS)
    alone = np.concatenate([as_encoder(model, tokenizer=bare).encode([text]) for text in TEXTS])
    assert vectors == pytest.approx(alone, abs=1e-5)


def test_encoder_of_an_encoder_decoder(tokenizer):
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
    )
    model = T5ForConditionalGeneration(config).eval()
    assert as_encoder(model, tokenizer=tokenizer).encode(TEXTS).shape == (5, 16)


# peft 0.21 reads a property that transformers 5.23 has renamed.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_adapters_of_peft_are_used(bert_config, tokenizer):
    from peft import LoraConfig, TaskType, get_peft_model
    from transformers import BertModel

    torch.manual_seed(0)
    base = BertModel(bert_config).eval()
    before = as_encoder(base, tokenizer=tokenizer).encode(TEXTS)
    config = LoraConfig(task_type=TaskType.FEATURE_EXTRACTION, r=2, target_modules=["query"], init_lora_weights=False)
    model = get_peft_model(base, config)
    after = as_encoder(model, tokenizer=tokenizer).encode(TEXTS)
    assert np.abs(after - before).max() > 1e-4
    with model.disable_adapter():
        assert as_encoder(model, tokenizer=tokenizer).encode(TEXTS) == pytest.approx(before, abs=1e-5)


def test_word_vectors():
    encoder = as_encoder({"he": [1.0, 0.0], "home": [0.0, 3.0], "New York": [5.0, 5.0]})
    vectors = encoder.encode(["He is home.", "New York", "home"])
    assert vectors.tolist() == [[0.5, 1.5], [5.0, 5.0], [0.0, 3.0]]
    assert as_encoder({"home": [0.0, 3.0]}, normalize=True).encode(["home"]).tolist() == [[0.0, 1.0]]
    with pytest.raises(ValueError, match="no word of 'xyz'"):
        encoder.encode(["xyz"])


class KeyedVectors:
    """The part of gensim's class that is used."""

    vector_size = 2

    def __contains__(self, word):
        return word == "he"

    def __getitem__(self, word):
        return np.array([1.0, 2.0])

    def __len__(self):
        return 1


def test_keyed_vectors_and_functions_and_objects():
    assert as_encoder(KeyedVectors()).encode(["he"]).tolist() == [[1.0, 2.0]]
    assert as_encoder(lambda texts: [[len(text), 1] for text in texts]).encode(["abc"]).tolist() == [[3.0, 1.0]]
    assert as_encoder(lambda texts: torch.ones(len(texts), 2, dtype=torch.bfloat16)).encode(["a"]).dtype == np.float32
    encoder = as_encoder({"a": [1.0]})
    assert as_encoder(encoder) is encoder


def test_unknown_weights_are_a_warning(bert_config, tokenizer, tmp_path):
    from safetensors.torch import load_file, save_file
    from transformers import BertModel

    BertModel(bert_config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    kept = {name: value for name, value in weights.items() if "layer.1" not in name}
    save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.warns(FairnessWarning, match="drawn at random"):
        as_encoder(tmp_path)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (3, TypeError, "no encoder: got int"),
        (None, TypeError, "no encoder: got NoneType"),
        (["a"], TypeError, "no encoder: got list"),
        (b"abc", TypeError, "no encoder: got bytes"),
        (str, TypeError, "got the class str"),
        (torch.nn.Linear(2, 2), TypeError, "no encoder: got Linear"),
        ({}, ValueError, "empty mapping"),
        ("", ValueError, "empty string"),
        ("/no/such/folder", ValueError, "There is no folder"),
        ("./here", ValueError, "There is no folder"),
    ],
)
def test_what_is_no_encoder(model, error, message):
    with pytest.raises(error, match=message):
        as_encoder(model)


def test_models_that_are_no_encoders(bert_config, bert, tokenizer, tmp_path, folder):
    from transformers import BertForSequenceClassification

    with pytest.raises(ValueError, match="needs a tokenizer"):
        as_encoder(BertForSequenceClassification(bert_config))
    with pytest.raises(TypeError, match="is a tokenizer"):
        as_encoder(tokenizer)
    with pytest.raises(ValueError, match=r"holds no model.*it holds nothing"):
        as_encoder(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(ValueError, match=r"it holds notes\.txt"):
        as_encoder(tmp_path)
    with pytest.raises(ValueError, match="is a file"):
        as_encoder(tmp_path / "notes.txt")
    bert_config.save_pretrained(tmp_path)  # a config without weights
    with pytest.raises(ValueError, match="does not open as an encoder"):
        as_encoder(tmp_path)
    (tmp_path / "modules.json").write_text("[{]")
    with pytest.raises(ValueError, match="does not open as a SentenceTransformer"):
        as_encoder(tmp_path)
    with pytest.raises(ValueError, match="mean, cls, max"):
        as_encoder(bert, tokenizer=tokenizer, pooling="first")
    with pytest.raises(ValueError, match="batch_size"):
        as_encoder(folder, batch_size=0)


def test_model_without_hidden_states(tokenizer):
    from transformers import CLIPTextConfig, CLIPTextModelWithProjection

    class Headless(CLIPTextModelWithProjection):
        @property
        def base_model(self):
            return self

        def forward(self, input_ids, attention_mask=None):
            return {"logits": torch.zeros(len(input_ids), 2)}

    config = CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
    )
    with pytest.raises(ValueError, match="no last_hidden_state"):
        as_encoder(Headless(config), tokenizer=tokenizer).encode(TEXTS)


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        ([1.0, 2.0], ValueError, "one vector per text"),
        ([[1.0], [2.0], [3.0]], ValueError, "one vector per text"),
        ([[], []], ValueError, "one vector per text"),
        ([["a"], ["b"]], TypeError, "must return numbers"),
        ([[1.0], [float("nan")]], ValueError, "NaN or infinity for 1 of 2 texts.*'two'"),
        (None, ValueError, "one vector per text"),
        ([[1.0], [2.0, 3.0]], TypeError, "no encoder"),
    ],
)
def test_what_an_encoder_may_not_return(result, error, message):
    with pytest.raises(error, match=message):
        as_encoder(lambda texts: result).encode(["one", "two"])


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [("he", TypeError, "list of texts"), ([], ValueError, "empty"), (["a", None], TypeError, r"texts\[1\]")],
)
def test_what_no_text_is(texts, error, message):
    with pytest.raises(error, match=message):
        as_encoder({"a": [1.0]}).encode(texts)


def test_lists_of_tensors_are_read():
    assert check_vectors([torch.ones(2), torch.zeros(2)], ["a", "b"], "x").tolist() == [
        [1.0, 1.0],
        [0.0, 0.0],
    ]


def test_no_such_id_without_a_network(monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ValueError, match="nobody/no-such-model"):
        as_encoder("nobody/no-such-model")


def test_import_is_cheap():
    heavy = ("torch", "transformers", "sklearn", "sentence_transformers", "datasets", "matplotlib")
    code = f"import sys, hf_fairness.measure; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_pair_of_model_and_tokenizer_opens_everywhere(bert, bert_config, tokenizer):
    from transformers import BertForMaskedLM, BertForSequenceClassification

    from hf_fairness.measure.classifier.classifier import Classifier
    from hf_fairness.measure.language_model.crows_pairs import crows_pairs

    found = as_encoder((bert, tokenizer)).encode(TEXTS)
    assert found == pytest.approx(as_encoder(bert, tokenizer=tokenizer).encode(TEXTS))
    assert Classifier((BertForSequenceClassification(bert_config), tokenizer)).logits(TEXTS).shape == (5, 2)
    model = BertForMaskedLM(bert_config)
    row = {"sent_more": "she is here .", "sent_less": "he is here .", "stereo_antistereo": "stereo", "bias_type": "age"}
    assert crows_pairs([row], model=(model, tokenizer)) == crows_pairs([row], model=model, tokenizer=tokenizer)
    with pytest.raises(ValueError, match=r"Pass the pair \(model, tokenizer\)"):
        crows_pairs([row], model=model)


def _bilstm():
    """A SentenceTransformer of word vectors and an LSTM, in the manner of InferSent."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import LSTM, Pooling, WordEmbeddings
    from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

    torch.manual_seed(0)
    words = sorted({word for text in TEXTS for word in text.split()})
    vectors = torch.randn(len(words), 6)
    embeddings = WordEmbeddings(WhitespaceTokenizer(vocab=words, stop_words=[]), vectors, max_seq_length=8)
    lstm = LSTM(6, 4, num_layers=1, bidirectional=True)
    return SentenceTransformer(modules=[embeddings, lstm, Pooling(8)], device="cpu")


def test_word_vectors_and_lstm(tmp_path):
    from hf_fairness.measure.model_keys import encoder_key

    model = _bilstm()
    encoder = as_encoder(model, batch_size=2)
    vectors = encoder.encode(TEXTS)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert vectors == pytest.approx(alone, abs=1e-5)  # padding does not reach into a vector
    assert np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)[np.triu_indices(5, 1)].min() > 1e-3
    assert encoder.label
    key = encoder_key(encoder, TEXTS)
    assert key == encoder_key(as_encoder(_bilstm()), TEXTS)
    model[1].encoder.weight_ih_l0.data += 0.1
    assert key != encoder_key(encoder, TEXTS)
    model.save(str(tmp_path / "bilstm"))
    assert as_encoder(tmp_path / "bilstm").encode(TEXTS) == pytest.approx(encoder.encode(TEXTS), abs=1e-6)
