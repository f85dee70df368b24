"""The same rows on every engine: at what part of the engine's own speed, and in what memory of the calling process.

    python -m benchmarks.engines            116,000 news sentences; writes results/engines.json
    python -m benchmarks.engines --quick    a twentieth of them; nothing is written

An engine is a function of :data:`ENGINES`: it reads a folder of parquet files, takes the rows through some callables
one after the other, and writes parquet files into another folder. Each run has a process of its own. Its time goes from
the first row read to the last one written, and stands beside that of the same engine with an identity function. Memory
is the most that the calling process had of its own, at the rows and at ten times as many: files that it only maps do
not count, nor do its workers.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import kib
from benchmarks.runner import FOLDER
from benchmarks.study import RESULTS, ROOT, write_results
from benchmarks.swap_speed import DATA
from hf_fairness.maps import TableFunction

Steps = Sequence[TableFunction]
Engine = Callable[[Steps, Path, Path], object]

#: Files of the source, and how many times the rows memory is measured at.
FILES, TIMES = 8, 10
#: Sentences that are given a bias score.
SCORED = 2000
#: How much more memory ten times the rows may take, beside what the engine itself takes more for them.
GROWTH = 1.1
#: A score differs from one grouping of its batches to another by no more.
TOLERANCE = 1e-5

CONFIG: dict[str, Any] = {
    "files": FILES,
    "times": TIMES,
    "scored": SCORED,
    "growth": GROWTH,
    "tolerance": TOLERANCE,
    "sources": [
        "benchmarks/engines.py",
        "hf_fairness/maps.py",
        "hf_fairness/_tables.py",
        "hf_fairness/cli/augment_ray.py",
        "hf_fairness/cli/shards.py",
        "hf_fairness/cli/unfinished.py",
        "hf_fairness/augment/*.py",
        "hf_fairness/filters/source.py",
        "hf_fairness/filters/drops.py",
        "hf_fairness/measure/encoder/bias_score*.py",
    ],
}


class Identity(TableFunction):
    """Gives back what it is given."""

    def __call__(self, batch: Any) -> Any:
        """The columns of a batch."""
        return {name: batch[name] for name in batch} if isinstance(batch, Mapping) else batch


def steps(name: str) -> list[TableFunction]:
    """The callables of a row of the table, by its name."""
    from hf_fairness.augment import CounterfactualAugmentation, CounterfactualSwap, GroupVariants
    from hf_fairness.filters import OneGroup, SourceGender

    if name == "bias score":
        from hf_fairness.demo import minilm_path
        from hf_fairness.measure import BiasScore

        return [BiasScore("text", minilm_path(), device="cpu")]
    found: dict[str, list[TableFunction]] = {
        "identity": [Identity()],
        "swap": [CounterfactualSwap("text")],
        "cda": [CounterfactualAugmentation("text")],
        "variants": [GroupVariants("text")],
        "filter": [SourceGender("text"), OneGroup()],
    }
    return found[name]


#: Names of :func:`steps` that the engines are compared on, the identity first.
FUNCTIONS = ("identity", "swap", "cda", "variants", "filter")


def _rows(source: Path, cache: str) -> Any:
    from datasets import disable_progress_bars, load_dataset

    disable_progress_bars()
    return load_dataset("parquet", data_dir=str(source), split="train", cache_dir=cache)


def _mapped(rows: Any, functions: Steps, processes: int | None = None) -> Any:
    for function in functions:
        change = rows.filter if hasattr(function, "wanted") else rows.map
        rows = change(function, batched=True, num_proc=processes, load_from_cache_file=False)
    return rows


def datasets_map(functions: Steps, source: Path, output: Path, processes: int | None = None) -> None:
    """``datasets.map``, in the calling process or in several."""
    with tempfile.TemporaryDirectory() as cache:
        made = _mapped(_rows(source, cache), functions, processes)
        (output / "data").mkdir()
        made.to_parquet(output / "data" / "train.parquet")


def shards(functions: Steps, source: Path, output: Path, number: int = 1) -> None:
    """All shards of ``--num_shards``, one after the other and the last one first."""
    from hf_fairness.cli.shards import Shards

    with tempfile.TemporaryDirectory() as cache:
        rows = _rows(source, cache)
        job = Shards(output, rows, number, file=lambda i: f"data/{i:05d}.parquet", record="record.json", settings={})

        def fill(path: Path, index: int) -> dict[str, Any]:
            _mapped(job.part(index), functions).to_parquet(path)
            return {}

        def finish(told: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
            (output / "record.json").write_text(json.dumps({"shards": plan}))
            return {}

        for index in reversed(range(number)):
            job.run(index, partial(fill, index=index), finish, check=lambda: None, overwrite=False)


def write_mapped(path: Path, part: Any, functions: Steps) -> dict[str, Any]:
    """What a worker of Ray does with a part of the rows."""
    _mapped(part.read(), functions).to_parquet(path)
    return {}


def ray_workers(functions: Steps, source: Path, output: Path) -> None:
    """What ``--engine ray`` does, with two workers; a model is opened in each."""
    from hf_fairness.cli.augment_methods import AugmentArguments
    from hf_fairness.cli.augment_ray import Engine, corpus
    from hf_fairness.cli.unfinished import Unfinished
    from hf_fairness.measure import BiasScore

    with_model = any(isinstance(function, BiasScore) for function in functions)
    arguments = AugmentArguments(dataset="", method="", output_dir="", engine="ray", num_proc=2)
    files = [str(path) for path in sorted(source.glob("*.parquet"))]
    engine = Engine(2, 0, "local")
    with engine.running():
        _, parts = corpus(engine, "parquet", files, arguments, output / "state", with_model)
        unfinished = Unfinished(output / "data", output / "notes", "{:05d}.parquet".format, {})
        engine.write(partial(write_mapped, functions=functions), parts, unfinished, with_model=with_model)


@contextlib.contextmanager
def started(engine: str) -> Iterator[None]:
    """A cluster of two workers that are awake, for the engine that needs one; its start is no work."""
    if engine != RAY:
        yield
        return
    from hf_fairness.cli.augment_ray import Engine

    cluster = Engine(2, 0, "local")
    with cluster.running():
        cluster.tell(str, range(8))
        yield


RAY = "Ray, 2 workers"
#: What rows are sent through, by name; the first is what the others are compared with.
ENGINES: dict[str, Engine] = {
    "datasets.map": datasets_map,
    "datasets.map, 2 processes": partial(datasets_map, processes=2),
    "1 shard": shards,
    "2 shards": partial(shards, number=2),
    "64 shards": partial(shards, number=64),
    RAY: ray_workers,
}


def write_source(texts: Sequence[str], folder: Path, times: int = 1) -> Path:
    """The texts with their number as parquet files, so many times over."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    size = -(-len(texts) * times // FILES)
    for file in range(FILES):
        places = range(file * size, min((file + 1) * size, len(texts) * times))
        table = pa.table({"id": pa.array(places, pa.int64()), "text": [texts[i % len(texts)] for i in places]})
        pq.write_table(table, folder / f"part-{file:05d}.parquet")
    return folder


