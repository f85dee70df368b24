"""Run under torchrun, or alone: importance scores on any number of processes, written by each of them."""

from __future__ import annotations

import sys
from pathlib import Path

from support.launch import run_script


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


if __name__ == "__main__":
    run_script(main, *sys.argv[1:])
