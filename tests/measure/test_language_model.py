"""Scoring by masked and causal language models: against plain loops, on paper, and what is refused."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers

from hf_fairness.measure.language_model.token_scores import CausalModel, MaskedModel, Query
from hf_fairness.measure.models import open_language_model
from support.tiny_bert import save_tiny_bert, tiny_bert, tiny_tokenizer
from support.tiny_gpt2 import WORDS as GPT2_WORDS
from support.tiny_gpt2 import save_tiny_gpt2

WORDS = ["the", "a", "man", "woman", "nurse", "doctor", "is", "was", "kind", "tired", "##ly", "##s", "and", "."]
TEXTS = [
    "the man is kind and the woman was tired .",
    "a nurse",
    "the doctors was kindly",
    "the woman was a doctor and the man was a nurse and the doctor was tired and kind .",
    "kind",
]
SENTENCES = ["she saw the dog", "he", "her mother saw a cat and the cat ran far away", "the dog ran .", "it is far"]


@pytest.fixture(scope="module")
def bert():
    return tiny_bert(WORDS, "BertForMaskedLM")


@pytest.fixture(scope="module")
def gpt2_folder(tmp_path_factory):
    return save_tiny_gpt2(str(tmp_path_factory.mktemp("gpt2")))


def one_by_one(model, tokenizer, text):
    """Log-probability of every inner token, one forward each, full head, no padding."""
    ids = tokenizer(text)["input_ids"]
    found = []
    for at in range(1, len(ids) - 1):
        masked = torch.tensor([[*ids[:at], tokenizer.mask_token_id, *ids[at + 1 :]]])
        with torch.no_grad():
            found.append(torch.log_softmax(model(input_ids=masked).logits[0, at].double(), 0)[ids[at]].item())
    return found


def left_to_right(model, ids, first):
    """Log-probability of every token but the first of the list, one forward each."""
    found = []
    for at in range(first, len(ids)):
        with torch.no_grad():
            found.append(torch.log_softmax(model(torch.tensor([ids[:at]])).logits[0, -1].double(), 0)[ids[at]].item())
    return found


@pytest.mark.parametrize("batch_tokens", [1, 37, 4096])
def test_masked_batches_are_as_one_by_one(bert, batch_tokens):
    opened = open_language_model(bert[0], tokenizer=bert[1], batch_tokens=batch_tokens)
    ids, inner = opened.tokens(TEXTS)
    found = opened.pseudo_log_likelihoods(ids, inner)
    for text, values in zip(TEXTS, found, strict=True):
        assert values == pytest.approx(one_by_one(*bert, text), abs=1e-5)
    backwards = opened.pseudo_log_likelihoods(ids[::-1], inner[::-1])[::-1]
    assert np.concatenate(backwards) == pytest.approx(np.concatenate(found), abs=1e-5)
    assert np.ptp(np.concatenate(found)) > 1.0  # there is something to tell apart


def test_chosen_positions_only_and_none(bert):
    opened = open_language_model(bert[0], tokenizer=bert[1])
    ids, inner = opened.tokens(TEXTS[:2])
    everything = opened.pseudo_log_likelihoods(ids, inner)
    some = opened.pseudo_log_likelihoods(ids, [[3, 1], []])
    assert some[0] == pytest.approx(everything[0][[2, 0]], abs=1e-5)
    assert some[1].shape == (0,)
    assert opened.pseudo_log_likelihoods([], []) == []


def test_a_model_that_knows_frequencies_only():
    """On paper: whatever the context, a word has its own probability; the text's score is the sum of their logs."""
    model, tokenizer = tiny_bert(["man", "is", "kind"], "BertForMaskedLM")
    probabilities = torch.tensor([0.01, 0.01, 0.01, 0.01, 0.01, 0.5, 0.25, 0.2])  # five special tokens first
    with torch.no_grad():
        model.get_output_embeddings().weight.zero_()
        model.get_output_embeddings().bias.copy_(probabilities.log())
    opened = open_language_model(model, tokenizer=tokenizer)
    found = opened.pseudo_log_likelihoods(*opened.tokens(["man is kind", "kind man"]))
    assert found[0] == pytest.approx([math.log(0.5), math.log(0.25), math.log(0.2)], abs=1e-6)
    assert found[1].sum() == pytest.approx(math.log(0.2 * 0.5), abs=1e-6)


