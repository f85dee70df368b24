"""The spine of every command that trains: arms x sets x seeds.

An experiment gets models in several ways (arms: as it was, a control, the method, its rivals), measures each on several
sets, over seeds and values of settings, and says what changed, what did not, and what got worse. The paper of a method
is a preset of it. What is the same for all stands here, once: the order of the arms, keys and resume, scoring,
comparisons, seeds, sweeps, record, report, the folder of the model and what can be published.

A method (a subclass of :class:`Method`) has its data, its training, its sets and what only its report says:

    prepare()            shared stages: rows, scores, pairs, an initial model
    arms()               which models there are, what each needs before it, and what it is compared with
    fit(name, fitted)    one of them, as a stage of the run
    sets()               what the models are measured on
    tell(found)          further fields of the record
    about(record)        the card of the model

Every stage is kept in a folder of the output directory: a killed run goes on at its first unfinished one.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, cast

import numpy as np
import torch

from hf_fairness._processes import refuse_engines, rows_shared
from hf_fairness.arguments import (
    BenchmarkArguments,
    DataArguments,
    HeldOutArguments,
    LabelArguments,
    UtilityArguments,
    read_sweep,
)
from hf_fairness.publishing import CARD, Artefact, write_splits
from hf_fairness.record import (
    Arm,
    Declared,
    Gap,
    Measure,
    Record,
    Table,
    Value,
    compare,
    interval,
    judge,
    number,
    read_measures,
)
from hf_fairness.report import stage_report
from hf_fairness.report.artefact_card import About, artefact_card
from hf_fairness.report.dataset_card import Derivation, dataset_card
from hf_fairness.report.text import format_value, shown_name, shown_settings
from hf_fairness.runs import Run, atomic_write_json, atomic_write_text
from hf_fairness.scores.meta import describe
from hf_fairness.scores.statistics import mean_interval
from hf_fairness.trainers.training.remembered import pack_arrays, unpack_arrays
from hf_fairness.trainers.training.settings import training_settings
from hf_fairness.utils import is_main_process, package_versions

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: What is said first of the limits of means over seeds.
MEANS = (
    "Numbers are means over {n} seeds. Their intervals cover other seeds and other items alike, also where a sentence "
    "below speaks of items alone; texts, pictures and the model are those of the first seed."
)
SCORES = "scores.json"
#: Arguments that say where and how something is shown, not what is found.
SHOWN_ELSEWHERE = ("resume", "name", "show_texts", "output_dir")
#: Settings that ``--sweep`` cannot vary: those of a run, and all that say which data are read.
_NOT_SWEPT = ("seed", "n_seeds", "resume", "control", "license", "sweep", "demo", *SHOWN_ELSEWHERE)
_OF_DATA = (DataArguments, HeldOutArguments, LabelArguments, BenchmarkArguments, UtilityArguments)
#: What no folder of a model needs: a pickle with paths of this machine, and the card, which is written anew.
PRIVATE = ("training_args.bin", CARD)
#: Entries of a result that differ between equal runs.
_OF_THE_MACHINE = ("seconds", "date", "peak_memory_mib")
#: Type of a setting -> what reads a value of a sweep.
_READERS: dict[str, Callable[[str], Any]] = {
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
    "float": float,
    "int": int,
}


@dataclass(frozen=True)
class Plan:
    """An arm before it is trained.

    Attributes:
        arm: its name, title, role and description.
        needs: arms that must be there first: a control needs the steps of the method.
        against: arms that it is compared with.
    """

    arm: Arm
    needs: tuple[str, ...] = ()
    against: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fitted:
    """An arm that is there.

    Attributes:
        name: of the arm.
        key: what stands for it among the inputs of stages.
        model: a folder or id, or what else the sets of the method take; None where only its outputs are kept.
        training: how it was made: steps, rows, losses; shown in reports as far as it is scalar.
    """

    name: str
    key: Any
    model: Any = None
    training: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scored:
    """What a set says of an arm: its numbers, and the folder where it left its items for paired comparisons."""

    arm: str
    result: Mapping[str, Any]
    folder: Path


@dataclass
class EvalSet:
    """Something that models are measured on.

    Attributes:
        name: of the set in results and ids.
        declared: its numbers that are measures.
        title: in words; empty where the numbers say it.
        path: begins the ids of its measures.
        part: ``"validation"`` where it chose something.
        key: what its numbers depend on beside the model: rows, settings.
        compared: whether arms are compared on it: not where it chose them.
    """

    name: str
    declared: Mapping[str, Declared] = field(default_factory=dict)
    title: str = ""
    path: str = ""
    part: Literal["validation", "test"] = "test"
    key: Any = None
    compared: bool = True

    def key_for(self, arm: str) -> Any:
        """What the numbers of one arm depend on beside the model."""
        return self.key

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """Named numbers of a model, JSON-able; what paired comparisons need goes into the folder, see :meth:`keep`."""
        raise NotImplementedError

    @property
    def _file(self) -> str:
        return f"{re.sub(r'[^a-zA-Z0-9-]', '_', self.name)}.npz"

    def keep(self, folder: Path, **arrays: Any) -> None:
        """Leave arrays of an arm, an entry per item, for paired comparisons."""
        (folder / self._file).write_bytes(pack_arrays(arrays))

    def kept(self, scored: Scored) -> dict[str, Any]:
        """The arrays that an arm left."""
        return unpack_arrays((scored.folder / self._file).read_bytes())

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """By key what a paired comparison found: ``difference_ci95`` and ``p_value`` (or ``p_value_holm``)."""
        return {}

    def measures(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Measure]:
        """The set's part of the record, from its result by arm."""
        n = next((size for each in results.values() if (size := number(each, "n")) is not None), None)
        about = {"path": self.path, "set_name": self.name, "set_title": self.title, "part": self.part}
        about["sample"] = "" if n is None else f"{int(n):,} rows"
        for key, what in self.declared.items():
            yield from read_measures(results, {key: what}, **{**about, **self.told(key)})

    def told(self, key: str) -> Mapping[str, Any]:
        """What the measure of a key says of itself otherwise: arguments of `hf_fairness.record.read_measures`."""
        return {}

    def id(self, key: str) -> str:
        """Id of the measure that a key of :meth:`compare` is about."""
        return "/".join(part for part in (self.path, self.name, key) if part)


