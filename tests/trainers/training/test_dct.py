"""DCT: which rows are hard and which are negatives; a trainer with a momentum encoder and a queue that leaves none."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from datasets import Dataset
from torch.nn.functional import cross_entropy

from hf_fairness.trainers import DCTTrainer, add_dct_columns, bias_features
from hf_fairness.trainers.training.dct import Contrast, head_of, nearest_of_another_label, taken_by_head
from hf_fairness.trainers.training.pair_training import class_log_probabilities
from support.bias_case import known_bias, make_classifier, make_pairs, make_trainer, weights

OWN = {"n_positives": 3, "queue_size": 200, "n_farthest": 5}


def dct_rows(n=48, epochs=2, **options):
    """Pairs whose biased features are which artefact they have, with a little noise, differently in each epoch."""
    rows = make_pairs(n, **options)
    bias = known_bias(rows)
    features = [bias + np.random.default_rng(epoch).normal(scale=0.01, size=bias.shape) for epoch in range(epochs)]
    return add_dct_columns(rows, features, bias)


def test_negatives_are_hard_rows_of_another_label_with_the_same_artefact():
    rows = dct_rows(90)
    n = 90
    first = [text.split()[0] for text in rows["hypothesis"]]
    hard, labels, negatives = rows["dct_hard"][:], rows["label"][:], rows["dct_negatives"][:]
    assert 0 < sum(hard[:n]) < n / 3
    assert len(rows) == n + sum(hard[:n])
    assert all(hard[n:])
    for place in range(len(rows)):
        for negative in negatives[place]:
            assert negative < n
            assert hard[negative]
            assert labels[negative] != labels[place]
    with_partner = {first[place] for place in range(n) if hard[place]}
    same = [first[k[0]] == first[place] for place, k in enumerate(negatives) if first[place] in with_partner]
    assert np.mean(same) > 0.7  # but for rows whose artefact only hard rows of their own label have


def test_the_nearest_is_that_of_a_search_row_by_row():
    draws = np.random.default_rng(0)
    features, labels = draws.normal(size=(40, 3)), draws.integers(0, 3, 40)
    hard = draws.random(40) < 0.5
    for row, found in enumerate(nearest_of_another_label(features, labels, hard)):
        others = [k for k in range(40) if hard[k] and labels[k] != labels[row]]
        assert found == min(others, key=lambda k: np.linalg.norm(features[row] - features[k]))


@pytest.mark.parametrize(
    ("said", "hard"),
    [
        ([[0.9, 0.1], [0.1, 0.9], [0.1, 0.9], [0.9, 0.1]], [False, True, False, True]),
        (
            [[0.9, 0.1], [0.4, 0.6], [0.1, 0.9], [0.9, 0.1]],
            [False, True, False, True],
        ),  # of 0 none so sure: the wrong one
        ([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.1]], [True, True, False, True]),  # none of 0 wrong: all
    ],
)
def test_of_each_label_a_row_is_hard(said, hard):
    rows = Dataset.from_dict({"label": [0, 0, 1, 1]})
    found = add_dct_columns(rows, [np.eye(4)], np.log(said))
    assert found["dct_hard"][:4] == hard


def test_what_cannot_be_contrasted():
    rows = Dataset.from_dict({"label": [0, 0]})
    with pytest.raises(ValueError, match="All rows have one label"):
        add_dct_columns(rows, [np.eye(2)], np.log(np.full((2, 2), 0.5)))
    with pytest.raises(ValueError, match=r"2 rows need log-probabilities and features of as many; got \[3, 2\]"):
        add_dct_columns(rows, [np.eye(2)], np.log(np.full((3, 2), 0.5)))


def test_features_are_what_the_last_layer_takes():
    model, tokenizer = make_classifier()
    rows = make_pairs(7)
    found = bias_features(model, tokenizer, rows, batch_size=3)
    logits = torch.tensor(found, dtype=torch.float32) @ model.classifier.weight.T + model.classifier.bias
    expected = class_log_probabilities(model, tokenizer, rows)
    torch.testing.assert_close(logits.log_softmax(-1).double(), torch.tensor(expected), rtol=1e-4, atol=1e-5)


def test_features_of_a_model_that_classifies_every_token_are_those_of_the_last():
    from transformers import GPT2Config, GPT2ForSequenceClassification

    config = GPT2Config(vocab_size=20, n_positives=8, n_embd=8, n_layer=1, n_head=1, num_labels=3, pad_token_id=0)
    model = GPT2ForSequenceClassification(config).eval()
    ids, mask = torch.tensor([[5, 6, 7, 8], [9, 10, 0, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    from hf_fairness.trainers.training.dct import of_rows

    with torch.no_grad(), taken_by_head(model) as taken:
        logits = model(input_ids=ids, attention_mask=mask).logits
    torch.testing.assert_close(model.score(of_rows(taken[0], mask)), logits)


def test_the_queue_holds_the_newest_keys_and_the_momentum_encoder_follows():
    model, _ = make_classifier()
    contrast = Contrast(model, 5)
    assert len(contrast.keys[0]) == 0
    width = head_of(model).in_features
    for start in (0, 3):
        contrast.enqueue(
            torch.full((3, width), float(start)) + torch.arange(3)[:, None], torch.arange(start, start + 3)
        )
    keys, labels = contrast.keys
    assert labels.tolist() == [5, 1, 2, 3, 4]
    assert keys[:, 0].tolist() == [5, 1, 2, 3, 4]
    before = weights(contrast.key_model)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1.0)
    contrast.follow(model, 0.9)
    torch.testing.assert_close(weights(contrast.key_model), before + 0.1, rtol=1e-4, atol=1e-5)


@pytest.mark.whole
def test_a_step_reads_hard_rows_of_its_labels_and_the_negatives_of_its_rows(tmp_path):
    rows = dct_rows(24)
    trainer = make_trainer(DCTTrainer, rows, tmp_path, own=OWN, per_device_train_batch_size=12, max_steps=1)
    seen = {}
    original = DCTTrainer.row_losses

    def row_losses(self, logits, labels, **columns):
        found = original(self, logits, labels, **columns)
        keys, key_labels = self.model.dct.keys
        assert len(keys) == 12 * 4
        seen.update(logits=logits, labels=labels, keys=keys, key_labels=key_labels, found=found, **columns)
        return found

    trainer.row_losses = row_losses.__get__(trainer)
    trainer.train()
    negatives = seen["dct_negatives"][:, 0]
    assert seen["key_labels"][-12:].tolist() == [trainer.train_dataset[int(k)]["labels"] for k in negatives]
    assert seen["key_labels"][:-12].tolist() == [label for label in seen["labels"].tolist() for _ in range(3)]
    assert (seen["found"] > 0.9 * cross_entropy(seen["logits"], seen["labels"], reduction="none")).all()
    assert trainer.state.log_history[0]["loss"] == pytest.approx(seen["found"].mean().item(), abs=2e-4)
    torch.testing.assert_close(seen["keys"].norm(dim=1), torch.ones(48))


@pytest.mark.whole
def test_nothing_of_it_stays_in_the_model_and_evaluation_is_plain(tmp_path):
    test = make_pairs(30, seed=5)
    settings = {"eval_dataset": test, "eval_strategy": "epoch", "save_strategy": "epoch", "num_train_epochs": 2}
    trainer = make_trainer(DCTTrainer, dct_rows(), tmp_path, own=OWN, load_best_model_at_end=True, **settings)
    names = set(dict(trainer.model.named_parameters()))
    start = weights(trainer.model)
    trainer.train()
    assert set(dict(trainer.model.named_parameters())) == names
    assert (weights(trainer.model) - start).abs().max() > 1e-3
    trainer.save_model(str(tmp_path / "saved"))
    again = type(trainer.model).from_pretrained(tmp_path / "saved")
    torch.testing.assert_close(weights(again), weights(trainer.model))
    assert np.isfinite(trainer.evaluate()["eval_loss"])


@pytest.mark.whole
@pytest.mark.parametrize(
    "more", [{}, {"gradient_accumulation_steps": 2}, {"bf16": True}, {"activation_checkpointing": True}]
)
def test_a_training_that_was_stopped_goes_on_as_if_it_was_not(more, tmp_path):
    settings = {"num_train_epochs": 2, "save_strategy": "steps", "save_steps": 2, **more}
    whole = make_trainer(DCTTrainer, dct_rows(), tmp_path / "a", own=OWN, **settings)
    whole.train()
    again = make_trainer(DCTTrainer, dct_rows(), tmp_path / "b", own=OWN, **settings)
    again.train(resume_from_checkpoint=str(tmp_path / "a" / "checkpoint-2"))
    torch.testing.assert_close(weights(again.model), weights(whole.model), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"weight": -1.0}, "weight is -1.0"),
        ({"momentum": 2.0}, "momentum is 2.0, expected a number from 0 to 1"),
        ({"n_positives": 0}, "n_positives is 0, expected 1 or more"),
        ({"n_nearest": 0, "n_farthest": 0}, "one at least together"),
    ],
)
def test_bad_settings(own, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        make_trainer(DCTTrainer, dct_rows(12), tmp_path, own=own)


def test_rows_without_the_columns_or_with_fewer_rows(tmp_path):
    with pytest.raises(ValueError, match="no column 'dct_negatives'"):
        make_trainer(DCTTrainer, make_pairs(12), tmp_path)
    with pytest.raises(ValueError, match="were rows left out after they were made"):
        make_trainer(DCTTrainer, dct_rows(48).select(range(3)), tmp_path)
