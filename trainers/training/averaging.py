"""The mean of the last checkpoints' weights: kept beside a run as it goes, taken at its end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from hf_fairness.runs import discard

if TYPE_CHECKING:
    import torch

#: Folder of the kept weights in the output folder of a run.
FOLDER = "weights"


def average_weights(folders: Sequence[str | Path]) -> dict[str, torch.Tensor]:
    """Mean of each weight over checkpoints; what is no floating-point number is that of the last one.

    Args:
        folders: checkpoints, each with the same ``*.safetensors`` files.

    Returns:
        Weights by name, in the kind of number they were saved in. The mean of equal checkpoints is that checkpoint.

    Raises:
        FileNotFoundError: no folders, or one without weights.
        ValueError: checkpoints of different models.
    """
    from safetensors import safe_open

    if not folders:
        raise FileNotFoundError("There are no checkpoints to average.")
    sums: dict[str, torch.Tensor] = {}
    kinds: dict[str, torch.dtype] = {}
    for number, folder in enumerate(folders):
        seen = 0
        for file in _weight_files(Path(folder)):
            with safe_open(file, framework="pt") as weights:
                for name in weights.keys():  # noqa: SIM118 - not a mapping
                    value, seen = weights.get_tensor(name), seen + 1
                    if number and (name not in sums or value.shape != sums[name].shape or value.dtype != kinds[name]):
                        raise ValueError(f"{file} holds {name} of another model than {folders[0]}; average one run.")
                    kinds[name] = value.dtype
                    wide = value.double() if value.is_floating_point() else value
                    sums[name] = sums[name] + wide if number and value.is_floating_point() else wide
        if seen != len(sums):
            raise ValueError(f"{folder} holds {seen} weights and {folders[0]} {len(sums)}; average one run.")
    n = len(folders)
    return {
        name: (total / n).to(kinds[name]) if kinds[name].is_floating_point else total for name, total in sums.items()
    }


class KeepWeights(TrainerCallback):
    """Keep the weights of the last checkpoints, without their optimizers, after the Trainer has removed them.

    The files are links to those of the checkpoint, which cost neither time nor room, where the file system has links.

    Args:
        output_dir: of the run.
        keep: how many checkpoints.
    """

    def __init__(self, output_dir: str | Path, keep: int) -> None:
        self.output_dir, self.keep = Path(output_dir), keep

    @property
    def folder(self) -> Path:
        """Folder of the kept weights."""
        return self.output_dir / FOLDER

    def kept(self) -> dict[int, Path]:
        """Folder of each kept checkpoint by its step, oldest first."""
        found = [path for path in self.folder.glob("step-*") if path.name[5:].isdigit()]
        return {int(path.name[5:]): path for path in sorted(found)}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Forget what another run, or the killed part of this one, has left."""
        if not state.is_world_process_zero:
            return
        for step, path in self.kept().items():
            if state.global_step == 0 or step > state.global_step:
                discard(path)
        if state.global_step and state.global_step not in self.kept():
            self.on_save(args, state, control)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Link the weights of the checkpoint that was just written."""
        checkpoint = self.output_dir / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"
        if not state.is_world_process_zero or not checkpoint.is_dir():
            return
        place = self.folder / f"step-{state.global_step:08d}"
        partial = place.with_name(f".{place.name}.tmp")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
        partial.mkdir(parents=True)
        for file in _weight_files(checkpoint):
            try:
                os.link(file, partial / file.name)
            except OSError:
                shutil.copyfile(file, partial / file.name)
        partial.rename(place)
        for path in list(self.kept().values())[: -self.keep]:
            discard(path)


def _weight_files(folder: Path) -> list[Path]:
    found = sorted(folder.glob("*.safetensors"))
    if not found:
        raise FileNotFoundError(f"{folder} holds no *.safetensors file; checkpoints are saved in this format.")
    return found
