"""`hf-fairness augment --engine ray`: the methods on the workers of a Ray cluster, part by part.

A part is some rows of a parquet file, one after another. Ray Data has workers do with each of them what one machine
does with all rows (:func:`hf_fairness.cli.augment_counts.fill`). Where the whole corpus decides, Ray Data's own sort
and groups find out what it decides, and workers apply that to each part; whatever depends on rows stays among workers.
What comes back to this process are counts and thresholds, and no row but an example. Until all parts are finished they
lie in a hidden folder beside the output; a run that was stopped goes on from there.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import hashlib
import logging
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_fairness.cli.augment import check_output, complete, settings
from hf_fairness.cli.augment_counts import fill
from hf_fairness.cli.augment_methods import AugmentArguments, Job, opens_model
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
    from typing_extensions import Unpack

    from hf_fairness.augment.transforms import SwapOptions

#: What becomes of the rows of a part.
Change = Callable[["Dataset", "Part"], "Dataset"]

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


def on_ray(job: Job) -> dict[str, Any]:
    """Carry out a job on a Ray cluster; returns its counts.

    Raises:
        ImportError: Ray is not installed.
        FileExistsError: what was left unfinished beside the output is of other settings or data.
        ValueError: a source that cannot be read by file, or as on one machine.
    """
    require("ray")
    arguments, check = job.arguments, partial(check_output, job)
    address = arguments.ray_address or os.environ.get("RAY_ADDRESS") or "local"
    alone = 1 if "concurrency" in job.method.options else None  # several would each have the limits of requests
    engine = Engine(arguments.num_proc or alone, arguments.num_gpus or 0, address)
    with claim(arguments.output_dir) as target:
        discard(target / STATE)  # of a run that was stopped at its last step
        check()
        kind, files = files_of_split(arguments.dataset, arguments.dataset_config, arguments.dataset_split)
        work = target.with_name(f".{target.name}.unfinished")
        file = partial(data_file, arguments.split)
        unfinished = Unfinished(work, work / STATE, file, _plan(job, files))
        unfinished.take_up(arguments.overwrite, check)
        try:
            with engine.running():
                job.rows, parts = corpus(engine, kind, files, arguments, work / STATE, opens_model(job.options))
                unfinished.file = partial(file, number=len(parts))
                told = carry_out(engine, job, parts, unfinished)
        finally:
            if not unfinished.begun():
                discard(work)
        counts = complete(job, work, told)
        remove_left_overs(work, below=True)
        commit_folder(work, target)
        discard(target / STATE)
    return counts


def _plan(job: Job, files: Sequence[str]) -> dict[str, Any]:
    """All that the rows depend on; a file of the source is known by its name, size and time."""
    local = [Path(file).stat() for file in files if "://" not in file]
    data = content_key([*files], [(state.st_size, state.st_mtime_ns) for state in local])
    cut = {name: getattr(job.arguments, name) for name in _CUT}
    return as_json({"files": data, **cut, **settings(job, job.arguments.text_column)})


@dataclass(frozen=True)
class Part:
    """Some rows of a file.

    Attributes:
        place: of the part in the corpus, from 0.
        file: path or address of a parquet file.
        start: of the rows in the file.
        size: number of the rows.
        first: number of the first row in the corpus.
    """

    place: int
    file: str
    start: int
    size: int
    first: int

    def read(self, columns: Sequence[str] | None = None) -> Dataset:
        """The rows; those of the columns that are there."""
        import fsspec
        import pyarrow.parquet as pq
        from datasets import Features
        from datasets.table import table_cast

        with fsspec.open(self.file, "rb") as stream:
            file = pq.ParquetFile(stream)
            ends = np.cumsum([file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)])
            low, high = np.searchsorted(ends, [self.start, self.start + self.size - 1], side="right").tolist()
            groups = file.read_row_groups(range(low, high + 1), columns=columns)
        rows = groups.slice(self.start - int(ends[low - 1] if low else 0), self.size)
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
    kinds = [", ".join(f"{field.name} {field.type}" for field in schema) for schema, _ in described]
    if len(by_kind := dict(zip(kinds, files, strict=True))) > 1:
        listed = "; ".join(f"{file}: {columns}" for columns, file in by_kind.items())
        raise ValueError(f"The files differ in columns or types: {listed}. Write all with the same.")
    n, first = sum(size for _, size in described), 0
    n = min(n, arguments.max_rows or n)
    fewest, most = _ROWS[with_model]
    step = arguments.rows_per_file or min(max(n // _FILES, fewest), most)
    parts: list[Part] = []
    for file, (_, rows) in zip(parquet, described, strict=True):
        size = min(rows, n - first)
        for start in range(0, size, step):
            parts.append(Part(len(parts), file, start, min(step, size - start), first + start))
        first += size
    if not parts:
        raise ValueError(f"{arguments.dataset} has no rows.")
    return as_rows(Features.from_arrow_schema(described[0][0]).arrow_schema.empty_table()), parts


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


@dataclass(frozen=True)
class _Told:
    """What a function returned, which Ray Data hands on as it is."""

    value: Any


class _Each:
    """What Ray Data calls with places of items, where names of files mean what they mean to this process."""

    def __init__(self, function: Callable[[Any], Any], items: Sequence[Any], folder: str) -> None:
        self.function, self.items, self.folder = function, items, folder

    def __call__(self, places: pa.Table) -> Iterator[pa.Table | dict[str, Any]]:
        """Of each item what the function returns: rows, or something else as one; errors of a generator stay theirs."""
        import pyarrow as pa

        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        for place in places.column("item").to_pylist():
            found = self.function(self.items[place])
            if isinstance(found, pa.Table):
                yield found
            else:
                told = np.empty(1, dtype=object)
                told[0] = _Told(found)
                yield {"place": np.array([place]), "told": told}


@dataclass
class Engine:
    """A Ray cluster.

    Attributes:
        workers: how many work at a time; None lets Ray decide.
        num_gpus: of each worker that opens a model.
        address: of the cluster; ``"local"`` starts one on this machine, for as long as it is wanted.
    """

    workers: int | None
    num_gpus: float
    address: str

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Join the cluster or start it; within the block an error of a worker is raised as it was raised there.

        Raises:
            ConnectionError: no cluster is at the address.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray
        from ray.data import DataContext
        from ray.data.context import ShuffleStrategy

        joined, local = not ray.is_initialized(), self.address == "local"
        try:
            if joined and not local and "://" not in self.address:  # else Ray asks for minutes where none answers
                asking = [sys.executable, "-m", "ray.scripts.scripts", "status", "--address", self.address]
                subprocess.run(asking, capture_output=True, check=True, timeout=_ANSWER)
            if joined:
                dashboard = False if local else None  # of a cluster that is there nothing may be said
                ray.init(self.address, include_dashboard=dashboard, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, subprocess.SubprocessError) as error:
            raise ConnectionError(
                f"--ray_address {self.address}: no Ray cluster answers there. Start one (`ray start --head`), or "
                "leave it out for one that lasts as long as this run."
            ) from error
        context = DataContext.get_current()
        context.enable_progress_bars = sys.stderr.isatty()
        context.shuffle_strategy = ShuffleStrategy.SORT_SHUFFLE_PULL_BASED  # groups by tasks: no actors to be started
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # errors are told once, by the command
        try:
            yield
        except ray.exceptions.RayError as error:
            raise getattr(error, "cause", None) or RuntimeError(f"Ray: {error}") from error
        finally:
            if joined:
                ray.shutdown()

    def table(self, function: Callable[[Any], Any], items: Sequence[Any], *, with_model: bool = False) -> Any:
        """A ``ray.data.Dataset`` of what workers make of some items.

        Args:
            function: called with an item; returns rows, a ``pyarrow.Table``, or something else.
            items: one or more.
            with_model: whether a worker opens a model for it, and keeps it from item to item.
        """
        import ray

        most, each = min(self.workers or len(items), len(items)), (function, items, str(Path.cwd()))
        gpus = ray.cluster_resources().get("GPU", 0)
        if with_model and gpus < self.num_gpus and (self.address == "local" or self.workers is None):
            raise ValueError(
                f"--num_gpus {self.num_gpus:g}: the cluster has {gpus:g} GPUs. Leave it out, or name a cluster that "
                "has some with --ray_address; of one that starts machines when they are wanted say with --num_proc how "
                "many workers it shall make room for."
            )
        how: dict[str, Any] = {"fn": _Each(*each).__call__, "compute": ray.data.TaskPoolStrategy(size=most)}
        if with_model:
            pool = ray.data.ActorPoolStrategy(min_size=1, max_size=most)
            how = {"fn": _Each, "fn_constructor_args": each, "compute": pool, "num_gpus": self.num_gpus or None}
        places = ray.data.from_items(range(len(items)), override_num_blocks=len(items))
        return places.map_batches(**how, batch_size=1, batch_format="pyarrow")

    def tell(self, function: Callable[[Any], Any], items: Sequence[Any], *, with_model: bool = False) -> list[Any]:
        """What a function returns for each item, in their order; workers call it."""
        rows = self.table(function, items, with_model=with_model).take_all() if items else []
        return [row["told"].value for row in sorted(rows, key=lambda row: row["place"])]

    def write(
        self,
        write: Callable[[Path, Part], Mapping[str, Any]],
        parts: Sequence[Part],
        unfinished: Unfinished,
        *,
        with_model: bool = False,
    ) -> list[dict[str, Any]]:
        """Have workers write the parts that are not finished; returns what all of them told, in their order.

        Args:
            write: writes the file of a part; returns what there is to tell.
            parts: all.
            unfinished: what they are made parts of.
            with_model: as for :meth:`table`.
        """
        told = {part.place: unfinished.told(part.place) for part in parts}
        lacking = [part for part in parts if not told[part.place]]

        def finish(part: Part) -> tuple[int, dict[str, Any]]:
            return part.place, unfinished.write(part.place, lambda path: write(path, part))

        told |= self.tell(finish, lacking, with_model=with_model)
        return list(told.values())


def carry_out(engine: Engine, job: Job, parts: Sequence[Part], unfinished: Unfinished) -> dict[str, Any]:
    """Write what becomes of each part; returns what all of them told."""
    sent, change, with_model = copy.copy(job), None, opens_model(job.options)
    sent.arguments = dataclasses.replace(job.arguments, hub_token=None, num_proc=None)
    if sent.function is not None and sent.choice is not None:
        folder = unfinished.notes / "mapped"
        mapped = dataclasses.replace(unfinished, folder=folder, notes=folder, file="{:05d}.parquet".format)
        engine.write(partial(_map, job=sent), parts, mapped, with_model=with_model)
        parts = [dataclasses.replace(part, file=str(folder / mapped.file(part.place)), start=0) for part in parts]
    if sent.choice is not None:
        what, with_model = job.method.load().__name__, "tagger" in job.options
        decide = balanced if what == "balance" else partial(refined, what=what, with_model=with_model)
        change = decide(engine, parts, **sent.choice)
    write = partial(_fill, job=sent, folder=unfinished.folder, change=change)
    return add_up(engine.write(write, parts, unfinished, with_model=with_model))


def _map(path: Path, part: Part, job: Job) -> dict[str, Any]:
    """Write the rows of a part as they are mapped, before the whole corpus decides."""
    return {"size": job.mapped(part.read()).to_parquet(path)}


def _fill(path: Path, part: Part, job: Job, folder: Path, change: Change | None) -> dict[str, Any]:
    """Write what becomes of a part at last, and count it."""
    job.rows = part.read()
    own = None if change is None else lambda rows: change(rows, part)
    return fill(path, job, folder, own, part.first)


def refined(
    engine: Engine,
    parts: Sequence[Part],
    *,
    what: str,
    with_model: bool,
    percentile: float,
    score_columns: Sequence[str],
    text_columns: Sequence[str] = (),
    **swap: Unpack[SwapOptions],
) -> Change:
    """What becomes of a part where rows above a percentile are subtracted, compensated or replaced.

    Args:
        engine: the cluster.
        parts: of the corpus.
        what: name of the function of :mod:`hf_fairness.refine`.
        with_model: whether workers open a model for the swap.
        percentile: of all scores.
        score_columns: the greatest absolute value among them is the score.
        text_columns: swapped together.
        **swap: options of the swap.
    """
    import pyarrow as pa
    import ray

    scores = partial(row_scores, score_columns=score_columns, scores=None, what=what)
    ranked = engine.table(lambda part: pa.table({"score": scores(part.read(score_columns))}), parts).sort("score")
    n = parts[-1].first + parts[-1].size
    below, share = rank(n, percentile)
    around = ranked.split_at_indices([below, min(below + 2, n)])[1].take_all()
    limit = between(around[0]["score"], around[-1]["score"], share)
    if what == "subtract":
        return lambda rows, part: treated(what, rows, scores(rows) > limit)
    texts = list(text_columns)

    def all_texts(part: Part) -> pa.Table:
        """Texts of rows and of their counterfactuals, as digests, with numbers by which equal ones are told apart."""
        from hf_fairness.augment import CounterfactualAugmentation

        rows, function = part.read(), CounterfactualAugmentation(texts, **swap)
        made = swapped(rows, np.flatnonzero(scores(rows) > limit), function, part.first)
        numbers = [*range(part.first, part.first + part.size), *(number + _MADE for number in made[SOURCE][:])]
        found = [repr(row).encode("utf-8", "surrogatepass") for row in (*rows_of(rows, texts), *rows_of(made, texts))]
        digests = [hashlib.blake2b(text, digest_size=16).digest() for text in found]
        return pa.table({"text": digests, "row": pa.array(numbers, type=pa.int64())})

    lowest = engine.table(all_texts, parts, with_model=with_model).groupby("text").min("row")
    new = lowest.map_batches(lambda rows: {"row": rows["min(row)"][rows["min(row)"] >= _MADE] - _MADE})
    accepted = ray.remote(lambda *rows: np.sort(np.concatenate(rows))).remote(*new.to_numpy_refs(column="row"))

    def change(rows: Dataset, part: Part) -> Dataset:
        """A counterfactual stands behind the row that it was made of."""
        all_new = ray.get(accepted)
        own = all_new[slice(*np.searchsorted(all_new, [part.first, part.first + part.size]))]
        found = treated(what, rows, scores(rows) > limit, texts, swap, first=part.first, accepted=own)
        return found.sort([SOURCE, "counterfactual"])

    return change


def balanced(engine: Engine, parts: Sequence[Part], *, method: str = "down", seed: int = 0, **read: Any) -> Change:
    """What becomes of a part where groups are balanced; see :func:`hf_fairness.refine.balance`."""
    import ray

    def counted(part: Part) -> tuple[list[Hashable], Counter[Cell]]:
        """All groups that are known from a part, and its rows by cell."""
        found = cells(part.read(), **read)
        return found.known, Counter({cell: len(places) for cell, places in rows_of_cells(found).items()})

    check_method(method)
    told = engine.tell(counted, parts)
    *before, total = accumulate((counts for _, counts in told), initial=Counter[Cell]())
    known = dict.fromkeys(chain.from_iterable(groups for groups, _ in told))
    chosen = check_cells(total, sorted(known, key=str) if "group_column" in read else known, read.get("within"))
    drawn = ray.remote(draws).remote(total, chosen, method, seed)

    def change(rows: Dataset, part: Part) -> Dataset:
        own, at = rows_of_cells(cells(rows, **read)), before[part.place]
        here = {cell: times[at[cell] :][: len(own.get(cell, ()))] for cell, times in ray.get(drawn).items()}
        found: Dataset = taken(rows, own, here, copies=method == "up", first=part.first)
        return found

    return change