def read_rows(output: Path) -> Any:
    """The table in a folder, by number; an added row behind the one that it was made of."""
    import pyarrow.parquet as pq

    table = pq.read_table(sorted((output / "data").glob("*.parquet"))).replace_schema_metadata()
    marks = [name for name in table.column_names if name == "counterfactual"]
    return table.sort_by([(name, "ascending") for name in ("id", *marks)])


def equal(found: Any, wanted: Any) -> bool:
    """Whether two tables have the same rows of the same types; numbers with a point up to :data:`TOLERANCE`."""
    if found.schema != wanted.schema or len(found) != len(wanted):
        return False
    close = [field.name for field in wanted.schema if str(field.type) in ("float", "double")]
    return bool(
        found.drop_columns(close).equals(wanted.drop_columns(close))
        and all(np.allclose(found[name], wanted[name], rtol=0, atol=TOLERANCE) for name in close)
    )


def run(engine: str, name: str, source: Path, output: Path) -> dict[str, float]:
    """One run in this process: seconds, and the most memory of its own that it had."""
    functions, peak, over = steps(name), [kib("RssAnon")], threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            peak.append(max(peak.pop(), kib("RssAnon")))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with started(engine):
            start = time.perf_counter()
            ENGINES[engine](functions, source, output)
            seconds = time.perf_counter() - start
    finally:
        over.set()
        watcher.join()
    return {"seconds": seconds, "peak_mib": peak[0] / 2**10}


