"""Half a checkpoint is passed over; a resumed run ends, and is described, as one that nobody stopped."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from transformers import DataCollatorForSeq2Seq, Trainer

from hf_fairness.trainers import CCDConfig, CCDTrainer, DataDietConfig, DataDietTrainer, GFSTConfig
from hf_fairness.trainers.gfst.training import TranslationTrainer, encode_pairs
from hf_fairness.trainers.training.checkpoints import is_final, last_whole_checkpoint
from hf_fairness.trainers.training.pair_training import pair_trainer
from support.data_diet_case import long_rows, make_classifier
from support.toy_translator import toy_model, toy_rows, toy_tokenizer

pytestmark = pytest.mark.whole


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({}, None),
        ({"checkpoint-9": "{}", "checkpoint-10": "{}"}, "checkpoint-10"),
        ({"checkpoint-9": "{}", "checkpoint-10": '{"log_history": [{"lo'}, "checkpoint-9"),
        ({"checkpoint-9": "{}", "checkpoint-10": None}, "checkpoint-9"),
        ({"checkpoint-10": ""}, None),
        ({"checkpoint-best": "{}"}, None),
    ],
)
def test_last_whole_checkpoint(tmp_path, states, expected):
    for name, text in states.items():
        (tmp_path / name).mkdir()
        if text is not None:
            (tmp_path / name / "trainer_state.json").write_text(text)
    found = last_whole_checkpoint(tmp_path)
    assert found == (None if expected is None else str(tmp_path / expected))


def test_no_folder(tmp_path):
    assert last_whole_checkpoint(tmp_path / "nowhere") is None


#: A line of the log every two steps, so that checkpoints stand between lines; epochs of more steps than a run's last
#: epoch has.
SETTINGS = {
    "max_steps": 7,
    "logging_steps": 2,
    "save_strategy": "steps",
    "save_steps": 1,
    "save_total_limit": None,
    "learning_rate": 1e-3,
    "use_cpu": True,
    "disable_tqdm": True,
    "report_to": "none",
}


def classifier(folder: Path, *, early_stopping_patience: int | None = None, **more):
    model, tokenizer = make_classifier(hidden_dropout_prob=0.1)
    rows = Dataset.from_dict(
        {"premise": [f"she helped the {i}" for i in range(40)], "hypothesis": ["he"] * 40, "label": [0, 1] * 20}
    )
    given = {**SETTINGS, "output_dir": str(folder), "per_device_train_batch_size": 8, **more}
    options = {"training_arguments": given, "early_stopping_patience": early_stopping_patience}
    if early_stopping_patience is not None:
        options["eval_dataset"] = rows.select(range(8))
    return pair_trainer(model, tokenizer, rows, **options)


def translator(folder: Path, **more):
    tokenizer = toy_tokenizer()
    model = toy_model(tokenizer, dropout=0.1)
    own = {"per_device_train_batch_size": 16, "average_checkpoints": 0, "eval_strategy": "no", "warmup_steps": 1}
    args = GFSTConfig(output_dir=str(folder), **SETTINGS | own | more)
    return TranslationTrainer(
        model=model,
        args=args,
        train_dataset=encode_pairs(toy_rows(80), model, tokenizer, args)[0],
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
    )


def diet(folder: Path, **more):
    model, tokenizer = make_classifier(hidden_dropout_prob=0.1)
    args = DataDietConfig(output_dir=str(folder), per_device_train_batch_size=16, n_init=1, **SETTINGS | more)
    return DataDietTrainer(model=model, args=args, train_dataset=long_rows(), processing_class=tokenizer)


@pytest.fixture
def make(request, tiny_bert, triples):
    """Makes a trainer of a kind that writes into a folder."""

    def ccd(folder: Path, **more):
        own = {"eval_strategy": "steps", "eval_steps": 3, "load_best_model_at_end": False, "keep_dropout": True}
        return CCDTrainer(tiny_bert, CCDConfig(output_dir=str(folder), **SETTINGS | own | more), triples)

    return {"classifier": classifier, "translator": translator, "diet": diet, "ccd": ccd}[request.param]


ALL = pytest.mark.parametrize("make", ["classifier", "translator", "diet", "ccd"], indirect=True)


def told(trainer) -> list[dict]:
    """The log without what a clock says."""
    return [
        {key: value for key, value in line.items() if not key.endswith(("runtime", "per_second"))}
        for line in trainer.state.log_history
    ]


@ALL
def test_a_resumed_run_ends_as_one_that_nobody_stopped(make, tmp_path):
    whole = make(tmp_path / "whole")
    result = whole.train()
    assert whole.state.global_step == 7
    for cut in (3, 7):
        name = f"checkpoint-{cut}"
        shutil.copytree(tmp_path / "whole" / name, tmp_path / "cut" / name)
        again = make(tmp_path / "cut")
        resumed = again.train(resume_from_checkpoint=last_whole_checkpoint(tmp_path / "cut"))
        assert again.state.global_step == 7, cut
        assert resumed.training_loss == result.training_loss, cut
        assert told(again) == told(whole), cut
        for key, value in whole.model.state_dict().items():
            assert torch.equal(value, again.model.state_dict()[key]), (cut, key)
        seconds = again.state.log_history[-1]["train_runtime"]
        assert seconds >= (again.seconds_before if cut < 7 else 0)
        if isinstance(whole, CCDTrainer):
            card = again.model.model_card_data
            assert card.training_logs == whole.model.model_card_data.training_logs
            assert card.evaluation_duration > 0  # also where all evaluations came before the checkpoint
            assert time.time() - card._training_start_time > again.seconds_before > 0
        shutil.rmtree(tmp_path / "cut")


@pytest.mark.parametrize("make", ["classifier"], indirect=True)
def test_a_longer_run_goes_on_from_a_final_checkpoint(make, tmp_path):
    make(tmp_path).train()
    assert is_final(tmp_path / "checkpoint-7", 7)
    assert not is_final(tmp_path / "checkpoint-6", 7)
    longer = make(tmp_path, max_steps=9)
    longer.train(resume_from_checkpoint=last_whole_checkpoint(tmp_path))
    assert longer.state.global_step == 9


@pytest.mark.parametrize("make", ["classifier"], indirect=True)
def test_a_run_that_stopped_by_itself_stays_stopped(make, tmp_path):
    evaluating = {"eval_strategy": "steps", "eval_steps": 1, "load_best_model_at_end": True}
    evaluating |= {"metric_for_best_model": "accuracy", "learning_rate": 3.0, "max_steps": 40}  # too fast: worse soon

    def stopping():
        trainer = make(tmp_path, early_stopping_patience=1, **evaluating)
        trainer.train(resume_from_checkpoint=last_whole_checkpoint(tmp_path))
        return trainer

    whole, again = stopping(), stopping()
    assert whole.state.global_step < 40
    assert told(again) == told(whole)
    for key, value in whole.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[key]), key


@pytest.mark.parametrize("make", ["classifier"], indirect=True)
def test_a_checkpoint_that_was_half_removed_is_passed_over(make, tmp_path):
    make(tmp_path).train()
    names = [path.name for path in (tmp_path / "checkpoint-7").iterdir()]
    assert {"model.safetensors", "optimizer.pt", "trainer_state.json"} <= set(names)
    for name in names:
        kept = (tmp_path / "checkpoint-7" / name).read_bytes()
        (tmp_path / "checkpoint-7" / name).unlink()
        assert last_whole_checkpoint(tmp_path) == str(tmp_path / "checkpoint-6"), name
        (tmp_path / "checkpoint-7" / name).write_bytes(kept)
    assert last_whole_checkpoint(tmp_path) == str(tmp_path / "checkpoint-7")


@pytest.mark.parametrize("make", ["classifier"], indirect=True)
def test_a_checkpoint_of_a_plain_trainer_is_gone_on_from(make, tmp_path):
    make(tmp_path).train()
    for path in tmp_path.glob("checkpoint-*/trainer_state.json"):
        state = json.loads(path.read_text())
        del state["stateful_callbacks"]["TrainingSoFar"]
        path.write_text(json.dumps(state))
    shutil.rmtree(tmp_path / "checkpoint-7")
    again = make(tmp_path)
    again.train(resume_from_checkpoint=last_whole_checkpoint(tmp_path))
    assert again.state.global_step == 7
    assert issubclass(type(again), Trainer)
