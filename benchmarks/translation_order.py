"""What sorting by length is worth: `translate` against a bare loop over the texts in the order they come."""

from __future__ import annotations

from benchmarks.runner import Benchmark
from benchmarks.translation_speed import BATCH, State, bare, setup, subject
from hf_fairness.measure.translator.translation import new_token_limit


def peer(state: State) -> None:
    """Batches of neighbours, each with the limit of its longest text."""
    batches = []
    for start in range(0, len(state.texts), BATCH):
        texts = state.texts[start : start + BATCH]
        longest = max(len(ids) for ids in state.tokenizer(texts)["input_ids"])
        batches.append((texts, new_token_limit(longest, 255)))
    bare(state, batches)


BENCHMARK = Benchmark(
    name="translation_order",
    compares="translate (192 texts, beam 4) against bare generate over batches in input order",
    bar=1.0,  # for information: at least as fast
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=5,
)
