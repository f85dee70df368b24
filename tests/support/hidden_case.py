"""What methods that train hidden states begin with, in tests and in processes of their own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hf_fairness.attributes import load_attribute
from hf_fairness.encoders import as_encoder
from hf_fairness.trainers.baselines import baseline
from hf_fairness.trainers.baselines.base import Given
from hf_fairness.trainers.compare.arguments import CompareConfig
from hf_fairness.trainers.training.encoder import open_encoder
from support.launch import run_script


def given_of(model: Any, rows: Any, validation: Any, folder: Path, attribute: Any = "gender", **settings: Any) -> Given:
    """What a method begins with, for a short run on the CPU."""
    quick = {"per_device_train_batch_size": 16, "learning_rate": 1e-3, "logging_steps": 1, "use_cpu": True}
    config = CompareConfig(
        **{**quick, "output_dir": str(folder), "disable_tqdm": True, "report_to": "none", **settings}
    )
    if validation is None:
        config.eval_strategy = "no"
    encoder, attribute = open_encoder(model, config), load_attribute(attribute)
    original = as_encoder(encoder.model, device="cpu", show_progress=False)
    return Given(encoder, original, rows, validation, attribute.group_names, attribute, config)


def main(model: str, data: str, output: str, batch_size: str) -> None:
    """Every method in turn, on any number of processes; what each told goes to a file."""
    from accelerate import PartialState
    from datasets import load_from_disk

    rows, found = load_from_disk(data), {}
    for name, more in (("dpce", {}), ("adept", {}), ("adept-lora", {"use_peft": True})):
        folder = Path(output, name)
        settings = {"per_device_train_batch_size": int(batch_size), "per_device_eval_batch_size": int(batch_size)}
        given = given_of(model, rows.select(range(64)), rows.select(range(64, 96)), folder, **settings, **more)
        found[name] = dict(baseline(name.split("-")[0]).fit(given, folder))
    state = PartialState()
    if state.is_main_process:
        Path(output, "found.json").write_text(json.dumps({"processes": state.num_processes, **found}))


if __name__ == "__main__":
    run_script(main, *sys.argv[1:])