def apart(engine: str, name: str, source: Path, output: Path) -> dict[str, float]:
    """One run in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.engines", "--run", engine, name]
    done = subprocess.run([*command, str(source), str(output)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def study(texts: Sequence[str], folder: Path, engines: Sequence[str], *, scored: int, times: int) -> dict[str, Any]:
    """Every function on every engine.

    Args:
        texts: the sentences.
        folder: to work in.
        engines: names of :data:`ENGINES`, the one to compare with first.
        scored: sentences that are given a bias score; 0: none are.
        times: how many times the rows memory is measured at.

    Returns:
        ``rows``; ``cells``: function -> engine -> ``seconds``, ``of_identity``: part of the speed of the same engine
        with the identity, ``peak_mib``, ``rows``, ``equal``: whether they are those of the first engine; ``memory``:
        engine -> ``peak_mib`` of a swap of the rows, ``peak_mib_of_more`` of so many times as many, ``engine_mib``:
        what the engine itself takes more for these, with the identity.
    """
    sources = {"few": write_source(texts[:scored], folder / "few")} if scored else {}
    sources |= {"all": write_source(texts, folder / "all"), "more": write_source(texts, folder / "more", times)}
    cells: dict[str, dict[str, Any]] = {}
    for name in (*FUNCTIONS, *(["bias score"] if scored else [])):
        wanted = None
        for engine in engines:
            print(f"{name}, {engine} ...", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory(dir=folder) as output:
                cell: dict[str, Any] = dict(
                    apart(engine, name, sources["few" if name == "bias score" else "all"], Path(output))
                )
                found = read_rows(Path(output))
            wanted = found if wanted is None else wanted
            cell |= {"rows": len(found), "equal": equal(found, wanted)}
            if name in FUNCTIONS:
                base = cells.get("identity", {}).get(engine, cell)
                cell["of_identity"] = base["seconds"] / cell["seconds"]
            cells.setdefault(name, {})[engine] = cell
    memory = {}
    for engine in engines:
        print(f"memory, {engine} ...", file=sys.stderr, flush=True)
        more = {}
        for name in ("identity", "swap"):
            with tempfile.TemporaryDirectory(dir=folder) as output:
                more[name] = apart(engine, name, sources["more"], Path(output))["peak_mib"]
        memory[engine] = {
            "peak_mib": cells["swap"][engine]["peak_mib"],
            "peak_mib_of_more": more["swap"],
            "engine_mib": more["identity"] - cells["identity"][engine]["peak_mib"],
        }
    return {"rows": len(texts), "times": times, "scored": scored, "cells": cells, "memory": memory}


def misses(results: Mapping[str, Any]) -> list[str]:
    """What is not as it should be: other rows, or memory that grows with them beyond what the engine itself takes."""
    found = [
        f"{name}: the rows of {engine} are not those of the first engine"
        for name, row in results["cells"].items()
        for engine, cell in row.items()
        if not cell["equal"]
    ]
    return found + [
        f"{engine}: {entry['peak_mib_of_more']:.0f} MiB at {results['times']} times the rows, "
        f"{entry['peak_mib']:.0f} MiB at the rows; the engine itself takes {entry['engine_mib']:.0f} MiB more"
        for engine, entry in results["memory"].items()
        if entry["peak_mib_of_more"] > GROWTH * (entry["peak_mib"] + max(0.0, entry["engine_mib"]))
    ]


def table(results: Mapping[str, Any]) -> str:
    """The results as Markdown: thousands of rows a second, and part of the speed of the identity."""
    from hf_fairness.report.markdown import markdown_table

    engines = list(results["memory"])
    head = ["rows a second (part of the engine's speed with the identity)", *engines]
    lines = []
    for name, row in results["cells"].items():
        n = results["scored"] if name == "bias score" else results["rows"]
        line = [f"{name}, {n:,} sentences"]
        for engine in engines:
            cell = row[engine]
            part = f" ({cell['of_identity']:.2f})" if name in FUNCTIONS[1:] else ""
            line.append(f"{n / cell['seconds']:,.0f}{part}{'' if cell['equal'] else ', other rows'}")
        lines.append(line)
    more = f"MiB of the caller, swap of the rows and of {results['times']} times as many (more with the identity)"
    cells = (results["memory"][engine] for engine in engines)
    lines.append([more, *(f"{c['peak_mib']:.0f}, {c['peak_mib_of_more']:.0f} ({c['engine_mib']:+.0f})" for c in cells)])
    return markdown_table([head, *lines], trusted=True)


def news() -> list[str]:
    """The English news sentences."""
    if not DATA.is_dir():
        raise FileNotFoundError(f"There is no {DATA.relative_to(FOLDER.parent.parent)}: third-party data is needed.")
    return [text for path in sorted(DATA.glob("*.en")) for text in path.read_text(encoding="utf-8").splitlines()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study, print the table, write the results; 1 if something is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the sentences; nothing is written")
    parser.add_argument("--only", nargs="+", choices=ENGINES, help="engines; nothing is written")
    parser.add_argument("--run", nargs=4, metavar=("ENGINE", "FUNCTION", "SOURCE", "OUTPUT"), help="one run, as JSON")
    options = parser.parse_args(arguments)
    if options.run:
        engine, name, source, output = options.run
        print(json.dumps(run(engine, name, Path(source), Path(output))))
        return 0
    texts = news()[:: 20 if options.quick else 1]
    first = next(iter(ENGINES))
    engines = list(dict.fromkeys([first, *options.only])) if options.only else list(ENGINES)
    with tempfile.TemporaryDirectory() as folder:
        results = study(texts, Path(folder), engines, scored=SCORED // (20 if options.quick else 1), times=TIMES)
    print(table(results))
    if not options.quick and not options.only:
        print(f"Results: {write_results(RESULTS / 'engines.json', CONFIG, results)}")
    missed = misses(results)
    print("\n".join(missed), file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
