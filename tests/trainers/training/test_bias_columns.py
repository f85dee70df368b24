"""Columns of log-probabilities: of a model, of a function, cross-fitted; kept in files; classes in the right order."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from datasets import Dataset

from hf_fairness.measure.classifier.classifier import Classifier
from hf_fairness.measure.classifier.text_learners import EncoderLearner, TextLearner
from hf_fairness.refine import TextFeatures
from hf_fairness.trainers import ClassifierLearner, add_bias_log_probs
from hf_fairness.trainers.training.pair_training import class_order
from hf_fairness.utils import FairnessWarning
from support.bias_case import ARTEFACTS, NAMES, known_bias, make_classifier, make_pairs


def column(rows, name="bias_log_probs"):
    return np.array(rows[name][:])


def test_a_model_is_asked_row_by_row():
    rows = make_pairs(20)
    model, tokenizer = make_classifier()
    added = add_bias_log_probs(rows, model, tokenizer=tokenizer, batch_size=7)
    assert added.column_names == ["premise", "hypothesis", "label", "bias_log_probs"]
    assert added.features["bias_log_probs"].length == 3
    for place, row in enumerate(rows):
        with torch.no_grad():
            logits = model(**tokenizer(row["premise"], row["hypothesis"], return_tensors="pt")).logits
        np.testing.assert_allclose(column(added)[place], logits.log_softmax(-1)[0].numpy(), atol=1e-5)
    alone = add_bias_log_probs(rows, model, tokenizer=tokenizer, columns=("hypothesis",), into="teacher_log_probs")
    found = column(alone, "teacher_log_probs")
    assert np.abs(found - column(added)).max() > 1e-3
    same = [k for k, text in enumerate(rows["hypothesis"]) if text == rows["hypothesis"][0]]
    np.testing.assert_allclose(found[same], found[same[:1]].repeat(len(same), 0), atol=1e-6)


def test_a_folder_and_classes_in_another_order(tmp_path):
    rows = make_pairs(12)
    model, tokenizer = make_classifier()
    turned = {"id2label": dict(enumerate(NAMES[::-1])), "label2id": {name: 2 - k for k, name in enumerate(NAMES)}}
    other, _ = make_classifier(**turned)
    for part in (other, tokenizer):
        part.save_pretrained(tmp_path)
    plain, reordered = add_bias_log_probs(rows, model, tokenizer=tokenizer), add_bias_log_probs(rows, str(tmp_path))
    np.testing.assert_allclose(column(reordered), column(plain)[:, ::-1], atol=1e-6)
    generic, _ = make_classifier(id2label=None, label2id=None)
    np.testing.assert_allclose(column(add_bias_log_probs(rows, generic, tokenizer=tokenizer)), column(plain), atol=1e-6)
    strange = make_pairs(12, names=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"classes entailment, neutral, contradiction and the rows the labels a, b, c"):
        add_bias_log_probs(strange, model, tokenizer=tokenizer)
    named = add_bias_log_probs(strange, model, tokenizer=tokenizer, label_names=NAMES)
    np.testing.assert_allclose(column(named), column(plain), atol=1e-6)


def test_cross_fitting_never_asks_about_rows_it_trained_on():
    """Labels are drawn at random: a classifier that has seen a row knows its label, another one does not."""
    draws = np.random.default_rng(0)
    texts = [f"word{k} other{k}" for k in range(60)] * 2
    rows = Dataset.from_dict({"text": texts, "label": (draws.random(60) < 0.5).astype(int).tolist() * 2})
    learner = TextLearner(regularization=100.0)
    labels = np.array(rows["label"])
    seen = learner([texts], labels, 2)
    assert (seen(texts).argmax(1) == labels).all()
    fitted = column(add_bias_log_probs(rows, learner=learner, folds=4))
    assert (fitted.argmax(1) == labels).mean() < 0.7
    np.testing.assert_allclose(np.exp(fitted).sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(fitted[:60], fitted[60:], atol=1e-6)  # equal texts share a fold
    again = column(add_bias_log_probs(rows, learner=learner, folds=4))
    np.testing.assert_array_equal(again, fitted)


def test_a_hypothesis_only_model_finds_the_artefact():
    rows = make_pairs(240)
    hypotheses = np.array([ARTEFACTS.index(text.split()[0]) for text in rows["hypothesis"]])
    # Rows of one text share a fold, so without an id every artefact would be unknown to its own fold.
    rows = rows.map(lambda row, k: {"hypothesis": f"{row['hypothesis']} {k}"}, with_indices=True)
    found = column(add_bias_log_probs(rows, learner=TextLearner(TextFeatures(length=False)), columns=("hypothesis",)))
    assert (found.argmax(1) == hypotheses).mean() > 0.95
    expected = np.exp(known_bias(rows))[np.arange(240), hypotheses].mean()
    assert np.exp(found).max(1).mean() == pytest.approx(expected, abs=0.15)


def test_a_transformer_is_trained_per_fold():
    model, tokenizer = make_classifier()
    arguments = {"num_train_epochs": 8, "learning_rate": 3e-3, "use_cpu": True}
    learner = ClassifierLearner(model.config, arguments, tokenizer=tokenizer, label_names=NAMES)
    rows = make_pairs(160, content=0.98, artefact=1 / 3)
    rows = rows.map(lambda row, k: {"premise": f"{row['premise']} {k}"}, with_indices=True)
    found = column(add_bias_log_probs(rows, learner=learner, columns=("premise",), folds=2))
    assert (found.argmax(1) == np.array(rows["label"])).mean() > 0.8


def test_an_encoder_learner_knows_pairs():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [-1.0, 0.5], "d": [0.5, -1.0]}
    draws = np.random.default_rng(0)
    first, second = draws.choice(list("abcd"), 200).tolist(), draws.choice(list("abcd"), 200).tolist()
    labels = np.array([int(one == other) for one, other in zip(first, second, strict=True)])
    learner = EncoderLearner(vectors)
    assert (learner([first, second], labels, 2)(first, second).argmax(1) == labels).mean() > 0.95
    assert (learner([second], labels, 2)(second).argmax(1) == labels).mean() < 0.8


def test_files_are_named_by_all_that_matters(tmp_path):
    rows = make_pairs(12)
    model, tokenizer = make_classifier()

    def add(rows=rows, model=model, **options):
        return column(add_bias_log_probs(rows, model, tokenizer=tokenizer, cache_dir=tmp_path, **options))

    first = add()
    (file,) = tmp_path.iterdir()
    stamp = file.stat().st_mtime_ns
    np.testing.assert_array_equal(add(), first)
    np.testing.assert_array_equal(add(batch_size=3), first)
    assert file.stat().st_mtime_ns == stamp
    add(rows=rows.select(range(11)))
    add(model=make_classifier(seed=1)[0])
    add(columns=("hypothesis",))
    add(max_length=5)
    assert len(list(tmp_path.iterdir())) == 5
    file.write_bytes(b"PK")
    np.testing.assert_array_equal(add(), first)


def uniform(*texts):
    return np.log(np.full((len(texts[0]), 3), 1 / 3))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "one of both"),
        ({"model": uniform, "learner": TextLearner()}, TypeError, "one of both"),
        ({"model": uniform, "batch_size": 3}, TypeError, "not with a function"),
        ({"learner": TextLearner(), "cache_dir": "x"}, TypeError, "give a learner its own options"),
        ({"model": uniform, "into": "premise"}, ValueError, "the column 'premise' already"),
        ({"model": uniform, "columns": ("claim",)}, ValueError, "text columns claim"),
        ({"model": uniform, "label_column": "gold"}, ValueError, "'gold'"),
        ({"model": uniform, "label_names": ["a", "b"]}, ValueError, "labels up to 2 and there are 2 names"),
        ({"model": uniform, "label_names": list("abcd")}, ValueError, r"shape \(9, 3\) for 9 rows and 4 classes"),
        ({"model": lambda *t: np.exp(uniform(*t))}, ValueError, "sum to 4.187"),
        ({"model": lambda *t: uniform(*t) * np.nan}, ValueError, "sum to nan"),
        ({"model": 3}, TypeError, "no sequence classifier"),
        ({"learner": TextLearner(), "folds": 10, "columns": ("hypothesis",)}, ValueError, "10 folds and 3"),
        ({"learner": TextLearner(), "folds": 1}, ValueError, "at least 2 folds"),
    ],
)
def test_errors_say_what_is_wrong(arguments, error, message):
    with pytest.raises(error, match=message):
        add_bias_log_probs(make_pairs(9), **arguments)


def test_a_model_with_another_number_of_classes():
    model, tokenizer = make_classifier(num_labels=2, id2label=None, label2id=None)
    with pytest.raises(ValueError, match="has 2 classes, the labels have 3"):
        add_bias_log_probs(make_pairs(9), model, tokenizer=tokenizer)
    numbers = Dataset.from_dict({"text": ["a", "b"], "label": [0, 1]})
    assert column(add_bias_log_probs(numbers, model, tokenizer=tokenizer)).shape == (2, 2)


def test_numbers_beside_a_model_that_names_its_classes_are_said():
    theirs = ["contradiction", "neutral", "entailment"]
    model, tokenizer = make_classifier(num_labels=3, id2label=dict(enumerate(theirs)), label2id=None)
    with pytest.warns(FairnessWarning, match="0 = contradiction, 1 = neutral, 2 = entailment.*--class_names"):
        assert class_order(Classifier(model, tokenizer=tokenizer), ["0", "1", "2"]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("theirs", "ours", "order"),
    [
        (["CONTRADICTION", "ENTAILMENT"], ["entailment", "contradiction"], [1, 0]),
        (["LABEL_0", "LABEL_1"], ["yes", "no"], [0, 1]),
        (["a", "b", "c"], ["c", "a"], [2, 0]),
        (["a", "b"], ["a", "c"], "has the classes a, b and the rows the labels a, c"),
        (["a", "b", "c"], ["x", "y"], "has 3 classes, the labels have 2"),
    ],
)
def test_labels_of_a_model_in_another_order(theirs, ours, order):
    model, tokenizer = make_classifier(num_labels=len(theirs), id2label=dict(enumerate(theirs)), label2id=None)
    opened = Classifier(model, tokenizer=tokenizer)
    if isinstance(order, str):
        with pytest.raises(ValueError, match=order):
            class_order(opened, ours)
    else:
        assert class_order(opened, ours) == order
