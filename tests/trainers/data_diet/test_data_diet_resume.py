"""A pruned run that goes on from a checkpoint ends as one that was never interrupted."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import Trainer

from hf_fairness.measure.classifier.pairs import read_pairs
from hf_fairness.trainers import GEPruningCallback
from support.data_diet_case import BATCH, assert_equal_weights, live, make_classifier, make_trainer, tokenize, weights

pytestmark = pytest.mark.whole


def run_whole_and_resumed(
    rows, arguments, tmp_path, make_callback, step, *, restore=False, make_model=None, **settings
):
    """Final weights of a run, and of one that goes on from its checkpoint with a new model in the place of the old."""
    settings = {"save_strategy": "steps", "save_steps": step, **settings}
    whole = make_trainer(rows, arguments(**settings), [make_callback()], model=make_model and make_model(0))
    whole.train()
    checkpoint = tmp_path / "out" / f"checkpoint-{step}"
    assert (checkpoint / "trainer_state.json").is_file()
    other = str(tmp_path / "other")  # no scores of the first run are found there
    resumed = make_trainer(
        rows,
        arguments(**settings, restore_callback_states_from_checkpoint=restore, output_dir=other),
        [make_callback()],
        model=make_model(0) if make_model else make_classifier(seed=1)[0],
    )
    resumed.train(resume_from_checkpoint=str(checkpoint))
    assert whole.state.global_step == resumed.state.global_step > step
    assert live(whole).pruned.report == live(resumed).pruned.report
    for name, value in live(whole).pruned.scores.items():
        np.testing.assert_array_equal(value, live(resumed).pruned.scores[name])
    return whole, resumed


@pytest.mark.parametrize(
    ("mode", "step", "restore", "settings"),
    [
        # 8 batches an epoch; with accumulation of 3: 3 steps an epoch, of which the last has two batches
        ("continue", 10, False, {}),  # in the second epoch, after pruning
        ("continue", 10, True, {"dataloader_num_workers": 1}),
        ("continue", 5, True, {}),  # in the first epoch, before anything is scored
        ("continue", 8, False, {}),  # between the epochs, a moment before scoring
        ("continue", 4, True, {"gradient_accumulation_steps": 3}),
        ("restart", 5, False, {"gradient_accumulation_steps": 3, "dataloader_num_workers": 1}),
        ("restart", 3, True, {"gradient_accumulation_steps": 3}),
    ],
)
def test_resume_is_exact(rows, arguments, tmp_path, mode, step, restore, settings):
    def make_callback():
        return GEPruningCallback(rows, mode=mode)

    whole, resumed = run_whole_and_resumed(rows, arguments, tmp_path, make_callback, step, restore=restore, **settings)
    assert_equal_weights(weights(whole.model), weights(resumed.model))
    start = make_classifier()[0].state_dict()
    assert not torch.equal(start["classifier.weight"], whole.model.state_dict()["classifier.weight"])


@pytest.mark.parametrize("step", [10, 16, 20])
def test_resume_with_forgetting(rows, arguments, tmp_path, step):
    """What was right after each epoch is kept too: 8 steps an epoch, scored after the second."""

    def make_callback():
        return GEPruningCallback(rows, ranking="forgetting", mode="continue", score_after_epochs=2)

    whole, resumed = run_whole_and_resumed(rows, arguments, tmp_path, make_callback, step)
    assert_equal_weights(weights(whole.model), weights(resumed.model))
    assert live(whole).pruned.scores["forgetting"].max() <= 1


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft 0.21
def test_lora_is_scored_and_resumed(rows, arguments, tmp_path):
    from peft import LoraConfig, get_peft_model

    def make_model(seed):
        torch.manual_seed(seed)
        return get_peft_model(make_classifier()[0], LoraConfig(task_type="SEQ_CLS", r=4, lora_dropout=0.1))

    def make_callback():
        return GEPruningCallback(rows, mode="continue")

    whole, resumed = run_whole_and_resumed(rows, arguments, tmp_path, make_callback, 10, make_model=make_model)
    assert_equal_weights(weights(whole.model), weights(resumed.model))
    again = make_trainer(rows, arguments(), [GEPruningCallback(rows)], model=make_model(0))
    before = weights(again.model)
    again.train()
    changed = {name for name, value in weights(again.model).items() if not torch.equal(value, before[name])}
    assert changed
    assert all("lora_" in name or "classifier" in name for name in changed)


def test_minilm_on_tweets_is_resumed_exactly(shared, minilm_path, arguments, tmp_path):
    """The real encoder, fully fine-tuned on tweets with the authors' swaps."""
    import pandas
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = Path(shared) / "data" / "data_diet"
    texts, swaps = (
        pandas.read_csv(folder / f"Twitter_train_{kind}.csv", nrows=48) for kind in ("original_gender", "gender_swap")
    )
    lines = []
    for text, swapped, label in zip(texts["tweet"], swaps["tweet"], texts["Class"], strict=True):
        lines.append({"text": text, "label": int(label), "counterfactual": False})
        if swapped != text:
            lines.append({"text": swapped, "label": int(label), "counterfactual": True})
    tokenizer = AutoTokenizer.from_pretrained(minilm_path)
    rows = tokenize(Dataset.from_list(lines), tokenizer, max_length=32)

    def make_model():
        torch.manual_seed(0)
        return AutoModelForSequenceClassification.from_pretrained(minilm_path, num_labels=2)

    def run(output, checkpoint=None):
        args = arguments(
            output_dir=str(tmp_path / output), learning_rate=5e-5, num_train_epochs=2, gradient_accumulation_steps=2,
            save_strategy="steps", save_steps=4, restore_callback_states_from_checkpoint=True,
        )  # fmt: skip
        callback = GEPruningCallback(rows, mode="continue", max_length=32)
        trainer = Trainer(
            model=make_model(), args=args, train_dataset=rows, processing_class=tokenizer, callbacks=[callback]
        )
        trainer.train(resume_from_checkpoint=checkpoint)
        return trainer

    whole = run("whole")
    steps = 2 * math.ceil(math.ceil(len(rows) / BATCH) / 2)
    assert steps // 2 < 4 < whole.state.global_step == steps  # saved in the second epoch
    resumed = run("resumed", str(tmp_path / "whole" / "checkpoint-4"))
    assert_equal_weights(weights(whole.model), weights(resumed.model))
    pruned = live(resumed).pruned
    assert 0 < pruned.report["kept_rows"] < len(rows)
    ge, changed = pruned.scores["ge"], read_pairs(rows).changed
    assert ge[~changed].max() == 0 < np.median(ge[changed])
