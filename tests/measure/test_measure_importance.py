"""Importance scores of live classifiers: against plain loops, the authors' numbers, and on two processes."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
import torch
import transformers
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from peft import LoraConfig, get_peft_model

from hf_fairness.augment import CounterfactualAugmentation, CounterfactualSwap
from hf_fairness.measure.classifier.classifier import Classifier
from hf_fairness.measure.classifier.grand import ExampleGradients, grand
from hf_fairness.measure.classifier.importance import NAMES, example_scores, logits_of
from hf_fairness.measure.classifier.pairs import read_pairs
from hf_fairness.scores.importance import el2n
from hf_fairness.utils import FairnessWarning
from support.launch import launch
from support.tiny_bert import tiny_bert, tiny_tokenizer

WORDS = ["he", "she", "the", "man", "woman", "king", "queen", "nurse", "is", "was", "kind", "angry", "and", "rain", "."]
TEXTS = [
    "he is kind .",
    "the rain",
    "the queen was angry and the nurse was kind",
    "she",
    "the nurse was kind and kind and kind .",
    "the man and the woman was angry",
    "rain and rain and rain .",
    "the king is angry",
]
LABELS = [0, 1, 1, 0, 2, 1, 0, 2]


@pytest.fixture(scope="module")
def live():
    return tiny_bert(WORDS, "BertForSequenceClassification", num_labels=3)


@pytest.fixture(scope="module")
def rows():
    return Dataset.from_dict({"text": TEXTS, "label": LABELS}).map(CounterfactualSwap("text"), batched=True)


def plain_logits(model, tokenizer, texts):
    with torch.no_grad():
        return np.concatenate([model(**tokenizer(text, return_tensors="pt")).logits.numpy() for text in texts])


def plain_norms(model, tokenizer, texts, labels, parameters=None):
    """A backward per example over all parameters."""
    found = []
    for text, label in zip(texts, labels, strict=True):
        model.zero_grad()
        logits = model(**tokenizer(text, return_tensors="pt")).logits
        torch.nn.functional.cross_entropy(logits, torch.tensor([label])).backward()
        parts = [weight.grad for weight in parameters or model.parameters() if weight.grad is not None]
        found.append(torch.sqrt(sum(part.square().sum() for part in parts)).item())
    model.zero_grad()
    return np.array(found)


@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_logits_are_those_of_single_forwards(live, batch_size):
    model, tokenizer = live
    model.train()  # dropout must not show
    found = logits_of(model, TEXTS, tokenizer=tokenizer, batch_size=batch_size)
    assert model.training
    assert all(module.training for module in model.modules())
    model.eval()
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, plain_logits(model, tokenizer, TEXTS), atol=1e-5)


@functools.cache
def scored():
    """A model, its tokenizer, and what it gives for the texts."""
    model, tokenizer = tiny_bert(WORDS, "BertForSequenceClassification", num_labels=3)
    options = {"tokenizer": tokenizer}
    return model, options, logits_of(model, TEXTS, **options), grand(model, TEXTS, LABELS, **options)


@settings(max_examples=10)
@given(st.lists(st.integers(0, len(TEXTS) - 1), min_size=1, max_size=6), st.integers(1, 4))
def test_scores_go_with_their_rows(order, size):
    model, options, logits, norms = scored()
    texts, labels = [TEXTS[i] for i in order], [LABELS[i] for i in order]
    np.testing.assert_allclose(logits_of(model, texts, batch_size=size, **options), logits[order], atol=1e-5)
    np.testing.assert_allclose(grand(model, texts, labels, chunk_size=size, **options), norms[order], rtol=1e-4)


def test_parts_that_were_in_eval_mode_stay_there(live):
    model, tokenizer = live
    model.train()
    model.bert.embeddings.eval()
    logits_of(model, TEXTS, tokenizer=tokenizer)
    assert model.training
    assert not model.bert.embeddings.training
    model.eval()


def test_example_scores_by_hand(live, rows):
    model, tokenizer = live
    pairs = read_pairs(rows)
    assert pairs.changed.tolist() == [True, False, True, True, False, True, False, True]
    found = example_scores(model, rows, pairs, names=NAMES, tokenizer=tokenizer)
    assert list(found) == list(NAMES)
    logits = plain_logits(model, tokenizer, TEXTS)
    others = plain_logits(model, tokenizer, rows["text_counterfactual"][:])
    distance = np.linalg.norm(logits - others, axis=1)
    np.testing.assert_allclose(found["ge"], distance, atol=1e-5)
    assert (found["ge"][~pairs.changed] == 0).all()
    assert (found["ge"][pairs.changed] > 0.01).all()
    np.testing.assert_allclose(found["el2n"], el2n(logits, LABELS), atol=1e-5)
    assert found["correct"].tolist() == (logits.argmax(axis=1) == LABELS).tolist()
    np.testing.assert_allclose(found["grand"], plain_norms(model, tokenizer, TEXTS, LABELS), rtol=1e-4)


def test_both_layouts_have_the_same_scores(live, rows):
    model, tokenizer = live
    long = Dataset.from_dict({"text": TEXTS, "label": LABELS}).map(CounterfactualAugmentation("text"), batched=True)
    one, other = (example_scores(model, given_, read_pairs(given_), tokenizer=tokenizer) for given_ in (rows, long))
    for name, values in one.items():
        np.testing.assert_allclose(values, other[name], atol=1e-5, err_msg=name)


def test_ge_alone_runs_changed_texts_only(live, rows):
    model, tokenizer = live
    pairs, seen = read_pairs(rows), []
    handle = model.register_forward_pre_hook(
        lambda module, args, inputs: seen.append(inputs["input_ids"].shape[0]), with_kwargs=True
    )
    try:
        alone = example_scores(model, rows, pairs, names=["ge"], tokenizer=tokenizer, batch_size=4)
        assert sum(seen) == 2 * pairs.changed.sum() < len(TEXTS) + pairs.changed.sum()
    finally:
        handle.remove()
    together = example_scores(model, rows, pairs, names=["ge", "el2n"], tokenizer=tokenizer)
    np.testing.assert_allclose(alone["ge"], together["ge"], atol=1e-5)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("chunk_size", [1, 4])
def test_grand_is_that_of_single_backwards(attention, chunk_size):
    model, tokenizer = tiny_bert(
        WORDS, "BertForSequenceClassification", num_labels=3, attn_implementation=attention, max_length=32
    )
    expected = plain_norms(model, tokenizer, TEXTS, LABELS)
    assert expected.std() > 0.1 * expected.mean()
    model.train()
    found = grand(model, TEXTS, LABELS, tokenizer=tokenizer, chunk_size=chunk_size)
    assert model.training
    assert all(weight.grad is None for weight in model.parameters())
    np.testing.assert_allclose(found, expected, rtol=1e-4)


MODELS = {
    "Albert": {"embedding_size": 16, "num_hidden_layers": 3},  # calls one layer three times
    "DebertaV2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 2, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3},
    "Qwen2": {"num_key_value_heads": 1, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3},
    "Roberta": {"max_position_embeddings": 70},
}


@pytest.mark.parametrize("family", MODELS)
def test_grand_of_other_architectures(family):
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    tokenizer = tiny_tokenizer(WORDS)
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    config = getattr(transformers, f"{family}Config")(
        **{"vocab_size": len(tokenizer), "num_labels": 3, "initializer_range": 0.3, **sizes, **MODELS[family]}
    )
    torch.manual_seed(0)
    model = getattr(transformers, f"{family}ForSequenceClassification")(config).eval()
    expected = plain_norms(model, tokenizer, TEXTS, LABELS)
    np.testing.assert_allclose(grand(model, TEXTS, LABELS, tokenizer=tokenizer), expected, rtol=1e-4)


def test_grand_of_what_is_trained_and_of_the_last_layer(live):
    model, tokenizer = live
    whole = plain_norms(model, tokenizer, TEXTS, LABELS)
    head = list(model.classifier.parameters())
    last = plain_norms(model, tokenizer, TEXTS, LABELS, parameters=head)
    np.testing.assert_allclose(
        grand(model, TEXTS, LABELS, tokenizer=tokenizer, parameters="last_layer"), last, rtol=1e-4
    )
    assert (last < whole).all()
    frozen = [*model.bert.embeddings.parameters(), *model.bert.encoder.parameters()]
    trained = [*model.bert.pooler.parameters(), *head]
    part = plain_norms(model, tokenizer, TEXTS, LABELS, parameters=trained)
    try:
        for weight in frozen:
            weight.requires_grad_(False)
        np.testing.assert_allclose(grand(model, TEXTS, LABELS, tokenizer=tokenizer), part, rtol=1e-4)
    finally:
        for weight in frozen:
            weight.requires_grad_(True)
    assert (part > last).all()
    assert (part < whole).all()


# peft 0.21.2 reads what transformers 5.23 renames (seen 2026-11).
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_grand_of_adapters():
    model, tokenizer = tiny_bert(WORDS, "BertForSequenceClassification", num_labels=3)
    adapted = get_peft_model(model, LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query", "value"]))
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, generator=torch.Generator().manual_seed(0))
    adapted.eval()
    expected = plain_norms(adapted, tokenizer, TEXTS, LABELS)
    np.testing.assert_allclose(grand(adapted, TEXTS, LABELS, tokenizer=tokenizer), expected, rtol=1e-4)


class Reference(torch.nn.Module):
    """The model of the reference numbers: logits = W tanh(sum of the word vectors) + b."""

    def __init__(self, weights):
        super().__init__()
        words, outputs = torch.tensor(weights["emb.weight"]), torch.tensor(weights["lin.weight"])
        self.emb, self.lin = torch.nn.Embedding(*words.shape), torch.nn.Linear(*outputs.T.shape)
        self.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})

    def forward(self, input_ids):
        return self.lin(torch.tanh(self.emb(input_ids).sum(dim=1)))


def test_reference_numbers(shared):
    case = json.loads((shared / "gold/data_diet/importance_scores_case.json").read_text())
    model = Reference(case["params"]["1"])
    ids, labels = torch.tensor(case["input_ids"]), torch.tensor(case["labels"])
    np.testing.assert_allclose(model(ids).detach(), case["logits_epoch"]["1"], atol=1e-5)
    found = ExampleGradients(model, "reference")({"input_ids": ids}, labels)
    np.testing.assert_allclose(found, case["expected"]["GraNd"], atol=1e-4)


class Odd(torch.nn.Module):
    """Looks at the values of its inputs, which torch.func does not allow."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb, self.lin = torch.nn.Embedding(9, 4), torch.nn.Linear(4, 2)

    def forward(self, input_ids):
        return self.lin(torch.tanh(self.emb(input_ids).sum(dim=1))) * (2.0 if bool(input_ids.sum() > 6) else 1.0)


