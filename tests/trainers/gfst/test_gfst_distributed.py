"""The GFST command under torchrun: both processes translate and train what one process alone does."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import load_from_disk

from support.gfst_case import weights
from support.launch import launch
from support.manifest import stages

pytestmark = pytest.mark.whole

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
        "randst",
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
    printed = launch("hf_fairness", "gfst", *words, processes=2, timeout=300)
    assert printed.count("balanced, 32 of each group") == 1  # the first process alone prints
    run_in(tmp_path / "one", max_pairs=32, arms=["randst"], until="train")
    made, alone = stages(tmp_path / "both"), stages(tmp_path / "one")
    assert all(stage["status"] == "done" for stage in made.values())
    for stage in ("translate", "balance", "randst"):  # shared by both, in the order of one
        rows = [load_from_disk(str(tmp_path / folder / stage))[:] for folder in ("one", "both")]
        assert rows[0] == rows[1]
        assert len(set(rows[0]["target"])) > 20
        assert not (tmp_path / "both" / stage / "cache").exists()
    for arm in ("train_gfst", "train_control"):
        assert made[arm]["result"]["steps"] == alone[arm]["result"]["steps"] == 6
        first, second = weights(tmp_path / "one", arm), weights(tmp_path / "both", arm)
        for name, value in first.items():
            np.testing.assert_allclose(second[name], value, rtol=1e-3, atol=1e-4, err_msg=f"{arm} {name}")
