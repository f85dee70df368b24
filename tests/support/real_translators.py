"""Tiny translators with the real tokenizer classes, on sentencepiece models that are trained here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers

from support.toy_translator import toy_pairs

SIZES = {
    "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 64,
}  # fmt: skip
KINDS = ("nllb", "m2m100", "mbart50", "mbart", "t5", "marian")
#: Codes of English and Italian.
CODES = {
    "nllb": ("eng_Latn", "ita_Latn"),
    "m2m100": ("en", "it"),
    "mbart50": ("en_XX", "it_IT"),
    "mbart": ("en_XX", "it_IT"),
}


def train_pieces(prefix: Path, texts: list[str], kind: str = "unigram") -> list[tuple[str, float]]:
    """Train ``prefix.model``; its pieces with their scores."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_prefix=str(prefix), vocab_size=90, model_type=kind,
        hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    found = sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")
    return [(found.id_to_piece(i), found.get_score(i)) for i in range(found.get_piece_size())]


def real_tokenizer(kind: str, folder: Path) -> Any:
    """A tokenizer of the class of a published model."""
    folder.mkdir(parents=True, exist_ok=True)
    sources, targets = (list(side) for side in zip(*toy_pairs(), strict=True))
    if kind == "marian":
        pieces = [*train_pieces(folder / "source", sources), *train_pieces(folder / "target", targets)]
        for side in ("source", "target"):
            shutil.copy(folder / f"{side}.model", folder / f"{side}.spm")
        return _with_vocab(folder, [piece for piece, _ in pieces], [">>ita<<", "<pad>"])
    pieces = train_pieces(folder / "both", sources + targets)[3:]  # without <unk>, <s>, </s>
    if kind == "m2m100":
        names = [name for name, _ in pieces]
        (folder / "m2m.json").write_text(json.dumps(_numbers(["<s>", "<pad>", "</s>", "<unk>", *names])))
        return transformers.M2M100Tokenizer(str(folder / "m2m.json"), str(folder / "both.model"))
    if kind == "t5":
        special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
        extra = [(f"<extra_id_{i}>", 0.0) for i in range(99, -1, -1)]
        return transformers.T5Tokenizer(vocab=[*special, *pieces, *extra])
    special = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    if kind == "nllb":
        letters = sorted({letter for text in sources + targets for letter in text} | {"\u2581"})
        return transformers.NllbTokenizer(vocab=_numbers([name for name, _ in special] + letters))
    if kind == "mbart50":
        return transformers.MBart50Tokenizer(vocab=[("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), *pieces])
    return transformers.MBartTokenizer(vocab=[*special, *pieces])


def _numbers(names: list[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _with_vocab(folder: Path, pieces: list[str], more: list[str]) -> Any:
    """Marian's tokenizer: two sentencepiece models, and one list of numbers for both."""
    (folder / "vocab.json").write_text(json.dumps(_numbers(["</s>", "<unk>", *pieces, *more])))
    return transformers.MarianTokenizer(*(str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")))


def real_translator(kind: str, folder: Path) -> tuple[Any, Any]:
    """A model of random weights and its tokenizer, saved in a folder too."""
    tokenizer = real_tokenizer(kind, folder / "pieces")
    n = len(tokenizer) + 128 * (kind == "m2m100")  # its languages come after the words, and are not counted
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = _model(kind, n, tokenizer).eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


def _model(kind: str, n: int, tokenizer: Any) -> Any:
    end, pad = tokenizer.eos_token_id, tokenizer.pad_token_id
    if kind == "t5":
        config = transformers.T5Config(
            vocab_size=n, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=pad
        )
        return transformers.T5ForConditionalGeneration(config)
    shared = {"vocab_size": n, "pad_token_id": pad, "eos_token_id": end, "init_std": 0.3, **SIZES}
    if kind == "marian":
        return transformers.MarianMTModel(transformers.MarianConfig(decoder_start_token_id=pad, **shared))
    if kind.startswith("mbart"):
        return transformers.MBartForConditionalGeneration(
            transformers.MBartConfig(decoder_start_token_id=end, forced_eos_token_id=end, **shared)
        )
    return transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(decoder_start_token_id=end, **shared))
