"""Examples and their counterfactuals, in both layouts and where they do not fit together."""

from __future__ import annotations

import csv

import pytest
from datasets import Dataset, DatasetDict
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.augment import CounterfactualAugmentation, CounterfactualSwap, SwapQuality
from hf_fairness.measure.classifier.pairs import read_pairs

TEXTS = ["he saw the dog", "it rained all day long", "she is pregnant", "her brother ran home", "the sky is blue"]
LABELS = [0, 1, 1, 0, 1]


def table(**columns):
    return Dataset.from_dict({"text": TEXTS, "label": LABELS, **columns})


@pytest.fixture(scope="module")
def wide():
    return table().map(CounterfactualSwap("text"), batched=True)


@pytest.fixture(scope="module")
def long():
    return table().map(CounterfactualAugmentation("text"), batched=True)


def test_wide(wide):
    pairs = read_pairs(wide)
    assert (pairs.n, pairs.is_long) == (5, False)
    assert pairs.factual.tolist() == [0, 1, 2, 3, 4]
    assert pairs.counterfactual.tolist() == [0, -1, 2, 3, -1]
    assert pairs.changed.tolist() == [True, False, True, True, False]
    assert pairs.texts(wide) == TEXTS
    assert pairs.labels(wide).tolist() == LABELS
    assert pairs.counterfactual_texts(wide) == ["she saw the dog", "he is pregnant", "his sister ran home"]


def test_long(wide, long):
    pairs = read_pairs(long)
    assert (pairs.n, pairs.is_long, len(long)) == (5, True, 8)
    assert pairs.factual.tolist() == [0, 2, 3, 5, 7]
    assert pairs.counterfactual.tolist() == [1, -1, 4, 6, -1]
    same = read_pairs(wide)
    assert pairs.changed.tolist() == same.changed.tolist()
    assert pairs.texts(long) == TEXTS
    assert pairs.labels(long).tolist() == LABELS
    assert pairs.counterfactual_texts(long) == same.counterfactual_texts(wide)


@pytest.mark.parametrize("layout", ["wide", "long", "long with the rejected rows"])
def test_rejected_swaps_are_not_used(wide, layout):
    if layout == "wide":
        rows = wide.map(SwapQuality("text"), batched=True)
    else:
        augment = CounterfactualAugmentation("text", quality=True, keep_rejected=layout != "long")
        rows = table().map(augment, batched=True)
    pairs = read_pairs(rows)
    assert pairs.texts(rows) == TEXTS
    assert pairs.changed.tolist() == [True, False, False, True, False]
    assert pairs.counterfactual_texts(rows) == ["she saw the dog", "his sister ran home"]


def test_other_names_and_formats():
    rows = Dataset.from_dict({"tweet": TEXTS, "flipped": ["she saw the dog", *TEXTS[1:]], "class": LABELS})
    pairs = read_pairs(
        rows.with_format("numpy"), text_column="tweet", counterfactual_column="flipped", label_column="class"
    )
    assert pairs.changed.tolist() == [True, False, False, False, False]
    assert pairs.labels(rows.with_format("torch")).tolist() == LABELS


def test_labels_may_be_absent_where_nobody_asks():
    rows = Dataset.from_dict({"text": TEXTS, "text_counterfactual": ["she saw the dog", *TEXTS[1:]]})
    pairs = read_pairs(rows, label_column=None)
    with pytest.raises(ValueError, match="read without labels"):
        pairs.labels(rows)


WORDS = st.sampled_from(["he", "she", "his sister", "the king", "rain", "a dog", "ran", "Mrs", "blue"])


@given(st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=12))
def test_both_layouts_agree_on_any_texts(texts):
    rows = {"text": texts, "label": [0] * len(texts)}
    wide = Dataset.from_dict({**rows, **CounterfactualSwap("text")(rows)})
    long = Dataset.from_dict(CounterfactualAugmentation("text")(rows))
    if wide["text"][:] == wide["text_counterfactual"][:]:
        for layout in (wide, long):
            with pytest.raises(ValueError, match="no attribute terms"):
                read_pairs(layout)
        return
    one, other = read_pairs(wide), read_pairs(long)
    assert one.changed.tolist() == other.changed.tolist()
    assert one.texts(wide) == other.texts(long) == texts
    assert one.counterfactual_texts(wide) == other.counterfactual_texts(long)


