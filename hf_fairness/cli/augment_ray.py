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
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_fairness.cli.augment import settings
from hf_fairness.cli.augment_methods import METHODS, OPEN_MODELS, AugmentArguments, Job, asked
from hf_fairness.cli.augment_parts import (
    MADE,
    BalanceStep,
    Cell,
    CompensateStep,
    MapStep,
    Part,
    ScoreStep,
    Step,
    as_rows,
    pieces,
    write_part,
)
from hf_fairness.cli.unfinished import Unfinished, add_up, as_json
from hf_fairness.refine.balancing import check_cells, check_method, draws, rows_of_cells
from hf_fairness.refine.percentile import between, rank
from hf_fairness.report.dataset_card import data_file
from hf_fairness.runs import atomic_file, claim, commit_folder, content_key, discard, remove_left_overs
from hf_fairness.sources import files_of_split, read_file
from hf_fairness.utils import require, warned_elsewhere

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

#: Folder, in that of the unfinished output, of what is needed to go on.
STATE = ".unfinished"
#: Files that a corpus is cut into unless told otherwise, and their fewest and most rows: without a model, and with one.
_FILES, _ROWS = 64, {False: (10_000, 1_000_000), True: (500, 50_000)}
#: Options of the command that decide, beside the settings, which rows are read and where they are cut.
_CUT = ("dataset_config", "dataset_split", "max_rows", "rows_per_file")
#: Bits of a score that one pass over all scores settles.
_BITS = 16
#: Seconds within which a cluster must answer.
_ANSWER = 25
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
        make: makes a job of a data set, of which it is given the columns without a row, and of what else the class of
            the job takes.
        finish: writes card and record into a folder, given the job and what its parts told; returns the counts.
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
        file = partial(data_file, arguments.split)
        unfinished = Unfinished(work, work / STATE, file, _plan(arguments, options, files))
        unfinished.take_up(arguments.overwrite, check)
        try:
            with Engine.of(arguments) as engine:
                rows, parts = corpus(engine, kind, files, arguments, work / STATE, bool(OPEN_MODELS & {*options}))
                unfinished.file = partial(file, number=len(parts))
                job: Any = make(rows, RayJob, engine=engine, parts=parts, unfinished=unfinished)
                told = job.write(job.method.run(job))
        except BaseException:
            if not unfinished.begun():
                discard(work)
            raise
        counts = finish(work, job, told)
        remove_left_overs(work, below=True)
        commit_folder(work, target)
        discard(target / STATE)
    return counts