class Sly(Odd):
    """Uses the weight of a layer beside calling the layer, whose outputs then do not tell its whole gradient."""

    def forward(self, input_ids):
        return self.lin(torch.tanh(self.emb(input_ids).sum(dim=1))) * self.lin.weight.sum()


def backwards(model, ids, labels):
    found = []
    for row, label in zip(ids, labels, strict=True):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(row[None]), label[None]).backward()
        found.append(torch.sqrt(sum(weight.grad.square().sum() for weight in model.parameters())).item())
    return found


@pytest.mark.parametrize("kind", [Odd, Sly])
def test_models_that_torch_func_cannot_do_are_done_one_by_one(kind):
    model, ids = kind(), torch.tensor([[1, 2], [3, 3], [8, 1], [4, 5]])
    labels = torch.tensor([0, 1, 1, 0])
    norms = ExampleGradients(model, "odd")
    with pytest.warns(FairnessWarning, match="odd does not run under torch.func"):
        first = norms({"input_ids": ids[:3]}, labels[:3])
    rest = norms({"input_ids": ids[3:]}, labels[3:])  # no second warning
    np.testing.assert_allclose([*first, *rest], backwards(model, ids, labels), rtol=1e-5)


def test_a_head_that_reads_nothing_has_no_ge(minilm_path):
    with pytest.warns(FairnessWarning, match="drawn at random"):
        opened = Classifier(minilm_path)
    assert opened.name == "model"
    rows = Dataset.from_dict({"text": ["She is a doctor.", "It rains.", "The king slept."], "label": [0, 1, 0]})
    rows = rows.map(CounterfactualSwap("text"), batched=True)
    options = {"names": ["ge"], "tokenizer": opened.tokenizer}
    found = example_scores(opened.model, rows, read_pairs(rows), **options)["ge"]
    assert found[1] == 0.0
    assert (found[[0, 2]] > 1e-4).all()
    torch.nn.init.zeros_(opened.model.classifier.weight)
    assert not example_scores(opened.model, rows, read_pairs(rows), **options)["ge"].any()


