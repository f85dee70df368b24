"""`hf-fairness augment --engine ray`: the methods on the workers of a Ray cluster, file by file.

Ray Data schedules everything. Its rows are parts of files (:class:`Part`), on which workers do what stands in
`augment_parts`; what comes back to this process are counts, thresholds and names of files, and no row but an example.
Until all parts are finished they lie in a hidden folder beside the output; a run that was stopped goes on from there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import math
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_fairness.cli.augment_methods import METHODS, OPEN_MODELS, AugmentArguments, Job, asked
from hf_fairness.cli.augment_parts import (
    MADE,
    BalanceStep,
    CompensateStep,
    MapStep,
    Part,
    ScoreStep,
    Step,
    SubtractStep,
    Writer,
    as_part,
    as_rows,
    fields_of,
    pieces,
)
from hf_fairness.cli.shards import add_up
from hf_fairness.refine.balancing import check_cells, check_method, draws, rows_of_cells
from hf_fairness.refine.percentile import between, rank
from hf_fairness.report.dataset_card import data_file
from hf_fairness.runs import (
    atomic_file,
    atomic_write_json,
    claim,
    commit_folder,
    content_key,
    discard,
    remove_left_overs,
)
from hf_fairness.sources import files_of_split, read_file
from hf_fairness.utils import FairnessWarning, require

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

#: Folder, in that of the unfinished output, of what is needed to go on.
STATE = ".unfinished"
#: Files that a corpus is cut into unless told otherwise, and their fewest and most rows: without a model, and with one.
_FILES, _ROWS = 64, {False: (10_000, 1_000_000), True: (500, 50_000)}
#: Bits of a score that one pass over all scores settles.
_BITS = 16

#: Columns of what a worker tells of the cells of a part: a value, a group, and rows with both; none of a group alone.
_CELLS = ("value", "group", "n")
#: Rows whose texts one worker compares.
_COMPARED = 5_000_000

#: Values, and how many there are of each.
Histogram = tuple["NDArray[np.int64]", "NDArray[np.int64]"]
#: What a worker does with a part: tables of what there is to tell.
Telling = Callable[[Part], "Iterator[pa.Table]"]


def on_ray(
    arguments: AugmentArguments,
    options: Mapping[str, Any],
    make: Callable[..., Job],
    finish: Callable[..., dict[str, Any]],
    check: Callable[[], None],
) -> dict[str, Any]:
    """Carry out a method on a Ray cluster.

    Args:
        arguments: of the command.
        options: of the method.
        make: makes a job of a data set, of which it is given the columns without a row.
        finish: writes card and record into a folder, given the job, its counts and an example; returns the counts.
        check: raises where the output may not be written.

    Returns:
        What ``finish`` does.

    Raises:
        ImportError: Ray is not installed.
        FileExistsError: what was left unfinished beside the output is of other settings or data.
        ValueError: a source that cannot be read by file, or as on one machine.
    """
    require("ray")
    with claim(arguments.output_dir) as target:
        discard(target / STATE)  # of a run that was stopped at its last step
        check()
        kind, files = files_of_split(arguments.dataset, arguments.dataset_config, arguments.dataset_split)
        work = target.with_name(f".{target.name}.unfinished")
        _take_up(work, _key(arguments, options, files), arguments.overwrite)
        try:
            with Engine.of(arguments) as engine:
                rows, parts = corpus(engine, kind, files, arguments, work / STATE, bool(OPEN_MODELS & {*options}))
                job = RayJob.of(make(rows), engine, parts, work)
                told = job.write(job.method.run(job))
            if not told["tally"]["rows out"]:
                discard(work)
                raise ValueError(f"Method {arguments.method} left no row of {arguments.dataset}: nothing was written.")
        except BaseException:
            if not _begun(work):
                discard(work)
            raise
        for name, write in job.files.items():
            write(work / name)
        counts = finish(work, job, told["tally"], told["example"])
        remove_left_overs(work, below=True)
        commit_folder(work, target)
        discard(target / STATE)
    return counts


def _key(arguments: AugmentArguments, options: Mapping[str, Any], files: Sequence[str]) -> str:
    """Names settings and data; a file is known by its name, size and time."""
    from hf_fairness import __version__

    names = ("method", "text_column", "dataset_config", "dataset_split", "max_rows", "on_missing", "card_examples")
    settings = {name: getattr(arguments, name) for name in (*names, "rows_per_file")}
    given = {
        name: Path(value) if name != "cache_dir" and isinstance(value, str) and Path(value).exists() else value
        for name, value in options.items()
    }
    states = {file: Path(file).stat() for file in files if "://" not in file}
    data = [(file, states[file].st_size, states[file].st_mtime_ns) if file in states else file for file in files]
    return content_key("augment on ray", 1, __version__, settings, given, data)


def _take_up(work: Path, key: str, overwrite: bool) -> None:
    """Make the folder of the unfinished output, or go on in the one that is there."""
    path = work / STATE / "key.json"
    if not path.exists() or json.loads(path.read_text(encoding="utf-8")) != key:
        if _begun(work) and not overwrite:
            raise FileExistsError(
                f"{work} holds the unfinished output of other settings, other data or another version. Finish it with "
                "those, discard it with --overwrite, or choose another folder with --output_dir."
            )
        discard(work)
        atomic_write_json(path, key)


def _begun(work: Path) -> bool:
    """Whether a part is finished."""
    return any((work / STATE).glob("*/*.json"))


def corpus(
    engine: Engine, kind: str, files: Sequence[str], arguments: AugmentArguments, state: Path, with_model: bool
) -> tuple[Any, list[Part]]:
    """The columns of a source as a data set without a row, and its rows as parts."""
    from datasets import Features

    whole = [Part(place, file, 0, 0, 0) for place, file in enumerate(files)]
    if kind != "parquet":
        places = [str(state / "source" / f"{place:05d}.parquet") for place in range(len(files))]
        lacking = [part for part in whole if not Path(places[part.place]).exists()]
        engine.tell(partial(_converted, places=places), lacking)
        whole = [dataclasses.replace(part, file=places[part.place]) for part in whole]
    import pyarrow as pa

    found = sorted(engine.tell(_described, whole), key=lambda row: row["place"])
    schemas = [pa.ipc.read_schema(pa.py_buffer(row["schema"])) for row in found]
    odd = next((place for place, schema in enumerate(schemas) if not schema.equals(schemas[0])), None)
    if odd is not None:
        names = (
            f"{file}: {', '.join(f'{name} {kind}' for name, kind in zip(schema.names, schema.types, strict=True))}"
            for file, schema in ((files[place], schemas[place]) for place in (0, odd))
        )
        raise ValueError(f"The files differ in columns or types: {'; '.join(names)}. Write all with the same.")
    sizes = [int(row["rows"]) for row in found]
    n = min(sum(sizes), arguments.max_rows or sum(sizes))
    if not n:
        raise ValueError(f"{arguments.dataset} has no rows.")
    fewest, most = _ROWS[with_model]
    step = arguments.rows_per_file or min(max(n // _FILES, fewest), most)
    parts: list[Part] = []
    for part, size in zip(whole, sizes, strict=True):
        size, first = min(size, n), parts[-1].first + parts[-1].stop - parts[-1].start if parts else 0
        n -= size
        cuts = math.ceil(size / step)
        for cut in range(cuts):
            start, stop = size * cut // cuts, size * (cut + 1) // cuts
            parts.append(Part(len(parts), part.file, start, stop, first + start))
    return as_rows(Features.from_arrow_schema(schemas[0]).arrow_schema.empty_table()), parts


def finished(engine: Engine, writer: Writer, parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Write the parts that are not finished; returns what was counted of all of them, in their order."""
    notes = {part.place: note for part in parts if (note := writer.finished(part)) is not None}
    lacking = [part for part in parts if part.place not in notes]
    for row in engine.tell(partial(_written, writer), lacking, opens_model=writer.step.opens_model):
        notes[row["place"]] = json.loads(row["note"])
    return [notes[part.place] for part in parts]


