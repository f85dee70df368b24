"""Every map function: the same rows whatever the batch, the process, the order or the kind of data set.

Run as a script, ``python test_invariance.py first|second FOLDER MODEL``, this file is one process of the cache test.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset, Features, IterableDataset, Value
from datasets.fingerprint import Hasher

from hf_fairness import augment
from hf_fairness.attributes.model import GROUPS_COLUMN
from hf_fairness.augment import (
    ContrastiveClaims,
    CounterfactualAugmentation,
    CounterfactualSubstitution,
    CounterfactualSwap,
    GroupVariants,
    Neutralize,
    PerplexityRatio,
    RemoveTerms,
    SwapQuality,
    TextSwap,
)
from hf_fairness.maps import MapFunction, RowsFunction
from support.arrow_tables import check_arrow
from support.launch import environment

TEXTS = [
    "She gave her son the book.",
    "The rain stopped.",
    "",
    "He is his sister's boss, isn't he?",
    "Son père est avec ma mère.",
    "An actress met Mr. Smith; the medal is his.",
    "she saw the dog and it is far away",
    "Mrs. Mary is pregnant.",
    "Mary lost his keys.",
    "The mosque is open.",
] * 2
LABELS = ["she", "nurse", "male", "host"] * 5
PLAIN = {"text": TEXTS, "second": TEXTS[::-1], "label": LABELS, "id": list(range(len(TEXTS)))}
SWAPPED = {**PLAIN, **CounterfactualSwap("text")(PLAIN)}


def functions(model: str) -> dict[str, MapFunction]:
    """One or more of every kind."""
    both = ["text", "second"]
    ratio = PerplexityRatio(model, "text", batch_size=4)
    return {
        "swap": CounterfactualSwap("text"),
        "swap-names": CounterfactualSwap("text", names=True),
        "swap-columns-label": CounterfactualSwap(both, label_column="label", on_label="swap"),
        "neutral": Neutralize(both),
        "variants": GroupVariants("text"),
        "variants-religion": GroupVariants("text", attribute="religion"),
        "remove": RemoveTerms(both),
        "cds": CounterfactualSubstitution(both, seed=3, probability=0.8, label_column="label", on_label="mark"),
        "cds-id-quality": CounterfactualSubstitution("text", seed=1, probability=0.8, id_column="id", quality=True),
        "cda": CounterfactualAugmentation(both, label_column="label", on_label="mark"),
        "cda-quality": CounterfactualAugmentation("text", names=True, quality=SwapQuality("text", perplexity=ratio)),
        "quality": SwapQuality("text", max_ratio=3.0),
        "ratio": ratio,
        "text-swap": TextSwap(*both),
        "claims": ContrastiveClaims(*both, supports="she", refutes="host"),
    }


NAMES = list(functions("a/model"))


def source(function: MapFunction) -> Dataset:
    return Dataset.from_dict(SWAPPED if isinstance(function, (SwapQuality, PerplexityRatio)) else PLAIN)


def rows(data: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a data set; a ratio is the same up to the last digits of float32."""
    return [{**row, **({"perplexity_ratio": 0} if "perplexity_ratio" in row else {})} for row in data]


def same(found: Iterable[dict[str, Any]], wanted: Iterable[dict[str, Any]]) -> None:
    found, wanted = list(found), list(wanted)
    assert rows(found) == rows(wanted)
    ratios = [[row.get("perplexity_ratio", 1.0) for row in table] for table in (found, wanted)]
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-5)


@pytest.fixture(scope="module")
def made(tmp_path_factory, one_thread) -> dict[str, MapFunction]:
    from support.tiny_gpt2 import save_tiny_gpt2

    return functions(save_tiny_gpt2(str(tmp_path_factory.mktemp("gpt2"))))


@pytest.fixture(params=NAMES, scope="module")
def function(request, made) -> MapFunction:
    return made[request.param]


@pytest.fixture(scope="module")
def reference(function) -> list[dict[str, Any]]:
    """What a call without ``datasets`` gives."""
    data = source(function)
    result = function(data[:])
    table = result if isinstance(function, RowsFunction) else {**data[:], **result}
    told = [name for name in function.outputs() if name != GROUPS_COLUMN]  # which says the same of every row
    assert all(len(set(table[name])) > 1 for name in told)  # something happens
    return as_rows(table)