class LeftOutError(Exception):
    """An arm that could not be made or measured, without which the others go on."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(why)
        self.name = name


@dataclass
class Found:
    """What one trial found: arms, results by set and arm, comparisons by set and ``"a - b"``, measures, gaps."""

    plans: dict[str, Plan]
    fitted: dict[str, Fitted] = field(default_factory=dict)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    comparisons: dict[str, dict[str, Any]] = field(default_factory=dict)
    measures: tuple[Measure, ...] = ()
    gaps: tuple[Gap, ...] = ()

    def arm(self, role: str) -> str | None:
        """Name of the arm of a role."""
        return next((name for name, plan in self.plans.items() if plan.arm.role == role), None)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Which arms are compared."""
        return [(name, other) for name, plan in self.plans.items() for other in plan.against if other in self.plans]


class Method:
    """What a method is: see the docstring of this module. One object is one trial: one seed, one value of a setting.

    Args:
        run: keeps the stages.
        arguments: what to do; a dataclass that inherits `ExperimentArguments`.
        config: how to train.
        data: what the command opened, by name.
        shared: what trials may share in memory, such as an open model.
        data_seed: of splits and draws of rows that are the same for all trials.

    Attributes:
        command: name of the command.
        source: what is done, and who published it.
        limits: what its numbers do not show.
        convention: how they are to be read.
        ideal: best values, in words; ``direction`` alike.
        quoted: settings of the config that reports show.
        all_seeds_at_once: whether `fit` trains all seeds together.
        left_out: by name of an arm that could not be made or measured what went wrong; `arms` has none of them.
        measured_by_all: whether all processes of a launch measure an arm and share its rows; else the first does.
    """

    command: ClassVar[str]
    source: ClassVar[str]
    limits: ClassVar[tuple[str, ...]] = ()
    convention: ClassVar[str] = ""
    ideal: ClassVar[str] = ""
    direction: ClassVar[str] = ""
    quoted: ClassVar[tuple[str, ...]] = ()
    all_seeds_at_once: ClassVar[bool] = False
    measured_by_all: ClassVar[bool] = False

    def __init__(
        self, run: Run, arguments: Any, config: Any, data: Mapping[str, Any], shared: dict[str, Any], data_seed: int
    ) -> None:
        self.run, self.arguments, self.config, self.data = run, arguments, config, data
        self.shared, self.data_seed = shared, data_seed
        self.settings = training_settings(config) if hasattr(config, "to_dict") else {}
        self.left_out: Mapping[str, str] = {}

    def once(self, key: str, make: Callable[[], T], among: dict[str, Any] | None = None) -> T:
        """Something that all trials of this process share, or all that have ``among``: made when the first one asks."""
        store = self.shared if among is None else among
        if key not in store:
            store[key] = make()
        return cast(T, store[key])

    @property
    def seed(self) -> int:
        """Of everything that this trial draws."""
        return int(self.config.seed)

    @property
    def base_name(self) -> str:
        """The model that is worked on, as a reader knows it."""
        return str(shown_name(self.arguments.model_name_or_path) or "model")

    @property
    def model_name(self) -> str:
        """The model that comes out, as a reader knows it."""
        return str(getattr(self.config, "hub_model_id", None) or f"{self.base_name.rsplit('/', 1)[-1]}-{self.command}")

    def prepare(self) -> None:
        """Stages that the arms share."""

    def arms(self) -> Sequence[Plan]:
        """The arms in the order of the report, the original one first."""
        raise NotImplementedError

    def fit(self, name: str, fitted: Mapping[str, Fitted]) -> Fitted:
        """Make one arm; those that it needs are there."""
        raise NotImplementedError

    def trained(self, name: str, work: Callable[[Path], dict[str, Any]], *, stage: str = "", **how: Any) -> Fitted:
        """An arm by a stage that all processes carry out, and which leaves ``model``.

        Args:
            name: of the arm.
            work: makes it, and says how.
            stage: its name; "" means ``train_<name>``.
            how: what else :meth:`hf_fairness.runs.Run.stage` is told.
        """
        stage = stage or f"train_{name}".replace(".", "_")
        training = self.run.stage(stage, work, collective=True, **how)
        return Fitted(name, self.run.key(stage), self.run.folder(stage) / "model", training)

    def leave_out(self, name: str, error: Exception, step: Literal["fit", "measure"]) -> str:
        """What is said of an arm that could not be made or measured, where the others go on; or the error is raised."""
        raise error

    def sets(self) -> Sequence[EvalSet]:
        """What the arms are measured on."""
        raise NotImplementedError

    def train_to_measure(self, fitted: Fitted) -> None:
        """Stages of an arm that its sets read, where measuring takes a training on all processes."""

    def measure(self, fitted: Fitted, sets: Sequence[EvalSet], folder: Path) -> dict[str, Mapping[str, Any]]:
        """Results of an arm by name of the set; a method may make outputs here that several sets read."""
        return {each.name: each.score(fitted, folder) for each in sets}

    def asked(self) -> dict[str, Any]:
        """What was asked for, as a reader sees it: no paths of this machine."""
        found = shown_settings(asdict(self.arguments), without=SHOWN_ELSEWHERE)
        quoted = {name: getattr(self.config, name) for name in self.quoted}
        return {**found, "training": quoted} if quoted else found

    def extras(self, found: Found) -> dict[str, Any]:
        """What the result holds beside arms, results and comparisons."""
        return {}

    def tell(self, found: Found) -> dict[str, Any]:
        """Further fields of the record: subject, outcome, cautions, tables, not_measured; what provenance has more."""
        return {}

    def conclude(self, record: Record, seeds: Sequence[Record], found: Found) -> tuple[Record, dict[str, Any]]:
        """The record of all seeds with what only all of them together say, and the same as values for the result."""
        return record, {}

    def draw(self, found: Found) -> dict[str, Any]:
        """``figures`` and ``texts`` of the report, which cards do not have; asked for where the report is written."""
        return {}

    def about(self, record: Record) -> About:
        """What the card of the model says."""
        raise NotImplementedError

    def save(self, fitted: Fitted, folder: Path) -> None:
        """Write the model that is published, without its card."""
        shutil.copytree(fitted.model, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*PRIVATE))

    def hide(self, fitted: Fitted, folder: Path) -> None:
        """Write files that go to the Hub in place of those of the model, where these say something of this machine."""

    def library_card(self, fitted: Fitted) -> str:
        """Text of a card that a library wrote; ours goes before it."""
        return ""

    def artefacts(self, record: Record, found: Found) -> dict[str, Artefact]:
        """What can be published beside the model."""
        return {}

    def write_rows(self, folder: Path, splits: Mapping[str, Any], repo_id: str, **made: Any) -> None:
        """Write rows that can be published, with their card.

        Args:
            folder: of the data set.
            splits: rows by split.
            repo_id: its repository.
            made: as for :meth:`write_card`.
        """
        write_splits(folder, splits)
        self.write_card(folder, sum(map(len, splits.values())), repo_id, **made)

    def write_card(self, folder: Path, n_rows: int, repo_id: str, **made: Any) -> None:
        """Write the card of rows that are in a folder.

        Args:
            folder: of the data set.
            n_rows: how many there are.
            repo_id: its repository.
            made: how they were made: what else :class:`hf_fairness.report.dataset_card.Derivation` is told, or told
                otherwise.
        """
        known: dict[str, Any] = {
            "name": repo_id,
            "method": self.command,
            "reference": self.source,
            "split": self.arguments.dataset_split,
            "n_rows": n_rows,
            "licence": self.arguments.license,
            "versions": package_versions(("hf-fairness", "datasets")),
            "repo_id": repo_id,
        }
        dataset_card(Derivation(**{**known, **made})).save(folder / CARD)

    def wants(self, step: Literal["fit", "measure", "report", "model"]) -> bool:
        """Whether the run goes as far as a step."""
        return True


