"""Equal numbers of rows per group, by leaving rows out or by repeating some."""

from __future__ import annotations

from collections import Counter

import pytest
from datasets import ClassLabel, Dataset

from hf_fairness import FairnessWarning
from hf_fairness.refine import balance, split


@pytest.fixture
def corpus() -> Dataset:
    """60 male, 24 female and 16 neutral rows; the label goes with the group."""
    texts = [f"He has {i} keys." for i in range(60)] + [f"Her {i} keys are lost." for i in range(24)]
    texts += [f"It rained {i} days." for i in range(16)]
    labels = [i % 4 == 0 for i in range(60)] + [i % 3 != 0 for i in range(24)] + [i % 2 for i in range(16)]
    groups = ["male"] * 60 + ["female"] * 24 + ["neutral"] * 16
    data = Dataset.from_dict({"text": texts, "label": [int(label) for label in labels], "group": groups})
    return data.cast_column("label", ClassLabel(names=["no", "yes"])).shuffle(seed=0)


def test_down_leaves_as_many_of_every_group_and_all_neutral_rows(corpus):
    result = balance(corpus, text_columns="text")
    assert Counter(result["group"]) == {"male": 24, "female": 24, "neutral": 16}
    assert result.features == corpus.features
    order = corpus["text"][:]
    assert [order.index(text) for text in result["text"]] == sorted(order.index(text) for text in result["text"])


def test_up_repeats_rows_evenly_and_keeps_every_row(corpus):
    result = balance(corpus, text_columns="text", method="up")
    assert Counter(result["group"]) == {"male": 60, "female": 60, "neutral": 16}
    assert result.select(range(100)).remove_columns("source_row").to_list() == corpus.to_list()
    times = Counter(text for text, group in zip(result["text"], result["group"], strict=True) if group == "female")
    assert set(times.values()) == {2, 3}
    assert all(corpus[row["source_row"]]["text"] == row["text"] for row in result)


def test_copies_stay_together_in_a_split(corpus):
    parts = split(balance(corpus, text_columns="text", method="up"), test=30)
    assert not set(parts["train"]["text"]) & set(parts["test"]["text"])


@pytest.mark.parametrize("method", ["down", "up"])
def test_within_a_label_every_group_has_as_many(corpus, method):
    def counts(rows):
        return Counter(zip(rows["group"], rows["label"], strict=True))

    assert counts(corpus)["male", 1] != counts(corpus)["female", 1]
    found = counts(balance(corpus, text_columns="text", within="label", method=method))
    pick = {"down": min, "up": max}[method]
    for label in (0, 1):
        wanted = pick(counts(corpus)["male", label], counts(corpus)["female", label])
        assert found["male", label] == found["female", label] == wanted
        assert found["neutral", label] == 8


def test_a_column_may_hold_any_number_of_groups():
    rows = Dataset.from_dict({"faith": ["a"] * 5 + ["b"] * 3 + ["c"] * 9 + [None] * 2})
    with pytest.warns(FairnessWarning, match="2 of 19 rows lack a value in faith"):
        assert Counter(balance(rows, group_column="faith")["faith"]) == {"a": 3, "b": 3, "c": 3, None: 2}
    with pytest.warns(FairnessWarning, match="they all stay"):
        up = balance(rows, group_column="faith", method="up")
    assert Counter(up["faith"]) == {"a": 9, "b": 9, "c": 9, None: 2}


@pytest.mark.parametrize("method", ["down", "up"])
@pytest.mark.parametrize("empty", [None, float("nan")])
def test_rows_that_lack_a_text_or_a_label_stay(method, empty):
    texts = ["He ran.", "He sat.", "She ran.", None, "He left.", "Rain.", "She sat."]
    scores = [1.0, 1.0, 1.0, 1.0, empty, 0.0, 1.0]
    rows = Dataset.from_dict({"text": texts, "score": scores, "n": list(range(7))}).filter(lambda row: row["n"] != 5)
    with pytest.warns(FairnessWarning, match=r"2 of 6 rows lack a value in text, score, the first is row 3"):
        made = balance(rows, text_columns="text", within="score", method=method)
    assert set(made["n"]) == {0, 1, 2, 3, 4, 6}
    with pytest.warns(FairnessWarning, match="1 of 6 rows lack a value in text"):
        assert 3 in balance(rows, text_columns="text", method=method)["n"]
    with pytest.raises(ValueError, match="Fill or leave out these rows, or pass on_missing='skip'"):
        balance(rows, text_columns="text", on_missing="error")


def test_only_the_groups_asked_for_are_balanced():
    rows = Dataset.from_dict({"faith": ["a"] * 5 + ["b"] * 3 + ["c"] * 9})
    assert Counter(balance(rows, group_column="faith", groups=["a", "b"])["faith"]) == {"a": 3, "b": 3, "c": 9}


def test_another_attribute_needs_no_other_code():
    texts = ["The church is old.", "A church and a priest.", "The mosque is new.", "Rain."]
    rows = Dataset.from_dict({"text": texts})
    result = balance(rows, text_columns="text", attribute="religion", groups=["christian", "muslim"])
    assert len(result) == 3
    assert {"The mosque is new.", "Rain."} < set(result["text"])


def test_texts_of_a_row_are_read_together():
    """Two female terms in one column outweigh one male term in the other."""
    rows = Dataset.from_dict({"a": ["He left.", "He left.", "He sat."], "b": ["She saw her aunt.", "Rain.", "Sun."]})
    result = balance(rows, text_columns=["a", "b"])
    assert len(result) == 2
    assert "She saw her aunt." in result["b"][:]


def test_the_seed_decides_which_rows(corpus):
    def texts(seed):
        return balance(corpus, text_columns="text", seed=seed)["text"][:]

    assert texts(0) == texts(0) != texts(1)


def test_a_group_without_rows_is_an_error(corpus):
    one = corpus.filter(lambda group: group != "female", input_columns="group")
    with pytest.raises(ValueError, match=r"group 'female' has no row .*'male': 60, 'female': 0"):
        balance(one, text_columns="text")
    with pytest.raises(ValueError, match="group 'x' has no row"):
        balance(corpus, group_column="group", groups=["male", "x"])
    torn = corpus.filter(lambda row: row["group"] != "female" or row["label"] == 1)
    with pytest.raises(ValueError, match="group 'female' has no row where label is 0"):
        balance(torn, text_columns="text", within="label")


def test_other_mistakes_are_errors(corpus):
    with pytest.raises(ValueError, match=r"unknown method 'sideways'. Known methods: down, up"):
        balance(corpus, text_columns="text", method="sideways")
    with pytest.raises(TypeError, match="give group_column or text_columns, and not both"):
        balance(corpus)
    with pytest.raises(ValueError, match="no column 'sex' for group_column"):
        balance(corpus, group_column="sex")
    with pytest.raises(ValueError, match="at least two groups"):
        balance(corpus, group_column="group", groups=["male"])
    with pytest.raises(TypeError, match="whole corpus"):
        balance(corpus.to_iterable_dataset(), text_columns="text")
