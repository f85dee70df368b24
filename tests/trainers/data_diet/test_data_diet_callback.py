"""Pruning inside a plain Trainer: which rows are shown, and that nothing else changes."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import DataCollatorWithPadding, Trainer, TrainerCallback

from hf_fairness.measure.classifier.importance import example_scores
from hf_fairness.measure.classifier.pairs import read_pairs
from hf_fairness.scores.rankings import keep
from hf_fairness.trainers import GEPruningCallback
from hf_fairness.trainers.data_diet.config import PruningSettings
from hf_fairness.trainers.data_diet.sampler import KeptRowsSampler
from support.data_diet_case import (
    BATCH,
    assert_equal_weights,
    long_rows,
    make_classifier,
    make_trainer,
    tokenize,
    weights,
    wide_rows,
)

ROWS = 120


class Recorder(DataCollatorWithPadding):
    """A collator that notes which rows it was given, by their tokens."""

    def __init__(self, tokenizer, rows):
        super().__init__(tokenizer)
        self.numbers = {tuple(ids): row for row, ids in enumerate(rows["input_ids"])}
        self.seen = []

    def __call__(self, features):
        self.seen += [self.numbers[tuple(feature["input_ids"])] for feature in features]
        return super().__call__(features)


class StopAfterOneEpoch(TrainerCallback):
    def on_epoch_end(self, args, state, control, **kwargs):
        control.should_training_stop = True


# What the Trainer is shown


@pytest.mark.parametrize("mode", ["restart", "continue"])
def test_epochs_show_the_kept_rows_and_keep_their_length(rows, arguments, mode):
    callback = GEPruningCallback(rows, mode=mode)
    trainer = make_trainer(rows, arguments(), [callback], Recorder)
    short_runs = []
    trainer.data_collator.seen = short_runs
    trainer.train()
    seen = trainer.data_collator.seen
    assert len(seen) == (4 if mode == "restart" else 3) * ROWS - (ROWS - 72 if mode == "restart" else 0)
    epochs = [seen[-ROWS * back : len(seen) - ROWS * (back - 1)] for back in (3, 2, 1)]
    kept = set(callback.pruned.rows.tolist())
    assert 0 < len(kept) < ROWS
    assert set(epochs[0]) == (kept if mode == "restart" else set(range(ROWS)))
    for epoch in epochs[1:]:
        counts = np.bincount(epoch, minlength=ROWS)
        assert set(epoch) == kept
        assert counts[sorted(kept)].min() >= ROWS // len(kept)
        assert counts.max() <= math.ceil(ROWS / len(kept))
    assert epochs[1] != epochs[2]


@pytest.mark.parametrize("mode", ["restart", "continue"])
def test_steps_and_learning_rates_are_those_of_the_whole_data(rows, arguments, mode):
    args = {"gradient_accumulation_steps": 3, "num_train_epochs": 2}  # 8 batches: the last group has two
    plain = make_trainer(rows, arguments(**args))
    plain.train()
    pruned = make_trainer(rows, arguments(**args), [GEPruningCallback(rows, mode=mode)])
    pruned.train()
    steps = 2 * math.ceil(math.ceil(ROWS / BATCH) / 3)
    assert pruned.state.global_step == pruned.state.max_steps == plain.state.global_step == steps
    rates = [
        [entry["learning_rate"] for entry in trainer.state.log_history if "learning_rate" in entry]
        for trainer in (plain, pruned)
    ]
    assert rates[0] == rates[1]
    assert set(pruned.lr_scheduler.get_last_lr()) == {0.0}
    assert pruned.model.training


@pytest.mark.whole
def test_kept_rows_are_those_of_the_ranking(rows, arguments):
    """Scores are those of the model after one epoch of the very same run, and rows follow from them."""
    callback = GEPruningCallback(rows, mode="continue", factual_fraction=0.4, counterfactual_fraction=0.25, seed=5)
    make_trainer(rows, arguments(), [callback]).train()
    stopped = make_trainer(rows, arguments(), [StopAfterOneEpoch()])
    stopped.train()
    pairs = read_pairs(rows)
    scores = example_scores(
        stopped.model, rows, pairs, names=("ge", "el2n"), tokenizer=stopped.processing_class, batch_size=32
    )
    np.testing.assert_array_equal(callback.pruned.scores["ge"], scores["ge"])
    np.testing.assert_array_equal(callback.pruned.scores["el2n"], scores["el2n"])
    kept = keep("healthy_random", scores, pairs.changed, factual_fraction=0.4, counterfactual_fraction=0.25, seed=5)
    expected = np.concatenate([pairs.factual[kept.factual], pairs.counterfactual[kept.counterfactual]])
    assert callback.pruned.rows.tolist() == sorted(expected.tolist())
    assert (kept.factual.sum(), kept.counterfactual.sum()) == (29, 12)  # .25 of the 48 that a swap changes


@pytest.mark.whole
def test_restart_trains_from_the_initial_weights_and_random_state(rows, arguments):
    """Exactly the run of a plain Trainer whose sampler walks the kept rows: scoring leaves no trace."""
    callback = GEPruningCallback(rows, n_init=2)
    trainer = make_trainer(rows, arguments(), [callback])
    trainer.train()

    class Pruned(Trainer):
        def _get_train_sampler(self, *_):
            return KeptRowsSampler(callback.pruned.kept)

    model, tokenizer = make_classifier()
    plain = Pruned(model=model, args=arguments(), train_dataset=rows, processing_class=tokenizer)
    plain.train()
    assert_equal_weights(weights(plain.model), weights(trainer.model))


@pytest.mark.whole
def test_scores_of_short_runs_are_averaged_saved_and_not_computed_again(rows, arguments, tmp_path):
    folder = tmp_path / "out" / "data_diet"
    first = GEPruningCallback(rows)
    make_trainer(rows, arguments(), [first]).train()
    (file,) = folder.iterdir()
    second = GEPruningCallback(rows, n_init=2)
    make_trainer(rows, arguments(), [second]).train()
    assert len(list(folder.iterdir())) == 2
    parts = [dict(np.load(path)) for path in folder.iterdir()]
    np.testing.assert_allclose(second.pruned.scores["ge"], np.mean([part["ge"] for part in parts], axis=0), rtol=1e-12)
    assert not np.array_equal(parts[0]["ge"], parts[1]["ge"])
    assert second.pruned.report["scoring_training_rows"] == 2 * 72
    assert second.pruned.report["scoring_texts"] == 2 * ROWS
    assert second.pruned.report["rows_used"] == 3 * ROWS + 2 * 72 + 2 * ROWS

    planted = np.arange(72.0)
    np.savez(file, ge=planted, el2n=planted)
    third = GEPruningCallback(rows)
    make_trainer(rows, arguments(logging_steps=2), [third]).train()
    np.testing.assert_array_equal(third.pruned.scores["ge"], planted)  # taken from the file
    fourth = GEPruningCallback(rows)
    make_trainer(rows, arguments(learning_rate=2e-3), [fourth]).train()
    assert not np.array_equal(fourth.pruned.scores["ge"], planted)  # another training: another file
    file.write_bytes(b"PK\x03\x04 cut")
    fifth = GEPruningCallback(rows)
    make_trainer(rows, arguments(), [fifth]).train()
    np.testing.assert_array_equal(fifth.pruned.scores["ge"], first.pruned.scores["ge"])


def test_random_keeps_without_scoring(rows, arguments, tmp_path):
    callback = GEPruningCallback(rows, ranking="random")
    trainer = make_trainer(rows, arguments(), [callback])
    trainer.train()
    assert callback.pruned.scores == {}
    assert callback.pruned.report["scoring_runs"] == callback.pruned.report["scoring_texts"] == 0
    assert not (tmp_path / "out" / "data_diet").exists()
    (entry,) = [entry for entry in trainer.state.log_history if "data_diet_rows" in entry]
    assert entry["data_diet_kept_rows"] == len(callback.pruned.rows)


@pytest.mark.whole
def test_model_init_starts_every_short_run_from_new_weights(rows, arguments):
    made = []

    def model_init():
        made.append(make_classifier(seed=random.randrange(1000))[0])
        return made[-1]

    callback = GEPruningCallback(rows, n_init=2, model_init=model_init)
    make_trainer(rows, arguments(), [callback]).train()
    first, second = made[0], made[2]  # one by the constructor of the Trainer, one by its train
    assert not torch.equal(first.classifier.weight, second.classifier.weight)


def test_wide_rows_prune_examples_alone(arguments):
    wide = tokenize(wide_rows(), make_classifier()[1])
    callback = GEPruningCallback(wide, ranking="vanilla_ge", counterfactual_fraction=0.0)
    trainer = make_trainer(wide, arguments(num_train_epochs=1), [callback])
    trainer.train()
    ge = callback.pruned.scores["ge"]
    assert callback.pruned.kept.sum() == 36
    assert ge[callback.pruned.kept].max() <= ge[~callback.pruned.kept].min()


def test_the_process_is_left_undisturbed(rows, arguments):
    """Random states and gradients around the scoring of a running model."""
    states = []

    class Around(TrainerCallback):
        def on_epoch_begin(self, args, state, control, model=None, **kwargs):
            grads = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
            noise = (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())  # noqa: NPY002
            states.append((noise, grads, model.training))

    callback = GEPruningCallback(rows, mode="continue", ranking="grand")
    trainer = make_trainer(rows, arguments(num_train_epochs=2), [Around(), callback, Around()])
    trainer.train()
    assert len(callback.pruned.scores["grand"]) == 72
    before, after = states[2:]
    assert before == after


# Bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"factual_fraction": 50}, "factual_fraction must be in"),
        ({"counterfactual_fraction": -0.1}, "counterfactual_fraction must be in"),
        ({"factual_fraction": 0, "counterfactual_fraction": 0}, "both 0"),
        ({"ranking": "loss"}, "ranking is 'loss'"),
        ({"order": "up"}, "order must be"),
        ({"ranking": "random", "order": "ascending"}, "no other order"),
        ({"mode": "stop"}, "mode is 'stop'"),
        ({"n_init": 0}, "n_init is 0"),
        ({"n_init": 2, "mode": "continue"}, "one running model"),
        ({"score_after_epochs": 0}, "score_after_epochs is 0"),
        ({"score_on": "none"}, "score_on is 'none'"),
        ({"max_length": 2}, "max_length is 2"),
        ({"ranking": "forgetting"}, "score_after_epochs is 1"),
        ({"label_column": "class"}, "class"),
    ],
)
def test_bad_settings(rows, settings, message):
    with pytest.raises(ValueError, match=message):
        GEPruningCallback(rows, **settings)


def test_an_unknown_setting_is_a_type_error(rows):
    with pytest.raises(TypeError, match="fraction"):
        GEPruningCallback(rows, fraction=0.5)


def test_settings_can_be_given_as_one(rows):
    callback = GEPruningCallback(rows, PruningSettings(mode="continue", seed=3), factual_fraction=0.3)
    assert (callback.settings.mode, callback.settings.seed, callback.settings.factual_fraction) == ("continue", 3, 0.3)


def test_bad_rows(rows):
    plain = Dataset.from_dict({"text": ["it rained", "it snowed"], "label": [0, 1], "counterfactual": [False, False]})
    with pytest.raises(ValueError, match="no attribute terms"):
        GEPruningCallback(plain)
    unlabelled = rows.remove_columns("label")
    with pytest.raises(ValueError, match="label"):
        GEPruningCallback(unlabelled)
    missing = rows.remove_columns("label").add_column("label", [None, *rows["label"][1:]])
    with pytest.raises(ValueError, match="no label"):
        GEPruningCallback(missing)
    with pytest.raises(ValueError, match="right after"):
        GEPruningCallback(rows.shuffle(seed=0))
    wide = wide_rows()
    rolled = wide.remove_columns("text_counterfactual").add_column(
        "text_counterfactual", np.roll(wide["text_counterfactual"], 1).tolist()
    )
    with pytest.raises(ValueError, match="misaligned"):
        GEPruningCallback(rolled, counterfactual_fraction=0.0)
    with pytest.raises(ValueError, match="CounterfactualAugmentation"):
        GEPruningCallback(wide)
    with pytest.raises(TypeError, match="stream"):
        GEPruningCallback(rows.to_iterable_dataset())


@pytest.mark.whole
def test_a_model_or_a_run_that_does_not_fit(rows, arguments):
    callback = GEPruningCallback(rows)
    for config in ({"num_labels": 1}, {"problem_type": "regression"}):
        with pytest.raises(ValueError, match="no classifier"):
            make_trainer(rows, arguments(), [callback], model=make_classifier(**config)[0]).train()
    with pytest.raises(ValueError, match="100 rows and GEPruningCallback 120"):
        make_trainer(rows.select(range(100)), arguments(), [callback]).train()
    with pytest.raises(ValueError, match="sorted, shuffled or filtered"):
        make_trainer(rows.shuffle(seed=0), arguments(), [callback]).train()
    with pytest.raises(TypeError, match=r"batch_sampler\.sampler"):
        make_trainer(rows.to_iterable_dataset(), arguments(max_steps=2), [callback]).train()
    late = GEPruningCallback(rows, mode="continue", score_after_epochs=3)
    with pytest.raises(ValueError, match="nothing would be pruned"):
        make_trainer(rows, arguments(), [late]).train()
    trainer = Trainer(
        model=make_classifier()[0],
        args=arguments(),
        train_dataset=rows,
        data_collator=DataCollatorWithPadding(make_classifier()[1]),
        callbacks=[callback],
    )
    with pytest.raises(ValueError, match="no tokenizer"):
        trainer.train()


@pytest.mark.whole
def test_a_checkpoint_of_another_run_is_refused(rows, arguments, tmp_path):
    settings = {"save_strategy": "steps", "save_steps": 10}
    make_trainer(rows, arguments(**settings), [GEPruningCallback(rows, ranking="random")]).train()
    checkpoint = str(tmp_path / "out" / "checkpoint-10")
    with pytest.raises(ValueError, match=r"ranking = 'random' \(now 'healthy_random'\)"):
        make_trainer(rows, arguments(**settings), [GEPruningCallback(rows)]).train(checkpoint)
    other = tokenize(long_rows(seed=1), make_classifier()[1])
    with pytest.raises(ValueError, match="dataset = "):
        make_trainer(other, arguments(**settings), [GEPruningCallback(other, ranking="random")]).train(checkpoint)
    make_trainer(rows, arguments(**settings, output_dir=str(tmp_path / "plain"))).train()
    trainer = make_trainer(rows, arguments(**settings), [GEPruningCallback(rows)])
    with pytest.raises(ValueError, match="it holds none"):
        trainer.train(str(tmp_path / "plain" / "checkpoint-10"))


def test_a_state_of_another_process_is_refused(rows):
    callback = GEPruningCallback(rows)
    state = callback.state()
    assert GEPruningCallback.from_state(state).rows is callback.rows
    with pytest.raises(ValueError, match="content key"):
        GEPruningCallback.from_state({**state, "args": {**state["args"], "dataset": "0" * 32}})
