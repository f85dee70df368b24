"""`hf-fairness augment --engine ray`: the methods on the workers of a Ray cluster, part by part.

A part is some rows of a parquet file, one after another. Ray Data has workers do with each of them what one machine
does with all rows (:func:`hf_fairness.cli.augment_counts.fill`). Where the whole corpus decides, Ray Data's own sort
and groups find out what it decides, and workers apply that to each part; whatever depends on rows stays among workers.
What comes back to this process are counts and thresholds, and no row but an example. Until all parts are finished they
lie in a hidden folder beside the output; a run that was stopped goes on from there.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import itertools
import logging
import math
import os
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_fairness.cli.augment import settings
from hf_fairness.cli.augment_counts import fill
from hf_fairness.cli.augment_methods import METHODS, AugmentArguments, Job, opens_model
from hf_fairness.cli.unfinished import Unfinished, add_up, as_json
from hf_fairness.refine.balancing import Cell, cells, check_cells, check_method, draws, rows_of_cells, taken
from hf_fairness.refine.counterfactuals import SOURCE, rows_of, swapped
from hf_fairness.refine.percentile import between, rank, treated
from hf_fairness.report.dataset_card import data_file
from hf_fairness.rows import row_scores
from hf_fairness.runs import atomic_file, claim, commit_folder, content_key, discard, remove_left_overs
from hf_fairness.sources import files_of_split, read_file
from hf_fairness.utils import require

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset
    from numpy.typing import NDArray

#: Folder, in that of the unfinished output, of what is needed to go on.
STATE = ".unfinished"
#: Files that a corpus is cut into unless told otherwise, and their fewest and most rows: without a model, and with one.
_FILES, _ROWS = 64, {False: (10_000, 100_000), True: (500, 50_000)}
#: Options of the command that decide, beside the settings, which rows are read and where they are cut.
_CUT = ("dataset_config", "dataset_split", "max_rows", "rows_per_file")
#: Seconds within which a cluster must answer.
_ANSWER = 25
#: Added to the number of the row that a counterfactual is made from, where texts of rows and counterfactuals are
#: compared: of equal texts the one with the lowest number counts.
_MADE = 1 << 62


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
                rows, parts = corpus(engine, kind, files, arguments, work / STATE, opens_model(options))
                unfinished.file = partial(file, number=len(parts))
                job = make(rows)
                told = carry_out(engine, job, parts, unfinished)
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


@dataclass(frozen=True)
class Part:
    """Some rows of a file.

    Attributes:
        place: of the part in the corpus, from 0.
        file: path or address of a parquet file.
        start: of the rows in the file.
        stop: their end.
        first: number of the first row in the corpus.
    """

    place: int
    file: str
    start: int
    stop: int
    first: int

    def moved(self, file: Path) -> Part:
        """The same rows where they are a file."""
        return dataclasses.replace(self, file=str(file), start=0, stop=self.stop - self.start)

    def read(self, columns: Sequence[str] | None = None) -> Dataset:
        """The rows; those of the columns that are there."""
        import fsspec
        import pyarrow.parquet as pq
        from datasets import Features
        from datasets.table import table_cast

        with fsspec.open(self.file, "rb") as stream:
            file = pq.ParquetFile(stream)
            ends = np.cumsum([file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)])
            low, high = np.searchsorted(ends, [self.start, self.stop - 1], side="right").tolist()
            table = file.read_row_groups(range(low, high + 1), columns=columns)
        before = int(ends[low - 1]) if low else 0
        rows = table.slice(self.start - before, self.stop - self.start)
        return as_rows(table_cast(rows, Features.from_arrow_schema(rows.schema).arrow_schema))


def as_rows(table: pa.Table) -> Dataset:
    """A table as a data set, without a look at its content."""
    from datasets import Dataset

    return Dataset(table, fingerprint="part")


def corpus(
    engine: Engine, kind: str, files: Sequence[str], arguments: AugmentArguments, state: Path, with_model: bool
) -> tuple[Dataset, list[Part]]:
    """The columns of a source as a data set without a row, and its rows as parts."""
    from datasets import Features

    parquet = files if kind == "parquet" else [str(state / "source" / f"{i:05d}.parquet") for i in range(len(files))]
    described = engine.tell(_described, list(zip(files, parquet, strict=True)))
    schemas = [schema for schema, _ in described]
    odd = next((place for place, schema in enumerate(schemas) if not schema.equals(schemas[0])), None)
    if odd is not None:
        names = (
            f"{file}: {', '.join(f'{name} {kind}' for name, kind in zip(schema.names, schema.types, strict=True))}"
            for file, schema in ((files[place], schemas[place]) for place in (0, odd))
        )
        raise ValueError(f"The files differ in columns or types: {'; '.join(names)}. Write all with the same.")
    n = sum(size for _, size in described)
    n = left = min(n, arguments.max_rows or n)
    if not n:
        raise ValueError(f"{arguments.dataset} has no rows.")
    fewest, most = _ROWS[with_model]
    step = arguments.rows_per_file or min(max(n // _FILES, fewest), most)
    parts: list[Part] = []
    for file, (_, rows) in zip(parquet, described, strict=True):
        size = min(rows, left)
        cuts = math.ceil(size / step)
        for cut in range(cuts):
            start, stop = size * cut // cuts, size * (cut + 1) // cuts
            parts.append(Part(len(parts), file, start, stop, n - left + start))
        left -= size
    return as_rows(Features.from_arrow_schema(schemas[0]).arrow_schema.empty_table()), parts


def _described(files: tuple[str, str]) -> tuple[pa.Schema, int]:
    """Columns of a file, and number of its rows; one of another kind is written as parquet before."""
    import fsspec
    import pyarrow.parquet as pq

    source, parquet = files
    if parquet != source and not Path(parquet).exists():
        with tempfile.TemporaryDirectory() as cache, atomic_file(parquet) as path:
            read_file(Path(source), cache_dir=cache).to_parquet(path)
    with fsspec.open(parquet, "rb") as stream:
        opened = pq.ParquetFile(stream)
        return opened.schema_arrow, opened.metadata.num_rows


class _Each:
    """What Ray Data calls with places of items, where names of files mean what they mean to this process."""

    def __init__(self, function: Callable[[Any], pa.Table], items: Sequence[Any], folder: str) -> None:
        self.function, self.items, self.folder = function, items, folder

    def __call__(self, places: pa.Table) -> Iterator[pa.Table]:
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        for place in places.column("item").to_pylist():
            yield self.function(self.items[place])


def _pickled(item: tuple[int, Any], function: Callable[[Any], Any]) -> pa.Table:
    """What a function returns for an item, in a row."""
    import pyarrow as pa

    place, value = item
    return pa.table({"place": [place], "told": [pickle.dumps(function(value))]})


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
        alone = "concurrency" in METHODS[arguments.method].options  # several would each have the limits of requests
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
        context.shuffle_strategy = ShuffleStrategy.SORT_SHUFFLE_PULL_BASED  # groups by tasks: no actors to be started
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # errors are told once, by the command
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import ray

        if self._joined:
            ray.shutdown()
        if isinstance(error, ray.exceptions.RayError):
            raise _plain(error) from error

    def table(self, function: Callable[[Any], pa.Table], items: Sequence[Any], *, with_model: bool = False) -> Any:
        """A ``ray.data.Dataset`` of the rows that workers make of some items.

        Args:
            function: makes the rows of an item.
            items: one or more.
            with_model: whether a worker opens a model for it, and keeps it from item to item.
        """
        import ray

        places = ray.data.from_items(range(len(items)), override_num_blocks=len(items))
        how: dict[str, Any] = {"batch_size": 1, "batch_format": "pyarrow"}
        each = (function, items, str(Path.cwd()))
        if not with_model:
            pool = ray.data.TaskPoolStrategy(size=min(self.workers or len(items), len(items)))
            return places.map_batches(_Each(*each).__call__, compute=pool, **how)
        cluster = ray.cluster_resources()
        free = cluster.get("GPU", 0) // self.num_gpus if self.num_gpus else cluster.get("CPU", 1)
        if not free and (self.address == "local" or self.workers is None):
            raise ValueError(
                f"--num_gpus {self.num_gpus:g}: the cluster has {cluster.get('GPU', 0):g} GPUs. Leave it out, or name "
                "a cluster that has some with --ray_address; of one that starts machines when they are wanted say with "
                "--num_proc how many workers it shall make room for."
            )
        pool = ray.data.ActorPoolStrategy(size=max(1, min(self.workers or int(free), len(items))))
        gpus = {"num_gpus": self.num_gpus} if self.num_gpus else {}
        return places.map_batches(_Each, fn_constructor_args=each, compute=pool, **gpus, **how)

    def tell(self, function: Callable[[Any], Any], items: Sequence[Any], *, with_model: bool = False) -> list[Any]:
        """What a function returns for each item, in their order; workers call it."""
        if not items:
            return []
        telling, numbered = partial(_pickled, function=function), list(enumerate(items))
        rows = self.table(telling, numbered, with_model=with_model).take_all()
        return [pickle.loads(row["told"]) for row in sorted(rows, key=lambda row: row["place"])]  # by our own workers


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


def _plain(error: BaseException) -> BaseException:
    """An error of a worker as it was raised there; another one of Ray in words."""
    import ray

    cause = error
    while isinstance(cause, ray.exceptions.RayError) and getattr(cause, "cause", None) is not None:
        cause = cause.cause
    return cause if cause is not error else RuntimeError(f"Ray: {error}")


def carry_out(engine: Engine, job: Job, parts: Sequence[Part], unfinished: Unfinished) -> dict[str, Any]:
    """Write what becomes of each part; returns what all of them told."""
    with_model, sent = opens_model(job.options), copy.copy(job)
    sent.arguments = dataclasses.replace(job.arguments, hub_token=None, num_proc=None)
    decided, function = None, sent.function
    if sent.choice is not None:
        if function is not None:
            folder = unfinished.notes / "mapped"
            mapped = dataclasses.replace(unfinished, folder=folder, notes=folder, file="{:05d}.parquet".format)
            write_parts(engine, partial(_map, job=sent), parts, mapped, with_model)
            parts = [part.moved(folder / mapped.file(part.place)) for part in parts]
        with_model = "tagger" in job.options
        decided = decide(engine, job.method.load().__name__, parts, with_model, **sent.choice)
    fill_part = partial(_fill, job=sent, folder=unfinished.folder, decided=decided)
    return add_up(write_parts(engine, fill_part, parts, unfinished, with_model))


def write_parts(
    engine: Engine,
    fill: Callable[..., Mapping[str, Any]],
    parts: Sequence[Part],
    unfinished: Unfinished,
    with_model: bool,
) -> list[dict[str, Any]]:
    """Have workers write the parts that are not finished; returns what all of them told, in their order.

    Args:
        engine: the cluster.
        fill: writes a file, given its path and the part; returns what there is to tell.
        parts: all.
        unfinished: what they become parts of.
        with_model: whether workers open a model for it.
    """
    lacking = [part for part in parts if not unfinished.told(part.place)]
    engine.tell(partial(_write, fill=fill, unfinished=unfinished), lacking, with_model=with_model)
    return [unfinished.told(part.place) for part in parts]


def _write(part: Part, fill: Callable[..., Mapping[str, Any]], unfinished: Unfinished) -> None:
    unfinished.write(part.place, partial(fill, part=part))


def _map(path: Path, part: Part, job: Job) -> dict[str, Any]:
    """Write the rows of a part as they are mapped, before the whole corpus decides."""
    job.mapped(part.read()).to_parquet(path)
    return {}


def _fill(path: Path, part: Part, job: Job, folder: Path, decided: Callable[..., Dataset] | None) -> dict[str, Any]:
    """Write what becomes of a part at last."""
    job.rows = part.read()
    change = job.mapped if decided is None else partial(decided, part=part)
    return fill(path, job, folder, change, part.first)


def decide(engine: Engine, what: str, parts: Sequence[Part], with_model: bool, **choice: Any) -> Callable[..., Dataset]:
    """Find out what the whole corpus decides; returns what applies it to the rows of a part.

    Args:
        engine: the cluster.
        what: name of the function of :mod:`hf_fairness.refine`.
        parts: of the corpus.
        with_model: whether workers open a model for the swap.
        **choice: arguments of that function.
    """
    if what == "balance":
        return balance_parts(engine, parts, **choice)
    percentile, columns, texts = (choice.pop(name, ()) for name in ("percentile", "score_columns", "text_columns"))
    above = Above(what, columns, texts, choice)
    n = parts[-1].first + parts[-1].stop - parts[-1].start
    below, share = rank(n, percentile)
    ranked = engine.table(above.scores, parts).sort("score")
    around = ranked.split_at_indices([below, min(below + 2, n)])[1].take_all()
    above = dataclasses.replace(above, limit=between(around[0]["score"], around[-1]["score"], share))
    if what == "subtract":
        return above
    import ray

    lowest = engine.table(above.texts, parts, with_model=with_model).groupby("text").min("row")
    made = lowest.map_batches(_made, batch_format="pyarrow").to_arrow_refs()
    return dataclasses.replace(above, accepted=ray.remote(_joined).remote(*made))


@dataclass(frozen=True)
class Above:
    """The rows above a percentile of all scores, and what becomes of them.

    Attributes:
        what: name of the function of :mod:`hf_fairness.refine`.
        score_columns: the greatest absolute value among them is the score.
        text_columns: swapped together.
        swap: options of the swap.
        limit: the percentile.
        accepted: reference to the numbers of the rows whose counterfactual is added.
    """

    what: str
    score_columns: Sequence[str]
    text_columns: Sequence[str]
    swap: Any
    limit: float = 0.0
    accepted: Any = None

    def scores(self, part: Part) -> pa.Table:
        """The scores of a part."""
        import pyarrow as pa

        rows = part.read(list(dict.fromkeys(self.score_columns)))
        return pa.table({"score": row_scores(rows, self.score_columns, None, self.what)})

    def above(self, rows: Dataset) -> NDArray[np.bool_]:
        """Which rows lie above."""
        found: NDArray[np.bool_] = row_scores(rows, self.score_columns, None, self.what) > self.limit
        return found

    def texts(self, part: Part) -> pa.Table:
        """Texts of rows and of their counterfactuals, as digests, with numbers by which equal ones are told apart."""
        import pyarrow as pa

        from hf_fairness.augment import CounterfactualAugmentation

        rows, function = part.read(), CounterfactualAugmentation(list(self.text_columns), **self.swap)
        made = swapped(rows, np.flatnonzero(self.above(rows)), function, part.first)
        numbers = [*range(part.first, part.first + len(rows)), *(number + _MADE for number in made[SOURCE][:])]
        texts = map(repr, [*rows_of(rows, self.text_columns), *rows_of(made, self.text_columns)])
        digests = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        return pa.table({"text": digests, "row": pa.array(numbers, type=pa.int64())})

    def __call__(self, rows: Dataset, part: Part) -> Dataset:
        """What becomes of the rows of a part, a counterfactual behind the row that it was made of."""
        import ray

        above, accepted = self.above(rows), None if self.accepted is None else ray.get(self.accepted)
        texts = list(self.text_columns)
        changed = treated(self.what, rows, above, texts, self.swap, first=part.first, accepted=accepted)
        return changed if accepted is None else changed.sort([SOURCE, "counterfactual"])


def _made(lowest: pa.Table) -> pa.Table:
    """Numbers of the rows whose counterfactual has the lowest number of its text."""
    import pyarrow as pa

    numbers = lowest.column("min(row)").to_numpy()
    return pa.table({"row": numbers[numbers >= _MADE] - _MADE})


def _joined(*tables: pa.Table) -> NDArray[np.int64]:
    return np.concatenate([table.column("row").to_numpy() for table in tables])


def balance_parts(
    engine: Engine, parts: Sequence[Part], *, method: str = "down", seed: int = 0, **read: Any
) -> Callable[..., Dataset]:
    """Find out how often each row is taken; see :func:`hf_fairness.refine.balance`."""
    import ray

    check_method(method)
    counted = engine.tell(partial(_count_cells, read=read), parts)
    known = dict.fromkeys(itertools.chain.from_iterable(groups for groups, _ in counted))
    total, before = Counter[Cell](), list[Counter[Cell]]()
    for _, counts in counted:
        before.append(total.copy())
        total.update(counts)
    groups = check_cells(total, sorted(known, key=str) if "group_column" in read else known, read.get("within"))
    drawn = ray.remote(draws).remote(total, groups, method, seed)
    return partial(_taken, read=read, before=before, drawn=drawn, copies=method == "up")


def _count_cells(part: Part, read: Mapping[str, Any]) -> tuple[list[Hashable], Counter[Cell]]:
    """All groups that are known from a part, and its rows by cell."""
    found = cells(part.read(), **read)
    return found.known, Counter({cell: len(places) for cell, places in rows_of_cells(found).items()})


def _taken(
    rows: Dataset, part: Part, read: Mapping[str, Any], before: Sequence[Counter[Cell]], drawn: Any, copies: bool
) -> Dataset:
    """The rows of a part, each as often as it was drawn."""
    import ray

    own, at = rows_of_cells(cells(rows, **read)), before[part.place]
    here = {cell: times[at[cell] :][: len(own.get(cell, ()))] for cell, times in ray.get(drawn).items()}
    found: Dataset = taken(rows, own, here, copies=copies, first=part.first)
    return found
