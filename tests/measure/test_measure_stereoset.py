"""StereoSet from live models: as the released code asks them, on real items."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest
import torch
from datasets import ClassLabel, Dataset, Features, List, Value
from transformers import AutoTokenizer, GPT2LMHeadModel

from hf_fairness.attributes import load_attribute
from hf_fairness.measure.language_model import benchmark_items
from hf_fairness.measure.language_model.stereoset import (
    HUB_LABELS,
    KNOWN_DEFECTS,
    about,
    by_label,
    filling,
    read_stereoset,
    score_items,
    stereoset,
)
from hf_fairness.measure.models import open_language_model
from hf_fairness.scores.stereoset import LABELS
from support.tiny_bert import tiny_bert
from support.tiny_gpt2 import WORDS as GPT2_WORDS
from support.tiny_gpt2 import save_tiny_gpt2

WORDS = [
    "the",
    "poet",
    "can",
    "rh",
    "##yme",
    "##d",
    "rap",
    "sw",
    "##im",
    "chef",
    "is",
    "bossy",
    "shy",
    "wood",
    "##en",
    ".",
]


def item(target, context, *sentences, domain="profession"):
    listed = [
        {"sentence": text, "gold_label": label, "id": f"{target}-{label}"}
        for label, text in zip(LABELS, sentences, strict=True)
    ]
    return {"target": target, "bias_type": domain, "context": context, "sentences": listed}


ITEMS = [
    item("poet", "the poet can BLANK.", "The poet can rhymed.", "The poet can rap.", "The poet can swim."),
    item("chef", "The chef is BLANK", "The chef is bossy", "The chef is shy", "The chef is wooden"),
]


@pytest.fixture(scope="module")
def bert():
    return tiny_bert(WORDS, "BertForMaskedLM")


def published(model, tokenizer, context, word):
    """Mean probability of the tokens of a filling, by texts, in the manner of the released code."""
    tokens, found = tokenizer(word, add_special_tokens=False)["input_ids"], []
    for step, token in enumerate(tokens):
        before = tokenizer.decode(tokens[:step])
        ids = tokenizer(context.replace("BLANK", f"{before}{tokenizer.mask_token}"), return_tensors="pt")["input_ids"]
        at = (ids[0] == tokenizer.mask_token_id).nonzero()[0, 0]
        with torch.no_grad():
            found.append(model(ids).logits[0, at].softmax(0)[token].item())
    return np.mean(found), len(found)


def test_fillings_of_several_tokens_as_the_released_code_asks(bert):
    found = score_items(ITEMS, bert[0], tokenizer=bert[1])
    lengths = []
    for row, scores in zip(ITEMS, found, strict=True):
        for place, sentence in enumerate(row["sentences"]):
            expected, n = published(*bert, row["context"], filling(row["context"], sentence["sentence"]))
            assert scores[place] == pytest.approx(expected, rel=1e-5)
            lengths.append(n)
    assert lengths == [3, 1, 2, 1, 1, 2]
    for batch_tokens in (1, 20):
        again = score_items(ITEMS[::-1], bert[0], tokenizer=bert[1], batch_tokens=batch_tokens)[::-1]
        assert again == pytest.approx(found, rel=1e-5)


def test_real_items_as_the_released_code_asks(shared, minilm_path):
    """The tokenizer of a real model, so that fillings fall apart as they do there; the weights are random."""
    rows = read_stereoset(shared / "data/stereoset/intrasentence_dev_part.json")
    assert len(rows) == 799
    tokenizer = AutoTokenizer.from_pretrained(minilm_path)
    model, _ = tiny_bert([], "BertForMaskedLM", vocab_size=len(tokenizer), hidden_size=8, intermediate_size=8)
    asked = rows[:40] + [row for row in rows if row["context"].count("BLANK") > 1]
    found = score_items(asked, model, tokenizer=tokenizer)
    pieces = 0
    for row, scores in zip(asked, found, strict=True):
        for place, label in enumerate(LABELS):
            sentence = by_label(row["sentences"])[label]["sentence"]
            expected, n = published(model, tokenizer, row["context"], filling(row["context"], sentence))
            assert scores[place] == pytest.approx(expected, rel=1e-4)
            pieces += n
    assert pieces > 3 * len(asked)  # some fillings are several tokens
    result = stereoset(rows[:40], model=model, tokenizer=tokenizer, items=True)
    assert [[entry[label] for label in LABELS] for entry in result["items"]] == pytest.approx(found[:40], rel=1e-5)
    assert result["n"] == 40
    assert result["meta"]["scoring"].startswith("masked model: mean probability")


def test_every_filling_of_the_real_items_is_a_word_of_its_sentence(shared):
    rows = read_stereoset(shared / "data/stereoset/intrasentence_dev_part.json")
    for row in rows:
        for sentence in row["sentences"]:
            assert filling(row["context"], sentence["sentence"]) in sentence["sentence"]


def test_byte_level_tokenizers_get_the_space_before_the_filling(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

    vocabulary = {
        piece: i for i, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", "<mask>", "Ġ", *"abcde", "Ġa", "Ġb"])
    }
    inner = Tokenizer(models.BPE(vocabulary, [("Ġ", "a"), ("Ġ", "b")], unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, mask_token="<mask>", **special)
    config = RobertaConfig(vocab_size=len(vocabulary), hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
                           intermediate_size=8, max_position_embeddings=40, pad_token_id=1)  # fmt: skip
    opened = open_language_model(RobertaForMaskedLM(config).eval(), tokenizer=tokenizer)
    asked = []
    opened.log_probabilities = lambda queries: asked.extend(queries) or np.zeros(len(queries))
    score_items([item("x", "c BLANK d", "c a d", "c b d", "c ab d")], opened)
    targets = [tokenizer.convert_ids_to_tokens(query.target) for query in asked]
    assert targets == ["Ġa", "Ġb", "Ġa", "b"]


@pytest.mark.parametrize("start", ["first", "always"])
def test_causal_models_by_the_geometric_mean(tmp_path, start):
    folder = save_tiny_gpt2(str(tmp_path))
    rows = [item("dog", "the dog BLANK away", "the dog ran away", "the dog saw away", "the dog cat away")]
    found = score_items(rows, folder, start=start)
    model = GPT2LMHeadModel.from_pretrained(folder).eval()

    def probability(ids):
        with torch.no_grad():
            return model(torch.tensor([ids[:-1]])).logits[0, -1].softmax(0)[ids[-1]].item()

    before = [0] if start == "always" else []
    for place, sentence in enumerate(rows[0]["sentences"]):
        ids = [GPT2_WORDS.index(word) for word in sentence["sentence"].split()]
        each = [probability([0, ids[0]]), *(probability([*before, *ids[: at + 1]]) for at in range(1, len(ids)))]
        assert found[0, place] == pytest.approx(np.prod(each) ** (1 / len(each)), rel=1e-4)
    assert f"start={start!r}" in stereoset(rows, model=folder, start=start)["meta"]["scoring"]


def test_the_hubs_copy_reads_like_the_file(bert):
    hub_items = [
        {
            **{key: row[key] for key in ("target", "bias_type", "context")},
            "sentences": [
                {"sentence": entry["sentence"], "id": entry["id"], "gold_label": HUB_LABELS.index(entry["gold_label"])}
                for entry in row["sentences"][::-1]
            ],
        }
        for row in ITEMS
    ]
    sentence = {"sentence": Value("string"), "id": Value("string"), "gold_label": ClassLabel(names=list(HUB_LABELS))}
    texts = {name: Value("string") for name in ("target", "bias_type", "context")}
    hub = Dataset.from_list(hub_items, features=Features({**texts, "sentences": List(sentence)}))
    columns = [{**row, "sentences": {k: [s[k] for s in row["sentences"]] for k in sentence}} for row in hub_items]
    expected = stereoset(ITEMS, model=bert[0], tokenizer=bert[1], items=True)
    for copy in (hub, hub_items, columns):
        assert stereoset(copy, model=bert[0], tokenizer=bert[1], items=True) == expected


def test_ready_scores_by_id_in_every_published_form():
    rng = np.random.default_rng(0)
    scores = rng.random((2, 3))
    ids = [by_label(row["sentences"])[label]["id"] for row in ITEMS for label in LABELS]
    listed = [{"id": name, "score": float(score)} for name, score in zip(ids, scores.ravel(), strict=True)]
    expected = stereoset(ITEMS, scores=scores)
    assert stereoset(ITEMS, scores={entry["id"]: entry["score"] for entry in listed[::-1]}) == expected
    assert stereoset(ITEMS, scores=listed) == expected
    assert stereoset(ITEMS, scores={"intrasentence": listed[:4], "intersentence": listed[4:]}) == expected
    with pytest.raises(ValueError, match="scores lacks 1 of 6 sentences, for example 'chef-unrelated'"):
        stereoset(ITEMS, scores=listed[:-1])


def test_the_published_file_is_read_by_task(tmp_path):
    file = tmp_path / "dev.json"
    intersentence = [{**ITEMS[1], "context": "He is a chef."}]
    file.write_text(json.dumps({"version": "1", "data": {"intrasentence": ITEMS, "intersentence": intersentence}}))
    assert read_stereoset(file) == ITEMS
    assert read_stereoset(file, "intersentence") == intersentence
    scores = [[3.0, 2.0, 1.0]] * 2
    assert stereoset(file, scores=scores) == stereoset(ITEMS, scores=scores)
    with pytest.raises(ValueError, match="no items of the task 'both'"):
        read_stereoset(file, "both")


def test_intersentence_items_need_ready_scores(bert):
    rows = [{**ITEMS[0], "context": "He is a poet."}]
    with pytest.raises(ValueError, match=r"has no BLANK: a model is asked intrasentence items only. .* pass scores="):
        stereoset(rows, model=bert[0], tokenizer=bert[1])
    assert stereoset(rows, scores=[[3.0, 2.0, 1.0]])["stereotype_score"] == 1.0


def test_items_and_defects(caplog):
    benchmark_items.say_known_defects.cache_clear()
    with caplog.at_level(logging.WARNING, logger="hf_fairness.measure.language_model.benchmark_items"):
        results = [stereoset(ITEMS, scores=[[3.0, 2.0, 1.0], [2.0, 3.0, 3.0]], items=True) for _ in range(2)]
    assert [record.getMessage() for record in caplog.records] == [KNOWN_DEFECTS]
    assert results[0]["meta"]["known_defects"] == KNOWN_DEFECTS
    assert [entry["preferred"] for entry in results[0]["items"]] == ["stereotype", "tie"]
    assert results[0]["items"][0]["unrelated"] == 1.0


@pytest.mark.parametrize(
    ("context", "sentence", "word"),
    [
        ("the poet can BLANK.", "The poet can rhyme.", "rhyme"),
        ("BLANK people dance", "Old people dance", "Old"),
        ("a BLANK, then a BLANK!", "a cat, then a cat!", "cat"),
        ("They are BLANK", "They are hard-working", "hardworking"),  # as published
    ],
)
def test_filling(context, sentence, word):
    assert filling(context, sentence) == word


@pytest.mark.parametrize(
    ("rows", "options", "error", "message"),
    [
        (ITEMS, {}, TypeError, "one of the two"),
        (ITEMS, {"scores": [[1.0, 2.0, 3.0]] * 2, "device": "cpu"}, TypeError, "device: options of a model"),
        (ITEMS, {"scores": [[1.0, 2.0, 3.0]]}, ValueError, "different numbers of rows"),
        (ITEMS, {"start": "always"}, ValueError, "start is for causal models"),
        ([{"target": "x", "bias_type": "y"}], {"model": True}, ValueError, "missing: context, sentences"),
        ([{**ITEMS[0], "sentences": ITEMS[0]["sentences"][:2]}], {"model": True}, ValueError, "one sentence each"),
        ([{**ITEMS[0], "context": "a b c d e f BLANK"}], {"model": True}, ValueError, "has no word at the blank"),
    ],
)  # fmt: skip
def test_bad_input_is_a_clear_error(bert, rows, options, error, message):
    if "model" in options or "start" in options:
        options = options | {"model": bert[0], "tokenizer": bert[1]}
    with pytest.raises(error, match=message):
        stereoset(rows, **options)


def test_items_about_some_targets_are_scored_as_alone(bert):
    """The filtered StereoSet of Yang et al. 2023: targets that are in a word list, however they are written."""
    rows = [*ITEMS, {**ITEMS[1], "target": "Nurse"}]
    wanted = stereoset([rows[0], rows[2]], model=bert[0], tokenizer=bert[1], n_bootstrap=0)
    found = stereoset(rows, model=bert[0], tokenizer=bert[1], targets=["POET", "nurse", "none"], n_bootstrap=0)
    assert (found.pop("n_left_out"), found["n"]) == (1, 2)
    assert found == wanted
    scores = np.array([[3.0, 2.0, 1.0], [2.0, 3.0, 1.0], [1.0, 2.0, 3.0]])
    ready = stereoset(rows, scores=scores, targets={"chef"}, n_bootstrap=0, items=True)
    assert (ready["stereotype_score"], ready["n_left_out"], len(ready["items"])) == (0.0, 2, 1)
    with pytest.raises(ValueError, match=r"None of the 1 targets is the target .* chef, poet"):
        stereoset(ITEMS, scores=scores[:2], targets=["mother"])


def test_the_filter_leaves_the_targets_that_are_words_of_the_groups(shared):
    """Of the part of the published set that is here: all 83 about gender, and a profession that is one."""
    rows = read_stereoset(shared / "data/stereoset/intrasentence_dev_part.json")
    gender = load_attribute("gender")
    words = [row["target"] for row in rows if gender.group_of(row["target"])]
    kept = [rows[place] for place in about([row["target"] for row in rows], words)]
    assert (len(kept), sum(row["bias_type"] == "gender" for row in kept)) == (99, 83)
