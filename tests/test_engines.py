"""The same rows on every engine: the study in small, and Spark by the lines that the documentation shows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks import engines
from support.launch import environment

pytestmark = pytest.mark.whole

#: Every so many sentences of the news.
EVERY = 1000


@pytest.fixture(scope="module")
def texts(shared) -> list[str]:
    return engines.news()[::EVERY]


@pytest.fixture(scope="module")
def source(texts, tmp_path_factory) -> Path:
    return engines.write_source(texts, tmp_path_factory.mktemp("source") / "rows")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with engines.started(engines.RAY):
        yield


def made(engine: str, name: str, source: Path, output: Path) -> pa.Table:
    output.mkdir()
    engines.ENGINES[engine](engines.steps(name), source, output)
    return engines.read_rows(output)


@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", engines.FUNCTIONS[1:])
def test_the_rows_of_every_engine_are_those_of_a_call(texts, source, tmp_path, name):
    wanted = pa.table({"id": list(range(len(texts))), "text": texts})
    for step in engines.steps(name):
        wanted = step.arrow(wanted)
    assert wanted.column_names != ["id", "text"]
    assert (len(wanted) == len(texts)) == (name not in ("cda", "filter"))
    for place, engine in enumerate(engines.ENGINES):
        assert engines.equal(made(engine, name, source, tmp_path / str(place)), wanted), engine


def test_scores_are_the_same_in_other_company(texts, tmp_path):
    few = texts[::2]
    source = engines.write_source(few, tmp_path / "rows")
    (function,) = engines.steps("bias score")
    table = pa.table({"id": list(range(len(few))), "text": few})
    wanted = function.arrow(table)
    assert max(wanted["text_bias_absolute"].to_pylist()) > 0.01
    turned = pa.concat_tables(function.arrow(batch) for batch in reversed(table.to_batches(max_chunksize=7)))
    assert engines.equal(turned.sort_by("id").combine_chunks(), wanted)
    for engine in ("datasets.map", "2 shards"):
        assert engines.equal(made(engine, "bias score", source, tmp_path / engine), wanted), engine


def test_a_run_apart_is_measured_and_what_is_wrong_is_named(source, tmp_path):
    (tmp_path / "o").mkdir()
    cell = engines.apart("1 shard", "swap", source, tmp_path / "o")
    assert cell["seconds"] > 0
    assert cell["peak_mib"] > 10
    good = {**cell, "of_identity": 0.5, "equal": True}
    cells = {"swap": {"a": good, "b": {**good, "equal": False}}}
    grown = {"peak_mib": 100.0, "engine_mib": 50.0}
    memory = {"a": {**grown, "peak_mib_of_more": 160.0}, "b": {**grown, "peak_mib_of_more": 170.0}}
    results = {"rows": 10, "times": 10, "scored": 0, "cells": cells, "memory": memory}
    assert engines.misses(results) == [
        "swap: the rows of b are not those of the first engine",
        "b: 170 MiB at 10 times the rows, 100 MiB at the rows; the engine itself takes 50 MiB more",
    ]
    assert "(0.50), other rows" in engines.table(results)


SPARK = """
import json, sys
from pyspark.sql import SparkSession
from hf_fairness.augment import CounterfactualAugmentation, CounterfactualSwap
from hf_fairness.filters import Kept

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", 3).getOrCreate()
frame = spark.createDataFrame([(i, text) for i, text in enumerate(json.loads(sys.argv[1]))], "id long, text string")

def mapped(function):
    def over(batches):
        for batch in batches:
            yield from function.arrow(batch).to_batches()
    return over

columns = "id long, text string, "
swapped = frame.mapInArrow(mapped(CounterfactualSwap("text")), columns + "text_counterfactual string, edits string")
kept = swapped.mapInArrow(mapped(Kept("text")), swapped.schema)
more = frame.mapInArrow(mapped(CounterfactualAugmentation("text")), columns + "counterfactual boolean, edits string")
print(json.dumps([[row.asDict() for row in each.collect()] for each in (swapped, kept, more)]))
spark.stop()
"""


def test_spark_maps_batches_of_records(tmp_path):
    """The two lines of ``help(hf_fairness.maps)``; ``Kept`` keeps rows without a text where the text is the reason."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        reason = "needs a Java runtime (apt-get install --no-install-recommends default-jre-headless)"
        if os.environ.get("CI"):
            pytest.fail(f"{reason}; in CI this test must run")
        pytest.skip(reason)
    from hf_fairness.augment import CounterfactualAugmentation, CounterfactualSwap

    texts = ["She left.", "Rain.", "", "He met her.", "Her king slept.", "", "She saw the queen."]
    settings = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-W", "ignore", "-c", SPARK, json.dumps(texts)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment(**settings), timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    swapped, kept, more = json.loads(done.stdout.splitlines()[-1])
    table = pa.table({"id": list(range(len(texts))), "text": texts})
    assert swapped == CounterfactualSwap("text").arrow(table).to_pylist()
    assert [row["id"] for row in kept] == [2, 5]
    assert more == CounterfactualAugmentation("text").arrow(table).to_pylist()
