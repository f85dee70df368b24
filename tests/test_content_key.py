"""Equal content, equal key; different content, different key; the same in every process."""

from __future__ import annotations

import datetime
import enum
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from datasets import (
    Array2D,
    ClassLabel,
    Dataset,
    Features,
    List,
    Value,
    concatenate_datasets,
)
from hypothesis import given
from hypothesis import strategies as st

from hf_fairness.runs import content_key


class Color(enum.Enum):
    RED = "red"


class Named(str, enum.Enum):
    RED = "red"


@dataclass
class Config:
    beta: float = 1.0
    names: list[str] = field(default_factory=list)


DISTINCT = [
    (), (None,), (None, None), (0,), (False,), (0.0,), (-0.0,), ("",), (b"",), ("0",),
    (1,), (True,), (1.0,), ("1",),
    ([],), ({},), (set(),), ([[]],), ([], []), ("a", "b"), (["a", "b"],), ("ab",), ("ab", ""), ("", "ab"),
    ({"a": 1, "b": 2},), ({"a": 2, "b": 1},), ({"a": {"b": 1}},), ({1: 2},), ({"1": 2},),
    ({1, 2},), ([1, 2],),
    (float("nan"),), (float("inf"),), ("nan",), (10**30,), (Color.RED,), (Named.RED,), ("red",),
    (Config(),), (Config(2.0),), (Config(names=["x"]),), ({"beta": 1.0, "names": []},),
    (np.zeros(2),), (np.zeros((2, 1)),), (np.zeros(2, "f4"),), (np.zeros(2, int),), (np.zeros(0),),
    ([0.0, 0.0],),
    (np.array(["a", "b"]),), (np.datetime64("2020-01-01"),), (np.array([True, False]),), (1j * np.ones(1),),
]  # fmt: skip


def test_different_values_have_different_keys() -> None:
    keys = [content_key(*parts) for parts in DISTINCT]
    clashes = [parts for parts, key in zip(DISTINCT, keys, strict=True) if keys.count(key) > 1]
    assert clashes == []


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"a": 1, "b": [1, 2]}, {"b": (1, 2), "a": 1}),
        ({3, 1, 2}, frozenset([2, 3, 1])),
        (np.arange(3, dtype=">i4"), np.arange(3, dtype="<i4")),
        (np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(6.0).reshape(2, 3)),
        (np.arange(10)[::2], np.array([0, 2, 4, 6, 8])),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (float("nan"), -float("nan")),
        (Config(1.0, ["a"]), Config(1.0, ["a"])),
    ],
)  # fmt: skip
def test_equal_content_has_one_key(one: object, two: object) -> None:
    assert content_key(one) == content_key(two)


