"""Training anew on the kept rows: fewer steps, the right rows, nothing left of the short runs."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from transformers import HfArgumentParser, Trainer, TrainerCallback, TrainingArguments

from hf_fairness.measure.classifier.importance import example_scores, logits_of
from hf_fairness.measure.classifier.pairs import read_pairs
from hf_fairness.scores.importance import ge
from hf_fairness.scores.rankings import RANKINGS
from hf_fairness.trainers import DataDietConfig, DataDietTrainer, GEPruningCallback
from hf_fairness.trainers.data_diet.pruned import PairedRows, Pruned
from support.data_diet_case import long_rows, make_classifier, make_texts, tokenize, wide_rows

pytestmark = pytest.mark.whole

BATCH = 16


@pytest.fixture
def config(tmp_path):
    """Makes a `DataDietConfig` for a short run on the CPU."""

    def make(**settings):
        defaults = {
            "output_dir": str(tmp_path / "out"),
            "per_device_train_batch_size": BATCH,
            "num_train_epochs": 2,
            "learning_rate": 1e-3,
            "logging_steps": 1,
            "save_strategy": "no",
            "use_cpu": True,
            "disable_tqdm": True,
            "report_to": "none",
        }
        return DataDietConfig(**{**defaults, **settings})

    return make


def make_trainer(rows, args, **options):
    model, tokenizer = make_classifier(seed=options.pop("model_seed", 0))
    return DataDietTrainer(options.pop("model", model), args, train_dataset=rows, processing_class=tokenizer, **options)


def assert_equal_weights(one, two):
    other = two.state_dict()
    for name, value in one.state_dict().items():
        assert torch.equal(value, other[name]), name


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_it_is_a_plain_training_on_the_kept_rows(config, layout):
    rows = long_rows() if layout == "long" else wide_rows()
    trainer = make_trainer(rows, config(n_init=2), eval_dataset=make_texts(seed=1))
    output = trainer.train()
    kept = trainer.pruned.rows
    assert len(trainer.train_dataset) == len(kept) == output.metrics["data_diet_kept_rows"] < 120
    assert trainer.state.global_step == 2 * math.ceil(len(kept) / BATCH) < 2 * math.ceil(120 / BATCH)
    assert output.metrics["data_diet_scoring_training_rows"] == 2 * 72
    assert output.metrics["data_diet_rows_used"] == 2 * len(kept) + 2 * 72 + 2 * 120

    model, tokenizer = make_classifier()
    dataset = tokenize(rows, tokenizer) if layout == "long" else trainer.rows.dataset
    plain = Trainer(model=model, args=config(), train_dataset=dataset.select(kept), processing_class=tokenizer)
    plain.train()
    assert_equal_weights(plain.model, trainer.model)
    assert trainer.evaluate()["eval_loss"] == plain.evaluate(tokenize(make_texts(seed=1), tokenizer))["eval_loss"]
    assert trainer.rows.dataset.num_rows == 120
    pairs = trainer.rows.pairs
    assert trainer.pruned.report["kept_factuals"] == trainer.pruned.kept[pairs.factual].sum() == 36
    assert trainer.pruned.report["kept_counterfactuals"] == len(kept) - 36 == 14  # .3 of the 48 that a swap changes


def test_layouts_agree(config):
    """The same texts give the same scores and keep the same texts, whether counterfactuals are rows or a column."""
    found = []
    for rows in (long_rows(), wide_rows()):
        trainer = make_trainer(rows, config())
        trainer.pruned = trainer.choose_rows()
        found.append((trainer.pruned.scores["ge"], sorted(trainer.rows.dataset.select(trainer.pruned.rows)["text"])))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


def test_callback_and_trainer_keep_the_same_rows(config, tmp_path):
    rows = tokenize(long_rows(), make_classifier()[1])
    trainer = make_trainer(rows, config(seed=3))
    trainer.pruned = trainer.choose_rows()
    model, tokenizer = make_classifier()
    callback = GEPruningCallback(rows, seed=3)
    other = config(output_dir=str(tmp_path / "other"))
    Trainer(model=model, args=other, train_dataset=rows, processing_class=tokenizer, callbacks=[callback]).train()
    np.testing.assert_array_equal(callback.pruned.scores["ge"], trainer.pruned.scores["ge"])
    assert callback.pruned.rows.tolist() == trainer.pruned.rows.tolist()


@pytest.mark.parametrize("ranking", RANKINGS)
def test_every_ranking(config, ranking):
    epochs = 2 if ranking == "forgetting" else 1
    args = config(ranking=ranking, factual_fraction=0.25, score_after_epochs=epochs, counterfactual_base="changed")
    trainer = make_trainer(long_rows(), args)
    pruned = trainer.choose_rows()
    assert (pruned.report["kept_factuals"], pruned.report["kept_counterfactuals"]) == (18, 14)
    needed = RANKINGS[ranking].scores
    assert set(needed) <= set(pruned.scores)
    assert pruned.report["scoring_runs"] == bool(needed)
    assert pruned.report["scoring_training_rows"] == bool(needed) * 72 * epochs
    if ranking == "grand":
        assert pruned.scores["grand"].min() > 0
    if needed and ranking not in ("vanilla_ge", "forgetting"):
        pairs = trainer.rows.pairs
        chosen = pairs.changed & pruned.kept[pairs.counterfactual]
        left, values = pairs.changed & ~chosen, pruned.scores[needed[-1]]
        low, high = (chosen, left) if ranking == "unhealthy_random" else (left, chosen)
        assert values[low].max() <= values[high].min()


def test_short_runs_are_the_first_epochs_of_a_run_on_examples(config):
    """With the schedule of the run proper: one epoch of ten, in which the learning rate hardly falls."""
    trainer = make_trainer(long_rows(), config(num_train_epochs=10))
    scores = trainer.choose_rows().scores

    class Stop(TrainerCallback):
        def on_epoch_end(self, args, state, control, **kwargs):
            control.should_training_stop = True

    model, tokenizer = make_classifier()
    texts = tokenize(make_texts(), tokenizer)
    args = config(num_train_epochs=10, seed=43)
    Trainer(model=model, args=args, train_dataset=texts, processing_class=tokenizer, callbacks=[Stop()]).train()
    rows = wide_rows()
    expected = example_scores(model, rows, read_pairs(rows), names=("ge", "el2n"), tokenizer=tokenizer)
    for name, values in expected.items():
        np.testing.assert_array_equal(scores[name], values)


def test_a_short_run_must_reach_the_epoch_that_is_scored(config):
    long_enough = make_trainer(long_rows(), config(num_train_epochs=1, score_after_epochs=2))
    assert long_enough.choose_rows().report["scoring_training_rows"] == 2 * 72
    with pytest.raises(ValueError, match=r"max_steps=3 ends a short run after 0\.60 epochs"):
        make_trainer(long_rows(), config(max_steps=3)).choose_rows()


def test_score_on_all_rows(config):
    trainer = make_trainer(long_rows(), config(score_on="all"))
    assert trainer.choose_rows().report["scoring_training_rows"] == 120


def test_model_init_gives_every_run_new_weights(config):
    seeds = []

    def model_init():
        seeds.append(torch.initial_seed())
        return make_classifier(seed=seeds[-1])[0]

    trainer = make_trainer(long_rows(), config(n_init=2), model=None, model_init=model_init)
    trainer.train()
    assert set(seeds) == {42, 43, 44}  # training itself has the seed of the arguments
    assert seeds[-1] == 42


def test_bias_is_there_and_less_of_it_after_the_diet(config):
    """Texts that are not trained on: the same sentence with the other pronoun moves the logits less."""
    test = wide_rows(seed=7)
    pairs = read_pairs(test)
    model, tokenizer = make_classifier()

    def gap(model):
        logits = logits_of(model, pairs.texts(test), tokenizer=tokenizer)[pairs.changed]
        return ge(logits, logits_of(model, pairs.counterfactual_texts(test), tokenizer=tokenizer)).mean()

    args = {"num_train_epochs": 12, "learning_rate": 2e-3}
    biased = Trainer(
        model=model, args=config(**args), train_dataset=tokenize(make_texts(), tokenizer), processing_class=tokenizer
    )
    biased.train()
    diet = make_trainer(long_rows(), config(**args))
    diet.train()
    assert gap(biased.model) > 1
    assert gap(diet.model) < 0.5 * gap(biased.model)


# Saving and resuming


@pytest.mark.parametrize("settings", [{}, {"gradient_accumulation_steps": 3, "dataloader_num_workers": 1}])
def test_resume_is_exact(config, tmp_path, settings):
    saving = {"save_strategy": "steps", "save_steps": 3, "num_train_epochs": 3, **settings}
    whole = make_trainer(long_rows(), config(**saving))
    whole.train()
    assert whole.state.global_step > 3
    resumed = make_trainer(long_rows(), config(**saving), model_seed=1)
    resumed.train(resume_from_checkpoint=str(tmp_path / "out" / "checkpoint-3"))
    assert_equal_weights(whole.model, resumed.model)
    assert whole.pruned.rows.tolist() == resumed.pruned.rows.tolist()
    assert whole.pruned.report == resumed.pruned.report
    np.testing.assert_array_equal(whole.pruned.scores["ge"], resumed.pruned.scores["ge"])
    assert len(list((tmp_path / "out" / "data_diet").iterdir())) == 1  # nothing was scored anew


def test_what_is_saved(config, tmp_path):
    trainer = make_trainer(long_rows(), config(save_strategy="steps", save_steps=5))
    trainer.train()
    trainer.save_model()
    report = json.loads((tmp_path / "out" / "data_diet.json").read_text())
    assert report == trainer.pruned.report
    assert report["settings"]["ranking"] == "healthy_random"
    for folder in (tmp_path / "out", tmp_path / "out" / "checkpoint-5"):
        assert Pruned.load(folder).rows.tolist() == trainer.pruned.rows.tolist()
    again = make_trainer(long_rows(), config(factual_fraction=0.4))
    with pytest.raises(ValueError, match=r"factual_fraction = 0.5 \(now 0.4\)"):
        again.train(resume_from_checkpoint=True)
    with pytest.raises(ValueError, match="data_key"):
        make_trainer(long_rows(seed=1), config()).train(resume_from_checkpoint=True)
    damaged = tmp_path / "out" / "checkpoint-5"
    (damaged / "data_diet.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"no data_diet\.npz"):
        make_trainer(long_rows(), config()).train(str(damaged))
    with pytest.raises(ValueError, match="no checkpoint to resume from"):
        make_trainer(long_rows(), config(output_dir=str(tmp_path / "new"))).train(resume_from_checkpoint=True)


def test_pruned_survives_json_and_files(tmp_path):
    pruned = Pruned(np.array([True, False, True]), {"ge": np.array([0.1, 1e-300])}, {"rows": 3})
    pruned.save(tmp_path)
    for other in (Pruned.load(tmp_path), Pruned.from_record(json.loads(json.dumps(pruned.to_record())))):
        assert other.kept.dtype == bool
        assert other.rows.tolist() == [0, 2]
        assert other.scores["ge"].tolist() == [0.1, 1e-300]
        assert other.report == {"rows": 3}


# The data and the settings


def test_long_form_of_wide_rows(config):
    rows = PairedRows.read(wide_rows(), config())
    long = rows.as_long()
    assert long.as_long() is long
    assert long.pairs.texts(long.dataset) == rows.pairs.texts(rows.dataset)
    assert long.pairs.counterfactual_texts(long.dataset) == rows.pairs.counterfactual_texts(rows.dataset)
    assert long.dataset.num_rows == rows.pairs.n + rows.pairs.changed.sum()
    labels = np.array(long.dataset["label"])
    assert (
        labels[long.pairs.counterfactual[long.pairs.changed]] == labels[long.pairs.factual][long.pairs.changed]
    ).all()


def test_tokens_of_wide_rows_are_made_anew(config):
    """Those of an example do not hold for the counterfactual beside it."""
    trainer = make_trainer(tokenize(wide_rows(), make_classifier()[1]), config())
    row = trainer.rows.dataset[trainer.rows.dataset.num_rows - 1]
    assert row["input_ids"] == make_classifier()[1](row["text"])["input_ids"]


def test_other_column_names(config):
    names = {"text": "tweet", "label": "Class", "text_counterfactual": "swapped"}
    rows = wide_rows().remove_columns("edits").rename_columns(names)
    args = config(text_column="tweet", label_column="Class", counterfactual_column="swapped", num_train_epochs=1)
    trainer = make_trainer(rows, args)
    trainer.train()
    assert "loss" in trainer.state.log_history[0]


def test_config_is_parsed():
    words = ["--output_dir", "out", "--ranking", "el2n", "--factual_fraction", "0.4", "--order", "ascending"]
    (config,) = HfArgumentParser(DataDietConfig).parse_args_into_dataclasses([*words, "--use_cpu", "true"])
    assert (config.ranking, config.factual_fraction, config.order, config.max_length) == (
        "el2n",
        0.4,
        "ascending",
        None,
    )
    assert not config.dataloader_pin_memory


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"factual_fraction": 1.5}, "factual_fraction must be in"),
        ({"ranking": "best"}, "ranking is 'best'"),
        ({"ranking": "forgetting"}, "score_after_epochs is 1"),
        ({"n_init": 0}, "n_init is 0"),
    ],
)
def test_bad_settings(config, settings, message):
    with pytest.raises(ValueError, match=message):
        make_trainer(long_rows(), config(**settings))


def test_bad_input(config):
    rows = long_rows()
    with pytest.raises(ValueError, match="no attribute terms"):
        make_trainer(
            rows.filter(lambda row: "he" not in row["text"].split() and not row["counterfactual"]).select([0]), config()
        )
    with pytest.raises(ValueError, match="no classifier"):
        make_trainer(rows, config(), model=make_classifier(num_labels=1)[0])
    third = rows.remove_columns("label").add_column("label", [2] * len(rows))
    with pytest.raises(ValueError, match="2 classes"):
        make_trainer(third, config())
    with pytest.raises(TypeError, match="stream"):
        make_trainer(rows.to_iterable_dataset(), config())
    with pytest.raises(TypeError, match="expected a DataDietConfig"):
        make_trainer(rows, TrainingArguments(output_dir="out", use_cpu=True))
    with pytest.raises(ValueError, match="processing_class is missing"):
        DataDietTrainer(make_classifier()[0], config(), train_dataset=rows)
    args = config()
    args.deepspeed = "config.json"
    with pytest.raises(ValueError, match="DeepSpeed"):
        make_trainer(rows, args)
