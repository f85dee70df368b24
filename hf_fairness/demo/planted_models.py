"""Tiny models for the planted world: a word tokenizer, a classifier and a generator with random weights.

They learn the world from a few thousand rows in seconds on one core. Their configurations are returned, not weights:
what opens them draws the weights with a seed of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hf_fairness.demo.planted import planted_words

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
#: Tokens of a pair with what a method writes around it.
MAX_LENGTH = 64


def planted_tokenizer(*, pairs: bool = True) -> Any:
    """A tokenizer that knows the words of the world and writes small letters.

    Args:
        pairs: put ``<s>`` and ``</s>`` around one text or two, as a classifier of pairs reads them; False leaves
            texts as they are, for a generator.

    Returns:
        A fast tokenizer with padding, beginning and end tokens.

    Example:
        >>> tokenizer = planted_tokenizer()
        >>> tokenizer.decode(tokenizer("Anna has cups .", "Ben has cups .")["input_ids"])
        '<s> anna has cups . </s> ben has cups . </s>'
    """
    return word_tokenizer(planted_words(), pairs=pairs)


def word_tokenizer(known: Sequence[str], *, pairs: bool = True) -> Any:
    """A tokenizer of whole words, written in small letters and with spaces between them.

    Args:
        known: the words.
        pairs: as for :func:`planted_tokenizer`.
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: place for place, word in enumerate([*SPECIAL, *known])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if pairs:
        words.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>",
            pair="<s> $A </s> $B:1 </s>:1",
            special_tokens=[(mark, vocabulary[mark]) for mark in ("<s>", "</s>")],
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        model_max_length=MAX_LENGTH,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", *(["token_type_ids"] if pairs else []), "attention_mask"],
    )


def planted_classifier(tokenizer: Any) -> Any:
    """Configuration of a classifier of pairs: BERT with two layers.

    Weights are drawn wider than BERT's and nothing is dropped: with a model as narrow as this, the words of two
    sentences are else hardly ever compared.

    Args:
        tokenizer: of :func:`planted_tokenizer`.
    """
    from transformers import BertConfig

    return BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=192,
        initializer_range=0.15,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=MAX_LENGTH,
        pad_token_id=tokenizer.pad_token_id,
    )


def planted_generator(tokenizer: Any) -> Any:
    """Configuration of a generator: GPT-2 with two layers.

    Wide weights and no dropout as in :func:`planted_classifier`: it else never learns to repeat a premise's words.

    Args:
        tokenizer: of :func:`planted_tokenizer` with ``pairs=False``.
    """
    from transformers import GPT2Config

    return GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=MAX_LENGTH,
        n_embd=64,
        n_layer=2,
        n_head=2,
        initializer_range=0.1,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
