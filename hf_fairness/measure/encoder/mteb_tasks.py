"""Tasks of MTEB for encoders of this package: opened before anything is trained, asked of any encoder.

Source: Muennighoff et al. 2023, *MTEB: Massive Text Embedding Benchmark*; tasks and scores are those of the package
``mteb``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hf_fairness.encoders import BaseEncoder
from hf_fairness.utils import require


def open_mteb_tasks(tasks: Sequence[Any]) -> list[Any]:
    """Tasks with their data.

    Args:
        tasks: names that `mteb.get_task` knows, or tasks: objects of a subclass of its ``AbsTask``.

    Returns:
        The tasks, whose data are loaded: from the Hub, from its cache, or as a class of your own does it.

    Raises:
        ImportError: mteb is not installed; the message holds the pip command.
        ValueError: a name that mteb does not know, a task of something else than texts, two of one name, or one whose
            data are not there.
    """
    if not tasks:
        return []
    mteb, found = require("mteb"), dict[str, Any]()
    for given in tasks:
        try:
            task = mteb.get_task(given) if isinstance(given, str) else given
        except KeyError as error:
            raise ValueError(f"--mteb_tasks: {str(error.args[0]).removeprefix('KeyError: ')}") from error
        name = str(task.metadata.name)
        if name in found:
            raise ValueError(f"--mteb_tasks names {name} twice: give each task once.")
        if list(task.metadata.modalities) != ["text"]:
            raise ValueError(
                f"--mteb_tasks {name} is about {', '.join(task.metadata.modalities)}, expected text alone."
            )
        try:
            task.load_data()
        except Exception as error:  # of whatever the task reads them by
            why = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise ValueError(
                f"--mteb_tasks {name}: its data are not there: {why}. mteb reads them from the Hub or from its cache: "
                "load them once where there is a network, or leave the task out."
            ) from error
        found[name] = task
    return list(found.values())


def mteb_score(task: Any, encoder: BaseEncoder) -> dict[str, Any]:
    """What an encoder reaches in a task.

    Texts are embedded as they are, without the prompts that some models have for tasks.

    Args:
        task: of :func:`open_mteb_tasks`.
        encoder: gives the embeddings.

    Returns:
        ``main_score``: the one that mteb ranks by, a mean over the task's splits, languages and subsets; higher is
        better, 1 is the most. ``splits``: names of the splits.

    Raises:
        ValueError: the score is no number.
    """
    mteb = require("mteb")
    result = mteb.evaluate(
        _Asked(encoder), task, cache=None, co2_tracker=False, show_progress_bar=False, encode_kwargs={"batch_size": 256}
    ).task_results[0]
    score = float(result.get_score())
    if not math.isfinite(score):
        raise ValueError(f"--mteb_tasks {task.metadata.name}: {task.metadata.main_score} is {score}.")
    return {"main_score": score, "splits": list(result.eval_splits)}


def mteb_key(task: Any) -> list[Any]:
    """What stands for a task among the inputs of stages: its name, the revision of its data, what of it is asked."""
    about = task.metadata
    asked = [list(about.eval_splits), sorted(map(str, task.hf_subsets or []))]
    return [about.name, str(about.dataset.get("revision")), *asked, require("mteb").__version__]


class _Asked:
    """An encoder of this package as mteb asks it."""

    def __init__(self, encoder: BaseEncoder) -> None:
        self.encoder = encoder
        self.mteb_model_meta = require("mteb.models.model_meta").ModelMeta.create_empty()
        functions = require("mteb.similarity_functions")
        self.similarity, self.similarity_pairwise = functions.cos_sim, functions.pairwise_cos_sim

    def encode(self, inputs: Any, **about: Any) -> Any:
        """Vectors of the texts of all batches, shape (n, d)."""
        return self.encoder.encode([text for batch in inputs for text in batch["text"]])
