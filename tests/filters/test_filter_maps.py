"""The filters as ``datasets`` maps them: any batch, order, process or stream; and the whole chain."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset, Value
from datasets.fingerprint import Hasher

from hf_fairness import filters
from hf_fairness.filters import (
    GrammaticalGender,
    Kept,
    OneGroup,
    PairLength,
    SourceGender,
    TargetGender,
    drops,
)
from hf_fairness.maps import MapFunction

SENTENCES = [
    ("She's an engineer.", "Sie ist Ingenieurin."),
    ("He thanked his doctor.", "Er dankte seinem Arzt."),
    ("She thanked her doctor.", "Sie dankte ihrem Arzt."),
    ("He met her.", "Er traf sie."),
    ("It rained.", "Es regnete."),
    ("She left.", ""),
    ("His book fell.", "Das Buch fiel."),
    ("Her “teacher” left.", "Die Lehrerin ging."),
    ("He left\ufffd.", "Der Lehrer ging."),
    ("He left.", "Der Lehrer ging " * 120),
]
DATA = Dataset.from_dict(
    {
        "id": list(range(len(SENTENCES))),
        "source": [source for source, _ in SENTENCES],
        "target": [target for _, target in SENTENCES],
        "wanted": ["female", "male", "mixed", "none", "female"] * 2,
    }
)
NOUNS = ["Arzt", "Ärzte", "Ärztin", "Lehrer", "Lehrerin", "Lehrerinnen"]
FUNCTIONS: dict[str, MapFunction] = {
    "source": SourceGender("source"),
    "source-gfst": SourceGender("source", wordlist="gfst", output_column="authors"),
    "target": TargetGender(lang="de", gender_column="wanted"),
    "target-nouns": TargetGender(
        lang="de",
        gender_column="wanted",
        human_nouns_only=True,
        nouns=NOUNS,
        output_column="nouns",
        words_column="nouns_words",
    ),
    "grammar": GrammaticalGender("target", lang="de", pronouns=True),
    "length": PairLength(),
}


@pytest.fixture(params=FUNCTIONS)
def function(request: pytest.FixtureRequest) -> MapFunction:
    return FUNCTIONS[request.param]


def by_id(rows: Any) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])


def test_every_map_function_is_here() -> None:
    exported = [getattr(filters, name) for name in filters.__all__]
    kinds = {kind for kind in exported if isinstance(kind, type) and issubclass(kind, MapFunction)}
    assert {type(function) for function in FUNCTIONS.values()} == kinds


def test_same_rows_whatever_the_batch_order_or_stream(function: MapFunction) -> None:
    name, kind = next(iter(function.outputs().items()))
    wanted = [{**row, **function({key: row[key] for key in row})} for row in DATA]
    assert len({row[name] for row in wanted}) > 1  # something happens
    for batch_size in (1, 3, 1000):
        mapped = DATA.map(function, batched=True, batch_size=batch_size)
        assert list(mapped) == wanted
        assert mapped.features[name] == Value(kind)
    assert list(DATA.map(function)) == wanted
    assert by_id(DATA.shuffle(seed=1).map(function, batched=True, batch_size=4)) == wanted
    stream = DATA.to_iterable_dataset(num_shards=2)
    mapped = stream.map(function, batched=True, batch_size=3, features=function.features(stream.features))
    assert by_id(mapped) == wanted
    assert mapped.features[name] == Value(kind)


@pytest.mark.filterwarnings("ignore:.*rows without a text")
@pytest.mark.parametrize("form", [None, "arrow", "pandas", "numpy"])
def test_a_row_without_a_text_is_labelled_as_such(function: MapFunction, form: str | None) -> None:
    name, kind = next(iter(function.outputs().items()))
    gone = [0, 3]
    column = [None if row in gone else text for row, text in enumerate(DATA[function.column])]
    holed = DATA.remove_columns(function.column).add_column(function.column, column, feature=Value("string"))
    made = holed.with_format(form).map(function, batched=True, batch_size=3).with_format(None)
    labels = name in ("source_gender", "authors", "target_gender")
    assert [made[row][name] for row in gone] == ["none" if labels else "missing"] * 2
    wanted = DATA.map(function, batched=True)
    assert [row[name] for row in made if row["id"] not in gone] == [
        row[name] for row in wanted if row["id"] not in gone
    ]
    assert made.features[name] == Value(kind)
    kept = made.filter(OneGroup(name) if labels else Kept(name), batched=True)
    assert not set(gone) & set(kept["id"])


def test_same_rows_as_tables_of_any_engine(function: MapFunction) -> None:
    from support.arrow_tables import check_arrow  # which a process that asks for the hashes does not find

    made = check_arrow(function, DATA[:])
    name = next(iter(function.outputs()))
    assert made[name].to_pylist() == DATA.map(function, batched=True)[name][:]
    labels = name in ("source_gender", "authors", "target_gender")
    chosen = OneGroup(name) if labels else Kept(name)
    kept = check_arrow(chosen, made.select([*DATA.column_names, name]).to_pydict())
    assert 0 < len(kept) < len(made)
    assert kept["id"].to_pylist() == [row["id"] for row in made.to_pylist() if chosen(row)]
    with pytest.raises(ValueError, match=f"no column '{name}'. Columns: id"):
        chosen.arrow(made.select(["id"]))


def test_two_processes() -> None:
    for name in ("source", "target"):
        function = FUNCTIONS[name]
        assert list(DATA.map(function, batched=True, num_proc=2)) == list(DATA.map(function, batched=True))


def test_hash_survives_a_call_and_a_pickle(function: MapFunction) -> None:
    before = Hasher.hash(function)
    first = function(DATA[:])
    assert Hasher.hash(function) == before
    clone = pickle.loads(pickle.dumps(function))
    assert Hasher.hash(clone) == before
    assert clone(DATA[:]) == first


@pytest.mark.whole
def test_hashes_are_the_same_in_a_new_process() -> None:
    code = (
        "import sys, json; sys.path.insert(0, sys.argv[1]); import test_filter_maps as t; print(json.dumps(t.hashes()))"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"  # another order of sets
    done = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == hashes()


def hashes() -> dict[str, str]:
    return {name: Hasher.hash(function) for name, function in FUNCTIONS.items()}


def test_hashes_differ() -> None:
    more = [
        SourceGender("source", output_column="authors"),
        TargetGender(lang="he", gender_column="wanted"),
        TargetGender(lang="de", gender_column="wanted", ambiguous="each"),
        GrammaticalGender("target", lang="de"),
        PairLength(max_tokens=10),
        PairLength(max_ratio=2.0),
    ]
    assert len({Hasher.hash(function) for function in (*FUNCTIONS.values(), *more)}) == len(FUNCTIONS) + len(more)


@pytest.mark.parametrize("streamed", [True, False])
def test_the_chain(streamed: bool) -> None:
    data = DATA.to_iterable_dataset(num_shards=2) if streamed else DATA
    labelled = data.map(SourceGender("source"), batched=True, batch_size=3).filter(OneGroup(), batched=True)
    for function in (PairLength(), TargetGender(lang="de")):
        labelled = labelled.map(function, batched=True, batch_size=4)
    columns = ("length_reason", "target_reason")
    assert sorted(row["id"] for row in labelled.filter(Kept(*columns), batched=True)) == [0, 1, 7]
    found = drops(labelled, columns)
    assert found["n"] == 8
    assert streamed or found["words"] == {"arzt": 1, "ihrem": 1}  # a mapped stream does not tell its columns
    assert found["by_gender"]["female"]["reasons"] == {"empty": 1, "opposite_gender": 1}
    assert found["by_gender"]["male"]["reasons"] == {"encoding": 1, "no_word_of_gender": 1, "too_long": 1}
