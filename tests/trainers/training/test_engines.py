"""FSDP and DeepSpeed, several GPUs in one process, and the configurations for `accelerate launch` that are shipped."""

from __future__ import annotations

import importlib
from functools import partial
from importlib import resources
from pathlib import Path

import pytest
from transformers import Seq2SeqTrainingArguments, TrainingArguments

from hf_fairness import cli, trainers
from hf_fairness._processes import ENGINES
from hf_fairness.cli import main
from hf_fairness.trainers.training.guarded import Guarded
from hf_fairness.utils import FairnessWarning
from support.bias_case import make_classifier

CONFIGS = [
    name
    for name in trainers.__all__
    if name.endswith("Config") and issubclass(getattr(trainers, name), TrainingArguments)
]
#: What trains by itself -> its settings.
TRAINERS = {
    "CCDTrainer": trainers.CCDConfig,
    "ConfRegTrainer": TrainingArguments,
    "DCTTrainer": TrainingArguments,
    "DataDietTrainer": trainers.DataDietConfig,
    "PoETrainer": TrainingArguments,
    "ReweightTrainer": TrainingArguments,
    "TranslationTrainer": Seq2SeqTrainingArguments,
}
COMMANDS = ("audit", "ccd", "compare", "data-diet", "demo", "gfst", "ibadr", "refine", "sentence-debias")
#: FSDP works for these: tests/trainers/test_processes.py.
SPLIT = ("ConfRegTrainer", "PoETrainer", "ReweightTrainer")


def test_every_trainer_and_every_command_is_in_the_tables():
    found = {name: importlib.import_module(module) for name, (_, module) in cli._FOUND.items()}
    methods = {name for name, each in found.items() if hasattr(each, "COMMAND") and each.COMMAND.config}
    assert {*COMMANDS} == methods | {"audit"}
    assert set(TRAINERS) == {name for name in trainers.__all__ if name.endswith("Trainer")}
    own = {name for name, each in TRAINERS.items() if each.__module__.startswith("hf_fairness")}
    assert own == {"CCDTrainer", "DataDietTrainer"}
    assert all(issubclass(getattr(trainers, name), Guarded) for name in TRAINERS)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TRAINERS)
def test_a_trainer_refuses_an_engine_at_construction(monkeypatch, tmp_path, name, engine):
    if engine == "FSDP" and name in SPLIT:
        pytest.skip("it works")
    settings, trainer = TRAINERS[name], getattr(trainers, name)
    args, model = TrainingArguments(str(tmp_path), use_cpu=True), make_classifier()[0]
    own = settings.__module__.startswith("hf_fairness")  # these refuse before there is a trainer
    make = partial(settings, str(tmp_path), use_cpu=True) if own else partial(trainer, model=model, args=args)
    monkeypatch.setenv(ENGINES[engine][1], "true")
    with pytest.raises(ValueError, match=f"{engine} splits a model over the processes"):
        make()


@pytest.mark.parametrize("setting", ["fsdp", "deepspeed"])
@pytest.mark.parametrize("name", CONFIGS)
def test_settings_refuse_an_engine(tmp_path, name, setting):
    value = {"fsdp": True, "deepspeed": "zero3.json"}[setting]
    with pytest.raises(ValueError, match=r"splits a model over the processes, and training with .* use `torchrun`"):
        getattr(trainers, name)(output_dir=str(tmp_path), use_cpu=True, **{setting: value})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_refuses_an_engine_in_one_sentence(monkeypatch, capsys, tmp_path, command, engine):
    monkeypatch.setenv(ENGINES[engine][1], "true")
    assert main([command, "no/model", "--output_dir", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert f"{engine} splits a model over the processes, and hf-fairness {command} needs the whole model" in said
    assert not (tmp_path / "out").exists()


def test_augment_on_several_processes_says_what_to_do(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["augment", "texts.csv", "--method", "cda", "--output_dir", str(tmp_path / "out")]) == 1
    assert "augment takes one process" in capsys.readouterr().err


@pytest.fixture
def two_gpus(monkeypatch):
    """A process that sees two GPUs, as far as settings know."""
    monkeypatch.setattr(TrainingArguments, "n_gpu", property(lambda self: 1 if self._n_gpu == 1 else 2))


@pytest.mark.parametrize("name", CONFIGS)
def test_several_gpus_of_one_process_do_not_multiply_a_batch(two_gpus, tmp_path, name):
    plain = TrainingArguments(str(tmp_path), per_device_train_batch_size=8)
    assert plain.train_batch_size == 16  # what is to be prevented
    with pytest.warns(FairnessWarning, match=r"sees 2 GPUs and takes the first.*accelerate launch --multi_gpu"):
        made = getattr(trainers, name)(output_dir=str(tmp_path), **_sizes(name))
    assert (made.train_batch_size, made.n_gpu) == (made.per_device_train_batch_size, 1)
    assert made.ddp_timeout >= 24 * 3600  # the first process tokenizes, whatever the size of the corpus


def _sizes(name: str) -> dict[str, int]:
    return {} if name == "SentenceDebiasConfig" else {"per_device_train_batch_size": 8}


def test_a_trainer_with_plain_settings_takes_one_gpu_too(two_gpus, tmp_path):
    args = TrainingArguments(str(tmp_path), per_device_train_batch_size=8, use_cpu=True, report_to="none")
    with pytest.warns(FairnessWarning, match="CUDA_VISIBLE_DEVICES=0"):
        trainer = trainers.PoETrainer(model=make_classifier()[0], args=args)
    assert trainer._train_batch_size == trainer.args.train_batch_size == 8


@pytest.mark.parametrize(("name", "kind"), [("two_gpus", "MULTI_GPU"), ("fsdp", "FSDP")])
def test_shipped_configurations_are_what_accelerate_reads(name, kind):
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.utils import FullyShardedDataParallelPlugin

    file = resources.files("hf_fairness.trainers").joinpath(f"accelerate/{name}.yaml")
    read = load_config_from_file(str(file))
    assert (str(read.distributed_type).rpartition(".")[2], read.num_processes, read.mixed_precision) == (
        kind,
        2,
        "bf16",
    )
    said = file.read_text(encoding="utf-8")
    assert "accelerate launch --config_file" in said
    assert "all of them see" in said or "all nodes see" in said
    if kind == "FSDP":
        names = {key.removeprefix("fsdp_"): value for key, value in read.fsdp_config.items()}
        plugin = FullyShardedDataParallelPlugin(
            fsdp_version=names["version"],
            auto_wrap_policy=names["auto_wrap_policy"],
            state_dict_type=names["state_dict_type"],
            reshard_after_forward=names["reshard_after_forward"],
        )
        assert "FULL" in str(plugin.state_dict_type)
        assert all(trainer in said for trainer in SPLIT)


def test_a_page_names_the_configurations_and_what_they_are_for():
    page = resources.files("hf_fairness.trainers").joinpath("accelerate/README.md").read_text(encoding="utf-8")
    assert "trainers/accelerate/README.md" in (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    assert all(name in page for name in ("two_gpus.yaml", "fsdp.yaml", *SPLIT, "--output_dir"))
