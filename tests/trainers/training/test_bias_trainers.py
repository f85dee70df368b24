"""PoETrainer, ReweightTrainer, ConfRegTrainer: the right loss in any batching, evaluation without the bias model."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from datasets import Dataset
from torch.nn.functional import cross_entropy
from transformers import BertForSequenceClassification, Trainer

from hf_fairness.losses import confidence_regularization, product_of_experts, reweighted_cross_entropy
from hf_fairness.trainers import ConfRegTrainer, PoETrainer, ReweightTrainer
from hf_fairness.trainers.training.pair_training import class_log_probabilities, encode_rows, train_pair_classifier
from support.bias_case import known_bias, make_classifier, make_pairs, make_trainer, weights, with_columns

pytestmark = pytest.mark.whole

CASES = {
    "poe": (PoETrainer, {"alpha": 1.5}),
    "reweight": (ReweightTrainer, {}),
    "focal": (ReweightTrainer, {"gamma": 2.0, "normalized": False}),
    "conf_reg": (ConfRegTrainer, {}),
}


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def training_rows(n=48, **options):
    """Rows with both columns; the degrees of bias and of certainty differ from row to row."""
    rows = make_pairs(n, **options)
    draws = np.random.default_rng(1).normal(size=(n, 3))
    bias = known_bias(rows) + 0.5 * draws
    columns = {"bias_log_probs": bias, "teacher_log_probs": 2 * draws}
    return with_columns(rows, **{k: v - np.log(np.exp(v).sum(1, keepdims=True)) for k, v in columns.items()})


def whole_loss(name, logits, rows):
    labels, bias, teacher = (torch.tensor(rows[c]) for c in ("label", "bias_log_probs", "teacher_log_probs"))
    _, own = CASES[name]
    if name == "poe":
        return product_of_experts(logits, labels, bias, **own)
    if name == "conf_reg":
        return confidence_regularization(logits, labels, bias, teacher)
    return reweighted_cross_entropy(logits, labels, bias, **own)


@pytest.mark.parametrize("name", CASES)
def test_one_step_is_the_gradient_of_the_loss_over_all_rows_of_the_step(name, tmp_path):
    """With plain gradient descent of rate 1; in one batch, and in unequal micro-batches whose means would differ."""
    trainer_class, own = CASES[name]
    rows = training_rows(44)
    model, tokenizer = make_classifier()
    tokens = encode_rows(rows, tokenizer)
    inputs = tokenizer.pad({k: tokens[k][:] for k in tokenizer.model_input_names}, return_tensors="pt")
    loss = whole_loss(name, model(**inputs).logits, rows)
    gradient = torch.autograd.grad(loss, list(model.parameters()))
    expected = torch.cat([(p - g).detach().flatten() for p, g in zip(model.parameters(), gradient, strict=True)])
    assert max(g.abs().max() for g in gradient) > 1e-3
    for batch, steps in ((44, 1), (11, 4), (16, 3)):
        trainer = make_trainer(
            trainer_class,
            rows,
            tmp_path,
            own=own,
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=steps,
            learning_rate=1.0,
            optim="sgd",
            lr_scheduler_type="constant",
            max_grad_norm=0.0,
        )
        trainer.train()
        assert trainer.state.global_step == 1
        found = torch.cat([p.detach().flatten() for p in trainer.model.parameters()])
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
        assert trainer.state.log_history[0]["loss"] == pytest.approx(loss.item(), abs=2e-4)  # Trainer rounds


@pytest.mark.parametrize("name", ["poe", "reweight"])
def test_a_uniform_bias_model_is_the_plain_trainer(name, tmp_path):
    rows = make_pairs(48)
    descent = {"optim": "sgd", "learning_rate": 0.1}  # Adam would blow up gradients that are 0 but for rounding
    plain = make_trainer(Trainer, rows, tmp_path, **descent)
    plain.model_accepts_loss_kwargs = False
    plain.train()
    uniform = with_columns(rows, bias_log_probs=np.full((48, 3), -np.log(3.0)))
    ours = make_trainer(CASES[name][0], uniform, tmp_path, own=CASES[name][1], **descent)
    ours.train()
    torch.testing.assert_close(weights(ours.model), weights(plain.model), rtol=1e-4, atol=1e-5)
    start = weights(make_classifier()[0])
    assert (weights(plain.model) - start).abs().max() > 1e-3


@pytest.mark.parametrize("name", CASES)
def test_evaluation_is_the_main_model_alone(name, tmp_path):
    trainer_class, own = CASES[name]
    test = make_pairs(30, seed=5)
    trainer = make_trainer(trainer_class, training_rows(), tmp_path, own=own, eval_dataset=test, eval_strategy="epoch")
    trainer.train()
    _, tokenizer = make_classifier()
    with_them = trainer.evaluate(encode_rows(training_rows(30, seed=5), tokenizer))
    assert with_them["eval_loss"] == trainer.evaluate()["eval_loss"]
    tokens = encode_rows(test, tokenizer)
    inputs = tokenizer.pad({k: tokens[k][:] for k in tokenizer.model_input_names}, return_tensors="pt")
    with torch.no_grad():
        logits = trainer.model.eval()(**inputs).logits
    plain = cross_entropy(logits, torch.tensor(test["label"])).item()
    assert trainer.evaluate()["eval_loss"] == pytest.approx(plain, rel=1e-4)
    entry = next(entry for entry in trainer.state.log_history if "eval_loss" in entry)
    assert entry["eval_loss"] == pytest.approx(plain, rel=1e-4)
    # Rows without labels, with and without the columns.
    for rows in (tokens, encode_rows(training_rows(30, seed=5), tokenizer)):
        predicted = trainer.predict(rows.remove_columns("labels"))
        np.testing.assert_allclose(predicted.predictions, logits.numpy(), rtol=1e-4, atol=1e-5)
        assert predicted.label_ids is None


def test_a_model_that_takes_no_other_input(tmp_path):
    """Most models ignore what they do not know; this one refuses it."""

    class Strict(BertForSequenceClassification):
        def forward(self, input_ids, attention_mask=None, token_type_ids=None, labels=None):
            return super().forward(input_ids, attention_mask, token_type_ids, labels=labels)

    tiny, _ = make_classifier()
    trainer = make_trainer(PoETrainer, training_rows(16), tmp_path, model=Strict(tiny.config))
    trainer.train()
    rows = trainer.train_dataset.remove_columns("teacher_log_probs")
    assert np.isfinite(trainer.evaluate(rows)["eval_loss"])
    assert trainer.predict(rows.remove_columns("labels")).predictions.shape == (16, 3)
    batch = trainer.data_collator([rows[0], rows[1]])
    loss = trainer.compute_loss(trainer.model.eval(), dict(batch))
    torch.testing.assert_close(loss, cross_entropy(*_logits_and_labels(trainer.model, batch)))
    loss = trainer.compute_loss(trainer.model.train(), dict(batch))
    expected = product_of_experts(*_logits_and_labels(trainer.model, batch), batch["bias_log_probs"])
    torch.testing.assert_close(loss, expected)


def _logits_and_labels(model, batch):
    names = ("input_ids", "attention_mask", "token_type_ids")
    return model(**{name: batch[name] for name in names}).logits, batch["labels"]


@pytest.mark.parametrize("name", CASES)
def test_resume_is_exact(name, tmp_path):
    trainer_class, own = CASES[name]
    saving = {"save_strategy": "steps", "save_steps": 2, "num_train_epochs": 2, "gradient_accumulation_steps": 2}
    rows = training_rows(64)
    models = [make_classifier(dropout=0.1, seed=seed)[0] for seed in (0, 1)]
    whole = make_trainer(trainer_class, rows, tmp_path, model=models[0], own=own, **saving)
    whole.train()
    assert whole.state.global_step == 4
    resumed = make_trainer(trainer_class, rows, tmp_path, model=models[1], own=own, **saving)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert torch.equal(weights(whole.model), weights(resumed.model))


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft 0.21
def test_lora_adapters_train_and_the_rest_stays(tmp_path):
    from peft import LoraConfig, TaskType, get_peft_model

    model, _ = make_classifier()
    model = get_peft_model(model, LoraConfig(task_type=TaskType.SEQ_CLS, r=4, target_modules=["query", "value"]))
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    trainer = make_trainer(PoETrainer, training_rows(), tmp_path, model=model, learning_rate=1e-2)
    trainer.train()
    moved = {name for name, value in model.named_parameters() if not torch.equal(value, before[name])}
    assert {name for name in moved if "lora_B" in name}
    assert all("lora_" in name or "classifier" in name for name in moved)
    assert np.isfinite(trainer.evaluate(encode_rows(make_pairs(9), make_classifier()[1]))["eval_loss"])


def test_streams_of_rows_are_checked_batch_by_batch(tmp_path):
    rows = training_rows(32)
    whole = make_trainer(PoETrainer, rows, tmp_path, max_steps=1)
    stream = make_trainer(PoETrainer, rows, tmp_path, max_steps=1)
    stream.train_dataset = stream.train_dataset.to_iterable_dataset()
    assert stream.check_values
    assert not whole.check_values
    stream.train()
    assert stream.state.global_step == 1
    spoilt = make_trainer(PoETrainer, rows, tmp_path, max_steps=1)
    spoilt.train_dataset = spoilt.train_dataset.map(lambda row: {"bias_log_probs": [0.0, 0.0, 0.0]})
    with pytest.raises(ValueError, match="sum to 3"):
        spoilt.train()


@pytest.fixture(scope="module")
def fit():
    """Trains on rows with a strong artefact; accuracy where it speaks for another label, and certainty where it leads.

    The teacher is one that fits its training rows, as a large model does.
    """
    rows = make_pairs(480, content=0.85)
    labels = np.array(rows["label"])
    bias, teacher = known_bias(rows, 0.95), np.log(0.01 + 0.97 * np.eye(3)[labels])
    rows = with_columns(rows, bias_log_probs=bias, teacher_log_probs=teacher)
    led = np.exp(bias[np.arange(480), labels]) > 0.5
    challenge = make_pairs(150, content=1.0, artefact=0.0, seed=9)
    arguments = {"num_train_epochs": 9, "learning_rate": 2e-3, "use_cpu": True, "per_device_train_batch_size": 32}

    def run(trainer_class):
        model, tokenizer = make_classifier()
        train_pair_classifier(model, tokenizer, rows, trainer_class=trainer_class, training_arguments=arguments)
        right = class_log_probabilities(model, tokenizer, challenge).argmax(1) == np.array(challenge["label"])
        sure = np.exp(class_log_probabilities(model, tokenizer, rows)[led].max(1))
        return right.mean(), sure.mean()

    torch.set_num_threads(1)
    return run, run(Trainer)


@pytest.mark.parametrize("name", ["poe", "reweight", "conf_reg"])
def test_the_artefact_rules_the_plain_model_and_not_this_one(name, fit):
    run, (plain, plain_sure) = fit
    assert plain < 0.3
    assert plain_sure > 0.8
    right, sure = run(CASES[name][0])
    assert right > plain + 0.5
    if name == "conf_reg":  # what it is for
        assert sure < plain_sure - 0.4


# Bad input


def test_settings_that_do_not_go_together(tmp_path):
    rows = training_rows(16)
    with pytest.raises(ValueError, match=r"PoETrainer has a loss of its own.*label_smoothing_factor=0\.1"):
        make_trainer(PoETrainer, rows, tmp_path, label_smoothing_factor=0.1)
    with pytest.raises(ValueError, match="compute_loss_func"):
        make_trainer(PoETrainer, rows, tmp_path, own={"compute_loss_func": lambda *args, **kwargs: 0})
    with pytest.raises(ValueError, match="alpha is -1"):
        make_trainer(PoETrainer, rows, tmp_path, own={"alpha": -1})
    with pytest.raises(ValueError, match="gamma is nan"):
        make_trainer(ReweightTrainer, rows, tmp_path, own={"gamma": float("nan")})
    for config in ({"num_labels": 1}, {"problem_type": "multi_label_classification"}, {"problem_type": "regression"}):
        with pytest.raises(ValueError, match="classifiers of one label per row"):
            make_trainer(PoETrainer, rows, tmp_path, model=_model(**config))


def _model(num_labels=3, **config):
    names = {"id2label": None, "label2id": None} if num_labels != 3 else {}
    return make_classifier(num_labels=num_labels, **names, **config)[0]


def changed(values):
    return with_columns(make_pairs(16), bias_log_probs=values)


def test_columns_that_are_wrong(tmp_path):
    good = np.full((16, 3), -np.log(3.0))
    spoilt = good.copy()
    spoilt[3, 1] = np.nan
    cases = {
        "no column 'bias_log_probs'.*add_bias_log_probs": make_pairs(16),
        "rows of length 2, expected 3": changed(np.full((16, 2), -np.log(2.0))),
        "row 3 holds NaN": changed(spoilt),
        "row 0 has probabilities that sum to 3": changed(np.zeros((16, 3))),
        "take their logarithm": changed(np.exp(good)),
    }
    for message, rows in cases.items():
        with pytest.raises(ValueError, match=message):
            make_trainer(PoETrainer, rows, tmp_path)
    ragged = [good[0].tolist()] * 15 + [[0.0]]
    with pytest.raises(ValueError, match="rows of length 1, 3"):
        make_trainer(PoETrainer, make_pairs(16).add_column("bias_log_probs", ragged), tmp_path)
    with pytest.raises(ValueError, match="no column 'teacher_log_probs'"):
        make_trainer(ConfRegTrainer, changed(good), tmp_path)


def test_a_collator_that_loses_the_column(tmp_path):
    trainer = make_trainer(PoETrainer, training_rows(16), tmp_path)
    collate = trainer.data_collator
    trainer.data_collator = lambda rows: collate([{k: v for k, v in r.items() if "bias" not in k} for r in rows])
    with pytest.raises(ValueError, match="a training batch has no 'bias_log_probs'; it has"):
        trainer.train()


def test_evaluation_needs_no_training_rows(tmp_path):
    model, tokenizer = make_classifier()
    trainer = make_trainer(PoETrainer, training_rows(16), tmp_path)
    alone = PoETrainer(model=model, args=trainer.args, processing_class=tokenizer)
    assert np.isfinite(alone.evaluate(encode_rows(make_pairs(9), tokenizer))["eval_loss"])
    assert isinstance(trainer.train_dataset, Dataset)
