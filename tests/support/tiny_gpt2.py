"""A causal language model of a few words with random weights, for tests that need one and no download."""

from __future__ import annotations

WORDS = [
    "<s>",
    "she",
    "he",
    "her",
    "his",
    "saw",
    "dog",
    "the",
    "a",
    "cat",
    "and",
    "ran",
    "far",
    "away",
    "mother",
    "father",
    ",",
    ".",
    "it",
    "is",
]


def save_tiny_gpt2(folder: str) -> str:
    """Write model and tokenizer into a folder; the words are far from equally likely."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate([*WORDS, "<unk>"])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", unk_token="<unk>").save_pretrained(folder)
    config = GPT2Config(
        vocab_size=len(vocabulary), n_positions=24, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    model = GPT2LMHeadModel(config)
    generator = torch.Generator().manual_seed(0)
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.data.normal_(0.0, 0.24, generator=generator)
    model.save_pretrained(folder)
    return folder
