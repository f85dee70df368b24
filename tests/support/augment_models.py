"""Tiny models for the tests of `hf-fairness augment`: what each writes is known."""

from __future__ import annotations

from pathlib import Path


def save_filler(folder: Path) -> str:
    """A masked language model that fills in *snow* wherever it is asked."""
    import torch

    from support.tiny_bert import tiny_bert

    model, tokenizer = tiny_bert(["rain", "snow", "."], "BertForMaskedLM")
    with torch.no_grad():
        model.cls.predictions.bias[tokenizer.convert_tokens_to_ids("snow")] = 100.0
    for part in (model, tokenizer):
        part.save_pretrained(folder)
    return str(folder)


def save_translator(folder: Path, word: str = "") -> str:
    """A translator that makes the word *rain* or *snow* of every text, or nothing."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

    vocabulary = {"<pad>": 0, "</s>": 1, "<unk>": 2, "rain": 3, "snow": 4}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    sizes = {f"{side}_{kind}": 1 for side in ("encoder", "decoder") for kind in ("layers", "attention_heads")}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": None}
    config = MarianConfig(vocab_size=5, d_model=8, encoder_ffn_dim=8, decoder_ffn_dim=8, **sizes, **ids)
    model = MarianMTModel(config)
    model.generation_config.forced_bos_token_id = vocabulary[word] if word else None
    with torch.no_grad():  # ends every translation at once
        model.final_logits_bias[0, 1] = 1000.0
    for part in (model, tokenizer):
        part.save_pretrained(folder)
    return str(folder)


def save_chat_model(folder: Path) -> str:
    """A chat model with random weights that reads any text and writes nonsense."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    characters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<s>": 0, "</s>": 1, **{character: i for i, character in enumerate(characters, 2)}}
    core = Tokenizer(models.BPE(vocabulary, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>", pad_token="</s>")
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}"
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=8192,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return str(folder)
