"""Polarity accuracy, small enough to check on paper and against the attribute's own polarity."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.attributes import load_attribute
from hf_fairness.augment import GroupVariants
from hf_fairness.measure.classifier.polarity import polarity_accuracy as measure
from hf_fairness.scores.polarity import polarity_accuracy

ROWS = [
    {"male": "He left.", "female": "She left.", "neutral": "They left."},
    {"male": "He left.", "female": "He left.", "neutral": "They left."},  # wrong
    {"male": "He saw him.", "female": "She saw her.", "neutral": "He saw her."},  # a tie is neutral
    {"male": "He saw her.", "female": "She saw it.", "neutral": "It."},  # a tie is not male
    {"male": "Rain.", "female": "Rain.", "neutral": "Rain.", "has_terms": False, "rejected_reason": ""},  # skipped
    {"male": "He.", "female": "He.", "neutral": "He.", "has_terms": False, "rejected_reason": "no usable answer: x"},
]


@pytest.mark.parametrize("empty", [None, float("nan"), " "])
def test_a_cell_without_a_reason_is_none_whatever_a_file_reads_for_it(empty):
    rows = [row | {"rejected_reason": row.get("rejected_reason") or empty} for row in ROWS]
    assert measure(rows, n_bootstrap=0) == measure(ROWS, n_bootstrap=0)


def test_by_hand():
    result = measure(ROWS, n_bootstrap=500)
    assert (result["polarity_accuracy"], result["n"], result["n_skipped"]) == (2 / 5, 5, 1)
    versions = result["versions"]
    assert [versions[name]["accuracy"] for name in ("male", "female", "neutral")] == [4 / 5, 3 / 5, 4 / 5]
    assert [versions[name]["n_tied"] for name in versions] == [1, 0, 1]
    assert [versions[name]["n_neutral"] for name in versions] == [1, 0, 4]
    low, high = result["polarity_accuracy_ci95"]
    assert 0 <= low < 2 / 5 < high <= 1
    assert result["meta"]["ideal"] == "1"


def test_rule_made_variants_have_their_polarity():
    data = Dataset.from_dict({"text": ["She met her brother.", "The king spoke to him.", "Rain."]})
    triples = data.map(GroupVariants("text"), batched=True)
    result = measure(triples, n_bootstrap=50)
    assert result["polarity_accuracy"] == 1.0
    # Both texts right: half the square of the least rate is .025.
    assert result["polarity_accuracy_ci95"] == [pytest.approx(0.05**0.5), 1.0]
    assert (result["n"], result["n_skipped"]) == (2, 1)


WORDS = ["he", "she", "church", "mosque", "rabbi", "priest", "synagogue", "imam", "rain"]


@given(st.lists(st.lists(st.sampled_from(WORDS)), min_size=1, max_size=6), st.sampled_from(["gender", "religion"]))
def test_agrees_with_the_polarity_of_the_attribute(texts, name):
    attribute = load_attribute(name)
    groups = attribute.group_names
    lines = [" ".join(words) for words in texts]
    table = np.array([list(counts.values()) for counts in attribute.count_many(lines)])
    result = polarity_accuracy(dict.fromkeys([*groups, "neutral"], table), groups, n_bootstrap=5)
    for version in (*groups, "neutral"):
        share = np.mean([attribute.polarity(line) == version for line in lines])
        assert result["versions"][version]["accuracy"] == pytest.approx(share)


@pytest.mark.parametrize(
    ("counts", "groups", "says"),
    [
        ({"a": [[1, 0]]}, ["a", "b"], "'b' is missing"),
        ({"a": [[1]]}, ["a"], "at least two groups"),
        ({"a": [[1, 0]], "b": [[1, 0], [0, 1]]}, ["a", "b"], r"shape \(1, 2\)"),
        ({"a": [[1, 0, 0]], "b": [[1, 0, 0]]}, ["a", "b"], "one column per group"),
        ({"a": [[-1, 0]], "b": [[1, 0]]}, ["a", "b"], "whole numbers"),
        ({"a": [[float("nan"), 0]], "b": [[1, 0]]}, ["a", "b"], "NaN"),
        ({"a": np.zeros((0, 2)), "b": np.zeros((0, 2))}, ["a", "b"], "at least 1"),
    ],
)
def test_bad_counts(counts, groups, says):
    with pytest.raises(ValueError, match=says):
        polarity_accuracy(counts, groups)


def test_bad_rows():
    with pytest.raises(ValueError, match="No column 'female'"):
        measure([{"male": "He."}])
    with pytest.raises(ValueError, match="No row with words"):
        measure([])
