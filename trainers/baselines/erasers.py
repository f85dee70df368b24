"""What baselines share that fit an eraser in closed form and put it behind the encoder as a layer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hf_fairness._processes import rows_shared
from hf_fairness.erasure import LinearMap, RankError, append_eraser, save_eraser
from hf_fairness.runs import discard
from hf_fairness.trainers.baselines.base import Baseline, Given
from hf_fairness.trainers.training.encoder import TrainableEncoder, save_encoder
from hf_fairness.utils import is_main_process

#: Name of the eraser's own file beside the model.
ERASER_FILE = "eraser.safetensors"


class ErasingBaseline(Baseline):
    """Fits an eraser on the vectors of the training rows' versions. A subclass says which."""

    trains: ClassVar[bool] = False
    seeded: ClassVar[bool] = False
    same_tokens: ClassVar[bool] = True

    @abstractmethod
    def erase(self, given: Given) -> tuple[LinearMap, Mapping[str, Any]]:
        """The eraser, and what a reader wants to know of it."""

    def fit(self, given: Given, folder: Path) -> Mapping[str, Any]:
        """Save the encoder with the eraser as its last layer, and the eraser as a file; all processes encode."""
        with rows_shared(cpu=given.config.use_cpu):
            eraser, told = self.erase(given)
        if is_main_process():
            encoder = given.copy()
            append_eraser(encoder.model, eraser)
            save_fitted(encoder, folder)
            save_eraser(eraser, folder / ERASER_FILE)
        return {"steps": 0, "n_train": len(given.rows), **told}


def save_fitted(encoder: TrainableEncoder, folder: Path) -> None:
    """Write a model whose fit has no steps to go on from: what a killed one left is replaced."""
    discard(folder / "model")
    save_encoder(encoder, folder / "model")


def group_vectors(given: Given) -> dict[str, NDArray[np.float32]]:
    """What the original says of the training rows, by group: row i of all groups is the same text."""
    return {group: given.original.encode(given.rows[group][:]) for group in given.groups}


def labelled_vectors(given: Given) -> tuple[NDArray[np.float32], list[str], list[int]]:
    """The same one below the other, with the group of each, and the row that it is a version of."""
    vectors = group_vectors(given)
    rows = list(range(len(given.rows)))
    labels = [group for group in vectors for _ in rows]
    return np.concatenate(list(vectors.values())), labels, rows * len(vectors)


@contextmanager
def option_for_k(name: str) -> Iterator[None]:
    """Within the block an error about the number of directions says which option sets it."""
    try:
        yield
    except RankError as error:
        raise ValueError(f"--{name}: {error}") from error


def check_ranges(config: Any, settings: type) -> None:
    """Refuse a setting that is out of the range that its class gives for it.

    Raises:
        ValueError: says which, and what was wanted.
    """
    for name, (low, high) in settings.RANGES.items():  # type: ignore[attr-defined]
        value = getattr(config, name)
        if not low <= value <= high:
            raise ValueError(f"--{name} is {value}, expected {low} to {high}.")