def run_experiment(method: type[Method], arguments: Any, config: Any, **data: Any) -> dict[str, Any]:
    """Run all trials, put them into one record, and write report and model.

    Call it on every process of a distributed launch: training runs on all, and what scores or generates shares its rows
    over all; the rest runs on the first.

    Args:
        method: what is done.
        arguments: its arguments.
        config: settings of the training; ``output_dir`` holds all stages.
        data: what the method takes, see its own function.

    Returns:
        ``arms``: how each was trained; ``results``: set -> arm -> numbers; ``comparisons``: set -> ``"a - b"`` -> what
        a paired comparison found; what the method adds; ``trials``: the same of each further trial; ``left_out``: what
        is said of arms without which the others went on; ``meta``; ``record``; ``files``: paths of the report by kind;
        ``model``: folder; ``artefacts``: what can be published.

    Raises:
        ValueError: a value that a sweep cannot have, half precision that the device does not have, or an engine that
            splits models over processes (FSDP, DeepSpeed).
    """
    refuse_engines(f"hf-fairness {method.command}", config)
    output_dir = getattr(config, "output_dir", None) or arguments.output_dir
    if getattr(config, "fp16", False) and ("cpu" in str(config.device) or not torch.accelerator.is_available()):
        raise ValueError("fp16=True wants a GPU: on a CPU the Trainer ignores it. Take bf16=True, or leave it out.")
    wanted = list(_trials(method, arguments, config))  # a bad value is refused before anything is done
    labels = [label for label, _, _ in wanted]
    if len(set(labels)) < len(labels):
        raise ValueError(f"--sweep: two of the values are called alike, of {', '.join(labels[1:])}.")
    asked = {**asdict(arguments), "training": training_settings(config) if hasattr(config, "to_dict") else {}}
    with Run(str(output_dir), asked, resume=arguments.resume) as run:
        trials, failed = _carry_out(run, method, wanted, data)
        first, found = trials[""]
        if not first.wants("report"):
            folders = {path.name: path for path in sorted(run.output_dir.iterdir()) if path.is_dir()}
            return {**_result(trials), "stages": {name: path for name, path in folders.items() if name[0] != "."}}
        record, concluded = _joined(trials)
        record = replace(record, cautions=(*failed.values(), *record.cautions))
        result = {**_result(trials), **concluded, **({"left_out": failed} if failed else {})}

        def drawn() -> Record:
            more = first.draw(found)
            return replace(record, **{**more, "figures": {**record.figures, **more.get("figures", {})}})

        files = stage_report(run, drawn, result, inputs=[_stable(result), record.name, arguments.show_texts])
        return {**result, "record": record, "files": files, **_publishable(run, first, found, record)}