def _converted(part: Part, places: Sequence[str]) -> Iterator[pa.Table]:
    """Write the rows of a file of another kind as parquet."""
    with tempfile.TemporaryDirectory() as cache, atomic_file(places[part.place]) as path:
        read_file(Path(part.file), cache_dir=cache).to_parquet(path)
    yield from ()


def _described(part: Part) -> Iterator[pa.Table]:
    """Columns of a file, and number of its rows."""
    import fsspec
    import pyarrow as pa
    import pyarrow.parquet as pq

    with fsspec.open(part.file, "rb") as stream:
        file = pq.ParquetFile(stream)
        schema, rows = file.schema_arrow.serialize().to_pybytes(), file.metadata.num_rows
    yield pa.table({"place": [part.place], "rows": [rows], "schema": [schema]})


class _Each:
    """What Ray Data calls with rows that are parts."""

    def __init__(self, telling: Telling) -> None:
        self.telling = telling

    def __call__(self, parts: pa.Table) -> Iterator[pa.Table]:
        for row in parts.to_pylist():
            yield from self.telling(as_part(row))


@dataclass
class Engine:
    """A Ray cluster.

    Attributes:
        workers: how many work at a time; None lets Ray decide.
        num_gpus: of each worker that opens a model.
        address: of the cluster; ``"local"`` starts one on this machine, for as long as the block lasts.
    """

    workers: int | None
    num_gpus: float
    address: str

    @classmethod
    def of(cls, arguments: AugmentArguments) -> Engine:
        """As the flags have it."""
        address = arguments.ray_address or os.environ.get("RAY_ADDRESS") or "local"
        alone = METHODS[arguments.method].run is asked  # several would each have the limits of requests to a server
        return cls(arguments.num_proc or (1 if alone else None), arguments.num_gpus or 0, address)

    def __enter__(self) -> Engine:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray
        from ray.data import DataContext
        from ray.data.context import ShuffleStrategy

        self._joined = not ray.is_initialized()
        if self._joined:
            own = {"include_dashboard": False} if self.address == "local" else {}
            try:
                ray.init(self.address, log_to_driver=False, logging_level=logging.ERROR, **own)
            except ConnectionError as error:
                raise ConnectionError(
                    f"--ray_address {self.address}: no Ray cluster answers there. Start one (`ray start --head`), or "
                    "leave it out for one that lasts as long as this run."
                ) from error
        context = DataContext.get_current()
        context.enable_progress_bars = sys.stderr.isatty()
        context.shuffle_strategy = ShuffleStrategy.SORT_SHUFFLE_PULL_BASED  # sums by tasks: no actors to be started
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # errors are told once, by the command
        return self

    def __exit__(self, *error: object) -> None:
        if self._joined:
            import ray

            ray.shutdown()

    def told(self, telling: Telling, parts: Sequence[Part], *, opens_model: bool = False) -> Any:
        """A ``ray.data.Dataset`` of what the workers tell of some parts."""
        import ray

        rows = ray.data.from_items([fields_of(part) for part in parts], override_num_blocks=len(parts))
        how: dict[str, Any] = {"batch_size": 1, "batch_format": "pyarrow"}
        if not opens_model:
            pool = ray.data.TaskPoolStrategy(size=min(self.workers or len(parts), len(parts)))
            return rows.map_batches(_Each(telling).__call__, compute=pool, **how)
        cluster = ray.cluster_resources()
        free = cluster.get("GPU", 0) // self.num_gpus if self.num_gpus else cluster.get("CPU", 1)
        if not free and (self.address == "local" or self.workers is None):
            raise ValueError(
                f"--num_gpus {self.num_gpus:g}: the cluster has {cluster.get('GPU', 0):g} GPUs. Leave it out, or name "
                "a cluster that has some with --ray_address; of one that starts machines when they are wanted say with "
                "--num_proc how many workers it shall make room for."
            )
        pool = ray.data.ActorPoolStrategy(size=max(1, min(self.workers or int(free), len(parts))))
        gpus = {"num_gpus": self.num_gpus} if self.num_gpus else {}
        return rows.map_batches(_Each, fn_constructor_args=(telling,), compute=pool, **gpus, **how)

    def tell(self, telling: Telling, parts: Sequence[Part], *, opens_model: bool = False) -> list[dict[str, Any]]:
        """What the workers tell, as rows."""
        with plain_errors():
            return list(self.told(telling, parts, opens_model=opens_model).iter_rows()) if parts else []

    def sum(self, telling: Telling, parts: Sequence[Part]) -> Histogram:
        """The sum of the histograms that the workers tell."""
        from ray.data.aggregate import AggregateFn

        none = np.zeros(0, dtype=np.int64)
        adding = AggregateFn(
            init=lambda key: (none, none),
            accumulate_block=_added,
            merge=_summed,
            finalize=lambda found: [np.asarray(column).tolist() for column in found],  # lists, where one block is all
            name="histogram",
        )
        with plain_errors():
            found: Any = self.told(telling, parts).aggregate(adding)
        bits, sizes = np.asarray(found["histogram"] if isinstance(found, Mapping) else found, dtype=np.int64)
        return bits, sizes

    def call(self, function: Callable[..., None], *given: Any) -> None:
        """Run a function on a worker."""
        import ray

        with plain_errors():
            ray.get(ray.remote(function).remote(*given))


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """While it lasts, an error of a worker is raised as it was raised there."""
    import ray

    try:
        yield
    except ray.exceptions.RayTaskError as error:
        cause: BaseException = error
        while isinstance(cause, ray.exceptions.RayError) and getattr(cause, "cause", None) is not None:
            cause = cause.cause
        raise cause from error
    except ray.exceptions.RayError as error:
        raise RuntimeError(f"Ray: {error}") from error


