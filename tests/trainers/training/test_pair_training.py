"""Classifiers of texts and pairs: opened from anything, trained, asked how sure they are."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from datasets import ClassLabel, Dataset
from transformers import Trainer

from hf_fairness.rows import text_columns
from hf_fairness.trainers.training.pair_training import (
    class_log_probabilities,
    class_numbers,
    encode_rows,
    gold_confidence,
    open_pair_classifier,
    pair_trainer,
    train_pair_classifier,
)
from support.ibadr_case import make_case

NAMES = ["entailment", "neutral", "contradiction"]
QUICK = {"num_train_epochs": 3, "learning_rate": 1e-2, "per_device_train_batch_size": 16, "use_cpu": True}


@pytest.fixture(scope="module")
def case():
    return make_case()


@pytest.fixture
def opened(case):
    config, tokenizer = case.classifier
    return open_pair_classifier(config, label_names=NAMES, tokenizer=tokenizer)


def test_text_columns():
    pair = Dataset.from_dict({"hypothesis": ["b"], "premise": ["a"], "text": ["c"]})
    assert text_columns(pair) == ("premise", "hypothesis")
    assert text_columns(pair, ["hypothesis"]) == ("hypothesis",)
    with pytest.raises(ValueError, match="claim, evidence, one or two; they have hypothesis, premise, text"):
        text_columns(pair, ["claim", "evidence"])
    with pytest.raises(ValueError, match="premise, hypothesis or text"):
        text_columns(Dataset.from_dict({"body": ["a"]}))
    with pytest.raises(ValueError, match="one or two"):
        text_columns(pair, ["premise", "hypothesis", "text"])


@pytest.mark.parametrize("values", [["a"], [-1], [0.5], [None]])
def test_labels_that_are_no_numbers(values):
    with pytest.raises(ValueError, match="column 'label'"):
        class_numbers(Dataset.from_dict({"label": values}))


def test_labels_are_read_from_class_labels_too():
    rows = Dataset.from_dict({"label": [1, 0]}).cast_column("label", ClassLabel(names=["a", "b"]))
    assert class_numbers(rows).tolist() == [1, 0]
    with pytest.raises(ValueError, match="need the column 'gold'"):
        class_numbers(rows, "gold")


def test_columns_of_methods_stay_beside_the_tokens(case):
    rows = case.world.train.select(range(3)).add_column("bias_log_probs", [[-1.0, -1.0, -1.0]] * 3)
    encoded = encode_rows(rows, case.classifier[1])
    assert {"input_ids", "labels", "bias_log_probs"} <= set(encoded.column_names)
    assert "premise" not in encoded.column_names
    assert encoded["labels"][:] == rows["label"][:]


def test_a_model_learns_and_knows_how_sure_it_is(case, opened):
    model, tokenizer = opened
    rows = case.world.train
    before = gold_confidence(model, tokenizer, rows)
    longer = {**QUICK, "num_train_epochs": 12}
    trained = train_pair_classifier(model, tokenizer, rows, training_arguments=longer)
    after = gold_confidence(trained, tokenizer, rows)
    assert not trained.training
    assert before.shape == after.shape == (len(rows),)
    assert after.dtype == np.float32
    assert after.mean() > before.mean() + 0.2
    against = np.array(case.world.anti_artefact(rows))
    assert after[against].mean() < after[~against].mean()  # what the bias degree is for
    np.testing.assert_allclose(gold_confidence(trained, tokenizer, rows, batch_size=7), after, atol=1e-5)
    log_probabilities = class_log_probabilities(trained, tokenizer, rows)
    np.testing.assert_allclose(np.exp(log_probabilities).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="a label 3, and the model has 3 classes"):
        gold_confidence(trained, tokenizer, Dataset.from_dict({**rows[:1], "label": [3]}))


def test_patience_needs_rows_to_evaluate_on(case, opened):
    model, tokenizer = opened
    arguments = {**QUICK, "output_dir": "unused"}
    with pytest.raises(ValueError, match="early_stopping_patience=2 stops on the accuracy of eval_dataset"):
        pair_trainer(model, tokenizer, case.world.train, training_arguments=arguments, early_stopping_patience=2)


def test_training_stops_where_nothing_gets_better(case, opened, tmp_path):
    model, tokenizer = opened
    arguments = {**QUICK, "num_train_epochs": 30, "learning_rate": 0.0, "output_dir": str(tmp_path)}
    trainer = pair_trainer(
        model,
        tokenizer,
        case.world.train,
        training_arguments=arguments,
        eval_dataset=case.world.validation,
        early_stopping_patience=2,
    )
    trainer.train()
    assert trainer.state.epoch == 3.0
    found = [line["eval_accuracy"] for line in trainer.state.log_history if "eval_accuracy" in line]
    assert len(found) == 3
    assert len(set(found)) == 1


def test_steps_and_trainer_class(case, opened):
    model, tokenizer = opened
    steps = []

    class Counting(Trainer):
        def training_step(self, *args, **kwargs):
            steps.append(1)
            return super().training_step(*args, **kwargs)

    train_pair_classifier(
        model, tokenizer, case.world.train, trainer_class=Counting, training_arguments=QUICK, max_steps=5
    )
    assert len(steps) == 5


def test_a_live_model_is_copied(case, opened):
    model, tokenizer = opened
    copied, _ = open_pair_classifier(model, label_names=NAMES, tokenizer=tokenizer)
    weight = model.classifier.weight.clone()
    train_pair_classifier(copied, tokenizer, case.world.train, training_arguments=QUICK, max_steps=2)
    assert torch.equal(model.classifier.weight, weight)
    assert not torch.equal(copied.classifier.weight, weight)
    with pytest.raises(ValueError, match="is no classifier of the 2 labels yes, no"):
        open_pair_classifier(model, label_names=["yes", "no"], tokenizer=tokenizer)
    with pytest.raises(ValueError, match="does not say where it came from"):
        open_pair_classifier(case.classifier[0], label_names=NAMES)


def test_folder_with_other_classes_gets_a_new_head(opened, tmp_path):
    model, tokenizer = opened
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path)
    again, _ = open_pair_classifier(str(tmp_path), label_names=["yes", "no"], seed=3)
    other, _ = open_pair_classifier(str(tmp_path), label_names=["yes", "no"], seed=3)
    assert again.config.id2label == {0: "yes", 1: "no"}
    assert torch.equal(again.classifier.weight, other.classifier.weight)
    with pytest.raises(ValueError, match="does not open as a sequence classifier"):
        open_pair_classifier(str(tmp_path / "nothing"), label_names=NAMES)


def test_a_model_without_padding_pads_with_its_end(case):
    """GPT-2, which the paper takes for the shallow model."""
    config, tokenizer = case.generator
    import copy

    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.pad_token = None
    config = copy.deepcopy(config)
    config.pad_token_id = None
    model, tokenizer = open_pair_classifier(config, label_names=NAMES, tokenizer=tokenizer)
    assert tokenizer.pad_token == tokenizer.eos_token
    rows = case.world.train.select(range(20))
    one, many = (gold_confidence(model, tokenizer, rows, batch_size=size) for size in (1, 16))
    np.testing.assert_allclose(one, many, atol=1e-5)


def test_single_texts_and_long_ones(case, opened):
    model, tokenizer = opened
    rows = Dataset.from_dict({"text": ["anna is sitting " * 60, "ben is sitting"], "label": [0, 1]})
    train_pair_classifier(model, tokenizer, rows, training_arguments={**QUICK, "num_train_epochs": 1})
    assert gold_confidence(model, tokenizer, rows).shape == (2,)


@pytest.mark.whole
@pytest.mark.parametrize("strategy", ["random", "group_by_length"])
def test_killed_training_goes_on(case, opened, tmp_path, monkeypatch, strategy):
    """Bit by bit as if it had not been killed, patience included."""
    _, tokenizer = opened
    weights = {}
    for name in ("whole", "killed"):
        model, _ = open_pair_classifier(case.classifier[0], label_names=NAMES, tokenizer=tokenizer)
        arguments = {**QUICK, "num_train_epochs": 4, "output_dir": str(tmp_path / name)}
        arguments |= {"restore_callback_states_from_checkpoint": True, "train_sampling_strategy": strategy}
        options = {"training_arguments": arguments, "eval_dataset": case.world.validation}
        options["early_stopping_patience"] = 2
        if name == "killed":
            with monkeypatch.context() as patch:
                _kill_at_step(patch, 20)
                with pytest.raises(KeyboardInterrupt):
                    train_pair_classifier(model, tokenizer, case.world.train, **options)
            states = list((tmp_path / name).glob("checkpoint-*/trainer_state.json"))
            assert max(json.loads(file.read_text())["global_step"] for file in states) == 16
            model, _ = open_pair_classifier(case.classifier[0], label_names=NAMES, tokenizer=tokenizer)
        model = train_pair_classifier(model, tokenizer, case.world.train, **options)
        weights[name] = model.state_dict()
    assert all(torch.equal(value, weights["killed"][key]) for key, value in weights["whole"].items())


def test_steps_of_one_length_need_less_padding(opened):
    """Every row once in an epoch, whatever the trainer; other rows of a step are about as long."""
    model, tokenizer = opened
    rng = np.random.default_rng(0)
    texts = [" ".join(["anna"] * n) for n in rng.integers(1, 40, 320)]
    rows = Dataset.from_dict({"text": texts, "label": [0] * len(texts)})
    padded = {}
    for strategy in ("random", "group_by_length"):
        arguments = {**QUICK, "train_sampling_strategy": strategy}
        trainer = pair_trainer(model, tokenizer, rows, training_arguments={"output_dir": "unused", **arguments})
        batches = [batch["attention_mask"] for batch in trainer.get_train_dataloader()]
        lengths = torch.cat([mask.sum(1) for mask in batches]).sort().values
        assert torch.equal(lengths, torch.tensor([len(text.split()) + 2 for text in texts]).sort().values)
        padded[strategy] = sum(mask.numel() for mask in batches) / lengths.sum()
    assert padded["group_by_length"] < 1.15 < 1.5 < padded["random"]


def _kill_at_step(patch, step):
    calls = []
    original = Trainer.training_step

    def training_step(self, *args, **kwargs):
        calls.append(1)
        if len(calls) > step:
            raise KeyboardInterrupt
        return original(self, *args, **kwargs)

    patch.setattr(Trainer, "training_step", training_step)
