"""Run under torchrun, or alone: trainers against a known bias on any number of processes; what happened to a file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from support.launch import run_script


def main(folder: Path) -> None:
    import numpy as np

    from hf_fairness.trainers import ConfRegTrainer, PoETrainer, ReweightTrainer, add_bias_log_probs
    from hf_fairness.trainers.training.pair_training import encode_rows
    from support.bias_case import known_bias, make_classifier, make_pairs, make_trainer, weights, with_columns

    processes = int(os.environ.get("WORLD_SIZE", "1"))
    rows = make_pairs(96)
    draws = np.random.default_rng(0).normal(size=(96, 3))
    teacher = 2 * draws - np.log(np.exp(2 * draws).sum(axis=1, keepdims=True))
    rows = with_columns(rows, bias_log_probs=known_bias(rows), teacher_log_probs=teacher)
    results = {}
    for name, trainer_class in {"poe": PoETrainer, "reweight": ReweightTrainer, "conf_reg": ConfRegTrainer}.items():
        options = {"per_device_train_batch_size": 12 // processes, "gradient_accumulation_steps": 2}
        trainer = make_trainer(trainer_class, rows, folder / name, num_train_epochs=2, **options)
        trainer.train()
        results[name] = {
            "processes": trainer.accelerator.num_processes,
            "losses": [entry["loss"] for entry in trainer.state.log_history if "loss" in entry],
            "weights": weights(trainer.model).tolist(),
            "eval": trainer.evaluate(encode_rows(make_pairs(24, seed=3), make_classifier()[1]))["eval_loss"],
        }
    model, tokenizer = make_classifier()
    kept = {"tokenizer": tokenizer, "distributed": True, "batch_size": 8, "cache_dir": folder / "kept"}
    added = add_bias_log_probs(make_pairs(50), model, **kept)
    results["column"] = added["bias_log_probs"][:]
    trainer.accelerator.wait_for_everyone()
    results["files"] = len(list((folder / "kept").iterdir()))
    if trainer.accelerator.is_main_process:
        (folder / "found.json").write_text(json.dumps(results))


if __name__ == "__main__":
    run_script(main, Path(sys.argv[1]))
