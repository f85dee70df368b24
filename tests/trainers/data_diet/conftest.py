"""Rows and arguments of the short runs in which a callback prunes; one whole search for many checks."""

from __future__ import annotations

import warnings

import pytest
import torch
from transformers import TrainingArguments

from hf_fairness.trainers import run_data_diet
from support import diet_world
from support.data_diet_case import BATCH, long_rows, make_classifier, tokenize


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def rows():
    return tokenize(long_rows(), make_classifier()[1])


@pytest.fixture
def arguments(tmp_path):
    """Makes training arguments for a short run on the CPU."""

    def make(**settings):
        defaults = {
            "output_dir": str(tmp_path / "out"),
            "per_device_train_batch_size": BATCH,
            "num_train_epochs": 3,
            "learning_rate": 1e-3,
            "logging_steps": 1,
            "save_strategy": "no",
            "use_cpu": True,
            "disable_tqdm": True,
            "report_to": "none",
            "dataloader_pin_memory": False,
        }
        return TrainingArguments(**{**defaults, **settings})

    return make


@pytest.fixture(scope="session")
def encoder(tmp_path_factory) -> str:
    return diet_world.vectors(tmp_path_factory.mktemp("vectors") / "words.txt")


@pytest.fixture(scope="session")
def found(encoder, tmp_path_factory):
    """One whole search."""
    settings = diet_world.arguments(encoder, tmp_path_factory.mktemp("search") / "out")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*the choice fell on b = 0")
        return run_data_diet(
            settings, diet_world.rows(1200, 0), validation=diet_world.rows(400, 1), test=diet_world.rows(600, 2)
        )