def test_the_tweets_with_the_swaps_of_the_authors(shared):
    columns = {}
    for name, part in (("text", "original_gender"), ("text_counterfactual", "gender_swap")):
        with (shared / f"data/data_diet/Twitter_valid_{part}.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        columns[name] = [line["tweet"] for line in lines]
        columns["label"] = [int(line["Class"]) for line in lines]
    pairs = read_pairs(Dataset.from_dict(columns))
    assert pairs.n == len(columns["text"]) > 1600
    assert pairs.changed.mean() == pytest.approx(0.35, abs=0.02)  # stated in the definitions
    shifted = {**columns, "text_counterfactual": columns["text_counterfactual"][1:] + columns["text"][:1]}
    with pytest.raises(ValueError, match="misaligned"):
        read_pairs(Dataset.from_dict(shifted))


SWAPPED = ["she saw the dog", *TEXTS[1:]]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (table(), {}, "found neither. Columns: text, label"),
        (table(text_counterfactual=SWAPPED, counterfactual=[False] * 5), {}, "found text_counterfactual and counterf"),
        (table(text_counterfactual=TEXTS), {}, "5 have no attribute terms"),
        (table(text_counterfactual=SWAPPED, rejected_reason=["bad"] + [""] * 4), {}, "and 1 swaps were rejected"),
        (table(counterfactual=[False] * 5), {}, "5 have no attribute terms"),
        (table(text_counterfactual=TEXTS[1:] + TEXTS[:1]), {}, "misaligned: a counterfactual changes the words"),
        (table(text_counterfactual=SWAPPED, edits=["[]"] * 5), {}, "the first is row 0, have no edits"),
        (table(counterfactual=[True] + [False] * 4), {}, "the first in row 0, do not stand right after"),
        (table(counterfactual=[False, True, True, False, False]), {}, "the first in row 2, do not stand right after"),
        (table(counterfactual=[False, True, False, False, False]), {}, "misaligned"),
        (table(text_counterfactual=SWAPPED), {"label_column": "labels"}, "no column 'labels' for label_column"),
        (table(text_counterfactual=SWAPPED), {"text_column": "tweet"}, "no column 'tweet' for text_column"),
        (table(), {"counterfactual_column": "flipped"}, "no column 'flipped' for counterfactual_column"),
        (table(text_counterfactual=SWAPPED).select([]), {}, "no rows"),
    ],
)
def test_errors(rows, options, message):
    with pytest.raises(ValueError, match=message):
        read_pairs(rows, **options)


def test_wrong_types():
    with pytest.raises(TypeError, match=r"Select one, for example dataset\['train'\]"):
        read_pairs(DatasetDict(train=table()))
    with pytest.raises(TypeError, match="column 'label' must hold texts; row 0 holds 0"):
        read_pairs(table(text_counterfactual=SWAPPED), counterfactual_column="label")
    with pytest.raises(TypeError, match="must hold True or False; row 0 holds 'no'"):
        read_pairs(table(counterfactual=["no"] * 5))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, None, 1], r"1 of 3 rows have no label, the first in row 1 \(None\)"),
        ([0.0, float("nan")], "first in row 1"),
        ([0, -1, -1], r"2 of 3 rows have no label, the first in row 1, 2 \(-1\)"),
        ([0.0, 0.5], "not whole"),
        (["yes", "no"], "class_encode_column"),
    ],
)
def test_missing_labels(values, message):
    texts = {"text": TEXTS[: len(values)], "text_counterfactual": SWAPPED[: len(values)]}
    with pytest.raises(ValueError, match=message):
        read_pairs(Dataset.from_dict({**texts, "label": values}))


def test_the_row_of_a_missing_label_is_that_of_the_data_set():
    long = {"text": ["He ran.", "She ran.", "He sat."], "counterfactual": [False, True, False], "label": [0, 0, None]}
    with pytest.raises(ValueError, match="1 of 2 rows have no label, the first in row 2"):
        read_pairs(Dataset.from_dict(long))
