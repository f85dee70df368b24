"""`translate` against a bare loop of tokenise, generate and decode over the same batches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.runner import Benchmark
from hf_fairness.measure.translator.translation import TranslationConfig, length_batches, new_token_limit, translate

WORDS = ("the", "nurse", "said", "that", "she", "will", "be", "there", "and", "everybody", "knows", "why", "so", "late")
BEAMS, BATCH = 4, 32


class State(NamedTuple):
    """A model, its tokenizer, texts of 3 to 40 words, and the batches that `translate` makes of them."""

    model: Any
    tokenizer: Any
    texts: list[str]
    batches: list[tuple[list[str], int]]


def setup(quick: bool) -> State:
    """A translator with random weights that never ends a text by itself, so that every translation has its full length.

    Texts are in no order, no two alike.
    """
    from hf_fairness.trainers.gfst.small_translator import small_marian, small_tokenizer

    random = np.random.default_rng(0)
    lengths = random.integers(3, 41, size=64 if quick else 192)
    texts = [f"{row} " + " ".join(random.choice(WORDS, size=length - 1)) for row, length in enumerate(lengths)]
    tokenizer = small_tokenizer(texts, vocab_size=400)
    model = small_marian(tokenizer, d_model=128, layers=2, ffn=512, max_length=256)
    model.final_logits_bias[:, tokenizer.eos_token_id] = -1e4
    tokens = [len(ids) for ids in tokenizer(texts)["input_ids"]]
    limits = [new_token_limit(length, 255) for length in tokens]
    rows = length_batches(tokens, limits, TranslationConfig(batch_size=BATCH))
    return State(model, tokenizer, texts, [([texts[row] for row in batch], limits[batch[0]]) for batch in rows])


def subject(state: State) -> None:
    """Sort, translate, put back."""
    translate(state.model, state.tokenizer, state.texts, num_beams=BEAMS, batch_size=BATCH)


def peer(state: State) -> None:
    """The same batches, bare."""
    bare(state, state.batches)


def bare(state: State, batches: list[tuple[list[str], int]]) -> list[str]:
    """Tokenise, generate and decode batches of texts with their limits."""
    import torch

    found: list[str] = []
    with torch.inference_mode():
        for texts, limit in batches:
            inputs = state.tokenizer(texts, padding=True, return_tensors="pt")
            output = state.model.generate(**inputs, num_beams=BEAMS, do_sample=False, max_new_tokens=limit)
            found += state.tokenizer.batch_decode(output, skip_special_tokens=True)
    return found


BENCHMARK = Benchmark(
    name="translation_speed",
    compares="translate (192 texts, beam 4) against bare generate over the same batches",
    bar=0.83,  # at most 1.2 times as long
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=5,
)
