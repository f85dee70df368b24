"""Every method reads labels by the same rules: nothing is rounded, nothing missing becomes a class."""

from __future__ import annotations

import math

import pytest
from datasets import ClassLabel, Dataset

from hf_fairness.measure import partial_input
from hf_fairness.refine import z_table
from hf_fairness.trainers import (
    ConfRegTrainer,
    DataDietArguments,
    IBADRArguments,
    PoETrainer,
    ReweightTrainer,
)
from hf_fairness.trainers.data_diet.data import prepare as prepare_diet
from hf_fairness.trainers.ibadr.data import read_task
from hf_fairness.trainers.training.bias_columns import add_bias_log_probs
from hf_fairness.trainers.training.pair_training import encode_rows
from support.bias_case import make_classifier, make_pairs, with_columns

TEXTS = [f"{who} {did} on day {day}" for who in ("she", "he") for did in ("ran", "sat") for day in range(10)]


def diet(labels, **changes):
    made = DataDietArguments(model_name_or_path="unused", **changes)
    return prepare_diet(made, Dataset.from_dict({"text": TEXTS, "label": labels}))


def ibadr(labels, **changes):
    return read_task(IBADRArguments(**changes), Dataset.from_dict({"text": TEXTS, "label": labels}))


def rows(labels):
    return Dataset.from_dict({"text": TEXTS, "label": labels})


READERS = {
    "data-diet": diet,
    "ibadr": ibadr,
    "pair classifier": lambda labels: encode_rows(rows(labels), make_classifier()[1]),
    "bias columns": lambda labels: add_bias_log_probs(rows(labels), lambda texts: [[-0.6931, -0.6931]] * len(texts)),
    "partial input": lambda labels: partial_input(rows(labels), column="text", full_columns=None),
    "z statistics": lambda labels: z_table(rows(labels), text_columns="text"),
}


@pytest.mark.parametrize("method", READERS)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [(0.97, r"not whole.* 3, 5 \(0.97\)"), (None, r"2 of 40 rows have no label.* 3, 5"), (math.nan, "no label.* 3, 5")],
)
def test_no_method_makes_a_class_of_what_is_no_label(method, wrong, message):
    labels = [float(place % 2) if isinstance(wrong, float) else place % 2 for place in range(40)]
    labels[3] = labels[5] = wrong
    with pytest.raises(ValueError, match=message):
        READERS[method](labels)


@pytest.mark.parametrize("method", READERS)
def test_an_id_as_a_label_does_not_run_for_ever(method):
    """Labels far apart are two classes where names are made of them, and refused where a number is a model's class."""
    labels = [0, 10**18] * 20
    if method in ("pair classifier", "bias columns"):
        with pytest.raises(ValueError, match="go up to 1000000000000000000; expected classes"):
            READERS[method](labels)
        return
    found = READERS[method](labels)
    if method == "data-diet":
        assert found.classes == ["0", str(10**18)]
    if method == "ibadr":
        assert found.label_names == ["0", str(10**18)]


def test_names_of_a_class_label_are_the_classes():
    feature = ClassLabel(names=["calm", "angry"])
    texts = rows([0, 1] * 20).cast_column("label", feature)
    for wanted in (None, "angry", "1"):
        found = prepare_diet(DataDietArguments(model_name_or_path="unused", positive_label=wanted), texts)
        assert (found.classes, found.positive) == (["calm", "angry"], 1)
    assert diet([1.0, 0.0] * 20).classes == ["0", "1"]
    assert diet([9, 10] * 20).positive == 1  # by size, not by first character


@pytest.mark.parametrize("trainer_class", [PoETrainer, ReweightTrainer, ConfRegTrainer])
@pytest.mark.parametrize("part", ["train_dataset", "eval_dataset"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda label: "abc"[label], "must be class numbers; got the name 'a'.*class_encode_column"),
        (lambda label: label + 0.5, "not whole"),
        (lambda label: label + 1, "go up to 3; expected classes 0 to 2"),
    ],
)
def test_bias_trainers_refuse_labels_that_are_no_classes(tmp_path, trainer_class, part, change, message):
    uniform = [[-math.log(3)] * 3] * 12
    good = with_columns(make_pairs(12), bias_log_probs=uniform, teacher_log_probs=uniform)
    model, tokenizer = make_classifier()
    encoded = encode_rows(good, tokenizer)
    wrong = encoded.remove_columns("labels").add_column("labels", [change(k) for k in encoded["labels"]])
    sets = {"train_dataset": encoded, "eval_dataset": encoded, part: wrong}
    with pytest.raises(ValueError, match=f"{trainer_class.__name__}: {part}, column 'labels'.*{message}"):
        trainer_class(model=model, processing_class=tokenizer, **sets)


def test_numbers_have_no_place_among_words_whose_order_nobody_stated():
    """0, 1, 2 for entailment, neutral, contradiction would be read in alphabetical order: contradiction is 0 there."""
    words = ["entailment", "neutral", "contradiction"]
    train = Dataset.from_dict({"text": TEXTS, "label": [words[n % 3] for n in range(40)]})
    test = Dataset.from_dict({"text": TEXTS, "label": [n % 3 for n in range(40)]})
    with pytest.raises(ValueError, match=r"test rows: there is the label 0, .* words contradiction, entailment, neut"):
        read_task(IBADRArguments(), train, test=test)
    settings = DataDietArguments(model_name_or_path="unused", positive_label="neutral")
    with pytest.raises(ValueError, match="of the test set: there is the label 0"):
        prepare_diet(settings, train, test=test)
    for told, rows_ in (
        (IBADRArguments(class_names=words), train),
        (IBADRArguments(), train.cast_column("label", ClassLabel(names=words))),
    ):
        found = read_task(told, rows_, test=test)
        assert found.sets["test"]["label"][:] == [n % 3 for n in range(40)]
        assert found.label_names == words


def test_held_out_parts_have_their_share_of_every_label_and_group():
    """22 texts of a label about a group: 2 for each held-out part; the fewer texts, the more a plain draw misses."""
    people = {"she": 22, "he": 10, "it": 268}
    texts = [f"{who} ran on day {day}" for who, n in people.items() for day in range(n)]
    labels = [int(text.startswith("she")) for text in texts]
    table = Dataset.from_dict({"text": texts, "label": labels})
    for seed in range(5):
        found = prepare_diet(DataDietArguments(model_name_or_path="unused", seed=seed), table)
        for part in (found.validation, found.test):
            about = [text.split()[0] for text in part.text]
            assert len(about) == 30
            assert about.count("she") in (2, 3)
            assert about.count("he") == 1
        parts = (found.train, found.validation, found.test)
        assert sorted(text for part in parts for text in part.text) == sorted(texts)
