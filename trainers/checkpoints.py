"""Finding the checkpoint to go on from."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

logger = logging.getLogger(__name__)


def last_whole_checkpoint(output_dir: str | Path) -> str | None:
    """The newest checkpoint that was written to its end.

    The Trainer writes the state of the run last, so a checkpoint whose state can not be read is one that a killed
    process left half written. `transformers.trainer_utils.get_last_checkpoint` would return it.

    Args:
        output_dir: folder with ``checkpoint-<step>`` folders; it may be missing.

    Returns:
        Path of the checkpoint, or None where there is none.
    """
    found = []
    for folder in Path(output_dir).glob(f"{PREFIX_CHECKPOINT_DIR}-*"):
        step = folder.name.rpartition("-")[2]
        if step.isdigit():
            found.append((int(step), folder))
    for _, folder in sorted(found, reverse=True):
        try:
            json.loads((folder / TRAINER_STATE_NAME).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            logger.warning("%s is incomplete and is passed over.", folder)
            continue
        return str(folder)
    return None
