"""GraNd by ``torch.func`` in chunks, against one backward per example over all parameters, at the same result.

A loop pays for every example the cost of calling each operation, and the writing and reading of gradients as large as
the weights. In chunks only the gradients at the outputs of layers are written, and the matrix products of forward and
backward are all there is to pay. So the gain is largest where these are small. On one core it was 3.6 with BERT-mini
(4 layers of 256) and 2.4 with MiniLM (6 layers of 384): there a processor does little but such products either way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.models import random_bert
from benchmarks.runner import Benchmark

#: A model that a laptop fine-tunes whole (the size of BERT-tiny), with BERT's 30,522 word pieces.
WIDTH, LAYERS = 128, 2
#: Examples that the peer does; both sides are timed per example.
PEER_EXAMPLES = 192
CHUNK_SIZE = 128
TOLERANCE = 1e-4


class State(NamedTuple):
    """A classifier with random weights, which are as fast as trained ones, and labelled texts."""

    model: Any
    tokenizer: Any
    texts: list[str]
    labels: list[int]


def setup(quick: bool) -> State:
    """The texts of the demonstration, as many with `quick`: of fewer, too few have one length and share a chunk.

    Raises if the two ways do not agree.
    """
    import numpy as np

    from hf_fairness.demo import corpus

    model, tokenizer = random_bert("BertForSequenceClassification", width=WIDTH, layers=LAYERS)
    texts = corpus()
    state = State(model, tokenizer, texts, [place % 2 for place in range(len(texts))])
    np.testing.assert_allclose(_chunks(state)[:8], _loop(state, 8), rtol=TOLERANCE)
    return state


def _chunks(state: State) -> Any:
    from hf_fairness.measure.classifier.importance import grand

    return grand(state.model, state.texts, state.labels, tokenizer=state.tokenizer, chunk_size=CHUNK_SIZE)


def _loop(state: State, n: int) -> list[float]:
    import torch

    found = []
    for text, label in zip(state.texts[:n], state.labels[:n], strict=True):
        state.model.zero_grad()
        logits = state.model(**state.tokenizer(text, return_tensors="pt")).logits
        torch.nn.functional.cross_entropy(logits, torch.tensor([label])).backward()
        norms = [weight.grad.norm() for weight in state.model.parameters() if weight.grad is not None]
        found.append(float(torch.stack(norms).norm()))
    state.model.zero_grad()
    return found


def subject(state: State) -> float:
    """All examples in chunks; the unit of work is one example."""
    return float(len(_chunks(state)))


def peer(state: State) -> float:
    """The first examples, a backward for each."""
    return float(len(_loop(state, PEER_EXAMPLES)))


BENCHMARK = Benchmark(
    name="grand_scoring",
    compares=f"GraNd in chunks against a backward per example (BERT, {LAYERS} layers of {WIDTH}), per example",
    bar=5.0,
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=5,
)
