"""CrowS-Pairs from live models: as the released code asks them, on real pairs."""

from __future__ import annotations

import csv
import logging
import math

import numpy as np
import pytest
import torch
from datasets import ClassLabel, Dataset, Features, Value

from hf_fairness.measure.language_model import benchmark_items
from hf_fairness.measure.language_model.crows_pairs import (
    KNOWN_DEFECTS,
    crows_pairs,
    read_crows_pairs,
    score_pairs,
    shared_tokens,
)
from support.tiny_bert import tiny_bert
from support.tiny_gpt2 import WORDS as GPT2_WORDS
from support.tiny_gpt2 import save_tiny_gpt2

WORDS = ["she", "he", "is", "a", "nurse", "kind", "old", "young", "person", "was", "very", "tired", "lady", "man", "."]
ROWS = [
    {
        "sent_more": "She is a nurse.",
        "sent_less": "He is a nurse.",
        "stereo_antistereo": "stereo",
        "bias_type": "gender",
    },
    {
        "sent_more": "The old lady was very tired.",
        "sent_less": "The young man was very tired.",
        "stereo_antistereo": "antistereo",
        "bias_type": "age",
    },
]


@pytest.fixture(scope="module")
def bert():
    return tiny_bert(WORDS, "BertForMaskedLM")


@pytest.fixture(scope="module")
def real(shared):
    file = shared / "data/crows_pairs/crows_pairs_anonymized.csv"
    return file, read_crows_pairs(file)


def published(model, tokenizer, more, less, direction):
    """Both scores of a pair, in the manner of the released code: one forward per mask, the ends never masked."""
    first, second = (more, less) if direction == "stereo" else (less, more)
    rows = [tokenizer(text, return_tensors="pt")["input_ids"] for text in (first, second)]
    places = list(zip(*shared_tokens(*(row[0].tolist() for row in rows)), strict=True))[1:-1]
    totals = [0.0, 0.0]
    for pair in places:
        for side, (row, at) in enumerate(zip(rows, pair, strict=True)):
            masked = row.clone()
            masked[0, at] = tokenizer.mask_token_id
            with torch.no_grad():
                totals[side] += torch.log_softmax(model(masked).logits[0, at], 0)[row[0, at]].item()
    return totals if direction == "stereo" else totals[::-1]


def test_real_pairs_as_the_released_code_scores_them(real, bert):
    _, columns = real
    words = {word for name in ("sent_more", "sent_less") for text in columns[name] for word in text.lower().split()}
    model, tokenizer = tiny_bert([*WORDS, *sorted(words)[:3000]], "BertForMaskedLM", max_length=128)
    places = [0, 1, 2, 7, 30, *(i for i, way in enumerate(columns["stereo_antistereo"]) if way == "antistereo")][:15]
    rows = {name: [values[i] for i in places] for name, values in columns.items()}
    found = score_pairs(rows, model, tokenizer=tokenizer, batch_tokens=600)
    kinds = ("sent_more", "sent_less", "stereo_antistereo")
    expected = [published(model, tokenizer, *row) for row in zip(*(rows[name] for name in kinds), strict=True)]
    assert found == pytest.approx(np.array(expected), rel=1e-5, abs=1e-4)
    result = crows_pairs(rows, model=model, tokenizer=tokenizer, items=True)
    wins = [round(more, 3) > round(less, 3) for more, less in expected]
    assert result["stereotype_score"] == pytest.approx(np.mean(wins))
    assert [item["preferred"] == "sent_more" for item in result["items"]] == wins
    assert result["items"][0]["sent_more"] == columns["sent_more"][0]
    assert 0 < sum(wins) < len(wins)


def test_only_shared_tokens_count_so_word_frequency_alone_gives_ties():
    model, tokenizer = tiny_bert(WORDS, "BertForMaskedLM")
    probabilities = torch.full((len(tokenizer),), 0.02)
    probabilities[tokenizer.convert_tokens_to_ids("nurse")] = 1 - 0.02 * (len(tokenizer) - 1)
    with torch.no_grad():
        model.get_output_embeddings().weight.zero_()
        model.get_output_embeddings().bias.copy_(probabilities.log())
    found = score_pairs(ROWS, model, tokenizer=tokenizer)
    nurse = math.log(probabilities.max().item())
    assert found[0] == pytest.approx([3 * math.log(0.02) + nurse] * 2, abs=1e-5)  # is a nurse .
    assert found[1] == pytest.approx([5 * math.log(0.02)] * 2, abs=1e-5)  # the was very tired .
    result = crows_pairs(ROWS, model=model, tokenizer=tokenizer)
    assert (result["stereotype_score"], result["tie_rate"]) == (0.0, 1.0)


def test_shared_tokens_are_blocks_of_the_matcher():
    assert shared_tokens([1, 5, 2, 3, 9], [1, 6, 7, 2, 3, 9]) == ([0, 2, 3, 4], [0, 3, 4, 5])
    assert shared_tokens([1, 2], [3, 4]) == ([], [])
    # The longest block first, not the longest common subsequence.
    first, second = [1, 2, 3, 7, 4, 8, 5, 9, 6], [7, 4, 1, 2, 3, 8, 5, 9, 6]
    assert shared_tokens(first, second)[0] == [0, 1, 2, 5, 6, 7, 8]


