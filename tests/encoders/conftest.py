"""Small transformers models, made on the spot."""

from __future__ import annotations

import pytest

from support.tiny_bert import tiny_bert, tiny_tokenizer

WORDS = [
    "the",
    "a",
    "man",
    "woman",
    "he",
    "she",
    "works",
    "at",
    "home",
    "office",
    "teacher",
    "is",
    "here",
    "there",
    ".",
    "one",
    "two",
    "three",
    "four",
]


@pytest.fixture(scope="session")
def tokenizer():
    return tiny_tokenizer(WORDS, max_length=16)


@pytest.fixture(scope="session")
def bert():
    return tiny_bert(WORDS, hidden_size=16, intermediate_size=32, max_length=16)[0]


@pytest.fixture(scope="session")
def bert_config(bert):
    return bert.config
