"""Small random encoders and triples: no downloads, a second per training."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from datasets import Dataset

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


def make_tokenizer():
    """Word-piece tokenizer whose vocabulary is the words of the triples."""
    from transformers import BertTokenizerFast

    words = sorted({word for column in make_triples()[:].values() for text in column for word in text.split()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return BertTokenizerFast(vocab={word: index for index, word in enumerate(special + words)})


def make_model(folder: Path, class_name: str = "BertModel", seed: int = 0) -> str:
    """Save a random BERT of 2 layers, width 32, with its tokenizer; returns the folder."""
    import transformers

    tokenizer = make_tokenizer()
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.3,  # at the usual .02 all texts of a random model are embedded alike
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = getattr(transformers, class_name)(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


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
