"""One set of settings: what is set of `TrainingArguments` reaches the trainings that it is of, the rest is refused."""

from __future__ import annotations

import dataclasses
import json

import pytest
from transformers import Trainer, TrainingArguments

from hf_fairness.trainers.ibadr.config import NO_MATTER, OF_CLASSIFIERS, OF_MAIN, REFUSED, IBADRConfig

#: Settings that are asked for, by which trainings take them.
MAIN = {"weight_decay": 0.25, "lr_scheduler_type": "cosine", "warmup_steps": 3, "max_grad_norm": 0.5, "optim": "sgd"}
STEPS = {"gradient_accumulation_steps": 2}
ALL = {"data_seed": 5, "activation_checkpointing": True, "dataloader_num_workers": 0, "logging_strategy": "epoch"}


@pytest.fixture
def trained(case, tmp_path, monkeypatch):
    """Arguments of each trainer of a run, by the stage that it is of."""
    found = {}
    original = Trainer.train

    def train(self, *args, **kwargs):
        found[self.args.output_dir.split("/")[-2]] = self.args
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Trainer, "train", train)

    def run(**settings):
        case.run(tmp_path / "out", n_iterations=1, **settings)
        return found

    return run


@pytest.mark.whole
@pytest.mark.filterwarnings(r"ignore:Round \d|Every one of the:hf_fairness.utils.FairnessWarning")
def test_settings_reach_the_trainings_that_they_are_of(trained, tmp_path):
    more = {"bf16": True, "learning_rate": 2e-3, "num_train_epochs": 1, "generator_gradient_accumulation_steps": 4}
    found = trained(**MAIN, **STEPS, **ALL, run_name="mine", **more)
    assert set(found) == {"base", "shallow-0", "generator-1", "ibadr", "control"}
    usual = TrainingArguments("unused", use_cpu=True)
    for stage, args in found.items():
        main, generator = stage in ("base", "ibadr", "control"), stage == "generator-1"
        for name in (*MAIN, *STEPS, *ALL):
            ours = name in ALL or main or (name in STEPS and not generator)
            wanted = {**MAIN, **STEPS, **ALL}[name] if ours else 4 if name in STEPS else getattr(usual, name)
            assert getattr(args, name) == wanted, (stage, name)
        assert args.learning_rate == (2e-3 if main else 1e-2)
        assert args.bf16
        assert args.use_cpu
        assert not args.dataloader_pin_memory
        assert args.run_name == f"mine-{stage}"
        assert args.per_device_train_batch_size == 16
    assert found["base"].load_best_model_at_end
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["training"]["weight_decay"] == 0.25


def test_every_setting_of_the_parent_has_its_place():
    """No name that the parent no longer has, and none of the recipe's that a training would get."""
    names = {entry.name for entry in dataclasses.fields(TrainingArguments)}
    assert {*OF_MAIN, *OF_CLASSIFIERS, *REFUSED, *NO_MATTER} <= names
    assert not set(REFUSED) & {*OF_MAIN, *OF_CLASSIFIERS, *NO_MATTER}
    config = IBADRConfig("out", use_cpu=True, push_to_hub=True, hub_model_id="me/it", hub_token="hf_" + "A1" * 9)
    for model in ("main", "shallow", "generator"):
        settings = config.training(model)
        assert not set(settings) & {*REFUSED, "output_dir", "push_to_hub", "hub_model_id", "hub_token"}
        TrainingArguments("unused", **settings)
    assert "hf_A1" not in json.dumps([config.training("main"), config.shown(), config.changed()])


def test_what_is_not_set_is_as_the_trainer_has_it():
    plain = {"seed", "bf16", "use_cpu", "dataloader_pin_memory", "per_device_train_batch_size", "learning_rate"}
    config = IBADRConfig("out", use_cpu=True)
    assert set(config.training("generator")) == plain
    for model in ("main", "shallow"):
        assert set(config.training(model)) == plain | {"num_train_epochs", "per_device_eval_batch_size"}
    assert config.training("main")["per_device_eval_batch_size"] == 128
    assert dataclasses.replace(config, seed=3).training("main") == {**config.training("main"), "seed": 3}


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("load_best_model_at_end", True),
        ("eval_strategy", "epoch"),
        ("eval_steps", 5),
        ("save_strategy", "epoch"),
        ("save_total_limit", 2),
        ("max_steps", 10),
        ("auto_find_batch_size", True),
        ("label_names", ["entailment"]),
        ("resume_from_checkpoint", "out"),
        ("lr_scheduler_type", "reduce_lr_on_plateau"),
    ],
)
def test_what_cannot_work_is_refused_at_once(setting, value):
    with pytest.raises(ValueError, match=rf"^--{setting} .*cannot be set here: [^.]*\.$"):
        IBADRConfig("out", use_cpu=True, **{setting: value})


def test_smoothed_labels_and_a_loss_of_its_own_do_not_go_together(case, tmp_path):
    with pytest.raises(ValueError, match="--poe has a loss of its own: leave out --label_smoothing_factor"):
        case.run(tmp_path / "out", poe=True, label_smoothing_factor=0.1)
    assert not (tmp_path / "out").exists()
