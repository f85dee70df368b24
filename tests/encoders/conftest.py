"""Small transformers models, made on the spot."""

from __future__ import annotations

import pytest

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
    from transformers import BertTokenizer

    vocab = {token: i for i, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    return BertTokenizer(vocab=vocab, model_max_length=16)


@pytest.fixture(scope="session")
def bert_config(tokenizer):
    from transformers import BertConfig

    return BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
    )


@pytest.fixture(scope="session")
def bert(bert_config):
    import torch
    from transformers import BertModel

    torch.manual_seed(0)
    return BertModel(bert_config).eval()
