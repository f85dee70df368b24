"""A corpus of pairs with scores, small enough to check by hand."""

from __future__ import annotations

import pytest
from datasets import ClassLabel, Dataset, Features, Value


@pytest.fixture
def pairs() -> Dataset:
    """Ten pairs; the per-pair maxima are .0 .1 ... .9 in order, so the 50th percentile is .45."""
    rows = [
        ("It rains.", "The street is wet.", 0, 0.0, 0.0),
        ("He sleeps.", "A man rests.", 0, 0.1, 0.0),
        ("A dog runs.", "An animal moves.", 0, 0.0, 0.2),
        ("She reads.", "The woman has a book.", 1, 0.3, 0.1),
        ("People sit.", "Nobody stands.", 1, 0.2, 0.4),
        ("A nurse smiles.", "She is happy.", 0, 0.5, 0.1),
        ("A surfer falls.", "There is water.", 2, 0.1, 0.6),
        ("He plays football.", "A boy plays.", 0, 0.7, 0.7),
        ("She plays football.", "A girl plays.", 0, 0.8, 0.0),
        ("The actress sings.", "It is quiet.", 2, 0.9, 0.2),
    ]
    names = ("premise", "hypothesis", "label", "premise_bias_absolute", "hypothesis_bias_absolute")
    features = Features(
        {
            "premise": Value("string"),
            "hypothesis": Value("large_string"),
            "label": ClassLabel(names=["entailment", "neutral", "contradiction"]),
            "premise_bias_absolute": Value("float32"),
            "hypothesis_bias_absolute": Value("float64"),
        }
    )
    return Dataset.from_dict(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), features=features)
