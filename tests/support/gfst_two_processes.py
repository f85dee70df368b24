"""Run under torchrun, or alone: the same training of a translator on any number of processes, weights to a file."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from support.launch import run_script


def main(output: str | Path) -> None:
    from accelerate import PartialState
    from accelerate.utils import gather_object

    from hf_fairness.trainers import GFSTConfig, train_translator
    from support.toy_translator import toy_model, toy_rows, toy_tokenizer

    state = PartialState(cpu=True)
    tokenizer, rows, dev = toy_tokenizer(), toy_rows(160), toy_rows(32, start=160)

    def run(name: str, *, resume: bool = False):
        args = GFSTConfig(
            output_dir=str(Path(output, name)),
            use_cpu=True,
            disable_tqdm=True,
            per_device_train_batch_size=32 // state.num_processes,
            per_device_eval_batch_size=16,
            max_steps=8,
            learning_rate=5e-3,
            warmup_steps=2,
            logging_steps=1,
            eval_strategy="steps",
            eval_steps=2,
            save_strategy="steps",
            save_steps=2,
            save_total_limit=None,
            average_checkpoints=2,
        )
        model, history = train_translator(toy_model(tokenizer), tokenizer, rows, args, eval_dataset=dev, resume=resume)
        sums = {key: float(value.double().sum()) for key, value in model.state_dict().items()}
        return {"history": history, "weights": gather_object([sums])}

    found = {"processes": state.num_processes, "whole": run("whole")}
    if state.is_main_process:  # as a killed run leaves it: in the middle of an epoch of five steps
        Path(output, "resumed").mkdir()
        shutil.copytree(Path(output, "whole", "checkpoint-4"), Path(output, "resumed", "checkpoint-4"))
    state.wait_for_everyone()
    found["resumed"] = run("resumed", resume=True)
    if state.is_main_process:
        Path(output, "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    run_script(main, sys.argv[1])
