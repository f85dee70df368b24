"""The base of all callables for ``datasets.map``: columns, keys, rows, errors."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from datasets import Dataset, Features, Value
from datasets.fingerprint import Hasher
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.maps import MapFunction, RowsFunction, row_draw, row_seed
from hf_fairness.utils import FairnessWarning


class Lengths(MapFunction):
    def outputs(self):
        return {"length": "int64", "key": "string"}

    def rewrite(self, texts, key):
        return {"length": sum(map(len, texts)), "key": key}


class Shouted(RowsFunction):
    def outputs(self):
        return {"shouted": "bool"}

    def unchanged(self):
        return {"shouted": False}

    def additions(self, texts, key):
        return [{self.column: texts[0].upper(), "shouted": True}] if texts[0] else []


def test_columns_and_keys_of_a_row_and_of_a_batch():
    row = Lengths(["a", "b"])({"a": "xy", "b": "z", "label": 1})
    assert row == {"length": 3, "key": "xy\x1fz"}
    batch = Lengths("a", id_column="id")({"a": ["xy", "xy"], "id": [7, 8]})
    assert batch == {"length": [2, 2], "key": ["7", "8"]}
    assert Lengths("a")({"a": []}) == {"length": [], "key": []}


def test_features_name_the_added_columns():
    before = Features({"a": Value("string"), "label": Value("int8")})
    after = Lengths("a").features(before)
    assert after == Features({**before, "length": Value("int64"), "key": Value("string")})


def test_added_rows_follow_their_source_and_keep_its_other_columns():
    data = Dataset.from_dict({"a": ["x", "", "y"], "label": [1, 2, 3]})
    made = data.map(Shouted("a"), batched=True, batch_size=2)
    assert made["a"][:] == ["x", "X", "", "y", "Y"]
    assert made["label"][:] == [1, 1, 2, 3, 3]
    assert made["shouted"][:] == [False, True, False, False, True]
    with pytest.raises(TypeError, match="Shouted adds rows: map it with batched=True"):
        data.map(Shouted("a"))


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (3, TypeError, "name of a text column, or a list of names; got 3"),
        ([], TypeError, "name of a text column"),
        (["a", ""], TypeError, "name of a text column"),
        (["a", "a"], ValueError, "names a column twice: a, a"),
    ],
)
def test_wrong_columns_are_refused_at_once(columns, error, message):
    with pytest.raises(error, match=message):
        Lengths(columns)


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        ({"b": ["x"]}, ValueError, r"Lengths: no column 'a'\. Columns: b\."),
        ({"a": ["x"], "key": [1]}, ValueError, "would overwrite column 'key'"),
        ({"a": ["x", None]}, TypeError, r"Expected a text in row 1 of the batch, column 'a', got NoneType"),
        ({"a": None}, TypeError, "Expected a text in column 'a', got NoneType"),
        ({"a": ["x", 3]}, TypeError, r"Expected a text in row 1 of the batch, column 'a', got int"),
    ],
)
def test_wrong_data_is_refused_with_its_place(batch, error, message):
    with pytest.raises(error, match=message):
        Lengths("a", on_missing="error")(batch)


@pytest.mark.parametrize("empty", [None, float("nan"), np.float32("nan"), pd.NA])
def test_a_row_without_a_text_passes_through(empty):
    with pytest.warns(FairnessWarning, match="Lengths: rows without a text in a pass through"):
        assert Lengths("a")({"a": ["xy", empty, ""]}) == {"length": [2, 0, 0], "key": ["xy", "", ""]}
    with pytest.warns(FairnessWarning):
        assert Lengths("a")({"a": empty}) == {"length": 0, "key": ""}
    with pytest.warns(FairnessWarning):
        assert Shouted("a")({"a": [empty, "x"]})["a"][1:] == ["x", "X"]
    with pytest.raises(ValueError, match="on_missing must be one of 'skip', 'error', got 'drop'"):
        Lengths("a", on_missing="drop")


@pytest.mark.filterwarnings("ignore:.*rows without a text")
@pytest.mark.parametrize("function", [Lengths("a"), Shouted("a")])
def test_a_column_that_begins_with_a_thousand_empty_cells(function):
    data = Dataset.from_dict({"a": [None] * 1500 + ["x"] * 10, "label": [1] * 1510})
    made = data.map(function, batched=True)
    assert made.features["a"] == Value("string")
    assert made["a"][:1501] == [None] * 1500 + ["x"]


TABLE = Dataset.from_dict(
    {
        "a": ["She left.", None, "", "Rain.", "He said that he came."],
        "label": [0, 1, None, 1, 0],
        "score": [0.5, None, 0.25, 1.0, 2.0],
        "flag": [True, False, True, True, False],
        "words": [["x"], ["w"], ["y", "z"], ["x"], ["x"]],
        "day": [datetime.datetime(2024, 1, day) for day in range(1, 6)],
    }
)


@pytest.mark.filterwarnings("ignore:.*rows without a text")
@pytest.mark.parametrize("batch_size", [1, 2, 1000])
@pytest.mark.parametrize("form", ["arrow", "pandas", "numpy", "torch"])
@pytest.mark.parametrize("function", [Lengths("a"), Shouted("a")], ids=repr)
def test_a_formatted_data_set_gives_the_rows_of_an_unformatted_one(function, form, batch_size):
    data = (
        TABLE.remove_columns(["day", "label", "score"]) if form == "torch" else TABLE
    )  # torch takes no None, no dates
    plain = data.map(function, batched=True, batch_size=batch_size)
    formatted = data.with_format(form)
    made = formatted.map(function, batched=True, batch_size=batch_size).with_format(None)
    assert made.column_names == plain.column_names
    assert made.to_list() == plain.to_list()
    if form == "arrow":
        assert made.features == plain.features
    if form == "pandas":  # row by row, a frame with an empty cell makes another type of a column of whole numbers
        plain, formatted = plain.remove_columns("label"), formatted.remove_columns("label")
    if not isinstance(function, RowsFunction):
        assert formatted.map(function).with_format(None).to_list() == plain.to_list()


@pytest.mark.filterwarnings("ignore:.*rows without a text")
@pytest.mark.parametrize("form", ["arrow", "pandas"])
@pytest.mark.parametrize("function", [Lengths("a"), Shouted("a")], ids=repr)
def test_a_formatted_stream(function, form):
    plain = TABLE.map(function, batched=True)
    stream = TABLE.to_iterable_dataset(num_shards=2).with_format(form)
    made = stream.map(function, batched=True, batch_size=2, features=function.features(stream.features))
    assert list(made.with_format(None)) == plain.to_list()


@pytest.mark.parametrize("function", [Lengths("a"), Shouted("a")], ids=repr)
def test_types_of_a_table_and_of_a_data_set_outlive_a_file(function, tmp_path):
    """Labels keep their names on their way through an engine that reads and writes parquet."""
    from datasets import ClassLabel

    data = Dataset.from_dict({"a": ["x", "", "y"], "label": [1, 0, 1]}).cast_column(
        "label", ClassLabel(2, ["no", "yes"])
    )
    data.to_parquet(tmp_path / "in.parquet")
    pq.write_table(function.arrow(pq.read_table(tmp_path / "in.parquet")), tmp_path / "out.parquet")
    made = Dataset.from_parquet(str(tmp_path / "out.parquet"), cache_dir=str(tmp_path))
    mapped = data.map(function, batched=True)
    assert made.features == mapped.features
    assert made.to_list() == mapped.to_list()


def test_a_missing_id_column_is_named():
    with pytest.raises(ValueError, match=r"Lengths: no column 'id'\. Columns: a\."):
        Lengths("a", id_column="id")({"a": ["x"]})


def test_the_version_is_part_of_the_state(monkeypatch):
    before = Hasher.hash(Lengths("a"))
    assert before == Hasher.hash(Lengths("a")) != Hasher.hash(Lengths("b"))
    monkeypatch.setattr(Lengths, "version", 2)
    assert Hasher.hash(Lengths("a")) != before


@given(st.integers(), st.text())
def test_draws_depend_on_seed_and_key_alone(seed, key):
    assert row_seed(seed, key) == row_seed(seed, key) != row_seed(seed + 1, key)
    assert 0 <= row_draw(seed, key) < 1


def test_draws_are_uniform():
    draws = [row_draw(0, str(i)) for i in range(4000)]
    assert abs(sum(draws) / 4000 - 0.5) < 0.02
    assert abs(sum(draw < 0.1 for draw in draws) / 4000 - 0.1) < 0.02
