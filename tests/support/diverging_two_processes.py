"""Run under torchrun: a training that diverges on one process only stops on both; what each saw goes to a file."""

from __future__ import annotations

import sys
from pathlib import Path

from support.launch import run_script


def main(folder: Path) -> None:
    import math

    import torch
    from transformers import Trainer, TrainerCallback

    from hf_fairness.trainers.training.stopping import DivergedError, stop_when_diverged
    from support.bias_case import make_pairs, make_trainer

    class BreakOne(TrainerCallback):
        """Before the second step ends, one process alone has a weight that is no number."""

        def on_optimizer_step(self, args, state, control, model=None, **kwargs):
            if state.global_step == 1 and args.process_index == 1:
                with torch.no_grad():
                    next(model.parameters()).flatten()[0] = math.nan

    options = {"per_device_train_batch_size": 4, "max_steps": 5, "save_strategy": "steps", "save_steps": 1}
    trainer = make_trainer(Trainer, make_pairs(48), folder / "out", own={"callbacks": [BreakOne()]}, **options)
    assert trainer.accelerator.num_processes == 2
    try:
        stop_when_diverged(trainer).train()
    except DivergedError as error:
        (folder / f"{trainer.args.process_index}.txt").write_text(str(error))
    trainer.accelerator.wait_for_everyone()


if __name__ == "__main__":
    run_script(main, Path(sys.argv[1]))