def _carry_out(
    run: Run, method: type[Method], wanted: Sequence[tuple[str, Any, Any]], data: Mapping[str, Any]
) -> tuple[dict[str, tuple[Method, Found]], dict[str, str]]:
    """All trials by label, and what is said of arms that were left out.

    Seeds become one record, so they leave out the same arms: where one fails in a later seed, all begin again without
    it, and take what is finished from its stages.
    """
    shared: dict[str, Any] = {}
    left_out: dict[str, dict[str, str]] = {}
    trials: dict[str, tuple[Method, Found]] = {}
    while len(trials) < len(wanted):
        label, arguments, config = wanted[len(trials)]
        one = method(run.trial(re.sub(r"[^\w-]", "_", label)), arguments, config, data, shared, int(wanted[0][2].seed))
        one.left_out = left_out.setdefault("" if _is_seed(label) else label, {})
        if label:
            logger.info("Trial %s", label)
        try:
            trials[label] = (one, _trial(one))
        except LeftOutError as error:
            logger.error("%s. The others go on.", error)
            one.left_out[error.name] = str(error)
            trials = {}
    return trials, {name: why for each in left_out.values() for name, why in each.items()}


def _is_seed(label: str) -> bool:
    """Whether a trial is one of several seeds with the values that were asked for."""
    return not label or label.startswith("seed=")


