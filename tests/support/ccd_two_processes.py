"""Run under torchrun, or alone: the same CCD training on any number of processes, losses to a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from support.launch import run_script


def train(model: str, data: str, output: str, batch_size: int, mode: str) -> None:
    from datasets import load_from_disk

    from hf_fairness.trainers import CCDConfig, CCDTrainer

    rows = load_from_disk(data)
    args = CCDConfig(
        output_dir=output,
        use_cpu=True,
        per_device_train_batch_size=batch_size,
        per_device_eval_batch_size=16,
        num_train_epochs=5,
        logging_steps=1,
        eval_steps=10,
        report_to="none",
        disable_tqdm=True,
        use_peft=mode == "lora",
        learning_rate=1e-3 if mode == "lora" else 5e-5,
    )
    trainer = CCDTrainer(model, args, rows.select(range(64)), rows.select(range(64, 96)))
    trainer.train()
    trainer.save_model()
    trainer.accelerator.wait_for_everyone()
    found = {
        "processes": trainer.accelerator.num_processes,
        "rho": trainer.kernel.rho,
        "history": list(trainer.state.log_history),
        "final": trainer.evaluate()["eval_loss"],
    }
    if trainer.accelerator.is_main_process:
        Path(output, "found.json").write_text(json.dumps(found))


def main(model: str, data: str, *rest: str) -> None:
    """Several runs in one launch: importing the stack costs more than they do."""
    while rest:
        output, batch_size, mode, *rest = rest
        train(model, data, output, int(batch_size), mode)


if __name__ == "__main__":
    run_script(main, *sys.argv[1:])