def test_pairs_without_shared_tokens_tie(bert):
    rows = [{**ROWS[0], "sent_more": "she is", "sent_less": "he was"}]
    result = crows_pairs(rows, model=bert[0], tokenizer=bert[1])
    assert (result["tie_rate"], result["stereotype_score"]) == (1.0, 0.0)


@pytest.mark.parametrize("start", ["always", "first"])
@pytest.mark.parametrize("per_token", [False, True])
def test_causal_models_by_the_whole_sentence(tmp_path, start, per_token):
    folder = save_tiny_gpt2(str(tmp_path))
    rows = [{**ROWS[0], "sent_more": "she saw the dog", "sent_less": "he ran far away and saw it"}]
    result = crows_pairs(rows, model=folder, items=True, start=start, per_token=per_token)
    from transformers import GPT2LMHeadModel

    model = GPT2LMHeadModel.from_pretrained(folder).eval()

    def log_probability(ids, at):
        with torch.no_grad():
            return torch.log_softmax(model(torch.tensor([ids[:at]])).logits[0, -1], 0)[ids[at]].item()

    for name in ("sent_more", "sent_less"):
        ids = [GPT2_WORDS.index(word) for word in rows[0][name].split()]
        first = log_probability([0, ids[0]], 1)
        if start == "always":
            rest = [log_probability([0, *ids], at + 1) for at in range(1, len(ids))]
        else:
            rest = [log_probability(ids, at) for at in range(1, len(ids))]
        total = sum([first, *rest]) / (len(ids) if per_token else 1)
        assert result["items"][0][f"{name}_score"] == pytest.approx(total, abs=1e-4)
    assert f"start={start!r}" in result["meta"]["scoring"]
    assert ("divided" in result["meta"]["scoring"]) == per_token


def test_the_published_file_and_its_copies_read_alike(real):
    file, columns = real
    assert len(columns["sent_more"]) == 1508
    assert columns["bias_type"].count("gender") == 262
    assert set(columns["stereo_antistereo"]) == {"stereo", "antistereo"}
    scores = np.random.default_rng(0).normal(size=(1508, 2))
    from_file = crows_pairs(file, scores=scores)
    assert {name: part["n"] for name, part in from_file["bias_types"].items()}["disability"] == 60
    kinds = sorted(set(columns["bias_type"]))
    features = Features(
        {
            "sent_more": Value("string"),
            "stereo_antistereo": ClassLabel(names=["stereo", "antistereo"]),
            "bias_type": ClassLabel(names=kinds),
        }
    )
    hub = Dataset.from_dict({name: columns[name] for name in features}, features=features)
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    for copy in (hub, rows, columns, iter(rows)):
        assert crows_pairs(copy, scores=scores) == from_file


def test_known_defects_are_logged_once_and_stand_in_meta(caplog):
    benchmark_items.say_known_defects.cache_clear()
    with caplog.at_level(logging.WARNING, logger="hf_fairness.measure.language_model.benchmark_items"):
        results = [crows_pairs(ROWS, scores=[[1.0, 2.0]] * 2) for _ in range(2)]
    assert [record.getMessage() for record in caplog.records] == [KNOWN_DEFECTS]
    assert all(result["meta"]["known_defects"] == KNOWN_DEFECTS for result in results)
    assert all("items" not in result for result in results)


def test_a_file_without_the_columns_is_a_clear_error(tmp_path):
    file = tmp_path / "pairs.csv"
    with file.open("w", newline="") as handle:
        csv.writer(handle).writerows([["sent_more", "bias_type"], ["a", "age"]])
    with pytest.raises(ValueError, match=r"pairs.csv needs .* missing: sent_less, stereo_antistereo"):
        read_crows_pairs(file)


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({}, TypeError, "needs model=... or scores=..., one of the two"),
        ({"scores": [[1.0, 2.0]] * 2, "model": 3}, TypeError, "one of the two"),
        ({"scores": [[1.0, 2.0]] * 2, "device": "cpu"}, TypeError, "device: options of a model, but ready scores"),
        ({"scores": [[1.0, 2.0]]}, ValueError, "different numbers of rows"),
        ({"rows": [], "scores": []}, ValueError, "rows is empty"),
        ({"rows": {"bias_type": []}, "scores": []}, ValueError, "missing: stereo_antistereo"),
        ({"rows": [3], "scores": [[1.0, 2.0]]}, TypeError, r"rows\[0\] must be a dict; got int"),
        ({"rows": 3, "scores": [[1.0, 2.0]]}, TypeError, "must be a Dataset, dicts or a mapping"),
        ({"rows": [{"bias_type": "a", "stereo_antistereo": "stereo"}], "model": 3}, ValueError, "missing: sent_more"),
        ({"model": 3}, TypeError, "Expected a masked or a causal language model"),
    ],
)
def test_bad_input_is_a_clear_error(inputs, error, message):
    with pytest.raises(error, match=message):
        crows_pairs(**({"rows": ROWS} | inputs))


@pytest.mark.parametrize("option", [{"per_token": True}, {"start": "first"}])
def test_options_of_causal_models_are_refused_for_masked_ones(bert, option):
    with pytest.raises(ValueError, match="per_token and start are for causal models"):
        crows_pairs(ROWS, model=bert[0], tokenizer=bert[1], **option)
