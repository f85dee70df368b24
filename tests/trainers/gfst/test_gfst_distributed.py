"""The GFST command under torchrun: the first process filters and translates, both train, as one process alone does."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
from gfst_case import stages, weights

BATCH = 32


def test_two_processes_train_what_one_trains(run_in, initial, lexicon, parallel, texts, tmp_path):
    parallel.save_to_disk(str(tmp_path / "parallel"))
    texts.save_to_disk(str(tmp_path / "texts"))
    words = [
        "--model_name_or_path",
        initial,
        "--dataset",
        tmp_path / "parallel",
        "--monolingual_dataset",
        tmp_path / "texts",
    ]
    words += [
        "--lexicon",
        lexicon,
        "--output_dir",
        tmp_path / "both",
        "--target_lang",
        "it",
        "--arms",
        "none",
        "--use_cpu",
    ]
    words += [
        "--max_steps",
        6,
        "--warmup_steps",
        0,
        "--average_checkpoints",
        0,
        "--eval_strategy",
        "no",
        "--until",
        "train",
    ]
    words += ["--per_device_train_batch_size", BATCH // 2, "--max_pairs", 32, "--min_pairs", 5, "--num_beams", 1]
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "hf_fairness", "gfst"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        [sys.executable, *launch, *map(str, words)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.count("balanced, 32 of each group") == 1  # the first process alone prints
    run_in(tmp_path / "one", max_pairs=32, arms=["none"], until="train")
    made, alone = stages(tmp_path / "both"), stages(tmp_path / "one")
    assert all(stage["status"] == "done" for stage in made.values())
    for arm in ("train_gfst", "train_control"):
        assert made[arm]["result"]["steps"] == alone[arm]["result"]["steps"] == 6
        first, second = weights(tmp_path / "one", arm), weights(tmp_path / "both", arm)
        for name, value in first.items():
            np.testing.assert_allclose(second[name], value, rtol=1e-3, atol=1e-4, err_msg=f"{arm} {name}")