def as_rows(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def test_every_map_function_is_here(made):
    exported = [getattr(augment, name) for name in augment.__all__]
    kinds = {kind for kind in exported if isinstance(kind, type) and issubclass(kind, MapFunction)}
    own = {kind for kind in kinds if not kind.__module__.startswith("hf_fairness.augment.nlu")}
    assert {type(function) for function in made.values()} - {TextSwap} == own


@pytest.mark.parametrize("batch_size", [1, 5, None])
def test_same_rows_whatever_the_batch(function, reference, batch_size):
    if batch_size is None and isinstance(function, RowsFunction):
        with pytest.raises(TypeError, match="batched=True"):
            source(function).map(function)
        return
    options = {} if batch_size is None else {"batched": True, "batch_size": batch_size}
    same(source(function).map(function, **options), reference)


class Together:
    """All functions that keep the number of rows as one, so that two processes are started once."""

    def __init__(self, parts: dict[str, MapFunction]) -> None:
        self.parts = parts

    def __call__(self, batch: Any) -> dict[str, Any]:
        columns = {}
        for name, part in self.parts.items():
            read = PLAIN if not isinstance(part, (SwapQuality, PerplexityRatio)) else SWAPPED
            found = part({column: batch[column] for column in read})
            columns |= {f"{name}.{column}": values for column, values in found.items()}
        return columns


@pytest.mark.whole
def test_two_processes(made):
    parts = {name: part for name, part in made.items() if not isinstance(part, RowsFunction)}
    data = Dataset.from_dict(SWAPPED)
    together = data.map(Together(parts), batched=True, batch_size=4, num_proc=2)
    for name, part in parts.items():
        wanted = part(source(part)[:])
        for column, values in wanted.items():
            found = together[f"{name}.{column}"][:]
            assert found == (pytest.approx(values, rel=1e-5) if column == "perplexity_ratio" else values)


@pytest.mark.whole
@pytest.mark.parametrize("name", ["cda", "cda-quality"])
def test_two_processes_that_add_rows(made, name):
    data = source(made[name])
    same(data.map(made[name], batched=True, num_proc=2), data.map(made[name], batched=True))


def test_order_does_not_matter(function, reference):
    shuffled = source(function).shuffle(seed=3).map(function, batched=True, batch_size=7)
    same(sorted(shuffled, key=lambda row: row["id"]), sorted(reference, key=lambda row: row["id"]))


@pytest.mark.parametrize("batched", [True, False])
def test_streaming(function, reference, batched):
    if not batched and isinstance(function, RowsFunction):
        return
    stream = source(function).to_iterable_dataset(num_shards=3)
    assert isinstance(stream, IterableDataset)
    mapped = stream.map(function, batched=batched, batch_size=4, features=function.features(stream.features))
    same(mapped, reference)
    assert isinstance(mapped.features, Features)
    for name, kind in function.outputs().items():
        assert mapped.features[name] == Value(kind)


def test_types_are_stable_where_nothing_changes(function):
    data = Dataset.from_dict({**SWAPPED, "text": [""] * 20, "second": ["Rain."] * 20, "label": [""] * 20})
    if not isinstance(function, (SwapQuality, PerplexityRatio)):
        data = data.remove_columns(["text_counterfactual", "edits"])
    mapped = data.map(function, batched=True)
    for name, kind in function.outputs().items():
        assert mapped.features[name] == Value(kind)


@pytest.mark.filterwarnings("ignore:.*rows without a text")
def test_a_row_without_a_text_passes_through_and_the_others_are_as_before(function, reference):
    """Every third text is missing: None in a data set, NaN in a batch."""
    column = "second" if "second" in function.columns else "text"
    gone = range(0, len(TEXTS), 3)
    data = source(function)
    texts = [None if i in gone else text for i, text in enumerate(data[column])]
    holed = data.remove_columns(column).add_column(column, texts, feature=Value("string"))
    made = holed.map(function, batched=True, batch_size=4)
    assert rows(row for row in made if row["id"] not in gone) == rows(
        {name: row[name] for name in made.column_names} for row in reference if row["id"] not in gone
    )
    same(holed.map(function, batched=True, batch_size=1), made)
    empty = [row for row in made if row["id"] in gone]
    assert [row["id"] for row in empty] == list(gone)  # none is added, none is lost
    assert {row[column] for row in empty} == {None}
    for name, kind in function.outputs().items():
        assert made.features[name] == Value(kind)
        values = {row[name] for row in empty}
        if name == "edits" or name.endswith("reason"):
            assert values == {"[]" if name == "edits" else "missing"}
        elif name == f"{column}{getattr(function, 'suffix', '')}":
            assert values == {""}
        elif name in ("has_terms", "substituted", "counterfactual", "augmented"):
            assert values == {False}
    batch = function({**holed[:], column: [float("nan") if text is None else text for text in texts]})
    names = list(function.outputs())
    same(({name: row[name] for name in names} for row in made), as_rows({name: batch[name] for name in names}))
    strict = copy.copy(function)
    strict.on_missing = "error"
    with pytest.raises(TypeError, match=f"Expected a text in row 0 of the batch, column {column!r}, got NoneType"):
        strict(holed[:])


@pytest.mark.parametrize("form", ["arrow", "pandas", "numpy", "torch"])
def test_same_rows_in_every_format(function, reference, form):
    made = source(function).with_format(form).map(function, batched=True, batch_size=7)
    same(made.with_format(None), [{name: row[name] for name in made.column_names} for row in reference])


def test_same_rows_as_tables_of_any_engine(function, reference):
    made = check_arrow(function, source(function)[:])
    same(made.select(list(reference[0])).to_pylist(), reference)


def test_hash_survives_a_call_and_a_pickle(function):
    before = Hasher.hash(function)
    data = source(function)[:]
    first = function(data)
    assert Hasher.hash(function) == before
    clone = pickle.loads(pickle.dumps(function))
    assert Hasher.hash(clone) == before
    assert clone(data) == first


def test_hashes_differ(made):
    assert len({Hasher.hash(function) for function in made.values()}) == len(made)


@pytest.mark.whole
def test_cache_is_hit_in_a_new_process(made, tmp_path):
    for name, table in (("plain", PLAIN), ("swapped", SWAPPED)):
        Dataset.from_dict(table).to_json(tmp_path / f"{name}.jsonl")
    found = []
    for turn in ("first", "second"):
        command = [sys.executable, "-W", "ignore", __file__, turn, str(tmp_path), made["ratio"].model]
        run = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=environment(HF_DATASETS_CACHE=str(tmp_path / "cache")),
            timeout=300,
        )
        assert run.returncode == 0, run.stderr
        found.append(json.loads(run.stdout.splitlines()[-1]))
    first, second = found
    assert first["called"]
    assert not second["called"]
    assert first["fingerprints"] == second["fingerprints"]
    assert first["files"] == second["files"]
    assert len(first["files"]) >= len(made)
    assert second["control"]  # another function on the same data is called


