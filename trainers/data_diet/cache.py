"""Scores that are computed once: files in the output folder of a run, named by all that the scores depend on."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from torch import nn
from transformers import TrainingArguments

from hf_fairness.measure.model_keys import tokenizer_key, weights_key
from hf_fairness.runs import atomic_write_bytes, content_key, remove_left_overs
from hf_fairness.trainers.data_diet.config import DataDietSettings
from hf_fairness.trainers.data_diet.pruned import PairedRows, Scores, pack_arrays, score_names, unpack_arrays

logger = logging.getLogger(__name__)

#: Part of the name of every file of scores; raise it when their computation changes.
VERSION = 1
#: Folder of the scores in the output folder of a run.
FOLDER = "data_diet"
#: Training arguments that do not change what a short run learns.
NO_MATTER = (
    "output_dir", "run_name", "project", "seed", "logging_", "log_", "report_to", "trackio", "disable_tqdm", "debug",
    "push_to_hub", "hub_", "save_", "eval_", "per_device_eval", "batch_eval", "prediction_loss", "include_", "do_",
    "load_best", "metric_for", "greater_is", "resume_from", "restore_", "ignore_data_skip", "enable_jit_checkpoint",
    "dataloader_num", "dataloader_pin", "dataloader_pers", "dataloader_pre", "skip_memory_metrics",
)  # fmt: skip


def scores_path(
    args: TrainingArguments, rows: PairedRows, settings: DataDietSettings, tokenizer: Any, model: nn.Module, *more: Any
) -> Path:
    """File in the output folder for the scores of this model on these rows, named by all that they depend on."""
    key = content_key(
        VERSION,
        rows.key,
        score_names(settings),
        [settings.score_on, settings.score_after_epochs, settings.max_length],
        tokenizer_key(tokenizer),
        weights_key(model),
        more,
    )
    return Path(args.output_dir, FOLDER, f"scores-{key}.npz")


def remembered(path: Path, compute: Callable[[], Scores]) -> Scores:
    """Read scores from a file, or compute and write them; the main process decides for all, and all get the same."""
    main = PartialState().is_main_process
    found: list[Any] = [None]
    if main and path.is_file():
        try:
            found = [unpack_arrays(path.read_bytes())]
            logger.info("Scores are taken from %s.", path)
        except ValueError as error:
            logger.warning("%s is computed again: %s.", path, error)
    broadcast_object_list(found)
    if found[0] is None:
        found = [compute()]
        broadcast_object_list(found)
        if main:
            atomic_write_bytes(path, pack_arrays(found[0]))
            remove_left_overs(path.parent, shared=True)
    scores: Scores = found[0]
    return scores


def arguments_key(args: TrainingArguments) -> str:
    """Content key of the training arguments that matter for what is learned, and of the number of processes."""
    settings = DataDietSettings().diet()
    matter = {k: v for k, v in args.to_dict().items() if not k.startswith(NO_MATTER) and k not in settings}
    return content_key(json.dumps(matter, sort_keys=True, default=str), args.world_size)
