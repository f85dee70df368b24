"""Run under torchrun, or alone: importance scores on any number of processes, written by each of them."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

warnings.simplefilter("error")  # what pytest does for its own process


def main(model: str, data: str, output: str) -> None:
    import numpy as np
    from accelerate import Accelerator
    from datasets import load_from_disk

    from hf_fairness.measure.classifier.importance import example_scores, logits_of
    from hf_fairness.measure.classifier.pairs import read_pairs

    accelerator = Accelerator(cpu=True)
    rows = load_from_disk(data)
    pairs = read_pairs(rows)
    found = example_scores(model, rows, pairs, names=("ge", "el2n", "grand", "correct"), batch_size=4, chunk_size=2)
    found["logits"] = logits_of(model, pairs.texts(rows), batch_size=4)
    found["one batch"] = logits_of(model, pairs.texts(rows)[:3])  # the second process has none
    found["own"] = logits_of(model, pairs.texts(rows)[accelerator.process_index :], distributed=False)[:1]
    name = f"{accelerator.num_processes}-{accelerator.process_index}.npz"
    np.savez(Path(output, name), processes=accelerator.num_processes, **found)
    accelerator.end_training()


if __name__ == "__main__":
    main(*sys.argv[1:])
    import torch.distributed

    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
