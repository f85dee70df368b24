"""Run under torchrun, or alone: the same continued trainings on any number of processes, what was told to a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from support.ccd_case import make_given
from support.launch import run_script


def main(output: str, data: str, batch_size: str, *models: str) -> None:
    """CDA of each model; one without dropout is contrastive, and draws nothing."""
    from datasets import load_from_disk

    from hf_fairness.trainers.baselines import baseline

    rows, told = load_from_disk(data), []
    for number, model in enumerate(models):
        settings: dict[str, Any] = {"num_train_epochs": 2, "per_device_train_batch_size": int(batch_size)}
        folder = Path(output, str(number))
        made = make_given(model, rows, folder / "out", **settings)
        told.append(baseline("cda").fit(made, folder))
        if made.config.process_index == 0:
            Path(output, "told.json").write_text(json.dumps(told))


if __name__ == "__main__":
    run_script(main, *sys.argv[1:])