@pytest.fixture(scope="module")
def launched(tmp_path_factory, live, rows):
    """What each process of a launch of one and of two found."""
    folder = tmp_path_factory.mktemp("launch")
    for part in live:
        part.save_pretrained(folder / "model")
    rows.save_to_disk(str(folder / "data"))
    for processes in (1, 2):
        words = (folder / "model", folder / "data", folder)
        launch("support.scores_two_processes", *words, processes=processes, folder=folder)
    return {name: dict(np.load(folder / f"{name}.npz")) for name in ("1-0", "2-0", "2-1")}


@pytest.mark.whole
def test_two_processes_find_what_one_does(launched):
    one, first, second = (launched[name] for name in ("1-0", "2-0", "2-1"))
    assert [found["processes"] for found in (one, first, second)] == [1, 2, 2]
    for key in (*NAMES, "logits", "one batch"):
        np.testing.assert_array_equal(first[key], second[key], err_msg=key)
        np.testing.assert_allclose(first[key], one[key], rtol=1e-5, atol=1e-6, err_msg=key)
    for process in (0, 1):  # and each its own where it was told so
        np.testing.assert_allclose(launched[f"2-{process}"]["own"], one["logits"][[process]], atol=1e-5)


def regression(**config):
    return tiny_bert(WORDS, "BertForSequenceClassification", **config)


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ({"num_labels": 1}, {}, "num_labels=1"),
        ({"num_labels": 1}, {"names": ["ge"]}, "num_labels=1"),
        ({"num_labels": 3, "problem_type": "multi_label_classification"}, {}, "problem_type='multi_label_class"),
        ({"num_labels": 2}, {}, "labels go up to 2, but .* has 2 classes"),
        ({"num_labels": 3}, {"names": ["ge", "rank"]}, "names must be some of ge, el2n, grand, correct; got rank"),
        ({"num_labels": 3}, {"names": []}, "got none"),
        ({"num_labels": 3}, {"parameters": "some"}, "parameters must be one of all, last_layer"),
        ({"num_labels": 3}, {"chunk_size": 0}, "chunk_size must be at least 1"),
        ({"num_labels": 3}, {"batch_size": 0}, "batch_size must be at least 1"),
    ],
)
def test_errors(rows, config, options, message):
    model, tokenizer = regression(**config)
    with pytest.raises(ValueError, match=message):
        example_scores(model, rows, read_pairs(rows), tokenizer=tokenizer, **options)


