"""What a changed encoder must still be good for, as sets of an experiment: tasks and rows that the user names.

A linear head on frozen embeddings does SentEval's tasks and SICK (:mod:`hf_fairness.measure.encoder.transfer`); a
fine-tuned copy does those of GLUE (:mod:`hf_fairness.trainers.training.glue`); those of MTEB are its own affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_fairness.arguments import UtilityArguments
from hf_fairness.measure.encoder import transfer
from hf_fairness.measure.encoder.mteb_tasks import mteb_key, mteb_score, open_mteb_tasks
from hf_fairness.measure.encoder.senteval_files import read_senteval
from hf_fairness.measure.encoder.transfer import TransferTask
from hf_fairness.measure.encoder.transfer_data import known_task, plain_name, read_transfer_task
from hf_fairness.record import Declared
from hf_fairness.scores.transfer import (
    CLASS_MEASURES,
    SCORE_MEASURES,
    class_changes,
    class_scores,
    relatedness_changes,
)
from hf_fairness.sources import open_splits
from hf_fairness.trainers.experiment import EvalSet, Fitted, Scored
from hf_fairness.trainers.training.glue import answers_of

if TYPE_CHECKING:
    from hf_fairness.trainers.training.encoder_method import EncoderMethod


@dataclass(frozen=True)
class UtilityTasks:
    """The tasks that were given: for heads on frozen embeddings, for fine-tuning, and those of MTEB."""

    frozen: tuple[TransferTask, ...] = ()
    fine_tuned: tuple[TransferTask, ...] = ()
    mteb: tuple[Any, ...] = ()


#: Numbers of a task that stand for it; others are details.
_HEADLINES = ("accuracy", "f1", "pearson", "cosine_spearman")


def open_utility(arguments: UtilityArguments) -> dict[str, Any]:
    """Rows of the tasks that were named.

    Returns:
        ``senteval`` and ``glue``: by name of the task its rows by split; ``mteb``: its tasks.

    Raises:
        ImportError: tasks of MTEB are named, and the package is not installed.
        ValueError: nothing of that name, or a task that is named twice.
    """
    glue = {name.lower(): _open_glue(name.lower(), arguments.glue_data) for name in arguments.glue_tasks or []}
    found: dict[str, Any] = {}
    for text in arguments.senteval or []:
        name, _, source = text.partition("=")
        title = known_task(name).title
        if title in found:
            raise ValueError(f"--senteval names {title} twice: give each task once.")
        try:
            found[title] = read_senteval(title, source) or open_splits(source, flag="--senteval")
        except ValueError as error:
            raise ValueError(f"--senteval {name}: {error}") from error
    tasks = {"senteval": found, "glue": glue, "mteb": open_mteb_tasks(arguments.mteb_tasks or [])}
    return {name: rows for name, rows in tasks.items() if rows}


def _open_glue(name: str, source: str) -> dict[str, Any]:
    """Rows of a task by split: of the folder that is called like it, or of the configuration."""
    folders = [path for path in Path(source).iterdir() if path.is_dir()] if Path(source).is_dir() else []
    own = next((path for path in folders if plain_name(path.name) == name), None)
    try:
        return open_splits(source, config=name, flag="--glue_data") if own is None else open_splits(str(own))
    except ValueError as error:
        raise ValueError(f"--glue_tasks {name} of --glue_data {source}: {error}") from error


def read_utility(arguments: UtilityArguments, data: Mapping[str, Any]) -> UtilityTasks:
    """The tasks that were given, checked before anything is trained.

    Args:
        arguments: say how many folds there are.
        data: under ``senteval`` and ``glue`` rows by name of the task, as
            :func:`hf_fairness.measure.encoder.transfer_data.read_transfer_task` takes them; under ``mteb`` names or
            tasks, as :func:`hf_fairness.measure.encoder.mteb_tasks.open_mteb_tasks` takes them.

    Raises:
        ValueError: rows that are none of that task, or fewer of a class than folds.
    """
    folds = arguments.senteval_folds
    tasks = [read_transfer_task(name, rows, folds=folds) for name, rows in (data.get("senteval") or {}).items()]
    for task in tasks:
        transfer.check_folds(task, folds)
    glue = [read_transfer_task(name, rows, flag="--glue_tasks") for name, rows in (data.get("glue") or {}).items()]
    if alone := next((task.name for task in glue if not len(task.test)), None):
        raise ValueError(f"--glue_tasks {alone}: all rows are in one part. Give train and dev rows, such as dev.tsv.")
    return UtilityTasks(tuple(tasks), tuple(glue), tuple(open_mteb_tasks(data.get("mteb") or [])))


class Transfer(EvalSet):
    """A task for a linear head on the frozen embeddings of every arm; arms are compared item by item."""

    def __init__(self, method: EncoderMethod, task: TransferTask) -> None:
        self.method, self.task = method, task
        self.folds = method.arguments.senteval_folds
        self.draws: dict[str, Any] = {"n_bootstrap": method.arguments.n_bootstrap, "seed": 0}
        key = [method.base_key, method.opened_as, task.key, self.folds, self.draws]
        super().__init__(task.name, CLASS_MEASURES if task.scale is None else SCORE_MEASURES, path="utility", key=key)

    @property
    def how(self) -> str:
        """How the rows are used, in words."""
        return self.task.told

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """Numbers of the task; what was told of each item stays in the folder."""
        answers = transfer.ask(self.task, self.method.encoder(fitted), folds=self.folds, seed=0)
        self.keep(folder, predicted=answers.predicted, cosines=answers.cosines)
        return transfer.score(self.task, answers, **self.draws)

    def told(self, key: str) -> Mapping[str, Any]:
        """How the rows of the task are used."""
        extras = {"majority": "most frequent class"} if key == "accuracy" else {}
        sample = f"{len(self.task.measured):,} items; {self.how}"
        return {"extras": extras, "sample": sample, "detail": key not in _HEADLINES}

    def compare(self, one: Scored, other: Scored) -> Mapping[str, Any]:
        """Paired differences of every number."""
        ours, theirs = (self.kept(each) for each in (one, other))
        told, before = ours["predicted"], theirs["predicted"]
        gold = self.task.gold[self.task.measured]
        if self.task.scale is None:
            found = class_changes(told, before, gold, positive=self.task.positive, seed=0)
        else:
            found = relatedness_changes(told, ours["cosines"], before, theirs["cosines"], gold, **self.draws)
        return {
            key: {"difference_ci95": found[f"{key}_change_ci95"], "p_value": found[f"{key}_change_p_value"]}
            for key in self.declared
            if f"{key}_change" in found
        }


class FineTuned(Transfer):
    """A task of GLUE that a copy of every arm was fine-tuned on; compared item by item as others are."""

    def __init__(self, method: EncoderMethod, task: TransferTask) -> None:
        super().__init__(method, task)
        self.name = f"GLUE-{task.name}"

    @property
    def how(self) -> str:
        """How the rows are used, in words."""
        n = min(len(self.task.train), self.method.arguments.glue_max_rows or len(self.task.train))
        return f"fine-tuned on {n:,} rows, measured on the development rows"

    def key_for(self, arm: str) -> Any:
        """The stage in which the arm was fine-tuned."""
        return [self.task.key, self.method.run.key(f"glue_{arm}")]

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """Numbers of what the fine-tuned copy told."""
        told = answers_of(self.task, self.method.run.folder(f"glue_{fitted.name}"))
        self.keep(folder, predicted=told, cosines=np.array([]))
        return class_scores(told, self.task.gold[self.task.measured], positive=self.task.positive)


class Mteb(EvalSet):
    """A task of MTEB: its main score of every arm. It has no items, so arms are compared over seeds alone."""

    def __init__(self, method: EncoderMethod, task: Any) -> None:
        self.method, self.task = method, task
        name, score = task.metadata.name, task.metadata.main_score
        told = f"{score} as mteb computes it; it gives no scores of items, so intervals are over seeds (--n_seeds)."
        declared = {"main_score": Declared(f"{name} (MTEB, {score})", "utility", 1.0, "higher", convention=told)}
        super().__init__(f"MTEB-{name}", declared, path="utility")
        self.key = [method.base_key, method.opened_as, mteb_key(task)]

    def score(self, fitted: Fitted, folder: Path) -> Mapping[str, Any]:
        """The main score."""
        return mteb_score(self.task, self.method.encoder(fitted))