CONFIGS = {
    "RobertaForMaskedLM": {"pad_token_id": 0, "max_position_embeddings": 66},
    "DistilBertForMaskedLM": {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64},
    "AlbertForMaskedLM": {"embedding_size": 16},
    "ElectraForMaskedLM": {"embedding_size": 16},
    "DebertaV2ForMaskedLM": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "ModernBertForMaskedLM": {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2,
                              "sep_token_id": 3},
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_other_families_are_as_one_by_one(name):
    tokenizer = tiny_tokenizer(WORDS)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    sizes |= {"vocab_size": len(tokenizer), "max_position_embeddings": 64, "initializer_range": 0.3}
    kind = getattr(transformers, name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = kind(kind.config_class(**{**sizes, **CONFIGS[name]})).eval()
    opened = open_language_model(model, tokenizer=tokenizer)
    assert isinstance(opened, MaskedModel)
    for text, values in zip(TEXTS, opened.pseudo_log_likelihoods(*opened.tokens(TEXTS)), strict=True):
        assert values == pytest.approx(one_by_one(model, tokenizer, text), abs=2e-5)
    assert opened._head_alone  # the head was run where it was needed only


class MixedHead(transformers.BertForMaskedLM):
    """A head that looks at the whole text: it must not be run on single tokens."""

    def forward(self, **inputs):
        output = super().forward(**inputs)
        attended = inputs.get("attention_mask", torch.ones_like(inputs["input_ids"]))[:, : output.logits.shape[1], None]
        output.logits = output.logits + (output.logits * attended).sum(dim=1, keepdim=True).flip(-1)
        return output


def test_a_head_that_reads_the_whole_text_gets_it(bert):
    model = MixedHead(bert[0].config).eval()
    model.load_state_dict(bert[0].state_dict())
    opened = open_language_model(model, tokenizer=bert[1])
    for text, values in zip(TEXTS, opened.pseudo_log_likelihoods(*opened.tokens(TEXTS)), strict=True):
        assert values == pytest.approx(one_by_one(model, bert[1], text), rel=1e-4, abs=1e-4)
    assert opened._head_alone is False


@pytest.mark.parametrize("batch_tokens", [1, 19, 4096])
@pytest.mark.parametrize("start", ["always", "first"])
def test_causal_batches_are_as_one_by_one(gpt2_folder, start, batch_tokens):
    opened = open_language_model(gpt2_folder, batch_tokens=batch_tokens, device="cpu")
    assert isinstance(opened, CausalModel)
    for text, values in zip(SENTENCES, opened.log_likelihoods(SENTENCES, start=start), strict=True):
        ids = [GPT2_WORDS.index(word) for word in text.split()]
        first = left_to_right(opened.model, [0, ids[0]], 1)
        rest = left_to_right(opened.model, [0, *ids], 2) if start == "always" else left_to_right(opened.model, ids, 1)
        assert values == pytest.approx([*first, *rest], abs=1e-5)


def test_the_two_starts_differ_after_the_first_token(gpt2_folder):
    opened = open_language_model(gpt2_folder)
    always, first = (opened.log_likelihoods(SENTENCES[:1], start=start)[0] for start in ("always", "first"))
    assert always[0] == pytest.approx(first[0], abs=1e-6)
    assert np.abs(always[1:] - first[1:]).min() > 1e-4


def test_without_a_start_token_the_first_token_is_left_out(gpt2_folder):
    whole = open_language_model(gpt2_folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(gpt2_folder)
    tokenizer.bos_token = None
    opened = open_language_model(whole.model, tokenizer=tokenizer)
    found = opened.log_likelihoods(SENTENCES[:1])[0]
    assert found == pytest.approx(whole.log_likelihoods(SENTENCES[:1], start="first")[0][1:], abs=1e-6)
    with pytest.raises(ValueError, match=r"no token that .* can score: 'he'"):
        opened.log_likelihoods(["he"])


def test_folders_open_by_what_they_hold(tmp_path, gpt2_folder):
    masked = save_tiny_bert(tmp_path / "masked", WORDS, "BertForMaskedLM")
    opened = open_language_model(masked, device="cpu", dtype="float64")
    assert isinstance(opened, MaskedModel)
    assert (opened.name, opened.model.dtype) == ("masked", torch.float64)
    assert open_language_model(opened) is opened
    assert isinstance(open_language_model(gpt2_folder), CausalModel)
    assert isinstance(open_language_model(transformers.BertForMaskedLM.from_pretrained(masked)), MaskedModel)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_adapters_count(bert):
    peft = pytest.importorskip("peft")
    model, tokenizer = tiny_bert(WORDS, "BertForMaskedLM")
    adapted = peft.get_peft_model(model, peft.LoraConfig(target_modules=["query"], init_lora_weights=False)).eval()
    opened = open_language_model(adapted, tokenizer=tokenizer)
    found = opened.pseudo_log_likelihoods(*opened.tokens(TEXTS[:1]))[0]
    assert found == pytest.approx(one_by_one(adapted, tokenizer, TEXTS[0]), abs=1e-5)
    assert np.abs(found - one_by_one(*bert, TEXTS[0])).max() > 1e-3


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_learned_prompts_are_refused(gpt2_folder):
    peft = pytest.importorskip("peft")
    model = open_language_model(gpt2_folder).model
    prompted = peft.get_peft_model(model, peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2))
    with pytest.raises(ValueError, match="learned prompts cannot be scored"):
        open_language_model(prompted)


def test_a_model_is_left_as_it_was(bert):
    model, tokenizer = bert
    opened = open_language_model(model, tokenizer=tokenizer)
    model.train()
    opened.pseudo_log_likelihoods(*opened.tokens(TEXTS[:2]))
    assert model.training
    assert not model.bert._forward_hooks
    model.eval()


def test_nan_is_an_error_and_leaves_torch_as_it_was():
    model, tokenizer = tiny_bert(WORDS, "BertForMaskedLM")
    with torch.no_grad():
        model.get_output_embeddings().bias.fill_(math.nan)
    opened = open_language_model(model, tokenizer=tokenizer)
    with pytest.raises(
        ValueError, match="NaN or infinity instead of probabilities, for example for '\\[CLS\\]"
    ) as caught:
        opened.pseudo_log_likelihoods(*opened.tokens(["a nurse"]))
    assert not torch.is_inference_mode_enabled()
    assert caught.value is not None


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda m, t: open_language_model(m, tokenizer=t, batch_tokens=0),
            ValueError,
            "batch_tokens must be at least 1",
        ),
        (lambda m, t: open_language_model(m, tokenizer=t, dtype="float16"), ValueError, "dtype is for a model"),
        (lambda m, t: open_language_model(m.bert, tokenizer=t), ValueError, "BertModel has no language-model head"),
        (lambda m, t: open_language_model(m), ValueError, "needs a tokenizer"),
        (lambda m, t: open_language_model(3), TypeError, "Expected a masked or a causal language model"),
        (lambda m, t: open_language_model("/no/such/folder"), ValueError, "does not open as a masked or a causal"),
        (lambda m, t: open_language_model(m, tokenizer=t).tokens([]), ValueError, "texts is empty"),
        (lambda m, t: open_language_model(m, tokenizer=t).tokens("a man"), TypeError, "got one string"),
    ],
)
def test_bad_input_is_a_clear_error(bert, call, error, message):
    with pytest.raises(error, match=message):
        call(*bert)