def test_keys_do_not_depend_on_the_process() -> None:
    code = (
        "from hf_fairness.runs import content_key; import numpy as np;"
        "print(content_key({'b': {'x', 'y', 'z'}, 'a': [1, 2.5, None, 'é']}, np.arange(3.0)))"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    # The constant holds the encoding still: a change of it must also change `_keys.ENCODING`.
    assert keys == {b"f41cce5cebda5bdfdef541b0f7809019\n"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_keys_are_equal_exactly_when_values_are(one: object, two: object) -> None:
    same = repr_typed(one) == repr_typed(two)
    assert (content_key(one) == content_key(two)) == same


def repr_typed(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{key!r}:{repr_typed(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(repr_typed, value)) + "]"
    return repr(value)


# --- paths


def test_a_path_stands_for_its_content(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "a.txt").write_text("a")
        (folder / "b.txt").write_text("b")
    (two / "empty").mkdir()
    assert content_key(one) == content_key(two)
    assert content_key(one / "b.txt") == content_key(two / "b.txt") != content_key(one / "sub" / "a.txt")
    assert content_key(str(one)) != content_key(str(two))
    before = content_key(two)
    (two / "b.txt").rename(two / "c.txt")
    assert content_key(two) != before
    (one / "b.txt").unlink()
    (one / "b.txt").symlink_to(two / "c.txt")  # as in a cache of the Hub
    assert content_key(one) == before
    (two / "c.txt").write_text("changed")
    assert content_key(one) != before


def test_bad_paths_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"part 0\['data'\].*str\(path\)"):
        content_key({"data": tmp_path / "missing"})
    (tmp_path / "folder" / "sub").mkdir(parents=True)
    (tmp_path / "folder" / "loop").symlink_to(tmp_path / "folder")
    with pytest.raises(ValueError, match="links to a folder"):
        content_key(tmp_path / "folder")


# --- what has no stable content


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (len, "part 0: got builtins.builtin_function_or_method. Code has no stable content"),
        (Config, "Code has no stable content"),
        (object(), "got builtins.object. Pass what it is made from"),
        ({"a": [1, object()]}, r"part 0\['a'\]\[1\]"),
        (Config(names=[object()]), r"part 0.names\[0\]"),
        ({(1, 2): 3}, "a key of part 0: got builtins.tuple"),
        (np.array([object()]), "dtype object"),
        (np.longdouble(1), "longdouble|float128|float64"),
        (datetime.date(2020, 1, 1), "isoformat"),
        (iter([1]), "list_iterator"),
    ],
)
def test_what_has_no_stable_content_is_refused(value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        content_key(value)


def test_tensors_and_streams_say_what_to_pass() -> None:
    import torch

    with pytest.raises(TypeError, match="numpy"):
        content_key(torch.zeros(2))
    with pytest.raises(TypeError, match="A stream has no known content"):
        content_key(Dataset.from_dict({"a": [1]}).to_iterable_dataset())


# --- datasets

ROWS = [
    {"text": "She came.", "label": 0, "score": 0.5, "tags": ["a", "b"],
     "info": {"id": 1, "note": None}, "ok": True},
    {"text": "", "label": 1, "score": None, "tags": [], "info": {"id": 2, "note": "x"}, "ok": None},
    {"text": None, "label": None, "score": 2.0, "tags": ["c"], "info": {"id": 3, "note": "y"}, "ok": False},
    {"text": "Er kam, spät.", "label": 1, "score": -1.0, "tags": None, "info": None, "ok": True},
] * 3  # fmt: skip
FEATURES = Features(
    {
        "text": Value("string"),
        "label": ClassLabel(names=["no", "yes"]),
        "score": Value("float32"),
        "tags": List(Value("string")),
        "info": {"id": Value("int64"), "note": Value("string")},
        "ok": Value("bool"),
    }
)


def dataset() -> Dataset:
    return Dataset.from_list(ROWS, features=FEATURES)


def test_a_dataset_is_its_rows_not_its_history(tmp_path: Path) -> None:
    data = dataset()
    key = content_key(data)
    data.save_to_disk(tmp_path / "disk")
    data.to_parquet(tmp_path / "data.parquet")
    halves = concatenate_datasets([data.select(range(5)), data.select(range(5, len(data)))])
    backwards = list(reversed(range(len(data))))
    twins = {
        "built again": dataset(),
        "from disk": Dataset.load_from_disk(str(tmp_path / "disk")),
        "from parquet": Dataset.from_parquet(str(tmp_path / "data.parquet"), cache_dir=str(tmp_path / "cache")),
        "in chunks": halves,
        "through indices": data.select(backwards).select(backwards),
        "flattened indices": data.select(backwards).select(backwards).flatten_indices(),
        "mapped": data.map(lambda row: row),
        "formatted": data.with_format("numpy", columns=["score"]),
        "a slice": concatenate_datasets([data.select([0, 1]), data]).select(range(2, 2 + len(data))),
    }
    assert {name: content_key(twin) == key for name, twin in twins.items()} == dict.fromkeys(twins, True)


def change(row: int, column: str, value: object) -> Dataset:
    rows = [dict(item) for item in ROWS]
    rows[row][column] = value
    return Dataset.from_list(rows, features=FEATURES)


def test_every_change_of_a_dataset_changes_its_key() -> None:
    data = dataset()
    order = ["label", "text", "score", "tags", "info", "ok"]
    others = {
        "text": change(0, "text", "She came!"),
        "empty for null": change(2, "text", ""),
        "null for false": change(2, "ok", None),
        "score": change(3, "score", -1.0000001),
        "empty list for null": change(3, "tags", []),
        "list cut elsewhere": change(0, "tags", ["ab"]),
        "nested null": change(1, "info", {"id": 2, "note": None}),
        "null struct": change(1, "info", None),
        "rows swapped": data.select([1, 0, *range(2, len(data))]),
        "one row less": data.select(range(len(data) - 1)),
        "column order": data.select_columns(order),
        "column name": data.rename_column("text", "txt"),
        "column gone": data.remove_columns("ok"),
        "type": data.cast_column("score", Value("float64")),
        "label names": data.cast_column("label", ClassLabel(names=["no", "maybe"])),
        "none at all": data.select([]),
    }
    keys = {"as it is": content_key(data), **{name: content_key(other) for name, other in others.items()}}
    assert len(set(keys.values())) == len(keys), keys


def test_values_do_not_run_into_each_other_across_rows() -> None:
    one = Dataset.from_dict({"a": ["ab", "c"], "b": ["", "d"]})
    two = Dataset.from_dict({"a": ["a", "bc"], "b": ["", "d"]})
    three = Dataset.from_dict({"a": ["ab", "c"], "b": ["d", ""]})
    assert len({content_key(one), content_key(two), content_key(three)}) == 3


def test_extension_columns_and_dates_are_content_too() -> None:
    features = Features({"m": Array2D((2, 2), "float32"), "day": Value("date32"), "raw": Value("binary")})
    day = datetime.date(2020, 1, 1)
    make = lambda corner: Dataset.from_dict(  # noqa: E731
        {"m": [[[1, 2], [3, corner]]], "day": [day], "raw": [b"\x00"]}, features=features
    )
    assert content_key(make(4.0)) == content_key(make(4.0)) != content_key(make(5.0))


def test_many_rows_are_quick_and_chunks_do_not_count() -> None:
    data = Dataset.from_dict({"text": [f"sentence number {i}" for i in range(60_000)], "n": list(range(60_000))})
    cut = concatenate_datasets([data.select(range(17)), data.select(range(17, 60_000))])
    assert content_key(data) == content_key(cut)
    changed = data.select([*range(59_998), 59_999, 59_998])
    assert content_key(changed) != content_key(data)
