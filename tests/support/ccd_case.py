"""A tiny encoder for the tests of `hf-fairness ccd`, and quick settings."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from support.tiny_bert import save_tiny_bert

QUICK = ["--n_samples", "500", "--n_bootstrap", "100", "--use_cpu", "--report_to", "none", "--disable_tqdm", "True"]


def make_encoder(folder: Path, class_name: str = "BertModel") -> str:
    """Save a random BERT whose word pieces are letters, so that it reads any English text."""
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789.,;:!?'\"()-/$%&"]
    words = ["she", "he", "they", "her", "his", "their", "him", "them", "woman", "man", "sister", "brother", "the", "a"]
    pieces = [*letters, *(f"##{x}" for x in letters), *words]
    return save_tiny_bert(folder, pieces, class_name, max_length=128)


def fewer_texts(patch: Any) -> None:
    """Audits without SEAT and with 100 of the unrelated pairs: their thousands of texts are not the point here.

    Args:
        patch: a ``pytest.MonkeyPatch``.
    """
    # By their names one gets the functions.
    modules = [importlib.import_module(f"hf_fairness.measure.{name}") for name in ("audit", "encoder.utility")]
    few = modules[1].unrelated_pairs()[:100]
    patch.setattr(modules[0], "built_in_tests", lambda attribute: [])
    for module in modules:
        patch.setattr(module, "unrelated_pairs", lambda: few)


def make_given(model: str, rows: Any, out: Path, **settings: Any) -> Any:
    """What a method of `hf-fairness compare` begins with; settings are those of its config."""
    from hf_fairness.attributes import load_attribute
    from hf_fairness.encoders import as_encoder
    from hf_fairness.trainers.baselines.base import Given
    from hf_fairness.trainers.compare.arguments import CompareConfig
    from hf_fairness.trainers.training.encoder import open_encoder

    quick = {"use_cpu": True, "report_to": "none", "disable_tqdm": True, "logging_steps": 1, "learning_rate": 1e-3}
    config = CompareConfig(output_dir=str(out), **{**quick, "per_device_train_batch_size": 16, **settings})
    encoder = open_encoder(model, config)
    original, attribute = as_encoder(encoder.model), load_attribute("gender")
    return Given(encoder, original, rows, None, attribute.group_names, attribute, config, rows_key=str(len(rows)))
