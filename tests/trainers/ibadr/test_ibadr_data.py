"""Data that the pipeline takes, and data that it does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from datasets import Dataset

from hf_fairness.utils import FairnessWarning

#: What models that learn little are warned of.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}:hf_fairness.utils.FairnessWarning")
    for text in (r"Round \d", "Every one of the")
]


def rows(n=40, labels=(0, 1), **columns):
    made = {"premise": [f"p{k}" for k in range(n)], "hypothesis": ["h"] * n}
    return Dataset.from_dict({**made, "label": [labels[k % len(labels)] for k in range(n)], **columns})


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        (rows(labels=(0, 7)), {"class_names": ["a", "b"]}, "train rows .*: row 1 has the label 7, .* classes are a, b"),
        (rows(labels=("a", "x")), {"class_names": ["a", "b"]}, "not in the map: row 1 has the label 'x'"),
        (rows(labels=(1,)), {"class_names": ["a", "b"]}, "All 36 training rows have the label b"),
        (rows(3), {"n_shallow": 1}, "2 training rows do not make --n_bias_indicators 4 groups"),
        (rows(), {"n_shallow": 100}, "36 training rows are fewer than --n_shallow 100"),
        (rows(premise=[""] * 40), {}, "Row 0 of the train rows has no text in 'premise'"),
        (rows(), {"text_column": ["claim"]}, "need the text columns claim.*--text_column"),
        (rows(), {"label_column": "gold"}, "no column 'gold'; they have premise"),
        (rows(), {"label_distribution": [1.0]}, "1 shares for 2 labels"),
    ],
)
def test_bad_data(case, tmp_path, data, settings, message):
    with pytest.raises(ValueError, match=message):
        case.run(tmp_path / "out", train=data, validation=None, challenge=None, **settings)
    assert not (tmp_path / "out").exists()


def test_data_in_other_forms(case):
    from hf_fairness.trainers.ibadr.data import read_task

    named = rows(labels=("no", "Yes", "-"))
    arguments, config = case.settings("unused", n_shallow=4, class_names=["yes", "no"])
    with pytest.warns(FairnessWarning, match="13 of 40 train rows have no label"):
        task = read_task(arguments, named)
    assert task.label_names == ["yes", "no"]
    assert task.counts == {"n_train_unlabelled": 13, "validation_held_out": True}
    assert (len(task.train), len(task.validation)) == (25, 2)
    single = Dataset.from_dict({"text": ["a", "b"] * 10, "label": [0, 1] * 10})
    arguments, config = case.settings("unused", n_shallow=4)
    task = read_task(arguments, single, test=single).enough(10, config, 0)
    assert task.columns == ("text",)
    assert len(task.train) == 10
    assert not set(map(str, task.train)) - set(map(str, task.validation)) - set(map(str, single))
    again = read_task(arguments, single, test=single).enough(10, config, 0)
    assert all(again.sets[name][:] == task.sets[name][:] for name in ("train", "validation", "test"))


@pytest.mark.whole
def test_single_texts(case, tmp_path):
    """A task of single texts, with a test set and a challenge set of its own."""
    texts = [f"{a} {b}" for a, b in zip(case.world.train["premise"], case.world.train["hypothesis"], strict=True)]
    data = Dataset.from_dict({"text": texts, "label": np.array(case.world.train["label"]) % 2})
    settings = {"n_iterations": 1, "n_generated": 40, "validation": None, "challenge": {"mine": data.select(range(20))}}
    settings |= {"generator_num_train_epochs": 8, "num_train_epochs": 1}
    found = case.run(tmp_path, train=data, test=data.select(range(30)), probe=True, **settings)
    assert set(found["results"]) == {"validation", "test", "mine"}
    assert found["partial_input"] == {}
    assert found["pool"]["n_added"] > 0
    with pytest.raises(ValueError, match="hans is a set of pairs; the data have the one text column 'text'"):
        case.run(tmp_path / "other", train=data, **{**settings, "challenge": {"hans": []}})


def test_live_models_have_keys_of_what_they_hold(case):
    import copy

    from hf_fairness.trainers.ibadr.data import given_model, named_models
    from hf_fairness.trainers.training.pair_training import open_pair_classifier

    config, tokenizer = case.classifier
    names = case.world.train.features["label"].names
    model, _ = open_pair_classifier(config, label_names=names, tokenizer=tokenizer)

    def key(value):
        return given_model((value, tokenizer)).key

    before = key(model)
    assert key(copy.deepcopy(model)) == before
    model.classifier.weight.data[0, 0] += 1.0
    assert key(model) != before
    other = copy.deepcopy(config)
    other.hidden_dropout_prob = 0.5
    assert key(config) != key(other)
    found = given_model("an/id")
    assert (found.name, found.key) == ("an/id", ("an/id",))
    assert given_model("an/id", names).key != found.key  # which of its classes is which depends on their names
    assert given_model((config, tokenizer)).name == "BertConfig"
    arguments, config = case.settings("unused", judge_model="a/judge", generator_model="a/writer")
    wanted = {"model": "an/id", "shallow": "an/id", "generator": "a/writer", "judge": "a/judge"}
    assert named_models(arguments, config, {"model": "an/id"}) == wanted
    with pytest.raises(ValueError, match=r"The classifier .* is missing"):
        named_models(arguments, config, {})


def test_published_sets_and_own_ones(case, tmp_path):
    """What counts as right is what the scores count, and hypotheses can come first."""
    from hf_fairness.trainers.ibadr.data import read_task
    from hf_fairness.trainers.ibadr.sets import labelled_sets

    task = read_task(case.settings(tmp_path)[0], case.world.train, validation=case.world.validation)
    hans = [
        {"premise": "p", "hypothesis": "h", "label": "non-entailment", "heuristic": "x", "subcase": "y", "cluster": "1"}
    ]
    own = case.world.challenge.add_column("cluster", ["c"] * len(case.world.challenge))
    sets = labelled_sets(task, {"hans:a": hans, "mine": own}, hypothesis_first=True)
    verdicts = own.rename_column("label", "verdict")  # labels are called as in the data
    (_, again) = labelled_sets(replace(task, label_column="verdict"), {"mine": verdicts}, hypothesis_first=True)
    assert [row["label"] for row in again.rows] == [row["label"] for row in sets[2].rows]
    assert again.key == sets[2].key != sets[0].key
    assert [each.name for each in sets] == ["validation", "hans:a", "mine"]
    assert sets[1].texts[0] == {"premise": "h", "hypothesis": "p"}
    for guess, right in (("neutral", 1.0), ("contradiction", 1.0), ("entailment", 0.0)):
        assert sets[1].judge(np.array([task.label_names.index(guess)]))[0].tolist() == [right]
    assert sets[2].clusters == ["c"] * len(own)
    assert sets[0].clusters is None
    assert sets[0].judge(np.array(task.validation["label"][:]))[0].all()


def test_parts_of_a_challenge_set_are_kept_where_rows_lack_a_label(case, tmp_path):
    from hf_fairness.trainers.ibadr.data import read_task
    from hf_fairness.trainers.ibadr.sets import labelled_sets

    task = read_task(case.settings(tmp_path)[0], case.world.train, validation=case.world.validation)
    given = rows(4, labels=(0, -1, 2), heuristic=["a", "b", "c", "d"], cluster=[1, 2, 3, 3])
    with pytest.warns(FairnessWarning, match="1 of 4 mine rows have no label"):
        _, mine = labelled_sets(task, {"mine": given})
    assert [row["heuristic"] for row in mine.rows] == ["a", "c", "d"]
    assert mine.clusters == ["1", "3", "3"]
    assert mine.rules.by == ("heuristic",)