def _joined(trials: Mapping[str, tuple[Method, Found]]) -> tuple[Record, dict[str, Any]]:
    """One record of all trials, and what the method concludes from all seeds."""
    records = {label: _record(*trial) for label, trial in trials.items()}
    seeds = [record for label, record in records.items() if _is_seed(label)]
    first, found = trials[""]
    record, concluded = first.conclude(over_seeds(seeds) if len(seeds) > 1 else seeds[0], seeds, found)
    swept = {label: each for label, each in records.items() if not _is_seed(label)}
    if swept:
        record = replace(record, tables=(*record.tables, sweep_table({"as asked": records[""], **swept})))
    return record, concluded


def _trials(method: type[Method], arguments: Any, config: Any) -> Iterator[tuple[str, Any, Any]]:
    """Label, arguments and config of each trial: as asked, then other seeds, then other values."""
    yield "", arguments, config
    if not method.all_seeds_at_once:
        for seed in range(int(config.seed) + 1, int(config.seed) + arguments.n_seeds):
            yield f"seed={seed}", arguments, _changed(config, "seed", seed)
    if any(text.startswith("seed=") for text in arguments.sweep or []):
        raise ValueError("--sweep: the seed is none of its settings; --n_seeds trains with several and gives means.")
    for name, texts in read_sweep(arguments.sweep, sweepable(arguments, config)).items():
        for text in texts:
            both = [arguments, config]
            place = int(name in {each.name for each in fields(config)}) if is_dataclass(config) else 0
            both[place] = _changed(both[place], name, _typed(both[place], name, text))
            yield f"{name}={shown_name(text)}", *both


def sweepable(arguments: Any, config: Any) -> list[str]:
    """Settings that ``--sweep`` can vary: numbers, switches and names of one model, not those of places or of data."""
    hidden = {*_NOT_SWEPT, *getattr(arguments, "UNSWEPT", ())}
    hidden |= {each.name for kind in _OF_DATA for each in fields(kind)} - {"max_rows"}
    both = [*(fields(config) if is_dataclass(config) else ()), *fields(arguments)]
    foreign = [each for each in type(config).__mro__ if is_dataclass(each) and not each.__module__.startswith("hf_f")]
    of_trainer = {each.name for kind in foreign for each in fields(kind)}
    both.sort(key=lambda each: each.name in of_trainer)  # those of the method first: a message shows the first few
    scalar = re.compile(r"^(?!.*list).*\b(int|float|bool|str)\b")
    names = [each.name for each in both if scalar.match(str(each.type))]
    return [name for name in names if name not in hidden and not name.startswith(("hub_", "push_", "report_", "log"))]


def _changed(settings: Any, name: str, value: Any) -> Any:
    """A copy with another value, checked anew; what the first one noted of itself beside its fields stays."""
    found, known = replace(settings, **{name: value}), {each.name for each in fields(settings)}
    vars(found).update({key: noted for key, noted in vars(settings).items() if key not in known})
    return found


