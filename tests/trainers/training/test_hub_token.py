"""No file that a trainer leaves holds the Hub token, and what needs the token still has it."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from transformers import TrainingArguments

from hf_fairness.trainers import (
    CCDConfig,
    CCDTrainer,
    ConfRegTrainer,
    DataDietConfig,
    DataDietTrainer,
    GFSTConfig,
    IBADRConfig,
    PoETrainer,
    ReweightTrainer,
    train_pair_classifier,
    train_translator,
)
from hf_fairness.trainers.ibadr.generator import open_generator, train_generator
from support import bias_case, data_diet_case
from support.toy_translator import toy_model, toy_rows, toy_tokenizer

CANARY = "hf_CanaryTokenThatNoFileMayHold0123"
COMMON = {"use_cpu": True, "disable_tqdm": True, "report_to": "none", "max_steps": 2, "hub_token": CANARY}
COMMON |= {"save_strategy": "steps", "save_steps": 1, "per_device_train_batch_size": 8}


def ccd(folder, request):
    args = CCDConfig(folder, eval_steps=1, **COMMON)
    trainer = CCDTrainer(request.getfixturevalue("tiny_bert"), args, request.getfixturevalue("triples"))
    trainer.train()
    trainer.save_model(f"{folder}/saved")
    assert trainer.args.hub_token == CANARY


def bias(trainer_class, **columns):
    def train(folder, request):
        rows = bias_case.make_pairs(24)
        values = bias_case.known_bias(rows)
        rows = bias_case.with_columns(rows, bias_log_probs=values, teacher_log_probs=values)
        trainer = bias_case.make_trainer(trainer_class, rows, folder, **COMMON)
        trainer.train()
        trainer.args.hub_token = CANARY  # as `set_push_to_hub` and users do, after the trainer was made
        trainer.save_model(f"{folder}/saved")
        assert trainer.args.hub_token == CANARY

    return train


def data_diet(folder, request):
    model, tokenizer = data_diet_case.make_classifier()
    args = DataDietConfig(output_dir=folder, dataloader_pin_memory=False, **{**COMMON, "max_steps": 20})
    trainer = DataDietTrainer(model, args, train_dataset=data_diet_case.long_rows(), processing_class=tokenizer)
    trainer.train()
    trainer.save_model(f"{folder}/saved")


def translator(folder, request):
    tokenizer = toy_tokenizer()
    train_translator(toy_model(tokenizer), tokenizer, toy_rows(40), GFSTConfig(folder, warmup_steps=1, **COMMON))


def pair_classifier(folder, request):
    args = TrainingArguments(folder, **COMMON, dataloader_pin_memory=False)
    train_pair_classifier(*bias_case.make_classifier(), bias_case.make_pairs(24), training_arguments=args)


def generator(folder, request):
    from support.ibadr_case import make_case

    case, config = make_case(24), IBADRConfig(generator_per_device_train_batch_size=8, max_new_tokens=50)
    source, tokenizer = case.generator
    model, layout = open_generator(source, n_labels=3, n_texts=2, config=config, tokenizer=tokenizer)
    pool = case.world.train.add_column("indicator", [1] * len(case.world.train))
    options = {**COMMON, "columns": ("premise", "hypothesis"), "config": config, "num_train_epochs": 1.0}
    train_generator(model, layout, pool, output_dir=folder, **options)


TRAININGS = {
    "ccd": ccd,
    "data_diet": data_diet,
    "poe": bias(PoETrainer),
    "reweight": bias(ReweightTrainer),
    "conf_reg": bias(ConfRegTrainer),
    "translator": translator,
    "pair_classifier": pair_classifier,
    "generator": generator,
}
#: The others are made like one of these, and save as it does.
QUICK = ("ccd", "poe", "translator", "pair_classifier")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.whole) for name in TRAININGS]
)
def test_no_file_of_a_training_holds_the_token(name, tmp_path, request):
    TRAININGS[name](str(tmp_path / "out"), request)
    files = [path for path in Path(tmp_path).rglob("*") if path.is_file()]
    assert any(path.name == "training_args.bin" and "checkpoint-" in str(path) for path in files)
    assert [str(path) for path in files if CANARY.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("config", [CCDConfig, GFSTConfig, DataDietConfig])
def test_a_config_keeps_its_token_in_copies_and_leaves_it_out_of_pickles(config, tmp_path):
    args = config(output_dir=str(tmp_path), use_cpu=True, report_to="none", hub_token=CANARY)
    assert args.hub_token == copy.copy(args).hub_token == copy.deepcopy(args).hub_token == CANARY
    assert CANARY not in repr(args) + repr(args.hub_token) + args.to_json_string()
    assert pickle.loads(pickle.dumps(args)).hub_token is None
