"""A training that diverges ends with an error, whichever trainer it is, and leaves no broken model behind."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import Trainer

from hf_fairness.trainers import (
    CCDTrainer,
    ConfRegTrainer,
    DataDietConfig,
    DataDietTrainer,
    DCTTrainer,
    GFSTConfig,
    PoETrainer,
    ReweightTrainer,
    add_dct_columns,
    train_pair_classifier,
    train_translator,
)
from hf_fairness.trainers.data_diet.heads import Heads
from hf_fairness.trainers.ibadr.config import IBADRConfig
from hf_fairness.trainers.ibadr.generator import open_generator, train_generator
from hf_fairness.trainers.training.stopping import DivergedError, all_finite, stop_when_diverged
from support.bias_case import known_bias, make_classifier, make_pairs, make_trainer, with_columns
from support.data_diet_case import make_classifier as text_classifier
from support.data_diet_case import wide_rows
from support.ibadr_case import make_case
from support.launch import launch
from support.toy_translator import toy_model, toy_rows, toy_tokenizer

#: Far too high: weights overflow at the second step.
RATE = 1e37
COMMON = {"learning_rate": RATE, "use_cpu": True, "disable_tqdm": True, "report_to": "none", "max_steps": 6}
COMMON |= {"dataloader_pin_memory": False, "lr_scheduler_type": "constant", "per_device_train_batch_size": 16}
SAVING = {"save_strategy": "steps", "save_steps": 1, "logging_strategy": "no"}


def contrast(folder):
    said = known_bias(make_pairs(48))
    options = {name: value for name, value in COMMON.items() if name != "dataloader_pin_memory"}
    rows = add_dct_columns(make_pairs(48), [said], said)
    make_trainer(DCTTrainer, rows, folder, own={"n_positives": 2, "queue_size": 100}, **options | SAVING).train()


def bias(trainer_class):
    def train(folder):
        uniform = np.full((48, 3), math.log(1 / 3))
        rows = with_columns(make_pairs(48), bias_log_probs=uniform, teacher_log_probs=uniform)
        options = {name: value for name, value in COMMON.items() if name != "dataloader_pin_memory"}
        make_trainer(trainer_class, rows, folder, **options | SAVING).train()

    return train


def diet(folder):
    model, tokenizer = text_classifier()
    args = DataDietConfig(output_dir=str(folder), ranking="random", max_length=16, **COMMON, **SAVING)
    DataDietTrainer(model, args, train_dataset=wide_rows(), processing_class=tokenizer).train()


def short_runs(folder):
    model, tokenizer = text_classifier()
    args = DataDietConfig(
        output_dir=str(folder), ranking="healthy_random", max_length=16, **COMMON | {"max_steps": -1}, **SAVING
    )
    DataDietTrainer(model, args, train_dataset=wide_rows(), processing_class=tokenizer).train()


def pairs(folder):
    settings = {**COMMON, **SAVING, "output_dir": str(folder)}
    train_pair_classifier(*make_classifier(), make_pairs(48), training_arguments=settings)


def generator(folder):
    case = make_case(48)
    config = IBADRConfig(n_bias_indicators=2, generator_learning_rate=RATE, max_new_tokens=40)
    model, layout = open_generator(case.generator[0], n_labels=3, n_texts=2, config=config, tokenizer=case.generator[1])
    rows = case.world.train.add_column("indicator", [1, 2] * 24)
    own = {"use_cpu": True, "per_device_train_batch_size": 8, "lr_scheduler_type": "constant"}
    train_generator(
        model,
        layout,
        rows,
        columns=("premise", "hypothesis"),
        config=config,
        num_train_epochs=3,
        output_dir=folder,
        **own,
    )


def translator(folder):
    tokenizer = toy_tokenizer()
    args = GFSTConfig(str(folder), warmup_steps=0, average_checkpoints=2, **COMMON, **SAVING)
    train_translator(toy_model(tokenizer), tokenizer, toy_rows(64), args)


TRAININGS = {
    "poe": bias(PoETrainer),
    "reweight": bias(ReweightTrainer),
    "conf_reg": bias(ConfRegTrainer),
    "dct": contrast,
    "data diet": diet,
    "short runs": short_runs,
    "pair classifier": pairs,
    "generator": generator,
    "translator": translator,
}
#: A trainer of texts and one of pairs; an encoder and heads have tests of their own.
QUICK = ("poe", "pair classifier", "data diet")


def check_checkpoints(folder):
    """Whatever was saved before is whole."""
    for file in Path(folder).rglob("*.safetensors"):
        assert all_finite(list(load_file(file).values())), file


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.whole) for name in TRAININGS]
)
def test_a_training_that_diverges_is_an_error(name, tmp_path):
    with pytest.raises(DivergedError, match=r"at step \d of \d+ \(learning rate 1e\+37, max_grad_norm 1\).*lower"):
        TRAININGS[name](tmp_path)
    check_checkpoints(tmp_path)


def test_an_encoder_too(config, triples, tiny_bert, tmp_path):
    settings = {"learning_rate": RATE, "max_steps": 6, "lr_scheduler_type": "constant"}
    with pytest.raises(DivergedError, match=r"at step \d of 6"):
        CCDTrainer(tiny_bert, config(**settings), triples).train()
    check_checkpoints(tmp_path)


def test_heads_too():
    draws = np.random.default_rng(0)
    features, labels = draws.normal(size=(64, 8)).astype(np.float32), draws.integers(0, 2, 64)
    heads = Heads([0, 1], 8, num_train_epochs=3, learning_rate=math.inf)
    with pytest.raises(DivergedError, match="after epoch 1 of 3"):
        heads.fit(features, labels, [np.arange(64)] * 2)


def test_a_loss_that_is_no_number_is_an_error_though_the_weights_stay(tmp_path):
    """As with fp16, which leaves out a step without finite gradients."""

    class Broken(Trainer):
        def compute_loss(self, *args, **kwargs):
            return super().compute_loss(*args, **kwargs) * 0 + torch.tensor(math.nan)

        def training_step(self, model, inputs, num_items_in_batch=None):
            loss = super().training_step(model, inputs, num_items_in_batch)
            model.zero_grad()
            return loss

    trainer = make_trainer(Broken, make_pairs(48), tmp_path, logging_strategy="no")
    with pytest.raises(DivergedError, match="train_loss is NaN or infinite at step 3 of 3"):
        stop_when_diverged(trainer).train()


def test_a_sound_training_is_let_alone(tmp_path):
    plain, watched = (make_trainer(Trainer, make_pairs(48), tmp_path / str(k)) for k in range(2))
    stop_when_diverged(stop_when_diverged(watched))
    assert sum(type(each).__name__ == "StopWhenDiverged" for each in watched.callback_handler.callbacks) == 1
    plain.train()
    watched.train()
    for one, two in zip(plain.model.parameters(), watched.model.parameters(), strict=True):
        assert torch.equal(one, two)


@pytest.mark.whole
def test_both_processes_stop_where_one_is_broken(tmp_path):
    launch("support.diverging_two_processes", tmp_path, processes=2)
    for rank in (0, 1):
        assert "at step 2 of 5" in (tmp_path / f"{rank}.txt").read_text()
    assert [path.name for path in (tmp_path / "out").glob("checkpoint-*")] == ["checkpoint-1"]