def _typed(settings: Any, name: str, text: str) -> Any:
    """A value of a sweep as its field wants it."""
    wanted = next(each.type for each in fields(settings) if each.name == name)
    kind = str(getattr(wanted, "__name__", wanted))  # a type, or its name where annotations are texts
    read = next((reader for word, reader in _READERS.items() if word in kind), str)
    try:
        return read(text)
    except (ValueError, KeyError) as error:
        raise ValueError(f"--sweep of {name} has the value {text!r}, expected {kind}.") from error


def _trial(method: Method) -> Found:
    """Fit each arm, in an order in which it has what it needs, and measure it; then compare."""
    method.prepare()
    found = Found({plan.arm.name: plan for plan in method.arms()} if method.wants("fit") else {})
    needs = {name: [each for each in plan.needs if each in found.plans] for name, plan in found.plans.items()}
    sets = list(method.sets()) if found.plans and method.wants("measure") else []
    scored: dict[str, dict[str, Scored]] = {}
    for place, name in enumerate(TopologicalSorter(needs).static_order(), start=1):
        logger.info("Model %d of %d: %s", place, len(needs), found.plans[name].arm.title)
        with _named(method, name, "fit"):
            found.fitted[name] = method.fit(name, found.fitted)
        if sets:
            with _named(method, name, "measure"):
                method.train_to_measure(found.fitted[name])
                scored[name] = _score(method, found.fitted[name], sets)
    found.fitted = {name: found.fitted[name] for name in found.plans}
    found.results = {
        each.name: {name: scored[name][each.name].result for name in found.plans if each.name in scored[name]}
        for each in sets
    }
    if sets:
        found.comparisons = _compare(method, sets, scored, found.pairs)
    return found


@contextlib.contextmanager
def _named(method: Method, name: str, step: Literal["fit", "measure"]) -> Iterator[None]:
    """What goes wrong with an arm is the method's to judge."""
    try:
        yield
    except Exception as error:
        raise LeftOutError(name, method.leave_out(name, error, step)) from error


def _score(method: Method, fitted: Fitted, sets: Sequence[EvalSet]) -> dict[str, Scored]:
    """What the sets say of one arm, by set, as a stage."""
    stage = f"scores_{fitted.name}"

    def work(folder: Path) -> list[str]:
        with contextlib.ExitStack() as stack:
            if method.measured_by_all:
                stack.enter_context(rows_shared(cpu=method.config.use_cpu))
            if is_main_process():
                logger.info("Measuring %s on %s", fitted.name, ", ".join(each.title or each.name for each in sets))
            else:  # what it would write is what the first process writes
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            results = method.measure(fitted, sets, folder)
            atomic_write_json(folder / SCORES, results)
        return list(results)

    inputs = [fitted.key, [[each.name, each.key_for(fitted.name)] for each in sets]]
    method.run.stage(stage, work, inputs=inputs, collective=method.measured_by_all, keep_partial=True)
    folder = method.run.folder(stage)
    results = json.loads((folder / SCORES).read_text(encoding="utf-8"))
    return {name: Scored(fitted.name, result, folder) for name, result in results.items()}


def _compare(
    method: Method,
    sets: Sequence[EvalSet],
    scored: Mapping[str, Mapping[str, Scored]],
    pairs: Sequence[tuple[str, str]],
) -> dict[str, dict[str, Any]]:
    """Every paired comparison, as a stage."""

    def work(folder: Path) -> dict[str, Any]:
        return {
            each.name: {
                f"{a} - {b}": each.compare(scored[a][each.name], scored[b][each.name])
                for a, b in pairs
                if each.name in scored[a] and each.name in scored[b]
            }
            for each in sets
            if each.compared
        }

    inputs = [[method.run.key(f"scores_{name}") for name in scored], list(map(list, pairs))]
    found: dict[str, dict[str, Any]] = method.run.stage("comparisons", work, inputs=inputs, version=2)
    return found


