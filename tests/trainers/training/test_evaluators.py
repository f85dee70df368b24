"""SEAT and CCED as evaluators of a Trainer: same numbers, logged, written, used to choose the best model."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.evaluation import SequentialEvaluator
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss

from hf_fairness import measure
from hf_fairness.trainers import CCEDEvaluator, SEATEvaluator
from support.tiny_bert import save_tiny_bert

SETS = {"targ1": ["he", "man"], "targ2": ["she", "woman"], "attr1": ["work", "job"], "attr2": ["home", "garden"]}
KEPT = {role: list(reversed(words)) for role, words in SETS.items()} | {"purpose": "retention"}
VARIANTS = {
    "male": ["he is at work", "the man is here", "it rains"],
    "female": ["she is at work", "the woman is here", "it rains"],
    "neutral": ["they are at work", "the person is here", "it rains"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    texts = [text for column in VARIANTS.values() for text in column]
    words = {word for text in texts for word in text.split()} | {word for names in SETS.values() for word in names}
    return save_tiny_bert(tmp_path_factory.mktemp("bert"), sorted(words))


@pytest.fixture
def model(folder):
    return SentenceTransformer(folder, device="cpu")


def _table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_seat_gives_the_numbers_of_measure(model, tmp_path):
    evaluator = SEATEvaluator({"a": SETS, "kept": KEPT}, name="dev", n_samples=50, n_bootstrap=30, seed=3)
    found = evaluator(model, output_path=str(tmp_path), epoch=0.5, steps=7)
    expected = measure.seat(model, {"a": SETS, "kept": KEPT}, n_samples=50, n_bootstrap=30, seed=3)
    low, high = expected["mean_abs_effect_size_ci95"]
    assert found == {
        "dev_mean_abs_effect_size": expected["mean_abs_effect_size"],
        "dev_mean_abs_effect_size_ci95_low": low,
        "dev_mean_abs_effect_size_ci95_high": high,
        "dev_a_effect_size": expected["tests"]["a"]["effect_size"],
        "dev_a_p_value_clustered": expected["tests"]["a"]["p_value_clustered"],
        "dev_kept_effect_size": expected["tests"]["kept"]["effect_size"],
        "dev_kept_p_value_clustered": expected["tests"]["kept"]["p_value_clustered"],
    }
    assert evaluator.primary_metric == "dev_mean_abs_effect_size"
    assert evaluator.greater_is_better is False
    assert model.model_card_data.eval_results_dict[evaluator] == found
    evaluator(model, output_path=str(tmp_path), epoch=1.0, steps=14)
    rows = _table(tmp_path / "seat_evaluation_dev_results.csv")
    assert [(row["epoch"], row["steps"]) for row in rows] == [("0.5", "7"), ("1.0", "14")]
    assert float(rows[0]["mean_abs_effect_size"]) == found["dev_mean_abs_effect_size"]


def test_cced_gives_the_numbers_of_measure(model, tmp_path):
    evaluator = CCEDEvaluator(VARIANTS, n_bootstrap=30)
    found = evaluator(model, output_path=str(tmp_path))
    expected = measure.cced(model, VARIANTS, n_bootstrap=30)
    assert expected["n"] == 2
    assert found["cced"] == expected["cced"] > 0
    assert [found["cced_ci95_low"], found["cced_ci95_high"]] == expected["cced_ci95"]
    assert {key: found[key] for key in ("cced_signed", "cced_relative", "mean_distance")} == {
        key: expected[key] for key in ("cced_signed", "cced_relative", "mean_distance")
    }
    assert (evaluator.primary_metric, evaluator.greater_is_better) == ("cced", False)
    assert evaluator.get_config_dict() == {"n_texts": 2, "n_bootstrap": 30, "seed": 0}
    assert len(_table(tmp_path / "cced_evaluation_results.csv")) == 1


def test_no_resamples_no_file(model, tmp_path):
    evaluator = SEATEvaluator([SETS], n_samples=10, n_bootstrap=0, write_csv=False)
    found = evaluator(model, output_path=str(tmp_path))
    assert set(found) == {"mean_abs_effect_size", "user1_effect_size", "user1_p_value_clustered"}
    assert list(tmp_path.iterdir()) == []


def test_training_mode_is_left_as_it_was(model):
    for mode in (True, False):
        model.train(mode)
        SEATEvaluator([SETS], n_samples=10, n_bootstrap=10)(model)
        assert model.training is mode


@pytest.mark.parametrize(
    ("evaluator", "metric", "csv_name"),
    [
        (
            lambda: SEATEvaluator({"a": SETS}, name="dev", n_samples=10, n_bootstrap=10),
            "dev_mean_abs_effect_size",
            "seat_evaluation_dev_results.csv",
        ),
        (lambda: CCEDEvaluator(VARIANTS, n_bootstrap=10), "cced", "cced_evaluation_results.csv"),
    ],
)
def test_a_trainer_logs_them_and_keeps_the_least_biased_model(model, tmp_path, evaluator, metric, csv_name):
    rows = {"sentence1": VARIANTS["male"] * 4, "sentence2": VARIANTS["neutral"] * 4, "score": [1.0, 0.0, 0.5] * 4}
    args = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path),
        max_steps=3,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        eval_strategy="steps",
        eval_steps=1,
        save_steps=1,
        load_best_model_at_end=True,
        metric_for_best_model=f"eval_{metric}",
        greater_is_better=False,
        use_cpu=True,
        report_to="none",
        disable_tqdm=True,
    )
    measured = evaluator()
    trainer = SentenceTransformerTrainer(
        model,
        args=args,
        train_dataset=Dataset.from_dict(rows),
        loss=CosineSimilarityLoss(model),
        evaluator=measured,
    )
    trainer.train()
    logged = [entry[f"eval_{metric}"] for entry in trainer.state.log_history if f"eval_{metric}" in entry]
    assert len(logged) == 3
    assert len(set(logged)) == 3  # the model moved, and the evaluator saw it
    assert trainer.state.best_metric == min(logged)
    # The best model is back, and measures what was logged of it.
    assert measured(trainer.model)[metric] == pytest.approx(min(logged), abs=1e-6)
    table = _table(tmp_path / "eval" / csv_name)
    key = metric.removeprefix("dev_")
    assert [float(row[key]) for row in table] == pytest.approx(logged)
    trainer.save_model(str(tmp_path / "final"))
    text = (tmp_path / "final" / "README.md").read_text()
    assert key in text


def test_in_a_sequence_each_keeps_its_name(model, tmp_path):
    both = SequentialEvaluator(
        [SEATEvaluator({"a": SETS}, name="s", n_samples=10, n_bootstrap=0), CCEDEvaluator(VARIANTS, name="c")],
        main_score_function=lambda scores: -np.mean(scores),
    )
    found = both(model, output_path=str(tmp_path))
    assert {"s_mean_abs_effect_size", "c_cced", "sequential_score"} <= set(found)
    assert found["sequential_score"] == pytest.approx(-(found["s_mean_abs_effect_size"] + found["c_cced"]) / 2)
    json.dumps(found, allow_nan=False)


def test_mistakes_are_named_when_the_evaluator_is_made():
    with pytest.raises(ValueError, match="Unknown SEAT test '66'"):
        SEATEvaluator(["66"])
    with pytest.raises(ValueError, match="bias tests and got none: 1, 2"):
        SEATEvaluator(["1", "2"])
    with pytest.raises(ValueError, match="at least two group columns"):
        CCEDEvaluator({"male": ["a"], "neutral": ["b"]})
    with pytest.raises(ValueError, match="n_bootstrap must be at least 1"):
        CCEDEvaluator(VARIANTS, n_bootstrap=0)
