"""Training a translator: it learns, stops, resumes bit for bit, and ends with the mean of its checkpoints."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from hf_fairness.measure.translator.translation import translate
from hf_fairness.trainers import GFSTConfig, train_translator
from hf_fairness.trainers.gfst.training import TranslationLoss, encode_pairs
from hf_fairness.trainers.training import length_groups
from hf_fairness.trainers.training.averaging import average_weights
from hf_fairness.trainers.training.length_groups import LengthGroups
from hf_fairness.utils import FairnessWarning
from support.toy_translator import toy_model, toy_rows, toy_tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return toy_tokenizer()


@pytest.fixture
def config(tmp_path):
    """Makes a `GFSTConfig` for a short run on the CPU."""

    def make(**changes):
        defaults = {
            "output_dir": str(tmp_path / "out"),
            "use_cpu": True,
            "disable_tqdm": True,
            "per_device_train_batch_size": 16,
            "learning_rate": 5e-3,
            "warmup_steps": 5,
            "logging_steps": 1,
            "max_steps": 10,
            "save_strategy": "no",
            "average_checkpoints": 0,
        }
        return GFSTConfig(**{**defaults, **changes})

    return make


def test_it_learns_to_translate(config, tokenizer):
    args = config(max_steps=400, eval_strategy="steps", eval_steps=100, save_strategy="steps", save_steps=10)
    args.average_checkpoints = 3
    dev = toy_rows(60, start=500)
    model, history = train_translator(toy_model(tokenizer), tokenizer, toy_rows(500), args, eval_dataset=dev)
    losses = [step["loss"] for step in history["train"]]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) / 3
    assert [step["step"] for step in history["eval"]] == [100, 200, 300, 400]
    assert history["eval"][-1]["loss"] < history["eval"][0]["loss"]
    assert history["eval"][-1]["perplexity"] == pytest.approx(np.exp(history["eval"][-1]["loss"]))
    assert history["averaged"]["steps"] == [380, 390, 400]
    assert (history["n"], history["n_empty"], history["n_too_long"], history["stopped_early"]) == (500, 0, 0, False)
    assert not model.training
    found = translate(model, tokenizer, dev["source"][:], num_beams=2)
    right = np.mean([one == other for one, other in zip(found, dev["target"], strict=True)])
    assert right > 0.9, right


@pytest.mark.whole
@pytest.mark.parametrize("cut", [3, 6])  # in the middle of the first epoch of six steps, and at its end
def test_resume_is_exact(config, tokenizer, tmp_path, cut):
    options = {"save_strategy": "steps", "save_steps": 3, "average_checkpoints": 2}
    rows = toy_rows(90)

    def run(name, limit=1, **more):
        args = config(output_dir=str(tmp_path / name), save_total_limit=limit, **options)
        return train_translator(toy_model(tokenizer, dropout=0.1), tokenizer, rows, args, **more)

    whole, history = run("whole", limit=None)
    shutil.copytree(tmp_path / "whole" / f"checkpoint-{cut}", tmp_path / "cut" / f"checkpoint-{cut}")
    (tmp_path / "cut" / "checkpoint-9").mkdir()  # half written when the run was killed
    resumed, again = run("cut", resume=True)
    assert history["steps"] == 10
    assert again == history
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name


def test_resume_without_a_checkpoint_begins(config, tokenizer):
    _, history = train_translator(toy_model(tokenizer), tokenizer, toy_rows(40), config(max_steps=6), resume=True)
    assert history["steps"] == 6


@pytest.mark.whole
def test_it_stops_early_and_stays_stopped(config, tokenizer):
    """At a learning rate of almost nothing no validation is better by much than chance, and soon one is worse."""
    args = config(
        max_steps=-1, num_train_epochs=30, learning_rate=0.5, eval_strategy="epoch", save_strategy="epoch",
        early_stopping_patience=2, average_checkpoints=2, warmup_steps=0,
    )  # fmt: skip
    rows, dev = toy_rows(64), toy_rows(16, start=64)
    model, history = train_translator(toy_model(tokenizer), tokenizer, rows, args, eval_dataset=dev)
    assert history["stopped_early"]
    assert history["epochs"] < 30
    losses = [each["loss"] for each in history["eval"]]
    assert np.argmin(losses) == len(losses) - 3
    again, same = train_translator(toy_model(tokenizer, seed=1), tokenizer, rows, args, eval_dataset=dev, resume=True)
    assert same == history
    for name, value in model.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name


def test_the_end_is_the_mean_of_the_last_checkpoints(config, tokenizer, tmp_path):
    args = config(save_strategy="steps", save_steps=2, average_checkpoints=3, save_total_limit=None)
    model, _ = train_translator(toy_model(tokenizer), tokenizer, toy_rows(64), args)
    out = tmp_path / "out"
    assert sorted(path.name for path in (out / "weights").iterdir()) == [f"step-{step:08d}" for step in (6, 8, 10)]
    saved = [load_file(out / f"checkpoint-{step}" / "model.safetensors") for step in (6, 8, 10)]
    for name in saved[0]:
        mean = torch.stack([each[name].double() for each in saved]).mean(0).float()
        torch.testing.assert_close(model.state_dict()[name], mean, rtol=1e-6, atol=1e-8)
    assert not torch.equal(saved[0]["model.shared.weight"], saved[2]["model.shared.weight"])
    assert model.lm_head.weight.data_ptr() == model.model.shared.weight.data_ptr()


def test_checkpoints_of_another_run_are_in_the_way(config, tokenizer):
    args = config(save_strategy="steps", save_steps=5, average_checkpoints=5)
    train_translator(toy_model(tokenizer), tokenizer, toy_rows(64), args)
    with pytest.raises(FileExistsError, match="resume=True"):
        train_translator(toy_model(tokenizer), tokenizer, toy_rows(64), args)


def test_half_written_checkpoints_are_no_hindrance(config, tokenizer, tmp_path):
    """Were it left there, the Trainer would take it for the newest one and remove those that it writes itself."""
    args = config(save_strategy="steps", save_steps=2, average_checkpoints=2)
    (tmp_path / "out" / "checkpoint-9").mkdir(parents=True)
    _, history = train_translator(toy_model(tokenizer), tokenizer, toy_rows(64), args, resume=True)
    assert history["averaged"]["steps"] == [8, 10]
    assert [path.name for path in (tmp_path / "out").glob("checkpoint-*")] == ["checkpoint-10"]


def test_validation_is_without_smoothing(config, tokenizer):
    dev = toy_rows(16, start=64)
    args = config(
        max_steps=1, warmup_steps=0, eval_strategy="steps", eval_steps=1, learning_rate=1e-9, label_smoothing_factor=0.5
    )
    model, history = train_translator(toy_model(tokenizer), tokenizer, toy_rows(16), args, eval_dataset=dev)
    batch = tokenizer(dev["source"][:], text_target=dev["target"][:], padding=True, return_tensors="pt")
    labels = batch["labels"].masked_fill(batch["labels"] == tokenizer.pad_token_id, -100)
    with torch.no_grad():
        plain = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
    assert history["eval"][0]["loss"] == pytest.approx(plain.item(), rel=1e-3)
    assert history["train"][0]["loss"] != pytest.approx(plain.item(), rel=1e-2)


def test_a_learning_rate_that_never_gets_to_its_height_is_said(config, tokenizer):
    with pytest.warns(FairnessWarning, match=r"rises for 5 steps, but 2 are trained: it never gets to 0\.005"):
        train_translator(toy_model(tokenizer), tokenizer, toy_rows(16), config(max_steps=2))


def test_the_loss_is_that_of_transformers():
    from transformers.trainer_pt_utils import LabelSmoother

    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 5, 11, generator=generator, requires_grad=True)
    labels = torch.randint(0, 11, (3, 5), generator=generator)
    labels[0, 3:] = -100
    found = TranslationLoss(0.1)({"logits": logits}, labels)
    torch.testing.assert_close(found, LabelSmoother(0.1)({"logits": logits}, labels))
    torch.testing.assert_close(TranslationLoss(0.1)({"logits": logits}, labels, 26), found / 2)


def test_pairs_that_cannot_be_trained_on_are_counted(config, tokenizer):
    model = toy_model(tokenizer)
    rows = Dataset.from_dict(
        {
            "source": ["the cat", " ", "the dog", "the " * 70],
            "target": ["il gatto", "il", "", "il"],
            "more": [1, 2, 3, 4],
        }
    )
    with pytest.warns(FairnessWarning, match="2 pairs with an empty side and 1 with more than 64 tokens"):
        encoded, left_out = encode_pairs(rows, model, tokenizer, config())
    assert left_out == {"n_empty": 2, "n_too_long": 1}
    assert encoded[:] == {
        "input_ids": [tokenizer("the cat")["input_ids"]],
        "attention_mask": [[1, 1, 1]],
        "labels": [tokenizer("il gatto")["input_ids"]],
        "length": [6],
    }


def test_a_prefix_stands_before_every_source_and_makes_no_text(config, tokenizer):
    model = toy_model(tokenizer)
    rows = Dataset.from_dict({"source": ["cat", " "], "target": ["il gatto", "il"]})
    with pytest.warns(FairnessWarning, match="1 pairs with an empty side"):
        encoded, left_out = encode_pairs(rows, model, tokenizer, config(), prefix="the ")
    assert left_out == {"n_empty": 1, "n_too_long": 0}
    assert encoded["input_ids"][:] == [tokenizer("the cat")["input_ids"]]


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([("a", "b")], TypeError, "train takes a datasets.Dataset, got list"),
        (Dataset.from_dict({"source": ["a"], "text": ["b"]}), ValueError, "no column 'target'; it has source, text"),
        (
            Dataset.from_dict({"source": [""], "target": ["b"]}),
            ValueError,
            "no pair to train on: of 1, 1 have an empty",
        ),
        (Dataset.from_dict({"source": [], "target": []}), ValueError, "train: the data set has no rows"),
    ],
)
def test_bad_data_is_named(config, tokenizer, rows, error, message):
    with pytest.raises(error, match=message):
        train_translator(toy_model(tokenizer), tokenizer, rows, config())


def test_other_arguments_are_refused(tokenizer, tmp_path):
    from transformers import Seq2SeqTrainingArguments

    with pytest.raises(TypeError, match="expected a GFSTConfig"):
        train_translator(toy_model(tokenizer), tokenizer, toy_rows(4), Seq2SeqTrainingArguments(str(tmp_path)))


def test_defaults_are_those_of_the_paper(tmp_path):
    """Choubey et al. 2021, appendix A."""
    args = GFSTConfig(output_dir=str(tmp_path), use_cpu=True)
    assert (args.label_smoothing_factor, args.learning_rate) == (0.1, 5e-4)
    assert (args.adam_beta1, args.adam_beta2, args.adam_epsilon) == (0.9, 0.92, 1e-8)
    assert (args.lr_scheduler_type, args.warmup_steps) == ("inverse_sqrt", 4000)
    assert (args.average_checkpoints, args.early_stopping_patience) == (10, 5)
    assert (args.max_length, args.max_length_ratio) == (250, 1.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label_smoothing_factor": 1.0}, "label_smoothing_factor is 1.0"),
        ({"adam_beta2": 1.0}, "adam_beta2 is 1.0"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"average_checkpoints": -1}, "average_checkpoints is -1"),
        ({"average_checkpoints": 3}, "save_strategy='no' leaves no checkpoint"),
        ({"early_stopping_patience": 0}, "early_stopping_patience is 0"),
        ({"max_length": 0}, "max_length is 0"),
        ({"max_length_ratio": 0.5}, "max_length_ratio 0.5"),
        ({"target_column": "source"}, "both 'source'"),
    ],
)
def test_settings_out_of_range_are_named(config, changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


weights = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=8)


@settings(max_examples=30)
@given(weights, st.integers(1, 12))
def test_the_mean_of_equal_checkpoints_is_the_checkpoint(tmp_path_factory, values, n):
    folder = tmp_path_factory.mktemp("equal")
    saved = {"a": torch.tensor(values), "n": torch.tensor([3]), "h": torch.tensor(values).half()}
    save_file(saved, folder / "model.safetensors")
    found = average_weights([folder] * n)
    assert found.keys() == saved.keys()
    for name, value in saved.items():
        assert found[name].dtype == value.dtype
        assert torch.equal(found[name].nan_to_num(), value.nan_to_num())


def test_checkpoints_of_other_models_are_not_averaged(tmp_path):
    for name, saved in {
        "a": {"x": torch.ones(2)},
        "b": {"x": torch.ones(3)},
        "c": {"x": torch.ones(2), "y": torch.ones(1)},
    }.items():
        (tmp_path / name).mkdir()
        save_file(saved, tmp_path / name / "model.safetensors")
    for other in ("b", "c"):
        for folders in ((tmp_path / "a", tmp_path / other), (tmp_path / other, tmp_path / "a")):
            with pytest.raises(ValueError, match="average one run"):
                average_weights(folders)
    (tmp_path / "empty").mkdir()
    for folders in ([], [tmp_path / "empty"]):
        with pytest.raises(FileNotFoundError, match="no"):
            average_weights(folders)


@settings(max_examples=50)
@given(st.lists(st.integers(1, 60), max_size=200), st.integers(1, 9), st.integers(0, 3))
def test_groups_hold_every_row_once(lengths, step_rows, epoch):
    sampler = LengthGroups(lengths, step_rows, seed=1)
    sampler.set_epoch(epoch)
    order = list(sampler)
    assert sorted(order) == list(range(len(lengths))) == sorted(sampler)
    assert order == list(sampler)


def test_groups_are_even_and_change_with_the_epoch():
    lengths = np.random.default_rng(0).integers(2, 60, size=2000)
    sampler = LengthGroups(lengths, 20)
    first = list(sampler)
    assert np.mean([np.ptp(lengths[first[at : at + 20]]) for at in range(0, 2000, 20)]) < 3
    firsts = lengths[first[::20]]
    assert abs(np.corrcoef(firsts, np.arange(100))[0, 1]) < 0.4  # long ones do not all come first
    sampler.set_epoch(1)
    assert list(sampler) != first


def test_steps_are_grouped_by_the_tokens_of_both_sides(config, tokenizer, monkeypatch):
    """The Trainer hands rows to its sampler without the columns that the model does not take, the length among them."""
    seen, groups = [], length_groups.LengthGroups
    monkeypatch.setattr(
        length_groups,
        "LengthGroups",
        lambda lengths, *rest, **more: seen.append(list(lengths)) or groups(lengths, *rest, **more),
    )
    rows, model = toy_rows(40), toy_model(tokenizer)
    train_translator(model, tokenizer, rows, config(max_steps=6))
    encoded, _ = encode_pairs(rows, model, tokenizer, config())
    assert seen == [[len(row["input_ids"]) + len(row["labels"]) for row in encoded]]


def test_the_history_is_plain(config, tokenizer):
    _, history = train_translator(toy_model(tokenizer), tokenizer, toy_rows(40), config(max_steps=6))
    assert json.loads(json.dumps(history)) == history
    assert history["eval"] == []
    assert history["averaged"] == {"steps": []}