def _record(method: Method, found: Found) -> Record:
    """What one trial found, as it is shown."""
    sets = list(method.sets())
    by_set = {each.name: tuple(each.measures(found.results[each.name])) for each in sets}
    found.measures = tuple(measure for each in by_set.values() for measure in each)
    judged = [measure for each in sets if each.compared for measure in by_set[each.name]]
    paired = {
        (each.id(key), names.partition(" - ")[0], names.partition(" - ")[2]): _test(gap)
        for each in sets
        for names, gaps in found.comparisons.get(each.name, {}).items()
        for key, gap in gaps.items()
        if isinstance(gap, Mapping)
    }
    found.gaps = compare(judged, found.pairs, paired)
    meta = _meta(method, found)
    made = {  # steps and sizes, no histories
        name: {key: value for key, value in one.training.items() if isinstance(value, (int, float, str))}
        for name, one in found.fitted.items()
    }
    arms = tuple(replace(plan.arm, training={**plan.arm.training, **made[name]}) for name, plan in found.plans.items())
    more = method.tell(found)
    provenance = {
        key: meta[key] for key in ("convention", "seed", "n_seeds", "versions") if meta.get(key) not in ("", None)
    }
    told: dict[str, Any] = {
        "command": method.command,
        "name": method.arguments.name or method.model_name,
        "method": method.source,
        "asked": method.asked(),
        "limits": method.limits,
        **more,
        "provenance": {**provenance, **more.get("provenance", {})},
    }
    return Record(arms=arms, measures=found.measures, gaps=found.gaps, **told)


def _test(gap: Mapping[str, Any]) -> dict[str, Any]:
    """What a paired comparison says, as :func:`hf_fairness.record.compare` takes it."""
    ends = interval(gap, "difference_ci95") or interval(gap, "ci95")
    holm = number(gap, "p_value_holm")
    return {
        "ci95": ends,
        "p_value": number(gap, "p_value") if holm is None else holm,
        "p_adjusted": "" if holm is None else "Holm",
    }


def _meta(method: Method, found: Found) -> dict[str, Any]:
    sizes = (number(result, "n") for each in found.results.values() for result in each.values())
    return describe(
        n=int(next((size for size in sizes if size is not None), 0)),
        convention=method.convention,
        ideal=method.ideal,
        direction=method.direction,
        seed=method.seed,
        n_seeds=method.arguments.n_seeds,
    )


def _result(trials: Mapping[str, tuple[Method, Found]]) -> dict[str, Any]:
    """What was found, as plain values: of the first trial, and below ``trials`` of the others."""

    def one(method: Method, found: Found) -> dict[str, Any]:
        return {
            "arms": {name: dict(fitted.training) for name, fitted in found.fitted.items()},
            "results": found.results,
            "comparisons": found.comparisons,
            **method.extras(found),
        }

    first, found = trials[""]
    more = {label: one(*trial) for label, trial in trials.items() if label}
    return {
        "format": f"hf-fairness/{first.command}/2",
        "arguments": first.asked(),
        **one(first, found),
        **({"trials": more} if more else {}),
        "meta": _meta(first, found),
    }


def _stable(value: Any) -> Any:
    """A result without what differs between equal runs: times, dates and memory."""
    if isinstance(value, Mapping):
        return {key: _stable(item) for key, item in value.items() if key not in _OF_THE_MACHINE}
    return [_stable(item) for item in value] if isinstance(value, (list, tuple)) else value


def _publishable(run: Run, method: Method, found: Found, record: Record) -> dict[str, Any]:
    """The folder of the model with its card, and everything that can be published."""
    more = method.artefacts(record, found)
    name = found.arm("method")
    if name is None or found.fitted[name].model is None or not method.wants("model"):
        return {"model": None, "artefacts": more}
    fitted, about = found.fitted[name], method.about(record)
    base = method.library_card(fitted)

    def card(folder: Path, repo_id: str) -> None:
        if repo_id:
            method.hide(fitted, folder)
        atomic_write_text(folder / CARD, artefact_card(about, repo_id, base=base))

    def work(folder: Path) -> dict[str, str]:
        method.save(fitted, folder)
        card(folder, "")
        return {"name": about.title}

    run.stage("model", work, inputs=[fitted.key, artefact_card(about, base=base)], version=3)
    model = Artefact("model", run.folder("model"), card, f"Add the model made by hf-fairness {method.command}")
    return {"model": run.folder("model"), "artefacts": {"model": model, **more}}


