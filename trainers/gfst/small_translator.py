"""A translator to be trained from scratch: a small one with its tokenizer, made without a download, or another anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hf_fairness.utils import refuse_any

#: Special tokens in the order of their numbers; the decoder starts with the first, as Marian's does.
PAD, EOS, UNK = "<pad>", "</s>", "<unk>"
#: What a word may not cross: letters with the space before them, digits, single marks, spaces.
PIECES = r" ?\p{L}[\p{L}\p{M}]*| ?\p{N}+| ?[^\s\p{L}\p{N}]|\s+"
LEVELS = ("bpe", "word")


def small_tokenizer(texts: Iterable[str], *, vocab_size: int = 8000, level: str = "bpe") -> Any:
    """Learn a tokenizer with one vocabulary for source and target.

    Texts are split into words, numbers and single punctuation marks, each with the space before it, and these into
    byte-level pairs, so that decoding gives back every text: apostrophes, quotes, accents. Runs of white space become
    one space. The same texts in another order give the same tokenizer.

    Args:
        texts: sources and targets to learn from.
        vocab_size: most tokens, special ones and, with ``"bpe"``, the 256 bytes included.
        level: ``"bpe"`` (pieces of words), or ``"word"`` for small closed vocabularies: a word that was not seen is
            ``<unk>``.

    Returns:
        A ``PreTrainedTokenizerFast`` that adds ``</s>``; saved, it opens with ``AutoTokenizer``.

    Raises:
        ValueError: an unknown level, a vocabulary that is too small, or no texts.

    Example:
        >>> tokenizer = small_tokenizer(["She said: l'amica!", "Lei ha detto."], vocab_size=300)
        >>> tokenizer.decode(tokenizer("l'amica è qui.")["input_ids"], skip_special_tokens=True)
        "l'amica è qui."
    """
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    pieces, alphabet = level == "bpe", sorted(pre_tokenizers.ByteLevel.alphabet())
    options: dict[str, Any] = {"vocab_size": vocab_size, "special_tokens": [PAD, EOS, UNK], "show_progress": False}
    least = len(options["special_tokens"]) + (len(alphabet) if pieces else 1)
    found = [text for text in texts if text.strip()]
    refuse_any(
        {
            f"level is {level!r}, expected one of {', '.join(LEVELS)}.": level not in LEVELS,
            f"vocab_size is {vocab_size}, expected at least {least} with level={level!r}.": vocab_size < least,
            "There are no texts to learn a tokenizer from; give sources and targets of the training set.": not found,
        }
    )
    model: Any = models.BPE(unk_token=UNK) if pieces else models.WordLevel({UNK: 2}, unk_token=UNK)
    trainer: Any = (
        trainers.BpeTrainer(initial_alphabet=alphabet, min_frequency=2, **options)
        if pieces
        else trainers.WordLevelTrainer(**options)
    )
    tokenizer, spaces = Tokenizer(model), normalizers.Replace(Regex(r"\s+"), " ")
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), spaces, normalizers.Strip(), normalizers.Prepend(" ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    tokenizer.train_from_iterator(found, trainer=trainer)
    end = (EOS, tokenizer.token_to_id(EOS))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {EOS}", pair=f"$A $B {EOS}", special_tokens=[end]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        unk_token=UNK,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )


def small_marian(
    tokenizer: Any,
    *,
    d_model: int = 256,
    layers: int | tuple[int, int] = (3, 2),
    heads: int = 4,
    ffn: int = 1024,
    dropout: float = 0.1,
    max_length: int = 256,
    seed: int = 0,
) -> Any:
    """Make a `MarianMTModel` with random weights: one embedding for source, target and output, sinusoidal positions.

    Args:
        tokenizer: with tokens for padding and for the end of a text, as `small_tokenizer` makes it.
        d_model: width, a multiple of twice the heads.
        layers: of the encoder and of the decoder, or one number for both.
        heads: of the attentions.
        ffn: inner width of the feed-forward layers.
        dropout: share of what is dropped in training.
        max_length: most tokens of a source and of a translation.
        seed: of the weights; the global generator of random numbers is not touched.

    Returns:
        The model, on the CPU.

    Raises:
        ValueError: a size out of range, or a tokenizer without the two tokens.
    """
    import torch
    from transformers import MarianConfig, MarianMTModel

    encoder, decoder = (layers, layers) if isinstance(layers, int) else layers
    refuse_any(
        {
            "The tokenizer needs pad_token and eos_token; small_tokenizer makes one that has both.": (
                tokenizer.pad_token_id is None or tokenizer.eos_token_id is None
            ),
            f"d_model is {d_model} with {heads} heads, expected a multiple of {2 * max(heads, 1)}.": (
                heads < 1 or d_model < 2 * heads or d_model % (2 * heads)
            ),
            f"layers {encoder}, {decoder}, ffn {ffn} and max_length {max_length} must be 1 or more, and dropout "
            f"{dropout} 0 or more and below 1.": (min(encoder, decoder, ffn, max_length) < 1 or not 0 <= dropout < 1),
        }
    )
    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=d_model,
        encoder_layers=encoder,
        decoder_layers=decoder,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=ffn,
        decoder_ffn_dim=ffn,
        dropout=dropout,
        max_position_embeddings=max_length,
        activation_function="relu",
        scale_embedding=True,
        init_std=d_model**-0.5,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return MarianMTModel(config).eval()


def fresh_weights(model: Any, *, seed: int) -> Any:
    """A model of the same architecture with weights drawn anew, in float32.

    Args:
        model: whose architecture, and whose way to generate, is taken.
        seed: of the weights; the global generator of random numbers is not touched.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = type(model)(model.config)
    fresh.generation_config = model.generation_config
    return fresh
