"""Run under torchrun: a training that diverges on one process only stops on both; what each saw goes to a file."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))


def main(folder: Path) -> None:
    import math

    import torch
    from bias_case import make_pairs, make_trainer
    from transformers import Trainer, TrainerCallback

    from hf_fairness.trainers.training.stopping import DivergedError, stop_when_diverged

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
    # accelerate sets broadcast_buffers, which torch 2.13 renames (seen 2026-11).
    warnings.filterwarnings("ignore", message="`broadcast_buffers` is deprecated", category=FutureWarning)
    main(Path(sys.argv[1]))
    import torch.distributed

    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