def one_process(turn: str, folder: str, model: str) -> None:
    """Map every function on data from a file, and say whether any was called."""
    from datasets import disable_progress_bars, load_dataset

    disable_progress_bars()
    calls: list[str] = []
    read = MapFunction.read

    def counted(self: MapFunction, batch: Any) -> Any:
        calls.append(type(self).__name__)
        return read(self, batch)

    MapFunction.read = counted  # which every call goes through
    fingerprints = {}
    for name, function in functions(model).items():
        table = "swapped" if isinstance(function, (SwapQuality, PerplexityRatio)) else "plain"
        data = load_dataset("json", data_files=str(Path(folder, f"{table}.jsonl")), split="train")
        fingerprints[name] = data.map(function, batched=True)._fingerprint
    cache = Path(os.environ["HF_DATASETS_CACHE"])
    files = sorted(str(path.relative_to(cache)) for path in cache.rglob("cache-*.arrow"))
    called = list(calls)
    if turn == "second":
        load_dataset("json", data_files=str(Path(folder, "plain.jsonl")), split="train").map(
            CounterfactualSwap("second", names=True), batched=True
        )
    print(
        json.dumps(
            {"called": called, "fingerprints": fingerprints, "files": files, "control": len(calls) > len(called)}
        )
    )


if __name__ == "__main__":
    one_process(*sys.argv[1:])
