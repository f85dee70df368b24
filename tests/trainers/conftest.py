"""Small random encoders and triples: no downloads, a second per training."""

from __future__ import annotations

from pathlib import Path

import pytest
from datasets import Dataset

from support.tiny_bert import save_tiny_bert

JOBS = [
    "nurse",
    "doctor",
    "teacher",
    "engineer",
    "pilot",
    "farmer",
    "judge",
    "baker",
    "lawyer",
    "clerk",
    "plumber",
    "singer",
]
FRAMES = [
    "the {job} said that {they} was tired",
    "every day {they} works as a {job} in the city",
    "i think {they} will become a {job} after the exam",
    "when the {job} came home {they} cooked dinner for the whole family",
    "nobody knew that {they} had once been a {job}",
    "as a {job} {they} earns a good salary",
    "my neighbour is a {job} and {they} likes gardening",
    "the {job} lost the keys before {they} left",
]
PRONOUNS = {"male": "he", "female": "she", "neutral": "they"}


def make_triples() -> Dataset:
    """96 rows with a text per group and a neutral one, in a fixed mixed order."""
    rows = [
        {name: frame.format(job=job, they=word) for name, word in PRONOUNS.items()} for frame in FRAMES for job in JOBS
    ]
    return Dataset.from_list(rows).shuffle(seed=0).flatten_indices()


def make_model(folder: Path, class_name: str = "BertModel") -> str:
    """Save a random BERT that knows the words of the triples, with its tokenizer; returns the folder."""
    words = sorted({word for column in make_triples()[:].values() for text in column for word in text.split()})
    return save_tiny_bert(folder, words, class_name)


@pytest.fixture(scope="session")
def triples() -> Dataset:
    return make_triples()


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory) -> str:
    return make_model(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="session")
def tiny_mlm(tmp_path_factory) -> str:
    return make_model(tmp_path_factory.mktemp("mlm"), "BertForMaskedLM")


@pytest.fixture
def config(tmp_path):
    """Makes a `CCDConfig` for a short run on the CPU."""
    from hf_fairness.trainers import CCDConfig

    def make(**settings):
        defaults = {
            "output_dir": str(tmp_path / "out"),
            "per_device_train_batch_size": 16,
            "learning_rate": 1e-3,
            "logging_steps": 1,
            "use_cpu": True,
            "disable_tqdm": True,
            "report_to": "none",
        }
        return CCDConfig(**{**defaults, **settings})

    return make
