"""Going on from a checkpoint so that a run that was stopped ends, and is described, as one that was not."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_callback import ExportableState, TrainerControl
from transformers.trainer_pt_utils import nested_gather
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

if TYPE_CHECKING:
    from transformers import Trainer as _Trainer
else:
    _Trainer = object

logger = logging.getLogger(__name__)


def last_whole_checkpoint(output_dir: str | Path) -> str | None:
    """The newest checkpoint that was written to its end, and of which nothing was removed.

    The Trainer writes the state of the run last, so a checkpoint whose state can not be read is one that a killed
    process left half written; a :class:`Resumable` trainer's state names the files that belong to it.
    `transformers.trainer_utils.get_last_checkpoint` would return either.

    Args:
        output_dir: folder with ``checkpoint-<step>`` folders; it may be missing.

    Returns:
        Path of the checkpoint, or None where there is none.
    """
    steps = {folder: folder.name.rpartition("-")[2] for folder in Path(output_dir).glob(f"{PREFIX_CHECKPOINT_DIR}-*")}
    numbers = {folder: int(step) for folder, step in steps.items() if step.isdigit()}
    for folder in sorted(numbers, key=numbers.__getitem__, reverse=True):
        with contextlib.suppress(OSError, ValueError):
            if all((folder / name).is_file() for name in _saved(_read_state(folder)).get("files", [])):
                return str(folder)
        logger.warning("%s is incomplete and is passed over.", folder)
    return None


def is_final(checkpoint: str | Path, max_steps: int) -> bool:
    """Whether training had ended when a checkpoint was written: by its number of steps, or because it was stopped.

    Args:
        checkpoint: folder of a checkpoint.
        max_steps: of the run that goes on from it; a run that was made longer has not ended.
    """
    state = _read_state(checkpoint)
    control = state.get("stateful_callbacks", {}).get(TrainerControl.__name__, {}).get("args", {})
    stopped = control.get("should_training_stop", False) and state["global_step"] < state["max_steps"]
    return bool(stopped or state["global_step"] >= max_steps)


def _read_state(checkpoint: str | Path) -> dict[str, Any]:
    return dict(json.loads(Path(checkpoint, TRAINER_STATE_NAME).read_text(encoding="utf-8")))


def _saved(state: dict[str, Any]) -> dict[str, Any]:
    """What `TrainingSoFar` left in the state of a checkpoint; nothing in one of another trainer."""
    return dict(state.get("stateful_callbacks", {}).get(TrainingSoFar.__name__, {}).get("attributes", {}))


class TrainingSoFar(TrainerCallback, ExportableState):
    """What a :class:`Resumable` trainer leaves in each checkpoint beside what `Trainer` does.

    Attributes:
        trainer: whose it is.
        progress: sums of losses and the like.
    """

    def __init__(self) -> None:
        self.trainer: Any = None
        self.progress: dict[str, Any] = {}

    def state(self) -> dict[str, Any]:
        """For `Trainer`, which asks for it when all other files of a checkpoint are written."""
        files: list[str] = []
        if self.trainer is not None:
            folder = Path(self.trainer.args.output_dir, f"{PREFIX_CHECKPOINT_DIR}-{self.trainer.state.global_step}")
            files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        return {"args": {}, "attributes": {"progress": self.progress, "files": files}}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Called when `Trainer` has set its sums to 0."""
        self.trainer.seconds_before = 0.0
        progress = _saved({"stateful_callbacks": state.stateful_callbacks}).get("progress")
        if state.global_step and progress:
            self.trainer.restore_progress(progress)
        self.trainer.started = time.time()


class Resumable(_Trainer):
    """What stands before a `Trainer`: resumed, it ends as if it had not been stopped.

    `Trainer` itself does one step too many after a final checkpoint that was not written at the end of an epoch,
    forgets what was added up since the last line of the log, and gives the mean loss, time and speed of the last part
    as those of the whole.
    """

    #: Seconds of training before the checkpoint that was gone on from, and when the training since then began.
    seconds_before = 0.0
    started = 0.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.add_callback(TrainingSoFar)

    def progress(self) -> dict[str, Any]:
        """What a checkpoint must hold so that the losses go on; called on every process."""
        return {
            **rank_sums({"running_loss": self._tr_loss}, self.args),
            "total_loss": self._total_loss_scalar,
            "last_logged": self._globalstep_last_logged,
            "seconds": self.seconds_before + time.time() - self.started,
        }

    def restore_progress(self, saved: dict[str, Any]) -> None:
        """Undo :meth:`progress`; called when training begins."""
        if len(saved["running_loss"]) == self.args.world_size:
            self._tr_loss.fill_(saved["running_loss"][self.args.process_index])
        self._total_loss_scalar = saved["total_loss"]
        self._globalstep_last_logged = saved["last_logged"]
        self._initial_global_step = 0  # the mean loss is then over all steps
        self.seconds_before = saved["seconds"]

    def _init_training_state(self, max_steps: int, steps: int, epochs: int, checkpoint: Any, trial: Any) -> Any:
        """As `Trainer`; after a final checkpoint all epochs are behind."""
        trained = super()._init_training_state(max_steps, steps, epochs, checkpoint, trial)
        mine = next(each for each in self.callback_handler.callbacks if isinstance(each, TrainingSoFar))
        mine.trainer = self
        self.state.stateful_callbacks.setdefault(TrainingSoFar.__name__, mine.state())
        if checkpoint is not None and is_final(checkpoint, max_steps):
            logger.info("%s is that of the last step: nothing is left to train.", checkpoint)
            return epochs, 0
        return trained

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        mine = next(each for each in self.callback_handler.callbacks if isinstance(each, TrainingSoFar))
        mine.progress = self.progress()
        super()._save_checkpoint(model, trial)

    def _finalize_training(self, trial: Any, num_train_samples: Any, start_time: float) -> Any:
        return super()._finalize_training(trial, num_train_samples, start_time - self.seconds_before)


def rank_sums(values: dict[str, torch.Tensor], args: Any) -> dict[str, list[float]]:
    """Values of each process by name, for :meth:`Resumable.progress`."""
    gathered = nested_gather({name: value.detach().reshape(1) for name, value in values.items()}, args.parallel_mode)
    return {name: value.tolist() for name, value in gathered.items()}
