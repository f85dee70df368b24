"""Run under torchrun, or alone: pruned runs, whole and resumed, on any number of processes; what happened to a file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from support.launch import run_script

GLOBAL_BATCH = 24  # divides the 120 rows and the 72 examples


def searched(folder: Path) -> dict[str, Any]:
    """Two fast searches with the encoder of a folder: what was encoded, where, and what came of it."""
    from accelerate.utils import gather_object

    from hf_fairness.encoders import TransformersEncoder
    from hf_fairness.trainers import run_data_diet
    from hf_fairness.trainers.training.remembered import unpack_arrays
    from hf_fairness.utils import warned_elsewhere
    from support.diet_world import QUICK, arguments, rows

    whole, counted = TransformersEncoder._encode, list[int]()

    def counting(self: Any, texts: list[str]) -> Any:
        counted.append(len(texts))
        return whole(self, texts)

    TransformersEncoder._encode = counting  # type: ignore[method-assign]
    try:
        for name in ("first", "second"):
            told = {**QUICK, "features_cache": str(folder / "cache"), "use_cpu": True}
            with warned_elsewhere():  # the world is tiny
                run_data_diet(
                    arguments(str(folder / "encoder"), folder / name, **told),
                    rows(120, 0),
                    validation=rows(60, 1),
                    test=rows(60, 2),
                )
    finally:
        TransformersEncoder._encode = whole  # type: ignore[method-assign]
    return {
        "encoded": gather_object([sum(counted)]),
        "features": np.load(folder / "first" / "features" / "features.npy").tolist(),
        "ge": [
            unpack_arrays((folder / name / "scores" / "scores.npz").read_bytes())["ge"].tolist()
            for name in ("first", "second")
        ],
    }


def main(folder: Path) -> None:
    from accelerate.utils import gather_object
    from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

    from hf_fairness.trainers import DataDietConfig, DataDietTrainer, GEPruningCallback
    from support.data_diet_case import long_rows, make_classifier, tokenize

    _, tokenizer = make_classifier()
    rows = tokenize(long_rows(), tokenizer)
    numbers = {tuple(ids): row for row, ids in enumerate(rows["input_ids"])}
    settings = {"num_train_epochs": 3, "learning_rate": 1e-3, "logging_steps": 1, "save_strategy": "steps"}
    settings |= {"use_cpu": True, "disable_tqdm": True, "report_to": "none", "dataloader_pin_memory": False}
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    settings |= {"per_device_train_batch_size": GLOBAL_BATCH // processes}

    def losses(trainer):
        return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]

    def run(name, mode, checkpoint=None, *, dropout, seed=0, **more):
        """One training; ``found`` holds what each process and all of them saw."""
        seen = []

        class Recorder(DataCollatorWithPadding):
            def __call__(self, features):
                seen.extend(numbers[tuple(feature["input_ids"])] for feature in features)
                return super().__call__(features)

        model, _ = make_classifier(seed=seed, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
        model.accepts_loss_kwargs = False  # else Trainer multiplies its loss by the number of processes
        args = TrainingArguments(output_dir=str(folder / name), **{**settings, **more})
        callback = GEPruningCallback(rows, mode=mode)
        trainer = Trainer(
            model=model,
            args=args,
            train_dataset=rows,
            processing_class=tokenizer,
            data_collator=Recorder(tokenizer),
            callbacks=[callback],
        )
        trainer.train(resume_from_checkpoint=checkpoint)
        live = next(each for each in trainer.callback_handler.callbacks if isinstance(each, GEPruningCallback))
        found = {
            "processes": trainer.accelerator.num_processes,
            "steps": trainer.state.global_step,
            "losses": losses(trainer),
            "seen": gather_object([seen]),
            "kept": gather_object([live.pruned.rows.tolist()]),
            "ge": gather_object([live.pruned.scores["ge"].tolist()]),
            "weights": gather_object([[v.flatten().tolist() for v in trainer.model.state_dict().values()]]),
        }
        return trainer, found

    results = {}
    # Dropout on, two steps an epoch by accumulation; saved in the middle of the second epoch.
    hard = {"dropout": 0.1, "gradient_accumulation_steps": 3, "save_steps": 3}
    _, results["whole"] = run("whole", "continue", **hard)
    restored = {"restore_callback_states_from_checkpoint": True}
    checkpoint = str(folder / "whole" / "checkpoint-3")
    trainer, results["resumed"] = run("resumed", "continue", checkpoint, seed=1, **hard, **restored)
    # Dropout off, so that one and two processes train alike.
    trainer, results["restart"] = run("restart", "restart", dropout=0.0, save_steps=500)

    model, _ = make_classifier(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    fractions = {"factual_fraction": 1 / 2, "counterfactual_fraction": 1 / 4}  # 36 and 12 rows: two global batches
    config = DataDietConfig(output_dir=str(folder / "diet"), seed=0, **fractions, **settings)
    diet = DataDietTrainer(model, config, train_dataset=long_rows(), processing_class=tokenizer)
    diet.train()
    results["diet"] = {
        "losses": losses(diet),
        "kept": gather_object([diet.pruned.rows.tolist()]),
        "ge": gather_object([diet.pruned.scores["ge"].tolist()]),
        "files": len(list((folder / "diet" / "data_diet").iterdir())),
    }
    results["search"] = searched(folder)
    if trainer.accelerator.is_main_process:
        (folder / "found.json").write_text(json.dumps(results))


if __name__ == "__main__":
    run_script(main, Path(sys.argv[1]))
