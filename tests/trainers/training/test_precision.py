"""Checkpoints in half precision are trained in float32: small updates arrive, and ``bf16`` on a CPU works."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from safetensors import safe_open
from transformers import AutoModelForSequenceClassification, AutoTokenizer, TrainerCallback, TrainingArguments

from hf_fairness.measure.models import open_translator
from hf_fairness.trainers import CCDTrainer, DataDietConfig, DataDietTrainer, GFSTConfig, PoETrainer, train_translator
from hf_fairness.trainers.ibadr.config import IBADRConfig
from hf_fairness.trainers.ibadr.generator import open_generator, save_generator, train_generator
from hf_fairness.trainers.training.pair_training import encode_rows, open_pair_classifier, train_pair_classifier
from hf_fairness.trainers.training.preparation import full_precision
from support.bias_case import make_classifier as pair_classifier
from support.bias_case import make_pairs, with_columns
from support.data_diet_case import make_classifier as text_classifier
from support.data_diet_case import wide_rows
from support.ibadr_case import make_case
from support.tiny_bert import save_tiny_bert
from support.toy_translator import toy_model, toy_rows, toy_tokenizer

pytestmark = pytest.mark.whole

#: So small that half precision loses it.
RATE = 1e-6
STEPS = {"max_steps": 2, "learning_rate": RATE, "use_cpu": True, "disable_tqdm": True, "report_to": "none"}
STEPS |= {"dataloader_pin_memory": False, "save_strategy": "no", "lr_scheduler_type": "constant"}


def save(model, tokenizer, folder, dtype):
    model.to(dtype).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def vector(model):
    return torch.cat([weight.detach().flatten().double() for weight in model.parameters()])


def opened(folder):
    kind = AutoModelForSequenceClassification
    return kind.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


def pairs(folder, dtype, out, flags):
    source = save(*pair_classifier(), folder, dtype)
    model, tokenizer = open_pair_classifier(source, label_names=["entailment", "neutral", "contradiction"])
    before = vector(model)
    train_pair_classifier(model, tokenizer, make_pairs(32), training_arguments={**STEPS, **flags})
    model.save_pretrained(out)
    return model, before


def poe(folder, dtype, out, flags):
    model, tokenizer = opened(save(*pair_classifier(), folder, dtype))
    before = vector(model)
    rows = with_columns(make_pairs(32), bias_log_probs=torch.full((32, 3), 1 / 3).log().numpy())
    args = TrainingArguments(out, **STEPS, **flags)
    trainer = PoETrainer(model=model, args=args, train_dataset=encode_rows(rows, tokenizer), processing_class=tokenizer)
    trainer.train()
    trainer.save_model(out)
    return model, before


def diet(folder, dtype, out, flags, **how):
    model, tokenizer = opened(save(*text_classifier(), folder, dtype))
    before = vector(model)
    args = DataDietConfig(output_dir=out, ranking="random", max_length=16, **STEPS, **flags)
    given = {"model_init": lambda: opened(folder)[0]} if how else {"model": model}
    trainer = DataDietTrainer(args=args, train_dataset=wide_rows(), processing_class=tokenizer, **given)
    trainer.train()
    trainer.save_model(out)
    return trainer.model, before


def diet_init(folder, dtype, out, flags):
    return diet(folder, dtype, out, flags, init=True)


def generator(folder, dtype, out, flags):
    from transformers import AutoModelForCausalLM

    case = make_case(32)
    source, tokenizer = case.generator
    save(AutoModelForCausalLM.from_config(source), tokenizer, folder, dtype)
    config = IBADRConfig(n_bias_indicators=2, generator_learning_rate=RATE, max_new_tokens=40)
    model, layout = open_generator(str(folder), n_labels=3, n_texts=2, config=config)
    before = vector(model)
    rows = case.world.train.add_column("indicator", [1, 2] * 16)
    own = {name: value for name, value in STEPS.items() if name not in ("learning_rate", "max_steps")}
    place = {"columns": ("premise", "hypothesis"), "output_dir": Path(out, "run")}
    train_generator(model, layout, rows, config=config, num_train_epochs=2, **place, **own, **flags)
    save_generator(model, layout, out)
    return model, before


def translator(folder, dtype, out, flags):
    tokenizer = toy_tokenizer()
    save(toy_model(tokenizer), tokenizer, folder, dtype)
    model, tokenizer = open_translator(folder)
    before = vector(model)
    args = GFSTConfig(str(Path(out, "run")), warmup_steps=0, average_checkpoints=0, **STEPS, **flags)
    train_translator(model, tokenizer, toy_rows(32), args)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return model, before


TRAININGS = [pairs, poe, diet, diet_init, generator, translator]


@pytest.mark.parametrize("training", TRAININGS)
@pytest.mark.parametrize(
    ("dtype", "flags"),
    [(torch.bfloat16, {}), (torch.bfloat16, {"bf16": True}), (torch.float16, {})],
    ids=["bf16", "bf16-flag", "fp16"],
)
def test_small_updates_arrive(training, dtype, flags, tmp_path):
    folder, out = tmp_path / "half", str(tmp_path / "out")
    folder.mkdir()
    model, before = training(folder, dtype, out, flags)
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    moved = (vector(model) - before).abs()
    assert 0 < moved.max() < 10 * RATE
    # Words that no row holds have no gradient; in bfloat16 3 % of the weights of the first of these cases moved.
    assert (moved > 0).double().mean() > 0.5
    with safe_open(next(Path(out).glob("*.safetensors")), framework="pt") as file:
        assert {file.get_tensor(name).dtype for name in file.keys()} == {torch.float32}  # noqa: SIM118
    assert json.loads(Path(out, "config.json").read_text())["dtype"] == "float32"


@pytest.mark.parametrize("class_name", ["BertModel", "BertForMaskedLM"])
@pytest.mark.parametrize("flags", [{}, {"bf16": True}], ids=["plain", "bf16-flag"])
def test_an_encoder_too(config, triples, tmp_path, class_name, flags):
    import transformers

    words = sorted({word for column in triples[:].values() for text in column for word in text.split()})
    source = save_tiny_bert(tmp_path / "half", words, class_name)
    kind = getattr(transformers, class_name)
    kind.from_pretrained(source).to(torch.bfloat16).save_pretrained(source)
    trainer = CCDTrainer(source, config(max_steps=2, learning_rate=RATE, **flags), triples)
    before = vector(trainer.model)
    trainer.train()
    trainer.save_model(str(tmp_path / "saved"))
    assert {weight.dtype for weight in trainer.model.parameters()} == {torch.float32}
    assert ((vector(trainer.model) - before) != 0).double().mean() > 0.5
    reopened = kind.from_pretrained(tmp_path / "saved")
    assert {weight.dtype for weight in reopened.parameters()} == {torch.float32}


def test_weights_are_float32_at_every_step(tmp_path):
    found = set()

    class Look(TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
            found.update((weight.dtype, weight.grad.dtype) for weight in model.parameters() if weight.grad is not None)

    model, tokenizer = pair_classifier()
    rows = make_pairs(32)
    settings = {**STEPS, "bf16": True}
    train_pair_classifier(model.bfloat16(), tokenizer, rows, training_arguments=settings, callbacks=[Look()])
    assert found == {(torch.float32, torch.float32)}


def test_it_is_said(caplog):
    model, _ = pair_classifier()
    with caplog.at_level("INFO", logger="hf_fairness"):
        assert full_precision(model) is model
        assert not caplog.records
        full_precision(model.half())
    assert "weights come in float16; they are trained, and saved, in float32" in caplog.text
    model.half().is_quantized = True
    assert {weight.dtype for weight in full_precision(model).parameters()} == {torch.float16}


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft 0.21
def test_adapters_on_a_model_in_half_precision(tmp_path):
    from peft import LoraConfig, TaskType, get_peft_model

    model, tokenizer = text_classifier()
    settings = LoraConfig(task_type=TaskType.SEQ_CLS, target_modules=["query", "value"])
    adapted = get_peft_model(model.bfloat16(), settings)
    before = vector(adapted)
    args = DataDietConfig(output_dir=str(tmp_path), ranking="random", max_length=16, **STEPS)
    DataDietTrainer(adapted, args, train_dataset=wide_rows(), processing_class=tokenizer).train()
    assert (vector(adapted) != before).any()


def test_the_whole_pipeline_takes_models_in_half_precision(tmp_path):
    """Opened from folders, with the flag for mixed precision."""
    from transformers import AutoModelForCausalLM

    case = make_case(64)
    classifier = AutoModelForSequenceClassification.from_config(case.classifier[0])
    writer = AutoModelForCausalLM.from_config(case.generator[0])
    folders = {
        "model": save(classifier, case.classifier[1], tmp_path / "classifier", torch.bfloat16),
        "generator": save(writer, case.generator[1], tmp_path / "generator", torch.bfloat16),
    }
    settings = {"n_iterations": 1, "n_generated": 30, "num_train_epochs": 1, "bf16": True}
    with pytest.warns(match=r"Round 1|Every one"):
        found = case.run(tmp_path / "out", **folders, **settings)
    for folder in (found["model"], found["artefacts"]["generator"].folder):
        with safe_open(next(Path(folder).glob("*.safetensors")), framework="pt") as file:
            assert {file.get_tensor(key).dtype for key in file.keys()} == {torch.float32}  # noqa: SIM118
    assert isinstance(found["results"], dict)
    assert isinstance(case.world.train, Dataset)
