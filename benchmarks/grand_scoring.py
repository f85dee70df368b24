"""GraNd in chunks, beside the gradients of single examples by ``torch.func`` and beside a backward for each example.

Both others form the gradients, as large as the weights: ``vmap(grad)`` those of a chunk at a time, the loop one after
the other, where each also pays for calling every operation. Ours writes gradients at the outputs of layers alone, and
the matrix products of forward and backward are all there is to pay. So the gain is largest where these are small: with
a large model a processor does little but such products either way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.models import SIZES, random_bert
from benchmarks.runner import Benchmark, agree

FUNC, EACH = "beside torch.func", "beside a backward each"
#: Examples of ours (None: all texts of the demonstration), those of the other way, and how many of these it takes at a
#: time: with ``vmap`` so many that their gradients stay below a gigabyte. Both sides are timed per example.
WORK = {
    f"BERT-tiny, {FUNC}": (384, 384, 32),
    f"MiniLM, {FUNC}": (32, 32, 8),
    f"BERT-base, {FUNC}": (8, 8, 2),
    f"BERT-tiny, {EACH}": (None, 192, 1),
    f"MiniLM, {EACH}": (64, 32, 1),
    f"BERT-base, {EACH}": (8, 8, 1),
}
#: Most examples that ours takes at a time.
CHUNK_SIZE = 128
#: Largest relative difference between two norms.
TOLERANCE = 1e-4


class State(NamedTuple):
    """A classifier with random weights, labelled texts, and what the other way does of them."""

    model: Any
    tokenizer: Any
    texts: list[str]
    labels: list[int]
    n_others: int
    together: int


def setup(quick: bool, size: str) -> State:
    """Texts of the demonstration, as many with `quick`: of fewer, too few have one length and share a chunk.

    Where only some are taken, they are those of the most frequent lengths.
    """
    from hf_fairness.demo import corpus

    model, tokenizer = random_bert("BertForSequenceClassification", **SIZES[size.partition(",")[0]]._asdict())
    (n_ours, n_others, together), texts = WORK[size], corpus()
    if n_ours is not None:
        by_length: dict[int, list[str]] = defaultdict(list)
        for text in texts:
            by_length[len(tokenizer(text)["input_ids"])].append(text)
        texts = [text for same in sorted(by_length.values(), key=len, reverse=True) for text in same][:n_ours]
    return State(model, tokenizer, texts, [place % 2 for place in range(len(texts))], n_others, together)


def ours(state: State, n: int | None = None) -> Any:
    """The norms of the first examples."""
    from hf_fairness.measure.classifier.importance import grand

    return grand(state.model, state.texts[:n], state.labels[:n], tokenizer=state.tokenizer, chunk_size=CHUNK_SIZE)


def others(state: State) -> list[float]:
    """The norms of the first examples, by ``torch.func`` or by a backward each."""
    return list(_vmapped(state) if state.together > 1 else _one_by_one(state))


def _vmapped(state: State) -> list[float]:
    """All gradients of a chunk of examples of one length, as the documentation of ``torch.func`` has it."""
    import torch
    from torch.func import functional_call, grad, vmap
    from torch.nn.attention import SDPBackend, sdpa_kernel

    weights = {name: weight.detach() for name, weight in state.model.named_parameters()}

    def loss(weights: dict[str, Any], ids: Any, label: Any) -> Any:
        inputs = {"input_ids": ids[None], "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
        logits = functional_call(state.model, weights, kwargs=inputs).logits
        return torch.nn.functional.cross_entropy(logits, label[None])

    each = vmap(grad(loss), in_dims=(None, 0, 0))
    ids = state.tokenizer(state.texts[: state.n_others])["input_ids"]
    by_length: dict[int, list[int]] = defaultdict(list)
    for place, tokens in enumerate(ids):
        by_length[len(tokens)].append(place)
    norms = [0.0] * len(ids)
    for places in by_length.values():
        for start in range(0, len(places), state.together):
            chunk = places[start : start + state.together]
            labels = torch.tensor([state.labels[place] for place in chunk])
            with sdpa_kernel(SDPBackend.MATH):
                gradients = each(weights, torch.tensor([ids[place] for place in chunk]), labels)
            squares = torch.stack([part.flatten(1).square().sum(dim=1) for part in gradients.values()]).sum(dim=0)
            for place, norm in zip(chunk, squares.sqrt().tolist(), strict=True):
                norms[place] = norm
    return norms


def _one_by_one(state: State) -> Iterator[float]:
    import torch

    for text, label in zip(state.texts[: state.n_others], state.labels, strict=False):
        state.model.zero_grad()
        logits = state.model(**state.tokenizer(text, return_tensors="pt")).logits
        torch.nn.functional.cross_entropy(logits, torch.tensor([label])).backward()
        norms = [weight.grad.norm() for weight in state.model.parameters() if weight.grad is not None]
        yield float(torch.stack(norms).norm())
    state.model.zero_grad()


def check(state: State) -> dict[str, float]:
    """Both give the same norms, relative to their size."""
    ratios = ours(state, state.n_others) / np.array(others(state))
    return {"largest relative difference": agree("GraNd", ratios.tolist(), [1.0] * len(ratios), TOLERANCE)}


def subject(state: State) -> float:
    """All examples in chunks; the unit of work is one example."""
    return float(len(ours(state)))


def peer(state: State) -> float:
    """The first examples in the other way."""
    return float(len(others(state)))


BENCHMARK = Benchmark(
    name="grand_scoring",
    compares="GraNd in chunks of BERT, all parameters, against torch.func's vmap(grad) or a backward each, per example",
    bar={**dict.fromkeys(WORK, 1.0), f"BERT-tiny, {EACH}": 5.0},
    setup=setup,
    subject=subject,
    peer=peer,
    repeats=5,
    check=check,
)