def over_seeds(records: Sequence[Record]) -> Record:
    """Records of the same experiment with several seeds as one.

    A value is the mean over seeds. Its interval holds both what other seeds and what other items would change: the half
    widths of Student's interval over seeds and of the mean interval over items add as squares, for each end.

    Args:
        records: at least two, with the same arms and measures; texts, tables and figures are those of the first.

    Returns:
        The record; a measure that one of them lacks is left out.
    """
    by_id = [{measure.id: measure for measure in record.measures} for record in records]
    measures = []
    for measure in (one for one in records[0].measures if all(one.id in known for known in by_id)):
        each = [known[measure.id] for known in by_id]
        values = {
            arm: replace(value, **_mean([one.values[arm] for one in each], *_ends_of(measure)))
            for arm, value in measure.values.items()
            if all(arm in one.values for one in each)
        }
        seeds_alone = all(value.ci95 is None for one in each for value in one.values.values())
        measures.append(replace(measure, values=values, interval_over="seeds" if seeds_alone else "both"))
    known = {measure.id: measure for measure in measures}
    gaps_by = [{(gap.measure, gap.arm, gap.against): gap for gap in record.gaps} for record in records]
    gaps = []
    for key, gap in gaps_by[0].items():
        if gap.measure in known and all(key in each for each in gaps_by):
            mean = _mean([Value(each[key].difference, each[key].ci95) for each in gaps_by])
            ends, by_arm = mean["ci95"] if gap.ci95 is not None else None, known[gap.measure].values
            verdict, basis = judge(known[gap.measure], by_arm[gap.against], by_arm[gap.arm], ends)
            gaps.append(replace(gap, difference=mean["value"], ci95=ends, p_value=None, verdict=verdict, basis=basis))
    cautions = tuple(dict.fromkeys(text for record in records for text in record.cautions))
    return replace(
        records[0],
        measures=tuple(measures),
        gaps=tuple(gaps),
        cautions=cautions,
        subject={**records[0].subject, "seeds": len(records)},
        limits=(MEANS.format(n=len(records)), *records[0].limits),
        provenance={**records[0].provenance, "n_seeds": len(records)},
    )


def _ends_of(measure: Measure) -> tuple[float, float]:
    """Range in which the values of a measure lie: effect sizes, deltas and distances have other ends than shares."""
    if measure.ideal == 0.5 or (measure.ideal == 1.0 and measure.direction == "higher"):
        return 0.0, 1.0
    return (0.0 if measure.direction == "lower" and measure.ideal == 0.0 else -math.inf), math.inf


def _mean(values: Sequence[Value], least: float = -math.inf, most: float = math.inf) -> dict[str, Any]:
    """Mean over seeds and an interval over seeds and items, cut at the ends of the range if no seed goes beyond it."""
    numbers = np.array([value.value for value in values])
    centre, over = float(numbers.mean()), mean_interval(numbers)
    known = [(value.value, value.ci95) for value in values if value.ci95 is not None]
    if over is None:
        return {"value": centre, "ci95": None}
    items = [
        math.sqrt(np.mean([(ends[side] - value) ** 2 for value, ends in known])) if known else 0.0 for side in (0, 1)
    ]
    down, up = (math.hypot(end - centre, width) for end, width in zip(over, items, strict=True))
    low, high = centre - down, centre + up
    if known and all(least <= end <= most for _, ends in known for end in ends):
        low, high = max(low, least), min(high, most)
    return {"value": centre, "ci95": (low, high)}


def sweep_table(records: Mapping[str, Record]) -> Table:
    """One row per trial and arm that was trained: its measures side by side.

    Args:
        records: by label of the trial.

    Returns:
        Measures that are no part of others, as many as all trials have.
    """
    first = next(iter(records.values()))
    shown = [m for m in first.measures if not m.detail and m.kind != "context"]
    rows = [("setting", "model", *(measure.title for measure in shown))]
    for label, record in records.items():
        by_id = {measure.id: measure for measure in record.measures}
        for arm in record.arms:
            values = [by_id[m.id].values.get(arm.name) if m.id in by_id else None for m in shown]
            texts = [format_value(value.value, value.ci95) if value else "" for value in values]
            known = arm.role == "original" and any((arm.title, *texts) == row[1:] for row in rows)
            if not known:  # an original that the setting does not touch stands once
                rows.append((label, arm.title, *texts))
    return Table(
        "Sweep", tuple(rows), "All else is alike in all rows. Brackets: 95 % intervals; small differences are noise."
    )
