"""Rows and arguments of the short runs in which a callback prunes."""

from __future__ import annotations

import pytest
import torch
from transformers import TrainingArguments

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
