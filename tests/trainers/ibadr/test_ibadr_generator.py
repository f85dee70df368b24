"""The generator: learns, is saved and opened again with the same logits, whole or as adapters; how sure it is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig

from hf_fairness.trainers.ibadr.config import IBADRConfig
from hf_fairness.trainers.ibadr.generator import (
    generator_confidence,
    open_generator,
    save_generator,
    train_generator,
)
from hf_fairness.trainers.ibadr.pool import bias_groups
from hf_fairness.trainers.ibadr.sampling import sample

COLUMNS = ("premise", "hypothesis")
CONFIG = IBADRConfig(
    n_bias_indicators=2,
    generator_learning_rate=1e-2,
    generator_per_device_train_batch_size=16,
    max_new_tokens=40,
    generator_lora_r=8,
)
PLACE = {"n_labels": 3, "n_texts": 2}
PEFT = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft 0.21


def llama(tokenizer):
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    return LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=64, tie_word_embeddings=False, **sizes)


@pytest.fixture(scope="module")
def pool(case):
    """Rows of which group 2 has the marker of its label."""
    degrees = [0.0 if against else 1.0 for against in case.world.anti_artefact(case.world.train)]
    return case.world.train.add_column("indicator", bias_groups(degrees, 2).tolist())


def train(model, layout, pool, folder, config=CONFIG, num_train_epochs=1.0):
    options = {"columns": COLUMNS, "config": config, "output_dir": folder, "use_cpu": True}
    return train_generator(model, layout, pool, num_train_epochs=num_train_epochs, **options)


def texts(pool):
    return [list(pool[name]) for name in COLUMNS]


@pytest.fixture(scope="module")
def trained(case, pool, tmp_path_factory):
    source, tokenizer = case.generator
    model, layout = open_generator(source, **PLACE, config=CONFIG, tokenizer=tokenizer)
    found = train(model, layout, pool, tmp_path_factory.mktemp("full"), num_train_epochs=15)
    return model, layout, found


def test_training_teaches_the_form_of_samples(case, trained):
    model, layout, found = trained
    assert (found["n"], found["n_too_long"], found["steps"]) == (128, 0, 120)
    drawn = sample(model, layout, 60, config=CONFIG)
    assert drawn.reasons.count("") > 40
    source, tokenizer = case.generator
    fresh, layout = open_generator(source, **PLACE, config=CONFIG, tokenizer=tokenizer)
    assert sample(fresh, layout, 60, config=CONFIG).reasons.count("") < 10


@pytest.mark.parametrize("more", [{}, {"activation_checkpointing": True}], ids=["as it is", "checkpointing"])
def test_batches_that_are_accumulated_are_one_large_batch(case, pool, tmp_path, more):
    """The same steps, up to what Adam makes of rounding; activations that are computed twice change nothing."""
    source, tokenizer = case.generator
    found = {}
    for size, batches in ((16, 1), (4, 4)):
        how = {"generator_per_device_train_batch_size": size, "generator_gradient_accumulation_steps": batches}
        config = dataclasses.replace(CONFIG, **how, **(more if batches > 1 else {}))
        model, layout = open_generator(source, **PLACE, config=config, tokenizer=tokenizer)
        result = train(model, layout, pool.select(range(48)), tmp_path / str(size), config=config)
        found[size] = (result["steps"], torch.cat([weight.detach().flatten() for weight in model.parameters()]))
    assert found[16][0] == found[4][0] == 3
    fresh, _ = open_generator(source, **PLACE, config=CONFIG, tokenizer=tokenizer)
    start = torch.cat([weight.detach().flatten() for weight in fresh.parameters()])
    moved = (found[16][1] - start).norm()
    assert moved > 1.0
    assert (found[4][1] - found[16][1]).norm() < 1e-3 * moved


@pytest.mark.whole
@PEFT
def test_adapters_learn_the_same_when_activations_are_computed_twice(case, pool, tmp_path):
    """In bfloat16, with batches that are accumulated: gradients reach adapters below frozen weights."""
    source, tokenizer = case.generator
    how = {"generator_per_device_train_batch_size": 4, "generator_gradient_accumulation_steps": 4}
    how |= {"generator_use_peft": True, "bf16": True, "use_cpu": True}
    found = []
    for again in (False, True):
        config = dataclasses.replace(CONFIG, **how, activation_checkpointing=again)
        model, layout = open_generator(source, **PLACE, config=config, tokenizer=tokenizer)
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        before = torch.cat([weight.detach().flatten() for weight in trained])
        result = train(model, layout, pool.select(range(48)), tmp_path / str(again), config=config)
        assert result["steps"] == 3
        assert {weight.dtype for weight in trained} == {torch.float32}
        found.append(torch.cat([weight.detach().flatten() for weight in trained]) - before)
    assert found[0].norm() > 0.1
    assert (found[0] - found[1]).norm() < 1e-2 * found[0].norm()


def test_the_loss_is_that_of_the_texts_alone(case, pool):
    source, tokenizer = case.generator
    _, layout = open_generator(source, **PLACE, config=CONFIG, tokenizer=tokenizer)
    rows, _ = layout.rows(pool.select(range(4)), COLUMNS, label_column="label", max_new_tokens=40)
    batch = layout.collate(list(rows))
    assert (batch["labels"][:, : layout.start] == -100).all()
    for row, labels in zip(rows["input_ids"], batch["labels"].tolist(), strict=True):
        assert [token for token in labels if token != -100] == row[layout.start :]
        assert row[-1] == layout.end  # the end is learned too


@pytest.mark.whole
def test_confidence_is_the_share_of_a_label(case, tmp_path):
    """A word per label, said in nine of ten rows."""
    words = ["anna", "ben", "greta"]
    rows = {"hypothesis": ["hugo is sitting ."] * 60, "label": [k % 3 for k in range(60)], "indicator": [1] * 60}
    rows["premise"] = [words[(k + (k >= 54)) % 3] for k in range(60)]
    easy = Dataset.from_dict(rows)
    source, tokenizer = case.generator
    model, layout = open_generator(source, **PLACE, config=CONFIG, tokenizer=tokenizer)
    train(model, layout, easy, tmp_path, num_train_epochs=25)
    shares = np.stack(
        [
            generator_confidence(model, layout, texts(easy), [label] * 60, easy["indicator"], config=CONFIG)
            for label in range(3)
        ]
    )
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-5)
    own = shares[np.array(easy["label"]), np.arange(60)]
    assert own[:54].min() > 0.7
    assert own[54:].max() < 0.3
    other = dataclasses.replace(CONFIG, generator_per_device_train_batch_size=5)
    again = generator_confidence(model, layout, texts(easy), easy["label"], easy["indicator"], config=other)
    np.testing.assert_allclose(again, own, atol=1e-4)
    never = dataclasses.replace(CONFIG, label_distribution=[1.0, 0.0, 0.0])
    sure = generator_confidence(model, layout, texts(easy), [0] * 60, easy["indicator"], config=never)
    np.testing.assert_allclose(sure, 1.0, rtol=1e-5)


def logits(model, layout):
    ids = torch.tensor([layout.prefix(1, 2) + layout.encode(["anna is sitting ."], ["ben is ."])[0]])
    model.eval()
    with torch.no_grad():
        return model(input_ids=ids).logits


@PEFT
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("lora", [False, True])
def test_saved_and_opened_again(case, pool, kind, lora, tmp_path):
    """Whole, as adapters, and merged: the same logits, and training goes on from them."""
    source, tokenizer = case.generator
    source = source if kind == "gpt2" else llama(tokenizer)
    config = dataclasses.replace(CONFIG, generator_use_peft=lora)
    base, layout = open_generator(source, **PLACE, config=config, tokenizer=tokenizer)
    before = logits(base, layout)
    train(base, layout, pool, tmp_path / "run", config)
    wanted = logits(base, layout)
    assert not torch.allclose(before, wanted, atol=1e-2)
    save_generator(base, layout, tmp_path / "saved")
    again, other = open_generator(source, **PLACE, config=config, tokenizer=tokenizer, trained=tmp_path / "saved")
    torch.testing.assert_close(logits(again, other), wanted, rtol=0, atol=1e-6)
    save_generator(base, layout, tmp_path / "merged", merged=True)
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "merged")
    torch.testing.assert_close(logits(merged, layout), wanted, rtol=1e-4, atol=1e-4)
    assert len(AutoTokenizer.from_pretrained(tmp_path / "merged")) == len(layout.tokenizer)
    torch.testing.assert_close(logits(base, layout), wanted)  # the live model keeps its adapters
    train(again, other, pool, tmp_path / "on", config)
    assert not torch.allclose(logits(again, other), wanted, atol=1e-2)
    if lora:
        weights = sum(value.numel() for value in again.parameters() if value.requires_grad)
        assert weights < sum(value.numel() for value in again.parameters())
        assert (tmp_path / "saved" / "adapter_model.safetensors").is_file()


@PEFT
def test_adapters_train_the_new_tokens(case, pool, tmp_path):
    source, tokenizer = case.generator
    config = dataclasses.replace(CONFIG, generator_use_peft=True)
    model, layout = open_generator(source, **PLACE, config=config, tokenizer=tokenizer)
    before = model.get_input_embeddings().weight.clone()
    train(model, layout, pool, tmp_path / "run", config)
    save_generator(model, layout, tmp_path / "merged", merged=True)
    after = AutoModelForCausalLM.from_pretrained(tmp_path / "merged").get_input_embeddings().weight
    changed = (after != before).any(dim=1).nonzero()[:, 0].tolist()
    assert set(changed) <= set(layout.new_ids)
    assert len(changed) >= 6  # all but those that no row holds


def test_sources(case, tmp_path):
    source, tokenizer = case.generator
    size = len(tokenizer)
    model, layout = open_generator(source, **PLACE, config=CONFIG, tokenizer=tokenizer)
    assert len(tokenizer) == size  # the caller's tokenizer stays as it was
    live, _ = open_generator(model, **PLACE, config=CONFIG, tokenizer=layout.tokenizer)
    assert live is not model
    save_generator(model, layout, tmp_path / "saved")
    from_folder, _ = open_generator(str(tmp_path / "saved"), **PLACE, config=CONFIG)
    torch.testing.assert_close(logits(from_folder, layout), logits(model, layout))
    with pytest.raises(ValueError, match="does not open as a causal language model"):
        open_generator(str(tmp_path / "nothing"), **PLACE, config=CONFIG)
    with pytest.raises(ValueError, match="an id, a folder, a live model or a configuration"):
        open_generator(3, **PLACE, config=CONFIG, tokenizer=tokenizer)
    with pytest.raises(ValueError, match="does not say where it came from"):
        open_generator(source, **PLACE, config=CONFIG)


@pytest.mark.whole
def test_killed_training_goes_on(case, pool, tmp_path, monkeypatch):
    from transformers import Trainer

    source, tokenizer = case.generator
    weights = {}
    for name in ("whole", "killed"):
        model, layout = open_generator(source, **PLACE, config=CONFIG, tokenizer=tokenizer)
        if name == "killed":
            steps = []
            original = Trainer.training_step

            def training_step(self, *args, steps=steps, original=original, **kwargs):
                steps.append(1)
                if len(steps) > 12:
                    raise KeyboardInterrupt
                return original(self, *args, **kwargs)

            with monkeypatch.context() as patch:
                patch.setattr(Trainer, "training_step", training_step)
                with pytest.raises(KeyboardInterrupt):
                    train(model, layout, pool, tmp_path / name, num_train_epochs=2)
            model, layout = open_generator(source, **PLACE, config=CONFIG, tokenizer=tokenizer)
        train(model, layout, pool, tmp_path / name, num_train_epochs=2)
        weights[name] = model.state_dict()
    assert all(torch.equal(value, weights["killed"][key]) for key, value in weights["whole"].items())
