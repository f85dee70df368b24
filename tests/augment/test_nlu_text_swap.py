"""Text swapping: which rows, what stays, and what it refuses."""

from __future__ import annotations

import pickle

import pytest
from datasets import ClassLabel, Dataset, Features, Value

from hf_fairness.augment.nlu import TextSwap

NAMES = ["entailment", "neutral", "contradiction"]
ROWS = {
    "id": ["a", "b", "c", "d"],
    "premise": ["A dog runs.", "A man eats.", "A girl sits.", "Same."],
    "hypothesis": ["An animal runs.", "He eats rice.", "A girl stands.", "Same."],
    "label": [0, 1, 2, 1],
    "score": [0.5, 1.5, 2.5, 3.5],
}


@pytest.fixture
def rows() -> Dataset:
    kinds = {"id": Value("string"), "premise": Value("string"), "hypothesis": Value("string")}
    return Dataset.from_dict(ROWS, Features({**kinds, "label": ClassLabel(names=NAMES), "score": Value("float64")}))


def test_every_row_gets_a_mirror_image_after_it(rows):
    out = rows.map(TextSwap("premise", "hypothesis"), batched=True)
    assert out["id"][:] == ["a", "a", "b", "b", "c", "c", "d"]  # equal texts have no other order
    assert out["augmented"][:] == [False, True, False, True, False, True, False]
    assert out["augmentation"][:] == ["", "text-swap", "", "text-swap", "", "text-swap", ""]
    for before, after in ((0, 1), (2, 3), (4, 5)):
        assert out[after]["premise"] == out[before]["hypothesis"]
        assert out[after]["hypothesis"] == out[before]["premise"]
        assert all(out[after][name] == out[before][name] for name in ("id", "label", "score"))
    assert out.features["label"] == rows.features["label"]


def test_only_the_named_labels_are_swapped(rows):
    out = rows.map(TextSwap("premise", "hypothesis", label_column="label", labels=[1, 2]), batched=True)
    assert [row["label"] for row in out if row["augmented"]] == [1, 2]
    assert len(out) == 6


def test_labels_may_be_texts(rows):
    named = rows.remove_columns("label").add_column("label", [NAMES[i] for i in ROWS["label"]])
    function = TextSwap("premise", "hypothesis", label_column="label", labels=["contradiction"])
    assert [row["id"] for row in named.map(function, batched=True) if row["augmented"]] == ["c"]


@pytest.mark.parametrize("batch_size", [1, 2, 1000])
def test_batches_streams_and_pickles_agree(rows, batch_size):
    function = TextSwap("premise", "hypothesis", label_column="label", labels=[1, 2])
    expected = rows.map(function, batched=True).to_list()
    copy = pickle.loads(pickle.dumps(function))
    assert rows.map(copy, batched=True, batch_size=batch_size).to_list() == expected
    assert list(rows.to_iterable_dataset().map(copy, batched=True, batch_size=batch_size)) == expected


def test_swapping_twice_gives_the_row_back(rows):
    function = TextSwap("premise", "hypothesis")
    once = rows.map(function, batched=True).filter(lambda row: row["augmented"])
    twice = once.remove_columns(["augmented", "augmentation"]).map(function, batched=True)
    back = twice.filter(lambda row: row["augmented"]).remove_columns(["augmented", "augmentation"])
    assert back.to_list() == rows.select(range(3)).to_list()


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("text", "text"), {}, ValueError, "names a column twice: text, text"),
        (("a", "b"), {"labels": [1]}, ValueError, "label_column and labels go together"),
        (("a", "b"), {"label_column": "label"}, ValueError, "label_column and labels go together"),
        (("a", "b"), {"label_column": "label", "labels": []}, ValueError, "labels is empty"),
        (("a", "b"), {"label_column": "label", "labels": "neutral"}, TypeError, "Put it in a list"),
    ],
)
def test_bad_arguments(arguments, options, error, message):
    with pytest.raises(error, match=message):
        TextSwap(*arguments, **options)


def test_bad_rows():
    function = TextSwap("premise", "hypothesis", label_column="gold", labels=[1])
    with pytest.raises(ValueError, match=r"no column 'gold'. Columns: premise, hypothesis"):
        function({"premise": ["a"], "hypothesis": ["b"]})
    with pytest.raises(ValueError, match="would overwrite column 'augmented'"):
        TextSwap("a", "b")({"a": ["x"], "b": ["y"], "augmented": [True]})
    with pytest.raises(TypeError, match="batched=True"):
        TextSwap("a", "b")({"a": "x", "b": "y"})


def test_numbers_of_a_column_that_lacks_one_are_the_labels_that_were_named():
    function = TextSwap("premise", "hypothesis", label_column="label", labels=["1"])
    batch = {"premise": ["a", "c", "e"], "hypothesis": ["b", "d", "f"], "label": [1.0, 0.0, None]}
    assert function(batch)["premise"] == ["a", "b", "c", "e"]
