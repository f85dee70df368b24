"""The exact bias score of texts of some 240 tokens against a bare forward: see `bias_score_short`."""

from __future__ import annotations

from benchmarks.bias_score_short import State, floor, peer, state, subject
from benchmarks.runner import Benchmark

#: News sentences that make one text.
SENTENCES = 12


def setup(quick: bool) -> State:
    """Paragraphs of news sentences."""
    return state(32 if quick else 96, SENTENCES)


BENCHMARK = Benchmark(
    name="bias_score_long",
    compares="`BiasScore` with MiniLM on texts of twelve news sentences against tokenizer and model alone, per text",
    bar=0.9,
    setup=setup,
    subject=subject,
    peer=peer,
    floor=floor,
    repeats=7,
)
