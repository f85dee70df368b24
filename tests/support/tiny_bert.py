"""BERTs of a few words with random weights, for tests that need one and no download."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def tiny_tokenizer(words: Iterable[str], *, max_length: int = 64) -> Any:
    """Word-piece tokenizer that writes small letters and knows these words (``"##s"``: a piece inside a word)."""
    from transformers import BertTokenizerFast

    vocabulary = {word: i for i, word in enumerate(dict.fromkeys([*SPECIAL, *words]))}
    return BertTokenizerFast(vocab=vocabulary, model_max_length=max_length)


def tiny_bert(
    words: Iterable[str], class_name: str = "BertModel", *, max_length: int = 64, seed: int = 0, **config: Any
) -> tuple[Any, Any]:
    """Model in eval mode and its tokenizer.

    Args:
        words: Vocabulary after the special tokens, in the order of the ids.
        class_name: ``"BertModel"``, ``"BertForMaskedLM"``, ``"BertForSequenceClassification"`` ...
        max_length: Positions, in tokens.
        seed: Of the weights; the global generator is left alone.
        config: Further entries of ``BertConfig``, as ``num_labels=3`` or ``hidden_size=16``.
    """
    import torch
    import transformers

    tokenizer = tiny_tokenizer(words, max_length=max_length)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    sizes |= {"vocab_size": len(tokenizer), "max_position_embeddings": max_length}
    spread = {"initializer_range": 0.3}  # at the usual .02 all texts of a random model are embedded alike
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = getattr(transformers, class_name)(transformers.BertConfig(**{**sizes, **spread, **config}))
    return model.eval(), tokenizer


def save_tiny_bert(folder: str | Path, words: Iterable[str], class_name: str = "BertModel", **options: Any) -> str:
    """Write model and tokenizer into a folder; options of :func:`tiny_bert`. Returns the folder."""
    for part in tiny_bert(words, class_name, **options):
        part.save_pretrained(folder)
    return str(folder)
