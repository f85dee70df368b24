"""The split of a refined corpus: exact sizes, nothing twice, and no counterfactual apart from its source."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, DatasetDict

from hf_fairness import FairnessWarning
from hf_fairness.augment import CounterfactualAugmentation
from hf_fairness.refine import compensate, split


@pytest.fixture
def corpus() -> Dataset:
    """1,000 rows; every other one has terms."""
    rows = [f"He bought {i} apples." if i % 2 else f"It cost {i} coins." for i in range(1000)]
    data = Dataset.from_dict({"text": rows, "label": [i % 3 for i in range(1000)], "score": np.arange(1000) / 1000})
    return data.cast_column("label", ClassLabel(names=["a", "b", "c"]))


def rows_of(parts: DatasetDict, column: str = "text") -> list:
    return [value for part in parts.values() for value in part[column]]


def test_sizes_are_exact_and_no_row_is_lost_or_twice(corpus):
    parts = split(corpus, validation=100, test=0.25, seed=0)
    assert {name: len(part) for name, part in parts.items()} == {"train": 650, "validation": 100, "test": 250}
    assert sorted(rows_of(parts)) == sorted(corpus["text"])
    assert all(part.features == corpus.features for part in parts.values())


def test_rows_are_shuffled_by_the_seed(corpus):
    parts = split(corpus, validation=100, seed=0)
    assert list(parts) == ["train", "validation"]
    assert parts["train"]["text"][:] == split(corpus, validation=100, seed=0)["train"]["text"][:]
    assert parts["train"]["text"][:] != split(corpus, validation=100, seed=1)["train"]["text"][:]
    assert parts["train"]["score"][:] != sorted(parts["train"]["score"])


def test_a_counterfactual_stays_with_its_source(corpus):
    refined = compensate(corpus, percentile=50, score_columns="score", text_columns="text")
    assert sum(refined["counterfactual"]) == 250
    parts = split(refined, validation=101, test=200)
    assert {name: len(part) for name, part in parts.items()} == {"train": 949, "validation": 101, "test": 200}
    where = [set(part["source_row"]) for part in parts.values()]
    assert sum(map(len, where)) == len(set().union(*where)) == 1000
    assert any(parts["validation"]["counterfactual"])

    torn = split(refined, validation=101, test=200, together=[])
    assert set(torn["train"]["source_row"]) & set(torn["test"]["source_row"])


def test_pairs_are_as_frequent_in_the_small_splits_as_in_the_corpus(corpus):
    """Taking groups in the order of rows would draw those of two rows twice as often."""
    refined = compensate(corpus, percentile=50, score_columns="score", text_columns="text")
    shares = [np.mean(split(refined, validation=125, seed=s)["validation"]["counterfactual"]) for s in range(40)]
    assert np.mean(refined["counterfactual"]) == 0.2
    assert abs(np.mean(shares) - 0.2) < 0.02


def test_any_column_can_hold_rows_together(corpus):
    groups = corpus.add_column("premise", [f"p{i // 4}" for i in range(1000)])
    parts = split(groups, validation=100, test=200, together="premise")
    assert {name: len(part) for name, part in parts.items()} == {"train": 700, "validation": 100, "test": 200}
    assert not set(parts["train"]["premise"]) & set(parts["test"]["premise"])


def test_rows_that_share_either_column_stay_together():
    """0-1 share a, 1-2 share b, so 0, 1 and 2 belong together though 0 and 2 share nothing."""
    rows = Dataset.from_dict({"a": [0, 0, 1, 2, 3, 4], "b": ["x", "y", "y", "z", "w", "v"], "row": range(6)})
    for seed in range(10):
        parts = split(rows, validation=3, together=["a", "b"], seed=seed)
        assert sum(len({0, 1, 2} & set(part["row"])) in (0, 3) for part in parts.values()) == 2
        assert len(parts["validation"]) == 3


def test_sizes_that_groups_do_not_add_up_to_are_said():
    rows = Dataset.from_dict({"premise": [i // 3 for i in range(30)]})
    with pytest.warns(FairnessWarning, match="9 rows for validation in place of 10"):
        parts = split(rows, validation=10, together="premise")
    assert len(parts["validation"]) == 9
    with pytest.raises(ValueError, match=r"0 rows for validation in place of 2.*hold fewer together"):
        split(rows, validation=2, together="premise")


def test_counterfactuals_without_a_source_are_said():
    rows = Dataset.from_dict({"text": ["He ran.", "Rain.", "She sat."]})
    augmented = rows.map(CounterfactualAugmentation("text"), batched=True)
    with pytest.warns(FairnessWarning, match="nothing says of which rows"):
        split(augmented, test=1)
    assert len(split(augmented, test=1, together=[])["test"]) == 1


@pytest.mark.parametrize("size", [-1, 1.0, 1.5, -0.1, float("nan")])
def test_sizes_out_of_range_are_errors(corpus, size):
    with pytest.raises(ValueError, match="test must be a whole number of rows, or a share"):
        split(corpus, test=size)


@pytest.mark.parametrize("size", ["10", None, True])
def test_sizes_of_other_types_are_errors(corpus, size):
    with pytest.raises(TypeError, match="validation must be a number of rows or a share"):
        split(corpus, validation=size)


def test_other_mistakes_are_errors(corpus):
    with pytest.raises(ValueError, match="500 for validation and 500 for test of 1000 rows leave none for training"):
        split(corpus, validation=500, test=0.5)
    with pytest.raises(ValueError, match="no column 'premise' for together"):
        split(corpus, test=10, together="premise")
    with pytest.raises(TypeError, match="wanted single values to group by"):
        split(corpus.add_column("tags", [["a"]] * 1000), test=10, together="tags")
    with pytest.raises(TypeError, match="got a DatasetDict"):
        split(split(corpus, test=10), test=10)


def test_without_sizes_all_rows_are_for_training(corpus):
    assert list(split(corpus)) == ["train"]
    assert len(split(corpus)["train"]) == 1000
