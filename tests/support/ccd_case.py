"""A tiny encoder for the tests of `hf-fairness ccd`, and quick settings."""

from __future__ import annotations

from pathlib import Path

from support.tiny_bert import save_tiny_bert

QUICK = ["--n_samples", "500", "--n_bootstrap", "100", "--use_cpu", "--report_to", "none", "--disable_tqdm", "True"]


def make_encoder(folder: Path, class_name: str = "BertModel") -> str:
    """Save a random BERT whose word pieces are letters, so that it reads any English text."""
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789.,;:!?'\"()-/$%&"]
    words = ["she", "he", "they", "her", "his", "their", "him", "them", "woman", "man", "sister", "brother", "the", "a"]
    pieces = [*letters, *(f"##{x}" for x in letters), *words]
    return save_tiny_bert(folder, pieces, class_name, max_length=128)