@dataclass
class RayJob(Job):
    """A method on a corpus that lies in files; ``rows`` has its columns, and no row.

    Attributes:
        engine: the cluster.
        parts: of the corpus.
        work: folder to write into.
    """

    engine: Engine = field(kw_only=True)
    parts: list[Part] = field(kw_only=True)
    work: Path = field(kw_only=True)

    @classmethod
    def of(cls, job: Job, engine: Engine, parts: list[Part], work: Path) -> RayJob:
        """A job of one machine on a cluster."""
        given = {item.name: getattr(job, item.name) for item in dataclasses.fields(job)}
        return cls(**given, engine=engine, parts=parts, work=work)

    @property
    def n_rows(self) -> int:
        """Rows of the corpus."""
        return self.parts[-1].first + self.parts[-1].stop - self.parts[-1].start

    def map(self, function: Any, what: str) -> Any:
        """The step that maps a callable; :meth:`write` does it."""
        size = self.arguments.batch_size or self.method.batch_size
        return MapStep(function, size, opens_model=bool(OPEN_MODELS & {*self.options}))

    def whole(self, rows: Any, **options: Any) -> Any:
        """The step of a method for which the whole corpus decides, with what its rows decided."""
        if isinstance(rows, Step):  # scores that are not there yet
            places = [str(self.work / STATE / "scored" / f"{part.place:05d}.parquet") for part in self.parts]
            finished(self.engine, Writer(None, rows, places, [f"{place}.json" for place in places]), self.parts)
            self.parts = [
                Part(part.place, place, 0, part.stop - part.start, part.first)
                for part, place in zip(self.parts, places, strict=True)
            ]
        name = self.method.load().__name__
        if name == "balance":
            return self._balanced(**options)
        scores = (name, tuple(options.pop("score_columns")), options.pop("percentile"))
        limit = self._threshold(ScoreStep(*scores))
        if name == "subtract":
            return SubtractStep(*scores, limit=limit)
        columns = options.pop("text_columns")
        step = CompensateStep(*scores, columns, options, limit, name == "replace", opens_model="tagger" in self.options)
        return dataclasses.replace(step, accepted=self._accepted(step))

    def write(self, step: Step) -> dict[str, Any]:
        """Carry out the last step; returns what was counted, and an example."""
        split, n = self.arguments.split, len(self.parts)
        files = [str(self.work / data_file(split, part.place, n)) for part in self.parts]
        notes = [str(self.work / STATE / "counts" / f"{part.place:05d}.json") for part in self.parts]
        sent = dataclasses.replace(self.arguments, hub_token=None)
        job = Job(self.method, self.rows, self.columns, self.options, sent)
        told = add_up(finished(self.engine, Writer(job, step, files, notes), self.parts))
        if "usage" in self.facts:
            self.facts["usage"] |= told["usage"]
        return told

    def _threshold(self, step: ScoreStep) -> float:
        """The percentile of all scores, from counts alone: one pass settles some bits of a score, from the highest."""
        n = self.n_rows
        below, share = rank(n, step.percentile)
        found = [(0, below), (0, min(below + 1, n - 1))]  # leading bits of a score, and its place among those with them
        for shift in range(64 - _BITS, -1, -_BITS):
            telling = partial(_histogram, step=step, shift=shift, leading=sorted({bits for bits, _ in found}))
            bits, sizes = self.engine.sum(telling, self.parts)
            found = [_settled(bits, sizes, *one) for one in found]
        low, high = np.array([bits for bits, _ in found], dtype=np.int64).view(np.float64).tolist()
        return between(low, high, share)

    def _accepted(self, step: CompensateStep) -> str:
        """Write the numbers of the rows whose counterfactual is no row yet, and of equal ones the first.

        Texts are compared by digests, and those that begin alike by one worker: each writes those of its rows into a
        folder for each beginning, and then there is a part for each of these folders.
        """
        keys, place = (self.work / STATE / name for name in ("keys", "accepted"))
        discard(keys)
        discard(place)
        folders = [str(keys / f"{bucket:05d}") for bucket in range(1 + self.n_rows // _COMPARED)]
        self.engine.tell(partial(_keys, step=step, folders=folders), self.parts, opens_model=step.opens_model)
        buckets = [Part(bucket, folder, 0, 0, 0) for bucket, folder in enumerate(folders)]
        self.engine.tell(partial(_firsts, place=str(place)), buckets)
        discard(keys)
        return str(place)

    def _balanced(self, *, method: str = "down", seed: int = 0, **read: Any) -> Step:
        """How often each row is taken: drawn by a worker, from the sizes of the cells."""
        check_method(method)
        wanted = {"group_column": None, "text_columns": None, "attribute": "gender", "within": None}
        step = BalanceStep({**wanted, **read}, copies=method == "up")
        told = self.engine.tell(partial(_cells, step=step), self.parts)
        found = [_read_cells(row["cells"]) for row in sorted(told, key=lambda row: row["place"])]
        counts: dict[Hashable, Counter[Hashable]] = {}
        offsets: dict[int, dict[tuple[Hashable, Hashable], int]] = {}
        for part, (cells, _) in zip(self.parts, found, strict=True):
            offsets[part.place] = {(value, label): counts.get(value, Counter())[label] for value, label in cells}
            for (value, label), n in cells.items():
                counts.setdefault(value, Counter())[label] += n
        known = list(dict.fromkeys(label for _, labels in found for label in labels))
        known = known if step.read["group_column"] is None else sorted(known, key=str)
        chosen = check_cells(counts, known, step.read["within"])
        names = [(value, group) for value in counts for group in chosen]
        files = [str(self.work / STATE / "drawn" / f"{place:05d}.npy") for place in range(len(names))]
        sizes = [[counts[value][group] for group in chosen] for value in counts]
        self.engine.call(_drawn, sizes, method, seed, files)
        return dataclasses.replace(step, drawn=dict(zip(names, files, strict=True)), offsets=offsets)


def _written(writer: Writer, part: Part) -> Iterator[pa.Table]:
    """Write what becomes of a part."""
    import pyarrow as pa

    yield pa.table({"place": [part.place], "note": [json.dumps(writer(part))]})


def _histogram(part: Part, step: ScoreStep, shift: int, leading: Sequence[int]) -> Iterator[pa.Table]:
    """Scores by their bits down to some place, of those whose bits above are given: bits of floats sort as they do."""
    import pyarrow as pa

    for rows, _ in pieces(part, list(dict.fromkeys(step.score_columns))):
        bits = step.scores(rows).view(np.int64) >> shift
        found, n = np.unique(bits[np.isin(bits >> _BITS, leading)], return_counts=True)
        yield pa.table({"bits": found, "n": n})


def _summed(one: Histogram, other: Histogram) -> Histogram:
    """Two histograms in one."""
    bits, places = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    sizes = np.zeros(len(bits), dtype=np.int64)
    np.add.at(sizes, places, np.concatenate([one[1], other[1]]))
    return bits, sizes


def _added(found: Histogram, block: Any) -> Histogram:
    """A histogram with that of a block of rows."""
    from ray.data.block import BlockAccessor

    columns = BlockAccessor.for_block(block).to_numpy(["bits", "n"])
    return _summed(found, (columns["bits"], columns["n"]))


def _settled(bits: NDArray[np.int64], sizes: NDArray[np.int64], leading: int, place: int) -> tuple[int, int]:
    """More bits of the score at a place among those that begin with some bits, and its place among these."""
    inside = bits >> _BITS == leading
    ends = np.cumsum(sizes[inside])
    at = int(np.searchsorted(ends, place, side="right"))
    return int(bits[inside][at]), place - int(ends[at] - sizes[inside][at])


def _keys(part: Part, step: CompensateStep, folders: Sequence[str]) -> Iterator[pa.Table]:
    """Write digests of the texts of a part, and of their counterfactuals, into the folders of their beginnings."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)
        found = pa.concat_tables([step.keys(rows, first) for rows, first in pieces(part)])
    beginnings = np.array(
        [int.from_bytes(text[:4], "big") for text in found.column("text").to_pylist()], dtype=np.int64
    )
    for bucket, folder in enumerate(folders):
        with atomic_file(Path(folder) / f"{part.place:05d}.parquet") as path:
            pq.write_table(found.filter(beginnings % len(folders) == bucket), path)
    yield from ()


def _firsts(part: Part, place: str) -> Iterator[pa.Table]:
    """Write the numbers of the rows whose counterfactual is the first with its texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lowest = pq.read_table(part.file).group_by("text").aggregate([("row", "min")]).column("row_min").to_numpy()
    with atomic_file(Path(place) / f"{part.place:05d}.parquet") as path:
        pq.write_table(pa.table({"row": np.sort(lowest[lowest >= MADE] - MADE)}), path)
    yield from ()


def _cells(part: Part, step: BalanceStep) -> Iterator[pa.Table]:
    """Rows of each cell of a part, and the groups that are known from it."""
    import pyarrow as pa

    counts = Counter[tuple[Hashable, Hashable]]()
    known: dict[Hashable, None] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)
        for rows, _ in pieces(part):
            cells = step.cells(rows)
            known |= dict.fromkeys(cells.known)
            counts.update({cell: len(places) for cell, places in rows_of_cells(cells).items()})
    lines = [*((None, label, 0) for label in known), *((*cell, n) for cell, n in counts.items())]
    table = pa.table({name: [line[place] for line in lines] for place, name in enumerate(_CELLS)})
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    yield pa.table({"place": [part.place], "cells": [stream.getvalue().to_pybytes()]})


def _read_cells(told: bytes) -> tuple[dict[tuple[Hashable, Hashable], int], list[Hashable]]:
    """What :func:`_cells` wrote: how many rows each cell has, and the groups."""
    import pyarrow as pa

    columns = pa.ipc.open_stream(told).read_all().to_pydict()
    lines = list(zip(*(columns[name] for name in _CELLS), strict=True))
    return {(value, label): n for value, label, n in lines if n}, [label for _, label, n in lines if not n]


def _drawn(sizes: Sequence[Sequence[int]], method: str, seed: int, files: Sequence[str]) -> None:
    """Write how often each row of each cell is taken."""
    for times, file in zip(draws(sizes, method, seed), files, strict=True):
        with atomic_file(file) as path, path.open("wb") as stream:
            np.save(stream, times.astype(np.min_scalar_type(int(times.max()))))
