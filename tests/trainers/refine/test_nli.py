"""Training on NLI: the published schedule, what is learned, what a stopped training goes on with, and bad rows."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from transformers import TrainerCallback

from hf_fairness.trainers.refine.bilstm import bilstm_max
from hf_fairness.trainers.refine.nli import (
    ACCURACY,
    BILSTM,
    HEAD_FILE,
    DevSchedule,
    FollowDev,
    NLIConfig,
    PairClassifier,
    nli_config,
    train_on_nli,
)
from hf_fairness.utils import FairnessWarning
from support.bias_case import NAMES, WORDS, make_pairs, weights

QUICK = {"use_cpu": True, "num_train_epochs": 4, "per_device_train_batch_size": 8, "head_layers": [8]}


def make_model(seed: int = 0, hidden_size: int = 16) -> SentenceTransformer:
    draws = np.random.default_rng(0)
    vectors = {word: draws.normal(size=12) for word in WORDS}
    return bilstm_max(vectors, hidden_size=hidden_size, seed=seed, device="cpu")


@pytest.fixture(scope="module")
def rows():
    return make_pairs(240)


@pytest.fixture(scope="module")
def dev():
    return make_pairs(60, seed=1)


@pytest.fixture(scope="module")
def trained(rows, dev):
    return train_on_nli(make_model(), rows, dev_rows=dev, seed=3, **QUICK)


def schedule(accuracies, **settings):
    """Learning rates by epoch, and whether each ended the training."""
    model = make_model(hidden_size=1)
    config = nli_config(model, "unused", use_cpu=True, **settings)
    optimizer = torch.optim.SGD(model[1].parameters(), lr=config.learning_rate)
    found = DevSchedule(optimizer, config)
    rates, ends = [], []
    for accuracy in accuracies:
        for _ in range(3):
            optimizer.step()
            found.step()
        rates.append(optimizer.param_groups[0]["lr"])
        ends.append(found.end_epoch(accuracy))
        assert found.get_last_lr()[0] == optimizer.param_groups[0]["lr"]
    return rates, ends, found


def test_the_published_settings():
    config = nli_config(make_model(hidden_size=1), "unused", use_cpu=True)
    assert (config.learning_rate, config.per_device_train_batch_size, config.num_train_epochs) == (0.1, 64, 8)
    assert (config.optim, config.lr_decay, config.lr_shrink, config.min_learning_rate) == ("sgd", 0.99, 5.0, 1e-5)
    assert (config.head_layers, config.head_product, config.max_grad_norm) == ([512, 512], True, 5.0)


def test_the_learning_rate_of_the_published_schedule():
    """By hand: times .99 an epoch, and a fifth where the accuracy is not above its best."""
    rates, ends, _ = schedule([0.5, 0.6, 0.55, 0.6, 0.7])
    expected = [0.1, 0.1 * 0.99, 0.1 * 0.99**2, 0.1 * 0.99**3 / 5, 0.1 * 0.99**4 / 25]
    assert rates == pytest.approx(expected, rel=1e-12)
    assert not any(ends)


def test_it_ends_below_the_least_learning_rate():
    rates, ends, _ = schedule([0.5] * 8)
    # The first epoch is the best; after n more it is 0.1 * .99**n / 5**n, which n = 6 brings below 1e-5 first.
    assert ends == [False] * 6 + [True] * 2
    assert rates[5] == pytest.approx(0.1 * 0.99**5 / 5**4)


def test_the_schedule_is_kept_with_a_checkpoint():
    _, _, before = schedule([0.5, 0.4])
    _, _, after = schedule([])
    after.load_state_dict(before.state_dict())
    assert (after.factor, after.best) == (before.factor, before.best) == (pytest.approx(0.99**2 / 5), 0.5)
    assert after.get_lr() == before.get_lr()


def test_an_evaluation_of_something_else_leaves_the_schedule_alone():
    follow, control = FollowDev(), type("Control", (), {"should_training_stop": False})()
    follow.on_evaluate(None, None, control, metrics={ACCURACY: 0.5})
    _, _, follow.schedule = schedule([])
    follow.on_evaluate(None, None, control, metrics={"eval_loss": 0.5})
    assert (follow.schedule.factor, control.should_training_stop) == (1.0, False)


@pytest.mark.parametrize("product", [True, False])
def test_the_classifier_reads_both_texts_their_difference_and_their_product(product):
    model = make_model(hidden_size=2)
    loss = PairClassifier(model, 3, [5, 4], product=product, seed=0)
    texts = ["the dog", "never ."]
    features = [model.preprocess([text]) for text in texts]
    u, v = (torch.from_numpy(model.encode(text)) for text in texts)
    read = torch.cat([u, v, (u - v).abs(), u * v] if product else [u, v, (u - v).abs()])
    for layer in loss.head:
        read = layer.weight @ read + layer.bias
    scores = loss.logits(features)[0]
    torch.testing.assert_close(scores, read, atol=1e-5, rtol=1e-5)
    expected = -torch.log_softmax(read, 0)[1]
    features = [model.preprocess([text]) for text in texts]
    torch.testing.assert_close(loss(features, torch.tensor([1])), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("layers", "product"), [([5, 4], True), ([], True), ([3], False)])
def test_the_classifier_is_one_linear_layer(layers, product):
    model = make_model(hidden_size=2)
    loss = PairClassifier(model, 3, layers, product=product, seed=0)
    weight, bias = loss.linear()
    texts = ["the dog", "never ."]
    u, v = (model.encode(text) for text in texts)
    expected = loss.logits([model.preprocess([text]) for text in texts])[0].detach().numpy()
    np.testing.assert_allclose(weight @ np.concatenate([u, v, np.abs(u - v), u * v]) + bias, expected, atol=1e-5)


@pytest.mark.whole
def test_it_learns_what_the_pairs_say(trained, rows, dev):
    assert trained.majority == pytest.approx(20 / 60)
    assert trained.best_accuracy == max(trained.accuracy) > trained.majority + 0.2
    assert len(trained.accuracy) == len(trained.learning_rate) == len(trained.loss) == 4
    assert trained.learning_rate[0] == 0.1
    assert trained.loss[-1] < trained.loss[0]
    assert (trained.n_train, trained.n_dev, trained.n_unlabelled, trained.steps) == (240, 60, 0, 120)
    assert trained.label_names == tuple(NAMES)
    assert not trained.model.training
    json.dumps(trained.described())


@pytest.mark.whole
def test_word_vectors_stay_and_the_lstm_moves(trained):
    before, after = make_model(), trained.model
    torch.testing.assert_close(after[0].emb_layer.weight, before[0].emb_layer.weight, rtol=0, atol=0)
    assert (weights(after[1]) - weights(before[1])).abs().max() > 1e-3


@pytest.mark.whole
def test_same_seed_same_weights_another_seed_others(trained, rows, dev):
    same, other = (train_on_nli(make_model(), rows, dev_rows=dev, seed=seed, **QUICK) for seed in (3, 4))
    torch.testing.assert_close(weights(same.model), weights(trained.model), rtol=0, atol=0)
    assert same.described() == trained.described()
    assert (weights(other.model) - weights(trained.model)).abs().max() > 1e-4


class Kill(TrainerCallback):
    """Stops a process in the middle of an epoch."""

    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step == 40:
            raise KeyboardInterrupt


@pytest.mark.whole
def test_a_training_that_was_killed_ends_as_one_that_was_not(trained, rows, dev, tmp_path):
    options = {"dev_rows": dev, "seed": 3, "output_dir": tmp_path, **QUICK}
    with pytest.raises(KeyboardInterrupt):
        train_on_nli(make_model(), rows, callbacks=[Kill()], **options)
    (checkpoint,) = tmp_path.glob("checkpoint-*")
    assert (checkpoint / HEAD_FILE).is_file()
    found = train_on_nli(make_model(), rows, **options)
    torch.testing.assert_close(weights(found.model), weights(trained.model), rtol=0, atol=0)
    assert found.described() == trained.described()
    again = train_on_nli(make_model(), rows, **options)  # nothing is left to train
    assert again.described() == trained.described()


@pytest.mark.whole
def test_it_stops_when_the_learning_rate_is_too_small(rows, dev):
    found = train_on_nli(
        make_model(), rows, dev_rows=dev, **{**QUICK, "num_train_epochs": 8, "min_learning_rate": 0.05}
    )
    assert found.stopped
    assert len(found.accuracy) < 8
    fell = [b <= max(found.accuracy[: i + 1]) for i, b in enumerate(found.accuracy[1:])]
    assert fell[-1]
    assert not any(fell[:-1])


@pytest.mark.whole
def test_an_encoder_that_learned_nothing_is_said(rows, dev):
    with pytest.warns(FairnessWarning, match="learned nothing of the labels"):
        found = train_on_nli(make_model(), rows, dev_rows=dev, use_cpu=True, num_train_epochs=1, learning_rate=1e-6)
    assert found.best_accuracy <= found.majority


@pytest.mark.whole
def test_a_transformer_has_settings_of_its_own(tiny_bert, rows, dev):
    model = SentenceTransformer(tiny_bert, device="cpu")
    config = nli_config(model, "unused", use_cpu=True)
    assert (config.learning_rate, config.head_layers, config.follows_dev) == (2e-5, [], False)
    before = weights(model).clone()
    with pytest.warns(FairnessWarning, match="learned nothing"):  # in two steps
        found = train_on_nli(model, rows.select(range(32)), dev_rows=dev.select(range(8)), use_cpu=True)
    assert (found.steps, len(found.accuracy)) == (2, 1)
    assert 0 < (weights(found.model) - before).abs().max() < 1e-3


@pytest.mark.whole
def test_rows_without_a_label_are_left_out_and_counted(dev):
    rows = make_pairs(64).add_column("other", list(range(64)))
    columns = {name: rows[name][:] for name in ("premise", "hypothesis", "label", "other")}
    once = {**QUICK, "num_train_epochs": 1}
    columns["label"][5] = columns["label"][9] = -1
    with pytest.warns(FairnessWarning, match="2 of 64 training rows have no label"):
        found = train_on_nli(make_model(), Dataset.from_dict(columns), dev_rows=dev, label_names=NAMES, **once)
    assert (found.n_train, found.n_unlabelled) == (62, 2)


def made(**columns):
    n = 4
    rows = {"premise": ["a b"] * n, "hypothesis": ["the dog"] * n, "label": [0, 1, 0, 1]}
    return Dataset.from_dict({**rows, **columns})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (made(label=[1] * 4), "Of the 4 training rows all have the label .1."),
        (made(hypothesis=["the dog", "", "x", "y"]), "Row 1 of the training rows has no text in 'hypothesis'"),
        (made(label=["x", "y", "x", "y"]).remove_columns("label"), "no column 'label'"),
        (made().remove_columns("hypothesis"), "text columns"),
        (made().select([]), "Of the 0 training rows none has a label"),
    ],
)
def test_bad_rows_are_said(rows, message):
    with pytest.raises(ValueError, match=message):
        train_on_nli(make_model(), rows, dev_rows=made(), use_cpu=True)


def test_bad_settings_are_said():
    model = make_model(hidden_size=1)
    with pytest.raises(ValueError, match="no setting 'learn_rate'"):
        train_on_nli(model, made(), dev_rows=made(), learn_rate=1)
    with pytest.raises(ValueError, match="lr_shrink is 0"):
        nli_config(model, "unused", lr_shrink=0.5)
    with pytest.raises(ValueError, match="head_layers"):
        nli_config(model, "unused", head_layers=[0])
    with pytest.raises(ValueError, match="not both"):
        train_on_nli(model, made(), dev_rows=made(), config=NLIConfig("unused"), lr_decay=0.9)
    with pytest.raises(ValueError, match="two texts"):
        train_on_nli(model, made(), dev_rows=made(), columns=["premise"])
    assert math.isclose(BILSTM["lr_decay"], 0.99)