def _plan(arguments: AugmentArguments, options: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """All that the rows depend on; a file of the source is known by its name, size and time."""
    states = {file: Path(file).stat() for file in files if "://" not in file}
    data = [(file, states[file].st_size, states[file].st_mtime_ns) if file in states else file for file in files]
    cut = {name: getattr(arguments, name) for name in _CUT}
    return as_json({"files": content_key(data), **cut, **settings(arguments, options, arguments.text_column)})


def corpus(
    engine: Engine, kind: str, files: Sequence[str], arguments: AugmentArguments, state: Path, with_model: bool
) -> tuple[Any, list[Part]]:
    """The columns of a source as a data set without a row, and its rows as parts."""
    import pyarrow as pa
    from datasets import Features

    telling = partial(_described, folder=None if kind == "parquet" else state / "source")
    found = engine.tell(telling, [Part(place, file) for place, file in enumerate(files)])
    found.sort(key=lambda row: row["place"])
    schemas = [pa.ipc.read_schema(pa.py_buffer(row["schema"])) for row in found]
    odd = next((place for place, schema in enumerate(schemas) if not schema.equals(schemas[0])), None)
    if odd is not None:
        names = (
            f"{file}: {', '.join(f'{name} {kind}' for name, kind in zip(schema.names, schema.types, strict=True))}"
            for file, schema in ((files[place], schemas[place]) for place in (0, odd))
        )
        raise ValueError(f"The files differ in columns or types: {'; '.join(names)}. Write all with the same.")
    n = sum(row["rows"] for row in found)
    n = left = min(n, arguments.max_rows or n)
    if not n:
        raise ValueError(f"{arguments.dataset} has no rows.")
    fewest, most = _ROWS[with_model]
    step = arguments.rows_per_file or min(max(n // _FILES, fewest), most)
    parts: list[Part] = []
    for row in found:
        size = min(row["rows"], left)
        cuts = math.ceil(size / step)
        for cut in range(cuts):
            start, stop = size * cut // cuts, size * (cut + 1) // cuts
            parts.append(Part(len(parts), row["file"], start, stop, n - left + start))
        left -= size
    return as_rows(Features.from_arrow_schema(schemas[0]).arrow_schema.empty_table()), parts


def _described(part: Part, folder: Path | None) -> Iterator[pa.Table]:
    """Columns of a file, and number of its rows; one of another kind is written as parquet into a folder before."""
    import fsspec
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = part.file if folder is None else str(folder / f"{part.place:05d}.parquet")
    if folder is not None and not Path(file).exists():
        with tempfile.TemporaryDirectory() as cache, atomic_file(file) as path:
            read_file(Path(part.file), cache_dir=cache).to_parquet(path)
    with fsspec.open(file, "rb") as stream:
        opened = pq.ParquetFile(stream)
        schema, rows = opened.schema_arrow.serialize().to_pybytes(), opened.metadata.num_rows
    yield pa.table({"place": [part.place], "file": [file], "rows": [rows], "schema": [schema]})


class _Each:
    """What Ray Data calls with rows that are parts, where names of files mean what they mean to this process."""

    def __init__(self, telling: Telling, folder: str) -> None:
        self.telling, self.folder = telling, folder

    def __call__(self, parts: pa.Table) -> Iterator[pa.Table]:
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        for row in parts.to_pylist():
            yield from self.telling(Part(**row))


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
                if self.address != "local" and "://" not in self.address:
                    _check_answers(self.address)
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

        rows = ray.data.from_items([dataclasses.asdict(part) for part in parts], override_num_blocks=len(parts))
        how: dict[str, Any] = {"batch_size": 1, "batch_format": "pyarrow"}
        if not opens_model:
            pool = ray.data.TaskPoolStrategy(size=min(self.workers or len(parts), len(parts)))
            return rows.map_batches(_Each(telling, str(Path.cwd())).__call__, compute=pool, **how)
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
        return rows.map_batches(_Each, fn_constructor_args=(telling, str(Path.cwd())), compute=pool, **gpus, **how)

    def tell(self, telling: Telling, parts: Sequence[Part], *, opens_model: bool = False) -> list[dict[str, Any]]:
        """What the workers tell, as rows."""
        with plain_errors():
            return list(self.told(telling, parts, opens_model=opens_model).iter_rows()) if parts else []

    def write(
        self, step: Step, parts: Sequence[Part], unfinished: Unfinished, job: Job | None = None
    ) -> list[dict[str, Any]]:
        """Write the parts that are not finished; returns what all of them told, in their order."""
        told = {part.place: unfinished.told(part.place) for part in parts}
        lacking = [part for part in parts if not told[part.place]]
        telling = partial(write_part, step=step, unfinished=unfinished, job=job)
        for row in self.tell(telling, lacking, opens_model=step.opens_model):
            told[row["place"]] = json.loads(row["note"])
        return list(told.values())

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


def _check_answers(address: str) -> None:
    """Raise unless a cluster answers: ``ray.init`` takes no time-out, and asks for minutes where none does.

    Raises:
        ConnectionError: none does.
    """
    asking = [sys.executable, "-m", "ray.scripts.scripts", "status", "--address", address]
    try:
        subprocess.run(asking, capture_output=True, check=True, timeout=_ANSWER)
    except subprocess.SubprocessError as error:
        raise ConnectionError(f"no answer within {_ANSWER} s") from error


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
        unfinished: the data set to write.
    """

    engine: Engine = field(kw_only=True)
    parts: list[Part] = field(kw_only=True)
    unfinished: Unfinished = field(kw_only=True)

    def map(self, function: Any, what: str) -> Any:
        """The step that maps a callable; :meth:`write` does it."""
        size = self.arguments.batch_size or self.method.batch_size
        return MapStep(size, function=function, opens_model=bool(OPEN_MODELS & {*self.options}))

    def whole(self, rows: Any, **options: Any) -> Any:
        """The step of a method for which the whole corpus decides, with what its rows decided."""
        if isinstance(rows, Step):  # scores that are not there yet
            folder = self.unfinished.notes / "scored"
            scored = dataclasses.replace(self.unfinished, folder=folder, notes=folder, file="{:05d}.parquet".format)
            self.engine.write(rows, self.parts, scored)
            self.parts = [
                Part(part.place, str(folder / scored.file(part.place)), 0, part.stop - part.start, part.first)
                for part in self.parts
            ]
        name = self.method.load().__name__
        if name == "balance":
            return self._balanced(**options)
        scores = (name, tuple(options.pop("score_columns")), options.pop("percentile"))
        limit = self._threshold(ScoreStep(*scores))
        if name == "subtract":
            return ScoreStep(*scores, limit)
        from hf_fairness.augment import CounterfactualAugmentation

        function = CounterfactualAugmentation(list(options.pop("text_columns")), **options)
        step = CompensateStep(*scores, limit, function=function, opens_model="tagger" in self.options)
        return dataclasses.replace(step, accepted=self._accepted(step))

    def write(self, step: Step) -> dict[str, Any]:
        """Carry out the last step; returns what was told of all parts."""
        sent = dataclasses.replace(self.arguments, hub_token=None)
        job = Job(self.method, self.rows, self.columns, self.options, sent, counts=self.counts)
        return add_up(self.engine.write(step, self.parts, self.unfinished, job))

    def _threshold(self, step: ScoreStep) -> float:
        """The percentile of all scores, from counts alone: one pass settles some bits of a score, from the highest."""
        n = self.parts[-1].end
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
        keys, place = (self.unfinished.notes / name for name in ("keys", "accepted"))
        discard(keys)
        discard(place)
        folders = [str(keys / f"{bucket:05d}") for bucket in range(1 + self.parts[-1].end // _COMPARED)]
        self.engine.tell(partial(_keys, step=step, folders=folders), self.parts, opens_model=step.opens_model)
        self.engine.tell(partial(_firsts, place=place), [Part(*bucket) for bucket in enumerate(folders)])
        discard(keys)
        return str(place)

    def _balanced(self, *, method: str = "down", seed: int = 0, **read: Any) -> Step:
        """How often each row is taken: drawn by a worker, from the sizes of the cells."""
        check_method(method)
        wanted = {"group_column": None, "text_columns": None, "attribute": "gender", "within": None}
        step = BalanceStep({**wanted, **read}, copies=method == "up")
        told = sorted(self.engine.tell(partial(_cells, step=step), self.parts), key=lambda line: line["place"])
        known = list(dict.fromkeys(line["group"] for line in told if not line["n"]))
        groups = known if step.read["group_column"] is None else sorted(known, key=str)
        counts: dict[Hashable, Counter[Hashable]] = {}
        offsets: dict[int, dict[Cell, int]] = {part.place: {} for part in self.parts}
        for line in (line for line in told if line["n"]):
            before = counts.setdefault(line["value"], Counter())
            offsets[line["place"]][line["value"], line["group"]] = before[line["group"]]
            before[line["group"]] += line["n"]
        chosen = check_cells(counts, groups, step.read["within"])
        cells = [(value, group) for value in counts for group in chosen]
        drawn = {cell: str(self.unfinished.notes / "drawn" / f"{place:05d}.npy") for place, cell in enumerate(cells)}
        sizes = [[counts[value][group] for group in chosen] for value in counts]
        drawing = partial(_drawn, sizes=sizes, method=method, seed=seed, files=list(drawn.values()))
        self.engine.tell(drawing, [Part(0, "")])
        return dataclasses.replace(step, drawn=drawn, offsets=offsets)


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

    with warned_elsewhere():
        found = pa.concat_tables([step.keys(rows, first) for rows, first in pieces(part)])
    beginnings = np.array(
        [int.from_bytes(text[:4], "big") for text in found.column("text").to_pylist()], dtype=np.int64
    )
    for bucket, folder in enumerate(folders):
        with atomic_file(Path(folder) / f"{part.place:05d}.parquet") as path:
            pq.write_table(found.filter(beginnings % len(folders) == bucket), path)
    yield from ()


def _firsts(part: Part, place: Path) -> Iterator[pa.Table]:
    """Write the numbers of the rows whose counterfactual is the first with its texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lowest = pq.read_table(part.file).group_by("text").aggregate([("row", "min")]).column("row_min").to_numpy()
    with atomic_file(place / f"{part.place:05d}.parquet") as path:
        pq.write_table(pa.table({"row": np.sort(lowest[lowest >= MADE] - MADE)}), path)
    yield from ()


def _cells(part: Part, step: BalanceStep) -> Iterator[pa.Table]:
    """Rows of each cell of a part; for each group that is known from it, with none, one more without a value."""
    import pyarrow as pa

    counts = Counter[Cell]()
    with warned_elsewhere():
        for rows, _ in pieces(part):
            cells = step.cells(rows)
            counts.update({(None, group): 0 for group in cells.known})
            counts.update({cell: len(places) for cell, places in rows_of_cells(cells).items()})
    values, groups = [value for value, _ in counts], [group for _, group in counts]
    yield pa.table({"place": [part.place] * len(counts), "value": values, "group": groups, "n": [*counts.values()]})


def _drawn(part: Part, sizes: Sequence[Sequence[int]], method: str, seed: int, files: Sequence[str]) -> Iterator[Any]:
    """Write how often each row of each cell is taken."""
    for times, file in zip(draws(sizes, method, seed), files, strict=True):
        with atomic_file(file) as path, path.open("wb") as stream:
            np.save(stream, times.astype(np.min_scalar_type(int(times.max()))))
    yield from ()
