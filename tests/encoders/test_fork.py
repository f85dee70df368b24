"""A model in `datasets.map(num_proc=2)` after the parent has used it: a fork takes over no threads of torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.whole

SCRIPT = """
import sys
import numpy as np
import torch
from datasets import Dataset, disable_progress_bars
from hf_fairness.measure import BiasScore, bias_direction

disable_progress_bars()
torch.set_num_threads(2)
texts = ["The nurse met the engineer at the office of the mayor.", "Rain."] * 8
torch.rand(600, 600) @ torch.rand(600, 600)  # starts the threads
direction = bias_direction(sys.argv[1], texts=["She left.", "He is a king.", "Her aunt came.", "A boy ran."] * 8)
rows = Dataset.from_dict({"text": texts})
function = BiasScore("text", sys.argv[1], direction=direction)
one, two = (rows.map(function, batched=True, num_proc=n, load_from_cache_file=False) for n in (None, 2))
gap = np.abs(np.array(one["text_bias_absolute"]) - np.array(two["text_bias_absolute"])).max()
print(gap < 1e-6, min(one["text_bias_absolute"]) > 0)
"""


def test_forked_processes_finish_and_agree(minilm_path):
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, minilm_path]
    run = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert run.stdout.split() == ["True", "True"], run.stderr
