"""The perplexity filter on a small GPT-2 with random weights, against a plain loop."""

from __future__ import annotations

import functools
import math
import pickle

import pytest
import torch
from datasets import Dataset
from datasets.fingerprint import Hasher
from transformers import GPT2LMHeadModel

from hf_fairness.augment import CounterfactualSwap, PerplexityRatio, SwapQuality
from support.tiny_gpt2 import WORDS, save_tiny_gpt2

TEXTS = [
    "she saw the dog",
    "he ran",
    "her mother saw a cat and the cat ran far away and it is far away",
    "the dog ran",
    "",
    "she",
    "she ran far away , and he saw the cat .",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    return save_tiny_gpt2(str(tmp_path_factory.mktemp("gpt2")))


@pytest.fixture(scope="module")
def swapped() -> dict[str, list[str]]:
    batch = {"text": TEXTS, "id": list(range(len(TEXTS)))}
    return {**batch, **CounterfactualSwap("text")({"text": TEXTS})}


@functools.lru_cache(maxsize=1)
def exact(folder: str) -> GPT2LMHeadModel:
    return GPT2LMHeadModel.from_pretrained(folder).double().eval()


def loop(folder: str, text: str) -> tuple[float, int]:
    """Negative log-likelihood of a text, one token at a time, in float64."""
    model = exact(folder)
    ids = [0, *(WORDS.index(word) for word in text.split())]
    total = 0.0
    for i in range(1, len(ids)):
        with torch.no_grad():
            logits = model(torch.tensor([ids[:i]])).logits[0, -1]
        total -= torch.log_softmax(logits, dim=0)[ids[i]].item()
    return total, len(ids) - 1


def test_against_a_plain_loop(folder, swapped):
    found = PerplexityRatio(folder, "text", batch_size=3)(swapped)["perplexity_ratio"]
    wanted = []
    for source, target in zip(swapped["text"], swapped["text_counterfactual"], strict=True):
        (a, n), (b, m) = loop(folder, source), loop(folder, target)
        wanted.append(math.exp(b / m - a / n) if n and m else 1.0)
    assert found == pytest.approx(wanted, rel=1e-5)
    assert found[3:5] == [1.0, 1.0]  # unchanged, empty
    assert max(abs(ratio - 1) for ratio in found) > 0.05  # there was something to tell apart


def test_same_whatever_the_batch(folder, swapped):
    reference = PerplexityRatio(folder, "text")(swapped)["perplexity_ratio"]
    data = Dataset.from_dict(swapped)
    for size, batch_size in ((1, 16), (3, 1), (7, 2)):
        made = data.map(PerplexityRatio(folder, "text", batch_size=batch_size), batched=True, batch_size=size)
        assert made["perplexity_ratio"][:] == pytest.approx(reference, rel=1e-5)
    backwards = data.select(range(len(TEXTS))[::-1]).map(PerplexityRatio(folder, "text"), batched=True)
    assert backwards["perplexity_ratio"][::-1] == pytest.approx(reference, rel=1e-5)
    assert PerplexityRatio(folder, "text")({name: values[2] for name, values in swapped.items()}) == {
        "perplexity_ratio": pytest.approx(reference[2], rel=1e-5)
    }


def test_several_columns_count_all_their_tokens(folder, swapped):
    texts, others = swapped["text"][:2], swapped["text_counterfactual"][:2]
    row = {"a": texts[0], "b": texts[1], "x": others[0], "y": others[1]}
    found = PerplexityRatio(folder, ["a", "b"], counterfactual_columns=["x", "y"])(row)["perplexity_ratio"]
    before, after = ([loop(folder, text) for text in side] for side in (texts, others))
    means = [sum(loss for loss, _ in side) / sum(n for _, n in side) for side in (before, after)]
    assert found == pytest.approx(math.exp(means[1] - means[0]), rel=1e-5)


def test_long_texts_are_cut(folder):
    long = " ".join(["she"] * 100)
    row = {"text": long, "text_counterfactual": long.replace("she", "he")}
    assert PerplexityRatio(folder, "text")(row)["perplexity_ratio"] == pytest.approx(
        PerplexityRatio(folder, "text", max_length=24)(row)["perplexity_ratio"]
    )
    assert PerplexityRatio(folder, "text", max_length=3)(row) != PerplexityRatio(folder, "text")(row)


def test_state_is_the_path_alone(folder, swapped):
    ratio = PerplexityRatio(folder, "text")
    before = Hasher.hash(ratio)
    first = ratio(swapped)
    assert Hasher.hash(ratio) == before
    data = pickle.dumps(ratio)
    assert len(data) < 2_000
    assert pickle.loads(data)(swapped) == first
    model = GPT2LMHeadModel.from_pretrained(folder)
    assert PerplexityRatio(model, "text")(swapped)["perplexity_ratio"] == pytest.approx(first["perplexity_ratio"])


def test_quality_rejects_what_the_model_finds_odd(folder, swapped):
    ratio = PerplexityRatio(folder, "text")
    ratios = ratio(swapped)["perplexity_ratio"]
    changed = [i for i, edits in enumerate(swapped["edits"]) if edits != "[]"]
    ranked = sorted(ratios[i] for i in changed)
    limit = (ranked[-1] + ranked[-2]) / 2
    by_object = SwapQuality("text", perplexity=ratio, max_ratio=limit)(swapped)
    by_column = SwapQuality("text", perplexity="perplexity_ratio", max_ratio=limit)(
        {**swapped, "perplexity_ratio": ratios}
    )
    assert by_object == by_column
    odd = [i for i in changed if by_object["rejected_reason"][i].startswith("perplexity: ")]
    assert odd == [ratios.index(ranked[-1])]
    assert by_object["confidence"][odd[0]] == 0.0
    lenient = SwapQuality("text", perplexity=ratio, max_ratio=limit, ignore="perplexity")(swapped)
    assert lenient == SwapQuality("text")(swapped)


def test_bad_input_is_a_clear_error(folder, minilm_path):
    with pytest.raises(TypeError, match="Expected a causal language model"):
        PerplexityRatio(3, "text")
    with pytest.raises(ValueError, match="max_length must be at least 2"):
        PerplexityRatio(folder, "text", max_length=1)
    with pytest.raises(ValueError, match="2 columns need as many counterfactual_columns, got 1"):
        PerplexityRatio(folder, ["a", "b"], counterfactual_columns="c")
    with pytest.raises(ValueError, match="does not open as a causal language model"):
        PerplexityRatio("/no/such/folder", "t")({"t": "she", "t_counterfactual": "he"})
    with pytest.raises(ValueError, match="no column 'ratio'"):
        SwapQuality("t", perplexity="ratio")({"t": "she", "t_counterfactual": "he", "edits": "[]"})