def test_too_long_a_text_is_an_error(bert, gpt2_folder):
    opened = open_language_model(bert[0], tokenizer=bert[1])
    ids, inner = opened.tokens(["a nurse", "the man " * 40])
    with pytest.raises(ValueError, match=r"A text has 82 tokens, BertForMaskedLM takes 64 at most: '.*the man"):
        opened.pseudo_log_likelihoods(ids, inner)
    with pytest.raises(ValueError, match="takes 64 at most"):
        opened.log_probabilities([Query([2] * 65, 1, 5)])
    with pytest.raises(ValueError, match=r"A text has 31 tokens, .* takes 24 at most"):
        open_language_model(gpt2_folder).log_likelihoods(["she saw the dog"] * 2 + ["she " * 30])


def test_a_masked_model_needs_a_mask_token(bert):
    tokenizer = tiny_tokenizer(WORDS)
    tokenizer.mask_token = None
    with pytest.raises(ValueError, match="has no mask token"):
        open_language_model(bert[0], tokenizer=tokenizer)


def test_untrained_heads_and_encoder_decoders_are_refused(minilm_path, tmp_path):
    with pytest.raises(ValueError, match="is not trained as a masked language model"):
        open_language_model(minilm_path)  # an encoder: its head would be drawn at random
    config = transformers.BartConfig(vocab_size=20, d_model=8, encoder_layers=1, decoder_layers=1,
                                     encoder_attention_heads=1, decoder_attention_heads=1)  # fmt: skip
    model = transformers.BartForConditionalGeneration(config)
    with pytest.raises(ValueError, match="encoder-decoders cannot be scored"):
        open_language_model(model, tokenizer=tiny_tokenizer(WORDS))


def test_unknown_start_and_empty_text(gpt2_folder):
    opened = open_language_model(gpt2_folder)
    with pytest.raises(ValueError, match="start must be one of always, first; got 'never'"):
        opened.log_likelihoods(SENTENCES, start="never")
    with pytest.raises(ValueError, match=r"texts\[1\] has no token"):
        opened.log_likelihoods(["he", ""])


def test_a_model_without_logits_is_a_clear_error(bert, gpt2_folder):
    opened = open_language_model(bert[0], tokenizer=bert[1])
    opened.model = bert[0].bert
    with pytest.raises(ValueError, match="no logits per token"):
        opened.pseudo_log_likelihoods(*opened.tokens(["a nurse"]))
    causal = open_language_model(gpt2_folder)
    pooled = SimpleNamespace(logits=torch.zeros(1, 1, 21))
    causal.model.forward = lambda **inputs: pooled
    with pytest.raises(ValueError, match="is no causal language model"):
        causal.log_likelihoods(SENTENCES[:1])