def test_wrong_models_and_labels(live, rows, tmp_path):
    model, tokenizer = live
    with pytest.raises(TypeError, match="no sequence classifier: got int"):
        logits_of(3, TEXTS)
    with pytest.raises(ValueError, match="does not open as a sequence classifier"):
        logits_of(str(tmp_path), TEXTS)
    with pytest.raises(ValueError, match=r"Pass the pair \(model, tokenizer\)"):
        logits_of(model, TEXTS)
    with pytest.raises(TypeError, match="one string"):
        logits_of(model, "he", tokenizer=tokenizer)
    with pytest.raises(ValueError, match="no logits of two or more classes"):
        logits_of(tiny_bert(WORDS, "BertForMaskedLM")[0], TEXTS, tokenizer=tokenizer)
    with pytest.raises(ValueError, match="1 of 8 rows have no label, the first in row 2"):
        grand(model, TEXTS, [*LABELS[:2], None, *LABELS[3:]], tokenizer=tokenizer)
    with pytest.raises(ValueError, match="got 2 for 8 texts"):
        grand(model, TEXTS, [0, 1], tokenizer=tokenizer)
    with pytest.raises(ValueError, match="read without labels"):
        example_scores(model, rows, read_pairs(rows, label_column=None), names=["el2n"], tokenizer=tokenizer)
    found = example_scores(model, rows, read_pairs(rows, label_column=None), names=["ge"], tokenizer=tokenizer)
    assert found["ge"].any()  # which needs no labels


def test_nan_and_frozen_models():
    model, tokenizer = tiny_bert(WORDS, "BertForSequenceClassification", num_labels=3)
    for weight in model.parameters():
        weight.requires_grad_(False)
    with pytest.raises(ValueError, match="nothing to train"):
        grand(model, TEXTS, LABELS, tokenizer=tokenizer)
    model.bert.pooler.requires_grad_(True)
    with pytest.raises(ValueError, match=r"last layer .* is frozen"):
        grand(model, TEXTS, LABELS, tokenizer=tokenizer, parameters="last_layer")
    with torch.no_grad():
        model.classifier.bias[0] = float("nan")
    with pytest.raises(ValueError, match="NaN or infinite logits"):
        logits_of(model, TEXTS, tokenizer=tokenizer)
    with pytest.raises(ValueError, match="NaN or infinite gradients"):
        grand(model, TEXTS, LABELS, tokenizer=tokenizer)
