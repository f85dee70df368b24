"""Samples: a seed of their own each, whatever is drawn beside them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from hf_fairness._processes import shared_work
from hf_fairness.trainers.ibadr.config import IBADRConfig
from hf_fairness.trainers.ibadr.generator import open_generator
from hf_fairness.trainers.ibadr.sampling import _choose, sample, sample_length

CONFIG = IBADRConfig(max_new_tokens=30, n_bias_indicators=5)


def opened(case, config=CONFIG, scale=0.5):
    """An untrained generator whose words are far from equally likely, so that samples differ in length."""
    source, tokenizer = case.generator
    model, layout = open_generator(source, n_labels=3, n_texts=1, config=config, tokenizer=tokenizer)
    generator = torch.Generator().manual_seed(0)
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.data.normal_(0.0, scale, generator=generator)
    return hastened(model, layout), layout


def hastened(model, layout):
    """The model, ending its samples earlier."""
    original = model.forward

    def forward(*args, **kwargs):
        output = original(*args, **kwargs)
        output.logits[..., layout.end] += 3.0
        return output

    model.forward = forward
    return model


def llama(case, config=CONFIG):
    from transformers import LlamaConfig

    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    tokenizer = case.generator[1]
    source = LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=64, initializer_range=0.5, **sizes)
    model, layout = open_generator(source, n_labels=3, n_texts=1, config=config, tokenizer=tokenizer)
    return hastened(model, layout), layout


@pytest.mark.parametrize("make", [opened, llama])
def test_batch_size_changes_nothing(case, make):
    model, layout = make(case)
    found = [
        sample(model, layout, 40, config=dataclasses.replace(CONFIG, sampling_batch_size=size)) for size in (1, 7, 64)
    ]
    assert 8 < found[0].reasons.count("") < 40  # some end early: batches shrink as they go
    for other in found[1:]:
        assert other.texts == found[0].texts
        assert other.reasons == found[0].reasons
        np.testing.assert_array_equal(other.labels, found[0].labels)


def test_more_samples_begin_with_the_same(case):
    model, layout = opened(case)
    few, many = (sample(model, layout, n, config=CONFIG) for n in (5, 30))
    assert many.texts[:5] == few.texts
    assert many.reasons[:5] == few.reasons


@pytest.mark.parametrize("change", [{"key": "round-2"}, {"config": dataclasses.replace(CONFIG, seed=1)}])
def test_other_rounds_and_seeds_draw_others(case, change):
    model, layout = opened(case)
    options = {"config": CONFIG, "key": "round-1"}
    one, other = sample(model, layout, 30, **options), sample(model, layout, 30, **{**options, **change})
    assert one.labels.tolist() != other.labels.tolist()
    assert [a == b for a, b in zip(one.texts, other.texts, strict=True)].count(False) > 3


def test_the_global_generator_is_left_alone(case):
    model, layout = opened(case)
    state = torch.get_rng_state()
    sample(model, layout, 3, config=CONFIG)
    assert torch.equal(torch.get_rng_state(), state)


def test_labels_and_indicators(case):
    model, layout = opened(case)
    short = dataclasses.replace(CONFIG, max_new_tokens=2, label_distribution=[0.5, 0.5, 0.0])
    found = sample(model, layout, 600, config=short)
    assert set(found.indicators.tolist()) == {1, 2}
    shares = np.bincount(found.labels, minlength=3) / 600
    np.testing.assert_allclose(shares, [0.5, 0.5, 0.0], atol=0.08)
    assert abs((found.indicators == 1).mean() - 0.5) < 0.08
    lowest = sample(model, layout, 50, config=dataclasses.replace(short, random_indicator=False))
    assert set(lowest.indicators.tolist()) == {1}


def test_samples_without_indicators(case):
    config = dataclasses.replace(CONFIG, use_indicators=False)
    model, layout = opened(case, config)
    assert layout.n_indicators == 0
    assert set(sample(model, layout, 10, config=config).indicators.tolist()) == {0}


def test_a_generator_that_never_ends(case):
    model, layout = opened(case)
    original = model.forward

    def forward(*args, **kwargs):
        output = original(*args, **kwargs)
        output.logits[..., layout.end] = -1e9
        return output

    model.forward = forward
    assert set(sample(model, layout, 5, config=CONFIG).reasons) == {"unended"}


def test_tokens_are_drawn_as_often_as_the_distribution_says():
    logits = torch.tensor([[0.0, 1.0, -torch.inf, 2.0]]).double().repeat(20_000, 1)
    uniform = torch.rand(20_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = torch.bincount(_choose(logits, uniform, 1.0, 1.0), minlength=4) / 20_000
    np.testing.assert_allclose(drawn, torch.softmax(logits[0], -1), atol=0.015)
    cold = torch.bincount(_choose(logits, uniform, 0.5, 1.0), minlength=4) / 20_000
    np.testing.assert_allclose(cold, torch.softmax(2 * logits[0], -1), atol=0.015)
    # The two most probable hold more than 0.8 together, the first alone does not.
    nucleus = torch.bincount(_choose(logits, uniform, 1.0, 0.8), minlength=4) / 20_000
    wanted = torch.softmax(logits[0], -1) * torch.tensor([0.0, 1.0, 0.0, 1.0])
    np.testing.assert_allclose(nucleus, wanted / wanted.sum(), atol=0.015)
    greedy = _choose(logits, uniform, 1.0, 1e-9)
    assert set(greedy.tolist()) == {3}


@pytest.mark.parametrize("number", [0.0, 1.0 - 2**-53])
def test_the_ends_of_the_unit_interval_draw_possible_tokens(number):
    logits = torch.tensor([[-torch.inf, 0.0, -50.0, -torch.inf]]).double()
    assert _choose(logits, torch.tensor([number], dtype=torch.float64), 1.0, 1.0).item() in (1, 2)


def test_room_for_samples(case):
    model, layout = opened(case)
    assert sample_length(model, layout, 1000) == 64 - layout.start
    model.config.n_positions = layout.start + 1
    with pytest.raises(ValueError, match="leaves no room for a sample"):
        sample_length(model, layout, 1000)


def test_work_in_the_order_of_the_rows():
    assert shared_work([[2, 0], [1]], lambda rows: [10 * row for row in rows], "Working") == [0, 10, 20]
